//! Immediate dominators and retained sizes: semi-NCA over columns in preorder
//! (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005, section 2.3).

use anthill_heap::{BitSet, Buffer, Cancelled, Column, Progress};

use crate::amounts::{Amounts, Word};
use crate::depth_first::{DepthFirst, VIRTUAL_ROOT};
use crate::graph::{Graph, NodeId};

/// The immediate dominator of nodes that no single object keeps alive.
pub const ROOT: u32 = u32::MAX;
/// Stands in place of a dominator for nodes that nothing keeps alive.
pub const UNREACHABLE: u32 = u32::MAX - 1;

/// The dominator tree, by node.
pub struct Dominators {
    /// By node: its immediate dominator, [`ROOT`] or [`UNREACHABLE`].
    pub immediate: Column<u32>,
    /// By node: the bytes that would die with it.
    pub retained: Amounts,
}

impl Dominators {
    /// Uses up the search, since its columns and the dominators need not exist together.
    pub fn new(
        graph: &Graph,
        search: DepthFirst,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let total = search.len() as u64;
        progress.stage("computing dominators", total);
        let (order, leaves, dominators) = search.into_dominators();
        progress.check()?;
        progress.advance(total / 2);
        let immediate = by_node(graph, &order, &leaves, &dominators);
        progress.advance(total / 2);
        let tree = Numbered {
            order: &order,
            leaves: &leaves,
            dominators: &dominators,
            immediate: &immediate,
        };
        let retained = tree.retained(graph);
        Ok(Dominators {
            immediate: immediate.into(),
            retained,
        })
    }

    /// Bytes that would die with a node; its own if it is unreachable.
    #[inline]
    pub fn retained(&self, node: NodeId) -> u64 {
        self.retained.get(node)
    }

    /// Whether a way leads to the node from a root.
    pub fn is_reachable(&self, node: NodeId) -> bool {
        self.immediate[node as usize] != UNREACHABLE
    }

    /// All nodes that can be reached from the roots.
    pub fn reachable(&self) -> BitSet {
        let mut reachable = BitSet::new(self.immediate.len());
        for (&above, node) in self.immediate.iter().zip(0..) {
            if above != UNREACHABLE {
                reachable.insert(node);
            }
        }
        reachable
    }

    /// The dominators of a node, nearest first, without the virtual root.
    pub fn chain(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let immediate: &[u32] = &self.immediate;
        let above =
            move |node: NodeId| Some(immediate[node as usize]).filter(|&above| above < UNREACHABLE);
        std::iter::successors(above(node), move |&node| above(node))
    }

    /// All nodes that one of these dominates, themselves included.
    pub fn dominated_by(&self, owners: &[NodeId]) -> BitSet {
        let immediate: &[u32] = &self.immediate;
        let nodes = immediate.len();
        let (mut within, mut outside) = (BitSet::new(nodes), BitSet::new(nodes));
        if owners.is_empty() {
            return within;
        }
        owners.iter().for_each(|&owner| within.insert(owner));
        let mut way = Vec::new();
        for node in 0..nodes as NodeId {
            let mut at = node;
            let found = loop {
                if within.contains(at) || outside.contains(at) {
                    break within.contains(at);
                }
                way.push(at);
                match immediate[at as usize] {
                    ROOT | UNREACHABLE => break false,
                    above => at = above,
                }
            };
            let side = if found { &mut within } else { &mut outside };
            way.drain(..).for_each(|passed| side.insert(passed));
        }
        within
    }

    /// The nodes immediately dominated by `parent`, or by the virtual root.
    pub fn children(&self, parent: Option<NodeId>) -> Vec<NodeId> {
        let wanted = parent.unwrap_or(ROOT);
        (0..)
            .zip(self.immediate.iter())
            .filter(|&(_, &above)| above == wanted)
            .map(|(node, _)| node)
            .collect()
    }
}

/// Tells all nodes with their immediate dominators so that each comes after all that it dominates.
pub fn bottom_up(immediate: &[u32], mut tell: impl FnMut(NodeId, u32)) {
    const DONE: u32 = u32::MAX;
    let mut waiting = Buffer::<u32>::zeroed(immediate.len());
    let wait: &mut [u32] = &mut waiting;
    for &above in immediate.iter().filter(|&&above| above < UNREACHABLE) {
        wait[above as usize] += 1;
    }
    // A node is next when all that it dominates immediately have been told.
    for start in 0..immediate.len() {
        let mut node = start;
        while wait[node] == 0 {
            wait[node] = DONE;
            let above = immediate[node];
            tell(node as NodeId, above);
            if above >= UNREACHABLE {
                break;
            }
            wait[above as usize] -= 1;
            node = above as usize;
        }
    }
}

/// By node: the immediate dominator.
fn by_node(graph: &Graph, order: &[NodeId], leaves: &BitSet, dominators: &[u32]) -> Buffer<u32> {
    let mut immediate = Buffer::filled(graph.len() as usize, UNREACHABLE);
    let above: &mut [u32] = &mut immediate;
    for (&node, &dominator) in order.iter().zip(dominators).skip(1) {
        above[node as usize] = if dominator == VIRTUAL_ROOT {
            ROOT
        } else {
            order[dominator as usize]
        };
    }
    for node in 0..graph.len() {
        if above[node as usize] != UNREACHABLE {
            for &to in graph.references(node) {
                if leaves.contains(to) {
                    above[to as usize] = node;
                }
            }
        }
    }
    immediate
}

/// A dominator tree by the numbers of the search and by node.
struct Numbered<'a> {
    order: &'a [NodeId],
    leaves: &'a BitSet,
    dominators: &'a [u32],
    immediate: &'a [u32],
}

impl Numbered<'_> {
    /// By node: its bytes and those of all nodes it dominates; its own if it was not reached.
    fn retained(&self, graph: &Graph) -> Amounts {
        self.retained_words::<u32>(graph)
            .or_else(|| self.retained_words::<u64>(graph))
            .expect("a heap has fewer than 2^64 bytes")
    }

    /// `None` if the words are too narrow.
    fn retained_words<W: Word>(&self, graph: &Graph) -> Option<Amounts> {
        let shift = graph.size_shift();
        let mut total = 0;
        let with_leaves = (0..graph.len()).zip(graph.sizes()).map(|(node, size)| {
            total += size;
            W::of((size + self.leaf_bytes(graph, node)) >> shift)
        });
        let mut retained = Buffer::collect(graph.len() as usize, with_leaves);
        if total >> shift > W::MOST {
            return None;
        }
        let units: &mut [W] = &mut retained;
        let own = self
            .order
            .iter()
            .map(|&node| units.get(node as usize).copied().unwrap_or(W::zeroed()));
        let mut sums = Buffer::collect(self.order.len(), own);
        let sums: &mut [W] = &mut sums;
        for (number, &dominator) in self.dominators.iter().enumerate().skip(1).rev() {
            sums[dominator as usize] = sums[dominator as usize].plus(sums[number]);
        }
        for (&node, &sum) in self.order.iter().zip(&*sums).skip(1) {
            units[node as usize] = sum;
        }
        Some(W::amounts(shift, retained))
    }

    #[inline]
    fn leaf_bytes(&self, graph: &Graph, node: NodeId) -> u64 {
        if self.immediate[node as usize] == UNREACHABLE {
            return 0;
        }
        let references = graph.references(node).iter();
        references
            .filter(|&&to| self.leaves.contains(to))
            .map(|&to| graph.size(to))
            .sum()
    }
}

impl DepthFirst {
    /// Order, leaves and, by number, the number of the immediate dominator.
    fn into_dominators(mut self) -> (Buffer<NodeId>, BitSet, Buffer<u32>) {
        self.postorder = Buffer::zeroed(0);
        let label = std::mem::replace(&mut self.scratch, Buffer::zeroed(0));
        let semi = semidominators(&self, label);
        let DepthFirst {
            order,
            leaves,
            mut parent,
            ..
        } = self;
        parents_to_dominators(&mut parent, &semi);
        (order, leaves, parent)
    }
}

/// The dominator is the nearest ancestor, in the dominator tree of all before, that is not below
/// the semidominator. As a rule it is a step or two away.
fn parents_to_dominators(dominators: &mut [u32], semi: &[u32]) {
    let patience = 8 * dominators.len();
    let mut steps = 0;
    for number in 1..dominators.len() {
        let mut dominator = dominators[number];
        while dominator > semi[number] {
            dominator = dominators[dominator as usize];
            steps += 1;
        }
        dominators[number] = dominator;
        if steps > patience {
            return parents_to_dominators_far_away(dominators, semi, number + 1);
        }
    }
}

/// The same from number `from` on, for heaps where the ways are long, e.g. a linked list whose
/// elements are also held elsewhere: with jump pointers (Myers 1983) each takes O(log n).
fn parents_to_dominators_far_away(dominators: &mut [u32], semi: &[u32], from: usize) {
    let (mut depths, mut jumps) = (Buffer::zeroed(semi.len()), Buffer::zeroed(semi.len()));
    let (depth, jump): (&mut [u32], &mut [u32]) = (&mut depths, &mut jumps);
    for number in 1..dominators.len() {
        let mut above = dominators[number] as usize;
        if number >= from {
            let highest = semi[number];
            while above as u32 > highest {
                let far = jump[above];
                above = if far > highest {
                    far
                } else {
                    dominators[above]
                } as usize;
            }
            dominators[number] = above as u32;
        }
        let far = jump[above] as usize;
        let farther = jump[far] as usize;
        let equal = depth[above] - depth[far] == depth[far] - depth[farther];
        jump[number] = if equal { farther } else { above } as u32;
        depth[number] = depth[above] + 1;
    }
}

/// By number: the number of the semidominator. `label` is memory to work in.
fn semidominators(search: &DepthFirst, mut label: Buffer<u32>) -> Buffer<u32> {
    let count = search.len();
    let others = search.other_predecessors();
    let parent: &[u32] = &search.parent;
    let mut semidominators = Buffer::collect(count, 0u32..);
    let semi: &mut [u32] = &mut semidominators;
    label.copy_from_slice(semi);
    let mut ancestor = Buffer::copy_of(parent);
    let (ancestor, label): (&mut [u32], &mut [u32]) = (&mut ancestor, &mut label);
    let mut path = Vec::new();
    for number in (1..count as u32).rev() {
        let mut smallest = parent[number as usize];
        for &from in others.of(number) {
            let candidate = if from <= number {
                from
            } else {
                eval(from, number, ancestor, label, &mut path)
            };
            smallest = smallest.min(candidate);
        }
        semi[number as usize] = smallest;
        label[number as usize] = smallest;
    }
    semidominators
}

/// The smallest semidominator on the way from `from` up to where numbers are at most `linked`,
/// with path compression.
#[inline]
fn eval(
    from: u32,
    linked: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    path: &mut Vec<u32>,
) -> u32 {
    let mut top = from;
    while ancestor[top as usize] > linked {
        path.push(top);
        top = ancestor[top as usize];
    }
    while let Some(node) = path.pop() {
        let above = ancestor[node as usize] as usize;
        label[node as usize] = label[node as usize].min(label[above]);
        ancestor[node as usize] = ancestor[above];
    }
    label[from as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_of_any_size_and_alignment() {
        for (size, wide) in [
            (24, false),
            (25, false),
            (u32::MAX - 7, true),
            (u32::MAX, true),
        ] {
            let mut heap = anthill_heap::HeapBuilder::new();
            let names: Vec<String> = (0..20).map(|object| format!("o{object}")).collect();
            for name in &names {
                heap.object(name, "C", size);
            }
            names
                .windows(2)
                .for_each(|pair| heap.edges(&format!("{} -> {}", pair[0], pair[1])));
            heap.root("o0");
            let state = heap.build();
            let sizes = state.tables.sizes.as_ref().unwrap();
            let graph = Graph::new(&state, sizes, crate::Convention::DEFAULT);
            let search = DepthFirst::new(&graph, &anthill_heap::Quiet).unwrap();
            let dominators = Dominators::new(&graph, search, &anthill_heap::Quiet).unwrap();
            assert_eq!(dominators.retained.wide.is_empty(), !wide, "{size}");
            for node in 0..20 {
                let below = u64::from(20 - node);
                assert_eq!(dominators.retained(node), below * u64::from(size));
            }
        }
    }

    #[test]
    fn near_and_far_dominators_are_the_same() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..2000 {
            let count = 2 + round % 60;
            let mut next = |limit: u32| random.u32(..limit);
            let parents: Vec<u32> = (0..count)
                .map(|n| if n == 0 { 0 } else { n - 1 - next(n.min(3)) })
                .collect();
            let semi: Vec<u32> = (0..count)
                .map(|n| {
                    if n == 0 {
                        0
                    } else {
                        next(parents[n as usize] + 1)
                    }
                })
                .collect();
            let mut near = parents.clone();
            parents_to_dominators(&mut near, &semi);
            for from in [1, count as usize / 2] {
                let mut far = near[..from]
                    .iter()
                    .chain(&parents[from..])
                    .copied()
                    .collect::<Vec<_>>();
                parents_to_dominators_far_away(&mut far, &semi, from);
                assert_eq!(near, far);
            }
        }
    }
}
