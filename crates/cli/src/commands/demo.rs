//! `anthill demo`: a small dump that is part of the program, and the questions one asks of it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Parser};

use crate::cli::{Cli, Command, DumpCommand};
use crate::failure::Failure;
use crate::output::units::hex;
use crate::output::{Out, shell};
use crate::source::Source;

/// Walk through the analysis of a small sample dump
///
/// The sample comes from a program with a leak: 2,000 products, each held by two caches that are
/// never cleared. Every step shows the command line to type for your own dump.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill demo
      See what Anthill does without a dump of your own
  anthill demo --save multi-cache.hprof.gz
      Save the sample dump to try commands on it")]
pub struct Arguments {
    /// Write the sample dump to FILE instead
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}

const DUMP: &[u8] = include_bytes!("../../demo/multi-cache.hprof.gz");
const PRODUCT: &str = "anthill.samples.Product";
const NAME: &str = "multi-cache.hprof.gz";

/// What is asked, and the arguments that ask it; FILE stands for the dump.
const STEPS: [(&str, &[&str]); 6] = [
    (
        "What is in the dump, and how much of it is alive?",
        &["summary", "FILE"],
    ),
    (
        "Which classes keep most of the memory alive? Retained is the memory that would be freed with them.",
        &["histogram", "FILE", "--limit", "12"],
    ),
    (
        "Which objects hold the memory? Everything below an item is freed with it. The products\n   \
         are next to the caches, not below them: each is in both, so neither cache alone holds it.",
        &["dominators", "FILE", "--depth", "5", "--least", "4"],
    ),
    (
        "Which objects together keep the products alive? The smallest sets of objects without which\n   \
         they would be freed: one object that keeps everything alive, then the two caches.",
        &["owners", "FILE", PRODUCT],
    ),
    (
        "Why is one of these products alive? Every path to it: both caches must release it.",
        &["paths", "FILE", "ADDRESS"],
    ),
    (
        "What are the paths to all products? In merged paths, each product counts on one shortest\n   \
         path only, here through IdCache, although NameCache also holds it, as step 5 shows.",
        &["paths", "FILE", PRODUCT],
    ),
];

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.save {
        return fs::write(file, DUMP).map_err(|error| not_written(file, error));
    }
    let folder = tempfile::tempdir().map_err(|error| not_written(&std::env::temp_dir(), error))?;
    let file = folder.path().join(NAME);
    fs::write(&file, DUMP).map_err(|error| not_written(&file, error))?;
    let path = file.to_string_lossy();
    let mut source = parse(&["summary", &path, "--no-index"])?.source().open()?;
    source.heap.file = NAME.to_owned();
    let product = first_product(&source);
    for (number, (question, words)) in (1..).zip(STEPS) {
        let words: Vec<&str> = words
            .iter()
            .map(|&word| match word {
                "FILE" => NAME,
                "ADDRESS" => &product,
                word => word,
            })
            .collect();
        let mut out = Out::stdout();
        if number > 1 {
            out.blank()?;
        }
        out.heading(&format!("{number}. {question}"))?;
        out.line(format!("$ anthill {}", words.join(" ")))?;
        out.blank()?;
        out.flush()?;
        parse(&words)?.show(&source)?;
    }
    let anthill = called();
    let mut out = Out::stdout();
    out.blank()?;
    out.line(format!(
        "Try it yourself: `{anthill} demo --save {NAME}` keeps the dump, then\n\
         `{anthill} report {NAME}` says all of this at once; `{anthill} --help` lists the commands."
    ))?;
    Ok(out.flush()?)
}

/// How the program is called again: by its path unless that is not how it was called now.
fn called() -> String {
    let called = std::env::args().next().unwrap_or_default();
    match called.contains('/') {
        true => shell::file(&called),
        false => "anthill".to_owned(),
    }
}

fn not_written(path: &Path, error: std::io::Error) -> Failure {
    Failure::unusable(
        format!("{}: {error}", path.display()),
        "Choose a writable place for the sample dump.",
    )
}

/// The command that a command line names.
fn parse(words: &[&str]) -> Result<DumpCommand, Failure> {
    let words = std::iter::once("anthill").chain(words.iter().copied());
    match Cli::parse_from(words).command {
        Command::OnDump(command) => Ok(*command),
        _ => Err(Failure::unusable(
            "the demo contains a command that takes no dump",
            "Use the other commands on your own dump.",
        )),
    }
}

/// The address of the first product in the dump.
fn first_product(source: &Source) -> String {
    let state = source.session.state();
    let product = (0..state.len()).find(|&object| state.class(object).name == PRODUCT);
    product.map_or(String::new(), |object| hex(source.session.address(object)))
}
