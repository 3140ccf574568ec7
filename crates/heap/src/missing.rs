//! What a source could not deliver: every result carries this list, so that a damaged file
//! never looks like a whole one.

use serde::{Deserialize, Serialize};

/// What a source can lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingKind {
    /// The source ends before its own end.
    Truncated,
    /// Bytes that could not be understood and were passed over.
    Unreadable,
    /// Something stated wrongly that could be put right, e.g. a length field.
    Repaired,
    /// A class that objects belong to but that is not described.
    UnknownClass,
    /// Objects stated more than once or without an address.
    BadObjects,
    /// References to objects that are not there.
    DanglingReferences,
    /// A whole part is absent, e.g. there are no GC roots.
    Absent,
    /// Nothing is missing, but the source shows another graph than a heap dump of the same moment.
    OtherGraph,
}

/// Something that the source lacks, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What is lacking.
    pub kind: MissingKind,
    /// Where in the source, in bytes from its start, if it has a place.
    pub offset: Option<u64>,
    /// How many bytes, objects or references, depending on the kind.
    pub amount: u64,
    /// One sentence for a person, counts with separators.
    pub what: String,
}
