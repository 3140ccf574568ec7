//! `anthill report`: what probably leaks, and the words to tell others.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anthill_api::HeapQuestion;
use anthill_api::notes::Notes;
use anthill_api::report::{Answer, Leak, Report, Severity, leak_of_json};
use anthill_documents::{html, markdown};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::asked::Asked;
use crate::failure::{Failure, tell};
use crate::output::{Out, json};
use crate::report_text as text;
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill report app.hprof
      Show the suspects on the terminal
  anthill report app.hprof -o leak.html
      Write one file to open in a browser, print or attach to a ticket; also .md and .json
  anthill report app.hprof --fail-on HIGH
      For CI: exit code 1 if something retains more than 30 % of the heap")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Write the report to FILE; the extension sets the format: .html, .md, .json or .txt
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with code 1 if there is a suspect of this severity or above
    #[arg(long, value_name = "SEVERITY", ignore_case = true)]
    pub fail_on: Option<FailOn>,
    /// Read known leaks from FILE, a JSON report or a list with one fingerprint per line. The
    /// report marks them as known, and --fail-on ignores them
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
    #[command(flatten)]
    pub asked: Asked<Report>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum FailOn {
    Medium,
    High,
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
                format!("-o {}: unknown file extension", path.display()),
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
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let form = arguments.form()?;
    let known = known(arguments.known.as_deref())?;
    let report = arguments.asked.question(arguments.source.json)?;
    let mut answer = report.answer(source)?;
    answer.mark_known(&known);
    let notes = report.notes(source);
    match &arguments.output {
        None => {
            let mut out = source.out();
            write(form, &answer, &notes, source, &mut out)?;
        }
        Some(path) => {
            let file = File::create(path).map_err(|error| {
                let reason = format!("cannot write {}: {error}", path.display());
                Failure::unusable(reason, "Choose a file in an existing directory.")
            })?;
            let mut out = source.out_to(file);
            write(form, &answer, &notes, source, &mut out)?;
            tell(&format!("wrote {}", path.display()));
        }
    }
    let limit = match arguments.fail_on {
        None => return Ok(()),
        Some(FailOn::Medium) => Severity::Medium,
        Some(FailOn::High) => Severity::High,
    };
    match answer.severe(limit) {
        0 => Ok(()),
        1 => Err(Failure::Findings(
            "1 suspect has at least the severity of --fail-on".to_owned(),
        )),
        many => Err(Failure::Findings(format!(
            "{many} suspects have at least the severity of --fail-on"
        ))),
    }
}

fn write(
    form: Form,
    answer: &Answer,
    notes: &Notes,
    source: &Source,
    out: &mut Out,
) -> Result<(), Failure> {
    match form {
        Form::Text => text::write(answer, out)?,
        Form::Markdown => out.write_all(markdown::text(answer, notes).as_bytes())?,
        Form::Html => out.write_all(html::page(answer, notes).as_bytes())?,
        Form::Json => return json::print::<Report>(out, source, answer),
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
            "Give a report written with -o FILE.json, or a list of fingerprints.",
        )
    })?;
    let report = serde_json::from_str::<Value>(&text).ok();
    let suspects = report
        .as_ref()
        .and_then(|report| report["suspects"].as_array());
    if let Some(suspects) = suspects {
        return Ok(suspects.iter().filter_map(leak_of_json).collect());
    }
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    let is_one = |line: &str| line.len() == 16 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    match lines.iter().find(|line| !is_one(line)) {
        Some(line) => Err(Failure::unusable(
            format!("--known {}: `{line}` is not a fingerprint", path.display()),
            "Give a report written with -o FILE.json, or a file with one fingerprint per line.",
        )),
        None => Ok(lines.into_iter().map(Leak::of_fingerprint).collect()),
    }
}
