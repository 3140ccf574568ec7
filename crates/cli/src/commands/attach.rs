//! `anthill attach`: records a JVM that is running already, in the background.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anthill_recorder::Jvm;
use clap::Args;

use crate::commands::record::RecordingArguments;
use crate::failure::{Failure, say};

/// Record a JVM that is running already
///
/// The recorder runs in the background until the JVM ends or `anthill detach` is called. The JVM
/// answers only the user it runs as.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill attach 4711
      Record with at most 3 % overhead into anthill-4711.trace
  anthill attach 4711 --overhead 1% --at full-gc -o shop.trace
  anthill mark 4711 'after deploy'; anthill snapshot 4711; anthill detach 4711")]
pub struct Arguments {
    /// The process number of the JVM; `jps` lists them
    pub pid: u32,
    #[command(flatten)]
    pub recording: RecordingArguments,
    /// Record in the foreground
    #[arg(long)]
    pub foreground: bool,
}

/// What the recorder in the background says when it is ready.
const READY: &str = "READY ";

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let jvm = Jvm::find(arguments.pid)?;
    if arguments.foreground {
        let options = arguments.recording.options();
        return Ok(anthill_recorder::attach(&jvm, options, say, |trace| {
            println!("{READY}{}", trace.display());
        })?);
    }
    let unusable = |error: std::io::Error| {
        Failure::unusable(
            format!("the recorder could not be started: {error}"),
            "Try --foreground.",
        )
    };
    let program = env::current_exe().map_err(unusable)?;
    let mut recorder = Command::new(program)
        .args(env::args_os().skip(1))
        .arg("--foreground")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(unusable)?;
    let said = recorder.stdout.take().map(BufReader::new);
    let first = said.and_then(|said| said.lines().next()?.ok());
    match first.as_deref().and_then(|line| line.strip_prefix(READY)) {
        Some(trace) => {
            say(&format!(
                "recording JVM {pid} to {trace}; `anthill detach {pid}` ends it",
                pid = jvm.pid()
            ));
            Ok(())
        }
        // It said why on standard error.
        None => Err(Failure::Program(2)),
    }
}
