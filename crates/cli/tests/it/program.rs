//! The program under test, and the files its output is compared with.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// How a run of the program ended.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A place for a file that the tests make.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anthill"));
    command
        .args(arguments)
        .env("XDG_CACHE_HOME", scratch("cache"))
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Ran {
    let Output {
        status,
        stdout,
        stderr,
    } = command(arguments).output().unwrap();
    Ran {
        code: status.code().unwrap_or(-1),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// What a run that must go well prints.
pub fn print(arguments: &[&str]) -> String {
    let ran = run(arguments);
    let walked = |line: &&str| line.contains("was recorded by walking the heap");
    let err: Vec<&str> = ran.err.lines().filter(|line| !walked(line)).collect();
    assert_eq!((ran.code, err.as_slice()), (0, &[][..]), "{arguments:?}");
    ran.out
}

pub fn json(arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&print(&arguments)).unwrap()
}

/// Compares with a file in `expected`; with ANTHILL_ACCEPT set, writes the file instead.
pub fn assert_expected(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/expected")
        .join(name);
    if std::env::var_os("ANTHILL_ACCEPT").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "{} differs; if that is meant, run the test with ANTHILL_ACCEPT=1\n{actual}",
        path.display()
    );
}
