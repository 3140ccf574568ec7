//! Paths from the roots to one object, and what leads to objects that have none.

use anthill_graph::{Dominators, Graph, NodeId, Paths, RootPath};
use anthill_heap::{BitSet, Buffer, ObjectId, Strength};

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
        let search = self.paths()?;
        let mut lengths = Lengths::new(search, object, graph.len());
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

impl Session {
    /// For unreachable nodes: the kinds of references that lead to them but do not keep alive,
    /// each with how many of the nodes it leads to. Kinds that only lead there together come
    /// last, as one entry.
    pub fn led_to(&self, nodes: &[NodeId]) -> Result<Vec<(Vec<Strength>, u64)>, Error> {
        let kinds = [
            Strength::Soft,
            Strength::Weak,
            Strength::Phantom,
            Strength::Finalizer,
        ];
        let dropped: Vec<Strength> = kinds
            .into_iter()
            .filter(|&kind| !self.convention().keeps(kind))
            .collect();
        let dominators = &self.analysis()?.dominators;
        let graph = self.graph();
        let mut left = nodes.to_vec();
        let mut found = Vec::new();
        let alone = dropped.iter().map(std::slice::from_ref);
        for kinds in alone.chain((dropped.len() > 1).then_some(&dropped[..])) {
            let together = kinds.len() > 1;
            let reached = reached_through(&graph, dominators, kinds);
            let nodes = if together { &left } else { nodes };
            let led_to = nodes.iter().filter(|&&node| reached.contains(node)).count();
            if led_to > 0 {
                found.push((kinds.to_vec(), led_to as u64));
            }
            left.retain(|&node| !reached.contains(node));
        }
        Ok(found)
    }
}

/// The unreachable nodes that could be reached if references of these kinds kept alive.
fn reached_through(graph: &Graph, dominators: &Dominators, kinds: &[Strength]) -> BitSet {
    let state = graph.state;
    let mut seen = BitSet::new(graph.len() as usize);
    let referent = |from: NodeId| {
        let (to, kind) = state.referent(from)?;
        kinds.contains(&kind).then_some(to)
    };
    let holders = state.columns.referrers_by_referent.iter().copied();
    let mut work: Vec<NodeId> = holders
        .filter(|&from| dominators.is_reachable(from))
        .filter_map(referent)
        .filter(|&to| !dominators.is_reachable(to) && seen.add(to))
        .collect();
    while let Some(node) = work.pop() {
        let next = graph.successors(node).chain(referent(node));
        work.extend(next.filter(|&to| !dominators.is_reachable(to) && seen.add(to)));
    }
    seen
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
