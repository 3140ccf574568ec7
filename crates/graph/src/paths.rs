//! Shortest paths from the roots.

use std::collections::VecDeque;

use anthill_heap::{BitSet, Cancelled, Progress};

use crate::graph::{Graph, NodeId};

const UNSEEN: u32 = u32::MAX;
const FROM_ROOT: u32 = u32::MAX - 1;

/// A path from a root to an object, root first.
pub type RootPath = Vec<NodeId>;

/// A shortest way to each object, from one breadth-first search over all.
pub struct Paths {
    parent: Vec<u32>,
}

impl Paths {
    /// Searches until all `targets` are found; without targets, everything.
    pub fn search(
        graph: &Graph,
        targets: &[NodeId],
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        progress.stage("searching paths", u64::from(graph.len()));
        let mut parent = vec![UNSEEN; graph.len() as usize];
        let mut wanted = BitSet::new(graph.len() as usize);
        let mut left = targets.iter().filter(|&&target| wanted.add(target)).count();
        let mut queue = VecDeque::new();
        for &root in graph.roots() {
            parent[root as usize] = FROM_ROOT;
            queue.push_back(root);
        }
        let mut steps = 0u64;
        while let Some(node) = queue.pop_front() {
            if wanted.contains(node) {
                left -= 1;
                if left == 0 {
                    break;
                }
            }
            steps += 1;
            if steps % (1 << 16) == 0 {
                progress.check()?;
                progress.advance(1 << 16);
            }
            for to in graph.successors(node) {
                if parent[to as usize] == UNSEEN {
                    parent[to as usize] = node;
                    queue.push_back(to);
                }
            }
        }
        Ok(Paths { parent })
    }

    /// The node before a node on the path to it, `Some(None)` if it is a root; `None` if it was
    /// not reached.
    pub fn before(&self, node: NodeId) -> Option<Option<NodeId>> {
        match self.parent[node as usize] {
            UNSEEN => None,
            FROM_ROOT => Some(None),
            before => Some(Some(before)),
        }
    }

    /// The path to a node, if it was reached.
    pub fn to(&self, node: NodeId) -> Option<RootPath> {
        let mut before = self.before(node)?;
        let mut path = vec![node];
        while let Some(at) = before {
            path.push(at);
            before = self.before(at)?;
        }
        path.reverse();
        Some(path)
    }
}
