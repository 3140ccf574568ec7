//! Structures of real JVMs: what a program says it has built is what is found.

mod shipped;
