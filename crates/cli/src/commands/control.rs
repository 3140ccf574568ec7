//! `anthill detach`, `mark`, `snapshot` and `recordings`: talking to a recorder that is running.

use std::io::Write;

use anthill_recorder::{Request, ask, recorded};
use clap::Args;

use crate::failure::{Failure, say};
use crate::output::Out;

/// End the recording of a JVM; the program continues
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill detach 4711
      Complete the trace; the program continues, and the agent rests")]
pub struct Detach {
    /// The process id of the JVM
    pub pid: u32,
}

/// Mark the current moment of a recording with a name
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill mark 4711 'after deploy'
      Later: anthill histogram shop.trace --at 'mark:after deploy'")]
pub struct Mark {
    /// The process id of the JVM
    pub pid: u32,
    /// The name of the mark
    pub text: String,
}

/// Take a heap state of a recorded JVM now, regardless of the overhead
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill snapshot 4711 'before the load test' --collect
      Collect garbage, take a state and give it a name
      Later: anthill report shop.trace --at 'mark:before the load test'")]
pub struct Snapshot {
    /// The process id of the JVM
    pub pid: u32,
    /// A name for this state
    pub text: Option<String>,
    /// Collect garbage first
    #[arg(long)]
    pub collect: bool,
}

/// List the JVMs that are being recorded
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill recordings
      Which of my JVMs are recorded, to which files, and what has it cost so far?")]
pub struct Recordings {}

pub fn detach(arguments: &Detach) -> Result<(), Failure> {
    say(&ask(arguments.pid, &Request::Stop)?);
    Ok(())
}

pub fn mark(arguments: &Mark) -> Result<(), Failure> {
    say(&ask(arguments.pid, &Request::Mark(arguments.text.clone()))?);
    Ok(())
}

pub fn snapshot(arguments: &Snapshot) -> Result<(), Failure> {
    let request = Request::Snapshot {
        collect: arguments.collect,
        mark: arguments.text.clone(),
    };
    say(&ask(arguments.pid, &request)?);
    Ok(())
}

pub fn recordings() -> Result<(), Failure> {
    let mut out = Out::stdout();
    let mut any = false;
    for jvm in recorded() {
        // A recorder that was killed cannot take its name off the list.
        if let Ok(status) = ask(jvm, &Request::Status) {
            any = true;
            writeln!(out, "{jvm}  {status}")?;
        }
    }
    if any {
        Ok(())
    } else {
        Err(Failure::NothingFound("no JVM is being recorded".to_owned()))
    }
}
