//! The Java libraries as Maven builds and installs them, and a project that uses them. Without a
//! network: from what `./x test` keeps in `.tools/m2`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::process::{Finished, run, run_successfully};
use crate::{Jdk, agent, repository, skipped, target};

const TIMEOUT: Duration = Duration::from_secs(1200);
/// Larger files of a repository are never written again, so they need not be copied.
const SMALL: u64 = 1 << 16;

/// Maven with a local repository in the target folder, in which the libraries of `java` are installed.
pub struct Maven {
    repository: PathBuf,
}

impl Maven {
    /// The libraries are built from the present sources, with the program and the agent of the tests
    /// inside. Nothing, and said so, without Maven or what it needs.
    ///
    /// # Panics
    /// When they cannot be built; the message has Maven's output.
    pub fn with_libraries() -> Option<&'static Maven> {
        static MAVEN: OnceLock<Option<Maven>> = OnceLock::new();
        MAVEN.get_or_init(installed).as_ref()
    }

    /// Runs goals on the project in a folder of `java`. The tests of a project run on the given JVM.
    ///
    /// # Panics
    /// When Maven cannot be started or takes too long.
    pub fn run(&self, project: &str, jvm: &Jdk, arguments: &[&str]) -> Finished {
        let java = jvm.command("java").get_program().to_owned();
        let mut maven = self.command(&repository().join("java").join(project));
        maven
            .arg(format!("-Djvm={}", Path::new(&java).display()))
            .args(arguments);
        run(&mut maven, TIMEOUT).unwrap_or_else(|why| panic!("{why}"))
    }

    fn command(&self, project: &Path) -> Command {
        let mut maven = Command::new("mvn");
        for options in ["JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "MAVEN_ARGS"] {
            maven.env_remove(options);
        }
        if let Some(jdk) = Jdk::installed() {
            maven.env("JAVA_HOME", jdk.home());
        }
        maven
            .args(["--offline", "--batch-mode", "--no-transfer-progress"])
            .arg("--file")
            .arg(project.join("pom.xml"))
            .arg(format!("-Dmaven.repo.local={}", self.repository.display()))
            .arg(format!("-Danthill.target={}", target().display()))
            // What is unpacked from the jar stays in the target folder.
            .env("XDG_CACHE_HOME", target().join("java/cache"))
            .env("LC_ALL", "C.UTF-8");
        maven
    }
}

fn installed() -> Option<Maven> {
    let tools = repository().join(".tools");
    Jdk::installed()?;
    if !tools.join("maven-build").is_file() {
        skipped(
            "tests of the Java libraries",
            "Maven or what it builds with is not there; ./x test fetches it",
        );
        return None;
    }
    let made = target().join("java");
    let library = agent();
    let binaries = library.parent().expect("the agent lies in a folder");
    let mut stage = Command::new(repository().join("java/anthill-native/stage"));
    stage.arg(binaries).arg(made.join("native"));
    let maven = Maven {
        repository: made.join("m2"),
    };
    let built = copy(&tools.join("m2"), &maven.repository)
        .map_err(|error| format!("cannot copy {}: {error}", tools.join("m2").display()))
        .and_then(|()| run_successfully(&mut stage, TIMEOUT))
        .and_then(|_| {
            let mut install = maven.command(&repository().join("java"));
            run_successfully(install.arg("install"), TIMEOUT)
        });
    built.unwrap_or_else(|why| panic!("cannot build the Java libraries: {why}"));
    Some(maven)
}

/// Where a repository has the libraries of `java`.
const OWN: &str = "dev/anthill";

/// Copies what is not there yet, except for libraries that are built here; large files are linked where that is
/// possible.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        let copied = to.join(entry.file_name());
        if copied.ends_with(OWN) {
            continue;
        } else if kind.is_dir() {
            copy(&entry.path(), &copied)?;
        } else if !copied.exists() {
            let linked = kind.len() > SMALL && fs::hard_link(entry.path(), &copied).is_ok();
            if !linked {
                fs::copy(entry.path(), &copied)?;
            }
        }
    }
    Ok(())
}
