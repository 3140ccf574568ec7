//! Classification trees of the demonstration's dump, whose program said what is in it.

use serde_json::Value;

use crate::program::{json, print, run};

const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/multi-cache.hprof.gz");

fn child<'a>(node: &'a Value, key: &str) -> &'a Value {
    let children = node["children"].as_array().unwrap();
    children
        .iter()
        .find(|child| child["key"] == key)
        .unwrap_or_else(|| panic!("no {key} in {children:#?}"))
}

#[test]
fn the_type_tree_agrees_with_the_histogram() {
    let all = ["--least", "0", "--limit", "0", "--no-index"];
    let tree = json(&[&["classify", DUMP], &all[..]].concat());
    let histogram = json(&["histogram", DUMP, "--no-index"]);
    let rows = histogram["rows"].as_array().unwrap();
    for row in rows.iter().filter(|row| row["unreachable_objects"] == 0) {
        let node = child(&tree["tree"], row["class"].as_str().unwrap());
        for field in ["objects", "shallow", "retained", "retained_objects"] {
            assert_eq!(node[field], row[field], "{field} of {}", row["class"]);
        }
    }
}

#[test]
fn the_maps_and_their_holders_are_named() {
    let maps = [
        "classify",
        DUMP,
        "--no-index",
        "--least",
        "0",
        "--class",
        "java.util.HashMap",
        "--by",
    ];
    let tree = json(&[&maps[..], &["closest-root"]].concat());
    let statics = child(&tree["tree"], "static field");
    let by_id = child(child(statics, "anthill.samples.IdCache"), "idCache");
    let by_name = child(child(statics, "anthill.samples.NameCache"), "nameCache");
    // As demo/TRUTH.txt says.
    assert_eq!(by_id["retained_objects"], 4002);
    assert_eq!(by_name["retained_objects"], 2002);
    let products = [
        "classify",
        DUMP,
        "--no-index",
        "--class",
        "anthill.samples.Product",
        "--by",
    ];
    let tree = json(&[&products[..], &["type, pointed-from, type"]].concat());
    let held = child(
        child(&tree["tree"], "anthill.samples.Product"),
        "← java.util.HashMap$Node",
    );
    assert_eq!(held["objects"], 2000, "each in two maps, counted once");
}

#[test]
fn tables_and_csv_show_the_same_nodes() {
    let text = print(&["classify", DUMP, "--no-index", "--by", "package,type"]);
    let csv = print(&[
        "classify",
        DUMP,
        "--no-index",
        "--by",
        "package,type",
        "--csv",
    ]);
    assert!(
        csv.starts_with(
            "path,objects,shallow,deep,deep_objects,retained,retained_objects\nOverall,"
        )
    );
    let shown = text.lines().filter(|line| !line.contains('…')).count();
    assert_eq!(csv.lines().count(), shown);
    assert!(csv.contains("Overall > anthill > samples > anthill.samples.Product,2000,"));
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let ran = run(&["classify", DUMP, "--no-index", "--by", "type, colour"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("column 7") && ran.err.contains("\n        ^"),
        "{}",
        ran.err
    );
    let ran = run(&["classify", DUMP, "--no-index", "--class", "Product"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("anthill.samples.Product"), "{}", ran.err);
}

#[test]
fn classifiers_are_listed_with_examples() {
    let rows: Value = serde_json::from_str(&print(&["classifiers", "--json"])).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(
        rows.iter()
            .all(|row| row["description"] != "" && row["example"] != "")
    );
    let listed = print(&["classifiers"]);
    assert!(
        rows.iter()
            .all(|row| listed.contains(row["name"].as_str().unwrap()))
    );
}
