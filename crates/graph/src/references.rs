//! Who refers to many objects at once: one scan over all references.

use anthill_heap::BitSet;

use crate::graph::{Graph, NodeId};

/// A reference to an object that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Incoming {
    /// The object that was asked for.
    pub to: NodeId,
    /// Who refers to it.
    pub from: NodeId,
}

/// All references from nodes of `from` to nodes of `to`, by target; several from one object to
/// the same target are several. Data only, see [`Graph::referenced`].
pub fn references_to(graph: &Graph, to: &BitSet, from: &BitSet) -> Vec<Incoming> {
    let mut found = Vec::new();
    for node in from.iter() {
        let wanted = |&target: &NodeId| to.contains(target);
        let targets = graph.referenced(node).filter(wanted);
        found.extend(targets.map(|to| Incoming { to, from: node }));
    }
    found.sort_unstable();
    found
}
