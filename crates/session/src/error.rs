//! What can keep a session from answering.

use anthill_heap::Cancelled;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The dump, or the system, does not allow it.
    #[error(transparent)]
    Dump(#[from] anthill_hprof::Error),
    /// The recording does not allow it.
    #[error(transparent)]
    Trace(#[from] anthill_trace::Error),
    /// The source has no such dump or state.
    #[error("{0}")]
    Point(String),
    /// The recording has no state at all; the text says why.
    #[error("{0}")]
    NoState(String),
    /// The recording was made without something that the question needs.
    #[error("{0} were not recorded")]
    NotRecorded(&'static str),
    /// The question cannot be answered on this heap.
    #[error("{0}")]
    Question(String),
    /// Something could not be kept for later.
    #[error("{0}")]
    Keeping(String),
    /// The question was written wrongly; the text shows where.
    #[error("{0}")]
    Mistake(String),
    /// The question names something that this heap does not have.
    #[error("{0}")]
    NothingFound(String),
}

impl From<Cancelled> for Error {
    fn from(cancelled: Cancelled) -> Self {
        Error::Dump(cancelled.into())
    }
}

impl From<anthill_classify::Error> for Error {
    fn from(error: anthill_classify::Error) -> Self {
        match error {
            anthill_classify::Error::Cancelled => Cancelled.into(),
            error => Error::Question(error.to_string()),
        }
    }
}
