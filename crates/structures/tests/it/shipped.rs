//! Every shipped definition on every JVM at hand.

use std::collections::{BTreeMap, BTreeSet};

use anthill_heap::{HeapState, ObjectId, Quiet, Value};
use anthill_hprof::{Dump, Records};
use anthill_structures::{Definitions, Kind, Model, Structures, Walker};
use anthill_testkit::{DumpOptions, Jdk, Sample};

/// The program also looks into the JDK.
const JVM: [&str; 3] = [
    "-Xmx64m",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
];

/// What cannot be told without the file.
const UNCLEAR: [&str; 3] = [
    "HashMap of entries",
    "IdentityHashMap with nulls",
    "buildSet",
];

/// Characters, which are no elements, and one element that stands for many.
const NOT_LISTED: [&str; 3] = ["StringBuilder", "StringBuilder, UTF-16", "nCopies"];

/// A string or a number; nothing for other objects.
fn text(dump: &Dump, value: Option<Value>) -> String {
    let (state, records) = (&dump.state, &dump.records);
    match value {
        Some(Value::Object(address)) => {
            state
                .addresses
                .find(address)
                .map_or("null".to_owned(), |object| {
                    let number = || match records.field(state, object, "value") {
                        Some(Value::Int(value)) => value.to_string(),
                        _ => String::new(),
                    };
                    records.string(state, object).unwrap_or_else(number)
                })
        }
        Some(Value::Int(value)) => value.to_string(),
        Some(Value::Long(value)) => value.to_string(),
        _ => String::new(),
    }
}

/// The samples put `value 7` under `key 7` or 7, and `element 7` before `element 8`.
fn misplaced(name: &str, listed: &[[String; 2]]) -> Vec<String> {
    let mut wrong = Vec::new();
    let number = |text: &str| text.rsplit(' ').next().unwrap_or_default().to_owned();
    for [key, value] in listed {
        let keyed = key.starts_with("key ") || key.parse::<u32>().is_ok();
        let several = name.contains("Multimap");
        if keyed && value.starts_with("value ") && !several && number(key) != number(value) {
            wrong.push(format!("{name}: `{value}` under `{key}`"));
        }
    }
    let keys: Vec<&str> = listed.iter().map(|[key, _]| key.as_str()).collect();
    let all = |start: &str| {
        listed
            .iter()
            .all(|[key, value]| key.is_empty() && value.starts_with(start))
    };
    let sides = [("keys of a", "key "), ("values of a", "value ")];
    for (prefix, start) in sides {
        let library = name.contains("Enum") || name.contains("Map.of");
        if name.starts_with(prefix) && !library && !all(start) {
            wrong.push(format!("{name}: {listed:?}"));
        }
    }
    let in_order = |count: usize, start: &str| -> Vec<String> {
        (0..count).map(|at| format!("{start}{at}")).collect()
    };
    let values = || listed.iter().map(|[_, value]| value.as_str());
    match name {
        _ if LISTS.contains(&name) && !values().eq(in_order(listed.len(), "element ")) => {
            wrong.push(format!("{name}: {listed:?}"));
        }
        "LinkedHashMap" | "mutable.LinkedHashMap" if keys != in_order(keys.len(), "key ") => {
            wrong.push(format!("{name}: {keys:?}"));
        }
        "TreeMap" | "ConcurrentSkipListMap" if !keys.is_sorted() => {
            wrong.push(format!("{name}: {keys:?}"));
        }
        "EnumMap" if keys.len() != 2 || !values().eq(["red", ""]) => {
            wrong.push(format!("{name}: {listed:?}"));
        }
        "LinkedList with nulls" if !values().eq(["", "one", ""]) => {
            wrong.push(format!("{name}: {listed:?}"));
        }
        _ => {}
    }
    let parts = [
        ("subList", ["2", "3", "4"].as_slice()),
        ("subList of a subList", &["2", "3"]),
        ("subList of a LinkedList", &["3", "4", "5"]),
        ("subList of List.of", &["1", "2", "3"]),
        ("unmodifiable subList", &["4", "5"]),
        ("IntArrayList", &["1", "2", "3"]),
    ];
    for (part, expected) in parts {
        if part == name && !values().eq(expected.iter().copied()) {
            wrong.push(format!("{name}: {listed:?} instead of {expected:?}"));
        }
    }
    let numbers = ["Int2IntOpenHashMap", "IntOpenHashSet"];
    if numbers.contains(&name) {
        let mut found: Vec<u32> = values().filter_map(|value| value.parse().ok()).collect();
        found.sort_unstable();
        if !found.into_iter().eq(0..listed.len() as u32) {
            wrong.push(format!("{name}: {listed:?}"));
        }
    }
    wrong
}

/// Those that give their elements in the order in which they got them.
const LISTS: [&str; 17] = [
    "ArrayList",
    "Vector",
    "Stack",
    "LinkedList",
    "CopyOnWriteArrayList",
    "LinkedHashSet",
    "CopyOnWriteArraySet",
    "ArrayDeque",
    "ConcurrentLinkedQueue",
    "ConcurrentLinkedDeque",
    "LinkedBlockingQueue",
    "LinkedBlockingDeque",
    "LinkedTransferQueue",
    "ArrayBlockingQueue",
    "kotlin ArrayDeque",
    "ObjectArrayList",
    "mutable.ArrayDeque",
];

/// The structures that a sample keeps in objects of its class `Made`, by name.
pub(crate) fn made(
    state: &HeapState,
    records: &Records,
    class: &str,
) -> BTreeMap<String, ObjectId> {
    let made = (0..state.len()).filter(|&object| state.class(object).name == class);
    made.map(|object| {
        let name = records.field_object(state, object, "name").unwrap();
        let structure = records.field_object(state, object, "structure").unwrap();
        (records.string(state, name).unwrap(), structure)
    })
    .collect()
}

/// Compares what a program says with what is found, with the file at hand and without; the definitions that it has
/// structures of.
pub(crate) fn compare(sample: &Sample, class: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.hprof");
    sample.dump(&path, DumpOptions::default());
    let dump = Dump::open(&path, None, &Quiet).unwrap();
    let state = &dump.state;
    let definitions = Definitions::shipped();
    let made = made(state, &dump.records, class);
    assert!(made.len() > 3, "{} structures", made.len());
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for records in [Some(&dump.records), None] {
        let model = Model::new(state, records, &definitions);
        let sizes = state.tables.sizes.as_ref().unwrap();
        let found = Structures::detect(&model, sizes, |_| true, |_, _| false, &Quiet).unwrap();
        let mut walker = Walker::new(&model);
        for (name, &head) in &made {
            let class = &state.class(head).name;
            let Some(number) = found.of_head(head) else {
                wrong.push(format!("{name} ({class}) is no structure"));
                continue;
            };
            let instance = found.instances[number as usize];
            let definition = &definitions.all()[instance.definition as usize];
            used.insert(definition.definition.name.clone());
            if definition.definition.kind == Kind::View {
                used.extend(shown(&found, &definitions, state.references(head)));
            }
            if name.contains("range of") {
                if let Some(elements) = instance.elements {
                    wrong.push(format!(
                        "nothing tells that {name} ({class}) has {elements}"
                    ));
                }
                continue;
            }
            let truth = sample.count(name);
            if let Some(records) = records.filter(|_| !NOT_LISTED.contains(&name.as_str())) {
                let mut listed = Vec::new();
                let keep = &mut |element| listed.push(element);
                model.elements(records, head, &Quiet, keep).unwrap();
                let listed: Vec<[String; 2]> = listed
                    .iter()
                    .map(|element| [element.key, element.value].map(|side| text(&dump, side)))
                    .collect();
                if listed.len() as u64 != truth {
                    wrong.push(format!("{name} ({class}): {listed:?}, but it has {truth}"));
                }
                wrong.extend(misplaced(name, &listed));
            }
            let by_field = walker.reported_size(head);
            let with = records.map_or("without the file", |_| "with the file");
            match instance.elements {
                // Without the file nothing tells how many bits are set.
                None if records.is_none() => {}
                // Nor whether an entry is the value or the next one, an array that of keys or of values,
                // nor which keys have no value.
                _ if records.is_none() && UNCLEAR.contains(&name.as_str()) => {}
                Some(elements) if elements == truth => {}
                elements => wrong.push(format!(
                    "{name} ({class}) {with}: {elements:?} elements instead of {truth}"
                )),
            }
            if by_field.is_some_and(|stated| stated != truth) {
                wrong.push(format!(
                    "{name} ({class}) says {by_field:?} instead of {truth}"
                ));
            }
            let capacity = instance.capacity.unwrap_or(truth);
            if capacity < truth && !name.contains("trees") {
                wrong.push(format!(
                    "{name} ({class}): {truth} elements in {capacity} slots"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "on JDK {}:\n{}",
        sample.jdk().version(),
        wrong.join("\n")
    );
    used
}

/// The definitions of the structures that a view leads to.
fn shown<'a>(
    found: &'a Structures,
    definitions: &'a Definitions,
    references: &'a [ObjectId],
) -> impl Iterator<Item = String> + 'a {
    let numbers = references.iter().filter_map(|&to| found.of_head(to));
    numbers.map(|number| {
        let definition = found.instances[number as usize].definition;
        definitions.all()[definition as usize]
            .definition
            .name
            .clone()
    })
}

/// The sublist of JDK 8, which is older than the JVMs at hand.
const OLDER: &str = "java.util.SubList";

/// Every head and view of the shipped files that are meant is one of those that programs built.
fn assert_all_are_used(used: &BTreeSet<String>, is_meant: impl Fn(&str) -> bool) {
    let shipped = Definitions::shipped();
    let unused: Vec<&str> = shipped
        .all()
        .iter()
        .filter(|placed| is_meant(&placed.origin.name))
        .filter(|placed| matches!(placed.definition.kind, Kind::Head | Kind::View))
        .map(|placed| placed.definition.name.as_str())
        .filter(|&name| name != OLDER && !used.contains(name))
        .collect();
    assert!(unused.is_empty(), "nothing was built of {unused:#?}");
}

/// The files that are about the JDK itself.
fn is_of_the_jdk(origin: &str) -> bool {
    origin.starts_with("java.")
}

#[test]
fn structures_of_the_jdk_have_as_many_elements_as_were_put_into_them() {
    let mut used = BTreeSet::new();
    for jdk in Jdk::all() {
        let sample = Sample::start(jdk, "Structures", &[], &JVM);
        used.extend(compare(&sample, "anthill.samples.Structures$Made"));
    }
    assert_all_are_used(&used, is_of_the_jdk);
}

#[test]
fn structures_of_libraries_have_as_many_elements_as_were_put_into_them() {
    let mut used = BTreeSet::new();
    for jdk in Jdk::all() {
        let Some(sample) = Sample::start_libraries(jdk) else {
            return;
        };
        used.extend(compare(&sample, "anthill.samples.Libraries$Made"));
    }
    assert_all_are_used(&used, |origin| !is_of_the_jdk(origin));
}
