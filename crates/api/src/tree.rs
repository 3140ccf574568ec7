//! Classification trees in answers: which of their nodes are shown, and in which order.

use std::cmp::Reverse;

use anthill_classify::{Tree, TreeNode, TreeNodeId};
use anthill_graph::GroupTotals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Limit, Percent};

/// How much of a tree is shown, and in which order.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Shown {
    /// Hide nodes below this percentage of the top node, measured by --sort (by retained size when
    /// sorting by name). The five largest children of a visible node are always shown
    #[schemars(extend("x-default-for-people" = 1))]
    pub least: Option<Percent>,
    /// Show at most N levels; 0 for all
    #[serde(default)]
    pub depth: Limit,
    /// Show at most N nodes below each node; 0 for all
    #[schemars(extend("x-default-for-people" = 20))]
    pub limit: Option<Limit>,
    /// Sort the nodes below each node by
    #[serde(default)]
    pub sort: Sort,
    /// Skip the first N nodes below the top, to continue where --limit stopped
    #[serde(default)]
    #[schemars(extend("x-value" = "N"))]
    pub offset: usize,
    /// Show only nodes whose key contains TEXT, ignoring case, with their parents and children
    #[schemars(extend("x-value" = "TEXT"))]
    pub search: Option<String>,
}

/// What comes first below each node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names suffice; words would go into --help")]
#[schemars(rename = "TreeSort")]
pub enum Sort {
    #[default]
    Retained,
    Deep,
    Shallow,
    Objects,
    Name,
}

impl Sort {
    /// What a node weighs among its siblings. A part of objects has its own bytes only.
    fn weight(self, node: &TreeNode) -> u64 {
        let closure = |totals: Option<GroupTotals>| totals.map_or(node.shallow, |sum| sum.bytes);
        match self {
            Sort::Retained | Sort::Name => closure(node.retained),
            Sort::Deep => closure(node.deep),
            Sort::Shallow => node.shallow,
            Sort::Objects => node.objects,
        }
    }
}

/// A node of a classification tree, with the nodes below it. Below `instance-health`, a node stands for
/// a part of each of its objects and has no deep and retained sizes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeNode")]
pub struct Node {
    /// The key that distinguishes the node from its siblings. After a transformer it has a mark: `← `
    /// pointed from, `→ ` points to, `kept by ` dominator, `dominates ` dominated, `retains ` GC
    /// closure, `reaches ` transitive closure.
    pub key: String,
    /// The number of objects of the node. An object under several children counts once in their parent.
    pub objects: u64,
    /// Shallow size of the objects in bytes; below `instance-health`, bytes of the part that the node
    /// stands for.
    pub shallow: u64,
    /// Bytes that the sampled objects of the node stand for; absent if the steps do not use
    /// allocations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub estimated: Option<u64>,
    /// What the objects reach and retain; absent where the node stands for parts of objects.
    #[serde(flatten)]
    pub closures: Option<Closures>,
    /// The nodes right below, largest retained size first or in the order of `--sort`; absent if there
    /// are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
    /// The number of children that `--least`, `--limit` or `--depth` left out; absent if there are
    /// none.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// Whether these are not shown because they are too deep.
    #[serde(skip)]
    pub is_deepest: bool,
}

/// What whole objects reach and retain; parts of objects do neither.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeClosures")]
pub struct Closures {
    /// Bytes of all objects that the group reaches through references between objects, including the
    /// group itself.
    pub deep: u64,
    /// The number of objects that the group reaches, including its own.
    pub deep_objects: u64,
    /// Bytes that would be freed with the group, including the group itself. An unreachable object
    /// retains itself.
    pub retained: u64,
    /// The number of objects that would be freed with the group, including its own.
    pub retained_objects: u64,
}

impl Closures {
    fn of(node: &TreeNode) -> Option<Self> {
        let (deep, retained) = node.deep.zip(node.retained)?;
        Some(Closures {
            deep: deep.bytes,
            deep_objects: deep.objects,
            retained: retained.bytes,
            retained_objects: retained.objects,
        })
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// So many children of a large node are shown even if each is small: many small ones may be all
/// there is.
const FEW: usize = 5;

/// A tree with what is to be shown of it.
pub(crate) struct View<'a> {
    tree: &'a Tree,
    /// The node it is shown from.
    top: TreeNodeId,
    shown: &'a Shown,
    /// By node: bytes that its sampled objects stand for, if the tree is about where objects come from.
    pub estimates: Option<Vec<u64>>,
    /// By node: whether it is to be shown, if some are looked for.
    found: Option<Vec<bool>>,
}

/// The nodes below `top` with a text in their keys, those that lead to them, and those below them.
fn found(tree: &Tree, top: TreeNodeId, text: &str) -> Vec<bool> {
    let mut found = vec![false; tree.nodes().len()];
    let mut waiting = vec![(top, false)];
    while let Some((id, below)) = waiting.pop() {
        let node = tree.node(id);
        let is_found = below || (id != top && node.key.to_lowercase().contains(text));
        if is_found {
            let above = std::iter::successors(Some(id), |&id| tree.node(id).parent);
            for id in above {
                // What leads to a node that was found before is marked already.
                if std::mem::replace(&mut found[id as usize], true) {
                    break;
                }
            }
        }
        waiting.extend(node.children.iter().map(|&child| (child, is_found)));
    }
    found
}

impl<'a> View<'a> {
    pub(crate) fn new(tree: &'a Tree, top: TreeNodeId, shown: &'a Shown) -> Self {
        let search = shown.search.as_ref();
        View {
            found: search.map(|text| found(tree, top, &text.to_lowercase())),
            tree,
            top,
            shown,
            estimates: None,
        }
    }

    /// The top with what is shown below it.
    pub(crate) fn node(&self) -> Node {
        self.node_at(self.top, 0)
    }

    fn node_at(&self, id: TreeNodeId, depth: usize) -> Node {
        let node = self.tree.node(id);
        let (children, omitted) = self.children(id, depth);
        Node {
            key: node.key.clone(),
            objects: node.objects,
            shallow: node.shallow,
            estimated: self.estimate(id),
            closures: Closures::of(node),
            children: children
                .into_iter()
                .map(|child| self.node_at(child, depth + 1))
                .collect(),
            omitted,
            is_deepest: depth >= self.shown.depth.most(),
        }
    }

    /// The children to show in their order, and how many are not shown.
    fn children(&self, id: TreeNodeId, depth: usize) -> (Vec<TreeNodeId>, usize) {
        let mut shown: Vec<TreeNodeId> = self.tree.node(id).children.clone();
        shown.retain(|&child| self.tree.node(child).objects > 0);
        if let Some(found) = &self.found {
            shown.retain(|&child| found[child as usize]);
        }
        let all = shown.len();
        if depth >= self.shown.depth.most() {
            return (Vec::new(), all);
        }
        self.sort_by_weight(&mut shown);
        let few = if self.is_small(id) { 0 } else { FEW };
        let mut rank = 0;
        shown.retain(|&child| {
            rank += 1;
            rank <= few || !self.is_small(child)
        });
        if self.shown.sort == Sort::Name {
            shown.sort_by_key(|&child| &self.tree.node(child).key);
        }
        let before = if depth == 0 { self.shown.offset } else { 0 };
        shown.drain(..before.min(shown.len()));
        shown.truncate(self.shown.limit.unwrap_or_default().most());
        let omitted = all - shown.len();
        (shown, omitted)
    }

    fn weight(&self, id: TreeNodeId) -> u64 {
        match self.estimate(id) {
            Some(estimate) if self.shown.sort == Sort::Retained => estimate,
            _ => self.shown.sort.weight(self.tree.node(id)),
        }
    }

    fn estimate(&self, id: TreeNodeId) -> Option<u64> {
        Some(self.estimates.as_ref()?[id as usize])
    }

    /// Whether a node is too small to be shown for its own sake. The parts of an object are few,
    /// and small only because a part has no closure.
    fn is_small(&self, id: TreeNodeId) -> bool {
        let least =
            self.shown.least.map_or(0.0, |least| least.0) / 100.0 * self.weight(self.top) as f64;
        self.tree.node(id).retained.is_some() && (self.weight(id) as f64) < least
    }

    fn sort_by_weight(&self, nodes: &mut [TreeNodeId]) {
        nodes.sort_by_key(|&id| {
            let node = self.tree.node(id);
            (Reverse(self.weight(id)), Reverse(node.shallow), &node.key)
        });
    }
}
