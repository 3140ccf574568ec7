//! The heap state: all objects alive at one moment, as columns over object numbers.
//!
//! Everything that is analysed is analysed on a [`HeapState`]. This crate knows no files, no
//! formats, no JVMs and prints nothing.

#![warn(missing_docs)]

mod addresses;
mod bits;
mod both;
mod buffer;
#[cfg(any(test, feature = "test-support"))]
mod builder;
mod check;
mod class;
mod class_fields;
mod column;
mod loaders;
mod missing;
mod object_lists;
mod offsets;
pub mod phrases;
mod progress;
mod recorded;
mod roots;
mod shared_once;
mod sizes;
mod state;
mod threads;

pub use addresses::{AddressFinder, AddressMap, AddressMapParts, Block};
pub use bits::BitSet;
pub use both::both;
pub use buffer::Buffer;
#[cfg(any(test, feature = "test-support"))]
pub use builder::HeapBuilder;
pub use class::{
    Class, ClassKind, Field, FieldType, STACK_CHUNK, StaticField, Strength, Value, package_of,
};
pub use class_fields::{ClassField, HeldByClass};
pub use column::{Column, Owner};
pub use loaders::Loaders;
pub use missing::{Missing, MissingKind};
pub use object_lists::ObjectLists;
pub use offsets::{Offsets, OffsetsView};
pub use progress::{Cancelled, Progress, Quiet};
pub use recorded::{
    LocatedValues, OBJECTS_PER_PART, PresentBits, RecordedValues, ReferenceCount, Slots,
    ValuePosition,
};
pub use roots::{Root, RootKind, RootOrigin};
pub use shared_once::SharedOnce;
pub use sizes::{ArrayLayout, Sizer, Sizes};
pub use state::{CLASS_LOADER, HeapColumns, HeapState, Tables};
pub use threads::{Frame, StackTrace, Thread};

/// The number of an object: its rank by address.
pub type ObjectId = u32;

/// The number of a class in [`HeapState::classes`].
pub type ClassId = u32;

/// The largest number of objects a heap state can hold; the numbers above are markers.
pub const MAX_OBJECTS: u64 = u32::MAX as u64 - 16;
