//! HPROF bytes → heap state, field values and strings on demand.
//!
//! Knows no analyses. Nothing in a file is trusted: every length is checked, damage is passed
//! over, and what is missing is listed in the heap state.

#![warn(missing_docs)]

mod classes;
mod columns;
mod disk_space;
mod dump;
mod dump_bytes;
mod error;
pub mod input;
pub mod layout;
mod load;
mod mapping;
mod mat;
mod read;
mod records;
mod spool;
mod subrecord;
mod survey;
mod values;

pub use classes::java_name;
pub use disk_space::{DiskSpace, available_memory};
pub use dump::{Dump, DumpInfo};
pub use dump_bytes::{DumpBytes, map};
pub use error::Error;
#[cfg(unix)]
pub use mapping::{FILE_CHANGED, survive_file_signals};
pub use mat::mat_sizes;
pub use values::{Cursor, FieldPlace, FieldValue, Records};
