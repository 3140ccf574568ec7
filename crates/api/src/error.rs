//! Why there is no answer.

use std::io;
use std::path::Path;

use anthill_graph::Convention;
use anthill_heap::Cancelled;
use anthill_hprof::Error as DumpError;
use anthill_session::Error as SessionError;
use anthill_syntax::Mistake;
use anthill_trace::{Error as TraceError, Trace};

use crate::paths::{LedTo, unreachable};
use crate::units::counted;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The question was fine, but nothing answers it.
    #[error("{0}")]
    NothingFound(String),
    /// The question or the file cannot be used.
    #[error("{reason}")]
    Unusable {
        /// What is wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// A class was named where an object is wanted.
    #[error("`{class}` is a class, not the address of an object")]
    ClassInsteadOfObject {
        /// The name of the class.
        class: String,
        /// The file that was asked about.
        file: String,
    },
    /// No GC root keeps these objects alive.
    #[error("no path leads to {target}: {}", they_are(*objects, led_to))]
    Unreachable {
        /// How the objects were called.
        target: String,
        /// How many they are; nothing for a single one that was named.
        objects: Option<u64>,
        /// What leads to them without keeping them alive.
        led_to: Vec<LedTo>,
        /// Which references keep alive.
        convention: Convention,
    },
    /// Whoever asked no longer wants to know.
    #[error("cancelled")]
    Cancelled,
}

/// What to do about a recording with too few states.
pub const MORE_STATES: &str = "Record longer, allow more with --overhead, or take states with \
    `anthill snapshot PID`; `anthill recordings` shows when the next state is due.";

fn they_are(objects: Option<u64>, led_to: &[LedTo]) -> String {
    let why = unreachable(objects.unwrap_or(1), led_to);
    match objects {
        None => format!("it is {why}"),
        Some(objects) => format!("{} {why}", counted(objects, "object is", "objects are all")),
    }
}

impl Error {
    /// The question or the file cannot be used.
    pub fn unusable(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Error::Unusable {
            reason: reason.into(),
            advice: advice.into(),
        }
    }

    /// A comparison of states that a recording does not have.
    pub(crate) fn too_few_states(trace: &Trace, file: &Path, comparison: &str) -> Self {
        let reason = format!(
            "{}: {comparison} needs two heap states, but {}",
            file.display(),
            trace.about_states()
        );
        Error::unusable(reason, MORE_STATES)
    }

    /// A mistake in what was written for an option.
    pub fn written(mistake: &Mistake, option: &str, text: &str) -> Self {
        Error::unusable(
            mistake.show(option, text),
            "`anthill classifiers` lists all classifiers; docs/classification.md describes the language.",
        )
    }

    pub(crate) fn no_option(name: &str) -> Self {
        Error::mistake(format!("unknown option `{name}`"))
    }

    pub(crate) fn mistake(reason: impl Into<String>) -> Self {
        Error::unusable(reason, "docs/commands.md lists all options.")
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Dump(error) | SessionError::Trace(TraceError::File(error)) => {
                error.into()
            }
            SessionError::Trace(error) => {
                let advice = match &error {
                    TraceError::Io { .. } => "Check the path and the permissions of the file.",
                    _ => "Choose another state with --at; `anthill timeline` lists them.",
                };
                Error::unusable(error.to_string(), advice)
            }
            SessionError::NotRecorded(_) => Error::unusable(
                error.to_string(),
                "Heap dumps have them, and so do recordings made with --contents.",
            ),
            SessionError::Point(reason) => Error::unusable(
                reason,
                "For recordings, --at takes gc:N, #N, a time such as 2m30s or 14:05:30, the text of a \
                 mark, first or last. For files with several heap dumps, --dump takes a number.",
            ),
            SessionError::NoState(reason) => Error::unusable(reason, MORE_STATES),
            SessionError::NothingFound(what) => Error::NothingFound(what),
            SessionError::Keeping(reason) => Error::unusable(
                reason,
                "Remove --no-index, or choose a writable directory with --index DIR.",
            ),
            SessionError::Mistake(reason) => {
                Error::unusable(reason, "docs/groups.md describes the language of groups.")
            }
            SessionError::Question(reason) => Error::unusable(
                reason,
                "`anthill classifiers` lists all classifiers; docs/classification.md describes the language.",
            ),
        }
    }
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Error::Cancelled
    }
}

impl From<DumpError> for Error {
    fn from(error: DumpError) -> Self {
        let advice = match &error {
            DumpError::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "Check the path.",
                io::ErrorKind::PermissionDenied => {
                    "Run Anthill as the user who ran the JVM: only the owner can read a dump."
                }
                _ => "Copy the file to a local disk and try again.",
            },
            DumpError::NoSuchDump { .. } => {
                "Choose another dump with --dump, or omit it to use the last one."
            }
            DumpError::Unusable { .. } => {
                "Check that the file was copied completely. To take a heap dump, run `jcmd PID \
                 GC.heap_dump FILE`, or start the JVM with -XX:+HeapDumpOnOutOfMemoryError."
            }
            DumpError::Spool { advice, .. } => advice,
            DumpError::Cancelled => return Error::Cancelled,
        };
        Error::unusable(error.to_string(), advice)
    }
}
