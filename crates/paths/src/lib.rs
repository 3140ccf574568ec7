//! How objects are held, for people: paths from the GC roots to one object or merged for many, owner paths
//! that are the same in every dump, and the folded upper part of the dominator tree.
//!
//! Knows sessions and names of objects, but not what is suspicious and not how results are shown.

#![warn(missing_docs)]

mod dominator_tree;
mod merged_paths;
mod object_paths;
mod owner_paths;
mod owner_tree;
mod path_graph;
mod readable_path;
mod references;
mod roots;
mod structure_parts;
mod structure_places;

pub use dominator_tree::{Member, TreeItem, TreeOptions, dominator_tree};
pub use merged_paths::{Branch, BranchClass, MergedPaths, Merger, collapsed_paths, merged_paths};
pub use object_paths::{ObjectPaths, paths_to, weak_references_to};
pub use owner_paths::owner_paths;
pub use owner_tree::{OwnerGroup, OwnerTree, without_numbers};
pub use path_graph::{PathEdge, PathGraph, PathNode};
pub use readable_path::{
    PATH_ENDS, PathStep, ReadablePath, collapsed_steps, path_steps, readable_path,
};
pub use references::{
    Direction, MergedReferences, Reference, incoming, merged, outgoing, retained_at_least,
};
pub use roots::RootsByObject;
pub use structure_places::{StructurePlace, held_by, structure_places};
