//! `anthill paths`: why an object, or the objects of a class, are alive.

use std::io::Write;

use anthill_graph::{Graph, NodeId};
use anthill_heap::{ObjectId, Root, RootKind, RootOrigin};
use anthill_session::{
    Analysis, Branch, BranchClass, MergedPaths, RootsByObject, edge_kind, frame_name,
};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::names::{ClassNames, ObjectName, address, object_at};
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, counted, hex, share};
use crate::output::{Out, json};
use crate::pattern::Pattern;
use crate::source::{Source, SourceArguments};

/// Show why objects are alive: the shortest paths from the GC roots to them
///
/// For an object, given by its address: a shortest path through each object that refers to it. For a
/// class, by name or glob: the shortest paths to all of its objects, merged where they go through
/// the same fields of the same classes; each line says how many of the objects it leads to.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill paths app.hprof com.acme.Order
      Who keeps the orders alive, and how many each?
  anthill paths app.hprof 0x7f0012345678
      Why is this object alive?
  anthill paths app.hprof 'com.acme.*Listener' --limit 3
      The main ways to all listeners")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The address of an object (0x… or decimal), or the name of a class, also with `*` and `?`
    #[arg(value_name = "OBJECT|CLASS")]
    pub target: String,
    /// How many paths to an object, how many branches at each step to a class; 0 for all
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub limit: usize,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    if address(&arguments.target).is_some() {
        let object = object_at(&source.session, &arguments.target)?;
        let paths = ObjectPaths::new(source, object, limit(arguments))?;
        let mut out = source.out();
        if arguments.source.json {
            json::print(&mut out, source, "paths", &paths)
        } else {
            paths.text(&mut out)?;
            Ok(out.flush()?)
        }
    } else {
        let paths = ClassPaths::new(source, arguments)?;
        let mut out = source.out();
        if arguments.source.json {
            json::print(&mut out, source, "paths", paths.json())
        } else {
            paths.text(&mut out)?;
            Ok(out.flush()?)
        }
    }
}

fn limit(arguments: &Arguments) -> usize {
    match arguments.limit {
        0 => usize::MAX,
        limit => limit,
    }
}

/// The paths to one object.
#[derive(Serialize)]
struct ObjectPaths {
    object: ObjectName,
    paths: Vec<ObjectPath>,
    /// Paths that the limit left out.
    omitted: usize,
}

#[derive(Serialize)]
struct ObjectPath {
    roots: Vec<RootName>,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    /// How the object before holds this one; the first step has none.
    via: Option<String>,
    #[serde(flatten)]
    object: ObjectName,
}

/// A root as results name it.
#[derive(Serialize)]
pub struct RootName {
    pub kind: RootKind,
    pub origin: RootOrigin,
    pub thread: Option<String>,
    pub frame: Option<String>,
    pub label: String,
}

impl RootName {
    pub fn new(source: &Source, root: &Root) -> Self {
        let session = &source.session;
        RootName {
            kind: root.kind(),
            origin: root.origin,
            thread: session.root_thread(root),
            frame: session.root_frame(root).map(frame_name),
            label: session.root_name(root),
        }
    }
}

impl ObjectPaths {
    fn new(source: &Source, object: ObjectId, limit: usize) -> Result<Self, Failure> {
        let session = &source.session;
        let analysis = session.analysis()?;
        let name = ObjectName::new(session, analysis, object);
        if !analysis.dominators.is_reachable(object) {
            return Err(Failure::NothingFound(format!(
                "no path leads to {}: it is unreachable ({})",
                name.label,
                session.convention()
            )));
        }
        let paths = session.paths_to(object)?;
        let graph = session.graph();
        let roots = RootsByObject::new(session);
        Ok(ObjectPaths {
            object: name,
            omitted: paths.len().saturating_sub(limit),
            paths: paths
                .iter()
                .take(limit)
                .map(|path| ObjectPath {
                    roots: roots
                        .of(path[0])
                        .iter()
                        .map(|root| RootName::new(source, root))
                        .collect(),
                    steps: steps(source, analysis, &graph, path),
                })
                .collect(),
        })
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        out.heading(&format!(
            "{}, retains {}",
            self.object.label,
            bytes(self.object.retained)
        ))?;
        for path in &self.paths {
            out.blank()?;
            let roots: Vec<&str> = path.roots.iter().map(|root| root.label.as_str()).collect();
            out.line(format!("GC root: {}", roots.join(", ")))?;
            let mut table = Table::new([("", Align::Right), ("", Align::Left)]);
            for (depth, step) in path.steps.iter().enumerate() {
                let via = step.via.as_ref().map_or(String::new(), |via| {
                    format!("{}└─ {via} → ", "   ".repeat(depth - 1))
                });
                table.row([bytes(step.object.retained), via + &step.object.label]);
            }
            table.print(out)?;
        }
        if self.omitted > 0 {
            out.blank()?;
            let more = counted(self.omitted as u64, "path", "paths");
            out.remark(&format!(
                "… {more} more through other referrers; --limit 0 shows all"
            ))?;
        }
        Ok(())
    }
}

fn steps(source: &Source, analysis: &Analysis, graph: &Graph, path: &[NodeId]) -> Vec<Step> {
    let session = &source.session;
    let before = std::iter::once(None).chain(path.iter().copied().map(Some));
    let steps = before.zip(path).map(|(before, &node)| Step {
        via: before.and_then(|before| {
            let kind = edge_kind(graph, before, node)?;
            Some(session.edge_name(before, node, kind))
        }),
        object: ObjectName::new(session, analysis, node),
    });
    steps.collect()
}

/// The merged paths to the objects of some classes.
pub struct ClassPaths<'a> {
    source: &'a Source,
    target: String,
    limit: usize,
    merged: MergedPaths,
}

#[derive(Serialize)]
struct JsonPaths {
    target: String,
    /// Objects with a path.
    objects: u64,
    retained: u64,
    unreachable_objects: u64,
    branches: Vec<JsonBranch>,
}

#[derive(Serialize)]
struct JsonBranch {
    via: String,
    class: String,
    class_object: bool,
    /// Distinct objects that were merged here.
    merged: u64,
    repeats: bool,
    /// Target objects that end here, and here or below.
    here: u64,
    objects: u64,
    retained: u64,
    /// The address of one of the objects merged here.
    example: String,
    children: Vec<JsonBranch>,
}

impl<'a> ClassPaths<'a> {
    pub fn new(source: &'a Source, arguments: &Arguments) -> Result<Self, Failure> {
        let session = &source.session;
        let state = session.state();
        let pattern = Pattern::new(&arguments.target);
        let wanted: Vec<bool> = state
            .classes()
            .iter()
            .map(|class| pattern.matches(&class.name))
            .collect();
        if !wanted.contains(&true) {
            let names = state.classes().iter().map(|class| class.name.as_str());
            return Err(Failure::NothingFound(pattern.no_match("class", names)));
        }
        let targets: Vec<NodeId> = (0..state.len())
            .filter(|&object| wanted[state.class_id(object) as usize])
            .collect();
        let merged = session.merged_paths(&targets)?;
        if merged.targets == 0 {
            return Err(Failure::NothingFound(match merged.unreachable {
                0 => format!("{} has no objects in this dump", arguments.target),
                unreachable => format!(
                    "no path leads to {}: {} unreachable ({})",
                    arguments.target,
                    counted(unreachable, "object is", "objects are all"),
                    session.convention()
                ),
            }));
        }
        Ok(ClassPaths {
            source,
            target: arguments.target.clone(),
            limit: limit(arguments),
            merged,
        })
    }

    fn json(&self) -> JsonPaths {
        JsonPaths {
            target: self.target.clone(),
            objects: self.merged.targets,
            retained: self.merged.retained,
            unreachable_objects: self.merged.unreachable,
            branches: self.json_branches(&self.merged.tops),
        }
    }

    fn json_branches(&self, branches: &[usize]) -> Vec<JsonBranch> {
        let session = &self.source.session;
        let branches = branches.iter().map(|&index| &self.merged.branches[index]);
        branches
            .map(|branch| JsonBranch {
                via: branch.via.clone(),
                class: self.class(branch),
                class_object: matches!(branch.class, BranchClass::ClassObject(_)),
                merged: branch.merged,
                repeats: branch.repeats,
                here: branch.here,
                objects: branch.targets,
                retained: branch.retained,
                example: hex(session.address(branch.example)),
                children: self.json_branches(&branch.children),
            })
            .collect()
    }

    fn class(&self, branch: &Branch) -> String {
        match branch.class {
            BranchClass::Instances(class) | BranchClass::ClassObject(class) => {
                ClassNames::new(self.source.session.state()).unambiguous(class)
            }
            BranchClass::SystemLoader => "java.lang.ClassLoader".to_owned(),
        }
    }

    pub fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let MergedPaths {
            targets,
            retained,
            unreachable,
            ..
        } = self.merged;
        out.heading(&format!(
            "{} of {}, by themselves they retain {}",
            counted(targets, "object", "objects"),
            self.target,
            bytes(retained)
        ))?;
        if unreachable > 0 {
            out.line(format!(
                "{} more unreachable",
                counted(unreachable, "object is", "objects are")
            ))?;
        }
        let mut table = Table::new([
            ("objects", Align::Right),
            ("share", Align::Right),
            ("retained", Align::Right),
            ("merged shortest paths from GC roots", Align::Left),
        ]);
        self.add(&self.merged.tops, &mut Vec::new(), &mut table);
        table.print(out)?;
        out.remark(&format!(
            "Every object counts on one shortest path; `anthill paths {} {}` shows all ways to one of them.",
            self.source.name,
            hex(self.source.session.address(self.example()))
        ))?;
        Ok(())
    }

    fn add(&self, branches: &[usize], last: &mut Vec<bool>, table: &mut Table<4>) {
        let shown = branches.len().min(self.limit);
        for (position, &index) in branches[..shown].iter().enumerate() {
            let branch = &self.merged.branches[index];
            let top = last.is_empty();
            last.push(position + 1 == branches.len());
            let lines = if top {
                String::new()
            } else {
                indent(&last[1..])
            };
            self.row(
                table,
                [branch.targets, branch.retained],
                lines + &self.label(branch, top),
            );
            self.add(&branch.children, last, table);
            last.pop();
        }
        let omitted = branches[shown..]
            .iter()
            .map(|&index| &self.merged.branches[index]);
        if shown < branches.len() {
            let sums = omitted.fold([0, 0], |[targets, retained], branch| {
                [targets + branch.targets, retained + branch.retained]
            });
            last.push(true);
            let more = counted(
                (branches.len() - shown) as u64,
                "more branch",
                "more branches",
            );
            self.row(table, sums, format!("{}… {more}", indent(&last[1..])));
            last.pop();
        }
    }

    /// A target at the end of the branch that most of them are in.
    fn example(&self) -> NodeId {
        let first = |branches: &[usize]| branches.first().map(|&top| &self.merged.branches[top]);
        let down = |branch: &&Branch| match branch.here {
            0 => first(&branch.children),
            _ => None,
        };
        let end = std::iter::successors(first(&self.merged.tops), down).last();
        end.map_or(0, |branch| branch.example)
    }

    fn row(&self, table: &mut Table<4>, [targets, retained]: [u64; 2], label: String) {
        table.row([
            count(targets),
            share(targets, self.merged.targets),
            bytes(retained),
            label,
        ]);
    }

    fn label(&self, branch: &Branch, top: bool) -> String {
        let class = match branch.class {
            BranchClass::ClassObject(_) => format!("class {}", self.class(branch)),
            _ => self.class(branch),
        };
        let repeats = if branch.repeats { " ↻" } else { "" };
        if top {
            format!("{class}{repeats}  (GC root: {})", branch.via)
        } else {
            format!("{} → {class}{repeats}", branch.via)
        }
    }
}
