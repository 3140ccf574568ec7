//! `paths ADDRESS`: every holder is found, every step is a reference that keeps alive, no path is longer than it needs to be.

use anthill_paths::{ObjectPaths, path_steps, paths_to};
use anthill_session::Session;

use crate::cases::{Needs, on_heaps};
use anthill_testkit::brute_force::{BruteForce, Edge, Set, nodes, one};
use anthill_testkit::heap::Item;

#[test]
fn every_holder_has_a_shortest_path() {
    on_heaps(2, 6000, Needs::References, |session, brute_force, case| {
        for object in 0..brute_force.objects() {
            let found = paths_to(session, object as u32, usize::MAX).unwrap();
            assert_eq!(found.omitted, 0, "object {object}");
            let holders = brute_force.live_holders(object);
            let last: Vec<usize> = found
                .paths
                .iter()
                .filter_map(|path| Some(*path.len().checked_sub(2).map(|at| &path[at])? as usize))
                .collect();
            let found_holders: Set = last.iter().fold(0, |set, &holder| set | one(holder));
            assert_eq!(
                nodes(found_holders).collect::<Vec<_>>(),
                nodes(holders).collect::<Vec<_>>(),
                "holders of object {object}"
            );
            assert_eq!(last.len(), holders.count_ones() as usize, "object {object}");
            let alone = found.paths.iter().filter(|path| path.len() == 1).count();
            let is_root = brute_force.roots & one(object) != 0;
            assert_eq!(alone, usize::from(is_root), "object {object} as a root");
            are_shortest(session, brute_force, object, &found);
            limits(session, object, &found, case.seed as usize % 4);
        }
    });
}

/// Whether the paths exist, do not pass the object, and are as short as possible and in this order.
fn are_shortest(session: &Session, brute_force: &BruteForce, object: usize, found: &ObjectPaths) {
    let around = brute_force.distances(one(object));
    let graph = session.graph();
    assert!(found.paths.is_sorted_by_key(Vec::len), "object {object}");
    for path in &found.paths {
        let (last, before) = path.split_last().unwrap();
        assert_eq!(*last as usize, object);
        if let Some(&holder) = before.last() {
            let distance = around[holder as usize];
            assert_eq!(
                Some(before.len()),
                distance,
                "object {object}, path {path:?}"
            );
        }
        is_valid(session, brute_force, &graph, path);
    }
}

/// Whether a path starts at a root, and each step is named by a reference that there is.
pub(crate) fn is_valid(
    session: &Session,
    brute_force: &BruteForce,
    graph: &anthill_graph::Graph,
    path: &[u32],
) {
    assert!(
        brute_force.roots & one(path[0] as usize) != 0,
        "path {path:?}"
    );
    for pair in path.windows(2) {
        let held = brute_force.next(pair[0] as usize) & one(pair[1] as usize);
        assert!(held != 0, "path {path:?}, step {pair:?}");
    }
    let (steps, skipped) = path_steps(session, graph, path);
    assert_eq!(steps.len() + skipped, path.len());
    assert_eq!(steps[0].via, None);
    for pair in steps.windows(2).filter(|_| skipped == 0) {
        let (from, to) = (pair[0].node as usize, pair[1].node as usize);
        let via = pair[1].via.as_deref();
        let names = brute_force.names(from, to);
        assert!(
            via.is_some_and(|via| names.contains(&via)),
            "path {path:?}, from {from} to {to}: {via:?} is none of {names:?}"
        );
    }
}

fn limits(session: &Session, object: usize, all: &ObjectPaths, limit: usize) {
    let found = paths_to(session, object as u32, limit).unwrap();
    let lengths = |paths: &ObjectPaths| paths.paths.iter().map(Vec::len).collect::<Vec<_>>();
    let shown = limit.min(all.paths.len());
    assert_eq!(lengths(&found), lengths(all)[..shown], "object {object}");
    assert_eq!(found.omitted, all.paths.len() - shown, "object {object}");
}

/// Whether what a face shows as `held by` leads to the object: from a static field or the start of the path along the names.
pub(crate) fn is_held_by(brute_force: &BruteForce, short: &str, object: usize) {
    let mut parts = short.split(" → ");
    let start = parts.next().unwrap_or_default();
    let mut there: Set = match start.strip_prefix("static field ") {
        Some(field) => values_of(brute_force, field),
        None => brute_force.roots,
    };
    let parts: Vec<&str> = parts.collect();
    if parts.first().is_some_and(|part| part.starts_with('…')) {
        return;
    }
    let mut within = within_structures(brute_force, there);
    for name in parts {
        // A key stands for the way through an entry.
        if name.starts_with('[') && !brute_force.edges.iter().any(|edge| edge.name == name) {
            continue;
        }
        let edges = brute_force.edges.iter();
        let edges = edges.filter(|edge| edge.keeps && edge.name == name);
        let edges = edges.filter(|edge| within & one(edge.from) != 0);
        there = edges.fold(0, |set, edge| set | one(edge.to));
        within = within_structures(brute_force, there);
    }
    assert!(
        within & one(object) != 0,
        "`{short}` does not lead to {object}"
    );
}

/// All that some nodes lead to through parts of the JVM's own data structures, which are no steps of a path.
fn within_structures(brute_force: &BruteForce, from: Set) -> Set {
    let is_part = |node: usize| {
        let class = brute_force.class_of(node);
        let name = class.map(|class| brute_force.heap.classes[class].name.as_str());
        name.is_some_and(|name| name.starts_with("java.") || name.ends_with("[]"))
    };
    let mut within = from;
    loop {
        let edges = brute_force.edges.iter().filter(|edge| edge.keeps);
        let edges = edges.filter(|edge| within & one(edge.from) != 0 && is_part(edge.from));
        let further = edges.fold(within, |set, edge| set | one(edge.to));
        if further == within {
            return within;
        }
        within = further;
    }
}

/// What the static fields of that name in loaded classes refer to.
fn values_of(brute_force: &BruteForce, field: &str) -> Set {
    let edges = brute_force
        .edges
        .iter()
        .filter(|edge| brute_force.live & one(edge.from) != 0);
    let fits = |edge: &&Edge| match (
        brute_force.item(edge.from),
        edge.name.strip_prefix("static "),
    ) {
        (Some(Item::Class(class)), Some(name)) => {
            field == format!("{}.{name}", brute_force.heap.classes[class].name)
        }
        _ => false,
    };
    edges.filter(fits).fold(0, |set, edge| set | one(edge.to))
}
