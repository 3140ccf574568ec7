//! `anthill histogram`: objects, shallow and retained bytes by class, package or class loader.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::histogram::{Answer, By, ClassRow, Histogram};
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill histogram app.hprof
      Which classes keep most of the memory alive?
  anthill histogram app.hprof --by package --sort shallow
      Whose objects fill the heap?
  anthill histogram app.hprof --filter 'com.acme.*' --csv
      List all classes of the application, for a spreadsheet")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Histogram>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let histogram = arguments.asked.question(for_program)?;
    let answer = histogram.answer(&source.heap)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<Histogram>(&mut out, source, &answer)
    } else if arguments.csv {
        write_csv(&answer, &mut out)
    } else {
        write_text(&answer, &mut out)
    }
}

fn write_csv(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let name = match answer.by {
        By::Class => "class,loader",
        By::Package => "package",
        By::Loader => "loader",
    };
    let numbers =
        "objects,shallow,retained,retained_objects,unreachable_objects,unreachable_shallow";
    writeln!(out, "{name},{numbers}")?;
    for row in &answer.rows {
        let numbers = [
            row.counts.objects,
            row.counts.shallow,
            row.retained,
            row.retained_objects,
            row.counts.unreachable_objects,
            row.counts.unreachable_shallow,
        ]
        .map(|number| number.to_string());
        let names = [&row.class, &row.package, &row.loader];
        let names = names.into_iter().flatten().map(String::as_str);
        let numbers = numbers.iter().map(String::as_str);
        csv::line(out, &names.chain(numbers).collect::<Vec<_>>())?;
    }
    Ok(out.flush()?)
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let (one, many) = (answer.by.one(), many(answer.by));
    let mut table = Table::new([
        ("objects", Align::Right),
        ("shallow", Align::Right),
        ("retained", Align::Right),
        ("share", Align::Right),
        (one, Align::Left),
    ]);
    for row in &answer.rows {
        table.row([
            count(row.counts.objects),
            bytes(row.counts.shallow),
            bytes(row.retained),
            share(row.retained, answer.reachable),
            name(row),
        ]);
    }
    if answer.omitted > 0 {
        let more = [format!("more {one}"), format!("more {many}")];
        let more = counted(answer.omitted as u64, &more[0], &more[1]);
        table.row([
            count(answer.omitted_totals.objects),
            bytes(answer.omitted_totals.shallow),
            String::new(),
            String::new(),
            format!("… {more}; --limit 0 shows all"),
        ]);
    }
    let of_class = match answer.by {
        By::Class => " with instances",
        _ => "",
    };
    let rows = answer.rows.len() + answer.omitted;
    let retained = answer.total.retained;
    table.total([
        count(answer.total.counts.objects),
        bytes(answer.total.counts.shallow),
        retained.map_or_else(String::new, bytes),
        retained.map_or_else(String::new, |retained| share(retained, answer.reachable)),
        format!("total of {}{of_class}", counted(rows as u64, one, many)),
    ]);
    table.print(out)?;
    let counts = &answer.total.counts;
    if counts.unreachable_objects > 0 {
        out.remark(&format!(
            "{} ({}) of these are unreachable; they count in objects and shallow, not in retained.",
            counted(counts.unreachable_objects, "object", "objects"),
            bytes(counts.unreachable_shallow),
        ))?;
    }
    let is_shown = answer.rows.iter().any(|row| row.name() == "int[]");
    if let Some(found) = answer.fillers.as_ref().filter(|_| is_shown) {
        out.remark(&format!(
            "int[]: nothing refers to {} ({}). They are garbage, or fill unused parts of the heap: \
             the JVM's own histogram has fillers as [Ljdk.internal.vm.FillerElement;, a dump as int[].",
            counted(found.objects, "of them", "of them"),
            bytes(found.shallow),
        ))?;
    }
    Ok(out.flush()?)
}

fn many(by: By) -> &'static str {
    match by {
        By::Class => "classes",
        By::Package => "packages",
        By::Loader => "loaders",
    }
}

/// With the loader of a class where its name alone is ambiguous.
fn name(row: &ClassRow) -> String {
    match &row.loader {
        Some(loader) if row.is_ambiguous => format!("{} (loader {loader})", row.name()),
        _ => row.name().to_owned(),
    }
}
