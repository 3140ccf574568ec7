//! `anthill classifiers`: lists what objects can be split by.

use std::io::Write;

use anthill_classify::{CATALOG, Definition, Entry, SIGNATURES, Signature};
use clap::Args;
use serde::Serialize;

use crate::definitions::DefinitionArguments;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::output::table::{Align, Table};

/// List the classifiers, filters and transformers that `anthill classify` knows
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill classifiers
  anthill classifiers --define my-classifiers.txt
  anthill classifiers --functions
  anthill classifiers --json")]
pub struct Arguments {
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// List the properties and functions of expressions instead
    #[arg(long)]
    pub functions: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Where the answer goes.
    #[arg(skip)]
    pub desk: Desk,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    cardinality: String,
    returns: &'a str,
    argument: Option<String>,
    argument_optional: bool,
    description: &'a str,
    example: &'a str,
}

impl From<&'static Entry> for Row<'_> {
    fn from(entry: &'static Entry) -> Self {
        Row {
            name: entry.name,
            kind: if entry.transformer {
                "transformer"
            } else {
                "classifier"
            },
            cardinality: entry.cardinality.to_string(),
            returns: entry.returns,
            argument: entry.argument.map(str::to_owned),
            argument_optional: entry.optional,
            description: entry.description,
            example: entry.example,
        }
    }
}

impl<'a> From<&'a Definition> for Row<'a> {
    fn from(definition: &'a Definition) -> Self {
        let parameters = &definition.parameters;
        Row {
            name: &definition.name,
            kind: definition.role.name(),
            cardinality: definition.cardinality.to_string(),
            returns: &definition.returns,
            argument: (!parameters.is_empty()).then(|| parameters.join(", ")),
            argument_optional: false,
            description: &definition.description,
            example: &definition.example,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let definitions = arguments.definitions.read()?;
    if arguments.functions {
        return functions(arguments);
    }
    let defined = definitions.all().iter().map(Row::from);
    let rows: Vec<Row> = CATALOG.iter().map(Row::from).chain(defined).collect();
    let titles = [
        "name",
        "cardinality",
        "returns",
        "what it says, and an example",
    ];
    print(arguments, rows, titles, |row| {
        let argument = row.argument.map(|argument| format!("({argument})"));
        [
            format!("{}{}", row.name, argument.unwrap_or_default()),
            match row.kind {
                "classifier" => row.cardinality,
                kind => kind.to_owned(),
            },
            row.returns.to_owned(),
            format!("{}: {}", row.description, row.example),
        ]
    })
}

/// Prints rows as JSON or as a table of these cells.
fn print<T: Serialize>(
    arguments: &Arguments,
    rows: Vec<T>,
    titles: [&'static str; 4],
    cells: impl Fn(T) -> [String; 4],
) -> Result<(), Failure> {
    let mut out = arguments.desk.out();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        out.blank()?;
    } else {
        let mut table = Table::new(titles.map(|title| (title, Align::Left)));
        rows.into_iter().for_each(|row| table.row(cells(row)));
        table.print(&mut out)?;
    }
    Ok(out.flush()?)
}

#[derive(Serialize)]
struct FunctionRow {
    of: &'static str,
    usage: String,
    returns: &'static str,
    description: &'static str,
}

impl From<&Signature> for FunctionRow {
    fn from(signature: &Signature) -> Self {
        FunctionRow {
            of: signature.of.name(),
            usage: signature.usage(),
            returns: signature.gives.name(),
            description: signature.description,
        }
    }
}

fn functions(arguments: &Arguments) -> Result<(), Failure> {
    let rows: Vec<FunctionRow> = SIGNATURES.iter().map(FunctionRow::from).collect();
    let titles = ["of", "property or function", "gives", "what it says"];
    print(arguments, rows, titles, |row| {
        [
            row.of.to_owned(),
            row.usage,
            row.returns.to_owned(),
            row.description.to_owned(),
        ]
    })
}
