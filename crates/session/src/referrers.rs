//! Who refers to an object: one scan over all references.

use anthill_graph::{EdgeKind, Graph, NodeId};
use anthill_heap::ObjectId;

use crate::Session;

/// An object that refers to another one, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referrer {
    /// Who refers.
    pub from: NodeId,
    /// How.
    pub kind: EdgeKind,
}

impl Session {
    /// All that refer to an object, whether that keeps it alive or not, ascending by address. Not
    /// among them are the instances of a class, which refer to their class object.
    pub fn referrers(&self, graph: &Graph, to: ObjectId) -> Vec<Referrer> {
        let state = self.state();
        let mut referrers = Vec::new();
        let mut add = |from, kind| referrers.push(Referrer { from, kind });
        let offsets = state.columns.offsets.view();
        let mut from = 0;
        for (position, _) in (0..)
            .zip(state.columns.references.iter())
            .filter(|&(_, &reference)| reference == to)
        {
            from =
                last_starting_at_or_before(position, from, offsets.len(), |node| offsets.get(node));
            add(from as NodeId, EdgeKind::Reference);
        }
        let classes = state.classes().iter().filter_map(|class| class.mirror);
        let threads = state
            .tables
            .threads
            .iter()
            .filter_map(|thread| thread.object);
        for from in classes.chain(threads).chain(graph.system_loader()) {
            for &(_, target, kind) in graph.extra_edges(from) {
                if target == to && kind != EdgeKind::Referent {
                    add(from, kind);
                }
            }
        }
        let columns = &state.columns;
        let pairs = columns
            .referrers_by_referent
            .iter()
            .zip(&*columns.referents);
        for (&from, _) in pairs.filter(|&(_, &referent)| referent == to) {
            add(from, EdgeKind::Referent);
        }
        referrers.sort_by_key(|referrer| (referrer.from, referrer.kind));
        referrers.dedup();
        referrers
    }
}

/// The last index from `low` on whose start is at most `position`; starts ascend.
fn last_starting_at_or_before(
    position: usize,
    mut low: usize,
    mut high: usize,
    start: impl Fn(usize) -> usize,
) -> usize {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if start(middle) <= position {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
