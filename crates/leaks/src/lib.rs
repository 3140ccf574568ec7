//! Leak suspects: the few objects, groups of owners and classes that keep a disproportionate share
//! of the reachable heap alive (after HeapLens' four phases, with exact sizes and owner fronts). And
//! waste: what could be saved without anything else being kept alive.
//!
//! Knows heap states, graphs and the values in the file, but neither how results are named nor how they are shown.

mod accumulation;
mod owners;
mod roles;
mod suspects;
mod waste;

pub use owners::{Owners, fronts_of};
pub use roles::Roles;
pub use suspects::{
    Input, Kept, KeptGroup, Severity, Subject, Suspect, Suspects, Thresholds, suspects,
};
pub use waste::{Detail, Finding, Holder, HolderPlace, Row, WasteInput, WasteKind, waste};
