//! What a recording keeps about a state besides the state itself: which objects are reachable, and
//! the data structures that are followed from state to state.

use std::cmp::Reverse;

use anthill_graph::{Convention, Graph};
use anthill_heap::{BitSet, HeapState, Quiet};
use anthill_hprof::Records;
use anthill_structures::{Model, Structures};
use anthill_trace::{FollowedStructure, Identities, MOST_STRUCTURES, StateToWrite};

use crate::shipped_definitions;

/// What GC roots keep alive under the usual convention; nothing if sizes are unknown.
pub fn reachable(state: &HeapState) -> Option<BitSet> {
    let sizes = state.tables.sizes.as_ref()?;
    Some(anthill_graph::reachable(&Graph::new(
        state,
        sizes,
        Convention::DEFAULT,
    )))
}

/// The largest structures that are no parts of others and whose heads have identities.
pub fn followed_structures(
    to_write: &StateToWrite,
    records: Option<&Records>,
) -> Vec<FollowedStructure> {
    let state = to_write.state;
    let (Some(sizes), Some(reachable)) = (&state.tables.sizes, to_write.reachable) else {
        return Vec::new();
    };
    if to_write.identities == Identities::None {
        return Vec::new();
    }
    let definitions = shipped_definitions();
    let model = Model::new(state, records, &definitions);
    let alive = |object| reachable.contains(object);
    // Without dominators nothing tells whether a wrapper owns what it wraps: the latter is followed.
    let owns = |_, _| false;
    let Ok(found) = Structures::detect(&model, sizes, alive, owns, &Quiet) else {
        return Vec::new();
    };
    let own = found
        .instances
        .iter()
        .filter(|one| !one.is_part && !one.is_view);
    let followed = own.filter_map(|one| {
        Some(FollowedStructure {
            identity: to_write.identities.of(state, one.head)?,
            class: state.class_id(one.head),
            elements: one.elements,
            bytes: one.bytes,
        })
    });
    let mut followed: Vec<FollowedStructure> = followed.collect();
    followed.sort_unstable_by_key(|one| (Reverse(one.bytes), one.identity));
    followed.truncate(MOST_STRUCTURES);
    followed
}
