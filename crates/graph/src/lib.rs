//! Who keeps what alive: reachability, dominators, retained sizes, closures and paths.
//!
//! Works on numbers only: it knows neither names of classes nor files. Everything is iterative,
//! for a chain of ten million objects is a normal heap.

#![warn(missing_docs)]

mod amounts;
mod borrowed;
mod closure;
mod components;
mod convention;
mod deep;
mod depth_first;
mod dominators;
mod fronts;
mod graph;
mod groups;
mod holders;
mod owned;
mod paths;
mod references;
mod sets;
mod threads;

pub use amounts::Amounts;
pub use borrowed::{Borrowed, passes};
pub use closure::{
    cut_closure, gc_closure, gc_closure_among, reachable, transitive_closure, weakly_reachable,
};
pub use components::Components;
pub use convention::Convention;
pub use deep::deep_by_groups;
pub use depth_first::DepthFirst;
pub use dominators::{Dominators, ROOT, UNREACHABLE, bottom_up};
pub use fronts::{FrontOptions, owner_fronts};
pub use graph::{EdgeKind, Graph, NodeId};
pub use groups::{GroupTotals, Membership, retained_by_groups};
pub use holders::held_otherwise;
pub use owned::{Data, Reached, owned_by_each, reached_from};
pub use paths::{Paths, RootPath};
pub use references::{Incoming, references_to};
pub use threads::kept_by_threads;

#[cfg(test)]
mod brute_force;
