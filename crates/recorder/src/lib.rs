//! Records a running JVM: listens to the agent, decides by the budget when a heap state is taken,
//! converts what the JVM writes and appends it to the trace.
//!
//! The agent inside the JVM decides nothing; whatever costs time happens here, beside the program.

#![warn(missing_docs)]

mod attach;
mod budget;
mod checks;
mod clock;
mod control;
mod convert;
mod error;
mod events;
mod folder;
mod heap_walk;
mod names;
mod options;
mod program;
mod recorder;
mod recording;
mod sampling;
mod schedule;
mod spool;

pub use attach::Jvm;
pub use checks::{Checker, Checking, FoundViolation, Violation};
pub use control::{Request, ask};
pub use convert::StateAnalysis;
pub use error::Error;
pub use folder::recorded;
pub use options::{Identity, RecordingOptions, When};
pub use recorder::{attach, record, serve};
