//! Strongly connected components (Tarjan 1972): what flows along edges can be computed component
//! by component, in one pass whatever cycles there are.

use anthill_heap::{Buffer, Cancelled, Progress};

use crate::graph::{Graph, NodeId};

/// The strongly connected components of a graph, in an order in which edges lead backwards.
pub struct Components {
    /// Nodes, those of one component together; components that edges lead to come first.
    order: Buffer<NodeId>,
    /// By node: the number of its component.
    of: Buffer<u32>,
}

const UNSEEN: u32 = 0;
const UNASSIGNED: u32 = u32::MAX;

impl Components {
    /// Components under what nodes reference as data, see [`Graph::referenced`].
    pub fn under_references(graph: &Graph, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let edge = |node, index| graph.reference(node, index);
        Components::new(graph.len(), edge, progress)
    }

    /// Components of the graph in which `edge` gives the edges of each node by their numbers, from 0.
    pub fn new(
        nodes: u32,
        edge: impl Fn(NodeId, usize) -> Option<NodeId>,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        progress.stage("finding cycles", u64::from(nodes));
        let count = nodes as usize;
        let (mut index, mut of) = (
            Buffer::filled(count, UNSEEN),
            Buffer::filled(count, UNASSIGNED),
        );
        let mut order = Buffer::zeroed(count);
        let mut search = Tarjan {
            edge,
            index: &mut index,
            of: &mut of,
            order: &mut order,
            ordered: 0,
            components: 0,
            seen: UNSEEN,
            open: Vec::new(),
            calls: Vec::new(),
        };
        for node in 0..nodes {
            if node % (1 << 16) == 0 {
                progress.check()?;
                progress.advance(1 << 16);
            }
            if search.index[node as usize] == UNSEEN {
                search.run(node);
            }
        }
        Ok(Components { order, of })
    }

    /// A bound of the numbers of components.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether the graph has no node.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The number of a node's component.
    #[inline]
    pub fn of(&self, node: NodeId) -> usize {
        self.of[node as usize] as usize
    }

    /// The nodes of each component; components that edges lead to come before those they lead from.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[NodeId]> {
        let of: &[u32] = &self.of;
        self.order
            .chunk_by(|&a, &b| of[a as usize] == of[b as usize])
    }
}

struct Tarjan<'a, E> {
    edge: E,
    /// By node: when it was first seen, from 1.
    index: &'a mut [u32],
    of: &'a mut [u32],
    order: &'a mut [NodeId],
    ordered: usize,
    components: u32,
    seen: u32,
    /// Nodes seen whose component is not complete.
    open: Vec<NodeId>,
    calls: Vec<Call>,
}

struct Call {
    node: NodeId,
    /// How many edges were followed.
    followed: u32,
    /// The earliest node known to be in the same component.
    low: u32,
}

impl<E: Fn(NodeId, usize) -> Option<NodeId>> Tarjan<'_, E> {
    fn run(&mut self, start: NodeId) {
        self.enter(start);
        while let Some(call) = self.calls.last_mut() {
            match (self.edge)(call.node, call.followed as usize) {
                Some(to) => {
                    call.followed += 1;
                    if self.index[to as usize] == UNSEEN {
                        self.enter(to);
                    } else if self.of[to as usize] == UNASSIGNED {
                        call.low = call.low.min(self.index[to as usize]);
                    }
                }
                None => self.leave(),
            }
        }
    }

    fn enter(&mut self, node: NodeId) {
        self.seen += 1;
        self.index[node as usize] = self.seen;
        if (self.edge)(node, 0).is_none() {
            return self.close(node);
        }
        self.open.push(node);
        self.calls.push(Call {
            node,
            followed: 0,
            low: self.seen,
        });
    }

    fn leave(&mut self) {
        let Some(Call { node, low, .. }) = self.calls.pop() else {
            return;
        };
        if low == self.index[node as usize] {
            while let Some(member) = self.open.pop() {
                self.assign(member);
                if member == node {
                    break;
                }
            }
            self.components += 1;
        }
        if let Some(caller) = self.calls.last_mut() {
            caller.low = caller.low.min(low);
        }
    }

    /// A node without edges is a component of its own.
    fn close(&mut self, node: NodeId) {
        self.assign(node);
        self.components += 1;
    }

    fn assign(&mut self, node: NodeId) {
        self.of[node as usize] = self.components;
        self.order[self.ordered] = node;
        self.ordered += 1;
    }
}
