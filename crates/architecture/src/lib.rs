//! Checks that the code keeps to the rules it states, for tests only.
//!
//! Each check takes plain data and answers with what is wrong, in words; `tests/repository.rs` asks all of them about
//! this repository. Knows nothing of what the crates do.

pub mod dependencies;
pub mod licences;
pub mod sources;
pub mod table;
pub mod workspace;
