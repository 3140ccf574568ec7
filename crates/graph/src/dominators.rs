//! Immediate dominators and retained sizes: semi-NCA over columns in preorder
//! (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005, section 2.3).

use anthill_heap::{Cancelled, Column, Progress};

use crate::depth_first::{DepthFirst, VIRTUAL_ROOT};
use crate::graph::{Graph, NodeId};

/// The immediate dominator of nodes that no single object keeps alive.
pub const ROOT: u32 = u32::MAX;
/// Stands in place of a dominator for nodes that nothing keeps alive.
pub const UNREACHABLE: u32 = u32::MAX - 1;

pub struct Dominators {
    /// By node: its immediate dominator, [`ROOT`] or [`UNREACHABLE`].
    pub immediate: Column<u32>,
    /// By node: bytes that would die with it; its own if it is unreachable.
    pub retained: Column<u64>,
}

impl Dominators {
    pub fn new(
        graph: &Graph,
        search: &DepthFirst,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        progress.stage("computing dominators", search.len() as u64);
        let dominators = semi_nca(search);
        progress.check()?;
        progress.advance(search.len() as u64 / 2);
        let mut immediate = vec![UNREACHABLE; graph.len() as usize];
        for (&node, &dominator) in search.order.iter().zip(&dominators).skip(1) {
            immediate[node as usize] = if dominator == VIRTUAL_ROOT {
                ROOT
            } else {
                search.order[dominator as usize]
            };
        }
        let mut retained: Vec<u64> = graph.sizes().collect();
        for node in 0..graph.len() {
            if immediate[node as usize] != UNREACHABLE {
                for &to in graph.references(node) {
                    if search.leaves.contains(to) {
                        immediate[to as usize] = node;
                        retained[node as usize] += retained[to as usize];
                    }
                }
            }
        }
        let mut sums: Vec<u64> = search
            .order
            .iter()
            .map(|&node| retained.get(node as usize).copied().unwrap_or(0))
            .collect();
        for number in (1..search.len()).rev() {
            sums[dominators[number] as usize] += sums[number];
        }
        for (&node, &sum) in search.order.iter().zip(&sums).skip(1) {
            retained[node as usize] = sum;
        }
        progress.advance(search.len() as u64 / 2);
        Ok(Dominators {
            immediate: immediate.into(),
            retained: retained.into(),
        })
    }

    pub fn is_reachable(&self, node: NodeId) -> bool {
        self.immediate[node as usize] != UNREACHABLE
    }

    /// The dominators of a node, nearest first, without the virtual root.
    pub fn chain(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let immediate: &[u32] = &self.immediate;
        let above =
            move |node: NodeId| Some(immediate[node as usize]).filter(|&above| above < UNREACHABLE);
        std::iter::successors(above(node), move |&node| above(node))
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

/// By number: the number of the immediate dominator.
fn semi_nca(search: &DepthFirst) -> Vec<u32> {
    let others = search.other_predecessors();
    let count = search.len();
    let mut ancestor = search.parent.clone();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut label = semi.clone();
    let mut path = Vec::new();
    for number in (1..count as u32).rev() {
        let mut smallest = search.parent[number as usize];
        for &from in others(number) {
            let candidate = if from <= number {
                from
            } else {
                eval(from, number, &mut ancestor, &mut label, &mut path)
            };
            smallest = smallest.min(candidate);
        }
        semi[number as usize] = smallest;
        label[number as usize] = smallest;
    }
    drop((ancestor, label));
    let mut dominators = search.parent.clone();
    for number in 1..count {
        let mut dominator = dominators[number];
        while dominator > semi[number] {
            dominator = dominators[dominator as usize];
        }
        dominators[number] = dominator;
    }
    dominators
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
