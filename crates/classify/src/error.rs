//! Why a classification cannot be had.

use anthill_heap::Cancelled;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cancelled")]
    Cancelled,
    /// A step cannot be evaluated on this heap.
    #[error("{step}: {reason}")]
    Step { step: String, reason: String },
    /// Each node costs time and memory to measure.
    #[error(
        "the tree has more than {0} nodes, too many to tell what each retains; take fewer objects or coarser steps"
    )]
    TooManyNodes(usize),
    /// What a person wrote was stopped; the message has the place.
    #[error("{0}")]
    Stopped(String),
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Error::Cancelled
    }
}
