//! What can go wrong with a trace.

use std::path::{Path, PathBuf};

/// Why there is no trace, or no state of one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system could not read or write the file.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file could not be opened at all.
    #[error(transparent)]
    File(#[from] anthill_hprof::Error),
    /// The file, or the part that was asked for, cannot be used.
    #[error("{}: at offset {offset}: {reason}", path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
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
