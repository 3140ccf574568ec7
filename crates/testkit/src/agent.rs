//! The agent's library, built once: `cargo test` builds no library for the JVM by itself.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::{process, repository, target};

const TIMEOUT: Duration = Duration::from_secs(1200);

/// The path of the agent's library, built from the present sources.
///
/// # Panics
/// When it cannot be built; the message has the compiler's output.
pub fn agent() -> PathBuf {
    static AGENT: OnceLock<PathBuf> = OnceLock::new();
    AGENT
        .get_or_init(|| {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut build = Command::new(cargo);
            build
                .current_dir(repository())
                .args(["build", "-q", "-p", "anthill-agent"]);
            process::run_successfully(&mut build, TIMEOUT)
                .unwrap_or_else(|why| panic!("cannot build the agent: {why}"));
            target().join("debug/libanthill_agent.so")
        })
        .clone()
}
