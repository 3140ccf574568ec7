//! The commands, one file each: their arguments, and how their result is shown.

pub mod dominators;
pub mod histogram;
pub mod object;
pub mod paths;
pub mod summary;
