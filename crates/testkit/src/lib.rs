//! Real JVMs for tests: finds the JDKs on this machine, runs the sample programs of `java/samples`,
//! `java/collections`, `java/leaks` and `java/tomcat` on them, asks the JVM for its own class histogram and heap dumps, and unpacks stored dumps.
//! Where no JVM can be asked, it writes dumps itself: byte by byte (`hprof`), or of a small heap that a test describes (`heap`)
//! or that chance makes (`random`); `brute_force` answers by brute force what analyses are to say about it.
//!
//! For tests only, so what cannot be done panics with the reason. Knows nothing about Anthill's own
//! crates: what it returns is the outside truth they are compared with.

mod agent;
mod asserted;
mod asserting;
mod beside;
pub mod brute_force;
mod collections;
pub mod heap;
pub mod histogram;
pub mod hprof;
mod javac;
mod jdk;
mod leaks;
mod maven;
pub mod process;
pub mod random;
mod sample;
mod tomcat;
mod unpack;

use std::io::Write;
use std::path::{Path, PathBuf};

pub use agent::agent;
pub use beside::Beside;
pub use histogram::{Histogram, Total};
pub use javac::api;
pub use jdk::Jdk;
pub use maven::Maven;
pub use sample::{DumpOptions, Sample};
pub use unpack::unpack;

/// The folder that holds the workspace.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/testkit lies two levels below the repository")
}

/// Cargo's target folder, where the test kit keeps what it makes.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => repository().join(dir),
        None => repository().join("target"),
    }
}

/// The folder of stored dumps with ground truth, if it lies beside the repository.
pub fn corpus() -> Option<PathBuf> {
    let corpus = repository().parent()?.join("shared/corpus");
    corpus.is_dir().then_some(corpus)
}

/// Says on standard output, where `./x test` counts it, that a test did not check something. Not through
/// `println!`, whose output the test harness keeps to itself when a test passes.
pub fn skipped(what: &str, why: &str) {
    let line = format!("SKIPPED {what}: {why}\n");
    // Nobody is left to tell when standard output is closed.
    let _ = std::io::stdout().write_all(line.as_bytes());
}
