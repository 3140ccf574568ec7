//! `anthill paths`: why an object, or the objects of a class, are alive.

use std::io::Write;

use anthill_classify::{Definitions, Pattern};
use anthill_graph::{Convention, NodeId};
use anthill_heap::{ClassId, ObjectId, Root, RootKind, RootOrigin, Strength};
use anthill_session::{
    Branch, BranchClass, MergedPaths, PATH_ENDS, PathStep, RootsByObject, Session, check_group,
    frame_name,
};
use clap::Args;
use serde::Serialize;

use crate::definitions::DefinitionArguments;
use crate::failure::Failure;
use crate::names::{ClassNames, ObjectName, address, object_at};
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, counted, hex, share};
use crate::output::{Out, json, shell};
use crate::source::{Source, SourceArguments, limit, percent};

/// Show why objects are alive: the shortest paths from the GC roots to them
///
/// For an object, given by its address: a shortest path through each object that refers to it. For a
/// class, by name or glob: the shortest paths to all of its objects, merged where they go through
/// the same fields of the same classes; each line says how many of the objects it leads to and how
/// many bytes these hold. Each object counts on one path only, even if others lead to it as well.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill paths app.hprof com.acme.Order
      Who keeps the orders alive, and how many each?
  anthill paths app.hprof 0x7f0012345678
      Why is this object alive?
  anthill paths app.hprof 'com.acme.*Listener' --limit 3
      The main ways to all listeners
  anthill paths app.hprof --group 'retained(IdCache.idCache) & byte[]'
      How this cache leads to its byte arrays")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The address of an object (0x… or decimal), or the name of a class, also with `*` and `?`
    #[arg(value_name = "OBJECT|CLASS", required_unless_present = "group")]
    pub target: Option<String>,
    /// The objects of this group instead; docs/groups.md has the language
    #[arg(long, value_name = "GROUP", conflicts_with = "target")]
    pub group: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// Show each data structure as one step, without its internals: a map, not its table and nodes
    #[arg(long)]
    pub collapse: bool,
    /// How many paths to an object, how many branches at each step to a class; 0 for all
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
    /// Leave out branches that lead to less than this part of the objects and of the bytes, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent, allow_negative_numbers = true)]
    pub least: f64,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.group {
            Some(group) => Ok(check_group(group, &self.definitions.read()?)?),
            None => Ok(()),
        }
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let target = arguments.target.as_deref().unwrap_or_default();
    if address(target).is_some() {
        let object = object_at(&source.session, target)?;
        let paths = ObjectPaths::new(source, object, arguments)?;
        let mut out = source.out();
        if arguments.source.json {
            json::print(&mut out, source, "paths", &paths)
        } else {
            paths.text(&mut out)?;
            Ok(out.flush()?)
        }
    } else {
        let targets = match &arguments.group {
            Some(group) => Targets::of_group(source, group, &arguments.definitions.read()?)?,
            None => Targets::of_class(source, target)?,
        };
        let merged = merged(source, &targets, arguments.collapse)?;
        let shown = Shown {
            limit: super::or_all(arguments.limit),
            least: arguments.least,
            dump: arguments.source.dump,
        };
        let paths = MergedView::new(source, &targets, &merged, &shown)?;
        let mut out = source.out();
        if arguments.source.json {
            json::print(&mut out, source, "paths", &paths)
        } else {
            paths.text(&mut out)?;
            Ok(out.flush()?)
        }
    }
}

/// The merged paths to some objects, with structures as they are or as one step each.
pub fn merged(source: &Source, targets: &Targets, collapse: bool) -> Result<MergedPaths, Failure> {
    let session = &source.session;
    Ok(match collapse {
        true => session.collapsed_paths(&targets.nodes)?,
        false => session.merged_paths(&targets.nodes)?,
    })
}

/// Which objects paths are to lead to.
pub struct Targets {
    /// How a person called them, and how results say what they are.
    pub name: String,
    pub nodes: Vec<NodeId>,
    /// Bytes that would be freed if all of them were gone.
    pub retained: u64,
}

impl Targets {
    fn of_class(source: &Source, target: &str) -> Result<Self, Failure> {
        let session = &source.session;
        let (state, graph) = (session.state(), session.graph());
        let pattern = Pattern::class(target);
        let classes: Vec<ClassId> = (0..)
            .zip(state.classes())
            .filter(|(_, class)| pattern.matches(&class.name))
            .map(|(id, _)| id)
            .collect();
        if classes.is_empty() {
            let names = state.classes().iter().map(|class| class.name.as_str());
            return Err(Failure::NothingFound(pattern.no_match("class", names)));
        }
        let mut wanted = vec![false; state.classes().len()];
        classes.iter().for_each(|&id| wanted[id as usize] = true);
        let is_target = |node: &NodeId| {
            graph
                .class(*node)
                .is_some_and(|class| wanted[class as usize])
        };
        let nodes: Vec<NodeId> = (0..graph.len()).filter(is_target).collect();
        Ok(Targets {
            name: match classes[..] {
                [class] => state.classes()[class as usize].name.clone(),
                _ => target.to_owned(),
            },
            retained: session.retained_by(&classes, &nodes)?,
            nodes,
        })
    }

    fn of_group(source: &Source, text: &str, definitions: &Definitions) -> Result<Self, Failure> {
        let group = source.session.group(text, definitions)?;
        Ok(Targets {
            name: text.to_owned(),
            retained: source.session.measure(&group)?.retained.bytes,
            nodes: group.iter().collect(),
        })
    }
}

/// How much of merged paths is shown.
pub struct Shown {
    pub limit: usize,
    pub least: f64,
    /// Which dump of the file was asked for.
    pub dump: Option<usize>,
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
    fn new(source: &Source, object: ObjectId, arguments: &Arguments) -> Result<Self, Failure> {
        let limit = super::or_all(arguments.limit);
        let session = &source.session;
        let analysis = session.analysis()?;
        let name = ObjectName::new(session, analysis, object);
        if !analysis.dominators.is_reachable(object) {
            let led_to = led_to(session, &[object])?;
            return Err(Failure::NothingFound(format!(
                "no path leads to {}: it is {}",
                name.label,
                unreachable(session.convention(), 1, &led_to)
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
                    let (steps, skipped) = match arguments.collapse {
                        true => session.collapsed_steps(&graph, path)?,
                        false => session.path_steps(&graph, path),
                    };
                    let step = |step: PathStep| Step {
                        via: step.via,
                        object: ObjectName::new(session, analysis, step.node),
                    };
                    Ok(ObjectPath {
                        roots: of_root.map(|root| RootName::new(source, root)).collect(),
                        length: path.len(),
                        skipped,
                        steps: steps.into_iter().map(step).collect(),
                    })
                })
                .collect::<Result<_, Failure>>()?,
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
                if path.skipped > 0 && depth == PATH_ENDS {
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

/// The merged paths to some objects, as they are shown.
#[derive(Serialize)]
pub struct MergedView {
    target: String,
    /// Objects with a path.
    objects: u64,
    /// What would be freed if all of them were gone.
    retained: u64,
    /// What each of them retains alone, added up.
    held: u64,
    /// Objects that something else than the last step shown holds as well.
    other_holders: u64,
    unreachable_objects: u64,
    /// What leads to the unreachable ones without keeping them alive.
    led_to: Vec<LedTo>,
    branches: Vec<ShownBranch>,
    omitted: Omitted,
    /// The command line that shows all ways to one of the objects.
    #[serde(skip)]
    all_ways: String,
    /// About the unreachable objects, in words.
    #[serde(skip)]
    unreachable: String,
}

/// What the limits left out at one place.
#[derive(Default, Serialize)]
struct Omitted {
    branches: u64,
    objects: u64,
    held: u64,
}

#[derive(Serialize)]
struct ShownBranch {
    via: String,
    class: String,
    class_object: bool,
    /// Distinct objects that were merged here.
    merged: u64,
    /// How objects of the branch hold others of the branch.
    through: Vec<String>,
    /// How many steps up from here are repeated.
    repeats: Vec<usize>,
    /// Target objects that end here, and here or below.
    here: u64,
    objects: u64,
    held: u64,
    /// The address of one of the objects merged here.
    example: String,
    /// Steps left out before the only branch below, in a very long chain.
    skipped: usize,
    children: Vec<ShownBranch>,
    omitted: Omitted,
}

/// References of these kinds, where they are several together, lead to so many objects.
#[derive(Serialize)]
struct LedTo {
    kinds: Vec<Strength>,
    objects: u64,
}

impl MergedView {
    pub fn new(
        source: &Source,
        targets: &Targets,
        merged: &MergedPaths,
        shown: &Shown,
    ) -> Result<Self, Failure> {
        let session = &source.session;
        let target = targets.name.clone();
        let led_to = led_to(session, &merged.unreachable)?;
        let unreachable_objects = merged.unreachable.len() as u64;
        let unreachable = unreachable(session.convention(), unreachable_objects, &led_to);
        if merged.targets == 0 {
            return Err(Failure::NothingFound(match unreachable_objects {
                0 => format!("{target} has no objects in this dump"),
                number => format!(
                    "no path leads to {target}: {} {unreachable}",
                    counted(number, "object is", "objects are all"),
                ),
            }));
        }
        let view = View {
            source,
            names: ClassNames::new(session),
            limit: shown.limit,
            least: shown.least,
            merged,
        };
        let (branches, omitted) = view.branches(&merged.tops, 1, 0);
        let example = hex(session.address(view.example()));
        Ok(MergedView {
            target,
            objects: merged.targets,
            retained: targets.retained,
            held: merged.held,
            other_holders: merged.other_holders,
            unreachable_objects,
            led_to,
            branches,
            omitted,
            all_ways: command_line(source, shown.dump, &example),
            unreachable,
        })
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let objects = counted(self.objects, "object", "objects");
        let retain = match self.objects {
            1 => "retains",
            _ => "together retain",
        };
        out.heading(&format!(
            "{objects} of {} {retain} {}",
            self.target,
            bytes(self.retained)
        ))?;
        if self.unreachable_objects > 0 {
            let more = counted(
                self.unreachable_objects,
                "more object is",
                "more objects are",
            );
            out.line(format!("{more} {}", self.unreachable))?;
        }
        self.tree(out)
    }

    /// The tree of branches and what its marks mean.
    pub fn tree(&self, out: &mut Out) -> Result<(), Failure> {
        let mut table = Table::new([
            ("objects", Align::Right),
            ("share", Align::Right),
            ("held", Align::Right),
            ("share", Align::Right),
            ("merged shortest paths from GC roots", Align::Left),
        ]);
        let mut marks = Marks::default();
        self.add(
            &self.branches,
            &self.omitted,
            &mut Vec::new(),
            &mut table,
            &mut marks,
        );
        table.print(out)?;
        out.remark("held: these objects and what each of them alone keeps alive")?;
        if marks.runs {
            out.remark("↻ field: one such object holds the next, once or many times")?;
        }
        if marks.loops {
            out.remark("↻ steps: the last steps down to here follow each other again and again")?;
        }
        let others = match self.other_holders {
            0 => String::new(),
            others => format!(
                " {} another holder as well.",
                counted(others, "of them has", "of them have")
            ),
        };
        out.remark(&format!(
            "Every object counts on one shortest path only.{others} All ways to one of them:"
        ))?;
        out.remark(&format!("  {}", self.all_ways))?;
        Ok(())
    }

    fn add(
        &self,
        branches: &[ShownBranch],
        omitted: &Omitted,
        last: &mut Vec<bool>,
        table: &mut Table<5>,
        marks: &mut Marks,
    ) {
        for (position, branch) in branches.iter().enumerate() {
            let top = last.is_empty();
            last.push(position + 1 == branches.len() && omitted.branches == 0);
            let label = indent(&last[1..]) + &branch.label(top);
            self.row(table, [branch.objects, branch.held], label);
            marks.runs |= !branch.through.is_empty();
            marks.loops |= !branch.repeats.is_empty();
            if branch.skipped > 0 {
                let more = counted(branch.skipped as u64, "more step", "more steps");
                last.push(true);
                let label = format!("{}… {more} …", indent(&last[1..]));
                self.row(table, [branch.objects, branch.held], label);
            }
            self.add(&branch.children, &branch.omitted, last, table, marks);
            if branch.skipped > 0 {
                last.pop();
            }
            last.pop();
        }
        if omitted.branches > 0 {
            last.push(true);
            let more = counted(omitted.branches, "more branch", "more branches");
            let label = format!("{}… {more}", indent(&last[1..]));
            self.row(table, [omitted.objects, omitted.held], label);
            last.pop();
        }
    }

    fn row(&self, table: &mut Table<5>, [objects, held]: [u64; 2], label: String) {
        table.row([
            count(objects),
            share(objects, self.objects),
            bytes(held),
            share(held, self.held),
            label,
        ]);
    }
}

/// Which marks the tree has.
#[derive(Default)]
struct Marks {
    runs: bool,
    loops: bool,
}

impl ShownBranch {
    fn label(&self, top: bool) -> String {
        let mut what = match self.class_object {
            true => format!("class {}", self.class),
            false => self.class.clone(),
        };
        if !self.through.is_empty() {
            what += &format!(" ↻ {}", self.through.join(", "));
        }
        for steps in &self.repeats {
            what += &format!(" ↻ {steps} steps");
        }
        if top {
            format!("{what}  (GC root: {})", self.via)
        } else {
            format!("{} → {what}", self.via)
        }
    }
}

/// Levels of branches that are shown: readers of JSON commonly take 128 levels of nesting, and
/// a branch makes two.
const DEEPEST: usize = 60;

/// What of the merged paths is shown.
struct View<'a> {
    source: &'a Source,
    names: ClassNames<'a>,
    limit: usize,
    least: f64,
    merged: &'a MergedPaths,
}

impl View<'_> {
    /// Branches at one place, and what is left out there. `straight` is how many branches right
    /// above have nothing but the next one.
    fn branches(
        &self,
        branches: &[usize],
        level: usize,
        straight: usize,
    ) -> (Vec<ShownBranch>, Omitted) {
        let shown = match level > DEEPEST {
            true => Vec::new(),
            false => self.shown(branches),
        };
        let (all, kept) = (self.sum(branches), self.sum(&shown));
        let omitted = Omitted {
            branches: all.branches - kept.branches,
            objects: all.objects - kept.objects,
            held: all.held - kept.held,
        };
        let shown = shown.into_iter();
        let shown = shown.map(|index| self.branch(index, level, straight));
        (shown.collect(), omitted)
    }

    fn sum(&self, branches: &[usize]) -> Omitted {
        let branches = branches.iter().map(|&index| &self.merged.branches[index]);
        branches.fold(Omitted::default(), |sum, branch| Omitted {
            branches: sum.branches + 1,
            objects: sum.objects + branch.targets,
            held: sum.held + branch.held,
        })
    }

    fn branch(&self, index: usize, level: usize, straight: usize) -> ShownBranch {
        let branch = &self.merged.branches[index];
        let mut below = branch.children.as_slice();
        let mut straight = match self.only_next(index) {
            Some(_) => straight + 1,
            None => 0,
        };
        let mut skipped = 0;
        if straight == PATH_ENDS {
            let down = |&index: &usize| self.only_next(index);
            let rest = std::iter::successors(below.first().copied(), down);
            skipped = rest.count().saturating_sub(PATH_ENDS);
            for _ in 0..skipped {
                below = &self.merged.branches[below[0]].children;
            }
            straight = 0;
        }
        let (children, omitted) = self.branches(below, level + 1, straight);
        ShownBranch {
            via: branch.via.clone(),
            class: match branch.class {
                BranchClass::Instances(class) | BranchClass::ClassObject(class) => {
                    self.names.unambiguous(class)
                }
                BranchClass::SystemLoader => "java.lang.ClassLoader".to_owned(),
            },
            class_object: matches!(branch.class, BranchClass::ClassObject(_)),
            merged: branch.merged,
            through: branch.through.clone(),
            repeats: branch.periods.clone(),
            here: branch.here,
            objects: branch.targets,
            held: branch.held,
            example: hex(self.source.session.address(branch.example)),
            skipped,
            children,
            omitted,
        }
    }

    /// The branch below, if there is one and the branch has nothing else.
    fn only_next(&self, index: usize) -> Option<usize> {
        let branch = &self.merged.branches[index];
        match branch.children[..] {
            [next] if branch.here == 0 => Some(next),
            _ => None,
        }
    }

    /// The branches at one place that matter by objects or by bytes, in their order.
    fn shown(&self, branches: &[usize]) -> Vec<usize> {
        let part = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
        let percent = |&index: &usize| {
            let branch = &self.merged.branches[index];
            let objects = part(branch.targets, self.merged.targets);
            objects.max(part(branch.held, self.merged.held))
        };
        let mut shown: Vec<(usize, usize)> = (0..)
            .zip(branches.iter().copied())
            .filter(|(_, index)| percent(index) >= self.least)
            .collect();
        if shown.len() > self.limit {
            shown.sort_by(|(_, a), (_, b)| percent(b).total_cmp(&percent(a)));
            shown.truncate(self.limit);
            shown.sort_unstable();
        }
        shown.into_iter().map(|(_, index)| index).collect()
    }

    /// A target at the end of the branch that holds most.
    fn example(&self) -> NodeId {
        let first = |branches: &[usize]| branches.first().map(|&top| &self.merged.branches[top]);
        let down = |branch: &&Branch| match branch.here {
            0 => first(&branch.children),
            _ => None,
        };
        let end = std::iter::successors(first(&self.merged.tops), down).last();
        end.map_or(0, |branch| branch.example)
    }
}

/// The command line that asks about another target with the same options.
fn command_line(source: &Source, dump: Option<usize>, target: &str) -> String {
    let mut words = vec!["anthill paths".to_owned(), shell::file(&source.name)];
    words.push(shell::word(target));
    let convention = source.session.convention();
    if convention.mat {
        words.push("--compat mat".to_owned());
    } else if convention != Convention::DEFAULT {
        words.push(format!("--keep {}", kept(convention, &[])));
    }
    words.extend(dump.map(|dump| format!("--dump {dump}")));
    if let Some(recording) = source.session.recording() {
        words.push(format!("--at state:{}", recording.state().number));
    }
    words.join(" ")
}

/// The value of `--keep` for a convention and further kinds of references.
fn kept(convention: Convention, more: &[LedTo]) -> String {
    let kinds = [
        Strength::Soft,
        Strength::Weak,
        Strength::Phantom,
        Strength::Finalizer,
    ];
    let is_kept = |kind: &Strength| {
        let further = more.iter().any(|led_to| led_to.kinds.contains(kind));
        convention.keeps(*kind) || further
    };
    let kept: Vec<&str> = kinds
        .iter()
        .filter(|kind| is_kept(kind))
        .map(kind)
        .collect();
    match kept[..] {
        [] => "none".to_owned(),
        _ => kept.join(","),
    }
}

fn kind(strength: &Strength) -> &'static str {
    match strength {
        Strength::Strong => "strong",
        Strength::Soft => "soft",
        Strength::Weak => "weak",
        Strength::Phantom => "phantom",
        Strength::Finalizer => "finalizer",
    }
}

fn led_to(session: &Session, unreachable: &[NodeId]) -> Result<Vec<LedTo>, Failure> {
    let found = session.led_to(unreachable)?.into_iter();
    Ok(found
        .map(|(kinds, objects)| LedTo { kinds, objects })
        .collect())
}

/// What is said of so many unreachable objects.
fn unreachable(convention: Convention, objects: u64, led_to: &[LedTo]) -> String {
    if led_to.is_empty() {
        return "unreachable: nothing in the dump leads there from a GC root".to_owned();
    }
    let lead = |led_to: &LedTo| {
        let kinds: Vec<&str> = led_to.kinds.iter().map(kind).collect();
        match (objects, led_to.objects) {
            (1, _) => kinds.join(" and "),
            (_, to) => format!("{} to {}", kinds.join(" and "), count(to)),
        }
    };
    let leads: Vec<String> = led_to.iter().map(lead).collect();
    format!(
        "unreachable: only references that do not keep alive lead there ({}); `--keep {}` follows them",
        leads.join(", "),
        kept(convention, led_to)
    )
}
