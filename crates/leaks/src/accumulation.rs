//! Where memory accumulates: from the top of the dominator tree down, always to the largest child,
//! until it fans out.

use std::cmp::Reverse;

use anthill_graph::{Dominators, NodeId, ROOT, UNREACHABLE};
use anthill_heap::{Buffer, HeapState};

const NONE: NodeId = NodeId::MAX;

/// In a linked list every element keeps all after it alive. A class that comes again within so many
/// steps is taken for one.
const PERIOD: usize = 4;

/// The part of the dominator tree that retains much.
pub(crate) struct Large<'a> {
    state: &'a HeapState,
    dominators: &'a Dominators,
    /// Those that no single object dominates, largest first.
    pub tops: Vec<NodeId>,
    /// By node: the child that retains most, if the node is large.
    largest: Buffer<NodeId>,
    /// Large nodes besides those that are the largest child of theirs, with the node above.
    others: Vec<(NodeId, NodeId)>,
    least: u64,
}

/// Where a way down ended.
pub(crate) struct Accumulation {
    /// All on the way, the first and the last included.
    pub way: Vec<NodeId>,
    /// The object below which memory fans out: the last on the way, or the head of a list.
    pub at: NodeId,
}

impl<'a> Large<'a> {
    /// All nodes that retain at least so many bytes.
    pub(crate) fn new(state: &'a HeapState, dominators: &'a Dominators, least: u64) -> Self {
        let is_large = |node: NodeId| dominators.retained(node) >= least;
        let immediate: &[u32] = &dominators.immediate;
        let mut largest = Buffer::filled(immediate.len(), NONE);
        let of: &mut [NodeId] = &mut largest;
        let mut tops = Vec::new();
        for (&above, node) in immediate.iter().zip(0..) {
            if above == ROOT && is_large(node) {
                tops.push(node);
            } else if above < UNREACHABLE && is_large(above) {
                let known = of[above as usize];
                if known == NONE || dominators.retained(known) < dominators.retained(node) {
                    of[above as usize] = node;
                }
            }
        }
        let is_other = |&(above, node): &(NodeId, NodeId)| {
            above < UNREACHABLE && is_large(node) && of[above as usize] != node
        };
        let others = immediate
            .iter()
            .copied()
            .zip(0..)
            .filter(is_other)
            .collect();
        tops.sort_by_key(|&node| Reverse(dominators.retained(node)));
        Large {
            state,
            dominators,
            tops,
            largest,
            others,
            least,
        }
    }

    fn largest(&self, node: NodeId) -> Option<NodeId> {
        Some(self.largest[node as usize]).filter(|&child| child != NONE)
    }

    /// The large children of a node, largest first.
    pub(crate) fn children(&self, node: NodeId) -> Vec<NodeId> {
        let others = self.others.iter().filter(|(above, _)| *above == node);
        let largest = self.largest(node);
        let mut children: Vec<NodeId> = largest
            .into_iter()
            .filter(|&child| self.dominators.retained(child) >= self.least)
            .chain(others.map(|&(_, child)| child))
            .collect();
        children.sort_by_key(|&child| Reverse(self.dominators.retained(child)));
        children
    }

    /// Goes down from `start` as long as one child retains more than `share` of all.
    pub(crate) fn below(&self, start: NodeId, share: f64) -> Accumulation {
        let mut way = vec![start];
        let mut at = start;
        while let Some(child) = self.passed_on_to(at, share) {
            if self.dominators.retained(child) < self.least {
                // It went on to less and less, so there is no place where it fans out.
                let at = self.head_of_list(&way);
                return Accumulation { way, at };
            }
            at = child;
            way.push(at);
        }
        Accumulation { way, at }
    }

    fn passed_on_to(&self, node: NodeId, share: f64) -> Option<NodeId> {
        let retained = |node: NodeId| self.dominators.retained(node) as f64;
        self.largest(node)
            .filter(|&child| retained(child) > share * retained(node))
    }

    fn head_of_list(&self, way: &[NodeId]) -> NodeId {
        let class = |node: NodeId| self.state.class_id(node);
        let is_repeated = |&index: &usize| {
            let next = way[index + 1..].iter().take(PERIOD);
            way[index] < self.state.len()
                && next.clone().any(|&node| class(node) == class(way[index]))
        };
        let head = (0..way.len()).find(is_repeated);
        head.map_or(way[way.len() - 1], |index| way[index])
    }
}
