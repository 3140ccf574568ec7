//! The values of a dump's objects as columns: which references are null, and contents.

use anthill_hprof::{Dump, RecordedValues};

/// What a recorded state keeps of the values of a dump; with `contents` those of primitive
/// types as well.
pub fn values_of(dump: &Dump, contents: bool) -> RecordedValues {
    let _ = contents;
    RecordedValues {
        id_size: dump.info.id_size,
        ..RecordedValues::default()
    }
}
