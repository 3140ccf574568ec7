//! A file that is cut off while it is mapped: the program says so and ends with a code of its own.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Output};

use anthill_hprof::{FILE_CHANGED, map, survive_file_signals};

/// Set in the process that ends.
const VICTIM: &str = "ANTHILL_TEST_CUT_FILE";

/// Maps a file, cuts it off and reads on.
fn read_what_is_gone(path: &Path) {
    survive_file_signals();
    let mapped = map(path).unwrap();
    let bytes = mapped.as_ref().as_ref();
    assert_eq!(bytes[100_000], 7);
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(5000).unwrap();
    // Not a crash of ours: another mapping that is not listed would go on to whoever handled it before.
    assert_eq!(bytes[100], 7);
    panic!("byte {} is still there", bytes[100_000]);
}

/// Runs this test again, in a process that may end.
fn in_another_process(test: &str, path: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let command = command.args([test, "--exact", "--nocapture"]);
    command.env(VICTIM, path).output().unwrap()
}

#[test]
fn reading_a_file_that_was_cut_off_names_it_and_ends() {
    if let Some(path) = std::env::var_os(VICTIM) {
        return read_what_is_gone(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.hprof");
    std::fs::write(&path, vec![7; 200_000]).unwrap();
    let output = in_another_process(
        "cut::reading_a_file_that_was_cut_off_names_it_and_ends",
        &path,
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(FILE_CHANGED.into()), "{said}");
    let expected = format!(
        "anthill: {}: the file was truncated from 200000 to 5000 bytes while it was being read\n",
        path.display()
    );
    assert!(said.contains(&expected), "{said}");
}
