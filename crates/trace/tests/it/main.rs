//! Traces written and read back, also in pieces.

mod damage;
mod round_trip;

use std::path::Path;

use anthill_heap::{Frame, HeapBuilder, HeapState, RecordedValues};
use anthill_trace::{
    Cost, Dropped, Event, Facts, Gc, Mark, Moment, Sample, StateKind, StateToWrite, ThreadEvent,
    ThreadName, TraceWriter, Violation,
};

pub fn moment(time: u64, gc: u64) -> Moment {
    Moment {
        gc: Some(gc),
        time,
        timestamp: 1_700_000_000_000 + time / 1_000_000,
        kind: StateKind::Dump,
        mark: None,
        pause: 5_000_000,
        source_bytes: Some(1000),
    }
}

pub fn facts() -> Facts {
    Facts {
        started: 1_700_000_000_000_000_000,
        version: "17.0.12+7".to_owned(),
        collector: "G1".to_owned(),
        cores: Some(2),
        flags: vec![("UseG1GC".to_owned(), "true".to_owned())],
        missing: vec!["no addresses of local variables".to_owned()],
        ..Facts::default()
    }
}

/// A list of `length` nodes with something weak beside it.
pub fn list(length: usize) -> HeapState {
    let mut heap = HeapBuilder::new();
    for index in 0..length {
        heap.object(&format!("node{index}"), "Node", 24);
    }
    heap.array("table", "Node[]", 7);
    heap.reference("weak", anthill_heap::Strength::Weak, "node0");
    heap.class_object("mirror", "Node");
    let edges: Vec<String> = (1..length)
        .map(|index| format!("node{} -> node{index}", index - 1))
        .chain([format!("table -> node0 node{}", length - 1)])
        .collect();
    heap.edges(&edges.join(","));
    heap.root("table");
    heap.build()
}

/// Every kind of event.
pub fn events(writer: &mut TraceWriter, from: u64) -> Vec<Event> {
    let frame = writer.frame(&Frame {
        class: "p.Main".to_owned(),
        method: "run".to_owned(),
        signature: "()V".to_owned(),
        source: Some("Main.java".to_owned()),
        line: from as i32,
    });
    let class = writer.class("p.Order");
    let stack = writer.stack(&[frame, frame]);
    let thread = writer.thread(&ThreadName {
        id: from,
        name: "worker".to_owned(),
    });
    vec![
        Event::Gc(Gc {
            number: from,
            full: true,
            collector: "G1 Old".to_owned(),
            cause: "System.gc()".to_owned(),
            start: from,
            end: from + 3,
            used_before: Some(1 << 40),
            used_after: None,
            committed: Some(7),
        }),
        Event::Sample(Sample {
            time: from + 1,
            class,
            size: 24,
            weight: 1 << 19,
            thread: Some(thread),
            stack: Some(stack),
            tracked: Some(from),
        }),
        Event::Sample(Sample {
            time: from + 2,
            class,
            size: 16,
            ..Sample::default()
        }),
        Event::Thread(ThreadEvent {
            time: from,
            thread,
            started: true,
        }),
        Event::Mark(Mark {
            time: from,
            text: "after deploy".to_owned(),
        }),
        Event::Cost(Cost {
            time: from,
            pause: 1,
            agent: 2,
            recorder: 3,
            what: "state 1".to_owned(),
        }),
        Event::Dropped(Dropped {
            time: from,
            what: "state".to_owned(),
            amount: 1,
            reason: "the disk is full".to_owned(),
        }),
        Event::Violation(Violation {
            time: from,
            kind: "dead".to_owned(),
            message: Some("closed sessions".to_owned()),
            made_at: vec!["p.Session.close(Session.java:12)".to_owned()],
            class: "p.Session".to_owned(),
            count: 3,
            bytes: 72,
            text: "an object that was asserted dead is reachable\n".to_owned(),
            json: "{}".to_owned(),
        }),
    ]
}

/// A trace of `states` states with events between them.
pub fn write(path: &Path, states: u64) {
    let mut writer = TraceWriter::create(path, &facts()).unwrap();
    for state in 1..=states {
        for event in events(&mut writer, state * 1000) {
            writer.add(event).unwrap();
        }
        let heap = list(state as usize * 100);
        let to_write = StateToWrite::from_state(
            &heap,
            moment(state * 1000, state),
            RecordedValues::default(),
        );
        writer.state(&to_write).unwrap();
    }
    writer.finish().unwrap();
}
