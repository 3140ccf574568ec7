//! Names and paths of what violations are about, and which objects are held in the same way.

use std::cmp::Reverse;

use anthill_assertions::{Holders, Named, NamedPath, NamedStep};
use anthill_graph::{Graph, NodeId, Paths};
use anthill_heap::Root;
use anthill_paths::{Merger, PathStep, RootsByObject, path_steps};
use anthill_session::{Error, Session, frame_name};
use rustc_hash::FxHashMap;

/// The paths from the roots to the objects of violations.
pub(super) struct NamedPaths<'a> {
    pub session: &'a Session,
    pub graph: &'a Graph<'a>,
    roots: RootsByObject<'a>,
    merger: Merger<'a>,
    paths: Paths,
}

impl<'a> NamedPaths<'a> {
    /// Searches the paths to the targets from the roots that count.
    pub(super) fn search(
        session: &'a Session,
        graph: &'a Graph<'a>,
        counts: impl Fn(&Root) -> bool,
        targets: &[NodeId],
    ) -> Result<Self, Error> {
        session.records().open()?;
        let roots = || RootsByObject::of_those(session, &counts);
        Ok(NamedPaths {
            session,
            graph,
            roots: roots(),
            merger: Merger::new(session, graph, roots(), RootsByObject::place),
            paths: Paths::search(graph, targets, session.progress())?,
        })
    }

    pub(super) fn object(&self, node: NodeId) -> Named {
        let label = self.session.label(node);
        Named {
            class: self.class(node).to_owned(),
            address: format!("{:#x}", label.address),
            label: label.to_string(),
        }
    }

    pub(super) fn class(&self, node: NodeId) -> &str {
        let state = self.session.state();
        match node < state.len() {
            true => &state.class(node).name,
            false => "java.lang.ClassLoader",
        }
    }

    /// The path to a target.
    pub(super) fn path(&self, node: NodeId) -> Option<NamedPath> {
        Some(self.named(&self.paths.to(node)?))
    }

    /// The path to the first node of a path, continued by the latter.
    pub(super) fn path_continued_by(&self, rest: &[NodeId]) -> Option<NamedPath> {
        let mut path = self.paths.to(*rest.first()?)?;
        path.extend_from_slice(&rest[1..]);
        Some(self.named(&path))
    }

    fn named(&self, path: &[NodeId]) -> NamedPath {
        let (steps, skipped) = path_steps(self.session, self.graph, path);
        let root = self.roots.of(path[0]).first();
        let frame = root.and_then(|root| self.session.root_frame(root));
        let step = |step: PathStep| NamedStep {
            via: step.via,
            object: self.object(step.node),
        };
        NamedPath {
            root: self.roots.name(path[0]),
            thread: root.and_then(|root| self.session.root_thread(root)),
            frame: frame.map(frame_name),
            steps: steps.into_iter().map(step).collect(),
            skipped,
        }
    }

    /// Who refers to a node, one for each reference: of several from the same object the first
    /// tells the field. Handles of native code come last.
    pub(super) fn referrers(
        &self,
        node: NodeId,
        from: &[NodeId],
        handles: usize,
    ) -> Vec<NamedStep> {
        let referrer = |&from: &NodeId| NamedStep {
            via: self.session.reference_name(self.graph, from, node),
            object: self.object(from),
        };
        let handle = NamedStep {
            via: Some("JNI global".to_owned()),
            object: Named {
                class: String::new(),
                address: String::new(),
                label: "native code".to_owned(),
            },
        };
        let handles = std::iter::repeat_n(handle, handles);
        from.iter().map(referrer).chain(handles).collect()
    }

    /// The number of the path to a target by its classes and fields, without indices.
    pub(super) fn shape(&mut self, node: NodeId) -> Option<u32> {
        self.merger.branch(&self.paths, node)
    }

    /// The classes and fields of all that refer to a node.
    pub(super) fn shape_of_referrers(&mut self, node: NodeId, from: &[NodeId]) -> Vec<u32> {
        let mut shape = Vec::with_capacity(2 * from.len());
        for &from in from {
            shape.push(self.graph.class(from).unwrap_or(u32::MAX));
            shape.push(self.merger.via(from, node));
        }
        shape
    }

    /// Objects by how they are held, the most first.
    pub(super) fn by_shape(&mut self, objects: &[NodeId]) -> Vec<(u32, Vec<NodeId>)> {
        let mut shapes: FxHashMap<u32, Vec<NodeId>> = FxHashMap::default();
        for &object in objects {
            let shape = self.shape(object).unwrap_or(u32::MAX);
            shapes.entry(shape).or_default().push(object);
        }
        let mut shapes: Vec<_> = shapes.into_iter().collect();
        shapes.sort_unstable_by_key(|(shape, held)| (Reverse(held.len()), *shape));
        shapes
    }

    pub(super) fn holders(&self, shape: u32, held: &[NodeId]) -> Holders {
        let before = self.paths.before(held[0]).flatten();
        Holders {
            count: held.len() as u64,
            held_by: self.merger.line(shape),
            example: before.map(|before| self.object(before)),
        }
    }
}
