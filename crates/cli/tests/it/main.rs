//! Runs the program itself on real dumps and compares what it prints with what the JVM, the sample
//! programs and the expected files say.

mod asserted;
mod chain;
mod check;
mod classify;
mod demo;
mod groups;
mod growth;
mod help;
mod input;
mod junit;
mod live_assertions;
mod merged_paths;
mod multi_cache;
mod open;
mod program;
mod record;
mod recording;
mod report;
mod shapes;
mod structures;
mod tomcat;
mod waste;
