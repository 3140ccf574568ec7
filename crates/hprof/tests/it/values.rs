//! Field values, strings, stacks and locals as the running program has them.

use anthill_heap::{HeapState, ObjectId, RootOrigin, Value};
use anthill_hprof::Dump;
use anthill_testkit::{DumpOptions, Jdk, Sample, corpus, skipped};

use crate::open;

fn class_object_field(dump: &Dump, class: &str, field: &str) -> Option<Value> {
    let class = dump
        .state
        .classes()
        .iter()
        .find(|known| known.name == class)?;
    Some(
        class
            .statics
            .iter()
            .find(|known| known.name == field)?
            .value,
    )
}

fn instances<'a>(state: &'a HeapState, class: &'a str) -> impl Iterator<Item = ObjectId> + 'a {
    (0..state.len()).filter(move |&object| state.class(object).name == class)
}

#[test]
fn every_type_of_field_has_its_value() {
    let Some(folder) = corpus() else {
        return skipped(
            "known field values",
            "there is no corpus beside the repository",
        );
    };
    // shapes.truth.txt says what these are.
    let dump = open(&folder.join("shapes.hprof.gz")).unwrap();
    let state = &dump.state;
    let of = |class: &str| {
        let object = instances(state, class)
            .next()
            .unwrap_or_else(|| panic!("no {class}"));
        dump.records
            .fields(state, object)
            .into_iter()
            .map(|field| (field.class, field.name, field.value))
            .collect::<Vec<_>>()
    };
    let prim = state
        .classes()
        .iter()
        .find(|class| class.name.ends_with("$Prim"))
        .unwrap()
        .name
        .clone();
    let value = |name: &str| {
        of(&prim)
            .iter()
            .find(|field| field.1 == name)
            .unwrap()
            .2
            .unwrap()
    };
    assert_eq!(value("z"), Value::Boolean(true));
    assert_eq!(value("b"), Value::Byte(-128));
    assert_eq!(value("c"), Value::Char(0x20ac));
    assert_eq!(value("s"), Value::Short(-32768));
    assert_eq!(value("i"), Value::Int(i32::MIN));
    assert_eq!(value("j"), Value::Long(i64::MIN));
    assert!(matches!(value("f"), Value::Float(f) if f == 0.0 && f.is_sign_negative()));
    assert!(matches!(value("d"), Value::Double(d) if d.is_nan()));
    assert_eq!(value("o"), Value::Object(0));
    let object = instances(state, &prim).next().unwrap();
    let text = dump.records.field_object(state, object, "str").unwrap();
    assert_eq!(dump.records.string(state, text).as_deref(), Some("prim"));
    let ints = dump.records.field_object(state, object, "ia").unwrap();
    assert_eq!(
        dump.records.elements(state, ints, 0..10),
        [Value::Int(1), Value::Int(-2), Value::Int(3)]
    );
    let leaf = state
        .classes()
        .iter()
        .find(|class| class.name.ends_with("$Leaf"))
        .unwrap()
        .name
        .clone();
    let xs: Vec<Value> = of(&leaf)
        .into_iter()
        .filter(|field| field.1 == "x")
        .filter_map(|field| field.2)
        .collect();
    assert_eq!(
        xs,
        [Value::Int(100), Value::Int(10), Value::Int(1)],
        "shadowed fields, own class first"
    );
    assert_eq!(
        class_object_field(&dump, "Stress", "SJ"),
        Some(Value::Long(1_099_511_627_776))
    );
    assert_eq!(
        class_object_field(&dump, "Stress", "SC"),
        Some(Value::Char('Z' as u16))
    );
    for name in ["Größe", "Класс", "クラス", "Cls\u{1d4b3}"] {
        assert!(
            state
                .classes()
                .iter()
                .any(|class| class.name.ends_with(name)),
            "{name}"
        );
    }
}

#[test]
fn strings_of_every_age_are_read() {
    let Some(folder) = corpus() else {
        return skipped("old strings", "there is no corpus beside the repository");
    };
    // JDK 5 and 6 share char[] between strings; JDK 8 has char[], later ones compact strings.
    for name in [
        "public/mat-sun_jdk5_13_x32.hprof.gz",
        "public/mat-sun_jdk6_18_x32.hprof.gz",
        "public/hprof-64.bin.gz",
        "small-jdk11.hprof.gz",
        "small-jdk25.hprof.gz",
    ] {
        let dump = open(&folder.join(name)).unwrap();
        let texts: Vec<String> = instances(&dump.state, "java.lang.String")
            .filter_map(|object| dump.records.string(&dump.state, object))
            .collect();
        assert!(
            texts.iter().any(|text| text == "main" || text == "system"),
            "{name}: {:?}",
            &texts[..texts.len().min(20)]
        );
    }
}

#[test]
fn threads_stacks_and_locals_are_the_programs() {
    for jdk in Jdk::all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heap.hprof");
        let sample = Sample::start(jdk, "Shapes", &[], &["-Xmx64m"]);
        sample.dump(&path, DumpOptions::default());
        let dump = open(&path).unwrap();
        let state = &dump.state;
        let truth = sample.truth();
        let name = truth
            .iter()
            .find(|(key, _)| key.contains("thread"))
            .map(|(_, value)| value.trim_matches('"').to_owned());
        let name = name.unwrap_or_else(|| panic!("{truth:?}"));
        let index = state
            .tables
            .threads
            .iter()
            .position(|thread| thread.name.as_deref() == Some(&name));
        let index =
            index.unwrap_or_else(|| panic!("no thread {name} in {:?}", state.tables.threads));
        let trace = &state.tables.traces[state.tables.threads[index].trace.unwrap() as usize];
        let frames: Vec<_> = trace
            .frames
            .iter()
            .map(|&frame| &state.tables.frames[frame as usize])
            .collect();
        let own = frames
            .iter()
            .find(|frame| frame.class == "anthill.samples.Shapes")
            .unwrap();
        assert_eq!(own.source.as_deref(), Some("Shapes.java"));
        assert!(own.line > 0);
        let locals = state.tables.roots.iter().filter(|root| {
            root.origin == RootOrigin::JavaFrame && root.thread == Some(index as u32)
        });
        assert!(locals.count() > 0, "JDK {}", jdk.version());
    }
}

#[test]
fn allocation_traces_are_kept_where_the_file_has_them() {
    let Some(folder) = corpus() else {
        return skipped(
            "allocation traces",
            "there is no corpus beside the repository",
        );
    };
    // The old agent records where every object was allocated; hprof-32-result.txt lists 215
    // traces with frames, the first in a constructor of Thread.
    let dump = open(&folder.join("public/hprof-32.bin.gz")).unwrap();
    let tables = &dump.state.tables;
    assert_eq!(
        tables
            .traces
            .iter()
            .filter(|trace| !trace.frames.is_empty())
            .count(),
        215
    );
    assert!(tables.allocations.len() > 100 && tables.allocations.is_sorted());
    let innermost = |trace: &anthill_heap::StackTrace| {
        Some(tables.frames[*trace.frames.first()? as usize].clone())
    };
    let constructor =
        tables
            .traces
            .iter()
            .filter_map(innermost)
            .any(|frame: anthill_heap::Frame| {
                (frame.class.as_str(), frame.method.as_str(), frame.line)
                    == ("java.lang.Thread", "<init>", 432)
            });
    assert!(constructor);
    // HotSpot's own dumps have none.
    assert!(
        open(&folder.join("small-g1.hprof.gz"))
            .unwrap()
            .state
            .tables
            .allocations
            .is_empty()
    );
}
