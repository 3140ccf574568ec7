//! Classification trees of the demonstration's dump, whose program said what is in it.

use serde_json::Value;

use crate::program::{json, print, run, scratch};

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

fn by_package(more: &[&str]) -> Vec<String> {
    let all = ["classify", DUMP, "--no-index", "--by", "package,type"];
    let printed = print(&[&all[..], more].concat());
    printed.lines().map(str::to_owned).collect()
}

#[test]
fn tables_and_csv_show_the_same_nodes() {
    let text = by_package(&["--least", "0", "--limit", "0"]);
    let csv = by_package(&["--csv"]);
    assert_eq!(
        csv[0],
        "path,objects,shallow,deep,deep_objects,retained,retained_objects"
    );
    assert!(csv[1].starts_with("Overall,"));
    assert_eq!(csv.len(), text.len(), "programs get all rows");
    let product = "Overall > anthill > samples > anthill.samples.Product,2000,";
    assert!(csv.iter().any(|line| line.starts_with(product)));
    let few = ["--least", "1", "--limit", "2"];
    let text = by_package(&few);
    let shown = text.iter().filter(|line| !line.contains('…')).count();
    let csv = by_package(&[&few[..], &["--csv"]].concat());
    assert_eq!(csv.len(), shown, "programs that ask for less get less");
    assert!(shown < by_package(&["--csv"]).len());
}

#[test]
fn small_nodes_are_shown_where_all_are_small() {
    // 2000 products, each with a name of its own.
    let names = ["classify", DUMP, "--no-index", "--where", PRODUCTS, "--by"];
    let by_name = |more: &[&str]| print(&[&names[..], &["field('name')"], more].concat());
    let text = by_name(&[]);
    assert_eq!(text.matches("\"product ").count(), 5, "{text}");
    assert!(text.contains("… 1995 more; --least 0 --limit 0 shows all"));
    assert_eq!(by_name(&["--limit", "3"]).matches("\"product ").count(), 3);
    let flat = print(&[&names[..], &["type, field('name')", "--depth", "1"]].concat());
    assert!(
        flat.contains("… 2000 more; --depth 0 shows further levels"),
        "{flat}"
    );
}

#[test]
fn nodes_are_sorted_as_asked() {
    for (sort, column) in [("objects", 1), ("shallow", 2), ("deep", 3), ("retained", 5)] {
        let csv = by_package(&["--csv", "--sort", sort, "--depth", "1"]);
        let column: Vec<u64> = csv[2..]
            .iter()
            .map(|line| line.split(',').nth(column).unwrap().parse().unwrap())
            .collect();
        assert!(column.len() > 2);
        assert!(column.is_sorted_by(|a, b| a >= b), "{sort}: {column:?}");
    }
    let named = by_package(&["--csv", "--sort", "name", "--depth", "1"]);
    assert!(named[2..].is_sorted(), "{named:?}");
}

#[test]
fn an_empty_answer_says_that_unreachable_objects_are_left_out() {
    let none = ["classify", DUMP, "--no-index", "--where", "!reachable"];
    let ran = run(&none);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err
            .contains("--unreachable also includes unreachable objects"),
        "{}",
        ran.err
    );
    let ran = run(&[&none[..], &["--unreachable"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
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

const PRODUCTS: &str = "type == 'anthill.samples.Product'";

fn tree_of(condition: &str, by: &str) -> Value {
    let arguments = [
        "classify",
        DUMP,
        "--no-index",
        "--least",
        "0",
        "--limit",
        "0",
    ];
    let more = ["--where", condition, "--by", by];
    json(&[&arguments[..], &more].concat())["tree"].clone()
}

#[test]
fn expressions_filter_split_and_lead_on() {
    // As demo/TRUTH.txt says: 2000 products, one in ten with a price that is shared.
    let by_price = tree_of(PRODUCTS, "field(\"price\").field(\"value\") == 99");
    assert_eq!(child(&by_price, "true")["objects"], 200);
    assert_eq!(child(&by_price, "false")["objects"], 1800);
    let unboxed = tree_of(PRODUCTS, "field('price') < 1K ? 'cheap' : 'dear'");
    // From 1000 on in steps of one, except every tenth.
    assert_eq!(child(&unboxed, "cheap")["objects"], 200 + 21);
    let by_name = tree_of(
        PRODUCTS,
        "where field('name') ~ 'product 12?', field('name')",
    );
    assert_eq!(by_name["children"].as_array().unwrap().len(), 10);
    assert_eq!(child(&by_name, "\"product 123\"")["objects"], 1);
    let holders = tree_of(PRODUCTS, "referrers.map(r => r.simple_name)");
    assert_eq!(child(&holders, "Node")["objects"], 2000);
    let keys = tree_of(PRODUCTS, "to referrers, to field('key'), type");
    assert_eq!(child(&keys, "→ → java.lang.Long")["objects"], 2000);
    assert_eq!(child(&keys, "→ → java.lang.String")["objects"], 2000);
    let boxes = tree_of(
        PRODUCTS,
        "to references, where is('java.lang.Number'), type",
    );
    assert_eq!(boxes["children"].as_array().unwrap().len(), 1);
    assert_eq!(child(&boxes, "→ java.lang.Integer")["objects"], 2000);
}

#[test]
fn filters_of_any_kind_leave_out_the_rest() {
    let all = tree_of("true", "type");
    let objects = |condition: &str| tree_of(condition, "type")["objects"].as_u64().unwrap();
    for (condition, opposite) in [
        ("of_type('java.util.*')", "!(type ~ 'java.util.*')"),
        (
            "in_package('anthill.samples')",
            "!(package ~ 'anthill.samples*')",
        ),
        ("of_kind('big array')", "!is_array || length < 255"),
        ("at_least(100)", "size < 100"),
        ("reachable", "only_unreachable"),
        ("rooted_by('static field')", "!roots.has('static field')"),
        ("field_is('value', 99)", "field('value') != 99"),
    ] {
        let wanted = if condition == "reachable" {
            0
        } else {
            objects(opposite)
        };
        assert_eq!(
            objects(condition) + wanted,
            all["objects"].as_u64().unwrap(),
            "{condition}"
        );
    }
    let none = run(&["classify", DUMP, "--no-index", "--where", "size < 0"]);
    assert_eq!((none.code, none.out.as_str()), (1, ""));
    assert!(none.err.contains("no object matches `size < 0`"));
}

/// What is looked for is found at every level, with what leads to it and what is below it, and nothing else.
#[test]
fn a_tree_is_searched_at_all_levels() {
    let whole = json(&["classify", DUMP, "--by", "package, type, kind"]);
    let told = json(&[
        "classify",
        DUMP,
        "--by",
        "package, type, kind",
        "--search",
        "HASHMAP",
    ]);
    let paths = |tree: &Value| {
        let mut paths = Vec::new();
        let mut waiting = vec![(tree, String::new())];
        while let Some((node, above)) = waiting.pop() {
            for child in node["children"].as_array().into_iter().flatten() {
                let path = format!("{above} > {}", child["key"].as_str().unwrap());
                waiting.push((child, path.clone()));
                paths.push(path);
            }
        }
        paths.sort();
        paths
    };
    let all = paths(&whole["tree"]);
    let with = |path: &&String| path.to_lowercase().contains("hashmap");
    let leads = |path: &&String| {
        let start = format!("{path} > ");
        all.iter()
            .any(|other| with(&other) && other.starts_with(&start))
    };
    let wanted: Vec<String> = all
        .iter()
        .filter(|path| with(path) || leads(path))
        .cloned()
        .collect();
    assert!(wanted.len() > 3 && wanted.len() < all.len(), "{wanted:?}");
    assert_eq!(paths(&told["tree"]), wanted);
}

#[test]
fn definitions_are_used_like_predefined_ones() {
    let file = scratch("definitions.txt");
    let text = "# Products by the hundreds.\n# example: hundred\n\
                classifier hundred = path('product', (field('id') - 1_000_000) / 100)\n\
                filter dear(least) = field('price') >= least\n\
                transformer holders = referrers\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let listed = print(&["classifiers", "--define", file]);
    assert!(
        listed.contains("Products by the hundreds.: hundred"),
        "{listed}"
    );
    let tree = json(&[
        "classify",
        DUMP,
        "--no-index",
        "--least",
        "0",
        "--define",
        file,
        "--class",
        "anthill.samples.Product",
        "--by",
        "dear(2_900), hundred, holders, type",
    ]);
    let hundreds = child(&tree["tree"], "product")["children"]
        .as_array()
        .unwrap();
    assert_eq!(hundreds.len(), 1, "only the last hundred costs so much");
    assert_eq!(hundreds[0]["key"], "19");
    // Every tenth of them costs 99.
    assert_eq!(
        child(&hundreds[0], "→ java.util.HashMap$Node")["objects"],
        90
    );

    let wrong = scratch("wrong.txt");
    std::fs::write(&wrong, format!("{text}filter odd =\n  size %% 2 == 1\n")).unwrap();
    let ran = run(&[
        "classify",
        "no such file",
        "--define",
        wrong.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("wrong.txt, line 7, column 9: ")
            && ran.err.contains("\n    size %% 2 == 1\n          ^\n"),
        "{}",
        ran.err
    );
}

#[test]
fn scripts_are_run_and_stopped() {
    // Every product has two arrays of 20 months.
    let script = "{ let n = 0; for r in references { if r.is_array { n += r.length } } n }";
    assert_eq!(child(&tree_of(PRODUCTS, script), "40")["objects"], 2000);
    let file = scratch("endless.txt");
    let text = "classifier endless {\n  let n = 0;\n  while n < 10 { n = n * 2 }\n}\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let ran = run(&[
        "classify",
        DUMP,
        "--no-index",
        "--define",
        file,
        "--where",
        "arrays",
        "--by",
        "endless",
    ]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("endless.txt, line 3, column 3: stopped after 20000000 steps")
            && ran.err.contains("[] @ 0x")
            && ran
                .err
                .contains("\n    while n < 10 { n = n * 2 }\n    ^\n"),
        "{}",
        ran.err
    );
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

#[test]
fn one_node_is_split_on_its_own() {
    let all = [
        "classify",
        DUMP,
        "--no-index",
        "--least",
        "0",
        "--limit",
        "0",
    ];
    let split = ["--split", "java.util.HashMap => closest-root"];
    let tree = json(&[&all[..], &split].concat());
    let maps = child(&tree["tree"], "java.util.HashMap");
    let statics = child(maps, "static field");
    // As demo/TRUTH.txt says.
    let by_id = child(child(statics, "anthill.samples.IdCache"), "idCache");
    assert_eq!(by_id["retained_objects"], 4002);
    assert!(child(&tree["tree"], "java.lang.String")["children"].is_null());
    // What was split can be split again, but not twice at the same place.
    let again = "java.util.HashMap > static field > anthill.samples.IdCache > idCache => length";
    let deeper = json(&[&all[..], &split, &["--split", again]].concat());
    let maps = child(child(&deeper["tree"], "java.util.HashMap"), "static field");
    let by_id = child(child(maps, "anthill.samples.IdCache"), "idCache");
    assert_eq!(child(by_id, "-1")["objects"], 1);
    let twice = run(&[&all[..], &split, &split].concat());
    assert_eq!(
        (twice.code, twice.err.contains("is already split")),
        (2, true),
        "{}",
        twice.err
    );
}
