//! The commands, one file each: their arguments, and how their result is shown.

pub mod histogram;
pub mod summary;
