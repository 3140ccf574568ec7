//! Fuzzers of everything that reads bytes or texts of others: the readers of dumps, traces, indexes and
//! packed files, and the four languages. Whatever a reader lets pass is analysed, since damage often shows
//! only there.
//!
//! A fuzzer changes seeds (`corpus`) at random, knowing the structure of what it changes, and runs its
//! target on what comes out. With the compiler's coverage counters (`coverage`) it keeps what led
//! somewhere new. Runs with the same seed of the random numbers are the same. For tests only.

mod coverage;
mod mutation;
mod questions;
mod runner;
mod targets;

pub use runner::{Limits, Outcome, replay, run};
pub use targets::{TARGETS, Target};
