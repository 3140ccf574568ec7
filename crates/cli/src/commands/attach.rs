//! `anthill attach`: records a JVM that is running already, in the background.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anthill_recorder::{Jvm, RecordingOptions};
use clap::Args;

use crate::commands::record::RecordingArguments;
use crate::failure::{Failure, say};

/// Record a running JVM
///
/// The recorder runs in the background until the JVM exits or you run `anthill detach`. Run it as
/// the same user as the JVM.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill attach 4711
      Record with at most 3 % overhead into anthill-4711.trace
  anthill attach 4711 --overhead 1% --at full-gc -o shop.trace
  anthill attach 4711 --assertions
      Check the GC assertions that the program makes, without a trace
  anthill mark 4711 'after deploy'; anthill snapshot 4711; anthill detach 4711")]
pub struct Arguments {
    /// The process id of the JVM; `jps` lists them
    pub pid: u32,
    #[command(flatten)]
    pub recording: RecordingArguments,
    /// Only check the program's GC assertions, without writing a trace
    #[arg(long, conflicts_with_all = ["output", "replace", "every", "at", "contents", "identity", "stacks"])]
    pub assertions: bool,
    /// Record in the foreground
    #[arg(long)]
    pub foreground: bool,
    /// Standard input is the connection to the JVM that started this process
    #[arg(long, hide = true, requires = "assertions")]
    pub connected: bool,
    /// Record, and report progress on standard output
    #[arg(long, hide = true, conflicts_with = "foreground")]
    pub background: bool,
}

/// Before what the recorder in the background wants to be said, and before the name of the trace
/// when it is ready. Nobody listens after that.
const SAY: &str = "SAY ";
const READY: &str = "READY ";

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = || RecordingOptions {
        trace: !arguments.assertions,
        ..arguments.recording.options()
    };
    if arguments.connected {
        return Ok(anthill_recorder::serve(arguments.pid, options(), say)?);
    }
    let jvm = Jvm::find(arguments.pid)?;
    if arguments.foreground {
        let ready = |trace: Option<&Path>| say(&recording(&jvm, &name(trace)));
        return Ok(anthill_recorder::attach(&jvm, options(), say, ready)?);
    }
    if arguments.background {
        return record_in_background(&jvm, options());
    }
    let unusable = |error: io::Error| {
        Failure::unusable(
            format!("cannot start the recorder: {error}"),
            "Try --foreground.",
        )
    };
    let program = env::current_exe().map_err(unusable)?;
    let mut recorder = Command::new(program)
        .args(env::args_os().skip(1))
        .arg("--background")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(unusable)?;
    let said = recorder.stdout.take().map(BufReader::new);
    for line in said
        .into_iter()
        .flat_map(BufRead::lines)
        .map_while(Result::ok)
    {
        if let Some(trace) = line.strip_prefix(READY) {
            say(&recording(&jvm, trace));
            return Ok(());
        }
        say(line.strip_prefix(SAY).unwrap_or(&line));
    }
    // It said why.
    Err(Failure::Program(2))
}

/// Empty if there is no trace.
fn name(trace: Option<&Path>) -> String {
    trace.map_or(String::new(), |trace| trace.display().to_string())
}

fn recording(jvm: &Jvm, trace: &str) -> String {
    let pid = jvm.pid();
    match trace {
        "" => format!("checking the assertions of JVM {pid}; `anthill detach {pid}` stops it"),
        trace => format!("recording JVM {pid} to {trace}; `anthill detach {pid}` stops it"),
    }
}

/// Standard error is nobody's here: whoever started this process may wait until it is closed.
fn record_in_background(jvm: &Jvm, options: RecordingOptions) -> Result<(), Failure> {
    let ready = |trace: Option<&Path>| tell(&format!("{READY}{}", name(trace)));
    let recorded =
        anthill_recorder::attach(jvm, options, |text| tell(&format!("{SAY}{text}")), ready);
    if let Err(error) = recorded {
        let Failure::Unusable { reason, advice } = Failure::from(error) else {
            return Err(Failure::Program(2));
        };
        tell(&format!("{SAY}{reason}"));
        tell(&advice);
        return Err(Failure::Program(2));
    }
    Ok(())
}

/// On standard output, as long as somebody reads it.
fn tell(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
