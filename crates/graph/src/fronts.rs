//! Owner fronts: the smallest sets of objects that together keep a group alive, from the roots to
//! the group. A dominator is a front of one; two caches that share their entries are one of two.
//!
//! A front is a minimum vertex cut between the roots and the group. Vertex-disjoint paths are found
//! one by one with breadth-first searches that end at the first object of the group (Ford and
//! Fulkerson 1956). When no further path exists, the objects where the search got stuck are a cut.
//! Then it is tried to go on from each of them, to cuts of the same size nearer to the group. What
//! lies before a cut is never looked at again.

use anthill_heap::{BitSet, Buffer, Cancelled, Progress};
use rustc_hash::FxHashMap;

use crate::dominators::{Dominators, UNREACHABLE, bottom_up};
use crate::graph::{Graph, NodeId};

const NONE: NodeId = NodeId::MAX;
/// Paths with more objects than this in all are not held.
const LONGEST_PATHS: usize = 1 << 22;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct FrontOptions {
    /// The most owners of a front.
    pub most: usize,
    /// The share of the group's bytes that the first owner must keep alive; the others that it
    /// does not are left aside.
    pub share: f64,
}

impl Default for FrontOptions {
    fn default() -> Self {
        FrontOptions {
            most: 16,
            share: 0.95,
        }
    }
}

/// The fronts of a group, each with more owners than the one before and nearer to the group. Of
/// all fronts with as many owners each is the one nearest to the group. Objects of the group that
/// are roots themselves need no owner; they can be one.
pub fn owner_fronts(
    graph: &Graph,
    dominators: &Dominators,
    group: &BitSet,
    options: FrontOptions,
    progress: &dyn Progress,
) -> Result<Vec<Vec<NodeId>>, Cancelled> {
    progress.stage("searching for owners", u64::from(graph.len()));
    let single = single_owner(graph, dominators, group, options.share);
    progress.check()?;
    let mut search = Search::new(graph, dominators, group, single);
    let mut fronts: Vec<Vec<NodeId>> = single.map(|owner| vec![owner]).into_iter().collect();
    while search.paths <= options.most && search.flow.len() <= LONGEST_PATHS {
        progress.check()?;
        match search.path_from_sources() {
            Some(last) => search.add_path(last),
            None if search.paths == 0 => break,
            None => fronts.push(search.advance_to_nearest_cut()),
        }
    }
    Ok(fronts)
}

/// The nearest single object outside the group that keeps at least this share of it alive.
fn single_owner(
    graph: &Graph,
    dominators: &Dominators,
    group: &BitSet,
    share: f64,
) -> Option<NodeId> {
    let (kept, total) = bytes_below(graph, dominators, group);
    let least = ((total as f64 * share).ceil() as u64).max(1);
    let nearest = (0..graph.len())
        .filter(|&node| kept[node as usize] >= least)
        .min_by_key(|&node| (dominators.retained(node), node))?;
    std::iter::once(nearest)
        .chain(dominators.chain(nearest))
        .find(|&node| !group.contains(node))
}

/// By node: the bytes of the group that it keeps alive; and those that are reachable at all.
fn bytes_below(graph: &Graph, dominators: &Dominators, group: &BitSet) -> (Buffer<u64>, u64) {
    let nodes = graph.len() as usize;
    let immediate: &[u32] = &dominators.immediate;
    let mut kept = Buffer::<u64>::zeroed(nodes);
    let bytes: &mut [u64] = &mut kept;
    let mut total = 0;
    for node in 0..nodes {
        if immediate[node] != UNREACHABLE && group.contains(node as NodeId) {
            bytes[node] = graph.size(node as NodeId);
            total += bytes[node];
        }
    }
    bottom_up(immediate, |node, above| {
        if above < UNREACHABLE {
            bytes[above as usize] += bytes[node as usize];
        }
    });
    (kept, total)
}

/// Where a path passes an object.
struct Way {
    before: NodeId,
    /// [`NONE`] if the path ends in the group here.
    after: NodeId,
    /// Whether the search has left the object, not only arrived at it.
    left: bool,
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    /// The objects at which paths end.
    ends: BitSet,
    /// Where paths start; without any, at the roots.
    sources: Vec<NodeId>,
    is_source: BitSet,
    paths: usize,
    /// Objects on paths; each is on one.
    flow: FxHashMap<NodeId, Way>,
    /// Objects that were arrived at, now or before the latest cut.
    seen: BitSet,
    /// By object: where it was arrived from; itself if it gave up the path it is on.
    from: Buffer<u32>,
    queue: Vec<Step>,
}

#[derive(Clone, Copy)]
enum Step {
    /// The object can be entered, which leads through it unless a path does already.
    Enter(NodeId),
    /// Whatever the object refers to can be entered.
    Leave(NodeId),
}

impl<'a> Search<'a> {
    fn new(
        graph: &'a Graph<'a>,
        dominators: &Dominators,
        group: &BitSet,
        single: Option<NodeId>,
    ) -> Self {
        let nodes = graph.len() as usize;
        let mut ends = BitSet::new(nodes);
        group.iter().for_each(|node| ends.insert(node));
        if let Some(owner) = single {
            ends.intersect_with(&dominators.dominated_by(&[owner]));
        }
        ends.subtract(graph.root_set());
        let mut is_source = BitSet::new(nodes);
        single.iter().for_each(|&node| is_source.insert(node));
        Search {
            graph,
            ends,
            sources: single.into_iter().collect(),
            is_source,
            paths: 0,
            flow: FxHashMap::default(),
            seen: BitSet::new(nodes),
            from: Buffer::filled(nodes, NONE),
            queue: Vec::new(),
        }
    }

    fn path_from_sources(&mut self) -> Option<NodeId> {
        self.queue.clear();
        if self.sources.is_empty() {
            for &root in self.graph.roots() {
                self.enter(root, NONE);
            }
        }
        self.queue
            .extend(self.sources.iter().map(|&source| Step::Leave(source)));
        self.search()
    }

    /// Searches a path to the group that takes nothing away from the others but what they can do
    /// without. Returns the last object before the group.
    fn search(&mut self) -> Option<NodeId> {
        let mut next = 0;
        while let Some(&step) = self.queue.get(next) {
            next += 1;
            match step {
                Step::Enter(node) => match self.flow.get(&node).map(|way| way.before) {
                    None => self.queue.push(Step::Leave(node)),
                    Some(before) => self.give_way(before),
                },
                Step::Leave(node) => {
                    if let Some(last) = self.leave(node) {
                        return Some(last);
                    }
                }
            }
        }
        None
    }

    /// Tells whether the node was new.
    fn enter(&mut self, node: NodeId, from: NodeId) -> bool {
        let new = !self.is_source.contains(node) && self.seen.add(node);
        if new {
            self.from[node as usize] = from;
            self.queue.push(Step::Enter(node));
        }
        new
    }

    /// Whether a path ends after this node. Looking ahead saves entering all elements of a large
    /// array to find out about the first.
    fn is_last(&self, node: NodeId) -> bool {
        let mut successors = self.graph.successors(node);
        successors.any(|to| self.ends.contains(to)) && !self.flow.contains_key(&node)
    }

    /// The path that comes from `before` ends here, so it may go on elsewhere from there.
    fn give_way(&mut self, before: NodeId) {
        if let Some(way) = self.flow.get_mut(&before).filter(|way| !way.left) {
            way.left = true;
            self.queue.push(Step::Leave(before));
        }
    }

    /// Enters what a node refers to. Returns the node if that is an object of the group.
    fn leave(&mut self, node: NodeId) -> Option<NodeId> {
        let graph = self.graph;
        for to in graph.successors(node) {
            if self.ends.contains(to) {
                return Some(node);
            }
            if self.enter(to, node) && self.is_last(to) {
                return Some(to);
            }
        }
        if self.flow.contains_key(&node) {
            self.enter(node, node);
        }
        None
    }

    /// Adds the path that was found and rearranges those that gave way.
    fn add_path(&mut self, last: NodeId) {
        self.paths += 1;
        let (mut node, mut after) = (last, NONE);
        while node != NONE && !self.is_source.contains(node) {
            let entered = match self.flow.get_mut(&node) {
                Some(way) => {
                    let given_up = std::mem::replace(&mut way.after, after);
                    self.entered_instead(given_up)
                }
                None => {
                    let way = Way {
                        before: self.from[node as usize],
                        after,
                        left: false,
                    };
                    self.flow.insert(node, way);
                    node
                }
            };
            after = entered;
            node = self.from[entered as usize];
        }
        self.forget_steps();
    }

    /// The first object from `node` on, along its path, that is still entered; those before it are
    /// on no path any more.
    fn entered_instead(&mut self, mut node: NodeId) -> NodeId {
        while self.from[node as usize] == node {
            node = self.flow.remove(&node).map_or(NONE, |way| way.after);
        }
        if let Some(way) = self.flow.get_mut(&node) {
            way.before = self.from[node as usize];
        }
        node
    }

    fn forget_steps(&mut self) {
        for step in std::mem::take(&mut self.queue) {
            match step {
                Step::Enter(node) => self.seen.remove(node),
                Step::Leave(node) => {
                    if let Some(way) = self.flow.get_mut(&node) {
                        way.left = false;
                    }
                }
            }
        }
    }

    /// No further path exists. Of all sets of objects, one on each path, that separate the sources
    /// from the group the nearest to the group; its objects become the sources.
    fn advance_to_nearest_cut(&mut self) -> Vec<NodeId> {
        let mut cut = self.advance_to_cut(&[]);
        let mut at_the_end: Vec<NodeId> = Vec::new();
        while let Some(&node) = cut.iter().find(|node| !at_the_end.contains(node)) {
            self.queue = vec![Step::Leave(node)];
            if let Some(way) = self.flow.get_mut(&node) {
                way.left = true;
            }
            if self.search().is_some() {
                self.forget_steps();
                at_the_end.push(node);
            } else {
                cut = self.advance_to_cut(&cut);
            }
        }
        for node in &cut {
            self.flow.remove(node);
            self.is_source.insert(*node);
        }
        self.sources.clone_from(&cut);
        cut
    }

    /// The objects at which the search got stuck, one on each path; some may be of the cut `before`.
    /// The paths begin there from now on.
    fn advance_to_cut(&mut self, before: &[NodeId]) -> Vec<NodeId> {
        let entered = std::mem::take(&mut self.queue);
        let entered = entered.iter().filter_map(|step| match step {
            Step::Enter(node) => Some(node),
            Step::Leave(_) => None,
        });
        let is_stuck = |node: &&NodeId| self.flow.get(node).is_some_and(|way| !way.left);
        let mut cut: Vec<NodeId> = before
            .iter()
            .chain(entered)
            .filter(is_stuck)
            .copied()
            .collect();
        cut.sort_unstable();
        for node in &cut {
            let way = self.flow.get_mut(node);
            let mut passed = way.map(|way| std::mem::replace(&mut way.before, NONE));
            while let Some(way) = passed.and_then(|node| self.flow.remove(&node)) {
                passed = Some(way.before);
            }
        }
        cut
    }
}
