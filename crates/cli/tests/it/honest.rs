//! Heaps that look like a known way to leak from afar: the report shows the memory and names no pattern that is not there.

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{json, scratch};

const MODES: [(&str, &str); 9] = [
    ("lambdas", "hidden reference of an inner class"),
    ("identity", "obsolete references in an array"),
    ("far-listeners", "listeners that were not removed"),
    ("weak", "weak map whose values reach their keys"),
    ("queue", "backlog in a reference queue"),
    ("buffer", "memory outside of the heap"),
    ("pool", "thread pools that were not shut down"),
    ("worker", "thread-local value"),
    ("local", "collection in a static field"),
];

fn report_of(jdk: &Jdk, mode: &str) -> Value {
    let sample = Sample::start(jdk, "Honest", &[mode], &["-Xmx128m"]);
    let path = scratch(&format!("honest-{mode}.hprof"));
    sample.dump(&path, DumpOptions::default());
    let report = json(&["report", path.to_str().unwrap(), "--no-index", "--brief"]);
    // There is something to accuse.
    let payloads = sample.count("payloads");
    let first = &report["suspects"][0];
    let contents = first["contents"].as_array().unwrap();
    let of_payload = contents
        .iter()
        .find(|content| content["class"] == "anthill.samples.Honest$Payload");
    let objects = of_payload.map(|content| content["objects"].as_u64());
    assert_eq!(objects, Some(Some(payloads)), "{mode}: {first:#}");
    report
}

#[test]
fn patterns_are_not_named_without_their_evidence() {
    let Some(jdk) = Jdk::installed() else {
        return;
    };
    for (mode, pattern) in MODES {
        let report = report_of(jdk, mode);
        let suspects = report["suspects"].as_array().unwrap().iter();
        let of_suspects = suspects.flat_map(|suspect| suspect["patterns"].as_array().unwrap());
        let all = of_suspects.chain(report["patterns"].as_array().unwrap());
        for found in all {
            assert_ne!(found["name"], pattern, "{mode}: {found:#}");
        }
    }
}
