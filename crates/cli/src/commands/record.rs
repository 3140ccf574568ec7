//! `anthill record`: starts a program with the agent and writes what happens in its heap.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anthill_recorder::{Checking, Identity, RecordingOptions, StateAnalysis, When};
use anthill_structures::{Definitions, Item, Role};
use clap::{Args, ValueEnum};

use crate::assertions::ProgramAssertions;
use crate::failure::{Failure, say};
use crate::source::percent;

/// Start a program and record its heap over time
///
/// The program runs as usual. An agent in its JVM reports every garbage collection and sampled
/// allocations, and Anthill takes heap states as often as the overhead allows. The result is one
/// file, the trace, which you can read while it grows. Every command that opens a dump opens any
/// state of a trace with --at. The exit code is that of the program.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill record -- java -jar shop.jar
      Record with at most 3 % overhead into anthill-PID.trace
  anthill record --overhead 10% --every 30s -o shop.trace -- java -jar shop.jar
      Take a state every 30 seconds if that costs at most a tenth of the time
  anthill record --identity all --every 1s -- java -cp classes StackTest
      Follow every object: what was born, died, survived (for small heaps)
  anthill record -- mvn test
      Write a separate trace for every JVM that the command starts")]
pub struct Arguments {
    #[command(flatten)]
    pub recording: RecordingArguments,
    /// The program to start and its arguments, after --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The classes of the heads of data structures that can grow. Wrappers lead to any class and have the
/// real head inside; every class costs time in the pause of each state.
fn heads() -> Vec<String> {
    let definitions = Definitions::shipped();
    let own_storage = |item: &Item| {
        !item.target.leaf && item.target.name != "*" && item.target.role != Role::Other
    };
    let growing = definitions.heads().map(|placed| &placed.definition);
    let growing = growing.filter(|definition| {
        let fixed = ["Immutable", "Arrays$", "StringJoiner", "*"];
        definition.items.iter().any(own_storage)
            && !fixed.iter().any(|word| definition.name.contains(word))
    });
    growing.map(|definition| definition.name.clone()).collect()
}

/// How to record, for `record` and `attach`.
#[derive(Args)]
pub struct RecordingArguments {
    /// Spend at most this share of the program's time on recording; 100% for no limit
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = percent)]
    pub overhead: f64,
    /// Take a heap state at this interval, e.g. 500ms, 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = every, conflicts_with = "at")]
    pub every: Option<Duration>,
    /// Take a heap state after these collections: `full-gc`, or `gc:N` for every N-th [default:
    /// after any, when the overhead allows it]
    #[arg(long, value_name = "WHEN", value_parser = at)]
    pub at: Option<When>,
    /// Take no heap state when the program exits or its first OutOfMemoryError occurs
    #[arg(long)]
    pub no_last_state: bool,
    /// Follow these objects over time: the heads of data structures, all objects, or none
    #[arg(long, value_name = "OBJECTS", default_value = "heads")]
    pub identity: IdentityArgument,
    /// Keep at most this many stack frames of each sampled allocation
    #[arg(long, value_name = "FRAMES", default_value_t = 32, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub stacks: u32,
    /// Also record the values of primitive fields and arrays, including all strings
    #[arg(long)]
    pub contents: bool,
    /// Write the trace to FILE [default: anthill-PID.trace]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing trace
    #[arg(long)]
    pub replace: bool,
    /// Keep the JVM's dumps in DIR until they are converted [default: memory, or next to the trace]
    #[arg(long, value_name = "DIR")]
    pub spool: Option<PathBuf>,
    /// Append violations of the program's GC assertions to FILE, as lines of JSON
    #[arg(long, value_name = "FILE")]
    pub violations: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IdentityArgument {
    Heads,
    All,
    None,
}

impl RecordingArguments {
    pub fn options(&self) -> RecordingOptions {
        let every = self.every.map(When::Every);
        RecordingOptions {
            trace: true,
            checking: Some(Checking {
                checker: Arc::new(ProgramAssertions),
                violations: self.violations.as_deref().and_then(absolute),
            }),
            analysis: StateAnalysis {
                reachable: anthill_session::reachable,
                structures: anthill_session::followed_structures,
            },
            overhead: self.overhead / 100.0,
            when: every.or(self.at).unwrap_or(When::Affordable),
            last_state: !self.no_last_state,
            identity: match self.identity {
                IdentityArgument::Heads => Identity::Heads,
                IdentityArgument::All => Identity::All,
                IdentityArgument::None => Identity::None,
            },
            heads: heads(),
            stacks: self.stacks,
            contents: self.contents,
            output: self.output.clone(),
            replace: self.replace,
            spool: self.spool.clone(),
        }
    }
}

/// The recorder may work somewhere else.
fn absolute(file: &Path) -> Option<PathBuf> {
    std::path::absolute(file).ok()
}

/// A time that is not zero, as in `30s`.
fn every(text: &str) -> Result<Duration, String> {
    match anthill_trace::duration(text) {
        Some(0) | None => {
            Err("it must be a time with units, e.g. 500ms, 30s, 2m30s, 2h".to_owned())
        }
        Some(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
    }
}

fn at(text: &str) -> Result<When, String> {
    let number = text.strip_prefix("gc:").map(str::parse);
    match (text, number) {
        ("full-gc", _) => Ok(When::FullGc),
        (_, Some(Ok(number))) if number > 0 => Ok(When::EveryGc(number)),
        _ => Err("say `full-gc`, or `gc:N` for every N-th collection".to_owned()),
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let ended = anthill_recorder::record(&arguments.command, arguments.recording.options(), say)?;
    match ended {
        0 => Ok(()),
        code => Err(Failure::Program(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_pass() {
        assert_eq!(every("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(every("1.5m"), Ok(Duration::from_secs(90)));
        assert!(every("30").is_err() && every("s").is_err() && every("1y").is_err());
        assert!(every("0s").is_err());
    }

    #[test]
    fn collections_are_chosen() {
        assert_eq!(at("full-gc"), Ok(When::FullGc));
        assert_eq!(at("gc:5"), Ok(When::EveryGc(5)));
        assert!(at("gc:0").is_err() && at("gc").is_err());
    }
}
