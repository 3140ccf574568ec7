//! The programs of `java/leaks`: known leaks of libraries, which `./x test` keeps in `.tools/lib/leaks`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::javac::{compile_by, joined, libraries};
use crate::{Jdk, Sample, repository, skipped};

impl Sample {
    /// Starts a program that leaks. Nothing, and said so, without the libraries.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_leak(jdk: &Jdk, name: &str) -> Option<Sample> {
        static CLASS_PATH: OnceLock<Option<Vec<PathBuf>>> = OnceLock::new();
        let class_path = CLASS_PATH.get_or_init(class_path).as_ref()?;
        let (name, flags) = (format!("anthill.leaks.{name}"), ["-Xmx256m"]);
        Some(Sample::start_with(jdk, class_path, &name, &[], &flags))
    }

    /// Runs a program that fills its heap, of which the JVM writes a dump; what it printed. Nothing, and said so, without the
    /// libraries.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn fill_heap(jdk: &Jdk, dump: &Path) -> Option<String> {
        let class_path = class_path()?;
        let _ = std::fs::remove_file(dump);
        let output = jdk
            .command("java")
            .args(["-Xmx48m", "-XX:+HeapDumpOnOutOfMemoryError"])
            .arg(format!("-XX:HeapDumpPath={}", dump.display()))
            .arg("-cp")
            .arg(joined(&class_path))
            .arg("anthill.leaks.OutOfMemory")
            .output()
            .expect("a JVM can be started");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn class_path() -> Option<Vec<PathBuf>> {
    let mut class_path = libraries("leaks");
    if class_path.is_empty() {
        skipped(
            "tests on known leaks of libraries",
            "no libraries in .tools/lib/leaks; ./x test fetches them with Maven",
        );
        return None;
    }
    let sources = repository().join("java/leaks/anthill/leaks");
    // Classes of libraries refer to annotations that are in none of these.
    let arguments = [
        "-encoding",
        "UTF-8",
        "--release",
        "11",
        "-proc:none",
        "-Xlint:-options",
    ];
    class_path.push(compile_by("javac", &arguments, &sources, &class_path));
    Some(class_path)
}
