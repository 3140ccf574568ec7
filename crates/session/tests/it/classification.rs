//! Classification trees of real heaps: the stories of the papers, told by the programs themselves.

use std::collections::BTreeMap;

use anthill_classify::{Context, Definitions, OVERALL, Step, Tree, TreeNode, TreeNodeId};
use anthill_graph::{Convention, gc_closure};
use anthill_heap::{Quiet, Value};
use anthill_session::Session;
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};

use crate::open;

fn session_of(sample: &Sample) -> Session {
    session_with(sample, DumpOptions::default())
}

fn session_with(sample: &Sample, options: DumpOptions) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.hprof");
    sample.dump(&path, options);
    open(&path, Convention::DEFAULT).unwrap()
}

fn tree(session: &Session, class: &str, by: &str) -> Tree {
    let group = session.objects_of(|name| name == class, false).unwrap();
    session
        .classify(&group, &Step::parse_list(by).unwrap())
        .unwrap()
}

/// The node at the end of a path of keys.
fn at<'a>(tree: &'a Tree, keys: &[&str]) -> &'a TreeNode {
    let mut node: TreeNodeId = OVERALL;
    for key in keys {
        let children = &tree.node(node).children;
        let found = children.iter().find(|&&child| tree.node(child).key == *key);
        let known: Vec<&str> = children
            .iter()
            .map(|&child| tree.node(child).key.as_str())
            .collect();
        node = *found.unwrap_or_else(|| panic!("no {key} in {known:?}"));
    }
    tree.node(node)
}

#[test]
fn the_stack_keeps_what_was_popped() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("the buggy stack", "no JDK was found");
    };
    let sample = Sample::start(jdk, "BuggyStack", &["5000"], &["-Xmx64m"]);
    let session = session_of(&sample);
    let histogram = sample.histogram();
    let (item, total) = histogram
        .iter()
        .filter(|(name, _)| name.starts_with("anthill.samples.") && !name.ends_with("[]"))
        .max_by_key(|(_, total)| total.instances)
        .unwrap();
    let tree = tree(
        &session,
        item,
        "type, pointed-from, type, pointed-from, type",
    );
    let held = at(
        &tree,
        &[item, "← java.lang.Object[]", "← anthill.samples.BuggyStack"],
    );
    assert_eq!(
        held.objects, total.instances,
        "every {item} is held by the array of the stack"
    );
    assert_eq!(held.shallow, total.bytes);
}

#[test]
fn two_caches_retain_together_what_neither_does() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("the two caches", "no JDK was found");
    };
    let sample = Sample::start(jdk, "MultiCache", &["5000"], &["-Xmx256m"]);
    let session = session_of(&sample);
    let maps = tree(&session, "java.util.HashMap", "closest-root");
    let retained = |class: &str, field: &str| {
        let path = ["static field", &format!("anthill.samples.{class}"), field];
        at(&maps, &path).retained.unwrap().objects
    };
    assert_eq!(
        retained("IdCache", "idCache"),
        sample.count("objects retained by idCache")
    );
    assert_eq!(
        retained("NameCache", "nameCache"),
        sample.count("objects retained by nameCache")
    );
    // Both fields reach every product, each map is reached from its own field only.
    for steps in ["indirectly-rooted", "indirectly-rooted(variables hide)"] {
        let products = tree(&session, "anthill.samples.Product", steps);
        let maps = tree(&session, "java.util.HashMap", steps);
        for (class, field) in [("IdCache", "idCache"), ("NameCache", "nameCache")] {
            let path = ["static field", &format!("anthill.samples.{class}"), field];
            assert_eq!(at(&products, &path).objects, sample.count("products"));
            assert_eq!(at(&maps, &path).objects, 1, "{class}");
        }
    }
    // All maps of the program as one group: cross-checked by removing them.
    let group = session
        .objects_of(|name| name == "java.util.HashMap", false)
        .unwrap();
    let members: Vec<u32> = group.iter().collect();
    let overall = maps.node(OVERALL);
    let retained = overall.retained.unwrap().objects;
    assert_eq!(
        retained,
        gc_closure(&session.graph(), &members).count() as u64
    );
    assert!(retained > sample.count("objects retained by both caches"));
    let products = tree(
        &session,
        "anthill.samples.Product",
        "type, pointed-from, type",
    );
    let held = at(
        &products,
        &["anthill.samples.Product", "← java.util.HashMap$Node"],
    );
    assert_eq!(
        held.objects,
        sample.count("products"),
        "in two maps, counted once"
    );
}

#[test]
fn roles_in_collections() {
    let Some(folder) = anthill_testkit::corpus() else {
        return skipped(
            "collection health",
            "there is no corpus beside the repository",
        );
    };
    // waste.truth.txt: 100,000 maps never touched, 10,000 with an empty table, 10,000 with one
    // entry, one with 2,000 colliding keys, one with 100,000 entries.
    let session = open(&folder.join("waste.hprof.gz"), Convention::DEFAULT).unwrap();
    let maps = tree(&session, "java.util.HashMap", "collection-health");
    assert!(
        at(&maps, &["contained"]).objects >= 100_000,
        "without a table a map holds nothing"
    );
    assert!(at(&maps, &["head"]).objects >= 20_002);
    let nodes = tree(&session, "java.util.HashMap$Node[]", "collection-health");
    assert_eq!(nodes.node(OVERALL).objects, at(&nodes, &["array"]).objects);
    let treed = tree(&session, "java.util.HashMap$TreeNode", "collection-health");
    assert!(
        at(&treed, &["entry"]).objects >= 1_990,
        "entries refer to entries"
    );
}

#[test]
fn parts_of_objects_and_roles_in_collections_are_what_the_program_says() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("health of instances", "no JDK was found");
    };
    for (flag, reference) in [("-XX:+UseCompressedOops", 4), ("-XX:-UseCompressedOops", 8)] {
        let sample = Sample::start(jdk, "Health", &["1000"], &["-Xmx64m", flag]);
        let session = session_of(&sample);
        let histogram = sample.histogram();
        let said = |key: &str| sample.count(key);
        let class = |name: &str| format!("anthill.samples.Health${name}");
        let parts = |class: &str| {
            let tree = tree(&session, class, "type, instance-health");
            let whole = at(&tree, &[class]).clone();
            let parts = ["header", "primitive", "pointer", "null"].map(|part| {
                let part = at(&tree, &[class, part]);
                assert_eq!(part.objects, whole.objects);
                assert!(part.deep.is_none() && part.retained.is_none());
                part.shallow
            });
            assert_eq!(parts.iter().sum::<u64>(), whole.shallow, "{class}, {flag}");
            parts
        };
        let [header, primitive, pointer, null] = parts(&class("Pair"));
        assert_eq!(primitive, said("bytes of primitives in pairs"));
        assert_eq!(pointer, said("references in pairs") * reference);
        assert_eq!(null, said("null references in pairs") * reference);
        let total = histogram.iter().find(|(name, _)| **name == class("Pair"));
        assert_eq!(header + primitive + pointer + null, total.unwrap().1.bytes);
        let [_, primitive, pointer, null] = parts(&class("Pair[]"));
        assert_eq!((primitive, pointer), (0, said("pairs") * reference));
        assert_eq!(null, said("null references in Pair[]") * reference);

        // Under a part, its bytes are split further.
        let pairs = class("Pair");
        let tree_of_parts = tree(&session, &pairs, "instance-health, collection-health");
        let primitive = |role| at(&tree_of_parts, &["primitive", role]).shallow;
        assert_eq!(
            primitive("entry") + primitive("contained"),
            said("bytes of primitives in pairs")
        );

        let roles = |name: &str, role: &str| {
            let tree = tree(&session, &class(name), "collection-health");
            at(&tree, &[role]).objects
        };
        assert_eq!(roles("Pair", "entry"), said("pairs that refer to a pair"));
        assert_eq!(roles("Link", "entry"), said("links with a next"));
        assert_eq!(roles("Links", "head"), 1);
        assert_eq!(roles("Pair[]", "array"), 1);
        assert_eq!(
            roles("Cell", "head"),
            said("pairs"),
            "they hold arrays of primitives"
        );
    }
}

#[test]
fn strengths_of_what_is_not_kept() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("strengths", "no JDK was found");
    };
    let sample = Sample::start(jdk, "NotKept", &[], &["-Xmx64m"]);
    let all = DumpOptions {
        all: true,
        ..DumpOptions::default()
    };
    let session = session_with(&sample, all);
    for (name, strength) in [
        ("Weakly", "weak"),
        ("ByPhantom", "phantom"),
        ("Finalizable", "finalizer"),
        ("Garbage", "unreachable"),
    ] {
        let class = format!("anthill.samples.NotKept${name}");
        let group = session.objects_of(|name| name == class, true).unwrap();
        let steps = Step::parse_list("strength").unwrap();
        let tree = session.classify(&group, &steps).unwrap();
        let expected = sample.count(&format!("{name} instances"));
        assert_eq!(at(&tree, &[strength]).objects, expected, "{name}");
    }
}

/// The examples that are shipped.
fn examples() -> Definitions {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifiers");
    let mut definitions = Definitions::default();
    for file in ["health.txt", "collections.txt"] {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        definitions.add(file, &text).unwrap();
    }
    definitions
}

/// What steps of one level say about every object: its keys, joined.
fn said(session: &Session, by: &str) -> Vec<String> {
    let graph = session.graph();
    let dominators = &session.analysis().unwrap().dominators;
    let context = Context::new(&graph, dominators, session.records(), &Quiet);
    let levels = context.levels(&examples().steps(by).unwrap()).unwrap();
    let level = &levels[0];
    let objects = 0..session.state().len();
    let keys = objects.map(|object| {
        let label = level.label(object, session.state().class_id(object));
        let paths = level.values.paths(label).iter();
        let keys = paths.flat_map(|&path| level.values.keys_of(path));
        let keys: Vec<&str> = keys.map(|key| level.values.key_text(key)).collect();
        keys.join("|")
    });
    keys.collect()
}

#[test]
fn expressions_read_the_fields_that_single_objects_show() {
    let Some(folder) = anthill_testkit::corpus() else {
        return skipped("fields", "there is no corpus beside the repository");
    };
    for dump in [
        "small-g1.hprof.gz",
        "small-nocoops.hprof.gz",
        "shapes.hprof.gz",
    ] {
        let session = open(&folder.join(dump), Convention::DEFAULT).unwrap();
        let state = session.state();
        let records = session.records();
        let object_field = |object, name| records.field_object(state, object, name);
        let hashes = said(&session, "(field('hash'))");
        let lengths = said(&session, "field('value').length");
        let next_hashes = said(&session, "field('next').field('hash')");
        let names = said(&session, "field('name').text");
        let first = said(&session, "field('table')[0].address");
        let by_name = said(&session, "field(name)");
        let texts = said(&session, "text");
        let mut seen = [0; 7];
        for object in 0..state.len() {
            let place = object as usize;
            let mut check = |index: usize, found: &str, expected: Option<String>| {
                seen[index] += u32::from(expected.is_some());
                assert_eq!(
                    found,
                    expected.as_deref().unwrap_or("null"),
                    "{object} {index}"
                );
            };
            let hash = |object| match records.field(state, object, "hash")? {
                Value::Int(hash) => Some(hash.to_string()),
                other => panic!("{other:?}"),
            };
            let length = object_field(object, "value").and_then(|array| state.array_length(array));
            let name = object_field(object, "name").and_then(|name| records.string(state, name));
            let table = object_field(object, "table");
            let entry =
                table.and_then(
                    |table| match records.elements(state, table, 0..1).first()? {
                        Value::Object(address) => state.addresses.find(*address),
                        _ => None,
                    },
                );
            let entry = entry.map(|entry| state.addresses.address(entry).to_string());
            let quoted = |text: String| format!("{:?}", text.chars().take(120).collect::<String>());
            let own = records.string(state, object).map(quoted);
            let no_string = || Some("(no string)".to_owned());
            check(5, &texts[place], own.or_else(no_string));
            let fields = records.fields(state, object);
            if name.is_some() {
                check(6, &by_name[place], name.clone().map(quoted));
            } else if fields.iter().all(|field| field.name != "name")
                && state.mirrored(object).is_none()
            {
                assert_eq!(by_name[place], "(no such field)");
            }
            let shown = |name: String| match name.as_str() {
                "" => "(empty)".to_owned(),
                _ => name,
            };
            check(0, &hashes[place], hash(object));
            check(1, &lengths[place], length.map(|length| length.to_string()));
            check(
                2,
                &next_hashes[place],
                object_field(object, "next").and_then(hash),
            );
            check(3, &names[place], name.map(shown));
            check(4, &first[place], entry);
        }
        assert!(seen.iter().all(|&count| count > 20), "{dump}: {seen:?}");
    }
}

#[test]
fn collection_health_as_a_script_is_the_predefined_one() {
    let Some(folder) = anthill_testkit::corpus() else {
        return skipped(
            "health as a script",
            "there is no corpus beside the repository",
        );
    };
    for dump in ["waste.hprof.gz", "shapes.hprof.gz", "small-jdk25.hprof.gz"] {
        let session = open(&folder.join(dump), Convention::DEFAULT).unwrap();
        let (script, predefined) = (said(&session, "role"), said(&session, "collection-health"));
        for (object, (script, predefined)) in (0..).zip(script.iter().zip(&predefined)) {
            let class = &session.state().class(object).name;
            assert_eq!(script, predefined, "{class}, object {object} of {dump}");
        }
    }
}

#[test]
fn maps_as_the_example_sees_them() {
    let Some(folder) = anthill_testkit::corpus() else {
        return skipped("maps", "there is no corpus beside the repository");
    };
    // waste.truth.txt: 100,000 maps never touched, 10,000 with an empty table, 10,000 with one
    // entry, one with 2,000 colliding keys, one with 100,000 entries; the JVM has some of its own.
    let session = open(&folder.join("waste.hprof.gz"), Convention::DEFAULT).unwrap();
    let group = session
        .objects_of(|name| name == "java.util.HashMap", false)
        .unwrap();
    let fill = session
        .classify(&group, &examples().steps("fill").unwrap())
        .unwrap();
    for (key, said) in [
        ("never used", 100_000),
        ("emptied", 10_000),
        ("one entry", 10_000),
    ] {
        let found = at(&fill, &[key]).objects;
        assert!((said..said + 1000).contains(&found), "{key}: {found}");
    }
}

#[test]
fn instance_health_as_a_script_says_what_the_program_says() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("instance health as a script", "no JDK was found");
    };
    for (flag, reference) in [("-XX:+UseCompressedOops", 4), ("-XX:-UseCompressedOops", 8)] {
        let sample = Sample::start(jdk, "Health", &["1000"], &["-Xmx64m", flag]);
        let session = session_of(&sample);
        let histogram = sample.histogram();
        let bytes = |class: &str| {
            let group = session.objects_of(|name| name == class, false).unwrap();
            let steps = examples().steps("bytes-by-part").unwrap();
            let tree = session.classify(&group, &steps).unwrap();
            let parts = tree.node(OVERALL).children.iter().map(|&part| {
                let amounts = tree
                    .node(part)
                    .children
                    .iter()
                    .map(|&amount| tree.node(amount));
                let bytes = amounts.map(|node| node.objects * node.key.parse::<u64>().unwrap());
                (tree.node(part).key.clone(), bytes.sum::<u64>())
            });
            parts.collect::<BTreeMap<String, u64>>()
        };
        let pair = "anthill.samples.Health$Pair";
        let parts = bytes(pair);
        assert_eq!(
            parts["primitive"],
            sample.count("bytes of primitives in pairs")
        );
        assert_eq!(
            parts["pointer"],
            sample.count("references in pairs") * reference
        );
        assert_eq!(
            parts["null"],
            sample.count("null references in pairs") * reference
        );
        let total = histogram.iter().find(|(name, _)| *name == pair).unwrap().1;
        assert_eq!(parts.values().sum::<u64>(), total.bytes);
        let array = bytes("anthill.samples.Health$Pair[]");
        assert_eq!(array["pointer"], sample.count("pairs") * reference);
        assert_eq!(
            array["null"],
            sample.count("null references in Pair[]") * reference
        );
        assert!(!array.contains_key("primitive"));
    }
}
