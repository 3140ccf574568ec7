//! One depth-first search from the roots, made so that everything after it can read columns.
//!
//! Left out are objects whose dominator is plain to see: one referrer, no references of their
//! own, not a root (the `byte[]` of a string). Edges to roots are left out too, since nothing
//! but the virtual root dominates them.

use anthill_heap::{BitSet, Buffer, Cancelled, Offsets, OffsetsView, Progress};

use crate::graph::{Graph, NodeId};

/// The virtual root, number 0 of every search.
pub(crate) const VIRTUAL_ROOT: u32 = 0;
const CHUNK: usize = 1 << 16;

/// What the search found. It numbers nodes in the order in which it met them.
pub struct DepthFirst {
    /// By number in preorder: the node. Entry 0 is the virtual root and means nothing.
    pub order: Buffer<NodeId>,
    /// By number: the number of the node it was found from.
    pub parent: Buffer<u32>,
    /// Numbers in the order in which they were finished, without the virtual root.
    pub postorder: Buffer<u32>,
    /// By number: where its further predecessors begin in `others`.
    others_start: Offsets,
    /// Numbers of predecessors besides the parent.
    others: Buffer<u32>,
    /// The nodes that were left out; each has one referrer.
    pub leaves: BitSet,
    /// Memory as long as `order`, for whoever comes next: fresh memory is costly.
    pub scratch: Buffer<u32>,
}

impl DepthFirst {
    /// Searches from the roots of the graph.
    pub fn new(graph: &Graph, progress: &dyn Progress) -> Result<Self, Cancelled> {
        progress.stage("finding reachable objects", u64::from(graph.len()));
        let (further, class_targets) = graph.with_further_edges();
        let leaves = leaves(graph, &further);
        let mut skip = leaves.clone();
        skip.union_with(graph.root_set());
        let most = graph.len() as usize + 1 - leaves.count();
        let mut number = Buffer::zeroed(graph.len() as usize);
        let [mut order, mut parent, mut postorder, mut cursor] =
            std::array::from_fn(|_| Buffer::zeroed(most));
        let mut search = Search {
            graph,
            further,
            class_targets,
            skip,
            number: &mut number,
            order: &mut order,
            parent: &mut parent,
            cursor: &mut cursor,
            postorder: &mut postorder,
            seen: 1,
            finished: 0,
            others: Pairs::default(),
        };
        search.order[0] = NodeId::MAX;
        for &root in graph.roots() {
            progress.check()?;
            search.run(root, progress);
        }
        let Search {
            seen,
            finished,
            others,
            ..
        } = search;
        drop(number);
        cursor.truncate(seen);
        order.truncate(seen);
        parent.truncate(seen);
        postorder.truncate(finished);
        let (others_start, others) = others.by_target(&mut cursor);
        Ok(DepthFirst {
            order,
            parent,
            postorder,
            others_start,
            others,
            leaves,
            scratch: cursor,
        })
    }

    /// The number of nodes searched and the virtual root.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nothing but the virtual root was met.
    pub fn is_empty(&self) -> bool {
        self.order.len() <= 1
    }

    /// All nodes that can be reached from the roots, those left out of the search included.
    pub fn reached(&self, graph: &Graph) -> BitSet {
        let mut reached = BitSet::new(graph.len() as usize);
        for &node in self.order.iter().skip(1) {
            reached.insert(node);
            let leaves = graph.references(node).iter();
            let leaves = leaves.filter(|&&to| self.leaves.contains(to));
            leaves.for_each(|&leaf| reached.insert(leaf));
        }
        reached
    }

    /// Predecessors besides the parent, for hot loops.
    pub fn other_predecessors(&self) -> OtherPredecessors<'_> {
        OtherPredecessors {
            starts: self.others_start.view(),
            others: &self.others,
        }
    }
}

/// By number: its predecessors besides its parent.
#[derive(Clone, Copy)]
pub struct OtherPredecessors<'a> {
    starts: OffsetsView<'a>,
    others: &'a [u32],
}

impl<'a> OtherPredecessors<'a> {
    #[inline(always)]
    pub fn of(&self, number: u32) -> &'a [u32] {
        &self.others[self.starts.range(number)]
    }
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    further: BitSet,
    class_targets: Vec<u32>,
    skip: BitSet,
    /// By node: its number, 0 if it was not seen yet.
    number: &'a mut [u32],
    order: &'a mut [NodeId],
    parent: &'a mut [u32],
    /// By number: how many edges were followed.
    cursor: &'a mut [u32],
    postorder: &'a mut [u32],
    seen: usize,
    finished: usize,
    others: Pairs,
}

impl Search<'_> {
    fn run(&mut self, root: NodeId, progress: &dyn Progress) {
        let before = self.seen;
        let mut current = self.visit(root, VIRTUAL_ROOT);
        while current != VIRTUAL_ROOT {
            current = match self.next_child(current) {
                Some(child) => self.visit(child, current),
                None => {
                    self.postorder[self.finished] = current;
                    self.finished += 1;
                    self.parent[current as usize]
                }
            };
        }
        progress.advance((self.seen - before) as u64);
    }

    #[inline]
    fn visit(&mut self, node: NodeId, parent: u32) -> u32 {
        let number = self.seen;
        self.seen += 1;
        self.number[node as usize] = number as u32;
        self.order[number] = node;
        self.parent[number] = parent;
        number as u32
    }

    /// Follows edges of `current` up to the next unseen node.
    #[inline]
    fn next_child(&mut self, current: u32) -> Option<NodeId> {
        let node = self.order[current as usize];
        let references = self.graph.references(node);
        let followed = self.cursor[current as usize] as usize;
        if followed < references.len() {
            for (index, &to) in references.iter().enumerate().skip(followed) {
                if self.is_unseen(to, current) {
                    self.cursor[current as usize] = index as u32 + 1;
                    return Some(to);
                }
            }
            self.cursor[current as usize] = references.len() as u32;
        }
        if self.further.contains(node) {
            self.next_further_child(node, current, references.len())
        } else {
            None
        }
    }

    fn next_further_child(
        &mut self,
        node: NodeId,
        current: u32,
        references: usize,
    ) -> Option<NodeId> {
        loop {
            let index = self.cursor[current as usize] as usize - references;
            let to = self.graph.further_edge(node, index, &self.class_targets)?;
            self.cursor[current as usize] += 1;
            if self.is_unseen(to, current) {
                return Some(to);
            }
        }
    }

    #[inline(always)]
    fn is_unseen(&mut self, to: NodeId, from: u32) -> bool {
        if self.skip.contains(to) {
            return false;
        }
        let number = self.number[to as usize];
        if number != 0 && number != from {
            self.others.push(number, from);
        }
        number == 0
    }
}

/// Nodes whose only referrer dominates them for lack of any other edge, in or out.
fn leaves(graph: &Graph, further: &BitSet) -> BitSet {
    let mut once = BitSet::new(graph.len() as usize);
    let mut leaves = BitSet::new(graph.len() as usize);
    let mut twice = BitSet::new(graph.len() as usize);
    for node in 0..graph.len() {
        for &to in graph.references(node) {
            if !once.add(to) {
                twice.insert(to);
            }
        }
        for &(_, to, _) in graph.extra_edges(node) {
            twice.insert(to);
        }
        if graph.references(node).is_empty() && !further.contains(node) {
            leaves.insert(node);
        }
    }
    leaves.intersect_with(&once);
    leaves.subtract(&twice);
    leaves.subtract(graph.root_set());
    // Instances lead to them, which the counting above does not see.
    graph
        .class_objects()
        .for_each(|object| leaves.remove(object));
    leaves
}

/// Pairs of numbers, in chunks so that growing never copies.
#[derive(Default)]
struct Pairs {
    chunks: Vec<Vec<(u32, u32)>>,
}

impl Pairs {
    #[inline]
    fn push(&mut self, target: u32, source: u32) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => {
                // An array may name the same object millions of times.
                if chunk.last() != Some(&(target, source)) {
                    chunk.push((target, source));
                }
            }
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push((target, source));
                self.chunks.push(chunk);
            }
        }
    }

    /// The sources sorted by target. `left` has one entry per target and is used up.
    fn by_target(self, left: &mut [u32]) -> (Offsets, Buffer<u32>) {
        left.fill(0);
        for &(target, _) in self.chunks.iter().flatten() {
            left[target as usize] += 1;
        }
        let counts = Buffer::collect(left.len() + 1, left.iter().copied());
        let offsets = Offsets::from_counts(counts).expect("fewer than 2^32 edges into 1,024 nodes");
        let starts = offsets.view();
        let mut sources = Buffer::zeroed(self.chunks.iter().map(Vec::len).sum());
        let places: &mut [u32] = &mut sources;
        for chunk in self.chunks {
            for (target, source) in chunk {
                left[target as usize] -= 1;
                places[starts.get(target as usize) + left[target as usize] as usize] = source;
            }
        }
        (offsets, sources)
    }
}
