//! Data structures: the language that describes them, the shipped definitions, and their detection in
//! a heap.
//!
//! Knows heap states and, where there is one, the values in a file, but not how anything is shown.

#![warn(missing_docs)]

mod definitions;
mod detect;
mod element_counts;
mod elements;
mod growth;
mod language;
mod members;
mod model;
mod names;
mod reported;
mod slot_policy;
mod tally;
mod together;
mod walker;
mod warnings;

pub use definitions::{Definitions, Origin, Placed};
pub use detect::{Inside, Instance, Structures};
pub use elements::Element;
pub use growth::{Earlier, Grown, Holder, Inventory, Observed, grown, growth_portion};
pub use language::{
    Capacity, Definition, FieldName, Item, Kind, Measure, Role, SizeField, Target, parse,
};
pub use members::{HeadPlace, MemberRole, Members};
pub use model::Model;
pub use slot_policy::SlotPolicy;
pub use together::{Together, Unions};
pub use walker::{Array, Met, Shared, Walker};
pub use warnings::Warning;
