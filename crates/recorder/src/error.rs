//! What can go wrong while recording.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("JVM {pid}: {reason}")]
    Attach { pid: u32, reason: String },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("JVM {0} is not being recorded")]
    NotRecorded(u32),
    #[error("the recorder says: {0}")]
    Refused(String),
    #[error("the agent in the JVM: {0}")]
    Agent(String),
    #[error("{0} is there already")]
    Exists(PathBuf),
    #[error("{program} cannot be started: {source}")]
    Program { program: String, source: io::Error },
    #[error("the agent's library is missing: {0}")]
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
