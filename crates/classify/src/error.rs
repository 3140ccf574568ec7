//! Why a classification cannot be had.

use anthill_heap::Cancelled;

/// Why there is no classification.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody wants it any more.
    #[error("cancelled")]
    Cancelled,
    /// A step cannot be evaluated on this heap.
    #[error("{step}: {reason}")]
    Step {
        /// As it was written.
        step: String,
        /// What is wrong.
        reason: String,
    },
    /// Each node costs time and memory to measure.
    #[error(
        "the tree has more than {0} nodes, too many to compute retained sizes; select fewer \
        objects or use coarser steps"
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
