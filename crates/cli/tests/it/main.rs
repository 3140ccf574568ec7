//! Runs the program itself on real dumps and compares what it prints with what the JVM, the sample
//! programs and the expected files say.

// Nobody sees tests from outside: `pub` says that other modules use it.
#![allow(unreachable_pub)]

mod allocations;
mod asserted;
mod brute_force;
mod bytes;
mod chain;
mod check;
mod classify;
mod demo;
mod elements;
mod explained;
mod groups;
mod growth;
mod hand_written;
mod help;
mod honest;
mod input;
mod junit;
mod leaks;
mod live_assertions;
mod merged_paths;
mod multi_cache;
mod notes;
mod open;
mod pipes;
mod program;
mod record;
mod recording;
mod references;
mod report;
mod shapes;
mod structures;
mod telling_states;
mod tomcat;
mod waste;
