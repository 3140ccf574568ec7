//! A dump of a running MultiCache with all options of the dump commands.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use anthill_testkit::{DumpOptions, Histogram, Jdk, Sample};
use serde_json::Value;

use crate::program::{self, command, json, print, run};

const PRODUCTS: u64 = 3000;

struct Fixture {
    dump: PathBuf,
    histogram: Histogram,
    products: u64,
}

/// Nothing without a JDK.
fn fixture() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| {
        let jdk = Jdk::all().first()?;
        let dump = program::scratch("multi-cache.hprof");
        // The serial collector leaves fillers of its own behind, which the JVM counts too.
        let flags = ["-XX:+UseG1GC", "-Xmx256m"];
        let sample = Sample::start(jdk, "MultiCache", &[&PRODUCTS.to_string()], &flags);
        sample.histogram();
        sample.dump(&dump, DumpOptions::default());
        Some(Fixture {
            dump,
            histogram: sample.histogram(),
            products: sample.count("products"),
        })
    });
    fixture.as_ref()
}

impl Fixture {
    fn dump(&self) -> &str {
        self.dump.to_str().unwrap()
    }
}

#[test]
fn class_totals_are_those_of_the_jvm() {
    let Some(fixture) = fixture() else { return };
    let result = json(&["histogram", fixture.dump()]);
    let mut ours = BTreeMap::new();
    for row in result["rows"].as_array().unwrap() {
        let name = row["class"].as_str().unwrap();
        let (objects, shallow) = ours.entry(name.to_owned()).or_insert((0, 0));
        *objects += row["objects"].as_u64().unwrap();
        *shallow += row["shallow"].as_u64().unwrap();
    }
    let theirs: BTreeMap<String, (u64, u64)> = fixture
        .histogram
        .iter()
        .map(|(name, total)| (name.clone(), (total.instances, total.bytes)))
        .collect();
    // The JVM also counts class objects of classes that it keeps archived.
    let without_classes = |mut totals: BTreeMap<String, (u64, u64)>| {
        totals.remove("java.lang.Class");
        totals
    };
    assert_eq!(without_classes(ours), without_classes(theirs));
    let total = &result["total"];
    let sum = |field: &str| {
        let rows = result["rows"].as_array().unwrap().iter();
        rows.map(|row| row[field].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(total["objects"], sum("objects"));
    assert_eq!(total["shallow"], sum("shallow"));
}

#[test]
fn all_groupings_count_the_same_objects() {
    let Some(fixture) = fixture() else { return };
    let totals: Vec<Value> = ["class", "package", "loader"]
        .iter()
        .map(|by| json(&["histogram", fixture.dump(), "--by", by])["total"].clone())
        .collect();
    assert!(totals.iter().all(|total| *total == totals[0]));
    let filtered = json(&[
        "histogram",
        fixture.dump(),
        "--filter",
        "anthill.samples.P*",
    ]);
    assert_eq!(filtered["rows"].as_array().unwrap().len(), 1);
    assert_eq!(filtered["total"]["objects"], fixture.products);
    assert!(filtered["total"]["retained"].is_null());
}

#[test]
fn the_second_opening_uses_the_index() {
    let Some(fixture) = fixture() else { return };
    let index = tempfile::tempdir().unwrap();
    let summary = || {
        json(&[
            "summary",
            fixture.dump(),
            "--index",
            index.path().to_str().unwrap(),
        ])
    };
    let (mut first, mut second) = (summary(), summary());
    assert_eq!(first["index"]["used"], false);
    assert_eq!(second["index"]["used"], true);
    let folder = second["index"]["folder"].as_str().unwrap();
    assert!(folder.starts_with(index.path().to_str().unwrap()));
    first["index"].take();
    second["index"].take();
    assert_eq!(first, second);
    let without = json(&["summary", fixture.dump(), "--no-index"]);
    assert!(without["index"]["folder"].is_null());
}

#[test]
fn summary_adds_up() {
    let Some(fixture) = fixture() else { return };
    let summary = json(&["summary", fixture.dump()]);
    for field in ["objects", "shallow"] {
        let number = |value: &Value| value[field].as_u64().unwrap();
        let unreachable = &summary["unreachable"];
        assert_eq!(
            number(&summary),
            number(&summary["reachable"]) + number(unreachable)
        );
        assert_eq!(
            number(unreachable),
            number(&unreachable["weakly_reachable"]) + number(&unreachable["garbage"])
        );
    }
    assert_eq!(summary["anthill"]["command"], "summary");
    assert_eq!(summary["anthill"]["schema"], 1);
    assert_eq!(summary["missing"], Value::Array(Vec::new()));
}

#[test]
fn every_object_is_a_row() {
    let Some(fixture) = fixture() else { return };
    let summary = json(&["summary", fixture.dump()]);
    let csv = print(&["objects", fixture.dump(), "--csv", "--limit", "0"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "address,class,shallow,retained,dominator,reachable"
    );
    assert_eq!(lines.len() as u64 - 1, summary["objects"].as_u64().unwrap());
    let result = json(&["objects", fixture.dump()]);
    let rows = result["rows"].as_array().unwrap();
    assert_eq!(rows.len(), lines.len() - 1);
    let shallow = rows.iter().map(|row| row["shallow"].as_u64().unwrap());
    assert_eq!(shallow.sum::<u64>(), summary["shallow"].as_u64().unwrap());
    // What no single object keeps alive adds up to all that is reachable.
    let top = rows.iter().filter(|row| row["dominator"] == "root");
    assert_eq!(
        top.map(|row| row["retained"].as_u64().unwrap())
            .sum::<u64>(),
        summary["reachable"]["shallow"].as_u64().unwrap()
    );
    for (line, row) in lines[1..].iter().zip(rows).step_by(1000) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(row["address"], cells[0]);
        assert_eq!(row["class"], cells[1]);
        assert_eq!(row["dominator"].as_str().unwrap_or(""), cells[4]);
        assert_eq!(row["reachable"].to_string(), cells[5]);
    }
}

#[test]
fn sorted_objects_are_the_largest() {
    let Some(fixture) = fixture() else { return };
    let all = json(&["objects", fixture.dump()]);
    for field in ["retained", "shallow"] {
        let rows = all["rows"].as_array().unwrap().iter();
        let mut expected: Vec<u64> = rows.map(|row| row[field].as_u64().unwrap()).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        let top = json(&["objects", fixture.dump(), "--sort", field, "--limit", "50"]);
        let rows = top["rows"].as_array().unwrap().iter();
        let shown: Vec<u64> = rows.map(|row| row[field].as_u64().unwrap()).collect();
        assert_eq!(shown, expected[..50]);
    }
}

#[test]
fn mat_counts_reachable_objects_and_its_system_loader() {
    let Some(fixture) = fixture() else { return };
    let result = json(&["objects", fixture.dump(), "--compat", "mat"]);
    let rows = result["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["reachable"] == true));
    assert_eq!(rows.last().unwrap()["address"], "0x0");
    let histogram = json(&["histogram", fixture.dump(), "--compat", "mat"]);
    assert_eq!(histogram["total"]["objects"], rows.len() as u64);
    assert_eq!(histogram["total"]["unreachable_objects"], 0);
}

#[test]
fn strings_are_found_by_their_text() {
    let Some(fixture) = fixture() else { return };
    let found = json(&["strings", fixture.dump(), "PRODUCT 1234", "-i"]);
    assert_eq!(found["texts"], 1);
    assert_eq!(found["rows"][0]["text"], "product 1234");
    let address = found["rows"][0]["address"].as_str().unwrap();
    let object = json(&["object", fixture.dump(), address]);
    assert_eq!(object["text"], "product 1234");
    let holders: Vec<&str> = object["referrers"]["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|referrer| referrer["via"].as_str().unwrap())
        .collect();
    assert!(
        holders.contains(&"name") && holders.contains(&"key"),
        "{holders:?}"
    );
    let all = json(&["strings", fixture.dump(), "product "]);
    assert!(all["objects"].as_u64().unwrap() >= fixture.products);
    assert_eq!(
        run(&["strings", fixture.dump(), "no such text anywhere"]).code,
        1
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let Some(fixture) = fixture() else { return };
    for arguments in [
        ["objects", fixture.dump(), "--csv", "--no-progress"],
        ["objects", fixture.dump(), "--json", "--no-progress"],
        ["strings", fixture.dump(), "", "--json"],
    ] {
        let mut child = command(&arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}
