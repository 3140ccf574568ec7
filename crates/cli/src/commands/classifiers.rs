//! `anthill classifiers`: lists what objects can be split by.

use std::io::Write;

use anthill_classify::{CATALOG, Entry};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Out;
use crate::output::table::{Align, Table};

/// List the classifiers and transformers that `anthill classify` knows
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill classifiers
  anthill classifiers --json")]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    kind: &'static str,
    cardinality: String,
    returns: &'static str,
    argument: Option<&'static str>,
    argument_optional: bool,
    description: &'static str,
    example: &'static str,
}

impl From<&Entry> for Row {
    fn from(entry: &Entry) -> Self {
        Row {
            name: entry.name,
            kind: if entry.transformer {
                "transformer"
            } else {
                "classifier"
            },
            cardinality: entry.cardinality.to_string(),
            returns: entry.returns,
            argument: entry.argument,
            argument_optional: entry.optional,
            description: entry.description,
            example: entry.example,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let rows: Vec<Row> = CATALOG.iter().map(Row::from).collect();
    let mut out = Out::stdout();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        out.blank()?;
    } else {
        let mut table = Table::new([
            ("name", Align::Left),
            ("cardinality", Align::Left),
            ("returns", Align::Left),
            ("what it says, and an example", Align::Left),
        ]);
        for row in rows {
            let argument = row
                .argument
                .map(|argument| format!("({argument})"))
                .unwrap_or_default();
            table.row([
                format!("{}{argument}", row.name),
                if row.kind == "transformer" {
                    row.kind.to_owned()
                } else {
                    row.cardinality
                },
                row.returns.to_owned(),
                format!("{}: {}", row.description, row.example),
            ]);
        }
        table.print(&mut out)?;
    }
    Ok(out.flush()?)
}
