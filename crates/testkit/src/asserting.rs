//! The programs of `java/asserting`, which make GC assertions and tell what came back.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::javac::compile;
use crate::sample::classes;
use crate::{Jdk, Sample, api, repository};

impl Sample {
    /// Starts a program that makes assertions.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_asserting(jdk: &Jdk, name: &str, arguments: &[&str], flags: &[&str]) -> Sample {
        Sample::start_with(jdk, class_path(), name, arguments, flags)
    }

    /// The same by a program that runs the command that is appended to it.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_asserting_by(
        mut launcher: Command,
        jdk: &Jdk,
        name: &str,
        arguments: &[&str],
        flags: &[&str],
    ) -> Sample {
        launcher.arg(jdk.command("java").get_program());
        Sample::start_as(launcher, jdk, class_path(), name, arguments, flags)
    }
}

fn class_path() -> &'static [PathBuf] {
    static CLASS_PATH: OnceLock<Vec<PathBuf>> = OnceLock::new();
    CLASS_PATH.get_or_init(|| {
        let mut class_path = vec![classes().to_owned(), api().to_owned()];
        class_path.push(compile(&repository().join("java/asserting"), &class_path));
        class_path
    })
}
