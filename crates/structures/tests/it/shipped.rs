//! Every shipped definition on every JVM at hand.

use std::collections::BTreeMap;

use anthill_heap::{HeapState, ObjectId, Quiet};
use anthill_hprof::{Dump, Records};
use anthill_structures::{Definitions, Model, Structures, Walker};
use anthill_testkit::{DumpOptions, Jdk, Sample};

/// What cannot be told without the file.
const UNCLEAR: [&str; 2] = ["HashMap of entries", "buildSet"];

/// The structures that a sample keeps in objects of its class `Made`, by name.
pub fn made(state: &HeapState, records: &Records, class: &str) -> BTreeMap<String, ObjectId> {
    let made = (0..state.len()).filter(|&object| state.class(object).name == class);
    made.map(|object| {
        let name = records.field_object(state, object, "name").unwrap();
        let structure = records.field_object(state, object, "structure").unwrap();
        (records.string(state, name).unwrap(), structure)
    })
    .collect()
}

/// Compares what a program says with what is found, with the file at hand and without.
pub fn compare(sample: &Sample, class: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.hprof");
    sample.dump(&path, DumpOptions::default());
    let dump = Dump::open(&path, None, &Quiet).unwrap();
    let state = &dump.state;
    let definitions = Definitions::shipped();
    let made = made(state, &dump.records, class);
    assert!(made.len() > 3, "{} structures", made.len());
    let mut wrong = Vec::new();
    for records in [Some(&dump.records), None] {
        let model = Model::new(state, records, &definitions);
        let sizes = state.tables.sizes.as_ref().unwrap();
        let found = Structures::detect(&model, sizes, |_| true, |_, _| false, &Quiet).unwrap();
        let mut walker = Walker::new(&model);
        for (name, &head) in &made {
            let class = &state.class(head).name;
            let truth = sample.count(name);
            let Some(number) = found.of_head(head) else {
                wrong.push(format!("{name} ({class}) is no structure"));
                continue;
            };
            let instance = found.instances[number as usize];
            let by_field = walker.stated(head);
            let with = records.map_or("without the file", |_| "with the file");
            match instance.elements {
                // Without the file nothing tells how many bits are set.
                None if records.is_none() => {}
                // Nor whether an entry is the value or the next one, an array that of keys or of values.
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
}

#[test]
fn structures_of_the_jdk_have_as_many_elements_as_were_put_into_them() {
    for jdk in Jdk::all() {
        let sample = Sample::start(jdk, "Structures", &[], &["-Xmx64m"]);
        compare(&sample, "anthill.samples.Structures$Made");
    }
}

#[test]
fn structures_of_libraries_have_as_many_elements_as_were_put_into_them() {
    for jdk in Jdk::all() {
        let Some(sample) = Sample::start_libraries(jdk) else {
            return;
        };
        compare(&sample, "anthill.samples.Libraries$Made");
    }
}
