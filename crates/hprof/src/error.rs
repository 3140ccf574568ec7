//! What can make a dump unusable.

use std::path::{Path, PathBuf};

use anthill_heap::Cancelled;

/// Why there is no heap state.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system could not read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file has nothing that could be read as a heap.
    #[error("{}: at offset {offset}: {reason}", path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// Where in the unpacked file.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The file has fewer dumps than were asked for.
    #[error("{}: there is no dump number {number} in the file: it contains {dumps}", path.display())]
    NoSuchDump {
        /// Which file.
        path: PathBuf,
        /// The number that was asked for, from 1.
        number: usize,
        /// How many there are.
        dumps: usize,
    },
    /// What is packed or comes out of a pipe could not be copied to a temporary file.
    #[error("{}: {reason}", path.display())]
    Spool {
        /// Which dump.
        path: PathBuf,
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// Nobody wants it any more.
    #[error("cancelled")]
    Cancelled,
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

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Error::Cancelled
    }
}
