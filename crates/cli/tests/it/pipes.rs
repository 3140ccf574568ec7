//! Dumps and recordings that come through a pipe, packed or not: the answers are those of the file.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::program::{Ran, command, json, scratch};
use crate::recording::growing;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/multi-cache.hprof.gz");

pub fn unpacked() -> Vec<u8> {
    let mut whole = Vec::new();
    let packed = File::open(DEMO).unwrap();
    flate2::read::MultiGzDecoder::new(packed)
        .read_to_end(&mut whole)
        .unwrap();
    whole
}

/// How the program ends when it gets these bytes on standard input, in small pieces.
fn fed(arguments: &[&str], bytes: &[u8]) -> Ran {
    let mut command = command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            // A program that has seen enough closes the pipe.
            let _ = bytes
                .chunks(10_007)
                .try_for_each(|part| input.write_all(part));
        });
        child.wait_with_output().unwrap()
    });
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What an answer says apart from where it is from.
fn told(mut answer: Value) -> Value {
    for key in ["file", "files", "index", "packed_bytes"] {
        answer.as_object_mut().unwrap().remove(key);
    }
    answer
}

fn fed_json(arguments: &[&str], bytes: &[u8]) -> Value {
    let ran = fed(&[arguments, &["--json"]].concat(), bytes);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
    told(serde_json::from_str(&ran.out).unwrap())
}

#[test]
fn a_dump_may_come_through_a_pipe_packed_or_not() {
    let plain = unpacked();
    let gzip = std::fs::read(DEMO).unwrap();
    let zstd = zstd::bulk::compress(&plain, 1).unwrap();
    for question in [
        vec!["summary"],
        vec!["histogram", "--limit", "5"],
        vec!["strings", "cache", "--limit", "5"],
    ] {
        let ask = |file: &'static str| [&[question[0], file], &question[1..]].concat();
        let expected = told(json(&[&ask(DEMO)[..], &["--no-index"]].concat()));
        for bytes in [&plain, &gzip, &zstd] {
            assert_eq!(fed_json(&ask("-"), bytes), expected);
        }
        assert_eq!(fed_json(&ask("/dev/stdin"), &gzip), expected);
    }
}

#[test]
fn a_file_packed_with_zstd_is_read() {
    let file = scratch("packed.hprof.zst");
    let plain = unpacked();
    let (first, second) = plain.split_at(plain.len() / 2);
    let frames = [first, second].map(|part| zstd::bulk::compress(part, 3).unwrap());
    std::fs::write(&file, frames.concat()).unwrap();
    let path = file.to_str().unwrap();
    let ask = |path| told(json(&["summary", path, "--no-index"]));
    assert_eq!(ask(path), ask(DEMO));

    std::fs::write(&file, &frames.concat()[..frames[0].len() + 1000]).unwrap();
    let cut = json(&["summary", path, "--no-index"]);
    assert_eq!(cut["missing"][0]["kind"], "truncated");
    std::fs::write(&file, zstd::bulk::compress(b"no dump", 3).unwrap()).unwrap();
    let ran = crate::program::run(&["summary", path]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("zstd-compressed"), "{}", ran.err);
}

fn fifo(name: &str) -> PathBuf {
    let path = scratch(name);
    let _ = std::fs::remove_file(&path);
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

/// Writes to a FIFO as soon as somebody reads it.
fn feed(path: &Path, bytes: Vec<u8>) -> thread::JoinHandle<()> {
    let path = path.to_owned();
    thread::spawn(move || std::fs::write(path, bytes).unwrap())
}

#[test]
fn a_fifo_is_read_once_however_often_a_command_looks_at_it() {
    let pipe = fifo("dump.fifo");
    let writing = feed(&pipe, std::fs::read(DEMO).unwrap());
    let answer = told(json(&["summary", pipe.to_str().unwrap()]));
    writing.join().unwrap();
    assert_eq!(answer, told(json(&["summary", DEMO, "--no-index"])));

    // Two of them, in a command that looks at what they are first.
    let later = fifo("later.fifo");
    let writing = [&pipe, &later].map(|pipe| feed(pipe, unpacked()));
    let names = [&pipe, &later].map(|pipe| pipe.to_str().unwrap());
    let difference = told(json(&["diff", names[0], names[1]]));
    for thread in writing {
        thread.join().unwrap();
    }
    assert_eq!(difference, told(json(&["diff", DEMO, DEMO, "--no-index"])));
}

#[test]
fn a_recording_may_come_through_a_pipe() {
    let file = growing("piped.trace");
    let bytes = std::fs::read(&file).unwrap();
    let path = file.to_str().unwrap();
    for question in ["summary", "timeline", "growth"] {
        let expected = told(json(&[question, path]));
        assert_eq!(fed_json(&[question, "-"], &bytes), expected, "{question}");
    }
}

#[test]
fn rules_may_come_through_a_pipe() {
    let rules = "rule small: group class(java.lang.String) has at most 1000000 objects\n";
    let file = scratch("piped.rules");
    std::fs::write(&file, rules).unwrap();
    let expected = crate::program::run(&["check", DEMO, file.to_str().unwrap(), "--no-index"]);
    let ran = fed(&["check", DEMO, "-", "--no-index"], rules.as_bytes());
    assert_eq!(ran.code, expected.code, "{}", ran.err);
    assert_eq!(
        ran.out.replace("/dev/stdin", file.to_str().unwrap()),
        expected.out
    );
}

#[test]
fn what_is_no_dump_is_not_waited_for_to_its_end() {
    let ran = fed(&["summary", "-"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("the file is empty"), "{}", ran.err);
    let ran = fed(&["summary", "-"], b"just text");
    assert_eq!(ran.code, 2);
    // A device that never ends.
    let ran = crate::program::run(&["summary", "/dev/zero"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("anthill: /dev/zero: "), "{}", ran.err);
}
