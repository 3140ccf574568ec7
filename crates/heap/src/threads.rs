//! Threads and the stacks they stood on.

use serde::{Deserialize, Serialize};

use crate::ObjectId;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub class: String,
    pub method: String,
    pub signature: String,
    pub source: Option<String>,
    /// A line number; negative values mean "native", "compiled" or "unknown".
    pub line: i32,
}

/// A stack trace: indices into [`crate::Tables::frames`], innermost frame first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackTrace {
    pub serial: u32,
    pub thread_serial: u32,
    pub frames: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    pub serial: u32,
    /// The `java.lang.Thread` object, if the source has it.
    pub object: Option<ObjectId>,
    pub name: Option<String>,
    /// Index into [`crate::Tables::traces`].
    pub trace: Option<u32>,
}
