//! The packages of the workspace and their Rust sources, and all packages that are compiled for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// What `cargo metadata` tells about the workspace.
#[derive(Deserialize)]
pub struct Metadata {
    /// The packages of the workspace.
    pub packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Deserialize)]
pub struct Package {
    /// What it depends on, whether or not on this platform.
    pub dependencies: Vec<Dependency>,
    manifest_path: PathBuf,
}

/// A line of a Cargo.toml's dependencies.
#[derive(Clone, Deserialize)]
pub struct Dependency {
    /// The package that is depended on.
    pub name: String,
    /// The name it has in the sources instead.
    pub rename: Option<String>,
    /// `dev`, `build`, or nothing.
    pub kind: Option<String>,
    /// The features that are asked for.
    pub features: Vec<String>,
    /// Where it is, for a package of the workspace.
    pub path: Option<PathBuf>,
}

/// A package that is compiled for this platform, our own or of others.
pub struct Compiled {
    /// The name in its Cargo.toml.
    pub name: String,
    /// The version in its Cargo.toml.
    pub version: String,
    /// The SPDX expression in its Cargo.toml, empty if there is none.
    pub licence: String,
}

impl Metadata {
    /// What Cargo tells about the workspace in this folder.
    ///
    /// # Panics
    ///
    /// If Cargo does not answer.
    pub fn of(root: &Path) -> Self {
        let text = cargo(root, &["metadata", "--format-version=1", "--no-deps"]);
        serde_json::from_str(&text).expect("what Cargo tells is JSON")
    }
}

impl Compiled {
    /// All that is compiled to build and test the workspace in this folder. Needs no network: it has been compiled.
    ///
    /// # Panics
    ///
    /// If Cargo does not answer.
    pub fn all(root: &Path) -> Vec<Self> {
        let lines = cargo(
            root,
            &[
                "tree",
                "--workspace",
                "--edges=normal,build,dev",
                "--prefix=none",
                "--no-dedupe",
                "--format={p}\t{l}",
            ],
        );
        let lines: BTreeSet<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
        lines.into_iter().map(Compiled::read).collect()
    }

    /// Reads `name v1.2.3 (proc-macro)`, a tab, and the licence.
    fn read(line: &str) -> Self {
        let (package, licence) = line.split_once('\t').unwrap_or((line, ""));
        let mut words = package.split(' ');
        let mut word = || words.next().unwrap_or_default();
        Compiled {
            name: word().to_owned(),
            version: word().trim_start_matches('v').to_owned(),
            licence: licence.to_owned(),
        }
    }
}

impl Package {
    /// Where it is.
    ///
    /// # Panics
    ///
    /// If its Cargo.toml is in no folder.
    pub fn folder(&self) -> &Path {
        self.manifest_path
            .parent()
            .expect("Cargo.toml is in a folder")
    }

    /// What it is called in the table of crates: the name of its folder.
    pub fn short_name(&self) -> String {
        file_name(self.folder())
    }

    /// Its Rust sources as paths from its folder, with their contents.
    ///
    /// # Panics
    ///
    /// If they cannot be read.
    pub fn sources(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        collect(self.folder(), &mut found);
        found.sort();
        let read = |path: PathBuf| {
            let name = path.strip_prefix(self.folder()).expect("is inside");
            let text = fs::read_to_string(&path).expect("sources are text");
            (name.to_string_lossy().replace('\\', "/"), text)
        };
        found.into_iter().map(read).collect()
    }
}

impl Dependency {
    /// The crate of the workspace that it is, as the table calls it.
    pub fn member(&self) -> Option<String> {
        self.path.as_deref().map(file_name)
    }

    /// The name that sources use.
    pub fn import(&self) -> String {
        let name = self.rename.as_ref().unwrap_or(&self.name);
        name.replace('-', "_")
    }
}

fn cargo(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).args(["--locked", "--offline"]);
    let output = command
        .current_dir(root)
        .output()
        .expect("Cargo can be started");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    String::from_utf8(output.stdout).expect("Cargo writes text")
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_tree_are_read() {
        let compiled = Compiled::read("serde_derive v1.0.229 (proc-macro)\tMIT OR Apache-2.0");
        assert_eq!(compiled.name, "serde_derive");
        assert_eq!(compiled.version, "1.0.229");
        assert_eq!(compiled.licence, "MIT OR Apache-2.0");
    }
}
