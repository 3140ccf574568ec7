//! Files that are cut off, damaged or made up: what is whole opens, the rest is named.

use std::fs;

use anthill_trace::{Trace, TraceWriter};

use crate::{events, facts, write};

#[test]
fn a_trace_opens_wherever_it_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, 2);
    let whole = fs::read(&path).unwrap();
    let mut most = (0, 0);
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let Ok(trace) = Trace::open(&path) else {
            assert!(length < 12, "cut to {length}");
            continue;
        };
        let found = (trace.states().len(), trace.timeline().marks.len());
        assert!(
            found.0 >= most.0 && found.1 >= most.1,
            "cut to {length}: {found:?} after {most:?}"
        );
        most = found;
        assert!(!trace.is_complete());
        for state in trace.states() {
            trace.load(state.number).unwrap();
        }
    }
    assert_eq!(most, (2, 2));
}

#[test]
fn a_damaged_byte_costs_one_block_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, 2);
    let whole = fs::read(&path).unwrap();
    for place in 16..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x41;
        fs::write(&path, &bytes).unwrap();
        let trace = Trace::open(&path).unwrap();
        let states = trace.states();
        let loaded = states
            .iter()
            .filter(|state| trace.load(state.number).is_ok())
            .count();
        let marks = trace.timeline().marks.len();
        assert!(
            loaded + marks >= 3,
            "byte {place}: {loaded} states, {marks} marks"
        );
        if states.len() < 2 || marks < 2 || trace.facts() != &facts() {
            let near = trace.damage().iter().any(|missing| {
                let start = missing.offset.unwrap() as usize;
                (start..=start + missing.amount as usize).contains(&place)
            });
            assert!(near, "byte {place}: {:?}", trace.damage());
        }
    }
}

#[test]
fn bytes_that_are_no_trace_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    for bytes in [&b""[..], b"JAVA PROFILE 1.0.2\0", b"ANTHILL\n"] {
        fs::write(&path, bytes).unwrap();
        let error = Trace::open(&path).err().unwrap().to_string();
        assert!(
            error.contains("a.trace") && error.contains("not an Anthill trace"),
            "{error}"
        );
    }
    fs::write(&path, b"ANTHILLTRACE\x09\0\0\0").unwrap();
    let error = Trace::open(&path).err().unwrap().to_string();
    assert!(error.contains("version 9"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_and_not_the_end() {
    let facts = facts();
    let error = TraceWriter::create("/dev/full".as_ref(), &facts)
        .err()
        .unwrap();
    assert!(error.to_string().contains("/dev/full"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut writer = TraceWriter::create(&path, &facts).unwrap();
    events(&mut writer, 1);
    assert_eq!(writer.discard(), 0);
}
