//! Waste: what the sample program says of itself, what a stored dump's program said, and a plain search.

use std::collections::HashMap;

use anthill_graph::Convention;
use anthill_heap::{ClassKind, FieldType, ObjectId, Value};
use anthill_leaks::{Detail, Finding, WasteKind, holder_name, waste};
use anthill_session::Session;
use anthill_testkit::{DumpOptions, Jdk, Sample, corpus, skipped};

use crate::open;

fn sample(jdk: &Jdk, flags: &[&str]) -> (Sample, Session) {
    let sample = Sample::start(jdk, "Waste", &["500"], flags);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.hprof");
    sample.dump(&path, DumpOptions::default());
    let session = open(&path, Convention::DEFAULT);
    // The file is open from now on.
    session.records().open().unwrap();
    (sample, session)
}

fn of_kind(findings: &[Finding], kind: WasteKind) -> &Finding {
    findings.iter().find(|found| found.kind == kind).unwrap()
}

/// Wasted objects and savable bytes that a static field holds.
fn held(session: &Session, finding: &Finding, field: &str) -> (u64, u64) {
    let graph = session.graph();
    let name = format!("static field {field}");
    let mut holders = finding.holders.iter();
    let holder = holders.find(|holder| holder_name(session, &graph, holder) == name);
    holder.map_or((0, 0), |holder| (holder.objects, holder.savable))
}

fn kind_named(title: &str) -> WasteKind {
    match title {
        "duplicate strings" => WasteKind::DuplicateStrings,
        "duplicate arrays" => WasteKind::DuplicateArrays,
        "zero-filled arrays" => WasteKind::ZeroArrays,
        "duplicate boxes" => WasteKind::DuplicateBoxes,
        "boxed numbers" => WasteKind::BoxedNumbers,
        "empty collections" => WasteKind::EmptyCollections,
        "unused collections" => WasteKind::UnusedCollections,
        "sparse collections" => WasteKind::SparseCollections,
        "sparse arrays" => WasteKind::SparseArrays,
        "hash collisions" => WasteKind::HashCollisions,
        "null fields" => WasteKind::NullFields,
        other => panic!("{other}"),
    }
}

#[test]
fn every_jvm_wastes_what_the_program_says() {
    for jdk in Jdk::all() {
        let (sample, session) = sample(jdk, &["-Xmx256m"]);
        let findings = waste(&session, usize::MAX).unwrap();
        for (key, value) in sample.truth() {
            let (kind, field) = key.split_once(" in ").unwrap();
            let finding = of_kind(&findings, kind_named(kind));
            let (objects, _) = held(&session, finding, &format!("anthill.samples.Waste.{field}"));
            assert_eq!(
                objects.to_string(),
                *value,
                "{key} on JDK {}",
                jdk.version()
            );
        }
    }
}

#[test]
fn strings_that_share_an_array_save_only_themselves() {
    for jdk in Jdk::all() {
        let (sample, session) = sample(jdk, &["-Xmx256m"]);
        let strings = sample.histogram()["java.lang.String"];
        let findings = waste(&session, usize::MAX).unwrap();
        let finding = of_kind(&findings, WasteKind::DuplicateStrings);
        let (objects, savable) = held(&session, finding, "anthill.samples.Waste.shared");
        assert_eq!(savable, objects * (strings.bytes / strings.instances));
    }
}

#[test]
fn collisions_name_the_fullest_bucket_and_null_fields_their_fields() {
    for jdk in Jdk::all() {
        let (sample, session) = sample(jdk, &["-Xmx256m"]);
        let findings = waste(&session, usize::MAX).unwrap();
        // The keys have three hashes: 600 entries, 200 in each of three buckets.
        for row in &of_kind(&findings, WasteKind::HashCollisions).rows {
            let expected = Detail::Buckets {
                entries: 600,
                used: 3,
                longest: 200,
            };
            assert_eq!(row.detail, expected, "JDK {}", jdk.version());
        }
        let objects = sample.count("null fields in mostly");
        let rows = &of_kind(&findings, WasteKind::NullFields).rows;
        let row = rows.iter().find(|row| {
            session.state().classes()[row.class as usize]
                .name
                .ends_with("Mostly")
        });
        let Detail::Nulls(mut fields) = row.unwrap().detail.clone() else {
            panic!("{row:?}")
        };
        fields.sort();
        let expected = ["first", "second", "third"].map(|field| (field.to_owned(), objects));
        assert_eq!(fields, expected);
    }
}

/// Counts and sizes the slow way: texts and values as they are shown, bytes as what dies with an object.
#[test]
fn duplicates_are_those_of_a_plain_search() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("a plain search for waste", "no JDK was found");
    };
    let (_, session) = sample(jdk, &["-Xmx256m", "-XX:-UseCompressedOops"]);
    let (state, records) = (session.state(), session.records());
    let dominators = &session.analysis().unwrap().dominators;
    let reachable = || (0..state.len()).filter(|&object| dominators.is_reachable(object));
    let mut of_strings: Vec<ObjectId> = Vec::new();
    let mut users: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    let (mut strings, mut arrays, mut boxes) = (HashMap::new(), HashMap::new(), HashMap::new());
    for object in reachable() {
        if let Some(text) = records.string(state, object) {
            let array = records.field_object(state, object, "value").unwrap();
            of_strings.push(array);
            users.entry(array).or_default().push(object);
            strings.entry(text).or_insert_with(Vec::new).push(object);
        }
    }
    of_strings.sort_unstable();
    let mut zeros = Vec::new();
    for object in reachable() {
        let class = state.class(object);
        let name = &class.name;
        match class.kind {
            ClassKind::Array(element)
                if element != FieldType::Object && of_strings.binary_search(&object).is_err() =>
            {
                let elements = records.elements(state, object, 0..u32::MAX);
                if !elements.is_empty() && elements.iter().all(is_zero) {
                    zeros.push(object);
                    continue;
                }
                let contents = format!("{name} {elements:?}");
                arrays.entry(contents).or_insert_with(Vec::new).push(object);
            }
            _ if BOXES.contains(&name.as_str()) => {
                let value = format!("{name} {:?}", records.field(state, object, "value"));
                boxes.entry(value).or_insert_with(Vec::new).push(object);
            }
            _ => {}
        }
    }
    let graph = session.graph();
    // Arrays that only strings have that can go, but several of them.
    let shared = |group: &Vec<ObjectId>| -> u64 {
        let can_go = |users: &&Vec<ObjectId>| {
            users.len() > 1 && users.iter().all(|user| group[1..].contains(user))
        };
        let arrays = users.iter().filter(|(_, users)| can_go(users));
        arrays.map(|(&array, _)| graph.size(array)).sum()
    };
    let findings = waste(&session, usize::MAX).unwrap();
    for (kind, equal) in [
        (WasteKind::DuplicateStrings, strings),
        (WasteKind::DuplicateArrays, arrays),
        (WasteKind::DuplicateBoxes, boxes),
    ] {
        let finding = of_kind(&findings, kind);
        let more = || equal.values().flat_map(|group| &group[1..]);
        let mut bytes: u64 = more().map(|&object| dominators.retained(object)).sum();
        if kind == WasteKind::DuplicateStrings {
            bytes += equal.values().map(shared).sum::<u64>();
        }
        let rows = equal.values().filter(|group| group.len() > 1).count();
        assert_eq!(
            (finding.objects, finding.savable, finding.rows.len()),
            (more().count() as u64, bytes, rows),
            "{kind:?}"
        );
    }
    let finding = of_kind(&findings, WasteKind::ZeroArrays);
    let bytes: u64 = zeros.iter().map(|&array| graph.size(array)).sum();
    assert_eq!(
        (finding.objects, finding.bytes, finding.savable),
        (zeros.len() as u64, bytes, 0)
    );
}

fn is_zero(value: &Value) -> bool {
    match *value {
        Value::Boolean(value) => !value,
        Value::Char(value) => value == 0,
        Value::Float(value) => value.to_bits() == 0,
        Value::Double(value) => value.to_bits() == 0,
        Value::Byte(value) => value == 0,
        Value::Short(value) => value == 0,
        Value::Int(value) => value == 0,
        Value::Long(value) => value == 0,
        Value::Object(_) | Value::NotRecorded(_) => false,
    }
}

const BOXES: [&str; 8] = [
    "java.lang.Boolean",
    "java.lang.Byte",
    "java.lang.Character",
    "java.lang.Double",
    "java.lang.Float",
    "java.lang.Integer",
    "java.lang.Long",
    "java.lang.Short",
];

/// The program's words in `waste.truth.txt`, times the sizes of JDK 17 with compressed references: an array
/// has 16 bytes before its elements, a string 24 in all, a reference 4, and all is a multiple of 8.
#[test]
fn the_stored_program_wastes_what_it_said() {
    let Some(folder) = corpus() else {
        return skipped(
            "the stored waste",
            "there is no corpus beside the repository",
        );
    };
    let session = open(&folder.join("waste.hprof.gz"), Convention::DEFAULT);
    let findings = waste(&session, usize::MAX).unwrap();
    let check = |kind, field: &str, expected: (u64, u64)| {
        let finding = of_kind(&findings, kind);
        let found = held(&session, finding, &format!("Stress.{field}"));
        assert_eq!(found, expected, "{field}");
    };
    let copies = 100_000 - 10;
    check(
        WasteKind::DuplicateStrings,
        "DUP",
        (copies, copies * (24 + 40)),
    );
    check(WasteKind::ZeroArrays, "ZEROS", (1000, 0));
    check(
        WasteKind::DuplicateArrays,
        "CHARS",
        (999, 999 * (16 + 2000)),
    );
    check(
        WasteKind::EmptyCollections,
        "TOUCHEDEMPTY",
        (10_000, 10_000 * 80),
    );
    check(WasteKind::UnusedCollections, "EMPTYMAPS", (100_000, 0));
    // One entry needs a table of two: 24 bytes instead of 80.
    check(
        WasteKind::SparseCollections,
        "ONEMAPS",
        (10_000, 10_000 * 56),
    );
    // One element: 24 bytes instead of 4016.
    check(
        WasteKind::SparseCollections,
        "FATLIST",
        (1000, 1000 * (4016 - 24)),
    );
    check(WasteKind::HashCollisions, "COLLIDE", (1, 0));
    check(WasteKind::BoxedNumbers, "BOXED", (100_000, 0));
    check(WasteKind::BoxedNumbers, "BOXMAP", (200_000, 0));
    check(WasteKind::DuplicateBoxes, "BOXED", (0, 0));
}
