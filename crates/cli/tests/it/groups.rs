//! Object groups and their inspection, on the demonstration's dump, whose program said what is in it.

use serde_json::Value;

use crate::program::{json, print, run, scratch};

const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/multi-cache.hprof.gz");
const CACHES: &str = "IdCache.idCache | NameCache.nameCache";

fn keys(node: &Value) -> Vec<&str> {
    let children = node["children"].as_array().unwrap();
    let keys = children.iter().map(|child| child["key"].as_str().unwrap());
    keys.collect()
}

fn child<'a>(node: &'a Value, key: &str) -> &'a Value {
    let mut children = node["children"].as_array().unwrap().iter();
    let found = children.find(|child| child["key"] == key);
    found.unwrap_or_else(|| panic!("no {key} in {:?}", keys(node)))
}

/// A group of a definition is what it would be if it were written out, in every command.
#[test]
fn groups_of_definitions_are_used_by_name() {
    let dump = scratch("defined-groups.hprof").to_str().unwrap().to_owned();
    print(&["demo", "--save", &dump]);
    let file = scratch("defined-groups.txt");
    std::fs::write(
        &file,
        "group caches = IdCache.idCache | NameCache.nameCache\n\
         # All that dies with them.\ngroup dying = retained(caches)\n\
         classifier large = size > 100\ngroup elsewhere = no.such.Class\n",
    )
    .unwrap();
    let define = format!("--define={}", file.display());
    let written = "retained(IdCache.idCache | NameCache.nameCache)";
    let by = "--by=large, type";
    let inline = "--by=size > 100, type";
    let classified = json(&["classify", &dump, "--group=dying", by, &define]);
    let told = json(&["classify", &dump, &format!("--group={written}"), inline]);
    assert_eq!(classified["tree"], told["tree"]);
    for (named, plain) in [
        (
            vec!["objects", &dump, "--group=dying"],
            vec!["objects", &dump, "--group"],
        ),
        (vec!["inspect", &dump, "dying"], vec!["inspect", &dump]),
        (
            vec!["paths", &dump, "--group=dying"],
            vec!["paths", &dump, "--group"],
        ),
        (vec!["owners", &dump, "dying"], vec!["owners", &dump]),
    ] {
        let named = json(&[&named[..], &[define.as_str()]].concat()).to_string();
        let plain = json(&[&plain[..], &[written]].concat()).to_string();
        let same = named.replace(r#":"dying""#, &format!(":{written:?}")) == plain;
        assert!(same, "{named}\n{plain}");
    }
    let listed = json(&["groups", &dump, &define]);
    let listed = listed["groups"].as_array().unwrap();
    let names: Vec<&str> = listed
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["caches", "dying", "elsewhere"]);
    assert_eq!(listed[1]["retained"], told["tree"]["retained"]);
    assert_eq!(
        (&listed[1]["kept"], &listed[2]["objects"]),
        (&false.into(), &0.into())
    );
    let mistake = run(&["inspect", &dump, "a", "--definitions=group a = retaind(b)"]);
    assert_eq!(mistake.code, 2);
    assert!(
        mistake.err.contains("--definitions, group a, column 1"),
        "{}",
        mistake.err
    );
}

#[test]
fn both_caches_are_inspected_together() {
    let all = ["--no-index", "--least", "0"];
    let seen = json(&[&["inspect", DUMP, CACHES], &all[..]].concat());
    // As demo/TRUTH.txt says.
    assert_eq!(seen["objects"], 2);
    assert_eq!(seen["retained_objects"], 17_804);
    assert_eq!(seen["gc_closure"]["objects"], 17_804);
    assert_eq!(seen["gc_closure"]["shallow"], seen["retained"]);
    assert_eq!(seen["transitive_closure"]["shallow"], seen["deep"]);
    let product = child(&seen["gc_closure"], "anthill.samples.Product");
    assert_eq!(product["objects"], 2000);
    for roots in ["roots_keeping", "roots_reaching"] {
        let statics = child(&seen[roots], "static field");
        assert_eq!(seen[roots]["objects"], 2);
        let classes = ["anthill.samples.IdCache", "anthill.samples.NameCache"];
        assert_eq!(keys(statics), classes);
    }
    assert_eq!(seen["paths"]["objects"], 2);
    // From below: the products have the same two roots.
    let products = json(&[&["inspect", DUMP, "*.Product"], &all[..]].concat());
    assert_eq!(products["objects"], 2000);
    assert_eq!(products["roots_keeping"], seen["roots_keeping"]);
    let text = print(&["inspect", DUMP, CACHES, "--no-index", "--roots-by", "type"]);
    for part in [
        "the group itself        2",
        "2 root objects keep it alive",
        "GC closure (everything that would be freed with it)",
        "static nameCache → java.util.HashMap",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let one = print(&["inspect", DUMP, "IdCache.idCache", "--no-index"]);
    assert!(one.contains("1 root object keeps it alive"), "{one}");
    let garbage = print(&["inspect", DUMP, "unreachable()", "--no-index"]);
    assert!(
        garbage.contains("0 root objects keep it alive\nnothing\n"),
        "{garbage}"
    );
    assert!(garbage.contains("no GC root leads to any of these objects"));
}

/// What the DOT language allows of what is written: statements on lines of their own, names without
/// quotes made of letters and digits, texts in quotes.
fn is_statement(line: &str) -> bool {
    let line = line.trim();
    let mut outside = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in line.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if !quoted => outside.push(c),
            _ => {}
        }
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || " =,[]->_".contains(c);
    let statement = outside.strip_suffix(';').unwrap_or(&outside);
    !quoted && outside.ends_with(';') && statement.chars().all(allowed)
}

#[test]
fn the_ways_are_a_graph_for_graphviz() {
    let file = scratch("products.dot");
    let path = file.to_str().unwrap();
    print(&["inspect", DUMP, "*.Product", "--no-index", "--dot", path]);
    let dot = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = dot.lines().collect();
    assert_eq!((lines[0], lines[lines.len() - 1]), ("digraph paths {", "}"));
    for line in &lines[1..lines.len() - 1] {
        assert!(
            line.trim().starts_with("//") || is_statement(line),
            "{line}"
        );
    }
    assert!(dot.contains("\"value (2,000)\""));
    assert!(dot.contains("\"anthill.samples.Product\\n2,000 objects\\n2,000 of the group\""));
    let ran = run(&[
        "inspect",
        DUMP,
        "*.Product",
        "--dot",
        "/no/such/folder/x.dot",
    ]);
    assert_eq!(ran.code, 2);
}

#[test]
fn groups_are_kept_used_and_forgotten() {
    let index = tempfile::tempdir().unwrap();
    let folder = index.path().to_str().unwrap();
    fn joined<'a>(arguments: &[&'a str], folder: &'a str) -> Vec<&'a str> {
        [arguments, &["--index", folder]].concat()
    }
    assert!(print(&joined(&["groups", DUMP], folder)).contains("no groups are saved"));
    print(&joined(
        &["groups", DUMP, "--save", "caches", CACHES],
        folder,
    ));
    let row = [
        "classify",
        DUMP,
        "--by",
        "type",
        "--node",
        "anthill.samples.Product",
    ];
    print(&joined(
        &[&row[..], &["--save", "products"]].concat(),
        folder,
    ));
    let kept = json(&joined(&["groups", DUMP], folder));
    let rows = kept["groups"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["expression"], CACHES);
    assert_eq!(rows[0]["retained_objects"], 17_804);
    assert_eq!(rows[1]["objects"], 2000);
    // What a kept row says of itself is the same group again.
    let again = rows[1]["expression"].as_str().unwrap();
    let difference = format!("products - {again} | {again} - products");
    let ran = run(&joined(&["classify", DUMP, "--group", &difference], folder));
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);

    let group = "retained(caches) & products";
    let tree = json(&joined(&["classify", DUMP, "--group", group], folder));
    assert_eq!(tree["tree"]["objects"], 2000);
    let objects = json(&joined(&["objects", DUMP, "--group", "caches"], folder));
    assert_eq!(objects["rows"].as_array().unwrap().len(), 2);
    let paths = json(&joined(&["paths", DUMP, "--group", "products"], folder));
    assert_eq!(paths, {
        let mut by_class = json(&joined(&["paths", DUMP, "anthill.samples.Product"], folder));
        by_class["target"] = "products".into();
        by_class
    });
    print(&joined(&["groups", DUMP, "--forget", "products"], folder));
    assert_eq!(
        run(&joined(&["groups", DUMP, "--forget", "products"], folder)).code,
        1
    );
    assert_eq!(run(&joined(&["inspect", DUMP, "products"], folder)).code, 1);
    // A group that was damaged is not used, and that is said.
    let inside = std::fs::read_dir(index.path()).unwrap();
    let mut inside = inside.map(|entry| entry.unwrap().path());
    let folder_of_dump = inside.find(|path| path.is_dir()).unwrap();
    std::fs::write(folder_of_dump.join("group-caches"), "no index").unwrap();
    let ran = run(&joined(&["groups", DUMP], folder));
    assert!(
        ran.err
            .contains("ignoring saved group `caches`: it belongs to another dump or is damaged")
    );
    assert!(ran.out.contains("no groups are saved"));
    let ran = run(&joined(&["inspect", DUMP, "caches"], folder));
    assert!(ran.code == 1 && ran.err.contains("damaged"), "{}", ran.err);
    let ran = run(&["groups", DUMP, "--no-index", "--save", "x", "byte[]"]);
    assert!(
        ran.code == 2 && ran.err.contains("next to the index"),
        "{}",
        ran.err
    );
}

#[test]
fn mistakes_in_groups_are_shown_before_the_dump_is_opened() {
    for arguments in [
        &["inspect", "no-such-file", "retained(x"][..],
        &["classify", "no-such-file", "--group", "retained(x"],
        &["objects", "no-such-file", "--group", "retained(x"],
        &["paths", "no-such-file", "--group", "retained(x"],
        &["groups", "no-such-file", "--save", "x", "retained(x"],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, 2);
        let place = "group, column 11: ";
        let caret = "\n  retained(x\n            ^";
        assert!(
            ran.err.contains(place) && ran.err.contains(caret),
            "{}",
            ran.err
        );
    }
}

/// Two caches share the products: clearing one gives back its own map only, clearing both gives back all.
#[test]
fn cut_tells_what_a_fix_would_free() {
    let retained = |group: &str| {
        json(&["inspect", DUMP, group, "--no-index"])["retained"]
            .as_u64()
            .unwrap()
    };
    let cut = |from: &str, to: &str| {
        let cut = json(&[
            "cut",
            DUMP,
            &format!("class_objects({from:?})"),
            to,
            "--no-index",
        ]);
        (
            cut["references"].as_u64().unwrap(),
            cut["freed"].as_u64().unwrap(),
        )
    };
    let (one, other) = ("IdCache.idCache", "NameCache.nameCache");
    assert_eq!(cut("*.IdCache", one), (1, retained(one)));
    assert_eq!(cut("*.NameCache", other), (1, retained(other)));
    let (references, freed) = cut("*Cache", CACHES);
    assert_eq!((references, freed), (2, retained(CACHES)));
    assert!(freed > 2 * (retained(one) + retained(other)));
    let none = run(&["cut", DUMP, one, other, "--no-index"]);
    assert_eq!(none.code, 1);
    assert!(none.err.contains("no reference leads"), "{}", none.err);
}
