//! Leak suspects: the few objects, groups of owners and classes that keep a disproportionate share
//! of the reachable heap alive (after HeapLens' four phases, with exact sizes and owner fronts).
//!
//! Knows heap states and graphs, but neither how results are named nor how they are shown.

mod accumulation;
mod owners;
mod roles;
mod suspects;

pub use owners::{Owners, fronts_of};
pub use roles::Roles;
pub use suspects::{Input, KeptClass, Severity, Subject, Suspect, Suspects, Thresholds, suspects};
