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
    /// Leave out branches that lead to less than this part of the objects, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub least: f64,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    if address(&arguments.target).is_some() {
        let object = object_at(&source.session, &arguments.target)?;
        let paths = ObjectPaths::new(source, object, super::or_all(arguments.limit))?;
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
    /// Objects on the path.
    length: usize,
    /// Objects left out in the middle of a very long path, after the first half of the steps.
    skipped: usize,
    steps: Vec<Step>,
}

/// Objects that are shown at each end of a very long path.
const ENDS: usize = 15;

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
        let found = session.paths_to(object, limit)?;
        let graph = session.graph();
        let roots = RootsByObject::new(session);
        Ok(ObjectPaths {
            object: name,
            omitted: found.omitted,
            paths: found
                .paths
                .iter()
                .map(|path| {
                    let of_root = roots.of(path[0]).iter();
                    ObjectPath {
                        roots: of_root.map(|root| RootName::new(source, root)).collect(),
                        length: path.len(),
                        skipped: path.len().saturating_sub(2 * ENDS),
                        steps: steps(source, analysis, &graph, path),
                    }
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
                if path.skipped > 0 && depth == ENDS {
                    let more = counted(path.skipped as u64, "more object", "more objects");
                    table.row([String::new(), format!("{}… {more} …", "   ".repeat(depth))]);
                }
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

/// The objects of a path with how each is held, without the middle of a very long one.
fn steps(source: &Source, analysis: &Analysis, graph: &Graph, path: &[NodeId]) -> Vec<Step> {
    let session = &source.session;
    let step = |index: usize| {
        let before = index.checked_sub(1).map(|before| path[before]);
        Step {
            via: before.and_then(|before| {
                let kind = edge_kind(graph, before, path[index])?;
                Some(session.edge_name(before, path[index], kind))
            }),
            object: ObjectName::new(session, analysis, path[index]),
        }
    };
    let head = path.len().min(ENDS);
    let tail = path.len().saturating_sub(ENDS).max(head);
    (0..head).chain(tail..path.len()).map(step).collect()
}

/// The merged paths to the objects of some classes.
struct ClassPaths<'a> {
    source: &'a Source,
    names: ClassNames<'a>,
    target: String,
    limit: usize,
    /// Branches that lead to fewer objects are left out.
    least: u64,
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
    omitted: Omitted,
}

/// What the limits left out at one place.
#[derive(Default, Serialize)]
struct Omitted {
    branches: u64,
    objects: u64,
    retained: u64,
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
    omitted: Omitted,
}

impl<'a> ClassPaths<'a> {
    fn new(source: &'a Source, arguments: &Arguments) -> Result<Self, Failure> {
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
            names: ClassNames::new(state),
            target: arguments.target.clone(),
            limit: super::or_all(arguments.limit),
            least: (merged.targets as f64 * arguments.least / 100.0) as u64,
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
            omitted: self.omitted(&self.merged.tops),
        }
    }

    fn json_branches(&self, branches: &[usize]) -> Vec<JsonBranch> {
        let session = &self.source.session;
        let shown = &branches[..self.shown(branches)];
        shown
            .iter()
            .map(|&index| &self.merged.branches[index])
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
                omitted: self.omitted(&branch.children),
            })
            .collect()
    }

    fn class(&self, branch: &Branch) -> String {
        match branch.class {
            BranchClass::Instances(class) | BranchClass::ClassObject(class) => {
                self.names.unambiguous(class)
            }
            BranchClass::SystemLoader => "java.lang.ClassLoader".to_owned(),
        }
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
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
                "{} unreachable",
                counted(unreachable, "more object is", "more objects are")
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
        if self.merged.branches.iter().any(|branch| branch.repeats) {
            out.remark("↻ paths go through several of these, one after the other")?;
        }
        out.remark(&format!(
            "Every object counts on one shortest path; `anthill paths {} {}` shows all ways to one of them.",
            self.source.name,
            hex(self.source.session.address(self.example()))
        ))?;
        Ok(())
    }

    fn add(&self, branches: &[usize], last: &mut Vec<bool>, table: &mut Table<4>) {
        let shown = self.shown(branches);
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
        let omitted = self.omitted(branches);
        if omitted.branches > 0 {
            last.push(true);
            let more = counted(omitted.branches, "more branch", "more branches");
            let label = format!("{}… {more}", indent(&last[1..]));
            self.row(table, [omitted.objects, omitted.retained], label);
            last.pop();
        }
    }

    fn omitted(&self, branches: &[usize]) -> Omitted {
        let omitted = branches[self.shown(branches)..].iter();
        omitted.map(|&index| &self.merged.branches[index]).fold(
            Omitted::default(),
            |sum, branch| Omitted {
                branches: sum.branches + 1,
                objects: sum.objects + branch.targets,
                retained: sum.retained + branch.retained,
            },
        )
    }

    /// How many of the branches at one place are shown; they come ordered.
    fn shown(&self, branches: &[usize]) -> usize {
        let few = |&branch: &usize| self.merged.branches[branch].targets < self.least;
        let many = branches.iter().position(few).unwrap_or(branches.len());
        many.min(self.limit)
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
