//! `anthill report`: what probably leaks, and the words to tell others.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anthill_leaks::{Severity, Thresholds};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{Out, json};
use crate::report::{Document, Leak, Redaction, html, markdown, text};
use crate::source::{Source, SourceArguments, percent};

/// Report what probably leaks: suspects, who holds them, what they contain
///
/// A suspect keeps a large share of the reachable heap alive: a single object, several objects
/// together (each of two caches alone may hold little of what they share), a class loader, or all
/// objects of a class. Of each the report says how much it retains, how it is reached from a GC
/// root, and what is in it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill report app.hprof
      The suspects, on the terminal
  anthill report app.hprof -o leak.html
      One file to open in a browser, print or attach to a ticket; .md and .json work too
  anthill report app.hprof --fail-on HIGH
      For CI: exit code 1 if something retains more than 30 % of the heap")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Write the report to a file; its ending chooses the form: .html, .md, .json or .txt
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// End with exit code 1 if there is a suspect of this severity or above
    #[arg(long, value_name = "SEVERITY", ignore_case = true)]
    pub fail_on: Option<FailOn>,
    /// Leaks that are known: a JSON report, or a file with a fingerprint on each line. They are shown
    /// as such and do not count for --fail-on
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
    /// What a single object retains at least to be a suspect, in percent of the reachable heap
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent, allow_negative_numbers = true)]
    pub object: f64,
    /// What the objects of a class retain together at least
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent, allow_negative_numbers = true)]
    pub class: f64,
    /// From which share on a suspect is HIGH
    #[arg(long, value_name = "PERCENT", default_value_t = 30.0, value_parser = percent, allow_negative_numbers = true)]
    pub high: f64,
    /// Up to how many owners are named together
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub owners: usize,
    /// How many single objects are named at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub most: usize,
    /// What passes on more than this share of what it retains to one child is not a suspect itself
    #[arg(long, value_name = "PERCENT", default_value_t = 90.0, value_parser = percent, allow_negative_numbers = true)]
    pub pass_through: f64,
    /// What is explained to this share by suspects below it is context, not a suspect
    #[arg(long, value_name = "PERCENT", default_value_t = 80.0, value_parser = percent, allow_negative_numbers = true)]
    pub explained: f64,
    /// Hide the contents of strings, or the names of packages and classes too
    #[arg(long, value_name = "WHAT", num_args = 0..=1, default_missing_value = "contents")]
    pub redact: Option<Redact>,
    /// Leave out the waste and the map of the heap, which take longer than the suspects
    #[arg(long)]
    pub brief: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum FailOn {
    Medium,
    High,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Redact {
    /// String contents and names of threads
    Contents,
    /// Those, and the names of classes and fields that are not the JVM's own
    Names,
}

#[derive(Clone, Copy)]
enum Form {
    Text,
    Markdown,
    Html,
    Json,
}

impl Form {
    fn of(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.unwrap_or_default().to_ascii_lowercase().as_str() {
            "html" | "htm" => Ok(Form::Html),
            "md" => Ok(Form::Markdown),
            "json" => Ok(Form::Json),
            "txt" => Ok(Form::Text),
            _ => Err(Failure::unusable(
                format!("-o {}: the ending does not tell the form", path.display()),
                "Use .html, .md, .json or .txt.",
            )),
        }
    }
}

impl Arguments {
    /// Finds mistakes before a large dump is opened.
    pub fn check(&self) -> Result<(), Failure> {
        self.form().map(drop)
    }

    fn form(&self) -> Result<Form, Failure> {
        match &self.output {
            Some(path) => Form::of(path),
            None if self.source.json => Ok(Form::Json),
            None => Ok(Form::Text),
        }
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds {
            object: self.object,
            class: self.class,
            high: self.high,
            owners: self.owners,
            most: self.most,
            pass_through: self.pass_through,
            explained: self.explained,
        }
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let form = arguments.form()?;
    let redaction = match arguments.redact {
        None => Redaction::None,
        Some(Redact::Contents) => Redaction::Contents,
        Some(Redact::Names) => Redaction::Names,
    };
    let known = known(arguments.known.as_deref())?;
    let report = source.session.report(&arguments.thresholds())?;
    let mut document = Document::new(source, &report, redaction, arguments.brief)?;
    for suspect in &mut document.suspects {
        let leak = Leak::of(suspect);
        suspect.known = known.iter().any(|known| known.is(&leak));
    }
    match &arguments.output {
        None => {
            let mut out = source.out();
            write(form, &document, source, &mut out)?;
        }
        Some(path) => {
            let file = File::create(path).map_err(|error| {
                let reason = format!("{} could not be written: {error}", path.display());
                Failure::unusable(reason, "Name a file in a folder that exists.")
            })?;
            let mut out = source.out_to(file);
            write(form, &document, source, &mut out)?;
        }
    }
    let limit = match arguments.fail_on {
        None => return Ok(()),
        Some(FailOn::Medium) => Severity::Medium,
        Some(FailOn::High) => Severity::High,
    };
    let found = document
        .suspects
        .iter()
        .filter(|suspect| suspect.severity >= limit && !suspect.known);
    match found.count() {
        0 => Ok(()),
        1 => Err(Failure::Findings(
            "1 suspect is severe enough to fail".to_owned(),
        )),
        many => Err(Failure::Findings(format!(
            "{many} suspects are severe enough to fail"
        ))),
    }
}

fn write(form: Form, document: &Document, source: &Source, out: &mut Out) -> Result<(), Failure> {
    match form {
        Form::Text => text::write(document, out)?,
        Form::Markdown => out.write_all(markdown::text(document).as_bytes())?,
        Form::Html => out.write_all(html::page(document).as_bytes())?,
        Form::Json => return json::print_as(out, source, &document.file, "report", document),
    }
    Ok(out.flush()?)
}

/// The leaks that a file names.
fn known(path: Option<&Path>) -> Result<Vec<Leak>, Failure> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let reason = format!("--known {}: {error}", path.display());
        Failure::unusable(
            reason,
            "Name a report written with -o FILE.json, or a list.",
        )
    })?;
    let report = serde_json::from_str::<Value>(&text).ok();
    let suspects = report
        .as_ref()
        .and_then(|report| report["suspects"].as_array());
    if let Some(suspects) = suspects {
        return Ok(suspects.iter().filter_map(Leak::of_json).collect());
    }
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    let is_one = |line: &str| line.len() == 16 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    match lines.iter().find(|line| !is_one(line)) {
        Some(line) => Err(Failure::unusable(
            format!("--known {}: `{line}` is no fingerprint", path.display()),
            "Name a report written with -o FILE.json, or a file with a fingerprint on each line.",
        )),
        None => Ok(lines.into_iter().map(Leak::of_fingerprint).collect()),
    }
}
