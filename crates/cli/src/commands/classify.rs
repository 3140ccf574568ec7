//! `anthill classify`: splits objects level by level, with exact sizes on every node.

use std::cmp::Reverse;
use std::io::Write;

use anthill_classify::{OVERALL, Pattern, Step, Tree, TreeNode, TreeNodeId};
use anthill_graph::GroupTotals;
use clap::Args;
use serde::Serialize;

use crate::definitions::{DefinitionArguments, mistaken};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, share};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments, limit, percent};

/// Split objects by any list of classifiers
///
/// Every node has its objects, their shallow bytes, their deep bytes (all that they reach through
/// references) and their retained bytes (all that would be freed with them), each exact for the
/// group as a whole: what several objects keep alive together is counted. `anthill classifiers`
/// lists what objects can be split by.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill classify app.hprof --by package,type
      Which packages, and which types in them, keep most alive?
  anthill classify app.hprof --class com.acme.Session --by type,pointed-from,type,pointed-from,type
      Which types hold the sessions, and which hold those?
  anthill classify app.hprof --class java.util.HashMap --by closest-root
      Which static fields and threads lead to the maps?
  anthill classify app.hprof --where 'type == \"byte[]\" && length > 1M' --by pointed-from,type
      Which types hold the large byte arrays?
  anthill classify app.hprof --class com.acme.Order --by 'field(\"state\"), bucket(retained)'
      How many orders are in which state, and how much do single ones retain?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Classifiers, filters and transformers, separated by commas: names, `where CONDITION`, `to
    /// OBJECTS`, or any expression to split by
    #[arg(long, value_name = "STEPS", default_value = "type")]
    pub by: String,
    /// Only objects for which this expression is true
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// Only objects of these classes; * and ? are wildcards
    #[arg(long, value_name = "GLOB")]
    pub class: Option<String>,
    /// Unreachable objects too
    #[arg(long)]
    pub unreachable: bool,
    /// Hide nodes that retain less than this share of the reachable heap
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent, allow_negative_numbers = true)]
    pub least: f64,
    /// How many levels of nodes; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = limit, allow_negative_numbers = true)]
    pub depth: usize,
    /// How many nodes below each node; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

impl Arguments {
    /// The steps, the condition on the objects first.
    pub fn steps(&self) -> Result<Vec<Step>, Failure> {
        let definitions = self.definitions.read()?;
        let mut steps = Vec::new();
        if let Some(condition) = &self.condition {
            let filter = definitions.filter(condition);
            steps.push(filter.map_err(|mistake| mistaken(&mistake, "--where", condition))?);
        }
        let by = definitions.steps(&self.by);
        steps.extend(by.map_err(|mistake| mistaken(&mistake, "--by", &self.by))?);
        Ok(steps)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let steps = arguments.steps()?;
    let session = &source.session;
    let pattern = arguments.class.as_deref().map(Pattern::class);
    let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    let names = || {
        session
            .state()
            .classes()
            .iter()
            .map(|class| class.name.as_str())
    };
    if let Some(pattern) = pattern.as_ref().filter(|_| !names().any(wanted)) {
        return Err(Failure::NothingFound(pattern.no_match("class", names())));
    }
    let group = session.objects_of(wanted, arguments.unreachable)?;
    let tree = session.classify(&group, &steps)?;
    if let (Some(condition), 0) = (&arguments.condition, tree.node(OVERALL).objects) {
        let message = format!("no object fulfils `{condition}`");
        return Err(Failure::NothingFound(message));
    }
    let view = View {
        tree: &tree,
        heap: session.analysis()?.total().retained,
        arguments,
    };
    let mut out = source.out();
    if arguments.source.json {
        let result = Classification {
            condition: arguments.condition.as_deref(),
            by: &arguments.by,
            tree: view.json(OVERALL, 0),
        };
        json::print(&mut out, source, "classify", &result)
    } else if arguments.csv {
        view.csv(&mut out)
    } else {
        view.text(&mut out)
    }
}

#[derive(Serialize)]
struct Classification<'a> {
    #[serde(rename = "where")]
    condition: Option<&'a str>,
    by: &'a str,
    tree: Node<'a>,
}

#[derive(Serialize)]
struct Node<'a> {
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

/// A tree with what is to be shown of it.
struct View<'a> {
    tree: &'a Tree,
    /// Bytes of the reachable heap.
    heap: u64,
    arguments: &'a Arguments,
}

impl<'a> View<'a> {
    /// The children to show, largest first, and how many are not shown.
    fn children(&self, node: TreeNodeId, depth: usize) -> (Vec<TreeNodeId>, usize) {
        if self.arguments.depth > 0 && depth >= self.arguments.depth {
            return (Vec::new(), self.tree.node(node).children.len());
        }
        let least = self.arguments.least / 100.0 * self.heap as f64;
        let mut shown: Vec<TreeNodeId> = self.tree.node(node).children.clone();
        shown.retain(|&child| self.tree.node(child).objects > 0);
        let all = shown.len();
        shown.retain(|&child| weight(self.tree.node(child)) as f64 >= least);
        shown.sort_by_key(|&child| {
            let node = self.tree.node(child);
            (Reverse(weight(node)), Reverse(node.shallow), &node.key)
        });
        shown.truncate(super::or_all(self.arguments.limit));
        let omitted = all - shown.len();
        (shown, omitted)
    }

    fn json(&self, id: TreeNodeId, depth: usize) -> Node<'a> {
        let node = self.tree.node(id);
        let (children, omitted) = self.children(id, depth);
        Node {
            key: &node.key,
            objects: node.objects,
            shallow: node.shallow,
            closures: Closures::of(node),
            children: children
                .into_iter()
                .map(|child| self.json(child, depth + 1))
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

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let mut table = Table::new([
            ("objects", Align::Right),
            ("shallow", Align::Right),
            ("deep", Align::Right),
            ("retained", Align::Right),
            ("share", Align::Right),
            (TITLE, Align::Left),
        ]);
        self.walk(OVERALL, &mut Vec::new(), &mut |line| match line {
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
        table.print(out)?;
        Ok(out.flush()?)
    }

    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
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
        self.walk(OVERALL, &mut Vec::new(), &mut |line| {
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
        Ok(out.flush()?)
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
