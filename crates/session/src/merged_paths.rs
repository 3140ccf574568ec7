//! Shortest paths from the roots to many objects, merged: steps through the same field to objects
//! of the same class are one branch, so that a million paths become a handful.

use anthill_graph::{EdgeKind, Graph, NodeId, Paths};
use anthill_heap::{BitSet, ClassId, ClassKind, ObjectId, Root, RootOrigin};
use rustc_hash::FxHashMap;

use crate::labels::edge_kind;
use crate::{Analysis, Error, Session};

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

#[derive(Clone, Debug)]
pub struct Branch {
    /// How it is held by the branch above: a field, `[…]`, or for the first step the root in words.
    pub via: String,
    pub class: BranchClass,
    /// Distinct objects that were merged into this branch.
    pub merged: u64,
    /// Whether paths stay in the branch for more than a step: objects that hold others of their
    /// own class, as in a linked list, or a longer loop of classes.
    pub repeats: bool,
    /// Targets that end here.
    pub here: u64,
    /// Targets that end here or below.
    pub targets: u64,
    /// What these targets retain by themselves. One that another one of them dominates is not
    /// counted again.
    pub retained: u64,
    /// Indices of branches.
    pub children: Vec<usize>,
    /// One of the objects.
    pub example: NodeId,
}

pub struct MergedPaths {
    pub branches: Vec<Branch>,
    /// The branches that start at roots.
    pub tops: Vec<usize>,
    /// Targets with a path, and what they retain by themselves.
    pub targets: u64,
    pub retained: u64,
    /// Targets that no root leads to.
    pub unreachable: u64,
}

impl Session {
    /// The merged shortest paths to all `targets`. Branches with more targets come first.
    pub fn merged_paths(&self, targets: &[NodeId]) -> Result<MergedPaths, Error> {
        let analysis = self.analysis()?;
        let graph = self.graph();
        let reachable: Vec<NodeId> = targets
            .iter()
            .copied()
            .filter(|&node| analysis.dominators.is_reachable(node))
            .collect();
        let retained = retained_alone(&graph, analysis, &reachable);
        self.records().open()?;
        let paths = Paths::search(&graph, &reachable, self.progress())?;
        let mut merger = Merger {
            session: self,
            graph: &graph,
            roots: RootsByObject::new(self),
            names: Names::default(),
            branch_of: vec![NONE; graph.len() as usize],
            by_key: FxHashMap::default(),
            branches: Vec::new(),
            parents: Vec::new(),
            vias: Vec::new(),
        };
        self.progress()
            .stage("merging paths", reachable.len() as u64);
        for (count, (&target, retained)) in reachable.iter().zip(retained).enumerate() {
            if count % (1 << 14) == 0 {
                self.progress().check()?;
                self.progress().advance(1 << 14);
            }
            if let Some(branch) = merger.branch(&paths, target) {
                let branch = &mut merger.branches[branch as usize];
                branch.here += 1;
                branch.retained += retained;
            }
        }
        Ok(merger.finish(targets.len() - reachable.len()))
    }
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
                dominators.retained[target as usize]
            }
        })
        .collect()
}

const NONE: u32 = u32::MAX;

/// Texts that occur often, by number.
#[derive(Default)]
struct Names {
    numbers: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = self.numbers.len() as u32;
                self.numbers.insert(name.to_owned(), number);
                number
            }
        }
    }
}

struct Merger<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    roots: RootsByObject<'a>,
    names: Names,
    /// By node: the branch it was merged into.
    branch_of: Vec<u32>,
    /// Branch above, name of the step, class → branch.
    by_key: FxHashMap<(u32, u32, BranchClass), u32>,
    branches: Vec<Branch>,
    /// By branch: the one above, or [`NONE`].
    parents: Vec<u32>,
    /// By branch: the number of its `via`.
    vias: Vec<u32>,
}

impl Merger<'_> {
    /// The branch of a node; all nodes on its path get theirs.
    fn branch(&mut self, paths: &Paths, node: NodeId) -> Option<u32> {
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
            above = self.step(above, before, node);
            self.branch_of[node as usize] = above;
        }
        Some(self.branch_of[node as usize])
    }

    /// The branch of `node`, whose predecessor is `before` in the branch `above`.
    fn step(&mut self, above: u32, before: Option<NodeId>, node: NodeId) -> u32 {
        let class = self.class(node);
        let same_class = above != NONE && self.branches[above as usize].class == class;
        if same_class && before.is_some() && !matches!(class, BranchClass::ClassObject(_)) {
            self.branches[above as usize].merged += 1;
            self.branches[above as usize].repeats = true;
            return above;
        }
        let via = match before {
            Some(before) => self.via(before, node),
            None => self.roots.name(node),
        };
        let name = self.names.number(&via);
        let key = (above, name, class);
        if let Some(&branch) = self.by_key.get(&key) {
            self.branches[branch as usize].merged += 1;
            return branch;
        }
        if let Some(branch) = self.same_step_above(above, name, class) {
            self.branches[branch as usize].merged += 1;
            self.branches[branch as usize].repeats = true;
            self.by_key.insert(key, branch);
            return branch;
        }
        let branch = self.branches.len() as u32;
        self.branches.push(Branch {
            via,
            class,
            merged: 1,
            repeats: false,
            here: 0,
            targets: 0,
            retained: 0,
            children: Vec::new(),
            example: node,
        });
        self.parents.push(above);
        self.vias.push(name);
        self.by_key.insert(key, branch);
        branch
    }

    /// A branch on the way here that was entered by the same step: the path goes in circles.
    fn same_step_above(&self, above: u32, via: u32, class: BranchClass) -> Option<u32> {
        let up = |&branch: &u32| Some(self.parents[branch as usize]).filter(|&up| up != NONE);
        std::iter::successors(Some(above).filter(|&above| above != NONE), up).find(|&branch| {
            self.vias[branch as usize] == via && self.branches[branch as usize].class == class
        })
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

    /// The name of a step; elements of an array are not told apart.
    fn via(&self, from: NodeId, to: NodeId) -> String {
        let state = self.session.state();
        let kind = edge_kind(self.graph, from, to).unwrap_or(EdgeKind::Reference);
        let element =
            kind == EdgeKind::Reference && matches!(state.class(from).kind, ClassKind::Array(_));
        if element {
            "[…]".to_owned()
        } else {
            self.session.edge_name(from, to, kind)
        }
    }

    fn finish(self, unreachable: usize) -> MergedPaths {
        let Merger {
            mut branches,
            parents,
            ..
        } = self;
        let mut tops = Vec::new();
        for index in (0..branches.len()).rev() {
            branches[index].targets += branches[index].here;
            let (targets, retained) = (branches[index].targets, branches[index].retained);
            match parents[index] {
                NONE => tops.push(index),
                above => {
                    let above = &mut branches[above as usize];
                    above.targets += targets;
                    above.retained += retained;
                    above.children.push(index);
                }
            }
        }
        let order: Vec<u64> = branches.iter().map(|branch| branch.targets).collect();
        let by_targets = |&index: &usize| (std::cmp::Reverse(order[index]), index);
        branches
            .iter_mut()
            .for_each(|branch| branch.children.sort_by_key(by_targets));
        tops.sort_by_key(by_targets);
        MergedPaths {
            targets: tops.iter().map(|&top| branches[top].targets).sum(),
            retained: tops.iter().map(|&top| branches[top].retained).sum(),
            branches,
            tops,
            unreachable: unreachable as u64,
        }
    }
}

/// The roots of the heap, to be found by what they hold.
pub struct RootsByObject<'a> {
    session: &'a Session,
    /// Sorted by object.
    roots: Vec<&'a Root>,
}

impl<'a> RootsByObject<'a> {
    pub fn new(session: &'a Session) -> Self {
        let mut roots: Vec<&Root> = session.state().tables.roots.iter().collect();
        // Where an object has several roots, those that say more come first.
        roots.sort_by_key(|root| {
            let other = root.origin != RootOrigin::ThreadObject;
            (
                root.object,
                other,
                root.frame.is_none(),
                root.thread.is_none(),
            )
        });
        RootsByObject { session, roots }
    }

    /// The roots that hold an object.
    pub fn of(&self, object: ObjectId) -> &[&'a Root] {
        let start = self.roots.partition_point(|root| root.object < object);
        let len = self.roots[start..].partition_point(|root| root.object == object);
        &self.roots[start..start + len]
    }

    /// Why a node is a root, in words.
    pub fn name(&self, node: NodeId) -> String {
        match self.of(node).first() {
            Some(root) => self.session.root_name(root),
            None => "root of the boot loader".to_owned(),
        }
    }
}
