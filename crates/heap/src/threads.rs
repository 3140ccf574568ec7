//! Threads and the stacks they stood on.

use serde::{Deserialize, Serialize};

use crate::ObjectId;

/// A method call on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The class of the method, in Java notation.
    pub class: String,
    /// The method's name.
    pub method: String,
    /// The method's signature as class files have it.
    pub signature: String,
    /// The source file, if the class knows it.
    pub source: Option<String>,
    /// A line number; negative values mean "native", "compiled" or "unknown".
    pub line: i32,
}

/// A stack trace: indices into [`crate::Tables::frames`], innermost frame first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackTrace {
    /// What the source calls the stack trace.
    pub serial: u32,
    /// What the source calls its thread.
    pub thread_serial: u32,
    /// Indices into [`crate::Tables::frames`].
    pub frames: Vec<u32>,
}

/// A thread that was alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// What the source calls it.
    pub serial: u32,
    /// The `java.lang.Thread` object, if the source has it.
    pub object: Option<ObjectId>,
    /// Its Java name, if the source tells.
    pub name: Option<String>,
    /// Index into [`crate::Tables::traces`].
    pub trace: Option<u32>,
}
