//! Classification trees: a group of objects, split level by level.
//!
//! An object may be under several nodes, and is counted once in each of their ancestors. Every
//! object remembers the set of nodes it ended in (there are few distinct sets), so any node can
//! still list its objects although the tree itself holds only counts.

use anthill_graph::{
    DepthFirst, Graph, GroupTotals, Membership, NodeId, deep_by_groups, retained_by_groups,
};
use anthill_heap::{BitSet, Buffer, Cancelled, ClassId, HeapState, ObjectId, Progress, both};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::parts::{self, Parts};
use crate::values::{Assignment, Classified, KeyId, LabelId};

/// The number of a node of a tree.
pub type TreeNodeId = u32;

/// The node that holds the whole group.
pub const OVERALL: TreeNodeId = 0;

type SetId = u32;
const OUTSIDE: SetId = SetId::MAX;

/// A classification tree: objects by the keys of one classifier after the other.
pub struct Tree {
    nodes: Vec<TreeNode>,
    /// Sets of nodes objects can end in.
    sets: Vec<Box<[TreeNodeId]>>,
    places: Places,
    /// Trees below nodes that were split later, with the number of their first node but
    /// [`OVERALL`] here.
    splits: Vec<(TreeNodeId, Tree)>,
}

/// In which set each object ended.
enum Places {
    /// By class, for the objects of the group.
    ByClass { sets: Vec<SetId>, group: BitSet },
    /// By object: its set, or [`OUTSIDE`].
    ByObject(Buffer<SetId>),
}

impl Places {
    /// [`OUTSIDE`] for objects that are not in the tree, and nodes that are no objects.
    #[inline]
    fn set(&self, classes: &[ClassId], node: NodeId) -> SetId {
        match self {
            Places::ByClass { sets, group } => match classes.get(node as usize) {
                Some(&class) if group.contains(node) => sets[class as usize],
                _ => OUTSIDE,
            },
            Places::ByObject(sets) => sets.get(node as usize).copied().unwrap_or(OUTSIDE),
        }
    }
}

/// Objects of a set, their bytes, and the bytes of their parts if somebody asks for those.
#[derive(Clone, Copy, Default)]
struct Sum {
    objects: u64,
    bytes: u64,
    parts: [u64; parts::COUNT],
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.objects += other.objects;
        self.bytes += other.bytes;
        for (sum, bytes) in self.parts.iter_mut().zip(other.parts) {
            *sum += bytes;
        }
    }

    /// The bytes of the objects, or of a part of each.
    fn bytes_in(&self, part: Option<u8>) -> u64 {
        part.map_or(self.bytes, |part| self.parts[usize::from(part)])
    }
}

/// A group of objects with the same keys so far.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// What distinguishes it from its siblings; "Overall" for the whole group.
    pub key: String,
    /// The group it is a part of; none for all objects.
    pub parent: Option<TreeNodeId>,
    /// Its own parts.
    pub children: Vec<TreeNodeId>,
    /// How many objects.
    pub objects: u64,
    /// Bytes of the objects, or of that part of each that the node stands for.
    pub shallow: u64,
    /// Of these, what is in no node below it.
    pub own: GroupTotals,
    /// Nothing before [`Tree::measure`], and for parts of objects.
    pub deep: Option<GroupTotals>,
    /// All that would die with its objects, if that was asked for.
    pub retained: Option<GroupTotals>,
    /// Which part of its objects the node stands for, if not for whole objects.
    part: Option<u8>,
}

impl Tree {
    /// Splits `group` by each of `levels` in turn.
    pub fn new(graph: &Graph, group: &BitSet, levels: &[Classified]) -> Self {
        let in_parts = levels
            .iter()
            .any(|level| matches!(level.of, Assignment::Parts(_)));
        let mut builder = Builder {
            graph,
            parts: in_parts.then(|| Parts::new(graph)),
            levels,
            nodes: vec![node("Overall".to_owned(), None, None)],
            children: FxHashMap::default(),
            sets: Vec::new(),
            set_numbers: FxHashMap::default(),
            steps: levels.iter().map(|_| FxHashMap::default()).collect(),
            sums: Vec::new(),
        };
        let places = builder.place(group);
        let sums = std::mem::take(&mut builder.sums);
        let mut tree = Tree {
            nodes: builder.nodes,
            sets: builder.sets,
            places,
            splits: Vec::new(),
        };
        tree.count(&sums);
        tree
    }

    /// By number.
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// The node with this number.
    pub fn node(&self, node: TreeNodeId) -> &TreeNode {
        &self.nodes[node as usize]
    }

    /// The node whose keys from the top, joined by ` > `, are this text, with or without the first
    /// one, "Overall"; or the last node on the way there and the rest that it has no child for.
    pub fn find<'p>(&self, path: &'p str) -> Result<TreeNodeId, (TreeNodeId, &'p str)> {
        self.find_exactly(path)
            .or_else(|_| self.find_exactly(path.trim()))
    }

    /// The same without regard for blanks around the path that belong to no key.
    fn find_exactly<'p>(&self, path: &'p str) -> Result<TreeNodeId, (TreeNodeId, &'p str)> {
        if path.is_empty() {
            return Ok(OVERALL);
        }
        let after_first = after_key(path, &self.nodes[OVERALL as usize].key);
        let (mut node, mut rest) = (OVERALL, after_first.unwrap_or(Some(path)));
        while let Some(keys) = rest {
            let children = self.nodes[node as usize].children.iter();
            let found = children.filter_map(|&child| {
                let after = after_key(keys, &self.nodes[child as usize].key)?;
                Some((child, after))
            });
            // Keys may have the joint in themselves: the longest that fits is meant.
            (node, rest) = found
                .min_by_key(|(_, after)| after.map_or(0, |after| 1 + after.len()))
                .ok_or((node, keys))?;
        }
        Ok(node)
    }

    /// The objects of a node, those of the nodes below it included.
    pub fn objects(&self, state: &HeapState, node: TreeNodeId) -> BitSet {
        let later = self.splits.partition_point(|&(first, _)| first <= node);
        if let Some((first, split)) = later.checked_sub(1).map(|index| &self.splits[index]) {
            return split.objects(state, node - first + 1);
        }
        let mut objects = BitSet::new(state.len() as usize);
        let within: Vec<bool> = self
            .groups_of_sets()
            .iter()
            .map(|groups| groups.binary_search(&node).is_ok())
            .collect();
        let classes: &[ClassId] = &state.columns.classes;
        for object in 0..state.len() {
            let set = self.places.set(classes, object);
            if set != OUTSIDE && within[set as usize] {
                objects.insert(object);
            }
        }
        objects
    }

    /// By node: the sum of what its objects have; `values` are objects with a number each.
    pub fn sums(&self, state: &HeapState, values: &[(ObjectId, u64)]) -> Vec<u64> {
        let groups = self.groups_of_sets();
        let classes: &[ClassId] = &state.columns.classes;
        let mut sums = vec![0; self.nodes.len()];
        for &(object, value) in values {
            let set = self.places.set(classes, object);
            if set != OUTSIDE {
                for &node in &groups[set as usize] {
                    sums[node as usize] += value;
                }
            }
        }
        for (first, split) in &self.splits {
            let below = split.sums(state, values);
            // Its first node is the one that was split.
            for (sum, value) in sums[*first as usize..].iter_mut().zip(&below[1..]) {
                *sum = *value;
            }
        }
        sums
    }

    /// Whether a node can be split further: it is the last of its way and stands for whole objects.
    pub fn can_be_split(&self, node: TreeNodeId) -> bool {
        let node = self.node(node);
        node.children.is_empty() && node.part.is_none()
    }

    /// Puts a tree of the objects of `node`, which can be split, below it.
    pub fn split(&mut self, node: TreeNodeId, tree: Tree) {
        let first = self.nodes.len() as TreeNodeId;
        let number = |inner: TreeNodeId| match inner {
            OVERALL => node,
            inner => first + inner - 1,
        };
        let split = &mut self.nodes[node as usize];
        split.children = tree.nodes[0].children.iter().copied().map(number).collect();
        split.own = tree.nodes[0].own;
        for inner in &tree.nodes[1..] {
            self.nodes.push(TreeNode {
                parent: inner.parent.map(number),
                children: inner.children.iter().copied().map(number).collect(),
                ..inner.clone()
            });
        }
        self.splits.push((first, tree));
    }

    /// By set: its nodes and all their ancestors, ascending.
    fn groups_of_sets(&self) -> Vec<Vec<TreeNodeId>> {
        let ancestors = |&node: &TreeNodeId| {
            std::iter::successors(Some(node), |&node| self.nodes[node as usize].parent)
        };
        let groups = |set: &[TreeNodeId]| {
            let mut groups: Vec<TreeNodeId> = set.iter().flat_map(ancestors).collect();
            groups.sort_unstable();
            groups.dedup();
            groups
        };
        self.sets.iter().map(|set| groups(set)).collect()
    }

    fn count(&mut self, sums: &[Sum]) {
        for (groups, sum) in self.groups_of_sets().into_iter().zip(sums) {
            for group in groups {
                let node = &mut self.nodes[group as usize];
                node.objects += sum.objects;
                node.shallow += sum.bytes_in(node.part);
            }
        }
        for (set, sum) in self.sets.iter().zip(sums) {
            for &node in set {
                let node = &mut self.nodes[node as usize];
                node.own.objects += sum.objects;
                node.own.bytes += sum.bytes_in(node.part);
            }
        }
    }

    /// Computes what every node of whole objects retains and reaches.
    pub fn measure(&mut self, graph: &Graph, progress: &dyn Progress) -> Result<(), Cancelled> {
        let classes: &[ClassId] = &graph.state.columns.classes;
        let places = &self.places;
        let membership = Membership {
            label: |node: NodeId| Some(places.set(classes, node)).filter(|&set| set != OUTSIDE),
            groups_of_label: &self.whole_groups_of_sets(),
            groups: self.nodes.len(),
        };
        let (retained, deep) = closures(graph, &membership, progress)?;
        self.set_closures(&retained, &deep);
        Ok(())
    }

    /// The same for several trees of one heap at once.
    pub fn measure_all(
        trees: &mut [Tree],
        graph: &Graph,
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        if let [tree] = trees {
            return tree.measure(graph, progress);
        }
        let joint = Joint::new(trees, graph, progress)?;
        let labels: &[u32] = &joint.labels;
        let label = |node: NodeId| labels.get(node as usize).copied();
        let membership = Membership {
            label: |node: NodeId| label(node).filter(|&label| label != OUTSIDE),
            groups_of_label: &joint.groups_of_label,
            groups: joint.groups,
        };
        let (retained, deep) = closures(graph, &membership, progress)?;
        let mut first = 0;
        for tree in trees {
            let nodes = first..first + tree.nodes.len();
            tree.set_closures(&retained[nodes.clone()], &deep[nodes.clone()]);
            first = nodes.end;
        }
        Ok(())
    }

    /// By set: its nodes of whole objects and all their ancestors, ascending.
    fn whole_groups_of_sets(&self) -> Vec<Vec<TreeNodeId>> {
        let mut groups_of_set = self.groups_of_sets();
        let is_whole = |node: &TreeNodeId| self.nodes[*node as usize].part.is_none();
        groups_of_set
            .iter_mut()
            .for_each(|groups| groups.retain(is_whole));
        groups_of_set
    }

    fn set_closures(&mut self, retained: &[GroupTotals], deep: &[GroupTotals]) {
        for ((node, &retained), &deep) in self.nodes.iter_mut().zip(retained).zip(deep) {
            let whole = node.part.is_none();
            node.retained = whole.then_some(retained);
            node.deep = whole.then_some(deep);
        }
    }
}

/// What comes after the first key of a path: `None` if that is another one, `Some(None)` if it is the
/// last. A key may be empty, so that nothing may be left and still be a key.
fn after_key<'p>(path: &'p str, key: &str) -> Option<Option<&'p str>> {
    const JOINT: &str = " > ";
    match path.strip_prefix(key)? {
        "" => Some(None),
        after => after.strip_prefix(JOINT).map(Some),
    }
}

/// What every group retains and reaches.
fn closures<L: Fn(NodeId) -> Option<u32> + Copy + Sync>(
    graph: &Graph,
    membership: &Membership<L>,
    progress: &dyn Progress,
) -> Result<(Vec<GroupTotals>, Vec<GroupTotals>), Cancelled> {
    let (retained, deep) = both(
        || {
            let mut search = DepthFirst::new(graph, progress)?;
            let mut retained = retained_by_groups(graph, &mut search, membership, progress)?;
            add_unreachable(graph, &search.reached(graph), membership, &mut retained);
            Ok(retained)
        },
        || deep_by_groups(graph, membership, progress),
    );
    Ok((retained?, deep?))
}

/// Adds the members of each group that are unreachable: such an object retains itself.
fn add_unreachable<L: Fn(NodeId) -> Option<u32>>(
    graph: &Graph,
    reached: &BitSet,
    membership: &Membership<L>,
    retained: &mut [GroupTotals],
) {
    let mut by_label = vec![GroupTotals::default(); membership.groups_of_label.len()];
    for node in (0..graph.len()).filter(|&node| !reached.contains(node)) {
        if let Some(label) = (membership.label)(node) {
            let totals = &mut by_label[label as usize];
            totals.objects += 1;
            totals.bytes += graph.size(node);
        }
    }
    for (groups, totals) in membership.groups_of_label.iter().zip(by_label) {
        for &group in groups {
            let retained = &mut retained[group as usize];
            retained.objects += totals.objects;
            retained.bytes += totals.bytes;
        }
    }
}

/// The nodes of several trees as groups of one heap, those of the first tree first.
struct Joint {
    /// By object: the number of the combination of sets it ended in, or [`OUTSIDE`].
    labels: Buffer<u32>,
    groups_of_label: Vec<Vec<u32>>,
    groups: usize,
}

impl Joint {
    fn new(trees: &[Tree], graph: &Graph, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let classes: &[ClassId] = &graph.state.columns.classes;
        let mut labels = Buffer::filled(classes.len(), OUTSIDE);
        let slots: &mut [u32] = &mut labels;
        let outside = vec![OUTSIDE; trees.len()];
        let mut numbers = FxHashMap::from_iter([(outside.clone(), OUTSIDE)]);
        // Objects beside each other often end in the same sets.
        let (mut latest, mut latest_label) = (outside, OUTSIDE);
        let mut sets = latest.clone();
        for (object, slot) in slots.iter_mut().enumerate() {
            if object % CHUNK == 0 {
                progress.check()?;
            }
            for (set, tree) in sets.iter_mut().zip(trees) {
                *set = tree.places.set(classes, object as NodeId);
            }
            if sets != latest {
                latest_label = match numbers.get(&sets) {
                    Some(&label) => label,
                    None => {
                        let label = numbers.len() as u32 - 1;
                        numbers.insert(sets.clone(), label);
                        label
                    }
                };
                latest.clone_from(&sets);
            }
            *slot = latest_label;
        }
        numbers.remove(&vec![OUTSIDE; trees.len()]);
        let mut groups_of_label = vec![Vec::new(); numbers.len()];
        let of_trees: Vec<_> = trees.iter().map(Tree::whole_groups_of_sets).collect();
        for (sets, label) in numbers {
            let groups: &mut Vec<u32> = &mut groups_of_label[label as usize];
            let mut first = 0;
            for ((set, groups_of_set), tree) in sets.into_iter().zip(&of_trees).zip(trees) {
                if set != OUTSIDE {
                    groups.extend(
                        groups_of_set[set as usize]
                            .iter()
                            .map(|group| first + group),
                    );
                }
                first += tree.nodes.len() as u32;
            }
        }
        Ok(Joint {
            labels,
            groups_of_label,
            groups: trees.iter().map(|tree| tree.nodes.len()).sum(),
        })
    }
}

fn node(key: String, parent: Option<TreeNodeId>, part: Option<u8>) -> TreeNode {
    TreeNode {
        key,
        parent,
        children: Vec::new(),
        objects: 0,
        shallow: 0,
        own: GroupTotals::default(),
        deep: None,
        retained: None,
        part,
    }
}

/// Objects that are sent through the levels at a time.
const CHUNK: usize = 1 << 17;

struct Builder<'a> {
    graph: &'a Graph<'a>,
    /// If some level is about parts of objects.
    parts: Option<Parts<'a>>,
    levels: &'a [Classified],
    nodes: Vec<TreeNode>,
    children: FxHashMap<(TreeNodeId, usize, KeyId), TreeNodeId>,
    sets: Vec<Box<[TreeNodeId]>>,
    set_numbers: FxHashMap<Box<[TreeNodeId]>, SetId>,
    /// By level: where a set goes with a label.
    steps: Vec<FxHashMap<(SetId, LabelId), SetId>>,
    /// By set.
    sums: Vec<Sum>,
}

impl Builder<'_> {
    fn place(&mut self, group: &BitSet) -> Places {
        // What depends on the class only is decided once per class.
        let by_class = self
            .levels
            .iter()
            .take_while(|level| !matches!(level.of, Assignment::ByObject(_)))
            .count();
        let all_by_class = by_class == self.levels.len();
        let sums = self.sums_of_classes(group, all_by_class);
        let start = self.set(vec![OVERALL]);
        let mut sets = vec![OUTSIDE; sums.len()];
        for (class, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.objects > 0) {
            let mut set = start;
            for level in 0..by_class {
                let label = self.levels[level].label(ObjectId::MAX, class as ClassId);
                set = self.step(level, set, label);
            }
            sets[class] = set;
            if all_by_class {
                self.sums[set as usize].add(sum);
            }
        }
        if all_by_class {
            let group = group.clone();
            Places::ByClass { sets, group }
        } else {
            Places::ByObject(self.place_each(group, &sets, by_class))
        }
    }

    /// By class: how many objects of the group it has and, if `bytes` are wanted, their bytes.
    fn sums_of_classes(&self, group: &BitSet, bytes: bool) -> Vec<Sum> {
        let state = self.graph.state;
        let none = || vec![Sum::default(); state.classes().len()];
        let chunks = (0..state.len()).into_par_iter().step_by(CHUNK);
        chunks
            .fold(none, |mut sums, start| {
                let range = start..state.len().min(start + CHUNK as ObjectId);
                if bytes {
                    let objects = range.clone().zip(self.graph.classes_and_sizes(range));
                    for (object, (class, size)) in objects {
                        if group.contains(object) {
                            self.add_object(&mut sums[class as usize], object, size);
                        }
                    }
                } else {
                    for object in range.filter(|&object| group.contains(object)) {
                        sums[state.class_id(object) as usize].objects += 1;
                    }
                }
                sums
            })
            .reduce(none, |mut sums, others| {
                let pairs = sums.iter_mut().zip(&others);
                pairs.for_each(|(sum, other)| sum.add(other));
                sums
            })
    }

    #[inline]
    fn add_object(&self, sum: &mut Sum, object: ObjectId, size: u64) {
        sum.objects += 1;
        sum.bytes += size;
        if let Some(parts) = &self.parts {
            for (sum, bytes) in sum.parts.iter_mut().zip(parts.of(object, size)) {
                *sum += bytes;
            }
        }
    }

    /// Sends the objects through the levels from `first` on. Chunks of them find their ways by
    /// numbers of their own, which then become sets.
    fn place_each(&mut self, group: &BitSet, start: &[SetId], first: usize) -> Buffer<SetId> {
        let mut places = Buffer::filled(self.graph.state.len() as usize, OUTSIDE);
        let slots: &mut [SetId] = &mut places;
        let chunks: Vec<Ways> = slots
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map(|(chunk, slots)| {
                let mut ways = Ways::new(self.levels.len() - first);
                let range = (chunk * CHUNK) as ObjectId..(chunk * CHUNK + slots.len()) as ObjectId;
                let objects = range.clone().zip(self.graph.classes_and_sizes(range));
                for (slot, (object, (class, size))) in slots.iter_mut().zip(objects) {
                    if group.contains(object) {
                        let levels = self.levels[first..].iter();
                        let labels = levels.map(|level| level.label(object, class));
                        *slot = ways.follow(start[class as usize], labels);
                        self.add_object(&mut ways.sums[*slot as usize], object, size);
                    }
                }
                ways
            })
            .collect();
        let sets: Vec<Vec<SetId>> = chunks
            .iter()
            .map(|ways| self.sets_of(ways, first))
            .collect();
        slots
            .par_chunks_mut(CHUNK)
            .zip(&sets)
            .for_each(|(slots, sets)| {
                for slot in slots.iter_mut().filter(|slot| **slot != OUTSIDE) {
                    *slot = sets[*slot as usize];
                }
            });
        places
    }

    /// By number of a way's end: its set.
    fn sets_of(&mut self, ways: &Ways, first: usize) -> Vec<SetId> {
        let mut sets: Vec<SetId> = Vec::new();
        for (level, steps) in ways.made.iter().enumerate() {
            let from = |from: u32| {
                if level == 0 {
                    from
                } else {
                    sets[from as usize]
                }
            };
            sets = steps
                .iter()
                .map(|&(before, label)| self.known_step(first + level, from(before), label))
                .collect();
        }
        for (&set, sum) in sets.iter().zip(&ways.sums) {
            self.sums[set as usize].add(sum);
        }
        sets
    }

    fn known_step(&mut self, level: usize, set: SetId, label: LabelId) -> SetId {
        if let Some(&next) = self.steps[level].get(&(set, label)) {
            return next;
        }
        let next = self.step(level, set, label);
        self.steps[level].insert((set, label), next);
        next
    }

    fn step(&mut self, level: usize, set: SetId, label: LabelId) -> SetId {
        let values = &self.levels[level].values;
        let mut next = Vec::new();
        for from in self.sets[set as usize].clone() {
            for &path in values.paths(label) {
                let keys = values.keys_of(path);
                next.push(
                    keys.into_iter()
                        .fold(from, |node, key| self.child(level, node, key)),
                );
            }
        }
        self.set(next)
    }

    fn child(&mut self, level: usize, parent: TreeNodeId, key: KeyId) -> TreeNodeId {
        let Classified { values, of } = &self.levels[level];
        let nodes = &mut self.nodes;
        *self
            .children
            .entry((parent, level, key))
            .or_insert_with(|| {
                let child = nodes.len() as TreeNodeId;
                let part = match of {
                    Assignment::Parts(_) => Some(key as u8),
                    _ => nodes[parent as usize].part,
                };
                nodes.push(node(values.key_text(key).to_owned(), Some(parent), part));
                nodes[parent as usize].children.push(child);
                child
            })
    }

    fn set(&mut self, nodes: Vec<TreeNodeId>) -> SetId {
        let distinct: FxHashSet<TreeNodeId> = nodes.into_iter().collect();
        let mut nodes: Vec<TreeNodeId> = distinct.into_iter().collect();
        nodes.sort_unstable();
        let nodes: Box<[TreeNodeId]> = nodes.into();
        if let Some(&set) = self.set_numbers.get(&nodes) {
            return set;
        }
        let set = self.sets.len() as SetId;
        self.sets.push(nodes.clone());
        self.set_numbers.insert(nodes, set);
        self.sums.push(Sum::default());
        set
    }
}

/// The ways that some objects take through the levels.
struct Ways {
    /// By level: the number of a step from where with which label.
    numbers: Vec<FxHashMap<(u32, LabelId), u32>>,
    /// By level: its steps. Those of the first level start at a set, the others at a step of the
    /// level before.
    made: Vec<Vec<(u32, LabelId)>>,
    /// By step of the last level.
    sums: Vec<Sum>,
    /// By level: the latest step. Objects beside each other often go the same way.
    latest: Vec<(u32, LabelId, u32)>,
}

impl Ways {
    fn new(levels: usize) -> Self {
        Ways {
            numbers: vec![FxHashMap::default(); levels],
            made: vec![Vec::new(); levels],
            sums: Vec::new(),
            latest: vec![(u32::MAX, 0, 0); levels],
        }
    }

    #[inline]
    fn follow(&mut self, start: SetId, labels: impl Iterator<Item = LabelId>) -> u32 {
        let mut at = start;
        for (level, label) in labels.enumerate() {
            let (from, with, to) = self.latest[level];
            at = if (from, with) == (at, label) {
                to
            } else {
                let to = self.step(level, at, label);
                self.latest[level] = (at, label, to);
                to
            };
        }
        at
    }

    fn step(&mut self, level: usize, from: u32, label: LabelId) -> u32 {
        let made = &mut self.made[level];
        let next = made.len() as u32;
        let number = *self.numbers[level].entry((from, label)).or_insert(next);
        if number == next {
            made.push((from, label));
            if level + 1 == self.numbers.len() {
                self.sums.push(Sum::default());
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use anthill_graph::{Convention, gc_closure, transitive_closure};
    use anthill_heap::{HeapBuilder, Quiet};

    use super::*;
    use crate::values::Values;
    use fastrand::Rng;

    /// A classifier that gives each object any number of paths of up to two keys.
    fn any_labels(random: &mut Rng, objects: u32) -> (Classified, Vec<Vec<Vec<String>>>) {
        let mut values = Values::default();
        let mut said = Vec::new();
        let labels: Vec<LabelId> = (0..objects)
            .map(|_| {
                let path = |random: &mut Rng| {
                    (0..1 + random.usize(..2))
                        .map(|_| format!("k{}", random.usize(..3)))
                        .collect()
                };
                let paths: Vec<Vec<String>> =
                    (0..random.usize(..3)).map(|_| path(random)).collect();
                let numbers = paths
                    .iter()
                    .map(|keys| values.path(keys.iter().map(String::as_str)))
                    .collect();
                said.push(paths);
                values.label(numbers)
            })
            .collect();
        (
            Classified {
                values,
                of: Assignment::ByObject(Buffer::copy_of(&labels)),
            },
            said,
        )
    }

    #[test]
    fn a_node_can_be_split_on_its_own_and_again() {
        let mut heap = HeapBuilder::new();
        for (object, class) in ["A", "A", "B", "B", "B"].iter().enumerate() {
            heap.object(&format!("o{object}"), class, 16);
        }
        heap.edges("o0 -> o1 o2 o3 o4");
        heap.root("o0");
        let state = heap.build();
        let sizes = state.tables.sizes.as_ref().unwrap();
        let graph = Graph::new(&state, sizes, Convention::DEFAULT);
        let by = |keys: [&str; 5]| {
            let mut values = Values::default();
            let labels = keys.map(|key| values.one(key));
            let of = Assignment::ByObject(Buffer::copy_of(&labels));
            Classified { values, of }
        };
        let mut group = BitSet::new(5);
        (0..5).for_each(|object| group.insert(object));
        let tree_of = |group: &BitSet, level| {
            let mut tree = Tree::new(&graph, group, &[level]);
            tree.measure(&graph, &Quiet).unwrap();
            tree
        };
        let mut tree = tree_of(&group, by(["A", "A", "B", "B", "B"]));
        let find = |tree: &Tree, key: &str| {
            let found = tree.nodes().iter().position(|node| node.key == key);
            found.unwrap() as TreeNodeId
        };
        let b = find(&tree, "B");
        assert!(tree.can_be_split(b) && !tree.can_be_split(OVERALL));
        tree.split(
            b,
            tree_of(&tree.objects(&state, b), by(["", "", "x", "x", "y"])),
        );
        let x = find(&tree, "x");
        tree.split(
            x,
            tree_of(&tree.objects(&state, x), by(["", "", "1", "2", ""])),
        );
        assert!(!tree.can_be_split(b) && tree.node(x).parent == Some(b));
        for (key, members) in [
            ("A", vec![0, 1]),
            ("B", vec![2, 3, 4]),
            ("x", vec![2, 3]),
            ("y", vec![4]),
            ("1", vec![2]),
            ("2", vec![3]),
        ] {
            let node = find(&tree, key);
            assert_eq!(
                tree.objects(&state, node).iter().collect::<Vec<_>>(),
                members,
                "{key}"
            );
            assert_eq!(tree.node(node).objects, members.len() as u64);
        }
        assert_eq!(tree.node(find(&tree, "1")).parent, Some(x));
    }

    #[test]
    fn nodes_are_found_by_their_keys() {
        let mut heap = HeapBuilder::new();
        heap.objects("a b c", "C", 16);
        let state = heap.build();
        let sizes = state.tables.sizes.as_ref().unwrap();
        let graph = Graph::new(&state, sizes, Convention::DEFAULT);
        let mut group = BitSet::new(3);
        (0..3).for_each(|object| group.insert(object));
        let mut values = Values::default();
        let paths = [vec!["x", "y"], vec!["x > y", "z"], vec!["Overall"]];
        let labels = paths.map(|keys| {
            let path = values.path(keys);
            values.label(vec![path])
        });
        let of = Assignment::ByObject(Buffer::copy_of(&labels));
        let tree = Tree::new(&graph, &group, &[Classified { values, of }]);
        let keys = |path| tree.find(path).map(|node| tree.node(node).key.as_str());
        assert_eq!(keys(""), Ok("Overall"));
        assert_eq!(keys("Overall"), Ok("Overall"));
        assert_eq!(keys("Overall > x"), Ok("x"));
        // Of keys that hold the joint, the longest is meant.
        assert_eq!(keys("x > y"), Ok("x > y"));
        assert_eq!(keys("x > y > z"), Ok("z"));
        assert_eq!(keys("Overall > Overall"), Ok("Overall"));
        assert_ne!(tree.find("Overall > Overall"), tree.find("Overall"));
        let (last, rest) = tree.find("x > q > r").unwrap_err();
        assert_eq!((tree.node(last).key.as_str(), rest), ("x", "q > r"));
    }

    #[test]
    fn every_node_has_what_brute_force_gives_it() {
        for seed in 1..600 {
            let mut random = Rng::with_seed(seed);
            let mut heap = HeapBuilder::new();
            let count = 1 + random.usize(..20);
            for object in 0..count {
                let class = random.usize(..3);
                heap.object(
                    &format!("o{object}"),
                    &format!("C{class}"),
                    8 + 8 * class as u32,
                );
            }
            for _ in 0..random.usize(..3 * count) {
                heap.edges(&format!(
                    "o{} -> o{}",
                    random.usize(..count),
                    random.usize(..count)
                ));
            }
            for _ in 0..1 + random.usize(..3) {
                heap.root(&format!("o{}", random.usize(..count)));
            }
            let state = heap.build();
            let graph = Graph::new(
                &state,
                state.tables.sizes.as_ref().unwrap(),
                Convention::DEFAULT,
            );
            let mut group = BitSet::new(count);
            (0..count as u32)
                .filter(|_| random.usize(..5) > 0)
                .for_each(|object| group.insert(object));
            let by_class = {
                let mut values = Values::default();
                let labels = state
                    .classes()
                    .iter()
                    .map(|class| values.one(&class.name))
                    .collect();
                Classified {
                    values,
                    of: Assignment::ByClass(labels),
                }
            };
            let (first, said_first) = any_labels(&mut random, state.len());
            let (second, said_second) = any_labels(&mut random, state.len());
            let mut tree = Tree::new(&graph, &group, &[by_class, first, second]);
            tree.measure(&graph, &Quiet).unwrap();
            // By path of keys from the top: the objects that belong there.
            let mut expected: BTreeMap<Vec<String>, BitSet> = BTreeMap::new();
            for object in group.iter() {
                for a in &said_first[object as usize] {
                    for b in &said_second[object as usize] {
                        let class = vec![state.class(object).name.clone()];
                        // A level's own first key starts a new node even if the key above is equal.
                        let keys = [class, a.clone(), vec!["|".into()], b.clone()].concat();
                        for end in 0..=keys.len() {
                            expected
                                .entry(keys[..end].to_vec())
                                .or_insert_with(|| BitSet::new(count))
                                .insert(object);
                        }
                    }
                }
            }
            let all: BitSet = expected
                .remove(&Vec::new())
                .unwrap_or_else(|| BitSet::new(count));
            expected.retain(|keys, _| keys.last().is_some_and(|key| key != "|"));
            let mut found = 0;
            for node in 1..tree.nodes().len() as TreeNodeId {
                let objects = tree.objects(&state, node);
                let shown = tree.node(node);
                assert_eq!(shown.objects, objects.count() as u64, "seed {seed}");
                assert_eq!(
                    shown.shallow,
                    objects.iter().map(|object| graph.size(object)).sum::<u64>()
                );
                let members: Vec<u32> = objects.iter().collect();
                let totals = |set: BitSet| GroupTotals {
                    objects: set.count() as u64,
                    bytes: set.iter().map(|object| graph.size(object)).sum(),
                };
                let mut freed = gc_closure(&graph, &members);
                members.iter().for_each(|&member| freed.insert(member));
                assert_eq!(shown.retained, Some(totals(freed)), "seed {seed}");
                assert_eq!(
                    shown.deep,
                    Some(totals(transitive_closure(&graph, &members))),
                    "seed {seed}"
                );
                // A node whose objects all drop out further down is empty.
                if !members.is_empty() {
                    assert!(
                        expected.values().any(|set| *set == objects),
                        "seed {seed} node {node}"
                    );
                    found += 1;
                }
            }
            assert_eq!(found, expected.len(), "seed {seed}");
            assert_eq!(
                tree.node(OVERALL).objects,
                all.count() as u64,
                "seed {seed}: nothing is counted twice"
            );
        }
    }
}
