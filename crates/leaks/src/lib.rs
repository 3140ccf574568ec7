//! Leak suspects: the few objects, groups of owners and classes that keep a disproportionate share
//! of the reachable heap alive (after HeapLens' four phases, with exact sizes and owner fronts), with the
//! paths, contents, patterns and fingerprints that explain them. And waste: what could be saved without
//! anything else being kept alive.
//!
//! Decides what is suspicious; knows nothing of how results are shown.

#![warn(missing_docs)]

mod accumulation;
mod alike;
mod fingerprint;
mod fronts;
mod leak;
mod loader_holders;
mod loaders;
mod names;
mod other_holders;
mod out_of_memory;
mod outside;
mod owners;
mod patterns;
mod place;
mod report;
mod roles;
mod suspects;
mod waste;

pub use alike::main_part;
pub use fronts::{OwnerFront, owner_fronts};
pub use leak::Leak;
pub use loader_holders::{CommonHolder, LoaderHolder, loader_holders};
pub use loaders::is_stopped;
pub use names::{NamedBy, Samples};
pub use out_of_memory::OutOfMemory;
pub use owners::{Owners, fronts_of};
pub use patterns::{ListenerSign, Pattern};
pub use place::{Elements, FieldPlace};
pub use report::{ContainedClass, Report, ReportedSuspect, report};
pub use roles::Roles;
pub use suspects::{Kept, KeptGroup, Severity, Subject, Suspect, Suspects, Thresholds, suspects};
pub use waste::{Detail, Finding, Holder, HolderPlace, Row, WasteKind, holder_name, waste};
