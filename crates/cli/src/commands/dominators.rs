//! `anthill dominators`: which object keeps what alive alone, as a tree.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::dominators::{Answer, Dominators, Item};
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, json, shell};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill dominators app.hprof
      Which objects hold the heap?
  anthill dominators app.hprof 0x7f0012345678 --depth 5
      What is inside this object, five levels down?
  anthill dominators app.hprof --depth 1 --limit 50
      Show the 50 largest items at the top")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Dominators>,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json;
    let answer = arguments.asked.question(for_program)?.answer(source)?;
    let mut out = source.out();
    if for_program {
        json::print::<Dominators>(&mut out, source, &answer)
    } else {
        write_text(&answer, &source.file, &mut out)
    }
}

fn write_text(answer: &Answer, file: &str, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new([
        ("retained", Align::Right),
        ("share", Align::Right),
        ("objects", Align::Right),
        ("dominator tree", Align::Left),
    ]);
    add(&answer.tree, answer.reachable, &mut Vec::new(), &mut table);
    table.print(out)?;
    if let Some(deep) = &answer.too_deep {
        let further = deep.last.as_ref().map(|address| {
            let file = shell::file(file);
            format!(", see `anthill dominators {file} {address}`")
        });
        out.remark(&format!(
            "The tree shows at most {} levels; below them are {}{}",
            deep.levels,
            counted(deep.objects, "object", "objects"),
            further.unwrap_or_default()
        ))?;
    }
    Ok(out.flush()?)
}

/// Recursion is as deep as the tree, and that is bounded.
fn add(item: &Item, reachable: u64, last: &mut Vec<bool>, table: &mut Table<4>) {
    table.row([
        bytes(item.retained),
        share(item.retained, reachable),
        count(item.objects),
        indent(last) + &item.label,
    ]);
    let omitted = &item.omitted;
    for (position, child) in item.children.iter().enumerate() {
        last.push(position + 1 == item.children.len() && omitted.objects == 0);
        add(child, reachable, last, table);
        last.pop();
    }
    if omitted.objects > 0 {
        last.push(true);
        table.row([
            bytes(omitted.retained),
            share(omitted.retained, reachable),
            String::new(),
            format!(
                "{}… {}",
                indent(last),
                counted(omitted.objects, "more object", "more objects")
            ),
        ]);
        last.pop();
    }
}
