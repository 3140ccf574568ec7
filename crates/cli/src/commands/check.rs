//! `anthill check`: whether what must hold for a heap does.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anthill_api::check::{Check, RuleFile, Severity};
use anthill_api::{Limit, Question, Series, SeriesQuestion};
use anthill_documents::{junit, sarif};
use anthill_hprof::input;
use clap::{Args, ValueEnum};

use crate::asked::Asked;
use crate::check_text::text;
use crate::definitions::DefineArguments;
use crate::failure::{Failure, say};
use crate::output::json;
use crate::source::{Files, SourceArguments, heap_file, limit};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill check app.hprof
      Check the program's own assertions: assertDead, assertOwnedBy and so on
  anthill check app.hprof heap.rules
      Also check the rules in a file
  anthill check app.hprof --rule 'at most 1 instances of com.acme.Registry'
      Check a single rule
  anthill check monday.hprof friday.hprof --rule 'growth of retained of com.acme.* at most 10 MB'
      Compare two dumps
  anthill check app.trace heap.rules --format junit -o heap.xml
      Check a recording on a build server

Exit code 1 means that a check failed with at least the severity of --fail-on.")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Files with rules, and further dumps or recordings
    #[arg(value_name = "RULES|FILE", value_parser = heap_file())]
    pub more: Vec<PathBuf>,
    #[command(flatten)]
    pub asked: Asked<Check>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    pub format: Format,
    /// Write the result to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with code 1 if a violation has at least this severity
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    /// Show at most N violations of each rule; 0 for all
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with paths
    Text,
    /// JSON, described in docs/output.md
    Json,
    /// The XML report of a test suite, as Maven Surefire writes it
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Error,
    Warning,
    Note,
}

impl FailOn {
    fn least(self) -> Severity {
        match self {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (heaps, rule_files): (Vec<PathBuf>, Vec<PathBuf>) = arguments
        .more
        .iter()
        .cloned()
        .partition(|path| is_heap(path));
    let definitions = arguments.define.read()?;
    let mut check = arguments.asked.question(arguments.source.json)?;
    check.files = rule_files
        .iter()
        .map(|file| read(file))
        .collect::<Result<_, _>>()?;
    check.check(&definitions)?;
    let files = Files::new(&arguments.source, &heaps, definitions)?.warning();
    let (answer, basis) = check.answer(&files)?;
    for note in &answer.notes {
        say(&format!("warning: {note}"));
    }
    let names = files.files().iter();
    let names: Vec<String> = names.map(|file| file.display().to_string()).collect();
    let mut out = match &arguments.output {
        Some(path) => files.out_to(create(path)?),
        None => files.out(),
    };
    let format = match arguments.source.json {
        true => Format::Json,
        false => arguments.format,
    };
    match format {
        Format::Text => {
            text(&answer, Limit(arguments.limit).most(), &mut out)?;
            out.flush()?;
        }
        Format::Json => json::print_series::<Check>(&mut out, &answer, &basis, &files)?,
        Format::Junit => {
            let least = arguments.fail_on.least();
            junit(&answer, &names.join(", "), least, &mut out)?;
        }
        Format::Sarif => sarif(&answer, &names, &mut out)?,
    }
    match answer.violated(arguments.fail_on.least()) {
        0 => Ok(()),
        1 => Err(Failure::Findings("1 check failed".to_owned())),
        number => Err(Failure::Findings(format!("{number} checks failed"))),
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        Failure::unusable(
            format!("{}: {error}", path.display()),
            "Choose another file with -o.",
        )
    })
}

/// Whether a file is a heap dump or a recording, not a text with rules. What cannot be read is no text.
fn is_heap(path: &Path) -> bool {
    input::head(path).is_ok_and(|start| input::is_usable(&start))
}

/// Reads a file with rules.
fn read(path: &Path) -> Result<RuleFile, Failure> {
    let name = path.display().to_string();
    let advice = "Give heap dumps, recordings and text files with rules.";
    let unusable = |error: String| Failure::unusable(error, advice);
    let file = input::reader(path).map_err(|error| unusable(error.to_string()))?;
    let text = io::read_to_string(file).map_err(|error| unusable(format!("{name}: {error}")))?;
    Ok(RuleFile { file: name, text })
}
