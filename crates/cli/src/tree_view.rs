//! Classification trees as people and programs see them.

use std::cmp::Reverse;
use std::io;

use anthill_classify::{Tree, TreeNode, TreeNodeId};
use anthill_graph::GroupTotals;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::commands::or_all;
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, share};
use crate::output::{Out, csv};
use crate::source::{limit, percent};

#[derive(Serialize)]
pub struct Node<'a> {
    key: &'a str,
    objects: u64,
    shallow: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated: Option<u64>,
    #[serde(flatten)]
    closures: Option<Closures>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Node<'a>>,
    /// Nodes below it that are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// What whole objects reach and retain; parts of objects do neither.
#[derive(Serialize)]
struct Closures {
    deep: u64,
    deep_objects: u64,
    retained: u64,
    retained_objects: u64,
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

/// How much of a tree is shown, and in which order.
#[derive(Args)]
pub struct TreeArguments {
    /// Hide nodes with less than this share of what the node at the top has of --sort (by name: of
    /// retained); of a node that has as much, the five largest below it are shown all the same
    /// [default: 1; 0 with --json and --csv]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    pub least: Option<f64>,
    /// How many levels of nodes; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = limit, allow_negative_numbers = true)]
    pub depth: usize,
    /// How many nodes below each node; 0 for all [default: 20; all with --json and --csv]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// What comes first below each node
    #[arg(long, value_enum, default_value_t = Sort::Retained)]
    pub sort: Sort,
    /// Leave out so many of the first nodes below the top, to go on where --limit ended
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
    /// Below the top, only nodes whose key contains this text, in any case, with the nodes that lead to them and
    /// those below them
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
}

/// Nodes below each node, and the least share of one, unless the user wants others.
const DEFAULT_NODES: usize = 20;
pub const DEFAULT_LEAST: f64 = 1.0;

/// So many children of a large node are shown even if each is small: many small ones may be all
/// there is.
const FEW: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
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

impl TreeArguments {
    /// What is to be shown to a person or, which is everything unless it asks for less, to a
    /// program.
    pub fn shown(&self, for_program: bool) -> Shown {
        let (limit, least) = match for_program {
            true => (0, 0.0),
            false => (DEFAULT_NODES, DEFAULT_LEAST),
        };
        Shown {
            limit: or_all(self.limit.unwrap_or(limit)),
            least: self.least.unwrap_or(least),
            depth: or_all(self.depth),
            sort: self.sort,
            offset: self.offset,
            search: self.search.as_ref().map(|text| text.to_lowercase()),
        }
    }
}

/// What of a tree is shown.
#[derive(Clone)]
pub struct Shown {
    limit: usize,
    /// In percent.
    least: f64,
    depth: usize,
    sort: Sort,
    /// Of the nodes below the top.
    offset: usize,
    /// In lower case.
    search: Option<String>,
}

/// A tree with what is to be shown of it.
pub struct TreeView<'a> {
    tree: &'a Tree,
    /// The node it is shown from.
    top: TreeNodeId,
    /// Bytes of the reachable heap.
    heap: u64,
    shown: Shown,
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

impl<'a> TreeView<'a> {
    pub fn new(tree: &'a Tree, top: TreeNodeId, heap: u64, shown: Shown) -> Self {
        let search = shown.search.as_ref();
        TreeView {
            found: search.map(|text| found(tree, top, text)),
            tree,
            top,
            heap,
            shown,
            estimates: None,
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
        if depth >= self.shown.depth {
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
        shown.truncate(self.shown.limit);
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

    /// The key, and what the node's sampled objects stand for.
    fn title(&self, id: TreeNodeId) -> String {
        let key = &self.tree.node(id).key;
        match self.estimate(id).filter(|&estimate| estimate > 0) {
            Some(estimate) => format!("{key} (samples stand for {})", bytes(estimate)),
            None => key.clone(),
        }
    }

    /// Whether a node is too small to be shown for its own sake. The parts of an object are few,
    /// and small only because a part has no closure.
    fn is_small(&self, id: TreeNodeId) -> bool {
        let least = self.shown.least / 100.0 * self.weight(self.top) as f64;
        self.tree.node(id).retained.is_some() && (self.weight(id) as f64) < least
    }

    fn sort_by_weight(&self, nodes: &mut [TreeNodeId]) {
        nodes.sort_by_key(|&id| {
            let node = self.tree.node(id);
            (Reverse(self.weight(id)), Reverse(node.shallow), &node.key)
        });
    }

    pub fn json(&self) -> Node<'a> {
        self.json_node(self.top, 0)
    }

    fn json_node(&self, id: TreeNodeId, depth: usize) -> Node<'a> {
        let node = self.tree.node(id);
        let (children, omitted) = self.children(id, depth);
        Node {
            key: &node.key,
            objects: node.objects,
            shallow: node.shallow,
            estimated: self.estimate(id),
            closures: Closures::of(node),
            children: children
                .into_iter()
                .map(|child| self.json_node(child, depth + 1))
                .collect(),
            omitted,
        }
    }

    /// All nodes to show in order, with their keys from the top and whether each is the last of
    /// its siblings.
    fn walk(&self, id: TreeNodeId, last: &mut Vec<bool>, visit: &mut impl FnMut(Line)) {
        visit(Line::Node { id, last });
        let (children, omitted) = self.children(id, last.len());
        for (index, &child) in children.iter().enumerate() {
            last.push(index + 1 == children.len() && omitted == 0);
            self.walk(child, last, visit);
            last.pop();
        }
        if omitted > 0 {
            last.push(true);
            visit(Line::Omitted {
                count: omitted,
                last,
            });
            last.pop();
        }
    }

    pub fn text(&self, out: &mut Out) -> io::Result<()> {
        let mut table = Table::new([
            ("objects", Align::Right),
            ("shallow", Align::Right),
            ("deep", Align::Right),
            ("retained", Align::Right),
            ("share", Align::Right),
            (TITLE, Align::Left),
        ]);
        self.walk(self.top, &mut Vec::new(), &mut |line| match line {
            Line::Node { id, last } => {
                let node = self.tree.node(id);
                let closure = |totals: Option<GroupTotals>| {
                    totals.map_or_else(String::new, |totals| bytes(totals.bytes))
                };
                table.row([
                    count(node.objects),
                    bytes(node.shallow),
                    closure(node.deep),
                    closure(node.retained),
                    node.retained
                        .map_or_else(String::new, |totals| share(totals.bytes, self.heap)),
                    format!("{}{}", indent(last), self.title(id)),
                ]);
            }
            Line::Omitted { count, last } => {
                let mut cells: [String; 6] = Default::default();
                let hint = match last.len() > self.shown.depth {
                    true => "--depth 0 shows further levels",
                    false => "--least 0 --limit 0 shows all",
                };
                cells[5] = format!("{}… {count} more; {hint}", indent(last));
                table.row(cells);
            }
        });
        table.print(out)
    }

    pub fn csv(&self, out: &mut Out) -> io::Result<()> {
        csv::line(
            out,
            &[
                "path",
                "objects",
                "shallow",
                "deep",
                "deep_objects",
                "retained",
                "retained_objects",
            ],
        )?;
        let mut lines = Vec::new();
        self.walk(self.top, &mut Vec::new(), &mut |line| {
            if let Line::Node { id, .. } = line {
                lines.push(id);
            }
        });
        for id in lines {
            let node = self.tree.node(id);
            let closures = Closures::of(node);
            let numbers = [
                Some(node.objects),
                Some(node.shallow),
                closures.as_ref().map(|closures| closures.deep),
                closures.as_ref().map(|closures| closures.deep_objects),
                closures.as_ref().map(|closures| closures.retained),
                closures.as_ref().map(|closures| closures.retained_objects),
            ];
            let numbers =
                numbers.map(|number| number.map_or_else(String::new, |number| number.to_string()));
            let path = self.path(id);
            let cells: Vec<&str> = [path.as_str()]
                .into_iter()
                .chain(numbers.iter().map(String::as_str))
                .collect();
            csv::line(out, &cells)?;
        }
        Ok(())
    }

    fn path(&self, id: TreeNodeId) -> String {
        let nodes = std::iter::successors(Some(id), |&id| self.tree.node(id).parent);
        let mut keys: Vec<&str> = nodes.map(|id| self.tree.node(id).key.as_str()).collect();
        keys.reverse();
        keys.join(" > ")
    }
}

const TITLE: &str = "classification tree";

enum Line<'a> {
    Node { id: TreeNodeId, last: &'a [bool] },
    Omitted { count: usize, last: &'a [bool] },
}
