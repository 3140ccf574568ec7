//! Every shipped definition on every JVM at hand.

use std::collections::{BTreeMap, BTreeSet};

use anthill_heap::{HeapState, ObjectId, Quiet};
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
