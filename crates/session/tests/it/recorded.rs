//! A recorded state answers like the dump it was made from.

use std::path::{Path, PathBuf};

use anthill_classify::{OVERALL, Step};
use anthill_graph::Convention;
use anthill_heap::{FieldType, Frame, HeapState, ObjectId, Quiet, Value};
use anthill_hprof::Dump;
use anthill_session::{Error, Grouping, IndexFolder, Options, Session};
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};
use anthill_trace::{
    Event, Facts, Identities, Mark, Moment, Point, Sample as Allocation, StateKind, StateToWrite,
    ThreadName, TraceWriter,
};

use crate::open;

const SECOND: u64 = 1_000_000_000;

fn moment(number: u64) -> Moment {
    Moment {
        gc: Some(number * 10),
        time: number * SECOND,
        timestamp: 1_700_000_000_000 + number * 1000,
        kind: StateKind::Dump,
        mark: None,
        pause: 1,
        source_bytes: None,
    }
}

fn facts() -> Facts {
    Facts {
        // 2023-11-14 22:13:20.
        started: 1_700_000_000 * SECOND,
        ..Facts::default()
    }
}

/// A recording whose states are these dumps.
fn record(dumps: &[&Path], contents: bool) -> PathBuf {
    let path = dumps[0].with_extension(if contents { "full.trace" } else { "trace" });
    let mut writer = TraceWriter::create(&path, &facts()).unwrap();
    for (number, dump) in (1..).zip(dumps) {
        let dump = Dump::open(dump, None, &Quiet).unwrap();
        let to_write = StateToWrite::from_dump(&dump, moment(number), contents);
        writer.state(&to_write).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn dump_of(sample: &Sample, folder: &Path) -> PathBuf {
    let path = folder.join("heap.hprof");
    sample.dump(&path, DumpOptions::default());
    path
}

/// A value as both can tell it: what leads nowhere is null.
fn known(state: &HeapState, value: Option<Value>) -> Option<Value> {
    match value {
        Some(Value::Object(address)) if state.addresses.find(address).is_none() => {
            Some(Value::Object(0))
        }
        // Not a number is never equal to itself.
        Some(Value::Float(value)) => Some(Value::Int(value.to_bits() as i32)),
        Some(Value::Double(value)) => Some(Value::Long(value.to_bits() as i64)),
        value => value,
    }
}

fn same_values(dump: &Session, recorded: &Session, contents: bool) {
    let state = dump.state();
    let (theirs, ours) = (dump.records(), recorded.records());
    let mut references = 0;
    for object in 0..state.len() {
        let fields = theirs.fields(state, object);
        let recorded_fields = ours.fields(recorded.state(), object);
        assert_eq!(fields.len(), recorded_fields.len(), "object {object}");
        for (field, recorded) in fields.iter().zip(&recorded_fields) {
            assert_eq!((field.class, field.name), (recorded.class, recorded.name));
            let expected = known(state, field.value);
            let is_reference = matches!(field.value, Some(Value::Object(_)));
            references += u64::from(is_reference);
            let expected = expected.filter(|_| contents || is_reference);
            let is = known(state, recorded.value);
            assert_eq!(is, expected, "{} of object {object}", field.name);
        }
        let length = state.array_length(object).unwrap_or(0).min(3000);
        let elements = |session: &Session| {
            let values = session
                .records()
                .elements(session.state(), object, 0..length);
            let known = values.into_iter().map(|value| known(state, Some(value)));
            known.collect::<Vec<_>>()
        };
        let of_references = ours.has(FieldType::Object)
            && matches!(
                state.class(object).kind,
                anthill_heap::ClassKind::Array(FieldType::Object)
            );
        match contents || of_references {
            true => assert_eq!(elements(recorded), elements(dump), "object {object}"),
            false => assert_eq!(elements(recorded), [], "object {object}"),
        }
        same_names(dump, recorded, object);
        let texts = |session: &Session| session.records().text(session.state(), object, 100);
        assert_eq!(texts(recorded), texts(dump).filter(|_| contents));
    }
    assert!(references > 10_000, "{references} references were compared");
    same_statics(dump, recorded, contents);
}

fn same_statics(dump: &Session, recorded: &Session, contents: bool) {
    let statics = |session: &Session| {
        let classes = session.state().classes().iter();
        let fields = classes.flat_map(|class| class.statics.clone());
        fields.map(|field| field.value).collect::<Vec<Value>>()
    };
    let state = dump.state();
    let (theirs, ours) = (statics(dump), statics(recorded));
    assert_eq!(theirs.len(), ours.len());
    for (value, recorded) in theirs.into_iter().zip(ours) {
        let ty = value.field_type();
        if contents || ty == FieldType::Object {
            assert_eq!(known(state, Some(recorded)), known(state, Some(value)));
        } else {
            assert_eq!(recorded, Value::NotRecorded(ty));
        }
    }
}

fn same_names(dump: &Session, recorded: &Session, object: ObjectId) {
    for &to in dump.state().references(object).iter().take(20) {
        let name = |session: &Session| {
            session
                .records()
                .reference_name(session.state(), object, to)
        };
        assert_eq!(name(recorded), name(dump), "{object} to {to}");
    }
}

fn same_analyses(dump: &Session, recorded: &Session) {
    let (theirs, ours) = (dump.analysis().unwrap(), recorded.analysis().unwrap());
    for grouping in [Grouping::Class, Grouping::Package, Grouping::Loader] {
        assert_eq!(ours.rows(grouping), theirs.rows(grouping));
    }
    assert_eq!(
        ours.dominators.immediate[..],
        theirs.dominators.immediate[..]
    );
}

#[test]
fn a_recorded_state_answers_like_its_dump() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("recorded states", "no JDK was found");
    };
    for (program, arguments, flags) in [
        ("MultiCache", &["3000"][..], &["-Xmx64m"][..]),
        ("Shapes", &[], &["-Xmx64m", "-XX:+UseZGC"]),
        (
            "NotKept",
            &[],
            &["-Xmx64m", "-XX:+UseSerialGC", "-XX:-UseCompressedOops"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let sample = Sample::start(jdk, program, arguments, flags);
        let path = dump_of(&sample, folder.path());
        let dump = open(&path, Convention::DEFAULT).unwrap();
        for contents in [false, true] {
            let trace = record(&[&path], contents);
            let recorded = open(&trace, Convention::DEFAULT).unwrap();
            assert!(recorded.recording().is_some());
            same_values(&dump, &recorded, contents);
            same_analyses(&dump, &recorded);
        }
    }
}

#[test]
fn states_are_chosen_by_points_and_kept_in_the_index() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("points of recordings", "no JDK was found");
    };
    let folder = tempfile::tempdir().unwrap();
    let sample = Sample::start(jdk, "MultiCache", &["100"], &["-Xmx64m"]);
    let path = dump_of(&sample, folder.path());
    let trace = folder.path().join("app.trace");
    let dump = Dump::open(&path, None, &Quiet).unwrap();
    let mut writer = TraceWriter::create(&trace, &facts()).unwrap();
    for number in 1..=3 {
        let mut moment = moment(number);
        moment.mark = (number == 2).then(|| "after deploy".to_owned());
        let to_write = StateToWrite::from_dump(&dump, moment, false);
        writer.state(&to_write).unwrap();
    }
    for (time, text) in [(SECOND / 10 * 29, "late"), (5, "twice"), (9, "twice")] {
        let text = text.to_owned();
        writer.add(Event::Mark(Mark { time, text })).unwrap();
    }
    writer.flush().unwrap();
    let opened = |at: Option<&str>, dump: Option<usize>, path: &Path| {
        let options = Options {
            at: at.map(Point::parse),
            dump,
            index: IndexFolder::Folder(folder.path().join("index")),
            ..Options::default()
        };
        Session::open(path, options, Box::new(Quiet))
    };
    let number = |at| {
        let session = opened(at, None, &trace).unwrap();
        (
            session.recording().unwrap().state().number,
            session.from_index(),
        )
    };
    assert_eq!(number(None), (3, false));
    for (at, state) in [
        ("last", 3),
        ("first", 1),
        ("#2", 2),
        ("gc:25", 2),
        ("gc:10", 1),
        ("2.5s", 2),
        // Shown as 1s.
        ("960ms", 1),
        ("22:13:21", 1),
        ("2023-11-14T22:13:23", 3),
        ("after deploy", 2),
        ("mark:late", 3),
    ] {
        assert_eq!(number(Some(at)).0, state, "{at}");
    }
    assert_eq!(
        number(Some("#1")),
        (1, true),
        "the second time it is mapped"
    );
    let recorded = opened(Some("#1"), None, &trace).unwrap();
    same_values(&open(&path, Convention::DEFAULT).unwrap(), &recorded, false);

    let refused = |at, dump, path: &Path| match opened(at, dump, path) {
        Err(Error::Point(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{at:?} was opened"),
    };
    for at in ["#4", "gc:3", "0.5s", "before deploy"] {
        let why = refused(Some(at), None, &trace);
        assert!(
            why.contains("gc:20") && why.contains("mark:after deploy"),
            "{why}"
        );
    }
    assert!(refused(Some("twice"), None, &trace).contains("more than once"));
    assert!(refused(None, Some(1), &trace).contains("recording"));
    assert!(refused(Some("last"), None, &path).contains("heap dump"));
}

#[test]
fn sampled_objects_know_where_by_whom_and_when_they_were_allocated() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("allocations of recordings", "no JDK was found");
    };
    let folder = tempfile::tempdir().unwrap();
    let sample = Sample::start(jdk, "MultiCache", &["100"], &["-Xmx64m"]);
    let path = dump_of(&sample, folder.path());
    let dump = Dump::open(&path, None, &Quiet).unwrap();
    let state = &dump.state;
    let products: Vec<ObjectId> = (0..state.len())
        .filter(|&object| state.class(object).name == "anthill.samples.Product")
        .collect();
    let trace = folder.path().join("app.trace");
    let mut writer = TraceWriter::create(&trace, &facts()).unwrap();
    let frame = |method: &str| Frame {
        class: "shop.Cache".to_owned(),
        method: method.to_owned(),
        signature: "()V".to_owned(),
        source: None,
        line: 7,
    };
    let frames = ["load", "main"].map(|method| writer.frame(&frame(method)));
    let stack = writer.stack(&frames);
    let thread = writer.thread(&ThreadName {
        id: 1,
        name: "filler".to_owned(),
    });
    let class = writer.class("anthill.samples.Product");
    // Of the second one only the time is known; the third died and its identity was given again.
    for (time, tracked, known) in [
        (30, 500, true),
        (95, 501, false),
        (10, 502, true),
        (99, 502, false),
        (101, 500, false),
    ] {
        let allocated = Allocation {
            time: time * SECOND,
            class,
            size: 24,
            weight: 512 << 10,
            thread: known.then_some(thread),
            stack: known.then_some(stack),
            tracked: Some(tracked),
        };
        writer.add(Event::Sample(allocated)).unwrap();
    }
    let mut to_write = StateToWrite::from_dump(&dump, moment(100), false);
    let address = |index: usize| state.addresses.address(products[index]);
    to_write.identities = Identities::tracked(
        state,
        [(500, address(0)), (501, address(1)), (502, address(2))],
    );
    writer.state(&to_write).unwrap();
    writer.finish().unwrap();

    let session = open(&trace, Convention::DEFAULT).unwrap();
    let group = session
        .objects_of(|name| name == "anthill.samples.Product", false)
        .unwrap();
    let counts = |by: &str| {
        let tree = session
            .classify(&group, &Step::parse_list(by).unwrap())
            .unwrap();
        let children = tree.node(OVERALL).children.iter();
        let mut counts: Vec<(String, u64)> = children
            .map(|&child| (tree.node(child).key.clone(), tree.node(child).objects))
            .collect();
        counts.sort();
        counts
    };
    let rest = products.len() as u64;
    let named = |counts: &[(&str, u64)]| -> Vec<(String, u64)> {
        counts
            .iter()
            .map(|&(key, count)| (key.to_owned(), count))
            .collect()
    };
    assert_eq!(
        counts("allocation-site"),
        named(&[("(not recorded)", rest - 1), ("shop.Cache.load:7", 1)])
    );
    assert_eq!(
        counts("allocating-thread"),
        named(&[("(not recorded)", rest - 1), ("filler", 1)])
    );
    assert_eq!(
        counts("age"),
        named(&[
            ("(not recorded)", rest - 3),
            ("1 to 10 minutes", 1),
            ("1 to 10 seconds", 2),
        ])
    );
}
