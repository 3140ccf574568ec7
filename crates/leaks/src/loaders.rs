//! Class loaders of components that were stopped, by what the loaders of Tomcat say about themselves.

use anthill_graph::NodeId;
use anthill_session::{Error, Session};

use crate::suspects::{Subject, Suspect, Thresholds};

/// Whether a component whose loader is in this state (of Tomcat's `LifecycleState`) has ended.
pub fn is_stopped(state: &str) -> bool {
    ["STOPPING", "STOPPED", "DESTROYING", "DESTROYED", "FAILED"].contains(&state)
}

/// A component that was stopped should be gone: its class loader is a leak for certain, however
/// small, and explains all suspects within. Returns these loaders.
pub(crate) fn add_stopped_loaders(
    session: &Session,
    suspects: &mut Vec<Suspect>,
    thresholds: &Thresholds,
) -> Result<Vec<NodeId>, Error> {
    let analysis = session.analysis()?;
    let dominators = session.owner_dominators()?;
    let is_stopped = |&loader: &NodeId| {
        let state = session.loader_state(loader);
        dominators.is_reachable(loader) && state.is_some_and(|state| is_stopped(&state))
    };
    let loaders = analysis.groups().loaders().iter().copied().flatten();
    let mut stopped: Vec<NodeId> = loaders.filter(is_stopped).collect();
    stopped.sort_by_key(|&loader| std::cmp::Reverse(dominators.retained(loader)));
    let within = |node: NodeId| {
        let mut chain = std::iter::once(node).chain(dominators.chain(node));
        chain.any(|node| stopped.contains(&node))
    };
    suspects.retain(|suspect| match &suspect.subject {
        Subject::Loader(node) | Subject::Object(node) => !within(*node),
        Subject::Owners(owners) => !owners.iter().all(|&owner| within(owner)),
        Subject::Alike(owners) => !owners.iter().all(|&owner| within(owner)),
        Subject::Class(_) => true,
    });
    let reachable = analysis.total().retained;
    let suspect = |&loader: &NodeId| {
        let retained = dominators.retained(loader);
        Suspect {
            subject: Subject::Loader(loader),
            retained,
            severity: thresholds.severity(retained, reachable),
            outside: 0,
            accumulation: None,
            kept: None,
        }
    };
    suspects.extend(stopped.iter().map(suspect));
    Ok(stopped)
}
