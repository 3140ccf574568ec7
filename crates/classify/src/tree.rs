//! Classification trees: a group of objects, split level by level.
//!
//! An object may be under several nodes, and is counted once in each of their ancestors. Every
//! object remembers the set of nodes it ended in (there are few distinct sets), so any node can
//! still list its objects although the tree itself holds only counts.

use anthill_graph::{
    DepthFirst, Graph, GroupTotals, Membership, NodeId, deep_by_groups, retained_by_groups,
};
use anthill_heap::{BitSet, Buffer, Cancelled, HeapState, ObjectId, Progress};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::parts::{self, Parts};
use crate::values::{Assignment, Classified, KeyId, LabelId};

pub type TreeNodeId = u32;

/// The node that holds the whole group.
pub const OVERALL: TreeNodeId = 0;

type SetId = u32;
const OUTSIDE: SetId = SetId::MAX;

pub struct Tree {
    nodes: Vec<TreeNode>,
    /// Sets of nodes objects can end in.
    sets: Vec<Box<[TreeNodeId]>>,
    /// By object: its set, or [`OUTSIDE`].
    set_of: Buffer<SetId>,
}

/// A group of objects with the same keys so far.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// What distinguishes it from its siblings; "Overall" for the whole group.
    pub key: String,
    pub parent: Option<TreeNodeId>,
    pub children: Vec<TreeNodeId>,
    pub objects: u64,
    /// Bytes of the objects, or of that part of each that the node stands for.
    pub shallow: u64,
    /// Nothing before [`Tree::measure`], and for parts of objects.
    pub deep: Option<GroupTotals>,
    pub retained: Option<GroupTotals>,
    /// Which part of its objects the node stands for, if not for whole objects.
    part: Option<u8>,
}

impl Tree {
    /// Splits `group` by each of `levels` in turn.
    pub fn new(graph: &Graph, group: &BitSet, levels: &[Classified]) -> Self {
        let mut builder = Builder {
            state: graph.state,
            levels,
            nodes: vec![node("Overall".to_owned(), None, None)],
            children: FxHashMap::default(),
            sets: Vec::new(),
            set_numbers: FxHashMap::default(),
            steps: levels.iter().map(|_| FxHashMap::default()).collect(),
        };
        let set_of = builder.assign(group);
        let mut tree = Tree {
            nodes: builder.nodes,
            sets: builder.sets,
            set_of,
        };
        tree.count(graph);
        tree
    }

    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    pub fn node(&self, node: TreeNodeId) -> &TreeNode {
        &self.nodes[node as usize]
    }

    /// The objects of a node, those of the nodes below it included.
    pub fn objects(&self, node: TreeNodeId) -> BitSet {
        let mut objects = BitSet::new(self.set_of.len());
        let within: Vec<bool> = self
            .groups_of_sets()
            .iter()
            .map(|groups| groups.binary_search(&node).is_ok())
            .collect();
        for (&set, object) in self.set_of.iter().zip(0..) {
            if set != OUTSIDE && within[set as usize] {
                objects.insert(object);
            }
        }
        objects
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

    fn count(&mut self, graph: &Graph) {
        let mut sums = vec![GroupTotals::default(); self.sets.len()];
        let in_parts = self.nodes.iter().any(|node| node.part.is_some());
        let parts = in_parts.then(|| Parts::new(graph));
        let mut part_sums = vec![[0; parts::COUNT]; if in_parts { self.sets.len() } else { 0 }];
        for ((&set, size), object) in self.set_of.iter().zip(graph.sizes()).zip(0..) {
            if set == OUTSIDE {
                continue;
            }
            sums[set as usize].objects += 1;
            sums[set as usize].bytes += size;
            if let Some(parts) = &parts {
                let sum = &mut part_sums[set as usize];
                for (sum, bytes) in sum.iter_mut().zip(parts.of(object, size)) {
                    *sum += bytes;
                }
            }
        }
        for (set, groups) in self.groups_of_sets().into_iter().enumerate() {
            for group in groups {
                let node = &mut self.nodes[group as usize];
                node.objects += sums[set].objects;
                node.shallow += match node.part {
                    Some(part) => part_sums[set][usize::from(part)],
                    None => sums[set].bytes,
                };
            }
        }
    }

    /// Computes what every node of whole objects retains and reaches.
    pub fn measure(&mut self, graph: &Graph, progress: &dyn Progress) -> Result<(), Cancelled> {
        let mut groups_of_label = self.groups_of_sets();
        let is_whole = |node: &TreeNodeId| self.nodes[*node as usize].part.is_none();
        groups_of_label
            .iter_mut()
            .for_each(|groups| groups.retain(is_whole));
        let set_of: &[SetId] = &self.set_of;
        let membership = Membership {
            label: |node: NodeId| {
                set_of
                    .get(node as usize)
                    .copied()
                    .filter(|&set| set != OUTSIDE)
            },
            groups_of_label: &groups_of_label,
            groups: self.nodes.len(),
        };
        let mut search = DepthFirst::new(graph, progress)?;
        let retained = retained_by_groups(graph, &mut search, &membership, progress)?;
        drop(search);
        let deep = deep_by_groups(graph, &membership, progress)?;
        for ((node, retained), deep) in self.nodes.iter_mut().zip(retained).zip(deep) {
            let whole = node.part.is_none();
            node.retained = whole.then_some(retained);
            node.deep = whole.then_some(deep);
        }
        Ok(())
    }
}

fn node(key: String, parent: Option<TreeNodeId>, part: Option<u8>) -> TreeNode {
    TreeNode {
        key,
        parent,
        children: Vec::new(),
        objects: 0,
        shallow: 0,
        deep: None,
        retained: None,
        part,
    }
}

struct Builder<'a> {
    state: &'a HeapState,
    levels: &'a [Classified],
    nodes: Vec<TreeNode>,
    children: FxHashMap<(TreeNodeId, usize, KeyId), TreeNodeId>,
    sets: Vec<Box<[TreeNodeId]>>,
    set_numbers: FxHashMap<Box<[TreeNodeId]>, SetId>,
    /// By level: where a set goes with a label.
    steps: Vec<FxHashMap<(SetId, LabelId), SetId>>,
}

impl Builder<'_> {
    fn assign(&mut self, group: &BitSet) -> Buffer<SetId> {
        let start = self.set(vec![OVERALL]);
        // What depends on the class only is decided once per class.
        let by_class = self
            .levels
            .iter()
            .take_while(|level| !matches!(level.of, Assignment::ByObject(_)))
            .count();
        let classes: &[u32] = &self.state.columns.classes;
        let mut first: Vec<Option<SetId>> = vec![None; self.state.classes().len()];
        let mut set_of = Buffer::filled(self.state.len() as usize, OUTSIDE);
        let slots: &mut [SetId] = &mut set_of;
        for (object, (slot, &class)) in slots.iter_mut().zip(classes).enumerate() {
            let object = object as ObjectId;
            if !group.contains(object) {
                continue;
            }
            let after_classes = match first[class as usize] {
                Some(set) => set,
                None => {
                    let set = self.descend(start, 0..by_class, object, class);
                    first[class as usize] = Some(set);
                    set
                }
            };
            *slot = self.descend(after_classes, by_class..self.levels.len(), object, class);
        }
        set_of
    }

    fn descend(
        &mut self,
        mut set: SetId,
        levels: std::ops::Range<usize>,
        object: ObjectId,
        class: u32,
    ) -> SetId {
        for level in levels {
            let label = self.levels[level].label(object, class);
            set = match self.steps[level].get(&(set, label)) {
                Some(&next) => next,
                None => {
                    let next = self.step(level, set, label);
                    self.steps[level].insert((set, label), next);
                    next
                }
            };
        }
        set
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
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use anthill_graph::{Convention, gc_closure, transitive_closure};
    use anthill_heap::{HeapBuilder, Quiet};

    use super::*;
    use crate::brute_force::Random;
    use crate::values::Values;

    /// A classifier that gives each object any number of paths of up to two keys.
    fn any_labels(random: &mut Random, objects: u32) -> (Classified, Vec<Vec<Vec<String>>>) {
        let mut values = Values::default();
        let mut said = Vec::new();
        let labels: Vec<LabelId> = (0..objects)
            .map(|_| {
                let path = |random: &mut Random| {
                    (0..1 + random.below(2))
                        .map(|_| format!("k{}", random.below(3)))
                        .collect()
                };
                let paths: Vec<Vec<String>> = (0..random.below(3)).map(|_| path(random)).collect();
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
    fn every_node_has_what_brute_force_gives_it() {
        for seed in 1..600 {
            let mut random = Random::new(seed);
            let mut heap = HeapBuilder::new();
            let count = 1 + random.below(20);
            for object in 0..count {
                let class = random.below(3);
                heap.object(
                    &format!("o{object}"),
                    &format!("C{class}"),
                    8 + 8 * class as u32,
                );
            }
            for _ in 0..random.below(3 * count) {
                heap.edges(&format!(
                    "o{} -> o{}",
                    random.below(count),
                    random.below(count)
                ));
            }
            for _ in 0..1 + random.below(3) {
                heap.root(&format!("o{}", random.below(count)));
            }
            let state = heap.build();
            let graph = Graph::new(
                &state,
                state.tables.sizes.as_ref().unwrap(),
                Convention::DEFAULT,
            );
            let mut group = BitSet::new(count);
            (0..count as u32)
                .filter(|_| random.below(5) > 0)
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
                let objects = tree.objects(node);
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
                assert_eq!(
                    shown.retained,
                    Some(totals(gc_closure(&graph, &members))),
                    "seed {seed}"
                );
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
