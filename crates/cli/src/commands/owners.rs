//! `anthill owners`: who keeps a group alive together.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::owners::{Answer, Owner, Owners};
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill owners app.hprof com.acme.Product
      Which caches keep the products alive together?
  anthill owners app.hprof 'com.acme.*' --share 80
      Who keeps 80 % of the application's objects alive?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Owners>,
    #[command(flatten)]
    pub define: DefineArguments,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        self.asked.check(&self.define.read()?)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json;
    let heap = source.with_definitions(arguments.define.read()?);
    let answer = arguments.asked.question(for_program)?.answer(&heap)?;
    let mut out = source.out();
    if for_program {
        json::print::<Owners>(&mut out, source, &answer)
    } else {
        write_text(&answer, &mut out)?;
        Ok(out.flush()?)
    }
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    for (index, front) in answer.fronts.iter().enumerate() {
        if index > 0 {
            out.blank()?;
        }
        let together = if front.owners.len() == 1 {
            ""
        } else {
            "together "
        };
        out.heading(&format!(
            "{}: {together}{} ({}), {} objects, {:.1}% of {}",
            counted(front.owners.len() as u64, "owner", "owners"),
            bytes(front.retained),
            share(front.retained, answer.reachable),
            count(front.retained_objects),
            front.covered,
            answer.group
        ))?;
        table(&front.owners, answer.reachable).print(out)?;
        if !front.above.is_empty() {
            out.line("Above it, and each alone keeps it alive:")?;
            table(&front.above, answer.reachable).print(out)?;
        }
    }
    Ok(())
}

fn table(owners: &[Owner], reachable: u64) -> Table<4> {
    let mut table = Table::new([
        ("alone", Align::Right),
        ("share", Align::Right),
        ("owner", Align::Left),
        ("held by", Align::Left),
    ]);
    for owner in owners {
        table.row([
            bytes(owner.object.retained),
            share(owner.object.retained, reachable),
            owner.object.label.clone(),
            owner.held_by.clone(),
        ]);
    }
    table
}
