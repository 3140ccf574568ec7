//! `anthill classify`: splits objects level by level, with exact sizes on every node.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::classify::{AllocationKnown, Classify};
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::json;
use crate::output::units::{count, share};
use crate::source::{Source, SourceArguments};
use crate::tree_view::{write_csv, write_text};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill classify app.hprof --by package,type
      Which packages, and which types in them, retain the most?
  anthill classify app.hprof --class com.acme.Session --by type,pointed-from,type,pointed-from,type
      Which types hold the sessions, and which types hold the holders?
  anthill classify app.hprof --split 'java.util.HashMap => closest-root'
      Split by type, and the maps also by the static fields and threads that lead to them
  anthill classify app.hprof --class java.util.HashMap --by closest-root
      Which static fields and threads lead to the maps?
  anthill classify app.hprof --where 'type == \"byte[]\" && length > 1M' --by pointed-from,type
      Which types hold the large byte arrays?
  anthill classify app.hprof --class com.acme.Order --by 'field(\"state\"), bucket(retained)'
      How many orders are in each state, and how much does each order retain?
  anthill classify app.hprof --group 'retained(IdCache.idCache)' --by package,type
      What does this cache keep alive?
  anthill classify app.hprof --by package,type --sort objects --csv
      For a spreadsheet: how many objects of each type are there?
  anthill classify app.hprof --node 'java.util.HashMap' --save maps
      Save a row of the tree as a group for later commands")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Classify>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Save the objects of the tree, or of --node, as group NAME
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        self.asked.check(&self.define.read()?)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let heap = source.with_definitions(arguments.define.read()?);
    let answer = arguments.asked.question(for_program)?.answer(&heap)?;
    if let Some(name) = &arguments.save {
        answer.keep(&heap, name)?;
    }
    let mut out = source.out();
    if arguments.source.json {
        return json::print::<Classify>(&mut out, source, &answer);
    }
    if arguments.csv {
        write_csv(&answer.tree, &answer.above, &mut out)?;
    } else {
        write_text(&answer.tree, answer.reachable, &mut out)?;
        if let Some(known) = &answer.allocation_known {
            out.blank()?;
            out.line(sentence(known))?;
        }
    }
    Ok(out.flush()?)
}

fn sentence(known: &AllocationKnown) -> String {
    format!(
        "Where an object comes from is known of {} of {} objects ({}): those that were sampled. Each \
         stands for the bytes that were allocated since the sample before.",
        count(known.objects),
        count(known.of),
        share(known.objects, known.of)
    )
}
