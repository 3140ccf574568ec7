//! Help texts, completions and manual pages.

use std::fs;
use std::path::Path;

use crate::program::{assert_expected, print};

const COMMANDS: [&str; 31] = [
    "summary",
    "histogram",
    "classify",
    "classifiers",
    "groups",
    "growth",
    "inspect",
    "dominators",
    "paths",
    "object",
    "objects",
    "elements",
    "references",
    "loaders",
    "strings",
    "structures",
    "threads",
    "waste",
    "timeline",
    "allocations",
    "check",
    "diff",
    "record",
    "attach",
    "detach",
    "mark",
    "snapshot",
    "recordings",
    "demo",
    "completions",
    "man",
];

#[test]
fn help_is_as_expected() {
    assert_expected("help.txt", &print(&["--help"]));
    for command in COMMANDS {
        let help = print(&[command, "--help"]);
        assert!(help.contains("Examples:"), "{command} has no examples");
        assert_expected(&format!("help-{command}.txt"), &help);
    }
}

#[test]
fn completions_and_man_pages_name_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = print(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)));
    }
    let page = print(&["man"]);
    assert!(page.contains(".TH anthill 1"));
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(print(&["man", pages.to_str().unwrap()]), "");
    for command in COMMANDS {
        let page = pages.join(format!("anthill-{command}.1"));
        assert!(page.is_file(), "{}", page.display());
    }
}

#[test]
fn generated_pages_are_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(print(&["contract", folder.path().to_str().unwrap()]), "");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = fs::read_dir(folder.path()).unwrap();
    let pages: Vec<_> = pages.map(|page| page.unwrap().file_name()).collect();
    assert_eq!(pages.len(), 3);
    for page in pages {
        let read = |folder: &Path| fs::read_to_string(folder.join(&page)).unwrap_or_default();
        let is_same = read(folder.path()) == read(&docs);
        assert!(
            is_same,
            "docs/{} is out of date: run `./x generate`",
            page.display()
        );
    }
}
