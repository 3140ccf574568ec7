//! `anthill classifiers`: lists what objects can be split by.

use std::io::Write;

use anthill_api::StandaloneQuestion;
use anthill_api::classifiers::{Answer, Cardinality, Classifiers, Kind};
use anthill_api::registry::write_json;
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::Out;
use crate::output::table::{Align, Table};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill classifiers
  anthill classifiers --define my-classifiers.txt
  anthill classifiers --functions
  anthill classifiers --json")]
pub struct Arguments {
    #[command(flatten)]
    pub asked: Asked<Classifiers>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let classifiers = arguments.asked.question(arguments.json)?;
    let answer = classifiers.answer(&arguments.define.read()?)?;
    let mut out = Out::stdout();
    if arguments.json {
        write_json(&answer, &mut out)?;
    } else {
        table(answer).print(&mut out)?;
    }
    Ok(out.flush()?)
}

fn table(answer: Answer) -> Table<4> {
    let titled = |titles: [&'static str; 4]| Table::new(titles.map(|title| (title, Align::Left)));
    match answer {
        Answer::Classifiers(rows) => {
            let mut table = titled(["name", "cardinality", "returns", "description and example"]);
            for row in rows {
                let argument = row.argument.map(|argument| format!("({argument})"));
                table.row([
                    format!("{}{}", row.name, argument.unwrap_or_default()),
                    match row.kind {
                        Kind::Classifier => cardinality(row.cardinality),
                        Kind::Filter => "filter",
                        Kind::Transformer => "transformer",
                    }
                    .to_owned(),
                    row.returns,
                    format!("{}: {}", row.description, row.example),
                ]);
            }
            table
        }
        Answer::Functions(rows) => {
            let mut table = titled(["of", "property or function", "returns", "description"]);
            for row in rows {
                table.row([
                    row.of.to_owned(),
                    row.usage,
                    row.returns.to_owned(),
                    row.description.to_owned(),
                ]);
            }
            table
        }
    }
}

fn cardinality(of: Cardinality) -> &'static str {
    match of {
        Cardinality::One => "one-to-one",
        Cardinality::Many => "one-to-many",
        Cardinality::Hierarchy => "one-to-hierarchy",
    }
}
