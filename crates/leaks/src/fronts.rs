//! Who owns a group: the fronts of objects that together keep it alive.

use anthill_graph::{FrontOptions, GroupTotals, NodeId};
use anthill_heap::BitSet;
use anthill_paths::{ReadablePath, RootsByObject, readable_path};
use anthill_session::{Error, Session};

use crate::owners::fronts_of;

/// Objects that together keep most of a group alive.
pub struct OwnerFront {
    /// Those that retain most alone first, each with a shortest path to it.
    pub owners: Vec<(NodeId, ReadablePath)>,
    /// What would be freed with them all.
    pub retained: GroupTotals,
    /// Bytes of the group that would be freed, and of all of it that is reachable.
    pub covered: (u64, u64),
}

/// The fronts of a group, each with more owners and nearer to the group than the one before.
pub fn owner_fronts(
    session: &Session,
    group: &BitSet,
    options: FrontOptions,
) -> Result<Vec<OwnerFront>, Error> {
    let dominators = session.owner_dominators()?;
    let graph = session.owners_graph()?;
    let fronts = fronts_of(&graph, dominators, group, options, session.progress())?;
    let paths = session.paths_from_owners()?;
    let roots = RootsByObject::new(session);
    let with_path = |&owner: &NodeId| {
        let path = paths.to(owner)?;
        Some((owner, readable_path(session, &graph, &roots, &path)))
    };
    Ok(fronts
        .iter()
        .map(|front| OwnerFront {
            owners: front.owners.iter().filter_map(with_path).collect(),
            retained: front.retained,
            covered: front.covered,
        })
        .collect())
}
