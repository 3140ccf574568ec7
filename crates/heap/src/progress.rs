//! How long work reports its progress and learns that nobody wants it any more.

/// The work was cancelled through [`Progress::cancelled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Who watches the work.
pub trait Progress: Sync {
    /// A new stage begins, with `total` units of work.
    fn stage(&self, name: &str, total: u64);
    /// `done` more units of the current stage are finished.
    fn advance(&self, done: u64);
    /// Whether the work should end without a result.
    fn cancelled(&self) -> bool {
        false
    }

    /// For work that ends with `?` once it is cancelled.
    fn check(&self) -> Result<(), Cancelled> {
        if self.cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

/// Nobody watches.
pub struct Quiet;

impl Progress for Quiet {
    fn stage(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}
