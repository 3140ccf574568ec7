//! `anthill strings`: finds strings by a part of their text.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::strings::{Answer, Strings};
use anthill_session::quoted;
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
  anthill strings app.hprof 'SELECT '
      Which SQL statements are in memory?
  anthill strings app.hprof -i password
      Does the dump contain a secret?
  anthill strings app.hprof '' --limit 20
      Which strings take the most memory, and how many copies are there?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Strings>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let answer = arguments.asked.question(for_program)?.answer(source)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<Strings>(&mut out, source, &answer)
    } else if arguments.csv {
        write_csv(&answer, &mut out)
    } else {
        write_text(&answer, &mut out)
    }
}

fn write_csv(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    csv::line(
        out,
        &["address", "copies", "retained", "text", "unreachable"],
    )?;
    for row in &answer.rows {
        let [copies, retained, unreachable] =
            [row.copies, row.retained, row.unreachable].map(|number| number.to_string());
        csv::line(
            out,
            &[&row.address, &copies, &retained, &row.text, &unreachable],
        )?;
    }
    Ok(out.flush()?)
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new([
        ("copies", Align::Right),
        ("retained", Align::Right),
        ("address", Align::Left),
        ("text", Align::Left),
    ]);
    for row in &answer.rows {
        table.row([
            count(row.copies),
            bytes(row.retained),
            row.address.clone(),
            quoted(&row.text, TEXT),
        ]);
    }
    let more = match answer.omitted {
        0 => String::new(),
        _ => format!(", {} not shown; --limit 0 shows all", count(answer.omitted)),
    };
    table.total([
        count(answer.objects),
        bytes(answer.retained),
        String::new(),
        format!("{}{more}", counted(answer.texts, "text", "different texts")),
    ]);
    table.print(out)?;
    if answer.unreachable > 0 {
        out.remark(&format!(
            "{} of the {} unreachable.",
            count(answer.unreachable),
            counted(answer.objects, "string is", "strings are"),
        ))?;
    }
    Ok(out.flush()?)
}
/// Characters of a text that are shown.
const TEXT: usize = 200;
