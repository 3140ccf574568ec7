//! Class loaders of components that were stopped, by what the loaders of Tomcat say about themselves.

use anthill_graph::NodeId;
use anthill_heap::Value;
use anthill_session::{Error, Session};

use crate::suspects::{Subject, Suspect, Thresholds};

/// Characters of a folder's name that are read.
const LONGEST_FOLDER: usize = 200;

/// Whether a component whose loader is in this state (of Tomcat's `LifecycleState`) has ended.
pub(crate) fn is_stopped(state: &str) -> bool {
    ["STOPPING", "STOPPED", "DESTROYING", "DESTROYED", "FAILED"].contains(&state)
}

/// The state that a web application's class loader says it is in.
pub(crate) fn loader_state(session: &Session, loader: NodeId) -> Option<String> {
    let (state, records) = (session.state(), session.records());
    if loader >= state.len() {
        return None;
    }
    let value = records.field_object(state, loader, "state")?;
    let name = records.field_object(state, value, "name")?;
    records.text(state, name, 40).or_else(|| {
        // Without texts: a constant is in the static field of its name.
        let constant = Value::Object(state.addresses.address(value));
        let mut fields = state.class(value).statics.iter();
        let field = fields.find(|field| field.value == constant)?;
        Some(field.name.clone())
    })
}

/// The folder that a class loader of Tomcat loads from: which web application it is of.
pub(crate) fn application_folder(session: &Session, loader: NodeId) -> Option<String> {
    let (state, records) = (session.state(), session.records());
    let list = records.field_object(state, loader, "localRepositories")?;
    let array = records.field_object(state, list, "elementData")?;
    let Some(&Value::Object(address)) = records.elements(state, array, 0..1).first() else {
        return None;
    };
    let url = state.addresses.find(address)?;
    let path = records.field_object(state, url, "path")?;
    let path = records.text(state, path, LONGEST_FOLDER)?;
    let (folder, _) = path.split_once("/WEB-INF/")?;
    Some(folder.to_owned())
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
        let state = loader_state(session, loader);
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
