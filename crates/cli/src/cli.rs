//! The command line: which commands there are. Help, completions and man pages come from here and
//! from the argument definitions beside each command.

use clap::{Parser, Subcommand};

use crate::commands::{dominators, histogram, object, paths, summary};
use crate::failure::Failure;

/// Who keeps these objects alive, and since when?
///
/// Anthill analyses heap dumps of the JVM (HPROF, also gzipped). Sizes are those of the JVM itself,
/// retained sizes are exact, and what a file lacks is said.
#[derive(Parser)]
#[command(name = "anthill", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 fine, 1 nothing was found, 2 bad usage or unusable input.
Sizes in tables are 1024-based (1 KB = 1024 bytes); --json and --csv have plain bytes.";

#[derive(Subcommand)]
pub enum Command {
    Summary(summary::Arguments),
    Histogram(histogram::Arguments),
    Dominators(dominators::Arguments),
    Paths(paths::Arguments),
    Object(object::Arguments),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Summary(arguments) => summary::run(&arguments),
            Command::Histogram(arguments) => histogram::run(&arguments),
            Command::Dominators(arguments) => dominators::run(&arguments),
            Command::Paths(arguments) => paths::run(&arguments),
            Command::Object(arguments) => object::run(&arguments),
        }
    }
}
