//! Blocks that say something wrong although their checksums are right: nothing may panic, hang or
//! take more memory than there is reason for.

use std::fs;
use std::path::Path;

use anthill_heap::{Frame, HeapBuilder, HeapState, PresentBits, RecordedValues, Strength};
use fastrand::Rng;

use crate::{
    Event, Facts, Gc, Identities, Mark, Moment, Sample, StateKind, StateToWrite, ThreadName, Trace,
    TraceWriter, rewritten,
};

fn heap() -> HeapState {
    let mut heap = HeapBuilder::new();
    heap.objects("a b c d e f", "shop.Order", 24);
    heap.array("table", "shop.Order[]", 4);
    heap.array("bytes", "byte[]", 11);
    heap.reference("weak", Strength::Weak, "a");
    heap.class_object("mirror", "shop.Order");
    heap.edges("a -> b c, b -> d, table -> a e f");
    heap.root("table");
    heap.build()
}

fn write(path: &Path, state: &HeapState) {
    let mut writer = TraceWriter::create(path, &Facts::default()).unwrap();
    let frame = writer.frame(&Frame {
        class: "p.Main".to_owned(),
        method: "run".to_owned(),
        signature: "()V".to_owned(),
        source: None,
        line: 3,
    });
    let stack = writer.stack(&[frame]);
    let thread = writer.thread(&ThreadName {
        id: 1,
        name: "main".to_owned(),
    });
    let sample = Sample {
        time: 5,
        stack: Some(stack),
        thread: Some(thread),
        tracked: Some(9),
        ..Sample::default()
    };
    let mark = Mark {
        time: 3,
        text: "here".to_owned(),
    };
    for event in [
        Event::Sample(sample),
        Event::Mark(mark),
        Event::Gc(Gc::default()),
    ] {
        writer.add(event).unwrap();
    }
    let mut present = PresentBits::default();
    for object in 0..state.len() {
        let is_table = state.class(object).name == "shop.Order[]";
        present.object([true, false, true, true].into_iter().filter(|_| is_table));
    }
    let moment = Moment {
        gc: Some(1),
        time: 7,
        timestamp: 1,
        kind: StateKind::Dump,
        mark: None,
        pause: 1,
        source_bytes: Some(100),
    };
    let values = RecordedValues {
        id_size: 8,
        present: Some(present.words().into()),
        contents: Some(b"hello world".to_vec().into()),
    };
    let mut to_write = StateToWrite::from_state(state, moment, values);
    to_write.identities = Identities::Tracked(vec![(0, 9), (3, 11)]);
    writer.state(&to_write).unwrap();
}

/// Asks everything that can be asked.
fn use_all(path: &Path) -> usize {
    let Ok(trace) = Trace::open(path) else {
        return 0;
    };
    let mut loaded = 0;
    for sample in &trace.timeline().samples {
        let _ = trace.symbols().class(sample.class);
        let _ = sample
            .stack
            .map(|stack| trace.symbols().frames_of(stack).count());
    }
    for header in trace.states() {
        let _ = trace.identities(header.number);
        let Ok(recorded) = trace.load(header.number) else {
            continue;
        };
        loaded += 1;
        let (state, records) = (recorded.state(), &recorded.dump.records);
        let sizer = state
            .tables
            .sizes
            .as_ref()
            .map(|sizes| sizes.sizer(state.classes()));
        for object in 0..state.len().min(1000) {
            let _ = records.fields(state, object);
            let _ = records.elements(state, object, 0..10);
            let _ = records.text(state, object, 10);
            let address = state.addresses.address(object);
            let _ = state.addresses.find(address);
            let _ = sizer
                .as_ref()
                .map(|sizer| sizer.size(state.class_id(object), state.detail(object)));
            let _ = state.referent(object);
            for &to in state.references(object) {
                let _ = records.reference_name(state, object, to);
            }
        }
    }
    loaded
}

#[test]
fn a_state_without_sizes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut state = heap();
    state.tables.sizes = None;
    write(&path, &state);
    let trace = Trace::open(&path).unwrap();
    let number = trace.states()[0].number;
    let refused = trace.load(number).err().expect("it is refused");
    assert!(
        refused.to_string().contains("contradicts itself: sizes"),
        "{refused}"
    );
}

#[test]
fn wrong_contents_with_right_checksums_are_refused_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, &heap());
    assert_eq!(use_all(&path), 1);
    let whole = fs::read(&path).unwrap();
    let blocks = rewritten(&whole, |_, _| ()).1;
    assert!(blocks > 15, "{blocks} blocks");
    let mut random = Rng::with_seed(7);
    let mut refused = 0;
    for _ in 0..3000 {
        let changed = random.usize(..blocks);
        let (bytes, _) = rewritten(&whole, |block, payload| {
            if block == changed {
                for _ in 0..=random.usize(..3) {
                    change(&mut random, payload);
                }
            }
        });
        fs::write(&path, &bytes).unwrap();
        refused += usize::from(use_all(&path) == 0);
    }
    assert!(refused > 500, "{refused} were refused");
}

fn change(random: &mut Rng, payload: &mut Vec<u8>) {
    let at = random.usize(..payload.len().max(1));
    match random.usize(..4) {
        0 if !payload.is_empty() => payload[at] = random.usize(..256) as u8,
        1 if !payload.is_empty() => payload[at] ^= 1 << random.usize(..8),
        2 => payload.truncate(at),
        _ => payload.insert(at.min(payload.len()), 0xff),
    }
}
