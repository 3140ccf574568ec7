//! Paths as people read them: what holds what by which field, and the short form of it.

use anthill_graph::{Graph, NodeId, RootPath};
use anthill_heap::{ClassId, Value};
use rustc_hash::FxHashMap;

use crate::labels::edge_kind;
use crate::merged_paths::is_hidden;
use crate::{Error, RootsByObject, Session};

/// Objects at either end of a long path that are shown.
pub const PATH_ENDS: usize = 15;

/// One object of a path and how the one before holds it.
#[derive(Clone, Debug)]
pub struct PathStep {
    pub node: NodeId,
    pub via: Option<String>,
}

/// A path from a root to an object.
#[derive(Clone, Debug)]
pub struct Way {
    /// What the path starts with, in words.
    pub root: String,
    /// The thread it starts in: index into [`anthill_heap::Tables::threads`].
    pub thread: Option<u32>,
    pub steps: Vec<PathStep>,
    /// How many objects were left out in the middle.
    pub skipped: usize,
    /// Where the path starts for a person, and how it goes on: `static field Registry.all → [3]`.
    pub short: String,
}

impl Session {
    /// The objects of a path with how each is held, without the middle of a very long one; and how
    /// many that left out.
    pub fn path_steps(&self, graph: &Graph, path: &[NodeId]) -> (Vec<PathStep>, usize) {
        let step = |index: usize| PathStep {
            node: path[index],
            via: index
                .checked_sub(1)
                .and_then(|before| self.via(graph, path[before], path[index])),
        };
        let head = path.len().min(PATH_ENDS);
        let tail = path.len().saturating_sub(PATH_ENDS).max(head);
        let steps = (0..head).chain(tail..path.len()).map(step).collect();
        (steps, tail - head)
    }

    /// The same with each data structure as one step, all of them; and how many that left out.
    pub fn collapsed_steps(
        &self,
        graph: &Graph,
        path: &[NodeId],
    ) -> Result<(Vec<PathStep>, usize), Error> {
        let internals = &self.structures()?.internals;
        let last = path.len() - 1;
        let shown = |&index: &usize| {
            index == 0 || index == last || !is_hidden(Some(internals), path[index])
        };
        let shown: Vec<usize> = (0..path.len()).filter(shown).collect();
        let step = |&index: &usize| PathStep {
            node: path[index],
            via: index
                .checked_sub(1)
                .and_then(|before| self.via(graph, path[before], path[index])),
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

    pub(crate) fn via(&self, graph: &Graph, from: NodeId, to: NodeId) -> Option<String> {
        edge_kind(graph, from, to).map(|kind| self.edge_name(from, to, kind))
    }

    pub fn way(&self, graph: &Graph, roots: &RootsByObject, path: &RootPath) -> Way {
        let (steps, skipped) = self.path_steps(graph, path);
        let root = roots.of(path[0]).first();
        Way {
            root: roots.name(path[0]),
            thread: root.and_then(|root| root.thread),
            short: self.short(graph, roots, path),
            steps,
            skipped,
        }
    }

    /// From the last static field on, or from the root if there is none.
    fn short(&self, graph: &Graph, roots: &RootsByObject, path: &[NodeId]) -> String {
        const SHOWN: usize = 6;
        let last = path.len() - 1;
        let name = |index: usize| {
            let via = self.via(graph, path[index - 1], path[index]);
            via.unwrap_or_default()
        };
        // A class object also leads to its class loader and superclass.
        let static_field = |index: usize| {
            let node = path[index];
            let class = (node < self.state().len()).then(|| self.state().mirrored(node));
            let class = &self.state().classes()[class.flatten()? as usize].name;
            let edge = name(index + 1);
            let field = edge.strip_prefix("static ")?;
            Some((format!("static field {class}.{field}"), index + 2))
        };
        let (mut short, from) = match (0..last).rev().find_map(static_field) {
            Some(start) => start,
            None => match self.static_field(path[last]) {
                // It says more than the local variable that happens to hold the object too.
                Some((_, field)) => return field,
                None => (self.start_name(roots, path[0]), 1),
            },
        };
        let rest = from..path.len();
        if rest.len() > SHOWN {
            short += &format!(" → … {} more", rest.len());
        } else {
            rest.for_each(|index| short += &format!(" → {}", name(index)));
        }
        short
    }

    fn start_name(&self, roots: &RootsByObject, node: NodeId) -> String {
        match self.label(node).detail {
            Some(name) if self.is_thread(node) => format!("thread {name}"),
            _ => roots.name(node),
        }
    }

    /// A static field that refers to an object, and its class.
    pub(crate) fn static_field(&self, node: NodeId) -> Option<(ClassId, String)> {
        let classes = self.state().classes();
        let fields = self.open.static_fields.get_or_init(|| {
            let all = classes.iter().enumerate().flat_map(|(class, of)| {
                let fields = of.statics.iter().enumerate();
                fields.map(move |(field, one)| (one.value, (class, field)))
            });
            let mut first = FxHashMap::default();
            for (value, place) in all {
                if let Value::Object(address) = value {
                    first.entry(address).or_insert(place);
                }
            }
            first
        });
        let &(class, field) = fields.get(&self.address(node))?;
        let of = &classes[class];
        let name = format!("static field {}.{}", of.name, of.statics[field].name);
        Some((class as ClassId, name))
    }
}
