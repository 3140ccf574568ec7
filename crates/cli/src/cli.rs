//! The command line: which commands there are. Help, completions and man pages come from here and
//! from the argument definitions beside each command.

use std::path::PathBuf;

use anthill_hprof::input;
use clap::{Parser, Subcommand};

use crate::commands::{
    allocations, attach, check, classifiers, classify, completions, contract, control, cut, demo,
    diff, dominators, elements, groups, growth, histogram, inspect, loaders, man, object, objects,
    open, owners, paths, record, references, report, strings, structures, summary, threads,
    timeline, waste,
};
use crate::failure::Failure;
use crate::progress::Bar;
use crate::source::{Source, SourceArguments};

/// Who keeps these objects alive?
///
/// Anthill analyzes heap dumps (HPROF, plain or compressed with gzip or zstd) and records running
/// JVMs. Shallow sizes match the JVM's own, retained sizes are exact, and every answer lists what is
/// missing from the file.
#[derive(Parser)]
#[command(name = "anthill", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  nothing was found; with --fail-on, something was found
  2  bad usage or unusable input
  3  a file was truncated while Anthill was reading it

Sizes in tables are 1024-based (1 KB = 1024 bytes); --json and --csv have plain bytes.";

#[derive(Subcommand)]
pub enum Command {
    #[command(flatten)]
    OnDump(Box<DumpCommand>),
    Check(Box<check::Arguments>),
    Diff(diff::Arguments),
    Growth(growth::Arguments),
    Timeline(timeline::Arguments),
    Allocations(allocations::Arguments),
    Open(open::Arguments),
    Record(record::Arguments),
    Attach(attach::Arguments),
    Detach(control::Detach),
    Mark(control::Mark),
    Snapshot(control::Snapshot),
    Recordings(control::Recordings),
    Classifiers(classifiers::Arguments),
    Demo(demo::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    #[command(hide = true)]
    Contract(contract::Arguments),
}

/// The commands that look into a heap dump.
#[derive(Subcommand)]
pub enum DumpCommand {
    Summary(summary::Arguments),
    Report(report::Arguments),
    Histogram(histogram::Arguments),
    Classify(classify::Arguments),
    Groups(groups::Arguments),
    Inspect(inspect::Arguments),
    Owners(owners::Arguments),
    Cut(cut::Arguments),
    Dominators(dominators::Arguments),
    Paths(paths::Arguments),
    Object(object::Arguments),
    Elements(elements::Arguments),
    References(references::Arguments),
    Objects(objects::Arguments),
    Strings(strings::Arguments),
    Structures(structures::Arguments),
    Loaders(loaders::Arguments),
    Threads(threads::Arguments),
    Waste(waste::Arguments),
}

impl Command {
    /// Dumps and recordings that are looked at before they are opened. What comes through a pipe is
    /// read first, so that all can look at it.
    fn settle(&self) -> Result<(), Failure> {
        let (first, more): (Option<&SourceArguments>, &[PathBuf]) = match self {
            Command::Check(arguments) => (Some(&arguments.source), &arguments.more),
            Command::Diff(arguments) => (Some(&arguments.source), &arguments.later),
            Command::Growth(arguments) => (Some(&arguments.source), &arguments.later),
            Command::Timeline(arguments) => (Some(&arguments.source), &arguments.later),
            Command::Allocations(arguments) => (Some(&arguments.source), &[]),
            Command::Open(arguments) => (None, &arguments.files),
            _ => (None, &[]),
        };
        let bar = Bar::new(first.is_none_or(|source| !source.no_progress));
        let first = first.map(|source| &source.file);
        // Whoever opens a file that cannot be read says so, in better words.
        let piped = |file: &&PathBuf| file.exists() && !file.is_file() && !file.is_dir();
        for file in first.into_iter().chain(more).filter(piped) {
            input::settle(file, &bar)?;
        }
        bar.clear();
        Ok(())
    }

    pub fn run(&self) -> Result<(), Failure> {
        self.settle()?;
        match self {
            Command::OnDump(command) => {
                command.check()?;
                let source = command.source().open()?;
                if !matches!(**command, DumpCommand::Summary(_)) {
                    source.warn_of_missing();
                }
                command.show(&source)
            }
            Command::Check(arguments) => check::run(arguments),
            Command::Diff(arguments) => diff::run(arguments),
            Command::Growth(arguments) => growth::show(arguments),
            Command::Timeline(arguments) => timeline::run(arguments),
            Command::Allocations(arguments) => allocations::run(arguments),
            Command::Open(arguments) => open::run(arguments),
            Command::Record(arguments) => record::run(arguments),
            Command::Attach(arguments) => attach::run(arguments),
            Command::Detach(arguments) => control::detach(arguments),
            Command::Mark(arguments) => control::mark(arguments),
            Command::Snapshot(arguments) => control::snapshot(arguments),
            Command::Recordings(_) => control::recordings(),
            Command::Classifiers(arguments) => classifiers::run(arguments),
            Command::Demo(arguments) => demo::run(arguments),
            Command::Completions(arguments) => completions::run(arguments),
            Command::Man(arguments) => man::run(arguments),
            Command::Contract(arguments) => contract::run(arguments),
        }
    }
}

impl DumpCommand {
    pub fn source(&self) -> &SourceArguments {
        match self {
            DumpCommand::Summary(arguments) => &arguments.source,
            DumpCommand::Report(arguments) => &arguments.source,
            DumpCommand::Histogram(arguments) => &arguments.source,
            DumpCommand::Classify(arguments) => &arguments.source,
            DumpCommand::Groups(arguments) => &arguments.source,
            DumpCommand::Inspect(arguments) => &arguments.source,
            DumpCommand::Owners(arguments) => &arguments.source,
            DumpCommand::Cut(arguments) => &arguments.source,
            DumpCommand::Dominators(arguments) => &arguments.source,
            DumpCommand::Paths(arguments) => &arguments.source,
            DumpCommand::Object(arguments) => &arguments.source,
            DumpCommand::Elements(arguments) => &arguments.source,
            DumpCommand::References(arguments) => &arguments.source,
            DumpCommand::Objects(arguments) => &arguments.source,
            DumpCommand::Strings(arguments) => &arguments.source,
            DumpCommand::Structures(arguments) => &arguments.source,
            DumpCommand::Loaders(arguments) => &arguments.source,
            DumpCommand::Threads(arguments) => &arguments.source,
            DumpCommand::Waste(arguments) => &arguments.source,
        }
    }

    /// Finds mistakes in the question before a large dump is opened.
    pub fn check(&self) -> Result<(), Failure> {
        match self {
            DumpCommand::Classify(arguments) => arguments.check(),
            DumpCommand::Groups(arguments) => arguments.check(),
            DumpCommand::Inspect(arguments) => arguments.check(),
            DumpCommand::Objects(arguments) => arguments.check(),
            DumpCommand::Paths(arguments) => arguments.check(),
            DumpCommand::Report(arguments) => arguments.check(),
            DumpCommand::Owners(arguments) => arguments.check(),
            DumpCommand::Cut(arguments) => arguments.check(),
            DumpCommand::References(arguments) => arguments.check(),
            _ => Ok(()),
        }
    }

    /// Prints the answer for a dump that is open.
    pub fn show(&self, source: &Source) -> Result<(), Failure> {
        match self {
            DumpCommand::Summary(arguments) => summary::show(arguments, source),
            DumpCommand::Report(arguments) => report::show(arguments, source),
            DumpCommand::Histogram(arguments) => histogram::show(arguments, source),
            DumpCommand::Classify(arguments) => classify::show(arguments, source),
            DumpCommand::Groups(arguments) => groups::show(arguments, source),
            DumpCommand::Inspect(arguments) => inspect::show(arguments, source),
            DumpCommand::Owners(arguments) => owners::show(arguments, source),
            DumpCommand::Cut(arguments) => cut::show(arguments, source),
            DumpCommand::Dominators(arguments) => dominators::show(arguments, source),
            DumpCommand::Paths(arguments) => paths::show(arguments, source),
            DumpCommand::Object(arguments) => object::show(arguments, source),
            DumpCommand::Elements(arguments) => elements::show(arguments, source),
            DumpCommand::References(arguments) => references::show(arguments, source),
            DumpCommand::Objects(arguments) => objects::show(arguments, source),
            DumpCommand::Strings(arguments) => strings::show(arguments, source),
            DumpCommand::Structures(arguments) => structures::show(arguments, source),
            DumpCommand::Loaders(arguments) => loaders::show(arguments, source),
            DumpCommand::Threads(arguments) => threads::show(arguments, source),
            DumpCommand::Waste(arguments) => waste::show(arguments, source),
        }
    }
}
