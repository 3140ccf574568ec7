//! `anthill allocations`: where a recorded program allocates, and how much of it stays alive.

use std::io::Write;

use anthill_api::SeriesQuestion;
use anthill_api::allocations::{Allocations, Answer, Node, NodeKind};
use anthill_trace::elapsed;
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, counted, share};
use crate::output::{Out, csv, json};
use crate::source::{Files, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill allocations app.trace
      Which code allocates most, and how much of that is still alive?
  anthill allocations app.trace --from 1m --to last
      Show the allocations since a state, and compare what is alive in both
  anthill allocations app.trace --sites
      Which classes take most, and which calls allocate them?
  anthill allocations app.trace --csv > stacks.csv
      One line for each stack and class")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Allocations>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let files = Files::new(&arguments.source, &[], Default::default())?;
    let for_program = arguments.source.json || arguments.csv;
    let (answer, basis) = arguments.asked.question(for_program)?.answer(&files)?;
    let mut out = files.out();
    if arguments.source.json {
        return json::print_series::<Allocations>(&mut out, &answer, &basis, &files);
    }
    if arguments.csv {
        let columns = [
            "stack",
            "class",
            "samples",
            "allocated",
            "survived",
            "before",
            "after",
        ];
        csv::line(&mut out, &columns)?;
        write_csv(&answer.tree, &mut Vec::new(), &mut out)?;
    } else {
        write_text(&answer, &mut out)?;
    }
    Ok(out.flush()?)
}

/// How a node is called.
fn name(node: &Node) -> String {
    let class = node.class.as_deref().unwrap_or_default();
    match node.kind {
        NodeKind::Program => "the program".to_owned(),
        NodeKind::Unknown => "(stack not recorded)".to_owned(),
        NodeKind::Objects => class.to_owned(),
        NodeKind::Method => format!("{class}.{}", node.method.as_deref().unwrap_or_default()),
    }
}

/// A line for each stack and class. Recursion is as deep as stacks are.
fn write_csv(
    node: &Node,
    above: &mut Vec<(NodeKind, String)>,
    out: &mut Out,
) -> Result<(), Failure> {
    above.push((node.kind, name(node)));
    for child in &node.children {
        write_csv(child, above, out)?;
    }
    if node.children.is_empty() && node.omitted == 0 {
        let objects = above.iter().find(|one| one.0 == NodeKind::Objects);
        let class = objects.map_or("", |one| one.1.as_str());
        let calls = above
            .iter()
            .filter(|one| matches!(one.0, NodeKind::Method | NodeKind::Unknown));
        let mut calls: Vec<&str> = calls.map(|one| one.1.as_str()).collect();
        // Stacks are written from the outermost call on, whichever way the tree has them.
        if node.kind != NodeKind::Objects {
            calls.reverse();
        }
        let figures = [
            node.samples,
            node.allocated,
            node.survived,
            node.before,
            node.after,
        ];
        let [samples, allocated, survived, before, after] = figures.map(|n| n.to_string());
        let cells = [
            &calls.join(" > "),
            class,
            &samples,
            &allocated,
            &survived,
            &before,
            &after,
        ];
        csv::line(out, &cells)?;
    }
    above.pop();
    Ok(())
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let tree = &answer.tree;
    let window = match &answer.from {
        None => format!("up to {}", answer.to.point),
        Some(from) => format!("from {} to {}", from.point, answer.to.point),
    };
    out.heading(&format!(
        "{} allocated {window} ({}), as {} tell",
        bytes(tree.allocated),
        elapsed(answer.to.time_ns),
        counted(tree.samples, "sample", "samples")
    ))?;
    if !answer.followed {
        out.remark("The recording does not show which of these objects are still alive.")?;
    }
    out.blank()?;
    let mut lines = Vec::new();
    add(tree, &mut Vec::new(), &mut lines);
    let figures = |node: &Node| {
        [
            bytes(node.allocated),
            share(node.allocated, tree.allocated),
            bytes(node.survived),
        ]
    };
    if answer.from.is_none() {
        let titles = ["allocated", "share", "survived"].map(|title| (title, Align::Right));
        let [allocated, share, survived] = titles;
        let mut table = Table::new([allocated, share, survived, ("call", Align::Left)]);
        for (node, label) in lines {
            let [allocated, share, survived] = node.map(figures).unwrap_or_default();
            table.row([allocated, share, survived, label]);
        }
        return Ok(table.print(out)?);
    }
    let mut table = Table::new([
        ("allocated", Align::Right),
        ("share", Align::Right),
        ("survived", Align::Right),
        ("alive before", Align::Right),
        ("alive after", Align::Right),
        ("call", Align::Left),
    ]);
    for (node, label) in lines {
        let [allocated, share, survived] = node.map(figures).unwrap_or_default();
        let alive = node.map(|node| [bytes(node.before), bytes(node.after)]);
        let [before, after] = alive.unwrap_or_default();
        table.row([allocated, share, survived, before, after, label]);
    }
    Ok(table.print(out)?)
}

/// Lines with their nodes; what is left out has none. A run of calls that each only make the next one is one
/// line. Recursion is as deep as stacks are.
fn add<'a>(node: &'a Node, last: &mut Vec<bool>, lines: &mut Vec<(Option<&'a Node>, String)>) {
    let mut end = node;
    let mut calls = vec![name(node)];
    while let ([only], 0) = (&end.children[..], end.omitted) {
        if end.kind == NodeKind::Program || only.kind == NodeKind::Objects {
            break;
        }
        end = only;
        calls.push(name(end));
    }
    let label = match &calls[..] {
        [first, between @ .., innermost] if !between.is_empty() => {
            let more = counted(between.len() as u64, "call", "calls");
            format!("{first} > … {more} … > {innermost}")
        }
        calls => calls.join(" > "),
    };
    lines.push((Some(node), indent(last) + &label));
    for (position, child) in end.children.iter().enumerate() {
        last.push(position + 1 == end.children.len() && end.omitted == 0);
        add(child, last, lines);
        last.pop();
    }
    if end.omitted > 0 {
        last.push(true);
        let more = counted(end.omitted as u64, "smaller one", "smaller ones");
        lines.push((None, format!("{}… {more}", indent(last))));
        last.pop();
    }
}
