//! A dump of LargeMap: the command lists the entries that the program has put into its map.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{self, json, print, run};

pub(crate) struct Fixture {
    pub dump: String,
    pub map: String,
    pub entries: u64,
}

/// Nothing without a JDK.
pub(crate) fn fixture() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| {
        let jdk = Jdk::all().first()?;
        let dump = program::scratch("large_map.hprof");
        let sample = Sample::start(jdk, "LargeMap", &["200000"], &[]);
        sample.dump(&dump, DumpOptions::default());
        let dump = dump.to_str().unwrap().to_owned();
        let map = largest(&dump, "java.util.HashMap");
        Some(Fixture {
            dump,
            map,
            entries: sample.count("entries"),
        })
    });
    fixture.as_ref()
}

pub(crate) fn largest(dump: &str, class: &str) -> String {
    let found = json(&["objects", dump, "--class", class, "--sort", "retained"]);
    found["rows"][0]["address"].as_str().unwrap().to_owned()
}

/// The string and the number in a label.
fn named(content: &Value) -> (String, Option<u32>) {
    let label = content["object"]["label"].as_str().unwrap();
    let (what, _) = label.rsplit_once(" @ ").unwrap();
    let quoted = what.split('"').nth(1).unwrap_or_default().to_owned();
    let number = what.rsplit(' ').next().unwrap().parse().ok();
    (quoted, number)
}

#[test]
fn every_entry_of_a_large_map_is_on_one_of_its_pages() {
    let Some(Fixture { dump, map, entries }) = fixture() else {
        return;
    };
    let mut seen = BTreeMap::new();
    let mut offset = 0;
    while offset < *entries {
        let (from, limit) = (offset.to_string(), "70000");
        let page = json(&["elements", dump, map, "--offset", &from, "--limit", limit]);
        assert_eq!(page["total"], *entries);
        assert_eq!(page["keyed"], true);
        for (at, row) in (offset..).zip(page["elements"].as_array().unwrap()) {
            assert_eq!(row["index"], at);
            let (key, _) = named(&row["key"]);
            let (_, value) = named(&row["value"]);
            assert_eq!(key, format!("user {}", value.unwrap()));
            seen.insert(value, at);
        }
        offset += 70_000;
    }
    assert_eq!(seen.len() as u64, *entries);
    assert!(seen.into_keys().eq((0..*entries as u32).map(Some)));
}

#[test]
fn entries_are_found_by_their_keys_and_values() {
    let Some(Fixture { dump, map, entries }) = fixture() else {
        return;
    };
    let found = json(&["elements", dump, map, "--search", "USER 19999"]);
    // 19999 and 199990 to 199999.
    assert_eq!(
        (&found["total"], &found["matching"]),
        (&(*entries).into(), &11.into())
    );
    let first = &found["elements"][0];
    let address = first["value"]["object"]["address"].as_str().unwrap();
    let by_address = json(&["elements", dump, map, "--search", address]);
    assert_eq!(by_address["elements"][0]["index"], first["index"]);
    let none = json(&["elements", dump, map, "--search", "java.lang"]);
    assert_eq!(
        none["matching"], 0,
        "the classes of texts and numbers are not what is searched"
    );
    let text = print(&[
        "elements",
        dump,
        map,
        "--search",
        "user 19999",
        "--limit",
        "2",
    ]);
    assert!(
        text.contains("11 of 200,000 elements contain `user 19999`"),
        "{text}"
    );
    assert!(
        text.contains("… 9 more elements; --offset 2 goes on"),
        "{text}"
    );
}

#[test]
fn an_array_is_listed_by_index_with_its_gaps() {
    let Some(Fixture { dump, .. }) = fixture() else {
        return;
    };
    let arrays = json(&[
        "objects",
        dump,
        "--class",
        "java.lang.Integer[]",
        "--sort",
        "shallow",
    ]);
    let array = arrays["rows"][0]["address"].as_str().unwrap();
    let page = json(&["elements", dump, array, "--offset", "9899", "--limit", "3"]);
    assert_eq!(
        (&page["total"], &page["keyed"]),
        (&10_000.into(), &false.into())
    );
    let rows = page["elements"].as_array().unwrap();
    assert_eq!(rows[0]["value"]["null"], Value::Null);
    assert_eq!(
        (&rows[1]["index"], named(&rows[1]["value"]).1),
        (&9900.into(), Some(1_009_900))
    );
    let found = json(&["elements", dump, array, "--search", "10099"]);
    assert_eq!(
        (&found["matching"], &found["elements"][0]["index"]),
        (&1.into(), &9900.into())
    );
    let csv = print(&[
        "elements", dump, array, "--offset", "100", "--limit", "1", "--csv",
    ]);
    let line = csv.lines().nth(1).unwrap();
    assert!(
        line.starts_with("100,,,java.lang.Integer 1000100 @ 0x"),
        "{csv}"
    );
}

#[test]
fn an_object_without_elements_is_refused_with_advice() {
    let Some(Fixture { dump, .. }) = fixture() else {
        return;
    };
    let other = largest(dump, "java.lang.Integer");
    let ran = run(&["elements", dump, &other]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("neither a data structure nor an array"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("--structures FILE"), "{}", ran.err);
}
