//! This repository keeps to its rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anthill_architecture::dependencies::{self, Crate};
use anthill_architecture::licences::{self, Allowed};
use anthill_architecture::workspace::{Compiled, Metadata, Package};
use anthill_architecture::{sources, table};

#[test]
fn crates_use_each_other_as_the_table_in_architecture_md_says() {
    let rows = table::rows(&text("ARCHITECTURE.md")).unwrap();
    none(dependencies::unlike_table(&rows, &crates(&metadata())));
}

#[test]
fn packages_of_others_are_used_where_they_belong() {
    none(dependencies::out_of_place(&crates(&metadata())));
}

#[test]
fn every_dependency_is_used() {
    let metadata = metadata();
    let members = metadata.packages.iter();
    let mut problems: Vec<String> = members
        .flat_map(|member| dependencies::unused(&as_crate(member), &member.sources()))
        .collect();
    let manifest: toml::Table = toml::from_str(&text("Cargo.toml")).unwrap();
    let shared: BTreeMap<_, _> = manifest["workspace"]["dependencies"]
        .clone()
        .try_into()
        .unwrap();
    problems.extend(dependencies::unclaimed(&shared, &crates(&metadata)));
    none(problems);
}

#[test]
fn sources_keep_to_the_rules() {
    let metadata = metadata();
    let mut problems = Vec::new();
    for member in &metadata.packages {
        for (path, text) in member.sources() {
            let path = format!("crates/{}/{path}", member.short_name());
            problems.extend(sources::problems(&path, &text));
        }
    }
    none(problems);
}

#[test]
fn licences_and_versions_of_others_are_those_that_deny_toml_allows() {
    let allowed: Allowed = toml::from_str(&text("deny.toml")).unwrap();
    let packages = Compiled::all(root());
    none(licences::not_allowed(&allowed, &packages));
    none(licences::duplicates(&allowed, &packages));
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn metadata() -> Metadata {
    Metadata::of(root())
}

fn crates(metadata: &Metadata) -> Vec<Crate> {
    metadata.packages.iter().map(as_crate).collect()
}

fn as_crate(package: &Package) -> Crate {
    Crate {
        name: package.short_name(),
        dependencies: package.dependencies.clone(),
    }
}

#[track_caller]
fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
