//! `anthill elements`: the elements of one data structure or array.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::elements::{Answer, Elements};
use anthill_api::object::Content;
use clap::Args;

use super::object::cells;
use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{count, counted};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill elements app.hprof 0x7f0012345678
      What is in this map?
  anthill elements app.hprof 0x7f0012345678 --search user-4711
      Does the cache contain this user?
  anthill elements app.hprof 0x7f0012345678 --offset 1000 --limit 100
      Show the elements from number 1,000
  anthill elements app.hprof 0x7f0012345678 --limit 0 --csv > entries.csv
      Export all entries")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Elements>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let question = arguments.asked.question(for_program)?;
    let answer = question.answer(source)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<Elements>(&mut out, source, &answer)
    } else if arguments.csv {
        write_csv(&answer, &mut out)
    } else {
        write_text(&question, &answer, &mut out)
    }
}

fn write_csv(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let columns = ["index", "key", "key_address", "value", "value_address"];
    csv::line(out, &columns)?;
    for row in &answer.elements {
        let [key, value] = [row.key.as_ref(), Some(&row.value)]
            .map(|side| side.map_or_else(Default::default, |side| (cells(side).0, address(side))));
        let index = row.index.to_string();
        csv::line(out, &[&index, &key.0, &key.1, &value.0, &value.1])?;
    }
    Ok(out.flush()?)
}

fn address(content: &Content) -> String {
    match content {
        Content::Object(object) => object.address.clone(),
        Content::Dangling(address) => address.clone(),
        _ => String::new(),
    }
}

fn write_text(question: &Elements, answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    out.heading(&answer.label)?;
    let total = counted(answer.total, "element", "elements");
    match question.search.as_deref() {
        Some(text) if !text.is_empty() => {
            let matching = count(answer.matching);
            out.line(format!("  {matching} of {total} contain `{text}`"))?;
        }
        _ => out.line(format!("  {total}"))?,
    }
    if !answer.elements.is_empty() {
        out.blank()?;
        write_rows(answer, out)?;
    }
    let rest = answer.rest(question.offset);
    if rest > 0 {
        let more = counted(rest, "more element", "more elements");
        let next = question.offset + answer.elements.len() as u64;
        out.remark(&format!(
            "… {more}; --offset {next} goes on, --limit 0 shows all"
        ))?;
    }
    Ok(out.flush()?)
}

fn write_rows(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    if answer.keyed {
        let mut table = Table::new([
            ("index", Align::Right),
            ("key", Align::Left),
            ("retained", Align::Right),
            ("value", Align::Left),
        ]);
        for row in &answer.elements {
            let (value, retained) = cells(&row.value);
            let key = row
                .key
                .as_ref()
                .map_or_else(String::new, |key| cells(key).0);
            table.row([count(row.index), key, retained, value]);
        }
        return Ok(table.print(out)?);
    }
    let mut table = Table::new([
        ("index", Align::Right),
        ("retained", Align::Right),
        ("element", Align::Left),
    ]);
    for row in &answer.elements {
        let (value, retained) = cells(&row.value);
        table.row([count(row.index), retained, value]);
    }
    Ok(table.print(out)?)
}
