//! How a command can end other than well, as a person reads it.

use std::io::{self, Write};
use std::process::ExitCode;

use anthill_heap::Cancelled;
use anthill_hprof::Error as DumpError;
use anthill_recorder::Error as RecorderError;
use anthill_session::Error;
use anthill_trace::Error as TraceError;

pub enum Failure {
    /// The question was fine, but the answer is empty.
    NothingFound(String),
    /// Something was found that the user wants to fail on.
    Findings(String),
    /// The input or the arguments cannot be used; the second line says what to do next.
    Unusable { reason: String, advice: String },
    /// The output could not be written.
    Output(io::Error),
    /// A program that was started ended with this code and said why itself.
    Program(u8),
}

impl Failure {
    pub fn unusable(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Failure::Unusable {
            reason: reason.into(),
            advice: advice.into(),
        }
    }

    /// Says it on standard error and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            // Whoever read the output has seen enough.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitCode::SUCCESS
            }
            Failure::Output(error) => {
                say(&format!("the output could not be written: {error}"));
                ExitCode::from(2)
            }
            Failure::Program(code) => ExitCode::from(code),
            Failure::NothingFound(what) | Failure::Findings(what) => {
                say(&what);
                ExitCode::from(1)
            }
            Failure::Unusable { reason, advice } => {
                say(&format!("{reason}\n{advice}"));
                ExitCode::from(2)
            }
        }
    }
}

/// Says something on standard error.
pub fn say(text: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(io::stderr(), "anthill: {text}");
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Failure::Output(error.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Dump(error) => error.into(),
            Error::Trace(error) => {
                let advice = match &error {
                    TraceError::Io { .. } => "Check the path and that you may read the file.",
                    _ => "--at chooses another state; `anthill timeline` lists them.",
                };
                Failure::unusable(error.to_string(), advice)
            }
            Error::NotRecorded(_) => Failure::unusable(
                error.to_string(),
                "A recording made with --contents has them, and so has a heap dump.",
            ),
            Error::Point(reason) => Failure::unusable(
                reason,
                "--at takes gc:N, #N, a time like 2m30s or 14:05:30, the text of a mark, first or \
                 last, on recordings; --dump takes a number, on files with several heap dumps.",
            ),
            Error::NothingFound(what) => Failure::NothingFound(what),
            Error::Keeping(reason) => Failure::unusable(
                reason,
                "Leave out --no-index, or name a folder that can be written with --index DIR.",
            ),
            Error::Mistake(reason) => {
                Failure::unusable(reason, "docs/groups.md explains how groups are written.")
            }
            Error::Question(reason) => Failure::unusable(
                reason,
                "`anthill classifiers` lists what there is, docs/classification.md explains it.",
            ),
        }
    }
}

impl From<Cancelled> for Failure {
    fn from(cancelled: Cancelled) -> Self {
        Error::from(cancelled).into()
    }
}

impl From<RecorderError> for Failure {
    fn from(error: RecorderError) -> Self {
        let advice = match &error {
            RecorderError::Attach { .. } => "`anthill attach --help` explains what is needed.",
            RecorderError::NotRecorded(_) => {
                "`anthill recordings` lists the JVMs that are; `anthill attach PID` starts it."
            }
            RecorderError::NoAgent(_) => {
                "It belongs beside the program `anthill`; `./x build` puts it there."
            }
            RecorderError::Exists(_) => "Name another with -o FILE, or say --replace.",
            RecorderError::Program { .. } => "Check the command after `--`.",
            RecorderError::File { .. } | RecorderError::Trace(_) => {
                "Name another place with --output FILE or --spool DIR."
            }
            RecorderError::Refused(_) | RecorderError::Agent(_) => "The program itself goes on.",
        };
        Failure::unusable(error.to_string(), advice)
    }
}

impl From<DumpError> for Failure {
    fn from(error: DumpError) -> Self {
        let advice = match &error {
            DumpError::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "Check the path.",
                io::ErrorKind::PermissionDenied => {
                    "Read it as the user who ran the JVM: dumps are readable by their owner only."
                }
                _ => "Copy the file to a local disk and try again.",
            },
            DumpError::Unusable { reason, .. } if reason.starts_with("there is no dump number") => {
                "Say another number after --dump; without it, the last dump is taken."
            }
            DumpError::Unusable { .. } => {
                "A heap dump is written by `jcmd PID GC.heap_dump FILE` or by the JVM itself with \
                 -XX:+HeapDumpOnOutOfMemoryError; check that it was copied whole."
            }
            DumpError::Cancelled => "Start it again to get a result.",
        };
        Failure::unusable(error.to_string(), advice)
    }
}
