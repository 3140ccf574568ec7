//! By what a leak is recognised in another run of the program, or later in the same: names only,
//! no addresses, sizes or indices, and nothing of how the JVM's own collections are made up.

use anthill_graph::{Graph, NodeId};
use anthill_heap::ClassId;
use anthill_paths::ReadablePath;
use anthill_session::{Session, stable_name};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::report::ReportedSuspect;
use crate::roles::Roles;
use crate::suspects::{KeptGroup, Subject, Suspect};

/// Where the program holds an object: `static field Shop.tenants → orders`.
pub(crate) struct Holder {
    pub name: String,
    /// The program's class whose static field it starts with.
    class: Option<ClassId>,
}

pub(crate) fn holder(
    session: &Session,
    graph: &Graph,
    roles: &Roles,
    path: &[NodeId],
    readable: &ReadablePath,
) -> Holder {
    let last = path.len() - 1;
    let static_field = |index: usize| {
        let class = mirrored(session, path[index])?;
        let edge = session.reference_name(graph, path[index], path[index + 1])?;
        let start = session.static_field_name(class, edge.strip_prefix("static ")?);
        Some((start, Some(class), index + 1))
    };
    let found = (0..last).rev().find_map(static_field);
    let (start, class, from) = found.unwrap_or_else(|| {
        let root = root_without_numbers(session, readable);
        (root, None, 0)
    });
    let mut steps = vec![stable_name(&start)];
    for pair in path[from..].windows(2) {
        if !is_of_platform(session, roles, pair[0]) {
            let step = session
                .reference_name(graph, pair[0], pair[1])
                .unwrap_or_default();
            // The elements of an array of the program's own are held alike.
            if !step.starts_with('[') && !steps.contains(&step) {
                steps.push(step);
            }
        }
    }
    let class = class.filter(|&class| !roles.is_platform_class(class));
    let mut name = steps.join(" → ");
    if class.is_none() {
        name += &format!(", {}", class_word(session, path[last]));
    }
    Holder { name, class }
}

fn mirrored(session: &Session, node: NodeId) -> Option<ClassId> {
    let state = session.state();
    (node < state.len()).then(|| state.mirrored(node)).flatten()
}

fn is_of_platform(session: &Session, roles: &Roles, node: NodeId) -> bool {
    let state = session.state();
    node >= state.len() || roles.is_platform_class(state.class_id(node))
}

/// The thread a path starts in, or else the kind of its root. Where a thread is in its code differs
/// from moment to moment, and threads of a pool differ in their number.
fn root_without_numbers(session: &Session, path: &ReadablePath) -> String {
    let threads = &session.state().tables.threads;
    let thread = path.thread.and_then(|thread| threads.get(thread as usize));
    let name = match thread.and_then(|thread| thread.name.as_deref()) {
        Some(name) => format!("thread \"{name}\""),
        None => path.root.clone(),
    };
    name.chars().filter(|char| !char.is_ascii_digit()).collect()
}

fn class_word(session: &Session, node: NodeId) -> String {
    let classes = session.state().classes();
    match mirrored(session, node) {
        Some(class) => format!("class {}", stable_name(&classes[class as usize].name)),
        None if node < session.state().len() => stable_name(&session.state().class(node).name),
        None => String::new(),
    }
}

/// Of owners that keep a group alive together the group counts, and the program's classes that
/// they belong to: which of the owners retains most, and whether there is one more, changes
/// while the program runs.
pub(crate) fn fingerprint(session: &Session, suspect: &Suspect, holders: &[Holder]) -> String {
    let names = holders.iter().map(|holder| holder.name.clone());
    let mut words: Vec<String> = match suspect.subject {
        Subject::Class(_) => Vec::new(),
        Subject::Loader(_) | Subject::Object(_) | Subject::Alike(_) => names.collect(),
        Subject::Owners(_) => {
            let classes = holders.iter().filter_map(|holder| holder.class);
            let classes: Vec<String> = classes
                .map(|class| stable_name(&session.state().classes()[class as usize].name))
                .collect();
            match classes[..] {
                [] => names.collect(),
                _ => classes,
            }
        }
    };
    words.sort_unstable();
    words.dedup();
    let group = match suspect.subject {
        Subject::Class(class) => Some(KeptGroup::Class(class)),
        Subject::Owners(_) => suspect.kept.map(|kept| kept.group),
        Subject::Loader(loader) => {
            words.push(class_word(session, loader));
            None
        }
        Subject::Object(_) | Subject::Alike(_) => None,
    };
    words.extend(group.map(|group| stable_name(&group.name(session))));
    hashed(&words.join("\n"))
}

/// Gives suspects of one report fingerprints of their own: by the name that the program gave them, without
/// numbers, which may be of this run, or else by their order.
pub(crate) fn tell_apart(suspects: &mut [ReportedSuspect]) {
    let mut seen: FxHashMap<String, u32> = FxHashMap::default();
    for suspect in suspects {
        let name = suspect.named_by.as_ref().map(|named| named.name.as_str());
        let name = name
            .unwrap_or_default()
            .chars()
            .filter(|char| !char.is_ascii_digit());
        let name: String = name.collect();
        if !name.is_empty() {
            suspect.fingerprint = hashed(&format!("{}\n{name}", suspect.fingerprint));
        }
        let same = seen.entry(suspect.fingerprint.clone()).or_default();
        *same += 1;
        if *same > 1 {
            suspect.fingerprint = hashed(&format!("{}\n{same}", suspect.fingerprint));
        }
    }
}

fn hashed(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}
