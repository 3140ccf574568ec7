//! `anthill diff`: what changed between two dumps of a program, or over a series of them.

use std::io::Write;
use std::path::PathBuf;

use anthill_api::diff::{Answer, Change, Diff, Difference, Figures};
use anthill_api::{Limit, SeriesQuestion};
use anthill_trace::is_trace;
use clap::Args;

use super::evolution::View;
use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count};
use crate::output::{BOLD, Out, csv, json};
use crate::source::{Files, SourceArguments, heap_file};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill diff monday.hprof friday.hprof
      What grew during the week?
  anthill diff before.hprof after.hprof --fail-on-new
      For CI: exit code 1 if a suspect was not there before
  anthill diff 1.hprof 2.hprof 3.hprof --by package
      Which packages keep growing?
  anthill diff before.hprof after.hprof --by structure
      Which lists and maps are new, gone, larger, smaller?
  anthill diff app.trace --from 'mark:after deploy' --to last
      What was born, died and survived since the deployment?
  anthill diff app.trace --from '#5' --to '#12' --class com.acme.Order --by type,allocation-site
      Where were the new orders allocated?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Later dumps
    #[arg(value_name = "LATER", value_parser = heap_file())]
    pub later: Vec<PathBuf>,
    #[command(flatten)]
    pub asked: Asked<Diff>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Exit with code 1 if the last dump has a suspect that the first does not have
    #[arg(long)]
    pub fail_on_new: bool,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Rows of dumps, and nodes below each node of a recording, unless the user wants another number.
const ROWS: Limit = Limit(30);
const NODES: Limit = Limit(20);

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let mut diff = arguments.asked.question(for_program)?;
    if !for_program {
        diff.limit
            .get_or_insert(match is_trace(&arguments.source.file) {
                true => NODES,
                false => ROWS,
            });
    }
    let definitions = arguments.define.read()?;
    let files = Files::new(&arguments.source, &arguments.later, definitions)?;
    let (answer, basis) = diff.answer(&files)?;
    let mut out = files.out();
    if arguments.source.json {
        json::print_series::<Diff>(&mut out, &answer, &basis, &files)?;
    } else {
        match &answer {
            Answer::Dumps(difference) if arguments.csv => write_csv(difference, &mut out)?,
            Answer::Dumps(difference) => write_text(difference, &mut out)?,
            Answer::Recording(evolved) => {
                let limit = diff.limit.unwrap_or_default();
                let view = View { evolved, limit };
                match arguments.csv {
                    true => view.csv(&mut out)?,
                    false => view.text(&mut out)?,
                }
            }
        }
    }
    out.flush()?;
    match answer {
        Answer::Dumps(difference) if arguments.fail_on_new => match difference.new_suspects() {
            0 => Ok(()),
            1 => Err(Failure::Findings("1 suspect is new".to_owned())),
            many => Err(Failure::Findings(format!("{many} suspects are new"))),
        },
        _ => Ok(()),
    }
}

fn write_text(difference: &Difference, out: &mut Out) -> Result<(), Failure> {
    let mut files = Table::new([
        ("reachable", Align::Right),
        ("objects", Align::Right),
        ("file", Align::Left),
    ]);
    for (name, total) in difference.files.iter().zip(&difference.totals) {
        files.row([bytes(total.retained), count(total.objects), name.clone()]);
    }
    files.print(out)?;
    out.blank()?;
    for suspect in &difference.suspects {
        let change = out.styled(BOLD, word(suspect.change));
        out.wrapped(&format!("{change} suspect: {}", suspect.sentence), 2)?;
        let sizes: Vec<String> = suspect
            .retained
            .iter()
            .map(|retained| retained.map_or("–".to_owned(), bytes))
            .collect();
        out.remark(&format!(
            "  {}   fingerprint {}",
            sizes.join(" → "),
            suspect.fingerprint
        ))?;
    }
    out.blank()?;
    if difference.rows.is_empty() {
        out.line(format!("No {} changed.", difference.by))?;
        return Ok(());
    }
    let mut table = Table::new([
        ("retained", Align::Right),
        ("change", Align::Right),
        ("shallow", Align::Right),
        ("objects", Align::Right),
        ("", Align::Left),
        (difference.by, Align::Left),
    ]);
    for line in &difference.rows {
        let last = line.figures.last().copied().flatten().unwrap_or_default();
        let mark = match line.change {
            Change::Grown if difference.files.len() > 2 && line.grows_throughout => {
                "grows throughout"
            }
            change => word(change),
        };
        table.row([
            bytes(last.retained),
            signed(line.retained_change, bytes),
            signed(line.shallow_change, bytes),
            signed(line.objects_change, count),
            mark.to_owned(),
            line.name.clone(),
        ]);
    }
    table.print(out)?;
    Ok(out.omitted(difference.omitted)?)
}

fn write_csv(difference: &Difference, out: &mut Out) -> Result<(), Failure> {
    csv::line(
        out,
        &[
            difference.by,
            "change",
            "objects_before",
            "objects",
            "shallow_before",
            "shallow",
            "retained_before",
            "retained",
        ],
    )?;
    for line in &difference.rows {
        let of = |figures: Option<&Option<Figures>>| figures.copied().flatten().unwrap_or_default();
        let (first, last) = (of(line.figures.first()), of(line.figures.last()));
        let numbers = [
            first.objects,
            last.objects,
            first.shallow,
            last.shallow,
            first.retained,
            last.retained,
        ]
        .map(|number| number.to_string());
        let mut cells = vec![line.name.as_str(), word(line.change)];
        cells.extend(numbers.iter().map(String::as_str));
        csv::line(out, &cells)?;
    }
    Ok(())
}

fn word(change: Change) -> &'static str {
    match change {
        Change::New => "new",
        Change::Gone => "gone",
        Change::Grown => "grown",
        Change::Shrunk => "shrunk",
        Change::Same => "same",
        Change::Passed => "came and went",
    }
}

pub fn signed(change: i64, shown: impl Fn(u64) -> String) -> String {
    match change {
        0 => "0".to_owned(),
        change if change > 0 => format!("+{}", shown(change.unsigned_abs())),
        change => format!("−{}", shown(change.unsigned_abs())),
    }
}
