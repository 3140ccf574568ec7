//! The upper part of the dominator tree, for people: many siblings of one class are one item, and
//! what is left out is counted.

use std::cmp::Reverse;

use anthill_graph::{Graph, NodeId, ROOT, UNREACHABLE};
use anthill_heap::ClassId;

use crate::{Analysis, Error, Session};

/// Siblings of one class become one item from this number on.
const GROUP_FROM: usize = 4;
/// An object that retains at least this part of what its parent retains stands alone.
const STANDS_ALONE: u64 = 20;

pub struct TreeOptions {
    /// The object to start from; by default all that is reachable.
    pub top: Option<NodeId>,
    pub depth: usize,
    /// Items below each item.
    pub limit: usize,
    /// Items that retain less are left out.
    pub least: u64,
}

/// Objects in the dominator tree with the same parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// All that is reachable.
    Heap,
    Object(NodeId),
    /// Several objects of one class.
    Group(ClassId),
}

#[derive(Clone, Debug)]
pub struct TreeItem {
    pub member: Member,
    /// How many objects the item itself stands for.
    pub count: u64,
    pub retained: u64,
    /// Objects retained, those of the item included.
    pub objects: u64,
    /// Indices of items.
    pub children: Vec<usize>,
    /// How many objects below were left out, and what they retain.
    pub omitted: u64,
    pub omitted_retained: u64,
    parent: usize,
}

impl Session {
    /// The items of the tree; the first one is the top, parents come before their children.
    pub fn dominator_tree(&self, options: &TreeOptions) -> Result<Vec<TreeItem>, Error> {
        let analysis = self.analysis()?;
        let graph = self.graph();
        let mut builder = Builder {
            graph: &graph,
            analysis,
            items: Vec::new(),
            item_of: vec![NONE; graph.len() as usize],
        };
        let total = analysis.total();
        match options.top {
            None => builder.items.push(item(Member::Heap, 1, total.retained, 0)),
            Some(node) => {
                let retained = analysis.dominators.retained[node as usize];
                builder
                    .items
                    .push(item(Member::Object(node), 1, retained, 0));
                builder.item_of[node as usize] = 0;
            }
        }
        let mut level = 0;
        for _ in 0..options.depth {
            let next = builder.items.len();
            builder.expand(level, options);
            level = next;
        }
        builder.count_objects(options.top.is_none());
        Ok(builder.items)
    }
}

const NONE: u32 = u32::MAX;

fn item(member: Member, count: u64, retained: u64, parent: usize) -> TreeItem {
    TreeItem {
        member,
        count,
        retained,
        objects: 0,
        children: Vec::new(),
        omitted: 0,
        omitted_retained: 0,
        parent,
    }
}

struct Builder<'a> {
    graph: &'a Graph<'a>,
    analysis: &'a Analysis,
    items: Vec<TreeItem>,
    /// By node: the item it belongs to.
    item_of: Vec<u32>,
}

impl Builder<'_> {
    fn retained(&self, node: NodeId) -> u64 {
        self.analysis.dominators.retained[node as usize]
    }

    /// The item that dominates a node immediately.
    fn item_above(&self, above: u32) -> u32 {
        match above {
            ROOT if self.items[0].member == Member::Heap => 0,
            ROOT | UNREACHABLE => NONE,
            above => self.item_of[above as usize],
        }
    }

    /// Adds the children of all items from `level` on.
    fn expand(&mut self, level: usize, options: &TreeOptions) {
        let immediate: &[u32] = &self.analysis.dominators.immediate;
        let mut found: Vec<(u32, u32, NodeId)> = (0..)
            .zip(immediate)
            .filter_map(|(node, &above)| {
                let item = self.item_above(above);
                let class = self.graph.class(node).unwrap_or(NONE);
                (item != NONE && item as usize >= level).then_some((item, class, node))
            })
            .collect();
        found.sort_unstable();
        for children in found.chunk_by(|a, b| a.0 == b.0) {
            self.add_children(children[0].0 as usize, children, options);
        }
    }

    /// Adds children of one item, which come ordered by class.
    fn add_children(
        &mut self,
        parent: usize,
        children: &[(u32, u32, NodeId)],
        options: &TreeOptions,
    ) {
        let large = self.items[parent].retained.div_ceil(STANDS_ALONE).max(1);
        let mut candidates: Vec<(u64, Vec<NodeId>)> = Vec::new();
        for class in children.chunk_by(|a, b| a.1 == b.1) {
            let nodes = class.iter().map(|&(.., node)| node);
            let (mut alone, mut together): (Vec<NodeId>, Vec<NodeId>) =
                nodes.partition(|&node| self.retained(node) >= large);
            if together.len() < GROUP_FROM {
                alone.append(&mut together);
            }
            candidates.extend(alone.iter().map(|&node| (self.retained(node), vec![node])));
            if !together.is_empty() {
                let retained = together.iter().map(|&node| self.retained(node)).sum();
                candidates.push((retained, together));
            }
        }
        candidates.sort_by_key(|(retained, nodes)| (Reverse(*retained), nodes[0]));
        for (index, (retained, nodes)) in candidates.into_iter().enumerate() {
            if index >= options.limit || retained < options.least {
                self.items[parent].omitted += nodes.len() as u64;
                self.items[parent].omitted_retained += retained;
                continue;
            }
            let number = self.items.len();
            let member = match (nodes.as_slice(), self.graph.class(nodes[0])) {
                (&[_, _, ..], Some(class)) => Member::Group(class),
                _ => Member::Object(nodes[0]),
            };
            for &node in &nodes {
                self.item_of[node as usize] = number as u32;
            }
            let new = item(member, nodes.len() as u64, retained, parent);
            self.items.push(new);
            self.items[parent].children.push(number);
        }
    }

    /// Every node counts for the nearest item above it, and for all items above that.
    fn count_objects(&mut self, whole_heap: bool) {
        const OUTSIDE: u32 = NONE - 1;
        let immediate: &[u32] = &self.analysis.dominators.immediate;
        let mut path = Vec::new();
        for node in 0..self.graph.len() {
            let mut at = node;
            let owner = loop {
                match self.item_of[at as usize] {
                    NONE => path.push(at),
                    owner => break owner,
                }
                match immediate[at as usize] {
                    ROOT if whole_heap => break 0,
                    ROOT | UNREACHABLE => break OUTSIDE,
                    above => at = above,
                }
            };
            for at in path.drain(..) {
                self.item_of[at as usize] = owner;
            }
            if owner != OUTSIDE {
                self.items[owner as usize].objects += 1;
            }
        }
        for index in (1..self.items.len()).rev() {
            let (objects, parent) = (self.items[index].objects, self.items[index].parent);
            self.items[parent].objects += objects;
        }
    }
}
