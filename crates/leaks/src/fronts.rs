//! Who owns a group: the fronts of objects that together keep it alive.

use anthill_graph::{Dominators, FrontOptions, GroupTotals, NodeId};
use anthill_heap::BitSet;
use anthill_paths::{ReadablePath, RootsByObject, readable_path};
use anthill_session::{Error, Session};

use crate::owners::fronts_of;
use crate::roles::Roles;

/// Objects above a single owner that are named at most.
const MOST_ABOVE: usize = 8;

/// Objects that together keep most of a group alive.
pub struct OwnerFront {
    /// Those that retain most alone first, each with a shortest path to it.
    pub owners: Vec<(NodeId, ReadablePath)>,
    /// For a single owner: objects that each keep it alive alone, nearest first. Inner parts of data structures,
    /// threads, class loaders and classes are not among them, and the middle of a long way is left out.
    pub above: Vec<(NodeId, ReadablePath)>,
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
    let roles = Roles::new(session.state(), dominators).with_structures(session.structures()?);
    let above = |owners: &[NodeId]| match owners {
        &[owner] => known_above(&roles, dominators, owner),
        _ => Vec::new(),
    };
    Ok(fronts
        .iter()
        .map(|front| OwnerFront {
            owners: front.owners.iter().filter_map(with_path).collect(),
            above: above(&front.owners).iter().filter_map(with_path).collect(),
            retained: front.retained,
            covered: front.covered,
        })
        .collect())
}

/// What a person knows of the objects that keep one alive alone, nearest first. Of objects of one class that
/// follow each other, as in a list, the outermost.
fn known_above(roles: &Roles, dominators: &Dominators, owner: NodeId) -> Vec<NodeId> {
    let chain = dominators.chain(owner);
    let mut above: Vec<NodeId> = Vec::new();
    for node in chain.take_while(|&node| !roles.is_frame(node)) {
        if roles.is_inner(node) {
            continue;
        }
        if above
            .last()
            .is_some_and(|&last| roles.are_of_one_class(last, node))
        {
            above.pop();
        }
        above.push(node);
    }
    if above.len() > MOST_ABOVE {
        above.drain(MOST_ABOVE / 2..above.len() - MOST_ABOVE / 2);
    }
    above
}
