//! `anthill structures`: the lists, maps and other data structures of a heap.

use std::io::Write;

use anthill_api::structures::{FoundStructures, Health, Place, Row, Site, Sort, Structures, Type};
use anthill_api::{HeapQuestion, Limit};
use clap::Args;

use crate::asked::Asked;
use crate::failure::{Failure, say};
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill structures app.hprof
      Which collections are large, wasteful, nested?
  anthill structures app.hprof --sort elements --limit 10
      Show the ten structures with the most elements
  anthill structures app.hprof --type '*ConcurrentHashMap' --csv > maps.csv
      List all maps of one type, for a spreadsheet
  anthill structures app.hprof --structures cache.structures
      Include your own structures; see docs/structures.md")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Structures>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Rows of a list, and of each if there are several.
const LONG: usize = 30;
const SHORT: usize = 10;

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    for warning in source.session.structure_warnings() {
        say(&format!(
            "warning: {}",
            warning.mistake.show_in_file(&warning.origin, &warning.text)
        ));
    }
    let for_program = arguments.source.json || arguments.csv;
    let question = arguments.asked.question(for_program)?;
    if !for_program {
        return write_text(&question, source);
    }
    let answer = question.answer(source)?;
    let mut out = source.out();
    if arguments.csv {
        print_csv(&answer.structures, &mut out)
    } else {
        json::print::<Structures>(&mut out, source, &answer)
    }
}

/// A list of what is asked for, or short lists of what is worth a look.
fn write_text(question: &Structures, source: &Source) -> Result<(), Failure> {
    let found = question.find(source)?;
    let limit = |otherwise| question.limit.unwrap_or(Limit(otherwise));
    let (sorts, most) = match question.sort {
        Some(sort) => (vec![sort], limit(LONG)),
        None => (vec![Sort::Retained, Sort::Waste, Sort::Depth], limit(SHORT)),
    };
    let lists = sorts.iter().map(|&sort| found.rows(sort, most));
    let lists: Vec<Vec<Row>> = lists.collect::<Result<_, _>>()?;
    let several = match question.sort {
        None => Some((found.types()?, found.sites())),
        Some(_) => None,
    };
    let mut out = source.out();
    if let Some(((totals, types), _)) = &several {
        print_types(totals, types, &mut out)?;
    }
    for (sort, rows) in sorts.iter().zip(&lists) {
        if several.is_some() {
            out.blank()?;
        }
        out.heading(title(*sort))?;
        print_rows(rows, &found, &mut out)?;
    }
    if let Some((_, sites)) = &several {
        print_sites(sites, most.most(), &mut out)?;
    }
    Ok(out.flush()?)
}

fn print_types(totals: &Type, types: &[Type], out: &mut Out) -> Result<(), Failure> {
    let shared = match totals.shared {
        0 => String::new(),
        shared => format!(", {} in several structures", bytes(shared)),
    };
    out.heading(&format!(
        "{} of {}: {} elements, {} for heads and internals, {} of it wasted{shared}",
        counted(totals.structures, "data structure", "data structures"),
        counted(types.len() as u64, "type", "types"),
        count(totals.elements),
        bytes(totals.bytes),
        bytes(totals.wasted),
    ))?;
    let mut table = Table::new([
        ("structures", Align::Right),
        ("empty", Align::Right),
        ("elements", Align::Right),
        ("bytes", Align::Right),
        ("shared", Align::Right),
        ("wasted", Align::Right),
        ("type", Align::Left),
    ]);
    for of_type in types.iter().take(SHORT) {
        table.row([
            count(of_type.structures),
            count(of_type.empty),
            count(of_type.elements),
            bytes(of_type.bytes),
            bytes(of_type.shared),
            bytes(of_type.wasted),
            of_type.name.clone(),
        ]);
    }
    Ok(table.print(out)?)
}

fn print_rows(rows: &[Row], found: &FoundStructures, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new([
        ("retained", Align::Right),
        ("share", Align::Right),
        ("elements", Align::Right),
        ("fill", Align::Right),
        ("bytes", Align::Right),
        ("wasted", Align::Right),
        ("depth", Align::Right),
        ("structure", Align::Left),
        ("held by", Align::Left),
    ]);
    for row in rows {
        let least = if row.at_least { "≥ " } else { "" };
        let elements = row.elements.map_or("?".to_owned(), count);
        let structure = match (&row.view_of, row.health) {
            (Some(shown), _) => format!("{} (view of {shown})", row.head.label),
            (None, Health::Good) => row.head.label.clone(),
            (None, health) => format!("{} ({})", row.head.label, health_name(health)),
        };
        let held_by = match &row.allocated_at {
            Some(place) => format!("{}, allocated at {place}", row.held_by),
            None => row.held_by.clone(),
        };
        table.row([
            bytes(row.head.retained),
            share(row.head.retained, found.reachable),
            format!("{least}{elements}"),
            row.fill.map_or(String::new(), |fill| format!("{fill:.0}%")),
            bytes(row.bytes),
            bytes(row.wasted),
            row.depth.to_string(),
            structure,
            held_by,
        ]);
    }
    Ok(table.print(out)?)
}

fn print_sites(sites: &[Site], most: usize, out: &mut Out) -> Result<(), Failure> {
    if sites.is_empty() {
        return Ok(());
    }
    out.blank()?;
    out.heading("By allocation site, as far as known")?;
    let mut table = Table::new([
        ("structures", Align::Right),
        ("elements", Align::Right),
        ("bytes", Align::Right),
        ("wasted", Align::Right),
        ("allocated at", Align::Left),
    ]);
    for site in sites.iter().take(most) {
        table.row([
            count(site.structures),
            count(site.elements),
            bytes(site.bytes),
            bytes(site.wasted),
            site.site.clone(),
        ]);
    }
    Ok(table.print(out)?)
}

fn title(sort: Sort) -> &'static str {
    match sort {
        Sort::Retained => "Largest retained size",
        Sort::Elements => "Most elements",
        Sort::Bytes => "Most bytes for head and internals",
        Sort::Waste => "Most wasted bytes",
        Sort::Depth => "Most deeply nested",
    }
}

fn print_csv(rows: &[Row], out: &mut Out) -> Result<(), Failure> {
    let columns = [
        "type",
        "address",
        "class",
        "retained",
        "elements",
        "capacity",
        "internals",
        "bytes",
        "deep",
        "wasted",
        "health",
        "depth",
        "place",
        "held_by",
        "fill",
        "view_of",
        "allocated_at",
    ];
    csv::line(out, &columns)?;
    for row in rows {
        let number =
            |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let cells = [
            row.of_type.clone(),
            row.head.address.clone(),
            row.head.class.clone(),
            row.head.retained.to_string(),
            number(row.elements),
            number(row.capacity),
            row.internals.to_string(),
            row.bytes.to_string(),
            number(row.deep),
            row.wasted.to_string(),
            health_name(row.health).to_owned(),
            row.depth.to_string(),
            place_name(row.place).to_owned(),
            row.held_by.clone(),
            row.fill.map_or(String::new(), |fill| format!("{fill:.1}")),
            row.view_of.clone().unwrap_or_default(),
            row.allocated_at.clone().unwrap_or_default(),
        ];
        csv::line(out, &cells.each_ref().map(String::as_str))?;
    }
    Ok(out.flush()?)
}

fn health_name(health: Health) -> &'static str {
    match health {
        Health::Good => "",
        Health::Empty => "empty",
        Health::Sparse => "sparse",
        Health::Degenerate => "degenerate",
    }
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::TopLevel => "top-level",
        Place::Element => "element",
        Place::Part => "part",
        Place::View => "view",
    }
}
