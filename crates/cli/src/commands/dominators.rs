//! `anthill dominators`: which object keeps what alive alone, as a tree.

use std::io::Write;

use anthill_session::{Member, TreeItem, TreeOptions};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::names::{ClassNames, class_name};
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, counted, hex, share};
use crate::output::{Out, json, shell};
use crate::source::{Source, SourceArguments, limit, percent};

/// Show the dominator tree: which object alone keeps what alive
///
/// Everything below an item would be freed with it. Siblings of the same class are shown as one item
/// (`650 × HashMap$Node`), except those that retain much by themselves; the item counts by what they
/// retain together. A long chain of objects that each hold the next one, such as a linked list, is
/// folded: its first object, how many follow, its last one. Shares are of the reachable heap.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill dominators app.hprof
      Which objects hold the heap?
  anthill dominators app.hprof 0x7f0012345678 --depth 5
      What is inside this object, five levels down?
  anthill dominators app.hprof --depth 1 --limit 50
      The 50 largest items at the top")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The address of an object to start from [default: all that is reachable]
    #[arg(value_name = "OBJECT")]
    pub object: Option<String>,
    /// How many levels; at most 50 are shown
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub depth: usize,
    /// How many items below each item; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
    /// Leave out items that retain less than this part of the top, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent, allow_negative_numbers = true)]
    pub least: f64,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let tree = Tree::new(source, arguments)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "dominators", tree.json())
    } else {
        tree.text(arguments.depth, &mut out)?;
        Ok(out.flush()?)
    }
}

struct Tree<'a> {
    source: &'a Source,
    names: ClassNames<'a>,
    items: Vec<TreeItem>,
    reachable: u64,
}

#[derive(Serialize)]
struct Json {
    tree: JsonItem,
}

/// An item of the tree with what is below it.
#[derive(Serialize)]
pub struct JsonItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// Of a single object.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    pub label: String,
    /// How many objects the item stands for.
    members: u64,
    /// Objects retained, those of the item included.
    objects: u64,
    pub retained: u64,
    /// Whether the objects each hold the next one; otherwise they have the same parent.
    #[serde(skip_serializing_if = "is_false")]
    chain: bool,
    children: Vec<JsonItem>,
    omitted: JsonOmitted,
    /// Objects below the last level.
    deeper: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Serialize)]
struct JsonOmitted {
    objects: u64,
    retained: u64,
}

/// The largest items at the top of the tree.
pub fn largest(source: &Source, limit: usize) -> Result<Vec<JsonItem>, Failure> {
    let options = TreeOptions {
        top: None,
        depth: 1,
        limit,
        least: 0,
    };
    Ok(Tree::with(source, &options)?.json_item(0).children)
}

impl<'a> Tree<'a> {
    fn new(source: &'a Source, arguments: &Arguments) -> Result<Self, Failure> {
        let session = &source.session;
        let analysis = session.analysis()?;
        let top = match &arguments.object {
            Some(object) => Some(source.object(object)?),
            None => None,
        };
        let retained = top.map_or(analysis.total().retained, |node| {
            analysis.dominators.retained(node)
        });
        let options = TreeOptions {
            top,
            depth: arguments.depth,
            limit: super::or_all(arguments.limit),
            least: (retained as f64 * arguments.least / 100.0) as u64,
        };
        Tree::with(source, &options)
    }

    fn with(source: &'a Source, options: &TreeOptions) -> Result<Self, Failure> {
        Ok(Tree {
            source,
            names: ClassNames::new(&source.session),
            items: source.session.dominator_tree(options)?,
            reachable: source.session.analysis()?.total().retained,
        })
    }

    fn json(&self) -> Json {
        Json {
            tree: self.json_item(0),
        }
    }

    fn json_item(&self, index: usize) -> JsonItem {
        let session = &self.source.session;
        let item = &self.items[index];
        let (class, address) = match item.member {
            Member::Heap => (None, None),
            Member::Object(node) => (
                Some(class_name(session, node).to_owned()),
                Some(hex(session.address(node))),
            ),
            Member::Group(class) | Member::Chain(Some(class)) => {
                let class = &session.state().classes()[class as usize];
                (Some(class.name.clone()), None)
            }
            Member::Chain(None) => (None, None),
        };
        JsonItem {
            class,
            address,
            label: self.label(item),
            members: item.count,
            objects: item.objects,
            retained: item.retained,
            chain: matches!(item.member, Member::Chain(_)),
            children: item
                .children
                .iter()
                .map(|&child| self.json_item(child))
                .collect(),
            omitted: JsonOmitted {
                objects: item.omitted,
                retained: item.omitted_retained,
            },
            deeper: item.deeper,
        }
    }

    fn label(&self, item: &TreeItem) -> String {
        let session = &self.source.session;
        match item.member {
            Member::Heap => "all that is reachable".to_owned(),
            Member::Object(node) => session.label(node).to_string(),
            Member::Group(class) => {
                format!("{} × {}", count(item.count), self.names.unambiguous(class))
            }
            Member::Chain(Some(class)) => format!(
                "… {} × {} in a chain …",
                count(item.count),
                self.names.unambiguous(class)
            ),
            Member::Chain(None) => format!("… {} objects in a chain …", count(item.count)),
        }
    }

    fn text(&self, depth: usize, out: &mut Out) -> Result<(), Failure> {
        let mut table = Table::new([
            ("retained", Align::Right),
            ("share", Align::Right),
            ("objects", Align::Right),
            ("dominator tree", Align::Left),
        ]);
        self.add(0, &mut Vec::new(), &mut table);
        table.print(out)?;
        let deepest = TreeOptions::DEEPEST;
        let mut cut = self.items.iter().filter(|item| item.deeper > 0);
        if let Some(cut) = cut.next_back().filter(|_| depth > deepest) {
            let below = self.items.iter().map(|item| item.deeper).sum();
            out.remark(&format!(
                "Not more than {deepest} levels are shown; below them are {}{}",
                counted(below, "object", "objects"),
                match cut.member {
                    Member::Object(node) => format!(
                        ", see `anthill dominators {} {}`",
                        shell::file(&self.source.name),
                        hex(self.source.session.address(node))
                    ),
                    _ => String::new(),
                }
            ))?;
        }
        Ok(())
    }

    /// Recursion is as deep as the tree, and that is bounded.
    fn add(&self, index: usize, last: &mut Vec<bool>, table: &mut Table<4>) {
        let item = &self.items[index];
        table.row([
            bytes(item.retained),
            share(item.retained, self.reachable),
            count(item.objects),
            indent(last) + &self.label(item),
        ]);
        for (position, &child) in item.children.iter().enumerate() {
            last.push(position + 1 == item.children.len() && item.omitted == 0);
            self.add(child, last, table);
            last.pop();
        }
        if item.omitted > 0 {
            last.push(true);
            table.row([
                bytes(item.omitted_retained),
                share(item.omitted_retained, self.reachable),
                String::new(),
                format!(
                    "{}… {}",
                    indent(last),
                    counted(item.omitted, "more object", "more objects")
                ),
            ]);
            last.pop();
        }
    }
}
