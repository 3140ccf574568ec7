//! What a heap state is summed up in: small, so that a timeline over all states reads only this.

use serde::{Deserialize, Serialize};

/// The mark of the state that a recorder takes when the program exits: what only its threads' local variables held is gone.
pub const EXIT: &str = "exit";
/// The mark of the state that the JVM writes at its first OutOfMemoryError.
pub const EXHAUSTION: &str = "out of memory";

/// How a state was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateKind {
    /// By the JVM's own dumper.
    Dump,
    /// By walking the heap object by object.
    Walk,
}

/// Which objects can be found again in another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdentityKind {
    /// No object.
    None,
    /// Those that were tagged.
    Tracked,
    /// Every object.
    All,
}

/// Objects and their shallow sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many.
    pub objects: u64,
    /// Their shallow sizes, added up.
    pub bytes: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}

/// All objects of the classes of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassTotals {
    /// The number of its name in [`crate::Symbols`].
    pub class: u32,
    /// Whether or not they are alive.
    pub all: Totals,
    /// Of them those that GC roots keep alive, if that was computed.
    pub reachable: Option<Totals>,
}

/// What a timeline knows of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHeader {
    /// From 1, without gaps in what was recorded.
    pub number: u32,
    /// The collection after which it was taken.
    pub gc: Option<u64>,
    /// Nanoseconds since the recording's start.
    pub time: u64,
    /// How it was taken.
    pub kind: StateKind,
    /// The text it was asked for with, if a person or the program did.
    pub mark: Option<String>,
    /// Nanoseconds the program stood still for it.
    pub pause: u64,
    /// All objects of the state.
    pub all: Totals,
    /// Of them those that GC roots keep alive, if that was computed.
    pub reachable: Option<Totals>,
    /// Ordered by class number.
    pub classes: Vec<ClassTotals>,
    /// Bytes of the heap dump the state was made from.
    pub source_bytes: Option<u64>,
    /// Which objects can be found again.
    pub identity: IdentityKind,
    /// Whether null fields are told from others, so that references have names.
    pub names: bool,
    /// Whether values of primitive type were recorded.
    pub contents: bool,
    pub(crate) shape: Shape,
}

/// How many values and blocks the columns of a state have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub objects: u32,
    pub references: u64,
    pub referents: u32,
    /// By column: its number of blocks.
    pub parts: Vec<(u8, u32)>,
    pub id_size: u8,
    pub timestamp: u64,
}
