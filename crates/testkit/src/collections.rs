//! The sample of `java/collections`: data structures of libraries, which `./x test` keeps in
//! `.tools/lib/collections`.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::javac::{compile, libraries};
use crate::sample::classes;
use crate::{Jdk, Sample, repository, skipped};

impl Sample {
    /// Starts the program that builds data structures of libraries. Nothing, and said so, without the
    /// libraries.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_libraries(jdk: &Jdk) -> Option<Sample> {
        static CLASS_PATH: OnceLock<Option<Vec<PathBuf>>> = OnceLock::new();
        let class_path = CLASS_PATH.get_or_init(class_path).as_ref()?;
        let flags = ["-Xmx128m"];
        Some(Sample::start_with(
            jdk,
            class_path,
            "Libraries",
            &[],
            &flags,
        ))
    }
}

fn class_path() -> Option<Vec<PathBuf>> {
    let libraries = libraries("collections");
    if libraries.is_empty() {
        skipped(
            "tests on data structures of libraries",
            "no libraries in .tools/lib/collections; ./x test fetches them with Maven",
        );
        return None;
    }
    let mut class_path = vec![classes().to_owned()];
    class_path.extend(libraries);
    let sources = repository().join("java/collections/anthill/samples");
    class_path.push(compile(&sources, &class_path));
    Some(class_path)
}
