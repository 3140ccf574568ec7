//! Shortest paths from the roots to many objects, merged: steps through the same field to objects
//! of the same class are one branch, so that a million paths become a handful. Only what repeats
//! at once is folded: every branch is a way that exists.

mod folding;

use std::cmp::Reverse;

use anthill_graph::{EdgeKind, Graph, NodeId, Paths, held_otherwise};
use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, Value};
use anthill_hprof::{Cursor, FieldPlace};
use anthill_session::{Analysis, Error, Session, edge_kind};
use rustc_hash::FxHashMap;

use self::folding::{Folding, NONE, Step};
use crate::RootsByObject;

/// What the objects of a branch are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BranchClass {
    /// Objects of a class.
    Instances(ClassId),
    /// The class object that stands for a class.
    ClassObject(ClassId),
    /// The stand-in for the boot loader.
    SystemLoader,
}

/// Objects of one class that are held in the same way.
#[derive(Clone, Debug)]
pub struct Branch {
    /// How it is held by the branch above: a field, `[…]`, or for the first step the root in words.
    pub via: String,
    /// Their class.
    pub class: BranchClass,
    /// Distinct objects that were merged into this branch.
    pub merged: u64,
    /// How objects of the branch hold others of the branch, as in a linked list; mostly nothing.
    pub through: Vec<String>,
    /// How many steps, up from this one, paths go several times in a row; mostly nothing.
    pub periods: Vec<usize>,
    /// Targets that end here.
    pub here: u64,
    /// Targets that end here or below.
    pub targets: u64,
    /// Bytes of these targets and of what they dominate; see [`MergedPaths::held`].
    pub held: u64,
    /// Indices of branches.
    pub children: Vec<usize>,
    /// One of the objects.
    pub example: NodeId,
}

/// Paths from roots to many objects, those that look alike laid over each other.
pub struct MergedPaths {
    /// All branches; others name them by index.
    pub branches: Vec<Branch>,
    /// The branches that start at roots.
    pub tops: Vec<usize>,
    /// Targets with a path.
    pub targets: u64,
    /// What each target retains, added up; one that another target dominates is not counted
    /// again. What only several targets keep alive together is not in it.
    pub held: u64,
    /// Targets that something else holds than the object, or the root, before them on their path.
    pub other_holders: u64,
    /// Targets that no root leads to.
    pub unreachable: Vec<NodeId>,
}

/// The merged shortest paths to all `targets`. Branches that hold more bytes come first.
pub fn merged_paths(session: &Session, targets: &[NodeId]) -> Result<MergedPaths, Error> {
    merged_paths_without(session, targets, None)
}

/// The same with each data structure as one step: its internals are not on the paths.
pub fn collapsed_paths(session: &Session, targets: &[NodeId]) -> Result<MergedPaths, Error> {
    let internals = &session.structures()?.internals;
    merged_paths_without(session, targets, Some(internals))
}

fn merged_paths_without(
    session: &Session,
    targets: &[NodeId],
    hidden: Option<&BitSet>,
) -> Result<MergedPaths, Error> {
    let analysis = session.analysis()?;
    let dominators = &analysis.dominators;
    let graph = session.graph();
    let (reachable, unreachable): (Vec<NodeId>, Vec<NodeId>) = targets
        .iter()
        .partition(|&&node| dominators.is_reachable(node));
    let held = retained_alone(&graph, analysis, &reachable);
    session.records().open()?;
    let paths = session.shortest_paths()?;
    let mut merger = Merger::new(
        session,
        &graph,
        RootsByObject::new(session),
        RootsByObject::name,
    );
    merger.hidden = hidden;
    session
        .progress()
        .stage("merging paths", reachable.len() as u64);
    for (count, (&target, held)) in reachable.iter().zip(held).enumerate() {
        if count % (1 << 14) == 0 {
            session.progress().check()?;
            session.progress().advance(1 << 14);
        }
        if let Some(branch) = merger.branch(paths, target) {
            let tally = &mut merger.tallies[branch as usize];
            tally.here += 1;
            tally.held += held;
        }
    }
    let mut merged = merger.finish();
    let (progress, targets) = (session.progress(), &reachable);
    merged.other_holders = held_otherwise(&graph, dominators, paths, targets, progress)?;
    merged.unreachable = unreachable;
    Ok(merged)
}

/// Whether an object is not shown on paths.
pub(crate) fn is_hidden(hidden: Option<&BitSet>, node: NodeId) -> bool {
    hidden.is_some_and(|hidden| hidden.contains(node))
}

/// By target: what it retains, or 0 if another target dominates it.
fn retained_alone(graph: &Graph, analysis: &Analysis, targets: &[NodeId]) -> Vec<u64> {
    let dominators = &analysis.dominators;
    let nodes = graph.len() as usize;
    let (mut is_target, mut below) = (BitSet::new(nodes), BitSet::new(nodes));
    let mut known = BitSet::new(nodes);
    targets.iter().for_each(|&node| is_target.insert(node));
    let mut path = Vec::new();
    targets
        .iter()
        .map(|&target| {
            path.clear();
            let mut dominated = false;
            for above in dominators.chain(target) {
                if is_target.contains(above) || below.contains(above) {
                    dominated = true;
                    break;
                }
                if !known.add(above) {
                    break;
                }
                path.push(above);
            }
            if dominated {
                path.iter().for_each(|&node| below.insert(node));
                0
            } else {
                dominators.retained(target)
            }
        })
        .collect()
}

/// Texts that occur often, by number.
#[derive(Default)]
struct Names {
    numbers: FxHashMap<String, u32>,
    texts: Vec<String>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    fn texts(&self, numbers: &[u32]) -> Vec<String> {
        let text = |&number: &u32| self.texts[number as usize].clone();
        numbers.iter().map(text).collect()
    }
}

/// What is counted by branch.
struct Tally {
    merged: u64,
    here: u64,
    held: u64,
    example: NodeId,
}

/// Merges paths one after the other: every object on them belongs to a branch.
pub struct Merger<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    roots: RootsByObject<'a>,
    /// How roots are called: those with the same name are one.
    root_name: fn(&RootsByObject<'a>, NodeId) -> String,
    names: Names,
    /// Class and position among the references of an object without nulls → name of the field.
    fields: FxHashMap<(ClassId, usize), u32>,
    /// By class: the names and places of its fields that are references.
    places: FxHashMap<ClassId, Vec<(u32, FieldPlace)>>,
    cursor: Cursor<'a>,
    /// By node: the branch it was merged into.
    branch_of: Vec<u32>,
    folding: Folding,
    tallies: Vec<Tally>,
    /// Objects that belong to the branch of the one before them.
    hidden: Option<&'a BitSet>,
}

impl<'a> Merger<'a> {
    /// Merges paths that start at `roots`; roots with the same `root_name` are one branch.
    pub fn new(
        session: &'a Session,
        graph: &'a Graph<'a>,
        roots: RootsByObject<'a>,
        root_name: fn(&RootsByObject<'a>, NodeId) -> String,
    ) -> Self {
        Merger {
            session,
            graph,
            roots,
            root_name,
            names: Names::default(),
            fields: FxHashMap::default(),
            places: FxHashMap::default(),
            cursor: session.records().cursor(),
            branch_of: vec![NONE; graph.len() as usize],
            folding: Folding::default(),
            tallies: Vec::new(),
            hidden: None,
        }
    }

    /// A branch in one line: where it starts, then the fields.
    pub fn line(&self, branch: u32) -> String {
        const SHOWN: usize = 8;
        let mut steps: Vec<Step> = self
            .folding
            .upwards(branch)
            .map(|at| self.folding.branches[at as usize].step)
            .collect();
        steps.reverse();
        let via = |step: &Step| self.names.texts[step.via as usize].clone();
        let Some((first, rest)) = steps.split_first() else {
            return String::new();
        };
        let classes = self.session.state().classes();
        let start = match first.class {
            BranchClass::ClassObject(class) => format!("class {}", classes[class as usize].name),
            BranchClass::Instances(class) => {
                format!("{} ({})", classes[class as usize].name, via(first))
            }
            BranchClass::SystemLoader => "the system class loader".to_owned(),
        };
        let skipped = rest.len().saturating_sub(SHOWN);
        let skipped = (skipped > 0).then(|| format!("… {skipped} more …"));
        let shown = rest[rest.len().saturating_sub(SHOWN)..].iter().map(via);
        let parts: Vec<String> = [start].into_iter().chain(skipped).chain(shown).collect();
        parts.join(" → ")
    }
}

impl Merger<'_> {
    /// The branch of a node; all nodes on its path get theirs.
    pub fn branch(&mut self, paths: &Paths, node: NodeId) -> Option<u32> {
        let mut pending = Vec::new();
        let mut at = node;
        let mut above = NONE;
        while self.branch_of[at as usize] == NONE {
            let before = paths.before(at)?;
            pending.push((before, at));
            match before {
                Some(before) => at = before,
                None => break,
            }
        }
        if let Some(&(Some(before), _)) = pending.last() {
            above = self.branch_of[before as usize];
        }
        while let Some((before, node)) = pending.pop() {
            if above == NONE || !is_hidden(self.hidden, node) {
                above = self.step(above, before, node);
            }
            self.branch_of[node as usize] = above;
        }
        Some(self.branch_of[node as usize])
    }

    /// The branch of `node`, whose predecessor is `before` in the branch `above`.
    fn step(&mut self, above: u32, before: Option<NodeId>, node: NodeId) -> u32 {
        let class = self.class(node);
        let via = match before {
            Some(before) => self.via(before, node),
            None => self.names.number((self.root_name)(&self.roots, node)),
        };
        let branch = self.folding.enter(above, Step { via, class });
        match self.tallies.get_mut(branch as usize) {
            Some(tally) => tally.merged += 1,
            None => self.tallies.push(Tally {
                merged: 1,
                here: 0,
                held: 0,
                example: node,
            }),
        }
        branch
    }

    fn class(&self, node: NodeId) -> BranchClass {
        let state = self.session.state();
        if node >= state.len() {
            return BranchClass::SystemLoader;
        }
        match state.mirrored(node) {
            Some(class) => BranchClass::ClassObject(class),
            None => BranchClass::Instances(state.class_id(node)),
        }
    }

    /// The number of the name of a step; all elements of an array have the same.
    pub fn via(&mut self, from: NodeId, to: NodeId) -> u32 {
        let field = self.whole_field(from, to);
        if let Some(&name) = field.and_then(|field| self.fields.get(&field)) {
            return name;
        }
        let state = self.session.state();
        let kind = edge_kind(self.graph, from, to).unwrap_or(EdgeKind::Reference);
        let element =
            kind == EdgeKind::Reference && matches!(state.class(from).kind, ClassKind::Array(_));
        let read = (kind == EdgeKind::Reference && !element).then(|| self.field(from, to));
        let name = read.flatten().unwrap_or_else(|| {
            self.names.number(if element {
                "[…]".to_owned()
            } else {
                self.session.edge_name(from, to, kind)
            })
        });
        if let Some(field) = field {
            self.fields.insert(field, name);
        }
        name
    }

    /// The name of the first field of an instance that refers to another object, read from the file.
    fn field(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        let (state, records) = (self.session.state(), self.session.records());
        if from >= state.len() || state.class(from).kind != ClassKind::Instance {
            return None;
        }
        let class = state.class_id(from);
        let names = &mut self.names;
        let places = self.places.entry(class).or_insert_with(|| {
            let references = records.reference_places(state, class);
            references
                .map(|(field, place)| (names.number(field.name.clone()), place))
                .collect()
        });
        let wanted = Some(Value::Object(state.addresses.address(to)));
        let cursor = &mut self.cursor;
        let mut found = places.iter();
        let found = found.find(|(_, place)| cursor.field(state, from, *place) == wanted);
        found.map(|&(name, _)| name)
    }

    /// Where among its references an object without nulls holds another one: the same field for
    /// all such objects of its class, so that it need not be read from the file each time.
    fn whole_field(&self, from: NodeId, to: NodeId) -> Option<(ClassId, usize)> {
        let state = self.session.state();
        if from >= state.len() || state.class(from).kind != ClassKind::Instance {
            return None;
        }
        let class = state.class_id(from);
        let references = self.graph.references(from);
        let fields = state
            .superclasses(class)
            .flat_map(|class| &state.classes()[class as usize].fields);
        let in_class = fields.filter(|field| field.ty == FieldType::Object).count();
        if references.len() != in_class {
            return None;
        }
        let position = references.iter().position(|&reference| reference == to)?;
        Some((class, position))
    }

    fn finish(mut self) -> MergedPaths {
        let copies = self.folding.settle();
        let names = &self.names;
        let folded = self.folding.branches.iter().zip(&self.tallies);
        let mut branches: Vec<Branch> = folded
            .map(|(folded, tally)| Branch {
                via: names.texts[folded.step.via as usize].clone(),
                class: folded.step.class,
                merged: tally.merged,
                through: names.texts(&folded.through),
                periods: folded.periods.clone(),
                here: tally.here,
                targets: tally.here,
                held: tally.held,
                children: Vec::new(),
                example: tally.example,
            })
            .collect();
        let mut tops = Vec::new();
        for index in (0..branches.len()).rev() {
            let (targets, held) = (branches[index].targets, branches[index].held);
            match self.folding.branches[index].above {
                // Only a repetition went on from here: its targets are in the branch it repeats.
                _ if targets == 0 => {}
                NONE => tops.push(index),
                above => {
                    let above = &mut branches[above as usize];
                    above.targets += targets;
                    above.held += held;
                    above.children.push(index);
                }
            }
        }
        for (copy, original) in copies {
            if branches[copy as usize].targets == 0 {
                let merged = std::mem::take(&mut branches[copy as usize].merged);
                branches[original as usize].merged += merged;
            }
        }
        let order: Vec<(u64, u64)> = branches
            .iter()
            .map(|branch| (branch.held, branch.targets))
            .collect();
        let largest_first = |&index: &usize| (Reverse(order[index]), index);
        branches
            .iter_mut()
            .for_each(|branch| branch.children.sort_by_key(largest_first));
        tops.sort_by_key(largest_first);
        MergedPaths {
            targets: tops.iter().map(|&top| branches[top].targets).sum(),
            held: tops.iter().map(|&top| branches[top].held).sum(),
            branches,
            tops,
            other_holders: 0,
            unreachable: Vec::new(),
        }
    }
}
