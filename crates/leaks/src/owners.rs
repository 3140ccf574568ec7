//! Who owns a group together: the front of owners that says most.

use anthill_graph::{
    Dominators, FrontOptions, Graph, GroupTotals, NodeId, gc_closure_among, owner_fronts,
};
use anthill_heap::{BitSet, Cancelled, Progress};

use crate::roles::Roles;

/// Objects that together keep a group alive.
pub struct Owners {
    /// Those who own.
    pub owners: Vec<NodeId>,
    /// All that would die with them.
    pub closure: BitSet,
    /// What dies with them, counted.
    pub retained: GroupTotals,
    /// Bytes of the group that would die with them, and of all of it that is reachable.
    pub covered: (u64, u64),
}

/// The first front, from the roots on, of objects that mean something to a person.
pub(crate) fn owners_of(
    graph: &Graph,
    dominators: &Dominators,
    roles: &Roles,
    group: &BitSet,
    options: FrontOptions,
    progress: &dyn Progress,
) -> Result<Option<Owners>, Cancelled> {
    let fronts = owner_fronts(graph, dominators, group, options, progress)?;
    let speaking = |front: &&Vec<NodeId>| !front.iter().any(|&owner| roles.is_context(owner));
    let front = fronts.iter().find(speaking).or(fronts.last());
    Ok(front.map(|front| Owners::of_front(graph, dominators, roles, front, group)))
}

/// All fronts of a group, from the roots to the group.
pub fn fronts_of(
    graph: &Graph,
    dominators: &Dominators,
    group: &BitSet,
    options: FrontOptions,
    progress: &dyn Progress,
) -> Result<Vec<Owners>, Cancelled> {
    let roles = Roles::new(graph.state, dominators);
    let fronts = owner_fronts(graph, dominators, group, options, progress)?;
    let mut found: Vec<Owners> = Vec::new();
    for front in &fronts {
        let owners = Owners::of_front(graph, dominators, &roles, front, group);
        // Fronts within one structure may be the same, or one more, to a person.
        let contains = |known: &Owners| known.owners.iter().all(|one| owners.owners.contains(one));
        if !found.iter().any(contains) {
            found.push(owners);
        }
    }
    Ok(found)
}

impl Owners {
    /// The objects a person would name instead of those of a front, largest first.
    fn of_front(
        graph: &Graph,
        dominators: &Dominators,
        roles: &Roles,
        front: &[NodeId],
        group: &BitSet,
    ) -> Self {
        let mut owners: Vec<NodeId> = front
            .iter()
            .map(|&owner| roles.recognisable(owner))
            .collect();
        owners.sort_unstable();
        owners.dedup();
        owners.sort_by_key(|&owner| std::cmp::Reverse(dominators.retained(owner)));
        Owners::new(graph, dominators, owners, group)
    }

    fn new(graph: &Graph, dominators: &Dominators, owners: Vec<NodeId>, group: &BitSet) -> Self {
        let closure = gc_closure_among(graph, dominators.reachable(), &owners);
        let bytes = |of: &dyn Fn(NodeId) -> bool| {
            let nodes = group.iter().filter(|&node| of(node));
            nodes.map(|node| graph.size(node)).sum()
        };
        Owners {
            owners,
            retained: graph.totals(&closure),
            covered: (
                bytes(&|node| closure.contains(node)),
                bytes(&|node| dominators.is_reachable(node)),
            ),
            closure,
        }
    }
}
