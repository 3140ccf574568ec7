//! What can go wrong while recording.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no recording, or no longer.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("JVM {pid}: {reason}")]
    Attach { pid: u32, reason: String },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("JVM {0} is not being recorded")]
    NotRecorded(u32),
    #[error("the recorder reports: {0}")]
    Refused(String),
    #[error("the agent in the JVM: {0}")]
    Agent(String),
    #[error("{0} already exists")]
    Exists(PathBuf),
    #[error("cannot start {program}: {source}")]
    Program { program: String, source: io::Error },
    #[error("agent library not found: {0}")]
    NoAgent(PathBuf),
    #[error(transparent)]
    Trace(#[from] anthill_trace::Error),
}

impl Error {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Error::File {
            path: path.to_owned(),
            source,
        }
    }
}
