//! `anthill growth`: which data structures grow from state to state.

mod rows;

use std::io::Write;
use std::path::PathBuf;

use anthill_api::SeriesQuestion;
use anthill_api::growth::{Answer, Growth};
use anthill_history::spread;
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::units::{bytes, counted};
use crate::output::{Out, csv, json};
use crate::source::{Files, SourceArguments, heap_file, percent};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill growth monday.hprof friday.hprof
      Which collections grew during the week?
  anthill growth 1.hprof 2.hprof 3.hprof
      Show the figures of each dump
  anthill growth app.trace --from 1m --to last
      Compare two states of a recording
  anthill growth app.trace --by allocation-site
      Where were the new objects allocated?
  anthill growth app.trace --csv > growth.csv
      For a spreadsheet: retained, deep and elements at both ends
  anthill growth before.hprof after.hprof --fail-on hgp=20%
      For CI: exit code 1 if a structure makes up at least a fifth of the growth")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Later dumps
    #[arg(value_name = "LATER", value_parser = heap_file())]
    pub later: Vec<PathBuf>,
    #[command(flatten)]
    pub asked: Asked<Growth>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Print CSV, with one line for each structure or group of structures
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Exit with code 1 if a structure, or several together, make up at least this percentage of
    /// the growth
    #[arg(long, value_name = "hgp=PERCENT", value_parser = fail_on)]
    pub fail_on: Option<f64>,
}

fn fail_on(text: &str) -> Result<f64, String> {
    let value = text.strip_prefix("hgp=").ok_or("it must be like hgp=20%")?;
    percent(value)
}

/// Sizes of the heap that the heading tells.
const MOST_SIZES: usize = 8;

pub fn show(arguments: &Arguments) -> Result<(), Failure> {
    let definitions = arguments.define.read()?;
    arguments.asked.check(&definitions)?;
    let files = Files::new(&arguments.source, &arguments.later, definitions)?;
    let for_program = arguments.source.json || arguments.csv;
    let growth = arguments.asked.question(for_program)?;
    let (answer, basis) = growth.answer(&files)?;
    let mut out = files.out();
    if arguments.source.json {
        json::print_series::<Growth>(&mut out, &answer, &basis, &files)?;
    } else if arguments.csv {
        write_csv(&answer, &mut out)?;
    } else {
        write_text(&answer, &mut out)?;
    }
    out.flush()?;
    match (arguments.fail_on, answer.largest_portion()) {
        (Some(most), Some(largest)) if largest >= most => Err(Failure::Findings(format!(
            "one structure makes up {largest:.1}% of the heap's growth; --fail-on allows less than {most}%"
        ))),
        _ => Ok(()),
    }
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let sizes: Vec<String> = spread(MOST_SIZES, answer.states.len())
        .into_iter()
        .map(|place| bytes(answer.states[place].reachable))
        .collect();
    out.heading(&format!(
        "The reachable heap {}: {}",
        match answer.heap_growth {
            0 => "has not changed".to_owned(),
            grown if grown > 0 => format!("grew by {}", bytes(grown as u64)),
            shrunk => format!("shrank by {}", bytes(shrunk.unsigned_abs())),
        },
        sizes.join(" → ")
    ))?;
    if answer.skipped > 0 {
        let between = counted(answer.skipped as u64, "state", "states");
        out.remark(&format!(
            "{between} in between skipped; --states 0 analyzes all"
        ))?;
    }
    if let Some(shrunk) = &answer.shrunk {
        out.remark(&format!(
            "The heap shrank to {} by {}; --to last includes that",
            bytes(shrunk.reachable),
            shrunk.name
        ))?;
    }
    missing_identities(answer, out)?;
    if answer.approximate {
        out.remark(
            "Anthill recognizes structures by their owner paths, so the results are approximate.",
        )?;
    }
    if answer.joint.is_empty() && answer.structures.is_empty() && answer.places.is_empty() {
        out.line("No data structure grew.")?;
    }
    // What says most comes first, alone or together.
    let mut joint = answer.joint.iter().peekable();
    for one in &answer.structures {
        while let Some(together) = joint.next_if(|joint| joint.hgp >= one.hgp.unwrap_or(0.0)) {
            rows::joint(together, out)?;
        }
        rows::structure(one, out)?;
    }
    joint.try_for_each(|together| rows::joint(together, out))?;
    answer
        .places
        .iter()
        .try_for_each(|place| rows::place(place, out))?;
    let remarks = answer.within + answer.omitted + answer.settled;
    if remarks > 0 || answer.much_elsewhere.is_some() {
        out.blank()?;
    }
    if answer.settled > 0 {
        let grew = counted(answer.settled as u64, "structure grew", "structures grew");
        out.remark(&format!(
            "{grew} only in the first third of the states, as when a program starts"
        ))?;
    }
    if answer.within > 0 {
        let inside = counted(
            answer.within as u64,
            "more growing structure is",
            "more growing structures are",
        );
        out.remark(&format!("{inside} nested in these; --inside shows them"))?;
    }
    if let Some(elsewhere) = answer.much_elsewhere {
        out.remark(&format!(
            "{elsewhere:.0}% of the growth ({}) is in no structure with at least {}% of it; `anthill diff` shows it by class",
            bytes(answer.elsewhere),
            answer.least,
        ))?;
    }
    Ok(out.omitted(answer.omitted)?)
}

/// What is missing at both ends, which everything is compared with.
fn missing_identities(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    for state in answer
        .states
        .first()
        .into_iter()
        .chain(answer.states.last())
    {
        if let Some(reason) = &state.identities_missing {
            out.remark(&format!(
                "Identities are missing in {}: {reason}.",
                state.name
            ))?;
        }
    }
    Ok(())
}

fn write_csv(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    csv::line(out, &rows::COLUMNS)?;
    for joint in &answer.joint {
        csv::line(
            out,
            &rows::joint_cells(joint).each_ref().map(String::as_str),
        )?;
    }
    for place in &answer.places {
        csv::line(
            out,
            &rows::place_cells(place).each_ref().map(String::as_str),
        )?;
    }
    for one in &answer.structures {
        csv::line(
            out,
            &rows::structure_cells(one).each_ref().map(String::as_str),
        )?;
    }
    Ok(())
}
