//! Paths from the roots to one object.

use anthill_graph::{NodeId, Paths, RootPath};
use anthill_heap::{Buffer, ObjectId};

use crate::labels::edge_kind;
use crate::{Error, Session};

/// Some paths to an object, shorter ones first.
pub struct ObjectPaths {
    pub paths: Vec<RootPath>,
    /// How many more there are.
    pub omitted: usize,
}

impl Session {
    /// A shortest path through each object that refers to this one and is reached without it, or
    /// the object alone if it is a root; `limit` of them at most.
    pub fn paths_to(&self, object: ObjectId, limit: usize) -> Result<ObjectPaths, Error> {
        let graph = self.graph();
        let search = Paths::search(&graph, &[], self.progress())?;
        let mut lengths = Lengths::new(&search, object, graph.len());
        let mut ways: Vec<(u32, Option<NodeId>)> = Vec::new();
        if graph.is_root(object) {
            ways.push((0, None));
        }
        let mut referrers: Vec<NodeId> = self
            .referrers(&graph, object)
            .iter()
            .map(|referrer| referrer.from)
            .filter(|&from| edge_kind(&graph, from, object).is_some())
            .collect();
        referrers.dedup();
        let around = |from: NodeId| Some((lengths.without_passing(from)?, Some(from)));
        ways.extend(referrers.into_iter().filter_map(around));
        ways.sort_unstable();
        let omitted = ways.len().saturating_sub(limit);
        ways.truncate(limit);
        let path = |(_, from): (u32, Option<NodeId>)| {
            let mut path = from.map_or_else(|| Some(Vec::new()), |from| search.to(from))?;
            path.push(object);
            Some(path)
        };
        Ok(ObjectPaths {
            paths: ways.into_iter().filter_map(path).collect(),
            omitted,
        })
    }
}

/// Lengths of shortest paths, found once for every node on the way.
struct Lengths<'a> {
    search: &'a Paths,
    /// The object whose paths are looked for: a path through it is none to it.
    object: NodeId,
    known: Buffer<u32>,
    way: Vec<NodeId>,
}

const UNKNOWN: u32 = 0;
const PASSES: u32 = u32::MAX;

impl<'a> Lengths<'a> {
    fn new(search: &'a Paths, object: NodeId, nodes: u32) -> Self {
        Lengths {
            search,
            object,
            known: Buffer::filled(nodes as usize, UNKNOWN),
            way: Vec::new(),
        }
    }

    /// The number of objects on the path to a node; `None` if it is not reached or only through
    /// the object.
    fn without_passing(&mut self, node: NodeId) -> Option<u32> {
        let mut at = node;
        let mut length = loop {
            match self.known[at as usize] {
                _ if at == self.object => break PASSES,
                UNKNOWN => self.way.push(at),
                known => break known,
            }
            match self.search.before(at) {
                Some(Some(before)) => at = before,
                Some(None) => break 0,
                None => break PASSES,
            }
        };
        while let Some(passed) = self.way.pop() {
            length = if length == PASSES { PASSES } else { length + 1 };
            self.known[passed as usize] = length;
        }
        Some(length).filter(|&length| length != PASSES)
    }
}
