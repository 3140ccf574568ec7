//! What can go wrong with a trace.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The file, or the part that was asked for, cannot be used.
    #[error("{}: at offset {offset}: {reason}", path.display())]
    Unusable {
        path: PathBuf,
        offset: u64,
        reason: String,
    },
    /// What was to be written does not fit the format.
    #[error("cannot be recorded: {0}")]
    Unwritable(String),
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn unusable(path: &Path, offset: u64, reason: impl Into<String>) -> Self {
        Error::Unusable {
            path: path.to_owned(),
            offset,
            reason: reason.into(),
        }
    }
}
