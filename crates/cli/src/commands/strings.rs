//! `anthill strings`: finds strings by a part of their text.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

use anthill_heap::ObjectId;
use anthill_session::quoted;
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, hex};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments, limit};

/// Find strings by a part of their text
///
/// Equal texts are one row; `copies` says how many String objects have it, the address is that of the
/// first, and the retained bytes are those of all of them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill strings app.hprof 'SELECT '
      Which statements are in memory?
  anthill strings app.hprof -i password
      Is a secret in this dump?
  anthill strings app.hprof '' --limit 20
      Which texts take most memory, and how many copies are there?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The text to look for; an empty one finds all strings
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Upper and lower case are the same
    #[arg(short, long)]
    pub ignore_case: bool,
    /// How many rows; 0 for all [default: 30; all with --json and --csv]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let strings = Strings::new(source, arguments)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "strings", &strings)
    } else if arguments.csv {
        strings.csv(&mut out)
    } else {
        strings.text(&mut out)
    }
}

#[derive(Serialize)]
struct Strings {
    /// String objects found.
    objects: u64,
    /// Distinct texts found.
    texts: u64,
    retained: u64,
    /// How many of the objects are unreachable.
    unreachable: u64,
    rows: Vec<TextRow>,
    omitted: u64,
}

#[derive(Serialize)]
struct TextRow {
    address: String,
    copies: u64,
    retained: u64,
    text: String,
    /// How many of the copies are unreachable.
    unreachable: u64,
}

/// The String objects that have a text.
struct Copies {
    first: ObjectId,
    copies: u64,
    retained: u64,
    unreachable: u64,
}

impl Strings {
    fn new(source: &Source, arguments: &Arguments) -> Result<Self, Failure> {
        let session = &source.session;
        let analysis = session.analysis()?;
        let text = &arguments.text;
        let found = if text.is_empty() {
            session.find_strings(|_| true)?
        } else if arguments.ignore_case {
            let lower = text.to_lowercase();
            session.find_strings(|candidate| candidate.to_lowercase().contains(&lower))?
        } else {
            session.find_strings(|candidate| candidate.contains(text))?
        };
        if found.is_empty() {
            let reason = format!("no string contains {}", quoted(text, 60));
            return Err(Failure::NothingFound(reason));
        }
        let objects = found.len() as u64;
        let mut by_text: HashMap<String, Copies> = HashMap::new();
        for (object, text) in found {
            let copies = by_text.entry(text).or_insert(Copies {
                first: object,
                copies: 0,
                retained: 0,
                unreachable: 0,
            });
            copies.copies += 1;
            copies.retained += analysis.dominators.retained(object);
            copies.unreachable += u64::from(!analysis.dominators.is_reachable(object));
        }
        let mut rows: Vec<(String, Copies)> = by_text.into_iter().collect();
        rows.sort_unstable_by_key(|(_, copies)| (Reverse(copies.retained), copies.first));
        let texts = rows.len() as u64;
        let retained = rows.iter().map(|(_, copies)| copies.retained).sum();
        let unreachable = rows.iter().map(|(_, copies)| copies.unreachable).sum();
        rows.truncate(super::row_limit(
            arguments.limit,
            arguments.source.json || arguments.csv,
        ));
        Ok(Strings {
            objects,
            texts,
            retained,
            unreachable,
            omitted: texts - rows.len() as u64,
            rows: rows
                .into_iter()
                .map(|(text, copies)| TextRow {
                    address: hex(session.address(copies.first)),
                    copies: copies.copies,
                    retained: copies.retained,
                    text,
                    unreachable: copies.unreachable,
                })
                .collect(),
        })
    }

    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        csv::line(
            out,
            &["address", "copies", "retained", "text", "unreachable"],
        )?;
        for row in &self.rows {
            let [copies, retained, unreachable] =
                [row.copies, row.retained, row.unreachable].map(|number| number.to_string());
            csv::line(
                out,
                &[&row.address, &copies, &retained, &row.text, &unreachable],
            )?;
        }
        Ok(out.flush()?)
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let mut table = Table::new([
            ("copies", Align::Right),
            ("retained", Align::Right),
            ("address", Align::Left),
            ("text", Align::Left),
        ]);
        for row in &self.rows {
            table.row([
                count(row.copies),
                bytes(row.retained),
                row.address.clone(),
                quoted(&row.text, TEXT),
            ]);
        }
        let more = match self.omitted {
            0 => String::new(),
            _ => format!(", {} not shown; --limit 0 shows all", count(self.omitted)),
        };
        table.total([
            count(self.objects),
            bytes(self.retained),
            String::new(),
            format!("{}{more}", counted(self.texts, "text", "different texts")),
        ]);
        table.print(out)?;
        if self.unreachable > 0 {
            out.remark(&format!(
                "{} of the {} unreachable.",
                count(self.unreachable),
                counted(self.objects, "string is", "strings are"),
            ))?;
        }
        Ok(out.flush()?)
    }
}

/// Characters of a text that are shown.
const TEXT: usize = 200;
