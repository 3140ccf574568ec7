//! What Rust sources may not have in them.

use crate::dependencies::TEST_CRATES;

/// Code that only some places may have: how it is recognised, where it may be (beginnings of paths), and why.
const RESERVED: &[(&[&str], &[&str], &str)] = &[
    (
        &["process::exit"],
        &["crates/cli/src/main.rs", "crates/fuzz/src/main.rs"],
        "a program ends in main",
    ),
    (
        &["println!", "print!", "eprintln!", "eprint!"],
        &["crates/cli/", "crates/fuzz/", "crates/testkit/"],
        "libraries answer with values, faces write them",
    ),
    (
        &["dbg!", "todo!", "unimplemented!"],
        &[],
        "this is left over",
    ),
    (
        &[
            "unsafe {",
            "unsafe fn",
            "unsafe impl",
            "unsafe extern",
            "unsafe(",
            "unsafe trait",
        ],
        &[
            "crates/agent/",
            "crates/hprof/src/mapping.rs",
            "crates/recorder/src/program.rs",
            "crates/fuzz/src/coverage.rs",
        ],
        "the rest is safe",
    ),
    (
        &["std::fs", "fs::File", "OpenOptions"],
        &[
            "crates/agent/",
            "crates/architecture/",
            "crates/classify/src/files.rs",
            "crates/cli/",
            "crates/fuzz/",
            "crates/hprof/",
            "crates/index/",
            "crates/recorder/",
            "crates/session/",
            "crates/testkit/",
            "crates/trace/",
        ],
        "analyses know no files",
    ),
    (
        &["std::process::Command", "process::{Child", "Command::new"],
        &[
            "crates/agent/",
            "crates/architecture/",
            "crates/cli/",
            "crates/recorder/",
            "crates/testkit/",
        ],
        "analyses start no programs",
    ),
    (
        &["std::net"],
        &["crates/agent/", "crates/cli/", "crates/server/"],
        "only the agent's socket and the web view are reached from outside",
    ),
];

/// What parts of the repository may not have in their code: where, how it is recognised, and why.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "crates/graph/src/",
        &["\"java.", "\"jdk.", "\"sun."],
        "the graph knows no class by its name",
    ),
    (
        "crates/recorder/src/",
        &["`--", "\"--", " --"],
        "options belong to the program, which words the advice",
    ),
];

/// What is wrong in a file with this path in the repository.
pub fn problems(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        problems.push(format!(
            "{path} does not begin with a line //! that says what it is for"
        ));
    }
    if path.ends_with("/src/lib.rs")
        && !TEST_CRATES
            .iter()
            .any(|name| path == format!("crates/{name}/src/lib.rs"))
        && !text.contains("#![warn(missing_docs)]")
    {
        problems.push(format!(
            "{path} does not ask for documentation of all that others use"
        ));
    }
    // This file names what it looks for.
    let is_production = path.contains("/src/") && path != "crates/architecture/src/sources.rs";
    let production = production(text);
    for (signs, places, why) in RESERVED {
        if !is_production || places.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        if let Some(sign) = signs.iter().find(|sign| names(&production, sign)) {
            problems.push(format!("{path} may not have {sign} in it: {why}"));
        }
    }
    for (place, signs, why) in FORBIDDEN {
        if !path.starts_with(place) {
            continue;
        }
        if let Some(sign) = signs.iter().find(|sign| names(&production, sign)) {
            problems.push(format!("{path} may not have {sign} in it: {why}"));
        }
    }
    problems
}

/// The text without lines that are comments.
pub fn code(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The text without comments and without the module of tests that it ends with.
pub fn production(text: &str) -> String {
    let code = code(text);
    let end = code.find("\nmod tests {").unwrap_or(code.len());
    code[..end].to_owned()
}

/// Whether a name occurs, as a word of its own.
pub fn names(code: &str, name: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let ends_in_word = name.ends_with(part_of_word);
    code.match_indices(name).any(|(at, _)| {
        let goes_on_before = code[..at].ends_with(part_of_word);
        let goes_on_after = ends_in_word && code[at + name.len()..].starts_with(part_of_word);
        !goes_on_before && !goes_on_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_keeps_to_the_rules_has_no_problems() {
        let text = "//! Sorts.\n\n// println! is not for us.\nfn pprintln() {}\n\n\
                    #[cfg(test)]\nmod tests {\n    use std::fs;\n    fn shown() { println!(); }\n}\n";
        assert_eq!(problems("crates/graph/src/sort.rs", text), [""; 0]);
    }

    #[test]
    fn a_library_that_need_not_be_documented_is_found() {
        let text = "//! Sorts.\n\npub fn sort() {}\n";
        assert_eq!(problems("crates/graph/src/lib.rs", text).len(), 1);
        assert_eq!(problems("crates/testkit/src/lib.rs", text), [""; 0]);
        let text = "//! Sorts.\n\n#![warn(missing_docs)]\n";
        assert_eq!(problems("crates/graph/src/lib.rs", text), [""; 0]);
    }

    #[test]
    fn a_file_without_its_purpose_is_found() {
        let purpose = problems("crates/graph/tests/it.rs", "use std::fs;\n//! Late.\n");
        assert_eq!(purpose.len(), 1, "{purpose:?}");
    }

    #[test]
    fn what_does_not_belong_there_is_found() {
        for code in [
            "fn end() { std::process::exit(1) }",
            "fn show() { println!(\"x\") }",
            "fn show() { eprint!(\"x\") }",
            "fn later() { todo!() }",
            "fn quick() { unsafe { go() } }",
            "use std::fs;",
            "use std::{io, fs::File};",
            "use std::process::Command;",
            "use std::net::TcpListener;",
        ] {
            let found = problems("crates/graph/src/sort.rs", &format!("//! Sorts.\n{code}\n"));
            assert_eq!(found.len(), 1, "{code}: {found:?}");
        }
    }

    #[test]
    fn names_of_classes_and_options_are_found_where_nobody_may_know_them() {
        let class =
            "//! Sorts.\nfn is_string(name: &str) -> bool { name == \"java.lang.String\" }\n";
        assert_eq!(problems("crates/graph/src/sort.rs", class).len(), 1);
        assert_eq!(problems("crates/heap/src/sort.rs", class), [""; 0]);
        let option = "//! Records.\nconst ADVICE: &str = \"use `--every`\";\n";
        assert_eq!(problems("crates/recorder/src/options.rs", option).len(), 1);
        assert_eq!(problems("crates/cli/src/record.rs", option), [""; 0]);
    }

    #[test]
    fn who_may_is_not_found() {
        let text = "//! Shows.\nfn show() { println!(); std::process::exit(1) }\n";
        assert_eq!(problems("crates/cli/src/main.rs", text), [""; 0]);
        assert_eq!(problems("crates/cli/src/other.rs", text).len(), 1);
        assert_eq!(problems("crates/trace/examples/measure.rs", text), [""; 0]);
    }
}
