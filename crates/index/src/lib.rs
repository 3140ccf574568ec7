//! The index: what was read or computed for a dump, kept on disk and mapped when it is needed again.
//!
//! Knows no analyses: they name their own sections. Nothing in an index is trusted unless it was
//! written under the key of its directory.

#![warn(missing_docs)]

mod dump;
mod file;
mod key;

pub use dump::{mapped, restore, save};
pub use file::{Identity, Index, IndexWriter};
pub use key::Key;
