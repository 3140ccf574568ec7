//! Classification trees as people and programs see them.

use std::cmp::Reverse;
use std::io;

use anthill_classify::{Tree, TreeNode, TreeNodeId};
use anthill_graph::GroupTotals;
use clap::Args;
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
    #[serde(flatten)]
    closures: Option<Closures>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Node<'a>>,
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

/// What a node weighs among its siblings: the bytes it retains, or its own if it is a part.
fn weight(node: &TreeNode) -> u64 {
    node.retained
        .map_or(node.shallow, |retained| retained.bytes)
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How much of a tree is shown.
#[derive(Args)]
pub struct TreeArguments {
    /// Hide nodes that retain less than this share of what the node at the top does
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent, allow_negative_numbers = true)]
    pub least: f64,
    /// How many levels of nodes; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = limit, allow_negative_numbers = true)]
    pub depth: usize,
    /// How many nodes below each node; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
}

/// A tree with what is to be shown of it.
pub struct TreeView<'a> {
    pub tree: &'a Tree,
    /// The node it is shown from.
    pub top: TreeNodeId,
    /// Bytes of the reachable heap.
    pub heap: u64,
    pub shown: &'a TreeArguments,
}

impl<'a> TreeView<'a> {
    /// The children to show, largest first, and how many are not shown.
    fn children(&self, node: TreeNodeId, depth: usize) -> (Vec<TreeNodeId>, usize) {
        if self.shown.depth > 0 && depth >= self.shown.depth {
            return (Vec::new(), self.tree.node(node).children.len());
        }
        let least = self.shown.least / 100.0 * weight(self.tree.node(self.top)) as f64;
        let mut shown: Vec<TreeNodeId> = self.tree.node(node).children.clone();
        shown.retain(|&child| self.tree.node(child).objects > 0);
        let all = shown.len();
        // The parts of an object are few, and small only because a part has no closure.
        shown.retain(|&child| {
            let node = self.tree.node(child);
            node.retained.is_none() || weight(node) as f64 >= least
        });
        shown.sort_by_key(|&child| {
            let node = self.tree.node(child);
            (Reverse(weight(node)), Reverse(node.shallow), &node.key)
        });
        shown.truncate(or_all(self.shown.limit));
        let omitted = all - shown.len();
        (shown, omitted)
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
                    format!("{}{}", indent(last), node.key),
                ]);
            }
            Line::Omitted { count, last } => {
                let mut cells: [String; 6] = Default::default();
                cells[5] = format!(
                    "{}… {count} more; --least 0 --limit 0 shows all",
                    indent(last)
                );
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
