//! Shortest paths from the roots.

use anthill_heap::{BitSet, Buffer, Cancelled, Progress};

use crate::graph::{Graph, NodeId};

const UNSEEN: u32 = u32::MAX;
const FROM_ROOT: u32 = u32::MAX - 1;

/// A path from a root to an object, root first.
pub type RootPath = Vec<NodeId>;

/// A shortest way to each object, from one breadth-first search over all. It starts inside the JVM, at a field
/// of a class that cannot be told, only if there is no other way.
pub struct Paths {
    parent: Buffer<u32>,
}

impl Paths {
    /// Searches until all `targets` are found; without targets, everything.
    pub fn search(
        graph: &Graph,
        targets: &[NodeId],
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        Paths::search_around(graph, None, targets, progress)
    }

    /// The same for paths that do not pass a node.
    pub fn search_around(
        graph: &Graph,
        avoided: Option<NodeId>,
        targets: &[NodeId],
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        progress.stage("searching for paths", u64::from(graph.len()));
        let mut found = Buffer::filled(graph.len() as usize, UNSEEN);
        let parent: &mut [u32] = &mut found;
        let mut wanted = BitSet::new(graph.len() as usize);
        let mut left = targets.iter().filter(|&&target| wanted.add(target)).count();
        if let Some(avoided) = avoided {
            // As if it had been seen; it is taken back at the end.
            parent[avoided as usize] = FROM_ROOT;
        }
        // What the JVM holds for classes that cannot be told explains nothing that has another explanation.
        let (last, first) = graph
            .roots()
            .iter()
            .partition(|&&root| graph.is_class_field(root));
        let starts: [Vec<NodeId>; 2] = [first, last];
        let mut steps = 0u64;
        'search: for start in starts {
            // All that are as far away, and those that are one step further.
            let (mut nodes, mut next) = (start, Vec::new());
            nodes.retain(|&root| {
                let is_new = parent[root as usize] == UNSEEN;
                if is_new {
                    parent[root as usize] = FROM_ROOT;
                }
                is_new
            });
            while !nodes.is_empty() {
                for &node in &nodes {
                    if wanted.contains(node) {
                        left -= 1;
                        if left == 0 {
                            break 'search;
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
                            next.push(to);
                        }
                    }
                }
                nodes.clear();
                std::mem::swap(&mut nodes, &mut next);
            }
        }
        if let Some(avoided) = avoided {
            parent[avoided as usize] = UNSEEN;
        }
        Ok(Paths { parent: found })
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
