//! `anthill references`: the references of an object or a group, one level at a time.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::references::{Answer, References, Row};
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill references app.hprof 0x7f0012345678
      What does this object refer to?
  anthill references app.hprof com.acme.Session --direction incoming --merged
      Which fields of which classes refer to sessions?
  anthill references app.hprof com.acme.Session --direction incoming --merged --step 'value -> java.util.HashMap$Node'
      And what refers to the entries that hold them?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<References>,
    #[command(flatten)]
    pub define: DefineArguments,
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
    let question = arguments.asked.question(for_program)?;
    let answer = question.answer(&heap)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<References>(&mut out, source, &answer)
    } else if arguments.csv {
        write_csv(&answer, &mut out)
    } else {
        write_text(&question, &answer, &mut out)
    }
}

fn write_csv(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let columns = [
        "via",
        "class",
        "address",
        "objects",
        "references",
        "shallow",
        "retained",
        "root",
    ];
    csv::line(out, &columns)?;
    for row in &answer.rows {
        let numbers = [row.objects, row.references, row.shallow, row.retained];
        let [objects, references, shallow, retained] = numbers.map(|number| number.to_string());
        csv::line(
            out,
            &[
                &row.via,
                &row.class,
                row.address.as_deref().unwrap_or_default(),
                &objects,
                &references,
                &shallow,
                &retained,
                row.root.as_deref().unwrap_or_default(),
            ],
        )?;
    }
    Ok(out.flush()?)
}

fn write_text(question: &References, answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let from = &answer.from;
    out.heading(&from.label)?;
    let shallow = bytes(from.shallow);
    out.line(format!("  shallow {shallow}, retained {}", retained(from)))?;
    out.blank()?;
    if answer.rows.is_empty() {
        out.line("No references.")?;
        return Ok(out.flush()?);
    }
    let mut table = Table::new([
        ("retained", Align::Right),
        ("shallow", Align::Right),
        ("references", Align::Right),
        ("through", Align::Left),
        ("object", Align::Left),
    ]);
    for row in &answer.rows {
        let root = row
            .root
            .as_ref()
            .map_or(String::new(), |root| format!("  GC root: {root}"));
        table.row([
            retained(row),
            bytes(row.shallow),
            count(row.references),
            row.via.clone(),
            format!("{}{root}", row.label),
        ]);
    }
    table.print(out)?;
    let shown = question.offset + answer.rows.len();
    let rest = answer.total.saturating_sub(shown as u64);
    if rest > 0 {
        let more = counted(rest, "more row", "more rows");
        out.remark(&format!(
            "… {more}; --offset {shown} goes on, --limit 0 shows all"
        ))?;
    }
    Ok(out.flush()?)
}

fn retained(row: &Row) -> String {
    let at_least = if row.at_least { "≥ " } else { "" };
    format!("{at_least}{}", bytes(row.retained))
}
