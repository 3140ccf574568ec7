//! A dump of Waste: what the command and the report say of it is what the program says.

use std::sync::OnceLock;

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{self, json, print};

struct Fixture {
    dump: String,
    names: u64,
    series: u64,
}

/// Nothing without a JDK.
fn fixture() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| {
        let jdk = Jdk::all().first()?;
        let dump = program::scratch("waste.hprof");
        let sample = Sample::start(jdk, "Waste", &["2000"], &[]);
        sample.dump(&dump, DumpOptions::default());
        Some(Fixture {
            dump: dump.to_str().unwrap().to_owned(),
            names: sample.count("duplicate strings in names"),
            series: sample.count("duplicate arrays in series"),
        })
    });
    fixture.as_ref()
}

fn kind<'a>(waste: &'a Value, name: &str) -> &'a Value {
    let kinds = waste["kinds"].as_array().unwrap();
    kinds.iter().find(|kind| kind["kind"] == name).unwrap()
}

fn held_by<'a>(kind: &'a Value, holder: &str) -> &'a Value {
    let holders = kind["holders"].as_array().unwrap();
    let mut holders = holders.iter();
    holders.find(|held| held["holder"] == holder).unwrap()
}

#[test]
fn json_has_kinds_rows_and_holders() {
    let Some(fixture) = fixture() else { return };
    let waste = json(&["waste", &fixture.dump]);
    let strings = kind(&waste, "duplicate-strings");
    let held = held_by(strings, "static field anthill.samples.Waste.names");
    assert_eq!(held["objects"], fixture.names);
    let rows = strings["rows"].as_array().unwrap();
    let named = rows.iter().filter(|row| {
        let text = row["text"].as_str().unwrap();
        text.starts_with("name number ")
    });
    // Ten of the eleven texts that are there often, but only ten rows are shown.
    assert_eq!((rows.len(), named.count()), (10, 9));
    let sum = |of: &Value| of["savable"].as_u64().unwrap();
    let kinds = waste["kinds"].as_array().unwrap();
    assert_eq!(kinds.iter().map(sum).sum::<u64>(), sum(&waste));
    let all = json(&["waste", &fixture.dump, "--limit", "0"]);
    let strings = kind(&all, "duplicate-strings");
    let rows = strings["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(sum).sum::<u64>(), sum(strings));
    assert_eq!(strings["omitted"], 0);
}

#[test]
fn tables_and_csv_show_the_rows() {
    let Some(fixture) = fixture() else { return };
    let text = print(&["waste", &fixture.dump, "--limit", "3"]);
    for line in [
        "2,000  anthill.samples.Waste$Mostly: null in first 100%, second 100%, third 100%",
        "600 entries in 3 buckets, 200 in the fullest",
        "static field anthill.samples.Waste.roomy",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let csv = print(&["waste", &fixture.dump, "--csv"]);
    assert_eq!(
        csv.lines().next(),
        Some("kind,class,address,objects,savable,what")
    );
    let nulls = csv.lines().find(|line| line.starts_with("null-fields,"));
    assert!(
        nulls.unwrap().contains(",anthill.samples.Waste$Mostly,0x"),
        "{csv}"
    );
}

#[test]
fn every_form_of_the_report_has_the_waste() {
    let Some(fixture) = fixture() else { return };
    let holder = "static field anthill.samples.Waste.series";
    let file = |ending: &str| {
        let path = program::scratch("waste-report").with_extension(ending);
        let path = path.to_str().unwrap();
        assert_eq!(print(&["report", &fixture.dump, "-o", path]), "");
        std::fs::read_to_string(path).unwrap()
    };
    for (form, heading) in [
        (print(&["report", &fixture.dump]), "Waste: "),
        (file("md"), "## Waste"),
        (file("html"), "<h2>Waste</h2>"),
    ] {
        assert!(form.contains(heading) && form.contains(holder), "{form}");
        assert!(form.contains("Duplicate arrays: "), "{form}");
    }
    let report: Value = serde_json::from_str(&file("json")).unwrap();
    let held = held_by(kind(&report["waste"], "duplicate-arrays"), holder);
    assert_eq!(held["objects"], fixture.series);
}

#[test]
fn a_redacted_report_shows_no_text() {
    let Some(fixture) = fixture() else { return };
    let shown = print(&["report", &fixture.dump, "--redact", "--json"]);
    assert!(!shown.contains("name number "), "{shown}");
    let hidden = print(&["report", &fixture.dump, "--redact", "names", "--json"]);
    assert!(!hidden.contains("anthill.samples.Waste"), "{hidden}");
}
