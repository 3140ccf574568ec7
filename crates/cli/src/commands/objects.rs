//! `anthill objects`: one row per object, for spreadsheets, scripts and comparing.
//!
//! In the order of addresses rows are written as they are met, so that millions take seconds.

use std::cmp::Reverse;
use std::io::{self, Write};

use anthill_classify::Pattern;
use anthill_graph::{Graph, NodeId, ROOT, UNREACHABLE};
use anthill_heap::BitSet;
use anthill_session::{Analysis, check_group};
use clap::{Args, ValueEnum};

use crate::definitions::DefinitionArguments;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, counted, hex};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments, limit};

/// List objects: address, class, sizes and dominator of each
///
/// The dominator is the object that alone keeps this one alive: its address, or `root` if no single
/// object does. With --compat mat, unreachable objects are left out and the stand-in for the boot
/// loader has address 0x0.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill objects app.hprof --class com.acme.Session --sort retained
      Which sessions are the largest?
  anthill objects app.hprof --class '*[]' --sort shallow --limit 10
      The ten largest arrays
  anthill objects app.hprof --csv > objects.csv
      Every object, for a script
  anthill objects app.hprof --group 'retained(IdCache.idCache) & byte[]' --sort shallow
      The largest byte arrays that this cache keeps alive")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Only objects of this class; `*` stands for any characters, `?` for one
    #[arg(long, value_name = "GLOB")]
    pub class: Option<String>,
    /// Only the objects of this group; docs/groups.md has the language
    #[arg(long, value_name = "GROUP", conflicts_with = "class")]
    pub group: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// What comes first
    #[arg(long, value_enum, default_value_t = Sort::Address)]
    pub sort: Sort,
    /// How many rows; 0 for all [default: 30; all with --json and --csv]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    Address,
    Retained,
    Shallow,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.group {
            Some(group) => Ok(check_group(group, &self.definitions.read()?)?),
            None => Ok(()),
        }
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let analysis = source.session.analysis()?;
    let graph = source.session.graph();
    let objects = Objects::new(source, analysis, &graph, arguments)?;
    let mut out = source.out();
    if arguments.source.json {
        objects.json(&mut out)
    } else if arguments.csv {
        objects.csv(&mut out)
    } else {
        objects.text(&mut out)
    }
}

struct Objects<'a> {
    source: &'a Source,
    analysis: &'a Analysis,
    graph: &'a Graph<'a>,
    selection: Selection,
    /// Addresses by node, if there are many rows: finding one alone takes longer.
    addresses: Vec<u64>,
    limit: usize,
    /// The selected nodes in their order; in the order of addresses there is no need for it.
    sorted: Option<Vec<NodeId>>,
}

/// Which nodes are rows.
struct Selection {
    /// By class.
    wanted: Vec<bool>,
    group: Option<BitSet>,
    reachable_only: bool,
}

impl<'a> Objects<'a> {
    fn new(
        source: &'a Source,
        analysis: &'a Analysis,
        graph: &'a Graph<'a>,
        arguments: &Arguments,
    ) -> Result<Self, Failure> {
        let session = &source.session;
        let classes = session.state().classes();
        let names = || classes.iter().map(|class| class.name.as_str());
        let pattern = Pattern::class(arguments.class.as_deref().unwrap_or("*"));
        let wanted: Vec<bool> = names().map(|name| pattern.matches(name)).collect();
        if !wanted.contains(&true) {
            return Err(Failure::NothingFound(pattern.no_match("class", names())));
        }
        let definitions = arguments.definitions.read()?;
        let group = arguments.group.as_deref();
        let group = group.map(|group| session.group(group, &definitions));
        let mut objects = Objects {
            source,
            analysis,
            graph,
            selection: Selection {
                wanted,
                group: group.transpose()?,
                reachable_only: session.convention().mat,
            },
            addresses: Vec::new(),
            limit: super::row_limit(arguments.limit, arguments.source.json || arguments.csv),
            sorted: None,
        };
        if objects.limit >= MANY {
            objects.addresses = session.state().addresses.iter().collect();
        }
        objects.sorted = match arguments.sort {
            Sort::Address => None,
            Sort::Retained => Some(objects.largest(|node| analysis.dominators.retained(node))),
            Sort::Shallow => Some(objects.largest(|node| graph.size(node))),
        };
        Ok(objects)
    }
}

/// Rows from which on all addresses are looked up at once.
const MANY: usize = 1 << 16;

const COLUMNS: [&str; 6] = [
    "address",
    "class",
    "shallow",
    "retained",
    "dominator",
    "reachable",
];

impl Objects<'_> {
    fn is_selected(&self, node: NodeId) -> bool {
        let class = self.graph.class(node);
        let objects = self.source.session.state().len();
        let group = self.selection.group.as_ref();
        class.is_some_and(|class| self.selection.wanted[class as usize])
            && group.is_none_or(|group| node < objects && group.contains(node))
            && !(self.selection.reachable_only && self.dominator(node) == UNREACHABLE)
    }

    fn address(&self, node: NodeId) -> u64 {
        let known = self.addresses.get(node as usize).copied();
        known.unwrap_or_else(|| self.source.session.address(node))
    }

    fn dominator(&self, node: NodeId) -> u32 {
        self.analysis.dominators.immediate[node as usize]
    }

    /// The selected nodes with the largest values, largest first, as many as are asked for.
    fn largest(&self, value: impl Fn(NodeId) -> u64) -> Vec<NodeId> {
        let key = |&node: &NodeId| (Reverse(value(node)), node);
        let mut nodes: Vec<NodeId> = (0..self.graph.len())
            .filter(|&node| self.is_selected(node))
            .collect();
        if self.limit < nodes.len() {
            nodes.select_nth_unstable_by_key(self.limit, key);
            nodes.truncate(self.limit);
        }
        nodes.sort_unstable_by_key(key);
        nodes
    }

    /// Calls `write` with every node that is to be shown, in order.
    fn for_each(&self, mut write: impl FnMut(NodeId) -> io::Result<()>) -> io::Result<()> {
        match &self.sorted {
            Some(nodes) => nodes.iter().try_for_each(|&node| write(node)),
            None => (0..self.graph.len())
                .filter(|&node| self.is_selected(node))
                .take(self.limit)
                .try_for_each(write),
        }
    }

    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        csv::line(out, &COLUMNS)?;
        let classes = self.class_texts(|name| csv::escaped(name).into_owned());
        let mut row = RowBuffer::default();
        self.for_each(|node| {
            row.clear();
            row.hex(self.address(node));
            row.text(",");
            row.text(self.class_text(&classes, node));
            row.text(",");
            row.number(self.graph.size(node));
            row.text(",");
            row.number(self.analysis.dominators.retained(node));
            row.text(",");
            match self.dominator(node) {
                ROOT => row.text("root,true\n"),
                UNREACHABLE => row.text(",false\n"),
                above => {
                    row.hex(self.address(above));
                    row.text(",true\n");
                }
            }
            out.write_all(&row.bytes)
        })?;
        Ok(out.flush()?)
    }

    fn json(&self, out: &mut Out) -> Result<(), Failure> {
        let rows = json::start_rows(out, self.source, "objects")?;
        let classes = self.class_texts(|name| serde_json::Value::from(name).to_string());
        let mut row = RowBuffer::default();
        let mut separator = "\n";
        self.for_each(|node| {
            row.clear();
            row.text(separator);
            separator = ",\n";
            row.text("{\"address\":\"");
            row.hex(self.address(node));
            row.text("\",\"class\":");
            row.text(self.class_text(&classes, node));
            row.text(",\"shallow\":");
            row.number(self.graph.size(node));
            row.text(",\"retained\":");
            row.number(self.analysis.dominators.retained(node));
            row.text(",\"dominator\":");
            match self.dominator(node) {
                ROOT => row.text("\"root\",\"reachable\":true}"),
                UNREACHABLE => row.text("null,\"reachable\":false}"),
                above => {
                    row.text("\"");
                    row.hex(self.address(above));
                    row.text("\",\"reachable\":true}");
                }
            }
            out.write_all(&row.bytes)
        })?;
        rows.end(out)
    }

    /// The names of all classes as they are written.
    fn class_texts(&self, text: impl Fn(&str) -> String) -> Vec<String> {
        let classes = self.source.session.state().classes().iter();
        classes.map(|class| text(&class.name)).collect()
    }

    fn class_text<'t>(&self, texts: &'t [String], node: NodeId) -> &'t str {
        let class = self.graph.class(node);
        class.map_or("", |class| &texts[class as usize])
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let session = &self.source.session;
        let mut table = Table::new([
            ("address", Align::Left),
            ("shallow", Align::Right),
            ("retained", Align::Right),
            ("dominator", Align::Left),
            ("object", Align::Left),
        ]);
        let mut shown = 0;
        self.for_each(|node| {
            shown += 1;
            let label = session.label(node);
            table.row([
                hex(label.address),
                bytes(self.graph.size(node)),
                bytes(self.analysis.dominators.retained(node)),
                match self.dominator(node) {
                    ROOT => "root".to_owned(),
                    UNREACHABLE => "unreachable".to_owned(),
                    above => hex(self.address(above)),
                },
                [Some(label.what), label.detail]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" "),
            ]);
            Ok(())
        })?;
        table.print(out)?;
        let selected = (0..self.graph.len()).filter(|&node| self.is_selected(node));
        let omitted = selected.count() as u64 - shown;
        if omitted > 0 {
            out.remark(&format!(
                "… {}; --limit 0 shows all",
                counted(omitted, "more object", "more objects")
            ))?;
        }
        Ok(out.flush()?)
    }
}

/// A row that is being written.
#[derive(Default)]
struct RowBuffer {
    bytes: Vec<u8>,
    number: itoa::Buffer,
}

impl RowBuffer {
    fn clear(&mut self) {
        self.bytes.clear();
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.bytes
            .extend_from_slice(self.number.format(number).as_bytes());
    }

    fn hex(&mut self, number: u64) {
        let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
        self.text("0x");
        for digit in (0..digits).rev() {
            let nibble = number >> (digit * 4) & 15;
            self.bytes.push(b"0123456789abcdef"[nibble as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_like_format_does() {
        for number in [0, 1, 0xf, 0x10, 0x7f00_1234_5678, u64::MAX] {
            let mut row = RowBuffer::default();
            row.hex(number);
            row.text(" ");
            row.number(number);
            assert_eq!(row.bytes, format!("{number:#x} {number}").into_bytes());
        }
    }
}
