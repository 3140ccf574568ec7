//! The programs of `java/assertions`, which make GC assertions: in Java, Kotlin and Scala. Libraries and the
//! compilers of the latter two are what `./x test` keeps in `.tools/lib/assertions`.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::javac::{compile, compile_by, joined, libraries};
use crate::sample::classes;
use crate::{Jdk, Sample, agent, api, repository, skipped};

/// What a program is run with.
struct Compiled {
    java: Vec<PathBuf>,
    kotlin: PathBuf,
    scala: PathBuf,
}

impl Sample {
    /// Starts a program that makes GC assertions and lets them be checked, with the agent loaded at its
    /// start. Nothing, and said so, without the libraries.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_asserted(jdk: &Jdk, name: &str, arguments: &[&str]) -> Option<Sample> {
        let loaded = format!("-agentpath:{}", agent().display());
        start(jdk, name, arguments, &loaded)
    }

    /// The same without an agent: the assertions are kept for a heap dump.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_asserted_for_dump(jdk: &Jdk, name: &str, arguments: &[&str]) -> Option<Sample> {
        start(jdk, name, arguments, "-Ddev.anthill.keep=true")
    }
}

fn start(jdk: &Jdk, name: &str, arguments: &[&str], flag: &str) -> Option<Sample> {
    static COMPILED: OnceLock<Option<Compiled>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(compiled).as_ref()?;
    let mut class_path = compiled.java.clone();
    class_path.extend([compiled.kotlin.clone(), compiled.scala.clone()]);
    let flags = ["-Xmx128m", flag];
    Some(Sample::start_with(
        jdk,
        &class_path,
        name,
        arguments,
        &flags,
    ))
}

fn compiled() -> Option<Compiled> {
    let libraries = libraries("assertions");
    if libraries.is_empty() {
        skipped(
            "tests on programs with GC assertions",
            "no libraries in .tools/lib/assertions; ./x test fetches them with Maven",
        );
        return None;
    }
    let sources = repository().join("java/assertions");
    let mut java = vec![classes().to_owned(), api().to_owned()];
    java.extend(libraries.clone());
    java.push(compile(&sources.join("anthill/samples"), &java));
    let with = |folder: &str, compiler: &str, options: &[&str]| {
        let class_path = joined(&libraries);
        let program = ["-cp", class_path.to_str()?, compiler];
        let arguments = [&program[..], options].concat();
        Some(compile_by("java", &arguments, &sources.join(folder), &java))
    };
    Some(Compiled {
        kotlin: with(
            "kotlin",
            "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
            &["-no-stdlib", "-no-reflect", "-jvm-target", "11", "-Werror"],
        )?,
        scala: with(
            "scala",
            "dotty.tools.dotc.Main",
            &["-release", "11", "-Werror"],
        )?,
        java,
    })
}
