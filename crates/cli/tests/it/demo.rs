//! The demonstration. Its dump is fixed, so is its output; the numbers in it are checked against what
//! the sample program and the JVM said when the dump was made.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::program::{assert_expected, json, print};

const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/multi-cache.hprof.gz");

fn beside_dump(name: &str) -> String {
    std::fs::read_to_string(Path::new(DUMP).with_file_name(name)).unwrap()
}

fn truth() -> BTreeMap<String, u64> {
    let text = beside_dump("TRUTH.txt");
    let lines = text.lines().filter_map(|line| {
        let (key, value) = line.strip_prefix("TRUTH ")?.split_once(" = ")?;
        Some((key.to_owned(), value.parse().ok()?))
    });
    lines.collect()
}

#[test]
fn the_demonstration_is_as_expected() {
    // It ends with command lines that work where the program was called by its path.
    let program = env!("CARGO_BIN_EXE_anthill");
    let shown = print(&["demo"]);
    assert!(
        shown.contains(&format!("`{program} demo --save ")),
        "{shown}"
    );
    assert_expected("demo.txt", &shown.replace(program, "anthill"));
}

#[test]
fn the_saved_dump_is_the_one_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.hprof.gz");
    print(&["demo", "--save", file.to_str().unwrap()]);
    assert_eq!(std::fs::read(file).unwrap(), std::fs::read(DUMP).unwrap());
}

#[test]
fn class_totals_are_those_of_the_jvm() {
    let result = json(&["histogram", DUMP, "--no-index"]);
    let rows = result["rows"].as_array().unwrap().iter();
    let mut ours: Vec<(String, u64, u64)> = rows
        .map(|row| {
            (
                jvm_name(row["class"].as_str().unwrap()),
                row["objects"].as_u64().unwrap(),
                row["shallow"].as_u64().unwrap(),
            )
        })
        .collect();
    ours.sort();
    let text = beside_dump("histo.txt");
    let mut theirs: Vec<(String, u64, u64)> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            words.next()?.strip_suffix(':')?;
            let objects = words.next()?.parse().ok()?;
            let shallow = words.next()?.parse().ok()?;
            Some((words.next()?.to_owned(), objects, shallow))
        })
        .collect();
    theirs.sort();
    assert_eq!(ours, theirs);
}

/// `byte[][]` is `[[B` in the JVM's own histogram.
fn jvm_name(name: &str) -> String {
    let element = name.trim_end_matches("[]");
    let dimensions = (name.len() - element.len()) / 2;
    let element = match element {
        _ if dimensions == 0 => return name.to_owned(),
        "boolean" => "Z".to_owned(),
        "long" => "J".to_owned(),
        "byte" | "char" | "short" | "int" | "float" | "double" => element[..1].to_uppercase(),
        class => format!("L{class};"),
    };
    "[".repeat(dimensions) + &element
}

#[test]
fn the_caches_retain_what_the_program_says() {
    let truth = truth();
    let tree = json(&["dominators", DUMP, "--no-index", "--depth", "6"]);
    let objects_of = |holder: &str| {
        let cache = find(&tree["tree"], &|item| {
            item["label"].as_str().unwrap().starts_with(holder)
        });
        // The class object holds the map and one more object, the array of its constant pool.
        let map = find(cache.unwrap(), &|item| item["class"] == "java.util.HashMap");
        map.unwrap()["objects"].as_u64().unwrap()
    };
    assert_eq!(
        objects_of("class anthill.samples.IdCache"),
        truth["objects retained by idCache"]
    );
    assert_eq!(
        objects_of("class anthill.samples.NameCache"),
        truth["objects retained by nameCache"]
    );
}

/// The first item below `item`, or itself, that is wanted.
fn find<'a>(item: &'a Value, wanted: &dyn Fn(&Value) -> bool) -> Option<&'a Value> {
    if wanted(item) {
        return Some(item);
    }
    let children = item["children"].as_array()?;
    children.iter().find_map(|child| find(child, wanted))
}

#[test]
fn the_whole_tree_has_every_reachable_object_once() {
    let limits = ["--depth", "1000", "--limit", "0", "--least", "0"];
    let tree = json(&[&["dominators", DUMP, "--no-index"][..], &limits[..]].concat());
    let summary = json(&["summary", DUMP, "--no-index"]);
    let top = &tree["tree"];
    assert_eq!(top["objects"], summary["reachable"]["objects"]);
    assert_eq!(top["retained"], summary["reachable"]["shallow"]);
    assert_eq!(
        members_below(top),
        summary["reachable"]["objects"].as_u64().unwrap()
    );
}

/// The objects that the items below an item stand for; checks each on the way.
fn members_below(item: &Value) -> u64 {
    let number = |item: &Value, field: &str| item[field].as_u64().unwrap();
    let children = item["children"].as_array().unwrap();
    assert_eq!(item["omitted"]["objects"], 0);
    let below = |child: &Value| {
        let objects = number(child, "members") + members_below(child);
        assert_eq!(number(child, "objects"), objects);
        objects
    };
    let retained = children.iter().map(|child| number(child, "retained"));
    assert!(retained.sum::<u64>() <= number(item, "retained"));
    children.iter().map(below).sum()
}

#[test]
fn paths_lead_through_the_caches_to_all_products() {
    let products = truth()["products"];
    let result = json(&["paths", DUMP, "anthill.samples.Product", "--no-index"]);
    assert_eq!(result["objects"], products);
    let text = print(&["paths", DUMP, "anthill.samples.Product", "--no-index"]);
    assert!(text.contains("static idCache") || text.contains("static nameCache"));

    let objects = json(&[
        "objects",
        DUMP,
        "--no-index",
        "--class",
        "anthill.samples.Product",
    ]);
    let objects = objects["rows"].as_array().unwrap();
    assert_eq!(objects.len() as u64, products);
    let address = objects[0]["address"].as_str().unwrap();
    let one = json(&["paths", DUMP, address, "--no-index"]);
    let vias: Vec<&str> = one["paths"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|path| path["steps"].as_array().unwrap())
        .filter_map(|step| step["via"].as_str())
        .collect();
    assert!(vias.contains(&"static idCache") && vias.contains(&"static nameCache"));
}
