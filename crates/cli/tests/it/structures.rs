//! A dump of Structures: what the commands say of data structures is what the program says.

use std::fs;
use std::sync::OnceLock;

use anthill_heap::HeapBuilder;
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};
use anthill_trace::Identities;
use serde_json::Value;

use crate::growth::trace_of;
use crate::program::{self, command, json, print, run};
use crate::record::{ON_DEMAND, Recorded};

struct Fixture {
    dump: String,
    in_own_map: u64,
    in_tree_map: u64,
    in_tree_bins: u64,
    in_queue: u64,
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
            in_queue: sample.count("LinkedBlockingQueue with a limit"),
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
    for title in [
        "Largest retained size",
        "Most wasted bytes",
        "Most deeply nested",
    ] {
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
    let expected = "line 2, column 10: unknown role `elment`; did you mean `element`?\n    (*) as elment;\n           ^";
    assert!(ran.err.contains(expected), "{}", ran.err);
}

/// What is said on standard error about definitions, with what is found.
fn with_definitions(dump: &str, name: &str, text: &str, of_type: &str) -> (Value, String) {
    let file = program::scratch(name);
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let ran = run(&[
        "structures",
        dump,
        "--json",
        "--type",
        of_type,
        "--structures",
        file,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    (serde_json::from_str(&ran.out).unwrap(), ran.err)
}

#[test]
fn definitions_that_do_not_fit_the_heap_are_warned_of() {
    let Some(fixture) = fixture() else { return };
    // The field is `structure`; on one line, too, the line is told.
    let text = "DS anthill.samples.Structures$Made { structrue -> *; name -> (*); size = nam; }";
    let (_, warning) = with_definitions(&fixture.dump, "unfit.structures", text, "*$Made");
    for expected in [
        "line 1, column 38: `anthill.samples.Structures$Made` has no field `structrue`; did you mean `structure`?",
        "line 1, column 74: `anthill.samples.Structures$Made` has no field `nam`; did you mean `name`?",
    ] {
        assert!(warning.contains(expected), "{expected} in\n{warning}");
    }
    let caret = warning.lines().nth(2).unwrap();
    assert_eq!(caret.find('^'), Some(2 + 37), "{warning}");
    // All internals: how many elements there are is not known.
    let text = "DS anthill.samples.Structures$Made { structure -> java.util.LinkedList$Node; }\n\
                java.util.LinkedList$Node { java.util.LinkedList$Node; }\n";
    let (found, warning) = with_definitions(&fixture.dump, "unfit.structures", text, "*$Made");
    assert!(
        warning.contains("line 1, column 4") && warning.contains("leads only to internals"),
        "{warning}"
    );
    for row in rows(&found) {
        assert_eq!(
            (&row["elements"], &row["health"]),
            (&Value::Null, &"".into())
        );
    }
}

#[test]
fn arrays_of_objects_need_no_package() {
    let Some(fixture) = fixture() else { return };
    let text = "namespace java.util; DS Vector { Object[]; }";
    let (found, warning) =
        with_definitions(&fixture.dump, "vector.structures", text, "java.util.Vector");
    assert_eq!(warning, "");
    let elements = |found: &Value| -> Vec<Value> {
        rows(found)
            .iter()
            .map(|row| row["elements"].clone())
            .collect()
    };
    let shipped = json(&["structures", &fixture.dump, "--type", "java.util.Vector"]);
    assert_eq!(elements(&found), elements(&shipped));
    assert!(elements(&found).iter().any(|elements| *elements != 0));
}

#[test]
fn what_is_not_found_is_said_as_everywhere() {
    let Some(fixture) = fixture() else { return };
    let nothing = run(&["structures", &fixture.dump, "--type", "java.util.TreeMop"]);
    let histogram = run(&["histogram", &fixture.dump, "--filter", "java.util.TreeMop"]);
    assert_eq!((nothing.code, histogram.code), (1, 1));
    assert!(
        nothing.err.contains("did you mean") && nothing.err.contains("java.util.TreeMap"),
        "{}",
        nothing.err
    );
    let views = [
        "structures",
        &fixture.dump,
        "--type",
        "java.util.WeakHashMap$KeySet",
    ];
    let hidden = run(&views);
    assert_eq!(hidden.code, 1);
    assert!(hidden.err.contains("--parts shows them"), "{}", hidden.err);
    let shown = json(&[&views[..], &["--parts"]].concat());
    assert_eq!(rows(&shown)[0]["place"], "view");
}

#[test]
fn a_view_leads_to_what_it_shows_and_counts_nothing_twice() {
    let Some(fixture) = fixture() else { return };
    let found = json(&["structures", &fixture.dump, "--parts"]);
    let all = rows(&found);
    let of_class = |class: &'static str| all.iter().filter(move |row| row["class"] == class);
    let keys: Vec<&Value> = of_class("java.util.TreeMap$KeySet").collect();
    assert!(!keys.is_empty());
    for view in keys.iter().filter(|row| row["place"] == "view") {
        let shown = all
            .iter()
            .find(|row| row["address"] == view["view_of"])
            .unwrap();
        assert_eq!(shown["class"], "java.util.TreeMap");
        assert_eq!(shown["elements"], view["elements"]);
        assert_ne!(shown["place"], "part");
        assert!(view["bytes"].as_u64() < shown["bytes"].as_u64());
    }
    let ranges = of_class("java.util.TreeMap$AscendingSubMap");
    let elements: Vec<&Value> = ranges.map(|row| &row["elements"]).collect();
    assert_eq!(
        elements,
        [&Value::Null; 2],
        "nothing tells how many are in a range"
    );
    let text = print(&[
        "structures",
        &fixture.dump,
        "--parts",
        "--type",
        "java.util.TreeMap$KeySet",
    ]);
    assert!(text.contains("(view of 0x"), "{text}");
    // With its parts and views every object of a structure is met several times, but counted once.
    let sum: u64 = all.iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
    let totals = |found: &Value, key: &str| found["totals"][key].as_u64().unwrap();
    assert!(sum > totals(&found, "bytes"));
    assert!(totals(&found, "shared") > 0);
    let without = json(&["structures", &fixture.dump]);
    assert!(totals(&without, "bytes") < totals(&found, "bytes"));
    let summary = json(&["summary", &fixture.dump]);
    let reachable = summary["reachable"]["shallow"].as_u64().unwrap();
    assert!(totals(&found, "bytes") < reachable);
}

#[test]
fn totals_count_what_several_structures_share_once() {
    let mut heap = HeapBuilder::new();
    heap.objects("left right", "java.util.ArrayList", 24);
    heap.array("array", "java.lang.Object[]", 6);
    heap.object("order", "shop.Order", 16);
    heap.edges("left -> array, right -> array, array -> order");
    heap.root("left");
    heap.root("right");
    let path = trace_of(
        "structures-shared.trace",
        [(heap.build(), Identities::None)],
    );
    let found = json(&["structures", &path, "--no-index"]);
    // A header of 16 bytes and six references of 4.
    let array = 16 + 6 * 4;
    let totals = &found["totals"];
    assert_eq!(
        (&totals["bytes"], &totals["shared"]),
        (&(2 * 24 + array).into(), &array.into())
    );
    assert_eq!(totals["wasted"], 5 * 4);
    for row in rows(&found) {
        assert_eq!(row["bytes"], 24 + array);
    }
    let text = print(&["structures", &path, "--no-index"]);
    assert!(text.contains("40 B in several structures"), "{text}");
}

#[test]
fn the_capacity_of_a_queue_is_its_limit() {
    let Some(fixture) = fixture() else { return };
    let class = "java.util.concurrent.LinkedBlockingQueue";
    let queues = json(&["structures", &fixture.dump, "--type", class]);
    let limited: Vec<&Value> = rows(&queues)
        .iter()
        .filter(|row| row["capacity"] == 1000)
        .collect();
    let [queue] = limited[..] else {
        panic!("one queue: {queues:#}");
    };
    assert_eq!(queue["elements"], fixture.in_queue);
    assert_eq!(queue["fill"], fixture.in_queue as f64 / 10.0);
    // Nodes that are not there take up nothing.
    assert_eq!(
        (&queue["wasted"], &queue["health"]),
        (&0.into(), &"".into())
    );
    let bits = json(&["structures", &fixture.dump, "--type", "java.util.BitSet"]);
    let capacity = |row: &Value| row["capacity"].as_u64().unwrap() % 64;
    assert!(rows(&bits).iter().map(capacity).all(|rest| rest == 0));
}

#[test]
fn recorded_structures_know_where_they_were_allocated() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("allocation sites of structures", "no JDK was found");
    };
    let trace = program::scratch("structures-sites.trace");
    let mut lists = 0;
    // Where the machine has no time to spare, samples are few, and maybe none of a list.
    let main = (0..20).find_map(|_| {
        let arguments = ["10", "300000"];
        let recorded = Recorded::start(jdk, &trace, &ON_DEMAND, "Growth", &arguments, &[]);
        lists = recorded.sample.count("stable");
        recorded.snapshot("now");
        let trace = recorded.trace.clone();
        recorded.end();
        let found = json(&["structures", &trace, "--limit", "1"]);
        let sites = found["sites"].as_array().unwrap();
        let is_main = |site: &&Value| {
            let name = site["site"].as_str().unwrap();
            name.starts_with("anthill.samples.Growth.main")
        };
        sites.iter().find(is_main).cloned()
    });
    let main = main.expect("twenty recordings have a sample of a list");
    let trace = trace.to_str().unwrap();
    let sampled = main["structures"].as_u64().unwrap();
    assert!(sampled > 0 && sampled < lists, "{main:#}");
    // Each list has two texts.
    assert_eq!(main["elements"], 2 * sampled);
    let text = print(&["structures", trace]);
    assert!(text.contains("By allocation site"), "{text}");
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
