//! `anthill waste`: memory that holds nothing, or nothing new.

use std::io::Write;

use clap::Args;

use crate::failure::Failure;
use crate::output::{Out, csv, json};
use crate::report::{Redactor, Waste, text};
use crate::source::{Source, SourceArguments, limit};

/// Find waste: duplicates, empty and sparse collections, collisions, boxes, null fields
///
/// Of each kind it says how many objects there are, how many bytes could be saved, which objects
/// those are, and who holds them: the nearest static field or object of one of the program's own
/// classes that alone keeps them alive. Only reachable objects count.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill waste app.hprof
      How much could be saved, where, and who holds it?
  anthill waste app.hprof --limit 50
      More examples of each kind
  anthill waste app.hprof --csv > waste.csv
      One line for each example")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// How many rows and holders of each kind; 0 for all
    #[arg(long, value_name = "N", default_value = "10", value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let most = super::or_all(arguments.limit);
    let waste = Waste::new(&source.session, most, &Redactor::none())?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "waste", &waste)
    } else if arguments.csv {
        print_csv(&waste, &mut out)
    } else {
        text::write_waste(&waste, waste.kinds.iter(), &mut out)?;
        Ok(out.flush()?)
    }
}

fn print_csv(waste: &Waste, out: &mut Out) -> Result<(), Failure> {
    csv::line(
        out,
        &["kind", "class", "address", "objects", "savable", "what"],
    )?;
    for kind in &waste.kinds {
        // As in JSON.
        let name = kind.title().replace(' ', "-");
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
                    &row.what(),
                ],
            )?;
        }
    }
    Ok(out.flush()?)
}
