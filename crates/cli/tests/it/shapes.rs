//! A dump of Shapes: values of every kind, and a thread that holds objects in its locals.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{self, json, print};

struct Fixture {
    dump: String,
    truth: BTreeMap<String, String>,
}

/// Nothing without a JDK.
fn fixture() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| {
        let jdk = Jdk::all().first()?;
        let dump = program::scratch("shapes.hprof");
        let sample = Sample::start(jdk, "Shapes", &[], &[]);
        sample.dump(&dump, DumpOptions::default());
        Some(Fixture {
            dump: dump.to_str().unwrap().to_owned(),
            truth: sample.truth().clone(),
        })
    });
    fixture.as_ref()
}

/// The only object of a class, in detail.
fn object(fixture: &Fixture, class: &str) -> Value {
    let objects = json(&["objects", &fixture.dump, "--class", class]);
    let address = objects["rows"][0]["address"].as_str().unwrap().to_owned();
    json(&["object", &fixture.dump, &address])
}

#[test]
fn fields_have_the_values_the_program_says() {
    let Some(fixture) = fixture() else { return };
    let primitives = object(fixture, "anthill.samples.Shapes$Primitives");
    for field in primitives["fields"].as_array().unwrap() {
        let name = field["name"].as_str().unwrap();
        let said = &fixture.truth[&format!("Primitives.{name}")];
        match name {
            "nothing" => assert!(field["null"].is_null() && said == "null"),
            "aChar" => assert_eq!(
                (field["value"].as_str().unwrap(), said.as_str()),
                ("'€'", "20ac")
            ),
            _ => assert_eq!(field["value"].as_str().unwrap(), said, "{name}"),
        }
    }
    assert_eq!(primitives["fields"].as_array().unwrap().len(), 9);
}

#[test]
fn shadowed_fields_name_the_class_that_declares_them() {
    let Some(fixture) = fixture() else { return };
    let leaf = object(fixture, "anthill.samples.Shapes$Leaf");
    for class in ["Base", "Middle", "Leaf"] {
        let declared_by = format!("anthill.samples.Shapes${class}");
        let fields = leaf["fields"].as_array().unwrap().iter();
        let x = fields
            .filter(|field| field["declared_by"] == declared_by.as_str())
            .find(|field| field["name"] == "x");
        let said = &fixture.truth[&format!("{class}.x")];
        assert_eq!(x.unwrap()["value"].as_str().unwrap(), said);
    }
    let address = leaf["address"].as_str().unwrap();
    let text = print(&["object", &fixture.dump, address]);
    assert!(
        text.contains("x (of anthill.samples.Shapes$Base)"),
        "{text}"
    );
}

#[test]
fn a_class_object_shows_the_class_it_stands_for() {
    let Some(fixture) = fixture() else { return };
    let class = "anthill.samples.Shapes$Held";
    let classes = ["objects", &fixture.dump, "--class", "java.lang.Class"];
    let classes = print(&[&classes[..], &["--limit", "0"]].concat());
    let line = classes
        .lines()
        .find(|line| line.ends_with(&format!(" class {class}")));
    let address = line.unwrap().split(' ').next().unwrap();
    let stands_for = &json(&["object", &fixture.dump, address])["stands_for"];
    assert_eq!(stands_for["class"], class);
    assert_eq!(stands_for["superclass"], "java.lang.Object");
    // What ClassLoader.getName says of the loader of applications.
    let loader = stands_for["loader"].as_str().unwrap();
    assert!(
        loader.starts_with("jdk.internal.loader.ClassLoaders$AppClassLoader \"app\" @ 0x"),
        "{loader}"
    );
    let said = &fixture.truth["Held instances"];
    assert_eq!(stands_for["instances"].to_string(), *said);
    let text = print(&["object", &fixture.dump, address]);
    assert!(
        text.contains(&format!("  {said} instances, ")) && text.contains(loader),
        "{text}"
    );
    let loaders = print(&["histogram", &fixture.dump, "--by", "loader"]);
    assert!(loaders.contains(loader), "{loaders}");
}

#[test]
fn a_thread_shows_what_its_frames_hold() {
    let Some(fixture) = fixture() else { return };
    let truth = &fixture.truth;
    let threads = json(&["threads", &fixture.dump, "--name", &truth["thread"]]);
    assert_eq!(threads["exact"], true);
    let thread = &threads["rows"][0];
    assert_eq!(thread["name"], truth["thread"].as_str());
    assert_eq!(
        (&thread["daemon"], &thread["state"]),
        (&true.into(), &"WAITING".into())
    );
    let method = format!("Shapes$Holder.{}(Shapes.java:", truth["method"]);
    let frames = thread["frames"].as_array().unwrap();
    let frame = frames
        .iter()
        .find(|frame| frame["frame"].as_str().unwrap().contains(&method))
        .unwrap();
    let count = |class: &str| {
        let locals = frame["locals"].as_array().unwrap().iter();
        locals.filter(|local| local["class"] == class).count() as u64
    };
    let said = |key: &str| fixture.truth[key].parse::<u64>().unwrap();
    assert_eq!(
        count("anthill.samples.Shapes$Held"),
        said("Held instances in a local variable")
    );
    assert_eq!(
        count("anthill.samples.Shapes$Held[]"),
        said("Held[] instances in a local variable")
    );
    assert!(thread["kept"]["objects"].as_u64().unwrap() > said("Held instances"));

    let text = print(&["threads", &fixture.dump, "--name", &truth["thread"]]);
    assert!(
        text.contains("\"shapes-holder\"") && text.contains("Shapes$Held[2]"),
        "{text}"
    );
    // Several frames hold it; the innermost one shows it.
    let latch = " java.util.concurrent.CountDownLatch @ ";
    assert_eq!(text.matches(latch).count(), 1, "{text}");
}

#[test]
fn threads_begin_with_an_overview() {
    let Some(fixture) = fixture() else { return };
    let text = print(&["threads", &fixture.dump]);
    let (overview, _) = text.split_once("\n\n").unwrap();
    let lines: Vec<&str> = overview.lines().collect();
    assert!(lines[0].contains("kept alive  locals  state"), "{text}");
    let thread = format!("\"{}\"", fixture.truth["thread"]);
    let of_thread = lines.iter().find(|line| line.ends_with(&thread));
    assert!(of_thread.unwrap().contains("WAITING"), "{text}");
}

#[test]
fn tables_and_stacks_are_as_wide_as_columns_says() {
    let Some(fixture) = fixture() else { return };
    for arguments in [
        &["threads", &fixture.dump][..],
        &["histogram", &fixture.dump],
        &["strings", &fixture.dump, "java"],
    ] {
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
        assert!(widest(&print(arguments)) > Some(70));
        let narrow = program::command(arguments).env("COLUMNS", "70").output();
        let narrow = String::from_utf8(narrow.unwrap().stdout).unwrap();
        let is_row = |line: &&str| !line.ends_with('.');
        let rows: Vec<&str> = narrow.lines().filter(is_row).collect();
        assert!(widest(&rows.join("\n")) <= Some(70), "{narrow}");
    }
}

#[test]
fn a_local_variable_is_named_as_root_with_its_frame() {
    let Some(fixture) = fixture() else { return };
    let text = print(&[
        "paths",
        &fixture.dump,
        "anthill.samples.Shapes$Held",
        "--least",
        "0",
    ]);
    let root = "GC root: local variable in thread \"shapes-holder\" at anthill.samples.Shapes$Holder.hold(Shapes.java:";
    assert!(text.contains(root), "{text}");
}

#[test]
fn strings_beyond_ascii_are_found_and_shown() {
    let Some(fixture) = fixture() else { return };
    for key in ["Strings.latin1", "Strings.utf16", "Strings.supplementary"] {
        let text = &fixture.truth[key];
        let found = json(&["strings", &fixture.dump, text]);
        assert_eq!(found["rows"][0]["text"], text.as_str());
        assert!(print(&["strings", &fixture.dump, text]).contains(text.as_str()));
    }
}

#[test]
fn weak_references_keep_alive_only_if_asked_to() {
    let Some(fixture) = fixture() else { return };
    let reachable = |keep: &str| {
        let summary = json(&["summary", &fixture.dump, "--keep", keep]);
        summary["reachable"]["objects"].as_u64().unwrap()
    };
    let soft_targets = |keep: &str| {
        let histogram = json(&[
            "histogram",
            &fixture.dump,
            "--keep",
            keep,
            "--filter",
            "anthill.samples.Shapes$Target",
        ]);
        let total = &histogram["total"];
        total["objects"].as_u64().unwrap() - total["unreachable_objects"].as_u64().unwrap()
    };
    assert!(reachable("none") < reachable("soft"));
    assert!(reachable("soft") <= reachable("soft,weak,phantom,finalizer"));
    let said = |key: &str| fixture.truth[key].parse::<u64>().unwrap();
    assert_eq!(soft_targets("none"), said("Target instances held strongly"));
    assert_eq!(
        soft_targets("soft"),
        said("Target instances after a full GC")
    );
}
