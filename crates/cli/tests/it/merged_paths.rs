//! `anthill paths` on programs that say who holds what: every branch is a way that exists, and the
//! numbers of branches add up.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{json, print, run, scratch};

struct Fixture {
    dump: String,
    truth: BTreeMap<String, String>,
}

impl Fixture {
    fn said(&self, key: &str) -> u64 {
        self.truth[key].parse().unwrap()
    }
}

/// Nothing without a JDK.
fn dump(program: &str, file: &str, options: DumpOptions) -> Option<Fixture> {
    let jdk = Jdk::all().first()?;
    let dump = scratch(file);
    let sample = Sample::start(jdk, program, &[], &["-XX:+UseG1GC", "-Xmx256m"]);
    sample.dump(&dump, options);
    Some(Fixture {
        dump: dump.to_str().unwrap().to_owned(),
        truth: sample.truth().clone(),
    })
}

fn nested_maps() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let make = || dump("NestedMaps", "nested-maps.hprof", DumpOptions::default());
    FIXTURE.get_or_init(make).as_ref()
}

fn not_kept() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let options = DumpOptions {
        all: true,
        ..DumpOptions::default()
    };
    let make = || dump("NotKept", "not-kept.hprof", options);
    FIXTURE.get_or_init(make).as_ref()
}

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap()
}

fn children(value: &Value) -> &[Value] {
    let list = if value["children"].is_null() {
        &value["branches"]
    } else {
        &value["children"]
    };
    list.as_array().unwrap()
}

/// All ways down to branches in which objects end: `via class` of each step, and the objects.
fn ways(value: &Value) -> Vec<(Vec<String>, u64)> {
    let mut found = Vec::new();
    for branch in children(value) {
        let mark = if branch["through"].as_array().unwrap().is_empty() {
            ""
        } else {
            " ↻"
        };
        let via = branch["via"].as_str().unwrap();
        let step = format!("{via} {}{mark}", branch["class"].as_str().unwrap());
        if number(branch, "here") > 0 {
            found.push((vec![step.clone()], number(branch, "here")));
        }
        for (mut way, objects) in ways(branch) {
            way.insert(0, step.clone());
            found.push((way, objects));
        }
    }
    found
}

/// Objects and bytes of a branch are those that end there and those of the branches below.
fn assert_adds_up(value: &Value) {
    let omitted = &value["omitted"];
    let sum = |field: &str| {
        let shown = children(value).iter().map(|child| number(child, field));
        shown.sum::<u64>() + number(omitted, field)
    };
    let here = value["here"].as_u64().unwrap_or(0);
    assert_eq!(number(value, "objects"), here + sum("objects"));
    assert!(number(value, "held") >= sum("held"));
    if here == 0 {
        assert_eq!(number(value, "held"), sum("held"));
    }
    for child in children(value) {
        assert!(number(child, "objects") > 0, "{child}");
        assert_adds_up(child);
    }
}

const EVERYTHING: [&str; 4] = ["--limit", "0", "--least", "0"];

fn everything(dump: &str, target: &str) -> Value {
    json(&[&["paths", dump, target][..], &EVERYTHING[..]].concat())
}

#[test]
fn maps_within_maps_stay_apart() {
    let Some(fixture) = nested_maps() else { return };
    let merged = everything(&fixture.dump, "anthill.samples.NestedMaps$Session");
    assert_eq!(number(&merged, "objects"), fixture.said("sessions"));
    assert_adds_up(&merged);
    let by_tenant = [
        "static tenants java.util.HashMap",
        "table java.util.HashMap$Node[]",
        "[…] java.util.HashMap$Node",
        "value anthill.samples.NestedMaps$Tenant",
        "sessions java.util.HashMap",
        "table java.util.HashMap$Node[]",
        "[…] java.util.HashMap$Node",
        "value anthill.samples.NestedMaps$Session",
    ];
    let all = ways(&merged);
    let mut found = 0;
    for (way, objects) in &all {
        let way: Vec<&str> = way.iter().map(|step| step.trim_end_matches(" ↻")).collect();
        assert!(way.ends_with(&by_tenant), "{way:?}");
        found += objects;
    }
    assert_eq!(found, fixture.said("sessions"));
}

#[test]
fn listeners_lead_through_the_bus() {
    let Some(fixture) = dump("EventBus", "event-bus.hprof", DumpOptions::default()) else {
        return;
    };
    let merged = everything(&fixture.dump, "anthill.samples.EventBus$Window");
    assert_eq!(number(&merged, "objects"), fixture.said("windows"));
    assert_adds_up(&merged);
    let all = ways(&merged);
    assert_eq!(all.len(), 1, "{all:?}");
    let (way, objects) = &all[0];
    assert_eq!(*objects, fixture.said("windows"));
    let end = &way[way.len() - 5..];
    assert_eq!(
        end[..3],
        [
            "static INSTANCE anthill.samples.EventBus",
            "listeners java.util.ArrayList",
            "elementData java.lang.Object[]"
        ]
    );
    // The lambda's class has a name of the JVM's making.
    assert!(
        end[3].starts_with("[…] anthill.samples.EventBus$Window$$Lambda"),
        "{end:?}"
    );
    assert!(
        end[4].ends_with(" anthill.samples.EventBus$Window"),
        "{end:?}"
    );
}

#[test]
fn steps_that_follow_each_other_again_and_again_are_folded() {
    let Some(fixture) = dump("SwapLeak", "swap-leak.hprof", DumpOptions::default()) else {
        return;
    };
    let merged = everything(&fixture.dump, "anthill.samples.SwapLeak$SObject");
    assert_eq!(number(&merged, "objects"), fixture.said("objects alive"));
    assert_adds_up(&merged);
    let all = ways(&merged);
    let [(in_array, kept), (behind, leaked)] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!(*kept, fixture.said("objects in the array"));
    assert_eq!(*leaked, fixture.said("leaked objects"));
    assert_eq!(behind[..in_array.len()], in_array[..]);
    assert_eq!(
        behind[in_array.len()..],
        [
            "rep anthill.samples.SwapLeak$SObject$Rep",
            "this$0 anthill.samples.SwapLeak$SObject"
        ]
    );
    let text = print(&["paths", &fixture.dump, "anthill.samples.SwapLeak$SObject"]);
    assert!(text.contains("SObject ↻ 2 steps\n"), "{text}");
}

#[test]
fn few_objects_with_most_of_the_bytes_are_shown_first() {
    let Some(fixture) = nested_maps() else { return };
    let class = "anthill.samples.NestedMaps$*Session";
    let merged = json(&["paths", &fixture.dump, class, "--least", "5"]);
    assert_eq!(
        number(&merged, "objects"),
        fixture.said("sessions") + fixture.said("large sessions")
    );
    let large = ways(&merged);
    let (first, objects) = &large[0];
    assert!(first.last().unwrap().starts_with("large "), "{first:?}");
    assert_eq!(*objects, fixture.said("large sessions"));
    assert!(*objects * 100 < 5 * number(&merged, "objects"));
    assert_adds_up(&merged);
}

#[test]
fn classes_retain_what_the_histogram_says() {
    let Some(fixture) = nested_maps() else { return };
    for class in ["java.util.HashMap", "java.lang.String", "byte[]"] {
        let row = json(&["histogram", &fixture.dump, "--filter", class]);
        let merged = everything(&fixture.dump, class);
        assert_eq!(merged["retained"], row["rows"][0]["retained"], "{class}");
        assert_adds_up(&merged);
    }
    // The classes of a package together, which the histogram adds up as well.
    let rows = json(&["histogram", &fixture.dump, "--by", "package"]);
    let rows = rows["rows"].as_array().unwrap();
    let package = rows.iter().find(|row| row["package"] == "anthill.samples");
    let merged = everything(&fixture.dump, "anthill.samples.*");
    let in_package = package.unwrap();
    assert_eq!(merged["retained"], in_package["retained"]);
}

#[test]
fn jvm_notation_names_the_same_class() {
    let Some(fixture) = nested_maps() else { return };
    for (jvm, java) in [("[B", "byte[]"), ("java/lang/String", "java.lang.String")] {
        let of = |class| print(&["paths", &fixture.dump, class]);
        assert_eq!(of(jvm), of(java));
    }
}

#[test]
fn what_is_not_kept_alive_says_by_which_references_it_is_reached() {
    let Some(fixture) = not_kept() else { return };
    let said = |class: &str| {
        let ran = run(&[
            "paths",
            &fixture.dump,
            &format!("anthill.samples.NotKept${class}"),
        ]);
        assert_eq!(ran.code, 1, "{}", ran.out);
        ran.err
    };
    let with_number = |kind: &str, class: &str| {
        let number = fixture.said(&format!("{class} instances"));
        (
            said(class),
            format!("({kind} to {number}); `--keep soft,{kind}`"),
        )
    };
    for (message, expected) in [
        with_number("weak", "Weakly"),
        with_number("phantom", "ByPhantom"),
        (
            said("Finalizable"),
            "1 object is unreachable: only references that do not keep objects alive lead there \
             (finalizer); `--keep soft,finalizer` follows them"
                .to_owned(),
        ),
        (
            said("Garbage"),
            format!(
                "{} objects are all unreachable: no GC root in the dump leads there",
                fixture.said("Garbage instances")
            ),
        ),
    ] {
        assert!(message.contains(&expected), "{message}\n{expected}");
    }
    let class = "anthill.samples.NotKept$Finalizable";
    let text = print(&["paths", &fixture.dump, class, "--keep", "soft,finalizer"]);
    assert!(text.starts_with(&format!("1 object of {class} retains ")));
    assert!(text.contains("--keep soft,finalizer\n"), "{text}");

    let objects = json(&["objects", &fixture.dump, "--class", class]);
    let address = objects["rows"][0]["address"].as_str().unwrap();
    let ran = run(&["paths", &fixture.dump, address]);
    assert!(
        ran.err.contains("it is unreachable: only references"),
        "{}",
        ran.err
    );
}

#[test]
fn the_command_line_that_is_shown_can_be_pasted() {
    let Some(fixture) = nested_maps() else { return };
    let folder = tempfile::tempdir().unwrap();
    let awkward = folder.path().join("it's $HOME & more.hprof");
    std::fs::copy(&fixture.dump, &awkward).unwrap();
    let class = "anthill.samples.NestedMaps$Tenant";
    let text = print(&["paths", awkward.to_str().unwrap(), class, "--no-index"]);
    let line = text.lines().last().unwrap().trim();
    let line = line.replacen("anthill", env!("CARGO_BIN_EXE_anthill"), 1) + " --no-index";
    let shell = std::process::Command::new("sh")
        .args(["-c", &line])
        .output();
    let output = String::from_utf8(shell.unwrap().stdout).unwrap();
    assert!(output.starts_with(class), "{output}");
}
