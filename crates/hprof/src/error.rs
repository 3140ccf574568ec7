//! What can make a dump unusable.

use std::path::{Path, PathBuf};

use anthill_heap::Cancelled;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: at offset {offset}: {reason}", path.display())]
    Unusable {
        path: PathBuf,
        offset: u64,
        reason: String,
    },
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
