//! Many equal owners: the threads of a pool that each hold a little, the same class in thirty class loaders.
//! None of them is a suspect alone.

use anthill_graph::{NodeId, gc_closure_among};
use anthill_heap::RootOrigin;
use anthill_paths::{OwnerTree, RootsByObject};
use anthill_session::{Error, Session};
use rustc_hash::FxHashSet;

use crate::roles::Roles;
use crate::suspects::{Subject, Suspect, Thresholds};

/// Fewer are named one by one.
const FEWEST: u64 = 4;
/// A suspect among equal owners says all if it has this part of what they retain, in percent.
const SAYS_ALL: u64 = 50;
/// An object that keeps this part of what an owner retains, in percent, is what the owner holds.
const MOST: u64 = 80;

/// Adds owners that are alike to the suspects.
pub(crate) fn add_alike(
    session: &Session,
    suspects: &mut Vec<Suspect>,
    thresholds: &Thresholds,
) -> Result<(), Error> {
    let reachable = session.analysis()?.total().retained;
    let least = (reachable as f64 * thresholds.class / 100.0) as u64;
    let tree = OwnerTree::new(session, least.max(1))?;
    let dominators = session.owner_dominators()?;
    let graph = session.owners_graph()?;
    let roles = Roles::new(session.state(), dominators);
    let locals = RootsByObject::of_those(session, |root| root.origin == RootOrigin::JavaFrame);
    let mut work = vec![0];
    while let Some(group) = work.pop() {
        for &child in &tree.groups[group].children {
            let one = &tree.groups[child];
            let is_frame = one.example.is_some_and(|example| roles.is_frame(example));
            if one.members < FEWEST {
                work.extend(is_frame.then_some(child));
                continue;
            }
            let are_all_known = one.nodes.len() as u64 == one.members;
            let is_local = || {
                one.example
                    .is_some_and(|local| !locals.of(local).is_empty())
            };
            let is_owner = group != 0 || is_frame || is_local();
            if !one.is_held_in_one_way() || !is_owner || !are_all_known {
                continue;
            }
            let members: FxHashSet<NodeId> = one.nodes.iter().copied().collect();
            let is_within = |node: &NodeId| {
                let mut around = std::iter::once(*node).chain(dominators.chain(*node));
                around.any(|node| members.contains(&node))
            };
            let known = suspects.iter().flat_map(single).filter(is_within);
            let explained: u64 = known.map(|node| dominators.retained(node)).sum();
            let of_class = |suspect: &Suspect| match suspect.subject {
                Subject::Class(class) if !roles.is_platform_class(class) => suspect.retained,
                _ => 0,
            };
            let explained = explained + suspects.iter().map(of_class).sum::<u64>();
            if explained * 100 >= one.retained * SAYS_ALL {
                continue;
            }
            // What two of them hold dies with both.
            let closure = gc_closure_among(&graph, dominators.reachable(), &one.nodes);
            let retained = graph.totals(&closure).bytes;
            suspects.push(Suspect {
                subject: Subject::Alike(one.nodes.clone()),
                retained,
                severity: thresholds.severity(retained, reachable),
                outside: 0,
                accumulation: None,
                kept: None,
            });
        }
    }
    Ok(())
}

/// The objects that a suspect names one by one.
fn single(suspect: &Suspect) -> Vec<NodeId> {
    match &suspect.subject {
        Subject::Object(node) | Subject::Loader(node) => vec![*node],
        Subject::Owners(owners) => owners.clone(),
        Subject::Class(_) | Subject::Alike(_) => Vec::new(),
    }
}

/// What an owner holds most of its memory with.
pub fn main_part(session: &Session, owner: NodeId) -> Result<NodeId, Error> {
    let dominators = session.owner_dominators()?;
    let dominated = session.owner_dominated()?;
    let largest = |node: NodeId| {
        let children = dominated.of(node).iter().copied();
        let child = children.max_by_key(|&child| dominators.retained(child))?;
        let is_most = dominators.retained(child) * 100 >= dominators.retained(owner) * MOST;
        is_most.then_some(child)
    };
    let way = std::iter::successors(Some(owner), |&node| largest(node));
    Ok(way.last().unwrap_or(owner))
}
