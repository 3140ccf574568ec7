//! How a command can end other than well, as a person reads it.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anthill_api::{AnswerError, Error};
use anthill_heap::Cancelled;
use anthill_hprof::Error as DumpError;
use anthill_recorder::Error as RecorderError;
use anthill_session::Error as SessionError;

use crate::commands::paths::how_to_follow;
use crate::output::shell;

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
                say(&format!("cannot write the output: {error}"));
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

/// The same, if a person is watching.
pub fn tell(text: &str) {
    if io::stderr().is_terminal() {
        say(text);
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Question(error) => error.into(),
            AnswerError::Output(error) => error.into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::NothingFound(what) => Failure::NothingFound(what),
            Error::Unusable { reason, advice } => Failure::Unusable { reason, advice },
            Error::ClassInsteadOfObject {
                ref class,
                ref file,
            } => Failure::unusable(
                error.to_string(),
                format!(
                    "`anthill objects {} --class {} --sort retained` lists its objects and their addresses.",
                    shell::file(file),
                    shell::word(class)
                ),
            ),
            Error::Unreachable {
                ref led_to,
                convention,
                ..
            } => {
                let advice = how_to_follow(convention, led_to);
                Failure::NothingFound(format!("{error}{advice}"))
            }
            Error::Cancelled => {
                Failure::unusable("cancelled", "Run the command again to get a result.")
            }
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Error::from(error).into()
    }
}

impl From<DumpError> for Failure {
    fn from(error: DumpError) -> Self {
        Error::from(error).into()
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
            RecorderError::Attach { .. } => "`anthill attach --help` lists the requirements.",
            RecorderError::NotRecorded(_) => {
                "`anthill recordings` lists the recorded JVMs; `anthill attach PID` starts a recording."
            }
            RecorderError::NoAgent(_) => {
                "Put it next to the program `anthill`; `./x build` does so."
            }
            RecorderError::Exists(_) => {
                "Choose another file with -o FILE, or overwrite it with --replace."
            }
            RecorderError::Program { .. } => "Check the command after `--`.",
            RecorderError::File { .. } | RecorderError::Trace(_) => {
                "Choose another place with --output FILE or --spool DIR."
            }
            RecorderError::Refused(_) | RecorderError::Agent(_) => "The program itself continues.",
        };
        Failure::unusable(error.to_string(), advice)
    }
}
