//! Paths as people read them: what holds what by which field, and the short form of it.

use anthill_graph::{EdgeKind, Graph, NodeId, RootPath};
use anthill_session::{Error, Session, edge_kind};

use crate::RootsByObject;
use crate::merged_paths::is_hidden;
use crate::structure_parts::{PartStep, StructureParts};

/// Objects at either end of a long path that are shown.
pub const PATH_ENDS: usize = 15;

/// One object of a path and how the one before holds it.
#[derive(Clone, Debug)]
pub struct PathStep {
    /// The object.
    pub node: NodeId,
    /// The field or element of the one before; none for the first.
    pub via: Option<String>,
}

/// A path from a root to an object, in words.
#[derive(Clone, Debug)]
pub struct ReadablePath {
    /// What the path starts with, in words.
    pub root: String,
    /// The thread it starts in: index into [`anthill_heap::Tables::threads`].
    pub thread: Option<u32>,
    /// From the root on.
    pub steps: Vec<PathStep>,
    /// How many objects were left out in the middle.
    pub skipped: usize,
    /// Where the path starts for a person, and how it goes on: `static field Registry.all → [3]`.
    pub short: String,
}

/// The objects of a path with how each is held, without the middle of a very long one; and how
/// many that left out.
pub fn path_steps(session: &Session, graph: &Graph, path: &[NodeId]) -> (Vec<PathStep>, usize) {
    let step = |index: usize| PathStep {
        node: path[index],
        via: index
            .checked_sub(1)
            .and_then(|before| session.reference_name(graph, path[before], path[index])),
    };
    let head = path.len().min(PATH_ENDS);
    let tail = path.len().saturating_sub(PATH_ENDS).max(head);
    let steps = (0..head).chain(tail..path.len()).map(step).collect();
    (steps, tail - head)
}

/// The same with each data structure as one step, all of them; and how many that left out.
pub fn collapsed_steps(
    session: &Session,
    graph: &Graph,
    path: &[NodeId],
) -> Result<(Vec<PathStep>, usize), Error> {
    let internals = &session.structures()?.internals;
    let last = path.len() - 1;
    let shown =
        |&index: &usize| index == 0 || index == last || !is_hidden(Some(internals), path[index]);
    let shown: Vec<usize> = (0..path.len()).filter(shown).collect();
    let step = |&index: &usize| PathStep {
        node: path[index],
        via: index
            .checked_sub(1)
            .and_then(|before| session.reference_name(graph, path[before], path[index])),
    };
    let head = shown.len().min(PATH_ENDS);
    let tail = shown.len().saturating_sub(PATH_ENDS).max(head);
    let steps = shown[..head]
        .iter()
        .chain(&shown[tail..])
        .map(step)
        .collect();
    Ok((steps, tail - head))
}

/// Names the root and the steps of a path.
pub fn readable_path(
    session: &Session,
    graph: &Graph,
    roots: &RootsByObject,
    path: &RootPath,
) -> ReadablePath {
    let (steps, skipped) = path_steps(session, graph, path);
    let root = roots.of(path[0]).first();
    let model = session.structure_model();
    let parts = StructureParts::new(session, &model).ok();
    ReadablePath {
        root: roots.name(path[0]),
        thread: root.and_then(|root| root.thread),
        short: short(session, graph, roots, parts.as_ref(), path),
        steps,
        skipped,
    }
}

/// From the last static field on, or from the root if there is none.
fn short(
    session: &Session,
    graph: &Graph,
    roots: &RootsByObject,
    parts: Option<&StructureParts>,
    path: &[NodeId],
) -> String {
    const SHOWN: usize = 6;
    const LAST: usize = 4;
    let last = path.len() - 1;
    let name = |index: usize| {
        let via = session.reference_name(graph, path[index - 1], path[index]);
        via.unwrap_or_default()
    };
    // A class object also leads to its class loader and superclass.
    let static_field = |index: usize| {
        let node = path[index];
        let class = (node < session.state().len()).then(|| session.state().mirrored(node));
        let class = class.flatten()?;
        if let Some(EdgeKind::ClassField(field)) = edge_kind(graph, node, path[index + 1]) {
            let class = &session.state().classes()[class as usize].name;
            return Some((format!("class {class} → {}", field.name()), index + 2));
        }
        let edge = name(index + 1);
        let field = edge.strip_prefix("static ")?;
        Some((session.static_field_name(class, field), index + 2))
    };
    let (mut short, from) = match (0..last).rev().find_map(static_field) {
        Some(start) => start,
        None => (start_name(session, roots, path[0]), 1),
    };
    let steps: Vec<String> = (from..path.len())
        .filter_map(
            |index| match parts.map(|parts| parts.step(path[index - 1], path[index])) {
                Some(PartStep::Inside) => None,
                Some(PartStep::Key(key)) => Some(format!("[{key}]")),
                Some(PartStep::Other) | None => Some(name(index)),
            },
        )
        .collect();
    let shown = match steps.len().checked_sub(LAST) {
        Some(more) if steps.len() > SHOWN => {
            short += &format!(" → … {more} more");
            &steps[more..]
        }
        _ => &steps[..],
    };
    shown.iter().for_each(|step| short += &format!(" → {step}"));
    short
}

fn start_name(session: &Session, roots: &RootsByObject, node: NodeId) -> String {
    match session.label(node).detail {
        Some(name) if session.is_thread(node) => format!("thread {name}"),
        _ => roots.name(node),
    }
}
