//! Deep sizes of many object groups at once, exactly: what each group reaches through
//! references, itself included. An object's class is not part of what it reaches: every class
//! reaches its loader, and that nearly everything.
//!
//! Strongly connected components are condensed (Tarjan 1972), then the set of groups that reach
//! a component flows along the references, from sources to sinks.

use anthill_heap::{Buffer, Cancelled, Progress};

use crate::graph::{Graph, NodeId};
use crate::groups::{GroupTotals, Membership};
use crate::sets::{EMPTY, SetId, Sets, Sums};

/// What each group reaches.
pub fn deep_by_groups<L: Fn(NodeId) -> Option<u32>>(
    graph: &Graph,
    membership: &Membership<L>,
    progress: &dyn Progress,
) -> Result<Vec<GroupTotals>, Cancelled> {
    let components = Components::new(graph, progress)?;
    progress.stage("computing what groups reach", u64::from(graph.len()));
    let totals = membership.in_parts(|groups_of_label, totals| {
        progress.check()?;
        let mut sets = Sets::new(groups_of_label);
        let sums = components.reached(graph, &membership.label, &mut sets);
        if sets.overfull() {
            return Ok(false);
        }
        sums.spread(&sets, totals);
        Ok(true)
    })?;
    progress.advance(u64::from(graph.len()));
    Ok(totals)
}

/// Strongly connected components under references.
struct Components {
    /// Nodes, those of one component together, referenced components before referencing ones.
    order: Buffer<NodeId>,
    /// By node: the number of its component, in the same order.
    of: Buffer<u32>,
}

const UNSEEN: u32 = 0;
const UNASSIGNED: u32 = u32::MAX;

impl Components {
    fn new(graph: &Graph, progress: &dyn Progress) -> Result<Self, Cancelled> {
        progress.stage("finding cycles", u64::from(graph.len()));
        let nodes = graph.len() as usize;
        let (mut index, mut of) = (
            Buffer::filled(nodes, UNSEEN),
            Buffer::filled(nodes, UNASSIGNED),
        );
        let mut order = Buffer::zeroed(nodes);
        let mut search = Tarjan {
            graph,
            index: &mut index,
            of: &mut of,
            order: &mut order,
            ordered: 0,
            components: 0,
            seen: UNSEEN,
            open: Vec::new(),
            calls: Vec::new(),
        };
        for node in 0..graph.len() {
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

    fn reached<L: Fn(NodeId) -> Option<u32>>(
        &self,
        graph: &Graph,
        label: &L,
        sets: &mut Sets,
    ) -> Sums {
        let (order, of): (&[NodeId], &[u32]) = (&self.order, &self.of);
        let mut reaching = Buffer::filled(order.len(), EMPTY);
        let reaching: &mut [SetId] = &mut reaching;
        let mut sums = Sums::default();
        let mut end = order.len();
        while end > 0 && !sets.overfull() {
            let component = of[order[end - 1] as usize];
            let start = order[..end]
                .iter()
                .rposition(|&node| of[node as usize] != component)
                .map_or(0, |last| last + 1);
            let members = &order[start..end];
            let mut set = reaching[component as usize];
            for label in members.iter().filter_map(|&node| label(node)) {
                set = sets.with_label(set, label);
            }
            for &node in members {
                sums.add(set, graph.size(node));
                if set != EMPTY {
                    for to in graph.referenced(node) {
                        let target = &mut reaching[of[to as usize] as usize];
                        *target = sets.union(*target, set);
                    }
                }
            }
            end = start;
        }
        sums
    }
}

struct Tarjan<'a> {
    graph: &'a Graph<'a>,
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
    /// How many references were followed.
    followed: u32,
    /// The earliest node known to be in the same component.
    low: u32,
}

impl Tarjan<'_> {
    fn run(&mut self, start: NodeId) {
        self.enter(start);
        while let Some(call) = self.calls.last_mut() {
            match self.graph.reference(call.node, call.followed as usize) {
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
        if self.graph.reference(node, 0).is_none() {
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

    /// A node without references is a component of its own.
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
