//! HPROF bytes → heap state, field values and strings on demand, and the index kept on disk.
//!
//! Knows no analyses. Nothing in a file is trusted: every length is checked, damage is passed
//! over, and what is missing is listed in the heap state.

mod classes;
mod columns;
mod content;
mod dump;
mod error;
pub mod index;
pub mod layout;
mod load;
mod mat;
mod read;
mod recorded;
mod records;
mod stored;
mod subrecord;
mod survey;
mod values;

pub use classes::java_name;
pub use content::{Content, map_file};
pub use dump::{Dump, DumpInfo};
pub use error::Error;
pub use mat::mat_sizes;
pub use recorded::{OBJECTS_PER_PART, PresentBits, RecordedValues, Slots};
pub use values::{Cursor, FieldPlace, FieldValue, Records};
