//! Who depends on what: between our crates as the table allows, on packages of others only where they belong, and on
//! nothing that is not used.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources;
use crate::table::Row;
use crate::workspace::Dependency;

/// Packages of others that only some crates may use, and why.
const RESERVED: &[(&str, &[&str], &str)] = &[
    ("clap", &["cli"], "arguments are the program's"),
    ("indicatif", &["cli"], "only the program has a terminal"),
    ("anstyle", &["cli"], "only the program has a terminal"),
    ("terminal_size", &["cli"], "only the program has a terminal"),
    ("axum", &["server"], "HTTP is the server's"),
    (
        "tokio",
        &["server"],
        "everything but the server is synchronous",
    ),
    (
        "serde_json",
        &["api", "cli", "documents", "server", "architecture"],
        "analyses answer with values, faces write them",
    ),
    (
        "libc",
        &["agent", "hprof"],
        "calls without a safe form are there",
    ),
    (
        "memmap2",
        &["heap", "hprof"],
        "mappings are columns or files",
    ),
    (
        "strsim",
        &["syntax"],
        "names are suggested in one way everywhere",
    ),
    (
        "signal-hook",
        &["recorder"],
        "signals belong to the program",
    ),
];

/// Packages of others that only tests may use.
const FOR_TESTS: &[&str] = &["fastrand", "ruzstd"];

/// The feature with which a crate of ours offers what only tests need.
const TEST_FEATURE: &str = "test-support";

/// Crates that are there for tests only: everything in them is.
pub const TEST_CRATES: &[&str] = &["architecture", "fuzz", "testkit"];

/// A crate of the workspace, as far as this is about it.
pub struct Crate {
    /// What the table calls it.
    pub name: String,
    /// All that its Cargo.toml depends on.
    pub dependencies: Vec<Dependency>,
}

/// What differs between the table and the dependencies between our crates.
pub fn unlike_table(rows: &[Row], crates: &[Crate]) -> Vec<String> {
    let mut problems = Vec::new();
    let known: BTreeSet<&str> = crates.iter().map(|each| each.name.as_str()).collect();
    let mut above: BTreeSet<&str> = BTreeSet::new();
    for row in rows {
        let name = &row.name;
        if !known.contains(name.as_str()) {
            problems.push(format!("crates/{name} is in the table and is no crate"));
        }
        if above.contains(name.as_str()) {
            problems.push(format!("crates/{name} is in the table twice"));
        }
        for used in row
            .uses
            .iter()
            .filter(|used| !above.contains(used.as_str()))
        {
            problems.push(format!(
                "crates/{name} may use {used}, which is not above it"
            ));
        }
        above.insert(name);
    }
    for each in crates {
        let name = &each.name;
        let Some(row) = rows.iter().find(|row| row.name == *name) else {
            problems.push(format!("crates/{name} is not in the table"));
            continue;
        };
        let used = |wanted: &dyn Fn(&Dependency) -> bool| -> BTreeSet<String> {
            let wanted = each
                .dependencies
                .iter()
                .filter(|dependency| wanted(dependency));
            wanted.filter_map(Dependency::member).collect()
        };
        let uses = used(&|dependency| !for_tests(dependency));
        let tests_use = &used(&for_tests) - &uses;
        let mut compare = |is: &BTreeSet<String>, may: &BTreeSet<String>, who: &str| {
            for used in is.difference(may) {
                problems.push(format!(
                    "crates/{name}{who} uses {used}, which the table does not allow"
                ));
            }
            for unused in may.difference(is) {
                problems.push(format!(
                    "crates/{name}{who} may use {unused}, but does not: change the table"
                ));
            }
        };
        compare(&uses, &row.uses, "");
        compare(&tests_use, &row.tests_use, " in its tests");
    }
    problems
}

/// Packages of others in crates that may not use them, and what is there for tests outside of tests.
pub fn out_of_place(crates: &[Crate]) -> Vec<String> {
    let mut problems = Vec::new();
    for each in crates {
        let name = &each.name;
        for dependency in each
            .dependencies
            .iter()
            .filter(|dependency| !for_tests(dependency))
        {
            let package = &dependency.name;
            let reserved = RESERVED.iter().find(|(reserved, ..)| reserved == package);
            if let Some((_, allowed, why)) =
                reserved.filter(|(_, allowed, _)| !allowed.contains(&name.as_str()))
            {
                problems.push(format!(
                    "crates/{name} may not use {package}, only {} may: {why}",
                    allowed.join(", ")
                ));
            }
            let mut features = dependency.features.iter();
            if features.any(|feature| feature == TEST_FEATURE) {
                problems.push(format!(
                    "crates/{name} may use {package} with {TEST_FEATURE} in tests only"
                ));
            }
            if FOR_TESTS.contains(&package.as_str()) && !TEST_CRATES.contains(&name.as_str()) {
                problems.push(format!("crates/{name} may use {package} in tests only"));
            }
        }
    }
    problems
}

/// Dependencies whose name never occurs where they could be used; `sources` are paths within the crate with contents.
pub fn unused(each: &Crate, sources: &[(String, String)]) -> Vec<String> {
    let name = &each.name;
    let mut problems = Vec::new();
    for dependency in &each.dependencies {
        let kind = dependency.kind.as_deref();
        let import = dependency.import();
        let occurs = sources.iter().any(|(path, text)| match kind {
            Some("dev") => sources::names(&sources::code(text), &import),
            Some("build") => path == "build.rs" && sources::names(&sources::code(text), &import),
            _ => path.starts_with("src/") && sources::names(&sources::production(text), &import),
        });
        if !occurs {
            let where_to = match kind {
                Some("dev") => "anywhere",
                Some("build") => "in build.rs",
                _ => "outside its tests",
            };
            problems.push(format!(
                "crates/{name} does not use {} {where_to}",
                dependency.name
            ));
        }
    }
    problems
}

/// Lines of the workspace's own dependencies that no crate takes up.
pub fn unclaimed(workspace: &BTreeMap<String, toml::Value>, crates: &[Crate]) -> Vec<String> {
    let claimed = |package: &str| {
        let mut dependencies = crates.iter().flat_map(|each| &each.dependencies);
        dependencies.any(|dependency| dependency.name == package)
    };
    let unclaimed = workspace.keys().filter(|package| !claimed(package));
    unclaimed
        .map(|package| format!("no crate uses {package} of the workspace's dependencies"))
        .collect()
}

fn for_tests(dependency: &Dependency) -> bool {
    dependency.kind.as_deref() == Some("dev")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn a_crate_uses_what_the_table_allows() {
        let rows = rows(
            "| `crates/heap` | |\n| `crates/graph` | heap; tests: testkit |\n| `crates/testkit` | |",
        );
        let crates = [
            with("heap", &[]),
            with("graph", &["heap", "dev testkit", "dev heap"]),
            with("testkit", &[]),
        ];
        assert_eq!(unlike_table(&rows, &crates), [""; 0]);
    }

    #[test]
    fn a_dependency_that_the_table_does_not_allow_is_found() {
        let rows = rows("| `crates/heap` | |\n| `crates/graph` | |");
        let crates = [with("heap", &[]), with("graph", &["heap"])];
        let expected = ["crates/graph uses heap, which the table does not allow"];
        assert_eq!(unlike_table(&rows, &crates), expected);
        let crates = [with("heap", &["dev graph"]), with("graph", &[])];
        let expected = ["crates/heap in its tests uses graph, which the table does not allow"];
        assert_eq!(unlike_table(&rows, &crates), expected);
    }

    #[test]
    fn what_tests_may_use_the_crate_itself_may_not() {
        let rows = rows("| `crates/heap` | |\n| `crates/graph` | tests: heap |");
        let crates = [with("heap", &[]), with("graph", &["heap"])];
        assert_eq!(unlike_table(&rows, &crates).len(), 2);
    }

    #[test]
    fn a_row_that_allows_too_much_or_downwards_is_found() {
        let rows = rows("| `crates/graph` | heap |\n| `crates/heap` | |");
        let crates = [with("heap", &[]), with("graph", &[])];
        let expected = [
            "crates/graph may use heap, which is not above it",
            "crates/graph may use heap, but does not: change the table",
        ];
        assert_eq!(unlike_table(&rows, &crates), expected);
    }

    #[test]
    fn crates_without_a_row_and_rows_without_a_crate_are_found() {
        let rows = rows("| `crates/gone` | |\n| `crates/gone` | |");
        let expected = [
            "crates/gone is in the table and is no crate",
            "crates/gone is in the table and is no crate",
            "crates/gone is in the table twice",
            "crates/new is not in the table",
        ];
        assert_eq!(unlike_table(&rows, &[with("new", &[])]), expected);
    }

    #[test]
    fn packages_out_of_place_are_found() {
        assert_eq!(
            out_of_place(&[with("graph", &["clap", "axum", "fastrand"])]).len(),
            3
        );
        let fine = [
            with("cli", &["clap"]),
            with("server", &["axum"]),
            with("fuzz", &["fastrand"]),
        ];
        assert_eq!(out_of_place(&fine), [""; 0]);
        assert_eq!(out_of_place(&[with("graph", &["dev fastrand"])]), [""; 0]);
    }

    #[test]
    fn what_is_for_tests_is_found_elsewhere() {
        let mut crates = [with("graph", &["dev heap"])];
        crates[0].dependencies[0].features = vec![TEST_FEATURE.to_owned()];
        assert_eq!(out_of_place(&crates), [""; 0]);
        crates[0].dependencies[0].kind = None;
        assert_eq!(out_of_place(&crates).len(), 1);
    }

    #[test]
    fn unused_dependencies_are_found() {
        let graph = with(
            "graph",
            &["rayon", "rustc-hash", "dev tempfile", "build cc"],
        );
        let source = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let used = [
            source(
                "src/lib.rs",
                "use rayon::prelude::*;\nfn a(_: rustc_hash::FxHashMap<u8, u8>) {}\n",
            ),
            source("tests/it.rs", "tempfile::tempfile()"),
            source("build.rs", "cc::Build::new()"),
        ];
        assert_eq!(unused(&graph, &used), [""; 0]);
        let unused_there = [
            source(
                "src/lib.rs",
                "// rayon\nfn crayons() {}\n#[cfg(test)]\nmod tests {\n    use rustc_hash::FxHashMap;\n}\n",
            ),
            source("src/build.rs", "cc"),
        ];
        let expected = [
            "crates/graph does not use rayon outside its tests",
            "crates/graph does not use rustc-hash outside its tests",
            "crates/graph does not use tempfile anywhere",
            "crates/graph does not use cc in build.rs",
        ];
        assert_eq!(unused(&graph, &unused_there), expected);
    }

    #[test]
    fn dependencies_of_the_workspace_that_nobody_takes_up_are_found() {
        let workspace: BTreeMap<_, _> = toml::from_str("rayon = \"1\"\nserde = \"1\"").unwrap();
        let expected = ["no crate uses serde of the workspace's dependencies"];
        assert_eq!(
            unclaimed(&workspace, &[with("graph", &["rayon"])]),
            expected
        );
    }

    fn rows(table: &str) -> Vec<Row> {
        table::rows(&format!(
            "## Code map\n| folder | may use |\n| --- | --- |\n{table}\n"
        ))
        .unwrap()
    }

    /// A crate with dependencies such as `heap`, `dev heap` or `rayon`.
    fn with(name: &str, dependencies: &[&str]) -> Crate {
        let ours = ["heap", "graph", "testkit"];
        let dependency = |text: &&str| {
            let (kind, name) = text
                .split_once(' ')
                .map_or((None, *text), |(kind, name)| (Some(kind), name));
            Dependency {
                name: name.to_owned(),
                rename: None,
                features: Vec::new(),
                kind: kind.map(str::to_owned),
                path: ours
                    .contains(&name)
                    .then(|| format!("/work/crates/{name}").into()),
            }
        };
        Crate {
            name: name.to_owned(),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }
}
