//! A dump of Structures: what the commands say of data structures is what the program says.

use std::fs;
use std::sync::OnceLock;

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{self, command, json, print, run};

struct Fixture {
    dump: String,
    in_own_map: u64,
    in_tree_map: u64,
    in_tree_bins: u64,
}

/// Nothing without a JDK.
fn fixture() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| {
        let jdk = Jdk::all().first()?;
        let dump = program::scratch("structures.hprof");
        let sample = Sample::start(jdk, "Structures", &[], &[]);
        sample.dump(&dump, DumpOptions::default());
        Some(Fixture {
            dump: dump.to_str().unwrap().to_owned(),
            in_own_map: sample.count("subtype of HashMap"),
            in_tree_map: sample.count("TreeMap"),
            in_tree_bins: sample.count("ConcurrentHashMap of trees"),
        })
    });
    fixture.as_ref()
}

const OWN_MAP: &str = "anthill.samples.Structures$OwnMap";

fn rows(of: &Value) -> &Vec<Value> {
    of["structures"].as_array().unwrap()
}

#[test]
fn a_structure_is_told_with_its_elements_and_its_place() {
    let Some(fixture) = fixture() else { return };
    let found = json(&["structures", &fixture.dump, "--type", OWN_MAP]);
    let [map] = &rows(&found)[..] else {
        panic!("one map: {found:#}");
    };
    assert_eq!(map["type"], "java.util.HashMap");
    assert_eq!(map["elements"], fixture.in_own_map);
    // A HashMap doubles its table when three quarters of it are used.
    let capacity = fixture.in_own_map.div_ceil(3) * 4;
    assert_eq!(map["capacity"], capacity.next_power_of_two());
    assert_eq!(map["place"], "top-level");
    assert!(map["deep"].as_u64() >= map["retained"].as_u64());
    let held_by = map["held_by"].as_str().unwrap();
    assert!(
        held_by.starts_with("static field anthill.samples.Structures.made"),
        "{held_by}"
    );
}

#[test]
fn the_order_is_what_was_asked_for_and_bad_hash_codes_are_seen() {
    let Some(fixture) = fixture() else { return };
    for (sort, column) in [
        ("elements", "elements"),
        ("waste", "wasted"),
        ("depth", "depth"),
    ] {
        let found = json(&["structures", &fixture.dump, "--sort", sort]);
        let values: Vec<u64> = rows(&found)
            .iter()
            .map(|row| row[column].as_u64().unwrap_or(0))
            .collect();
        assert!(
            values.len() > 60 && values.is_sorted_by(|a, b| a >= b),
            "{values:?}"
        );
    }
    let maps = json(&["structures", &fixture.dump, "--type", "*.ConcurrentHashMap"]);
    let degenerate: Vec<&Value> = rows(&maps)
        .iter()
        .filter(|row| row["health"] == "degenerate")
        .map(|row| &row["elements"])
        .collect();
    assert_eq!(degenerate, [fixture.in_tree_bins]);
    let text = print(&["structures", &fixture.dump]);
    for title in ["retain most", "hold nothing", "in each other"] {
        assert!(text.contains(title), "{title} in\n{text}");
    }
    let csv = print(&[
        "structures",
        &fixture.dump,
        "--csv",
        "--type",
        "java.util.TreeMap",
    ]);
    let elements = format!(",{},,", fixture.in_tree_map);
    assert!(csv.lines().any(|line| line.contains(&elements)), "{csv}");
}

#[test]
fn own_definitions_come_from_files_and_from_the_project() {
    let Some(fixture) = fixture() else { return };
    let folder = program::scratch("structures-project");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("anthill.structures");
    let text = "namespace anthill.samples;\n\
                DS Structures$Made { structure -> *; }\n\
                DS Structures$Mad { }\n";
    fs::write(&file, text).unwrap();
    let made = ["structures", &fixture.dump, "--json", "--type", "*$Made"];
    let output = command(&made).current_dir(&folder).output().unwrap();
    let by_project: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(rows(&by_project).len() > 60);
    let of_own_map = rows(&by_project)
        .iter()
        .any(|row| row["elements"] == fixture.in_own_map);
    assert!(of_own_map, "it has what its part has");
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(
        warning.contains("line 3, column 4")
            && warning.contains("did you mean `anthill.samples.Structures$Made`?"),
        "{warning}"
    );
    let file = file.to_str().unwrap();
    let by_option = run(&[&made[..], &["--structures", file]].concat());
    assert_eq!(
        rows(&serde_json::from_str(&by_option.out).unwrap()),
        rows(&by_project)
    );
}

#[test]
fn mistakes_in_definitions_are_shown_with_a_caret() {
    let file = program::scratch("wrong.structures");
    fs::write(&file, "DS a.B {\n  (*) as elment;\n}\n").unwrap();
    let ran = run(&[
        "structures",
        "none.hprof",
        "--structures",
        file.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 2);
    let expected = "line 2, column 10: there is no role `elment`; did you mean `element`?\n    (*) as elment;\n           ^";
    assert!(ran.err.contains(expected), "{}", ran.err);
}

#[test]
fn objects_are_split_by_their_role_and_turned_into_members() {
    let Some(fixture) = fixture() else { return };
    let tree = |class: &str, by: &str| {
        let found = json(&["classify", &fixture.dump, "--class", class, "--by", by]);
        found["tree"]["children"][0].clone()
    };
    let nodes = tree("java.util.TreeMap$Entry", "structure-role");
    assert_eq!(nodes["key"], "internal");
    let maps = tree(OWN_MAP, "type, structure-internals, type");
    let has = |tree: &Value, key: &str| {
        let children = tree["children"].as_array().unwrap();
        children.iter().any(|child| child["key"] == key)
    };
    assert!(has(&maps, "has java.util.HashMap$Node[]"), "{maps:#}");
    let maps = tree(OWN_MAP, "type, structure-leaves, type");
    assert!(has(&maps, "has java.lang.String"), "{maps:#}");
    let keys = tree("anthill.samples.Structures$Late", "type, structure, type");
    assert!(has(&keys, "in java.util.PriorityQueue"), "{keys:#}");
    let containing = tree(
        "anthill.samples.Structures$Late",
        "type, containing-structure",
    );
    assert!(
        has(&containing, "java.util.PriorityQueue"),
        "{containing:#}"
    );
    let lists = json(&[
        "classify",
        &fixture.dump,
        "--where",
        "contained",
        "--by",
        "structure-place",
    ]);
    assert!(has(&lists["tree"], "part"), "{lists:#}");
}

#[test]
fn paths_can_go_through_structures_in_one_step() {
    let Some(fixture) = fixture() else { return };
    let class = "anthill.samples.Structures$Clumsy";
    let whole = print(&["paths", &fixture.dump, class]);
    let collapsed = print(&["paths", &fixture.dump, class, "--collapse"]);
    for internal in ["java.util.HashMap$", "java.lang.Object[]"] {
        assert!(whole.contains(internal), "{whole}");
        assert!(!collapsed.contains(internal), "{collapsed}");
    }
    let dot = program::scratch("collapsed.dot");
    print(&[
        "inspect",
        &fixture.dump,
        class,
        "--collapse",
        "--dot",
        dot.to_str().unwrap(),
    ]);
    let dot = fs::read_to_string(dot).unwrap();
    assert!(
        !dot.contains("Node") && dot.contains("java.util.HashMap"),
        "{dot}"
    );
}
