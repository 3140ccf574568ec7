//! What was written comes back.

use std::path::Path;

use anthill_heap::{BitSet, HeapState, RecordedValues};
use anthill_trace::{
    Event, Identities, IdentityKind, StateToWrite, Timeline, Totals, Trace, TraceWriter, is_trace,
};

use crate::{events, facts, list, moment, write};

fn same(a: &HeapState, b: &HeapState) {
    assert_eq!(a.len(), b.len());
    assert_eq!(a.columns.classes[..], b.columns.classes[..]);
    assert_eq!(a.columns.details[..], b.columns.details[..]);
    assert_eq!(a.columns.references[..], b.columns.references[..]);
    assert_eq!(a.columns.referents[..], b.columns.referents[..]);
    assert_eq!(
        a.columns.referrers_by_referent[..],
        b.columns.referrers_by_referent[..]
    );
    for object in 0..a.len() {
        assert_eq!(a.references(object), b.references(object));
        let address = a.addresses.address(object);
        assert_eq!(b.addresses.address(object), address);
        assert_eq!(b.addresses.find(address), Some(object));
    }
    assert_eq!(a.tables.roots, b.tables.roots);
    assert_eq!(a.tables.classes, b.tables.classes);
    assert_eq!(a.tables.sizes, b.tables.sizes);
}

#[test]
fn events_come_back_in_the_order_of_time_with_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut writer = TraceWriter::create(&path, &facts()).unwrap();
    let later = events(&mut writer, 2000);
    let sooner = events(&mut writer, 1000);
    for event in later.iter().chain(&sooner) {
        writer.add(event.clone()).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    assert!(is_trace(&path));
    let trace = Trace::open(&path).unwrap();
    assert!(trace.is_complete());
    assert_eq!(trace.facts(), &facts());
    assert_eq!(trace.damage(), []);
    let mut expected = Timeline::default();
    for event in sooner.iter().chain(&later) {
        match event.clone() {
            Event::Gc(gc) => expected.gcs.push(gc),
            Event::Sample(sample) => expected.samples.push(sample),
            Event::Thread(thread) => expected.threads.push(thread),
            Event::Mark(mark) => expected.marks.push(mark),
            Event::Cost(cost) => expected.costs.push(cost),
            Event::Dropped(dropped) => expected.dropped.push(dropped),
            Event::Violation(violation) => expected.violations.push(violation),
        }
    }
    assert_eq!(trace.timeline(), &expected);
    let sample = &trace.timeline().samples[0];
    let symbols = trace.symbols();
    assert_eq!(symbols.class(sample.class), Some("p.Order"));
    assert_eq!(symbols.thread(sample.thread.unwrap()).unwrap().id, 1000);
    let frames: Vec<i32> = symbols
        .frames_of(sample.stack.unwrap())
        .map(|frame| frame.line)
        .collect();
    assert_eq!(frames, [1000, 1000]);
}

#[test]
fn a_state_comes_back_with_identities_and_totals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    // More objects than a part of a column has.
    let heap = list(300_000);
    let mut reachable = BitSet::new(heap.len() as usize);
    (0..100).for_each(|object| reachable.insert(object));
    let address = |object| heap.addresses.address(object);
    let tracked = [(77, address(5)), (78, 3), (5, address(299_999))];
    let mut writer = TraceWriter::create(&path, &facts()).unwrap();
    let mut to_write = StateToWrite::from_state(&heap, moment(5, 3), RecordedValues::default());
    to_write.identities = Identities::tracked(&heap, tracked);
    to_write.reachable = Some(&reachable);
    let header = writer.state(&to_write).unwrap();
    to_write.identities = Identities::All;
    writer.state(&to_write).unwrap();
    writer.finish().unwrap();

    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.states().len(), 2);
    assert_eq!(trace.states()[0], header);
    assert_eq!(header.identity, IdentityKind::Tracked);
    assert_eq!(header.all.objects, u64::from(heap.len()));
    let kept = Totals {
        objects: 100,
        bytes: 2400,
    };
    assert_eq!(header.reachable, Some(kept));
    let nodes = header
        .classes
        .iter()
        .find(|class| trace.symbols().class(class.class) == Some("Node"));
    assert_eq!(nodes.unwrap().all.bytes, 300_000 * 24);
    assert_eq!(nodes.unwrap().reachable, Some(kept));
    let recorded = trace.load(1).unwrap();
    same(&heap, recorded.state());
    assert_eq!(
        recorded.identities,
        Identities::Tracked(vec![(5, 77), (299_999, 5)])
    );
    let recorded = trace.load(2).unwrap();
    let id = recorded.identities.of(recorded.state(), 9);
    assert_eq!(id, Some(address(9)));
}

#[test]
fn a_trace_opens_while_it_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut writer = TraceWriter::create(&path, &facts()).unwrap();
    let heap = list(50);
    for count in 1..4 {
        for event in events(&mut writer, count) {
            writer.add(event).unwrap();
        }
        let to_write =
            StateToWrite::from_state(&heap, moment(count, count), RecordedValues::default());
        writer.state(&to_write).unwrap();
        let trace = Trace::open(&path).unwrap();
        assert_eq!(trace.states().len() as u64, count);
        assert_eq!(trace.timeline().marks.len() as u64, count);
        assert_eq!((trace.is_complete(), trace.damage().len()), (false, 0));
        same(&heap, trace.load(count as u32).unwrap().state());
    }
}

#[test]
fn states_of_one_trace_are_independent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, 5);
    let trace = Trace::open(&path).unwrap();
    for number in [4, 1, 5] {
        let recorded = trace.load(number).unwrap();
        same(&list(number as usize * 100), recorded.state());
    }
    assert!(trace.load(6).is_err() && trace.load(0).is_err());
}

/// Written once by the first version of the format. Whoever has to write it anew has changed the
/// format: then its version changes, too, and the old one stays readable.
#[test]
fn traces_of_the_first_version_stay_readable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/version-1.trace");
    if std::env::var_os("ANTHILL_ACCEPT").is_some() && !path.exists() {
        write(&path, 2);
    }
    let trace = Trace::open(&path).unwrap();
    assert!(trace.is_complete() && trace.damage().is_empty());
    assert_eq!(trace.facts(), &facts());
    assert_eq!(trace.timeline().gcs[1].cause, "System.gc()");
    assert_eq!(trace.timeline().samples.len(), 4);
    for number in [1, 2] {
        same(
            &list(number as usize * 100),
            trace.load(number).unwrap().state(),
        );
    }
}
