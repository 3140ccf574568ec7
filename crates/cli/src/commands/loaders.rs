//! `anthill loaders`: class loaders, what they load, and what holds them.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::loaders::{Answer, LoaderRow, Loaders};
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill loaders app.hprof
      Which class loaders are there, and which are of stopped applications?
  anthill loaders app.hprof --filter /shop
      What holds the class loaders of one web application?
  anthill loaders app.hprof --sort classes --limit 10
      Which class loaders have the most classes?
  anthill loaders app.hprof --filter '*.jar' --csv > loaders.csv
      List the class loaders that load from jars, for a script")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Loaders>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let answer = arguments.asked.question(for_program)?.answer(source)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<Loaders>(&mut out, source, &answer)
    } else if arguments.csv {
        write_csv(&answer, &mut out)
    } else {
        write_text(&answer, &mut out)
    }
}

fn write_csv(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let columns = [
        "address", "class", "name", "context", "state", "classes", "objects", "shallow",
        "retained", "place", "held_by",
    ];
    csv::line(out, &columns)?;
    for row in &answer.rows {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let loader = row.loader.as_ref();
        let numbers = [row.classes, row.objects, row.shallow, row.retained];
        let [classes, objects, shallow, retained] = numbers.map(|number| number.to_string());
        csv::line(
            out,
            &[
                loader.map_or("", |loader| &loader.address),
                loader.map_or("", |loader| &loader.class),
                &text(&row.name),
                &text(&row.context),
                &text(&row.state),
                &classes,
                &objects,
                &shallow,
                &retained,
                row.places.first().map_or("", String::as_str),
                &row.held_by.join("; "),
            ],
        )?;
    }
    Ok(out.flush()?)
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new([
        ("retained", Align::Right),
        ("classes", Align::Right),
        ("objects", Align::Right),
        ("state", Align::Left),
        ("class loader", Align::Left),
    ]);
    for row in &answer.rows {
        table.row([
            bytes(row.retained),
            count(row.classes),
            count(row.objects),
            row.state.clone().unwrap_or_default(),
            row.label().to_owned(),
        ]);
    }
    table.print(out)?;
    if answer.omitted > 0 {
        let more = counted(
            answer.omitted as u64,
            "more class loader",
            "more class loaders",
        );
        out.remark(&format!("… {more}; --limit 0 shows all"))?;
    }
    for row in answer.rows.iter().filter(|row| row.stopped) {
        write_stopped(row, out)?;
    }
    Ok(out.flush()?)
}

/// What holds a class loader that should be gone.
fn write_stopped(row: &LoaderRow, out: &mut Out) -> Result<(), Failure> {
    out.blank()?;
    let state = row.state.as_deref().unwrap_or_default();
    out.heading(&format!("{} is {state}", row.label()))?;
    if let Some(place) = row.places.first() {
        out.line(format!("  loads from {place}"))?;
    }
    if row.held_by.is_empty() {
        out.line("  Nothing holds it: the next garbage collection frees it.")?;
    }
    for holder in &row.held_by {
        out.line(format!("  held by {holder}"))?;
    }
    Ok(())
}
