//! The heap over time: the timeline of a recording or of a series of dumps, its layers by any classifiers, and
//! what changed between states by class, object and data structure.
//!
//! Opens no files but recordings; heap states come as sessions. Knows nothing of how results are shown.

#![warn(missing_docs)]

mod allocations;
mod diff;
mod evolution;
mod growth;
mod growth_places;
mod history;
mod identities;
mod layers;
mod newcomers;

pub use allocations::{Allocated, Allocations, Call, CallNode, Order};
pub use diff::{Change, Changed, Figures, Snapshot, changes};
pub use evolution::{Evolution, EvolvedNode, evolution};
pub use growth::{
    InnermostGrowth, JointGrowth, innermost_growth, inventory, inventory_by_path, is_identity,
    joint_growth, names_by_identity, retained_together, structure_names, structures_by_name,
    without_alike,
};
pub use growth_places::{GrownElements, GrownPlace, grown_places};
pub use history::{
    DumpMoment, HeapMoment, History, LeakWindow, StructureHistory, TypeHistory, end_of_growth,
    moments,
};
pub use identities::{identities_missing, shares_identities};
pub use layers::{Layer, Layers, Measure, spread};
pub use newcomers::{Newcomers, NewcomersOfKind, Window};
