//! Everything that explains a heap against an implementation that searches by brute force, on random small heaps that are written as
//! HPROF files and as traces and read back.
//!
//! `ANTHILL_BRUTE_FORCE=100000` looks at so many heaps in each check, `ANTHILL_BRUTE_FORCE_SEED=7` begins with another one.

mod answers;
mod built;
mod cases;
mod dominance;
mod groups;
mod merged;
mod paths;
mod report;
mod roots;
mod sources;
mod structures;
mod threads;
mod waste;
