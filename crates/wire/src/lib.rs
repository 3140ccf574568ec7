//! What the agent inside a JVM and the recorder outside say to each other: messages in frames on a Unix
//! stream socket, and the file of a walk through the heap. Knows neither JVMTI nor the trace, and depends on
//! nothing, because the agent must stay small.
//!
//! A frame is the length of what follows (u32), the kind of message (u8) and its fields in order, all
//! little-endian. Texts and lists are their length (u32) and their content; an option is a byte, 0 or 1, and
//! what is there. The recorder creates the socket, the agent connects and says [`Hello`] first.
//!
//! *Times* are nanoseconds of the machine's monotonic clock (`CLOCK_MONOTONIC`), which every process reads the same.
//!
//! *Ids* number objects that are followed and classes. They come from one counter, are never given twice while the agent
//! stays connected, and start at 1; 0 means none. The id of a class is the id of its `java.lang.Class` object.
//!
//! *Symbols* (classes, methods, stacks, threads) are sent once, before the first message that names them.

#![warn(missing_docs)]

mod codec;
mod fields;
mod frame;
mod message;
pub mod walk_file;

pub use codec::Malformed;
pub use fields::{FieldPlace, field_places};
pub use frame::{Frames, MAX_FRAME};
pub use message::*;

/// What loading the agent into a running JVM returns; the JVM passes it on.
pub mod attach_result {
    /// The agent talks to the recorder that had it loaded.
    pub const RECORDING: i32 = 0;
    /// Another recorder is connected already.
    pub const BUSY: i32 = 1;
    /// The reason is on the program's standard error.
    pub const FAILED: i32 = 2;
}

/// Grows whenever a message changes; both sides refuse to talk to another version.
pub const PROTOCOL: u32 = 5;
