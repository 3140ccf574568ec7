//! `anthill waste`: memory that holds nothing, or nothing new.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::waste::{Answer, Waste};
use anthill_documents::waste::{example, title};
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::{Out, csv, json};
use crate::report_text as text;
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill waste app.hprof
      How much could be saved, where, and who holds it?
  anthill waste app.hprof --limit 50
      Show more examples of each kind
  anthill waste app.hprof --csv > waste.csv
      Write one line for each example")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Waste>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let answer = arguments.asked.question(for_program)?.answer(source)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<Waste>(&mut out, source, &answer)
    } else if arguments.csv {
        print_csv(&answer, &mut out)
    } else {
        text::write_waste(&answer, answer.kinds.iter(), &mut out)?;
        Ok(out.flush()?)
    }
}

fn print_csv(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    csv::line(
        out,
        &["kind", "class", "address", "objects", "savable", "what"],
    )?;
    for kind in &answer.kinds {
        // As in JSON.
        let name = title(kind.kind).replace(' ', "-");
        for row in &kind.rows {
            let (objects, savable) = (row.objects.to_string(), row.savable.to_string());
            csv::line(
                out,
                &[
                    &name,
                    &row.class,
                    &row.address,
                    &objects,
                    &savable,
                    &example(row),
                ],
            )?;
        }
    }
    Ok(out.flush()?)
}
