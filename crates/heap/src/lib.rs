//! The heap state: all objects alive at one moment, as columns over object numbers.
//!
//! Everything that is analysed is analysed on a [`HeapState`]. This crate knows no files, no
//! formats, no JVMs and prints nothing.

mod addresses;
mod bits;
mod both;
mod buffer;
mod builder;
mod class;
mod column;
mod missing;
mod offsets;
mod progress;
mod roots;
mod shared;
mod sizes;
mod state;
mod threads;

pub use addresses::{AddressFinder, AddressMap, AddressMapParts, Block};
pub use bits::BitSet;
pub use both::both;
pub use buffer::Buffer;
pub use builder::HeapBuilder;
pub use class::{
    Class, ClassKind, Field, FieldType, STACK_CHUNK, StaticField, Strength, Value, package_of,
};
pub use column::{Column, Owner};
pub use missing::{Missing, MissingKind};
pub use offsets::{Offsets, OffsetsView};
pub use progress::{Cancelled, Progress, Quiet};
pub use roots::{Root, RootKind, RootOrigin};
pub use shared::Shared;
pub use sizes::{ArrayLayout, Sizer, Sizes};
pub use state::{HeapColumns, HeapState, Tables};
pub use threads::{Frame, StackTrace, Thread};

/// The number of an object: its rank by address.
pub type ObjectId = u32;

/// The number of a class in [`HeapState::classes`].
pub type ClassId = u32;

/// The largest number of objects a heap state can hold; the numbers above are markers.
pub const MAX_OBJECTS: u64 = u32::MAX as u64 - 16;
