//! Files that are cut off, damaged or made up: what is whole opens, the rest is named.

use std::fs;
use std::process::Command;

use anthill_heap::RecordedValues;
use anthill_trace::{Event, Mark, Sample, StateToWrite, Trace, TraceWriter};

use crate::{facts, list, moment, write};

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
fn a_disk_that_is_full_from_the_start_is_an_error() {
    let error = TraceWriter::create("/dev/full".as_ref(), &facts()).err();
    let error = error.unwrap().to_string();
    assert!(error.contains("/dev/full"), "{error}");
}

/// The largest file that the process of the next test may write, in blocks of 1024 bytes.
const LIMIT: u64 = 64;
const CHILD: &str = "ANTHILL_TRACE_TO_FILL";

fn sample(time: u64, class: u32) -> Event {
    Event::Sample(Sample {
        time,
        class,
        size: 16,
        weight: 16,
        thread: None,
        stack: None,
        tracked: None,
    })
}

/// Run by the next test in a process that may write no large files: writes until that fails,
/// then goes on with less.
#[test]
fn fill() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let mut writer = TraceWriter::create(path.as_ref(), &facts()).unwrap();
    let heap = list(2000);
    let state =
        |number| StateToWrite::from_state(&heap, moment(number, number), RecordedValues::default());
    let failed = (1..1000).find(|&number| {
        // Something new comes with every state.
        let class = writer.class(&format!("p.Class{number}"));
        writer.add(sample(number, class)).unwrap();
        writer.state(&state(number)).is_err()
    });
    assert!(failed.is_some_and(|number| number > 2), "{failed:?}");
    assert!(writer.bytes() <= LIMIT << 10);
    // What is small still fits where the state did not.
    let mark = Mark {
        time: 1,
        text: "full".to_owned(),
    };
    writer.add(Event::Mark(mark)).unwrap();
    writer.flush().unwrap();
}

#[test]
fn a_disk_that_fills_up_costs_the_last_state_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    // A file that would grow too large makes writing fail as a full disk does.
    let command = format!("trap '' XFSZ; ulimit -f {LIMIT}; exec \"$0\" --exact damage::fill");
    let ran = Command::new("bash")
        .args(["-c", &command])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.damage(), [], "what was not completed is gone");
    assert!(trace.states().len() >= 2);
    assert_eq!(trace.timeline().marks[0].text, "full");
    // What came before the state that failed is there with its name.
    let samples = trace.timeline().samples.iter();
    let names = samples.map(|sample| trace.symbols().class(sample.class).unwrap().to_owned());
    let expected = (1..=trace.states().len() + 1).map(|number| format!("p.Class{number}"));
    assert!(names.eq(expected));
    for state in trace.states() {
        trace.load(state.number).unwrap();
    }
}
