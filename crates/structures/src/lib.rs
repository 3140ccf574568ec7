//! Data structures: the language that describes them, the shipped definitions, and their detection in
//! a heap.
//!
//! Knows heap states and, where there is one, the values in a file, but not how anything is shown.

mod definitions;
mod detect;
mod growth;
mod language;
mod members;
mod model;
mod names;
mod room;
mod scanner;
mod stated;
mod tally;
mod telling;
mod together;
mod walk;
mod warnings;

pub use definitions::{Definitions, Origin, Placed};
pub use detect::{Inside, Instance, Structures};
pub use growth::{Earlier, Grown, Holder, Inventory, Observed, grown, growth_portion};
pub use language::{
    Capacity, Definition, FieldName, Item, Kind, Measure, Role, SizeField, Target, parse,
};
pub use model::Model;
pub use room::Room;
pub use together::{Together, Unions};
pub use walk::{Array, Met, Shared, Walker};
pub use warnings::Warning;
