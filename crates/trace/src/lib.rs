//! The trace format: a recording of a JVM as events and complete heap states in one file.
//!
//! A writer that appends blocks, a reader that opens whatever is whole, and the way from a
//! recorded state back to a heap state. Knows nothing of JVMs or analyses; the bytes are
//! specified in `docs/trace-format.md`.

#![warn(missing_docs)]

mod block;
mod column;
mod error;
mod events;
mod facts;
mod header;
#[cfg(test)]
mod mutations;
mod points;
mod reader;
mod rewrite;
mod state;
mod symbols;
mod tables;
mod values;
mod writer;

pub use error::Error;
pub use events::{Cost, Dropped, Event, Gc, Mark, Sample, ThreadEvent, Timeline, Violation};
pub use facts::Facts;
pub use header::{ClassTotals, EXHAUSTION, EXIT, IdentityKind, StateHeader, StateKind, Totals};
pub use points::{Point, duration, elapsed};
pub use reader::{Recorded, Trace, is_trace};
pub use rewrite::rewritten;
pub use state::{FollowedStructure, Identities, MOST_STRUCTURES, Moment, StateToWrite};
pub use symbols::{Symbols, ThreadName};
pub use values::values_of;
pub use writer::TraceWriter;
