//! Totals of classes, packages and loaders, and the classifiers that explain by roots and loaders.

use std::collections::{BTreeMap, BTreeSet};

use anthill_classify::{OVERALL, Step, Tree};
use anthill_heap::BitSet;
use anthill_session::{Grouping, Row, Session};
use anthill_testkit::heap::{Class, Item, RootKind, Value};

use crate::cases::{Needs, on_heaps};
use crate::threads::origin;
use anthill_testkit::brute_force::{BruteForce, Set, count, nodes, one, thread_of};

/// What a row is to say about some nodes.
fn row(brute_force: &BruteForce, members: Set) -> Row {
    let dead = members & !brute_force.live;
    let retained = brute_force.dies_with(members);
    Row {
        objects: count(members),
        shallow: brute_force.bytes(members),
        unreachable_objects: count(dead),
        unreachable_shallow: brute_force.bytes(dead),
        retained_objects: count(retained),
        retained: brute_force.bytes(retained),
    }
}

fn of_nodes(brute_force: &BruteForce, wanted: impl Fn(usize) -> bool) -> Set {
    let members = (0..brute_force.node_count()).filter(|&node| wanted(node));
    members.fold(0, |set, node| set | one(node))
}

/// The number of a class of the session in the description, if it is there.
pub(crate) fn class_number(
    session: &Session,
    brute_force: &BruteForce,
    class: usize,
) -> Option<usize> {
    let mirror = session.state().classes()[class].mirror?;
    match brute_force.item(mirror as usize) {
        Some(Item::Class(number)) => Some(number),
        other => panic!("{other:?} is no class object"),
    }
}

/// To a loader belong the instances of its classes, their class objects and the loader itself.
fn loader_of(brute_force: &BruteForce, node: usize) -> Option<usize> {
    let class_loader = |class: usize| {
        brute_force.heap.classes[class]
            .loader
            .map(|of| brute_force.node(of))
    };
    match brute_force.item(node) {
        Some(Item::Class(class)) => class_loader(class),
        Some(Item::Object(object)) => {
            let mut classes = brute_force.heap.classes.iter();
            match classes.any(|class| class.loader == Some(object)) {
                true => Some(node),
                false => class_loader(brute_force.heap.objects[object].class),
            }
        }
        // MAT's stand-in is an object of a class of the boot loader.
        None => None,
    }
}

fn package(name: &str) -> &str {
    let element = name.trim_end_matches("[]");
    match element.rsplit_once('.') {
        Some((package, _)) => package,
        None if element.len() < name.len() => "(arrays of primitives)",
        None => "(unnamed package)",
    }
}

#[test]
fn totals_of_classes_packages_and_loaders() {
    on_heaps(8, 7000, Needs::References, |session, brute_force, _| {
        let analysis = session.analysis().unwrap();
        let total = analysis.total();
        assert_eq!(total.objects, count(of_nodes(brute_force, |_| true)));
        assert_eq!(total.retained, brute_force.bytes(brute_force.live));
        for (class, &found) in analysis.rows(Grouping::Class).iter().enumerate() {
            let number = class_number(session, brute_force, class);
            let members = of_nodes(brute_force, |node| {
                number.is_some() && brute_force.class_of(node) == number
            });
            assert_eq!(found, row(brute_force, members), "class {number:?}");
        }
        let packages = &analysis.groups().packages;
        for (name, &found) in packages.iter().zip(analysis.rows(Grouping::Package)) {
            let members = of_nodes(brute_force, |node| {
                package(brute_force.class_name(node)) == name
            });
            assert_eq!(found, row(brute_force, members), "package {name}");
        }
        let loaders = analysis.groups().loaders();
        for (&loader, &found) in loaders.iter().zip(analysis.rows(Grouping::Loader)) {
            let loader = loader.map(|loader| loader as usize);
            let members = of_nodes(brute_force, |node| loader_of(brute_force, node) == loader);
            assert_eq!(found, row(brute_force, members), "loader {loader:?}");
        }
    });
}

/// By object: the keys it is under, joined; all objects of the heap are classified.
fn keys(session: &Session, brute_force: &BruteForce, by: &str) -> (Tree, Vec<Vec<String>>) {
    let mut all = BitSet::new(brute_force.objects());
    (0..brute_force.objects()).for_each(|object| all.insert(object as u32));
    let steps = Step::parse_list(by).unwrap();
    let tree = session.classify(&all, &steps).unwrap();
    let mut keys = vec![Vec::new(); brute_force.objects()];
    add_keys(session, &tree, OVERALL, &mut Vec::new(), &mut keys);
    (tree, keys)
}

fn add_keys(
    session: &Session,
    tree: &Tree,
    node: u32,
    path: &mut Vec<String>,
    keys: &mut [Vec<String>],
) {
    let children = tree.node(node).children.clone();
    // Some may go no further than here.
    let mut own = tree.objects(session.state(), node);
    for &child in &children {
        own.subtract(&tree.objects(session.state(), child));
    }
    for object in own.iter() {
        keys[object as usize].push(path.join(" > "));
    }
    for child in children {
        path.push(tree.node(child).key.clone());
        add_keys(session, tree, child, path, keys);
        path.pop();
    }
}

/// The nodes of a tree have the sizes of their objects.
fn sizes(session: &Session, brute_force: &BruteForce, tree: &Tree) {
    for (number, node) in tree.nodes().iter().enumerate() {
        let objects = tree.objects(session.state(), number as u32);
        let members = objects
            .iter()
            .fold(0, |set, object| set | one(object as usize));
        let totals = |set: Set| (count(set), brute_force.bytes(set));
        assert_eq!(
            (node.objects, node.shallow),
            totals(members),
            "{}",
            node.key
        );
        let (deep, retained) = (node.deep.unwrap(), node.retained.unwrap());
        assert_eq!(
            (deep.objects, deep.bytes),
            totals(brute_force.deep(members)),
            "{}",
            node.key
        );
        let expected = totals(brute_force.retained(members));
        assert_eq!((retained.objects, retained.bytes), expected, "{}", node.key);
    }
}

/// The keys of all roots and static fields that refer to a node.
fn roots_of(brute_force: &BruteForce, node: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (number, class) in brute_force.heap.classes.iter().enumerate() {
        let loaded = brute_force.live & one(brute_force.number(Item::Class(number))) != 0;
        for (name, value) in class.statics.iter().filter(|_| loaded) {
            if *value == Value::Reference(brute_force.item(node)) {
                let class = class_key(brute_force, number);
                found.insert(format!("static field > {class} > {name}"));
            }
        }
    }
    for root in &brute_force.heap.roots {
        if Some(root.item) == brute_force.item(node) {
            found.insert(root_keys(brute_force, root.kind));
        }
    }
    if brute_force.assumed_roots() & one(node) != 0 {
        found.insert("assumed".to_owned());
    }
    found
}

/// The name of a class, with its loader where several have the name.
fn class_key(brute_force: &BruteForce, class: usize) -> String {
    let Class { name, loader, .. } = &brute_force.heap.classes[class];
    let classes = brute_force.heap.classes.iter();
    if classes.filter(|of| of.name == *name).count() == 1 {
        return name.clone();
    }
    let loader = loader.map_or("boot".to_owned(), |loader| {
        let node = brute_force.node(loader);
        let address = brute_force.at.of(Item::Object(loader));
        format!("{} @ {address:#x}", brute_force.class_name(node))
    });
    format!("{name} (loader {loader})")
}

fn root_keys(brute_force: &BruteForce, kind: RootKind) -> String {
    let mut keys = vec![origin(kind).to_owned()];
    let frame = match kind {
        RootKind::JniLocal { frame, .. } | RootKind::Local { frame, .. } => frame,
        _ => None,
    };
    if let Some(thread) = thread_of(kind) {
        let name = brute_force.field_node(brute_force.thread(thread), "name");
        let name = name.and_then(|name| brute_force.text(name));
        keys.push(name.unwrap_or_else(|| format!("thread {}", thread + 1)));
        let frames = &brute_force.heap.threads[thread].frames;
        if let Some(frame) = frame.and_then(|frame| frames.get(frame as usize)) {
            let class = &brute_force.heap.classes[frame.class].name;
            keys.push(format!("{class}.{}", frame.method));
        }
    }
    keys.join(" > ")
}

#[test]
fn the_closest_root_is_the_last_one_on_a_shortest_path() {
    on_heaps(9, 5000, Needs::References, |session, brute_force, _| {
        let (tree, found) = keys(session, brute_force, "closest-root");
        sizes(session, brute_force, &tree);
        let distances = brute_force.distances(0);
        // Near ones first: the others follow from them.
        let mut order: Vec<usize> = nodes(brute_force.live).collect();
        order.sort_by_key(|&node| distances[node]);
        let mut possible: Vec<BTreeSet<String>> = vec![BTreeSet::new(); brute_force.node_count()];
        for node in order {
            possible[node] = match Some(node) == brute_force.system_loader {
                true => BTreeSet::from(["boot loader".to_owned()]),
                false => roots_of(brute_force, node),
            };
            if possible[node].is_empty() {
                let above = nodes(brute_force.holders(node) & brute_force.live);
                let above = above.filter(|&above| distances[above] < distances[node]);
                possible[node] = above.fold(BTreeSet::new(), |mut set, above| {
                    set.extend(possible[above].iter().cloned());
                    set
                });
            }
        }
        for (node, found) in found.iter().enumerate() {
            assert_eq!(found.len(), 1, "node {node} is under {found:?}");
            let is_possible = match brute_force.live & one(node) {
                0 => found[0] == "not reachable",
                _ => possible[node].contains(&found[0]),
            };
            assert!(
                is_possible,
                "node {node}: {} is none of {:?}",
                found[0], possible[node]
            );
            let path = found[0].as_str();
            let named = tree
                .find(path)
                .map(|at| tree.objects(session.state(), at).contains(node as u32));
            assert_eq!(
                named.ok(),
                Some(true),
                "node {node} cannot be named by `{path}`"
            );
        }
    });
}

#[test]
fn the_dominating_root_is_the_outermost_object_that_keeps_alive_alone() {
    on_heaps(10, 6000, Needs::References, |session, brute_force, _| {
        let (tree, found) = keys(session, brute_force, "dominating-root");
        sizes(session, brute_force, &tree);
        let mut key_of: BTreeMap<Option<usize>, &String> = BTreeMap::new();
        for (node, found) in found.iter().enumerate() {
            let top = (brute_force.live & one(node) != 0).then(|| {
                let above = nodes(brute_force.dominators(node) | one(node));
                let objects = above.filter(|&above| above < brute_force.objects());
                let outermost =
                    objects.max_by_key(|&above| brute_force.dominated(above).count_ones());
                outermost.unwrap_or(node)
            });
            let [key] = &found[..] else {
                panic!("node {node} is under {found:?}")
            };
            let known = *key_of.entry(top).or_insert(key);
            assert_eq!(known, key, "node {node}, kept alive by {top:?}");
        }
        let keys: BTreeSet<&String> = key_of.values().copied().collect();
        assert_eq!(
            keys.len(),
            key_of.len(),
            "one key of several objects: {key_of:?}"
        );
    });
}

#[test]
fn classes_belong_to_their_loaders() {
    on_heaps(11, 6000, Needs::References, |session, brute_force, _| {
        let (tree, found) = keys(session, brute_force, "loader");
        sizes(session, brute_force, &tree);
        for (node, found) in found.iter().enumerate() {
            let [key] = &found[..] else {
                panic!("node {node} is under {found:?}")
            };
            match loader_of(brute_force, node) {
                None => assert_eq!(key, "boot", "node {node}"),
                Some(loader) => {
                    let address = brute_force.at.of(brute_force.item(loader).unwrap());
                    assert!(
                        key.ends_with(&format!("@ {address:#x}")),
                        "node {node}: {key}"
                    );
                }
            }
        }
    });
}
