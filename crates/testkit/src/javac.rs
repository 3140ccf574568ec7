//! Sources of programs, compiled once: Java by the installed JDK, others by compilers that run on it.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process as std_process;
use std::sync::OnceLock;
use std::time::Duration;

use crate::{Jdk, process, repository, target};

const TIMEOUT: Duration = Duration::from_secs(300);
/// What the names of sources end with.
const LANGUAGES: [&str; 3] = ["java", "kt", "scala"];

/// Compiles the sources in a folder and returns the folder of the classes.
///
/// # Panics
/// When they cannot be compiled; the message has the compiler's output.
pub(crate) fn compile(sources: &Path, class_path: &[PathBuf]) -> PathBuf {
    let level = ["-encoding", "UTF-8", "--release", "11"];
    let strict = ["-Xlint:all", "-Xlint:-options", "-Werror"];
    let arguments = [&level[..], &strict].concat();
    compile_by("javac", &arguments, sources, class_path)
}

/// The same by a program of the JDK with some arguments: a compiler that takes the class path and the folder for classes
/// like `javac`.
///
/// # Panics
/// Like [`compile`].
pub(crate) fn compile_by(
    tool: &str,
    arguments: &[&str],
    sources: &Path,
    class_path: &[PathBuf],
) -> PathBuf {
    try_compile(tool, arguments, sources, class_path)
        .unwrap_or_else(|why| panic!("cannot compile {}: {why}", sources.display()))
}

/// The classes of the Java API, for a class path.
///
/// # Panics
/// When they cannot be compiled.
pub fn api() -> &'static Path {
    static API: OnceLock<PathBuf> = OnceLock::new();
    API.get_or_init(|| compile(&repository().join("java/anthill-api/src/main/java"), &[]))
}

/// What `./x test` keeps of the libraries that `java/NAME/pom.xml` lists; empty if it could not fetch
/// them.
pub(crate) fn libraries(name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(repository().join(".tools/lib").join(name)) else {
        return Vec::new();
    };
    let mut libraries: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "jar"))
        .collect();
    libraries.sort();
    libraries
}

/// Several folders and archives as one class path.
pub(crate) fn joined(class_path: &[PathBuf]) -> OsString {
    env::join_paths(class_path).unwrap_or_else(|e| panic!("odd class path: {e}"))
}

/// The folder's name is a hash of the sources and what they are compiled with, and a complete folder
/// appears in one step, so that test processes never see a half-made or stale one.
fn try_compile(
    tool: &str,
    arguments: &[&str],
    folder: &Path,
    class_path: &[PathBuf],
) -> Result<PathBuf, String> {
    let sources = sources(folder)?;
    let mut hasher = DefaultHasher::new();
    (tool, arguments, class_path).hash(&mut hasher);
    for source in &sources {
        let text = fs::read(source).map_err(|e| format!("{}: {e}", source.display()))?;
        (source.file_name(), text).hash(&mut hasher);
    }
    let complete = target()
        .join("samples")
        .join(format!("{:016x}", hasher.finish()));
    if complete.is_dir() {
        return Ok(complete);
    }

    let jdk = Jdk::installed().ok_or("no JDK with javac")?;
    let partial = complete.with_extension(format!("{}.partial", std_process::id()));
    fs::create_dir_all(&partial).map_err(|e| format!("{}: {e}", partial.display()))?;
    let mut compiler = jdk.command(tool);
    compiler
        .args(arguments)
        .arg("-classpath")
        .arg(joined(class_path))
        .arg("-d")
        .arg(&partial)
        .args(&sources);
    process::run_successfully(&mut compiler, TIMEOUT)?;
    if let Err(e) = fs::rename(&partial, &complete) {
        // Another process may have been first.
        let _ = fs::remove_dir_all(&partial);
        if !complete.is_dir() {
            return Err(format!("{}: {e}", complete.display()));
        }
    }
    Ok(complete)
}

/// All sources below a folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path
            .extension()
            .is_some_and(|e| LANGUAGES.iter().any(|one| e == *one))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
