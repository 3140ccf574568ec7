//! `anthill diff` on a recording: what was born, died and survived between two of its states.

use std::io::Write;

use anthill_classify::{Definitions, Pattern, Step};
use anthill_session::{Evolution, EvolvedNode, History, evolution};
use anthill_trace::{IdentityKind, Point, Totals, elapsed};
use serde::Serialize;

use super::diff::{Arguments, signed};
use crate::definitions::mistaken;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, share};
use crate::output::{Out, csv, json};
use crate::source::Source;

/// Nodes below each node, and the least share of what happened, in percent, for people.
const NODES: usize = 20;
const LEAST: u64 = 1;
/// So many children of a node are shown even if each is small.
const FEW: usize = 5;

pub fn show(arguments: &Arguments) -> Result<(), Failure> {
    let definitions = arguments.definitions.read()?;
    let steps = steps(arguments, &definitions)?;
    let [from, to] = points(arguments)?;
    let before = arguments
        .source
        .open_at(&arguments.source.file, Some(from))?;
    let after = arguments.source.open_at(&arguments.source.file, Some(to))?;
    let pattern = arguments.class.as_deref().map(Pattern::class);
    let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    let sessions = [&*before.session, &*after.session];
    let evolution = evolution(sessions, &steps, wanted, arguments.unreachable)?;
    if evolution.objects == [0, 0] {
        return Err(Failure::NothingFound(
            "neither state has such objects".to_owned(),
        ));
    }
    let for_program = arguments.source.json || arguments.csv;
    let view = View {
        states: [
            State::new(&before, &evolution.missing[0]),
            State::new(&after, &evolution.missing[1]),
        ],
        by: arguments.by.as_deref().unwrap_or(BY),
        evolution: &evolution,
        limit: super::or_all(
            arguments
                .limit
                .unwrap_or(if for_program { 0 } else { NODES }),
        ),
    };
    let mut out = after.out();
    if arguments.source.json {
        return json::print(&mut out, &after, "diff", view.json());
    }
    if arguments.csv {
        view.csv(&mut out)?;
    } else {
        view.text(&mut out)?;
    }
    Ok(out.flush()?)
}

/// What objects are split by, unless the user wants otherwise.
const BY: &str = "type";

fn steps(arguments: &Arguments, definitions: &Definitions) -> Result<Vec<Step>, Failure> {
    let by = arguments.by.as_deref().unwrap_or(BY);
    // As for dumps.
    let by = if by == "class" { BY } else { by };
    let steps = definitions.steps(by);
    steps.map_err(|mistake| mistaken(&mistake, "--by", by))
}

/// The two points: by default the window in which the heap grows, or the whole recording.
fn points(arguments: &Arguments) -> Result<[Point; 2], Failure> {
    let (from, to) = (arguments.from.clone(), arguments.to.clone());
    let window = match &from {
        Some(_) => None,
        None => {
            let history = History::of_trace(&arguments.source.file)?;
            let window = history.window;
            window.map(|window| Point::parse(&history.moments[window.from].point))
        }
    };
    Ok([
        from.or(window).unwrap_or(Point::First),
        to.unwrap_or(Point::Last),
    ])
}

/// One of the two states.
#[derive(Serialize)]
struct State {
    state: u32,
    time_ns: u64,
    gc: Option<u64>,
    mark: Option<String>,
    /// Why some or all objects have no identity that should have one; null if there are none.
    identities_missing: Option<String>,
}

impl State {
    fn new(source: &Source, identities_missing: &Option<String>) -> Self {
        let recording = source.session.recording();
        let state = recording.map(|recording| recording.state());
        State {
            state: state.map_or(0, |state| state.number),
            time_ns: state.map_or(0, |state| state.time),
            gc: state.and_then(|state| state.gc),
            mark: state.and_then(|state| state.mark.clone()),
            identities_missing: identities_missing.clone(),
        }
    }

    fn words(&self) -> String {
        let gc = self.gc.map_or(String::new(), |gc| format!(", gc:{gc}"));
        let mark = self.mark.as_ref();
        let mark = mark.map_or(String::new(), |mark| format!(", mark:{mark}"));
        format!("#{} (at {}{gc}{mark})", self.state, elapsed(self.time_ns))
    }
}

#[derive(Serialize)]
struct Json<'a> {
    states: &'a [State; 2],
    by: &'a str,
    /// Which objects were told apart: `none`, `tracked` or `all`.
    identity: &'static str,
    objects: [u64; 2],
    told_apart: [u64; 2],
    tree: Node<'a>,
}

#[derive(Serialize)]
struct Node<'a> {
    key: &'a str,
    before: Totals,
    after: Totals,
    #[serde(flatten)]
    fates: Option<Fates>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Node<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// What became of the objects that were told apart.
#[derive(Serialize)]
struct Fates {
    born: Totals,
    died: Totals,
    survived: Totals,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

struct View<'a> {
    states: [State; 2],
    by: &'a str,
    evolution: &'a Evolution,
    limit: usize,
}

impl View<'_> {
    fn has_fates(&self) -> bool {
        self.evolution.identity != IdentityKind::None
    }

    fn json(&self) -> Json<'_> {
        Json {
            states: &self.states,
            by: self.by,
            identity: match self.evolution.identity {
                IdentityKind::None => "none",
                IdentityKind::Tracked => "tracked",
                IdentityKind::All => "all",
            },
            objects: self.evolution.objects,
            told_apart: self.evolution.told_apart,
            tree: self.json_node(&self.evolution.root),
        }
    }

    fn json_node<'n>(&self, node: &'n EvolvedNode) -> Node<'n> {
        let shown = node.children.len().min(self.limit);
        Node {
            key: &node.key,
            before: node.before,
            after: node.after,
            fates: self.has_fates().then_some(Fates {
                born: node.born,
                died: node.died,
                survived: node.survived,
            }),
            children: node.children[..shown]
                .iter()
                .map(|child| self.json_node(child))
                .collect(),
            omitted: node.children.len() - shown,
        }
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let [before, after] = &self.states;
        let root = &self.evolution.root;
        out.heading(&format!("From {} to {}", before.words(), after.words()))?;
        out.line(format!(
            "  {} to {}, {} to {} objects",
            bytes(root.before.bytes),
            bytes(root.after.bytes),
            count(root.before.objects),
            count(root.after.objects)
        ))?;
        out.wrapped(&format!("  {}", self.certainty()), 2)?;
        out.blank()?;
        if self.has_fates() {
            self.fates_table().print(out)?;
        } else {
            self.plain_table().print(out)?;
        }
        Ok(())
    }

    /// What is exact and what is not.
    fn certainty(&self) -> String {
        let Evolution {
            objects,
            told_apart,
            ..
        } = self.evolution;
        let missing = self.missing();
        match self.evolution.identity {
            IdentityKind::All => {
                "Every object was told apart: born, died and survived are exact.".to_owned()
            }
            IdentityKind::Tracked => {
                let tracked = format!(
                    "the objects that were tracked, {} of {} before and {} of {} after ({}); of the others only their \
                     numbers are known. `anthill record --identity all` tracks all.",
                    count(told_apart[0]),
                    count(objects[0]),
                    count(told_apart[1]),
                    count(objects[1]),
                    share(told_apart[1], objects[1])
                );
                match missing.as_str() {
                    "" => format!("Born, died and survived are exact for {tracked}"),
                    why => format!(
                        "Born, died and survived are not exact: {why}. At least so many survived; some that count as \
                         born or died may have been there at both times. Told apart were {tracked}"
                    ),
                }
            }
            IdentityKind::None => {
                let why = match missing.as_str() {
                    "" => String::new(),
                    why => format!(" ({why})"),
                };
                format!(
                    "Objects were not told apart{why}, so only their numbers are compared. \
                     `anthill record --identity all` tells what was born, died and survived."
                )
            }
        }
    }

    /// Why identities are missing, and in which state; an empty text if none are.
    fn missing(&self) -> String {
        let missing = self.states.iter().filter_map(|state| {
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
            &self.evolution.root,
            &mut Vec::new(),
            &mut |line| match line {
                Line::Node(node, last) => table.row([
                    count(node.born.objects),
                    count(node.died.objects),
                    count(node.survived.objects),
                    count(node.after.objects),
                    bytes(node.after.bytes),
                    signed(node.change(), bytes),
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
            &self.evolution.root,
            &mut Vec::new(),
            &mut |line| match line {
                Line::Node(node, last) => {
                    let objects = node.after.objects as i64 - node.before.objects as i64;
                    table.row([
                        count(node.after.objects),
                        signed(objects, count),
                        bytes(node.after.bytes),
                        signed(node.change(), bytes),
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
    fn walk(&self, node: &EvolvedNode, last: &mut Vec<bool>, visit: &mut impl FnMut(Line)) {
        visit(Line::Node(node, last));
        let least = self.evolution.root.turnover() * LEAST / 100;
        let is_shown = |(rank, child): (usize, &EvolvedNode)| {
            rank < self.limit
                && (self.limit == usize::MAX || rank < FEW || child.turnover() >= least.max(1))
        };
        let ranked = node.children.iter().enumerate();
        let shown = ranked.filter(|&ranked| is_shown(ranked)).count();
        let more = node.children.len() - shown;
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

    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
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
        self.csv_node(&self.evolution.root, String::new(), out)
    }

    fn csv_node(&self, node: &EvolvedNode, above: String, out: &mut Out) -> Result<(), Failure> {
        let path = match above.is_empty() {
            true => node.key.clone(),
            false => format!("{above} > {}", node.key),
        };
        let fate = |number: u64| match self.has_fates() {
            true => number.to_string(),
            false => String::new(),
        };
        let cells = [
            path.clone(),
            node.before.objects.to_string(),
            node.after.objects.to_string(),
            node.before.bytes.to_string(),
            node.after.bytes.to_string(),
            fate(node.born.objects),
            fate(node.born.bytes),
            fate(node.died.objects),
            fate(node.died.bytes),
            fate(node.survived.objects),
            fate(node.survived.bytes),
        ];
        csv::line(out, &cells.each_ref().map(String::as_str))?;
        for child in node.children.iter().take(self.limit) {
            self.csv_node(child, path.clone(), out)?;
        }
        Ok(())
    }
}

const TITLE: &str = "classification tree";

enum Line<'a> {
    Node(&'a EvolvedNode, &'a [bool]),
    Omitted(usize, &'a [bool]),
}

fn omitted(more: usize, last: &[bool]) -> String {
    format!("{}… {more} more; --limit 0 shows all", indent(last))
}
