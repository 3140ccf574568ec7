//! `anthill diff` on a recording: what was born, died and survived between two of its states.

use anthill_api::Limit;
use anthill_api::diff::{Evolved, Fates, Identity, Node, State};
use anthill_trace::elapsed;

use super::diff::signed;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, share};
use crate::output::{Out, csv};

/// The least share of what happened, in percent, that people see.
const LEAST: u64 = 1;
/// So many children of a node are shown even if each is small.
const FEW: usize = 5;

/// An answer as a person reads it.
pub struct View<'a> {
    pub evolved: &'a Evolved,
    pub limit: Limit,
}

fn words(state: &State) -> String {
    let gc = state.gc.map_or(String::new(), |gc| format!(", gc:{gc}"));
    let mark = state.mark.as_ref();
    let mark = mark.map_or(String::new(), |mark| format!(", mark:{mark}"));
    format!("#{} (at {}{gc}{mark})", state.state, elapsed(state.time_ns))
}

impl View<'_> {
    pub fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let [before, after] = &self.evolved.states;
        let root = &self.evolved.tree;
        out.heading(&format!("From {} to {}", words(before), words(after)))?;
        out.line(format!(
            "  {} to {}, {} to {} objects",
            bytes(root.before.bytes),
            bytes(root.after.bytes),
            count(root.before.objects),
            count(root.after.objects)
        ))?;
        out.wrapped(&format!("  {}", self.certainty()), 2)?;
        out.blank()?;
        if self.evolved.tree.fates.is_some() {
            self.fates_table().print(out)?;
        } else {
            self.plain_table().print(out)?;
        }
        Ok(())
    }

    /// What is exact and what is not.
    fn certainty(&self) -> String {
        let Evolved {
            objects,
            told_apart,
            ..
        } = self.evolved;
        let missing = self.missing();
        match self.evolved.identity {
            Identity::All => {
                "Every object was followed, so born, died and survived are exact.".to_owned()
            }
            Identity::Tracked => {
                let tracked = format!(
                    "the tracked objects, {} of {} before and {} of {} after ({}); for all others only the counts \
                     are known. `anthill record --identity all` tracks every object.",
                    count(told_apart[0]),
                    count(objects[0]),
                    count(told_apart[1]),
                    count(objects[1]),
                    share(told_apart[1], objects[1])
                );
                match missing.as_str() {
                    "" => format!("Born, died and survived are exact for {tracked}"),
                    why => format!(
                        "Born, died and survived are not exact: {why}. The numbers of survivors are lower bounds; some \
                         objects that count as born or died may have existed at both times. Anthill could identify \
                         {tracked}"
                    ),
                }
            }
            _ => {
                let why = match missing.as_str() {
                    "" => String::new(),
                    why => format!(" ({why})"),
                };
                format!(
                    "Objects were not followed{why}, so only their counts are compared. \
                     `anthill record --identity all` shows which objects were born, died and survived."
                )
            }
        }
    }

    /// Why identities are missing, and in which state; an empty text if none are.
    fn missing(&self) -> String {
        let missing = self.evolved.states.iter().filter_map(|state| {
            let reason = state.identities_missing.as_ref()?;
            Some(format!("in #{}, {reason}", state.state))
        });
        missing.collect::<Vec<_>>().join("; ")
    }

    fn fates_table(&self) -> Table<7> {
        let mut table = Table::new([
            ("born", Align::Right),
            ("died", Align::Right),
            ("survived", Align::Right),
            ("objects", Align::Right),
            ("bytes", Align::Right),
            ("change", Align::Right),
            (TITLE, Align::Left),
        ]);
        self.walk(
            &self.evolved.tree,
            &mut Vec::new(),
            &mut |line| match line {
                Line::Node(node, last) => table.row([
                    fate(node, |fates| count(fates.born.objects)),
                    fate(node, |fates| count(fates.died.objects)),
                    fate(node, |fates| count(fates.survived.objects)),
                    count(node.after.objects),
                    bytes(node.after.bytes),
                    signed(node.change, bytes),
                    format!("{}{}", indent(last), node.key),
                ]),
                Line::Omitted(more, last) => {
                    let mut cells: [String; 7] = Default::default();
                    cells[6] = omitted(more, last);
                    table.row(cells);
                }
            },
        );
        table
    }

    fn plain_table(&self) -> Table<5> {
        let mut table = Table::new([
            ("objects", Align::Right),
            ("change", Align::Right),
            ("bytes", Align::Right),
            ("change", Align::Right),
            (TITLE, Align::Left),
        ]);
        self.walk(
            &self.evolved.tree,
            &mut Vec::new(),
            &mut |line| match line {
                Line::Node(node, last) => {
                    let objects = node.after.objects as i64 - node.before.objects as i64;
                    table.row([
                        count(node.after.objects),
                        signed(objects, count),
                        bytes(node.after.bytes),
                        signed(node.change, bytes),
                        format!("{}{}", indent(last), node.key),
                    ]);
                }
                Line::Omitted(more, last) => {
                    let mut cells: [String; 5] = Default::default();
                    cells[4] = omitted(more, last);
                    table.row(cells);
                }
            },
        );
        table
    }

    /// All nodes to show in order, with whether each is the last of its siblings.
    fn walk(&self, node: &Node, last: &mut Vec<bool>, visit: &mut impl FnMut(Line)) {
        visit(Line::Node(node, last));
        let least = self.evolved.tree.turnover * LEAST / 100;
        let is_shown = |(rank, child): (usize, &Node)| {
            self.limit == Limit::ALL || rank < FEW || child.turnover >= least.max(1)
        };
        let ranked = node.children.iter().enumerate();
        let shown = ranked.filter(|&ranked| is_shown(ranked)).count();
        let more = node.children.len() + node.omitted - shown;
        for (index, child) in node.children[..shown].iter().enumerate() {
            last.push(index + 1 == shown && more == 0);
            self.walk(child, last, visit);
            last.pop();
        }
        if more > 0 {
            last.push(true);
            visit(Line::Omitted(more, last));
            last.pop();
        }
    }

    pub fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        csv::line(
            out,
            &[
                "path",
                "objects_before",
                "objects",
                "bytes_before",
                "bytes",
                "born",
                "born_bytes",
                "died",
                "died_bytes",
                "survived",
                "survived_bytes",
            ],
        )?;
        csv_node(&self.evolved.tree, String::new(), out)
    }
}

fn csv_node(node: &Node, above: String, out: &mut Out) -> Result<(), Failure> {
    let path = match above.is_empty() {
        true => node.key.clone(),
        false => format!("{above} > {}", node.key),
    };
    let cells = [
        path.clone(),
        node.before.objects.to_string(),
        node.after.objects.to_string(),
        node.before.bytes.to_string(),
        node.after.bytes.to_string(),
        fate(node, |fates| fates.born.objects.to_string()),
        fate(node, |fates| fates.born.bytes.to_string()),
        fate(node, |fates| fates.died.objects.to_string()),
        fate(node, |fates| fates.died.bytes.to_string()),
        fate(node, |fates| fates.survived.objects.to_string()),
        fate(node, |fates| fates.survived.bytes.to_string()),
    ];
    csv::line(out, &cells.each_ref().map(String::as_str))?;
    for child in &node.children {
        csv_node(child, path.clone(), out)?;
    }
    Ok(())
}

const TITLE: &str = "classification tree";

/// Something of what became of the objects; nothing where they were not told apart.
fn fate(node: &Node, of: impl Fn(&Fates) -> String) -> String {
    node.fates.as_ref().map_or_else(String::new, of)
}

enum Line<'a> {
    Node(&'a Node, &'a [bool]),
    Omitted(usize, &'a [bool]),
}

fn omitted(more: usize, last: &[bool]) -> String {
    format!("{}… {more} more; --limit 0 shows all", indent(last))
}
