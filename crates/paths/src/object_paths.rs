//! Paths from the roots to one object, and what leads to objects that have none.

use anthill_graph::{Dominators, EdgeKind, Graph, NodeId, Paths, RootPath};
use anthill_heap::{BitSet, Buffer, ObjectId, Strength};
use anthill_session::{Error, Session, edge_kind};

/// Some paths to an object, shorter ones first.
pub struct ObjectPaths {
    /// Each from a root to the object.
    pub paths: Vec<RootPath>,
    /// How many more there are.
    pub omitted: usize,
}

/// A shortest path through each object that holds this one and can be reached without it, or the
/// object alone if it is a root; `limit` of them at most.
pub fn paths_to(session: &Session, object: ObjectId, limit: usize) -> Result<ObjectPaths, Error> {
    let graph = session.graph();
    let holders = holders(session, &graph, object)?;
    let around;
    let mut search = session.shortest_paths()?;
    let mut lengths = Lengths::new(search, object, graph.len());
    if holders
        .iter()
        .any(|&from| lengths.without_passing(from).is_none())
    {
        // One search finds the ways around the object to all of them.
        around = Paths::search_around(&graph, Some(object), &holders, session.progress())?;
        search = &around;
        lengths = Lengths::new(search, object, graph.len());
    }
    let mut ways: Vec<(u32, bool, Option<NodeId>)> = Vec::new();
    if graph.is_root(object) {
        ways.push((0, false, None));
    }
    ways.extend(holders.into_iter().filter_map(|from| {
        // Of ways that are as long, fields say more than that an object is an instance.
        let by_class = edge_kind(&graph, from, object) == Some(EdgeKind::Class);
        Some((lengths.without_passing(from)?, by_class, Some(from)))
    }));
    let omitted = ways.len().saturating_sub(limit);
    if omitted > 0 && limit > 0 {
        ways.select_nth_unstable(limit - 1);
    }
    ways.truncate(limit);
    ways.sort_unstable();
    let path = |(.., from): (u32, bool, Option<NodeId>)| {
        let mut path = from.map_or_else(|| Some(Vec::new()), |from| search.to(from))?;
        path.push(object);
        Some(path)
    };
    Ok(ObjectPaths {
        paths: ways.into_iter().filter_map(path).collect(),
        omitted,
    })
}

/// All that keep an object alive directly and can be reached without it, each once: those that
/// refer to it and, for a class object, the instances of the class.
fn holders(session: &Session, graph: &Graph, object: ObjectId) -> Result<Vec<NodeId>, Error> {
    let dominators = &session.analysis()?.dominators;
    let instances = session.state().mirrored(object).map(|class| {
        let classes = (0..).zip(session.state().columns.classes.iter());
        let instances = classes.filter(move |&(_, &of)| of == class);
        instances.map(|(instance, _)| instance)
    });
    let mut holders: Vec<NodeId> = session
        .referrers(graph, object)
        .iter()
        .map(|referrer| referrer.from)
        .filter(|&from| edge_kind(graph, from, object).is_some())
        .chain(instances.into_iter().flatten())
        .filter(|&from| dominators.is_reachable(from))
        .collect();
    holders.sort_unstable();
    holders.dedup();
    let below = dominators.dominated_by(&[object]);
    holders.retain(|&from| !below.contains(from));
    Ok(holders)
}

/// For unreachable nodes: the kinds of references that lead to them but do not keep alive,
/// each with how many of the nodes it leads to. Kinds that only lead there together come
/// last, as one entry.
pub fn weak_references_to(
    session: &Session,
    nodes: &[NodeId],
) -> Result<Vec<(Vec<Strength>, u64)>, Error> {
    let kinds = [
        Strength::Soft,
        Strength::Weak,
        Strength::Phantom,
        Strength::Finalizer,
    ];
    let dropped: Vec<Strength> = kinds
        .into_iter()
        .filter(|&kind| !session.convention().keeps(kind))
        .collect();
    let dominators = &session.analysis()?.dominators;
    let graph = session.graph();
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
