//! `anthill cut`: what would be freed without some references.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::cut::{Answer, Cut};
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments};
use crate::tree_view;

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill cut app.hprof 'class_objects(\"com.acme.IdCache\")' IdCache.idCache
      What if this static field were cleared?
  anthill cut app.hprof 'class_objects(\"com.acme.*Cache\")' java.util.HashMap
      What if all caches were cleared?
  anthill cut app.hprof com.acme.Listener com.acme.Session --by package,type
      What if listeners did not hold sessions?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Cut>,
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
        json::print::<Cut>(&mut out, source, &answer)
    } else {
        write_text(&answer, &mut out)
    }
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    out.line(format!(
        "Without {} from {} to {}, {} ({} of the reachable heap) in {} objects would be freed.",
        counted(answer.references, "reference", "references"),
        answer.from,
        answer.to,
        bytes(answer.freed),
        share(answer.freed, answer.reachable),
        count(answer.freed_objects)
    ))?;
    match &answer.tree {
        Some(tree) => {
            out.blank()?;
            tree_view::write_text(tree, answer.reachable, out)?;
        }
        None => out.line("Nothing would be freed, because other references keep all objects alive. `anthill owners` shows their owners.")?,
    }
    Ok(out.flush()?)
}
