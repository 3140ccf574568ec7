//! `paths CLASS`: merged paths lead to all objects, every branch is a way that exists, and the numbers on branches add up.

use std::collections::BTreeMap;

use anthill_paths::{BranchClass, MergedPaths, collapsed_paths, merged_paths};
use anthill_session::Session;
use anthill_testkit::heap::{Contents, Item};

use crate::cases::{Needs, on_heaps};
use crate::roots::class_number;
use anthill_testkit::brute_force::{BruteForce, Kind, Set, count, nodes, one};

#[test]
fn merged_paths_lead_to_all_objects_of_a_class() {
    on_heaps(12, 4000, Needs::References, |session, brute_force, _| {
        for class in 0..brute_force.heap.classes.len() {
            let targets = (0..brute_force.node_count())
                .filter(|&node| brute_force.class_of(node) == Some(class));
            let targets: Set = targets.fold(0, |set, node| set | one(node));
            let numbers: Vec<u32> = nodes(targets).map(|node| node as u32).collect();
            let merged = merged_paths(session, &numbers).unwrap();
            figures(brute_force, class, targets, &merged);
            branches(session, brute_force, targets, &merged);
            let collapsed = collapsed_paths(session, &numbers).unwrap();
            assert_eq!(collapsed.targets, merged.targets);
            assert_eq!(collapsed.held, merged.held);
            assert_eq!(collapsed.other_holders, merged.other_holders);
            assert_eq!(collapsed.unreachable, merged.unreachable);
        }
    });
}

fn figures(brute_force: &BruteForce, class: usize, targets: Set, merged: &MergedPaths) {
    let name = &brute_force.heap.classes[class].name;
    let alive = targets & brute_force.live;
    assert_eq!(merged.targets, count(alive), "{name}");
    let unreachable = merged.unreachable.iter();
    let unreachable = unreachable.fold(0, |set, &node| set | one(node as usize));
    assert_eq!(unreachable, targets & !brute_force.live, "{name}");
    let undominated = nodes(alive).filter(|&node| brute_force.dominators(node) & targets == 0);
    let held: u64 = undominated
        .map(|node| brute_force.bytes(brute_force.dominated(node)))
        .sum();
    assert_eq!(merged.held, held, "{name}");
    let others = nodes(alive).filter(|&node| has_another_holder(brute_force, node));
    assert_eq!(
        merged.other_holders,
        others.count() as u64,
        "{name}: other holders"
    );
    let tops = merged.tops.iter().map(|&top| &merged.branches[top]);
    let sums = tops.fold((0, 0), |sums, top| {
        (sums.0 + top.targets, sums.1 + top.held)
    });
    assert_eq!(sums, (merged.targets, merged.held), "{name}");
}

/// Whether another object holds a node beside the last step of a path to it. The path to a root has no such step.
fn has_another_holder(brute_force: &BruteForce, node: usize) -> bool {
    let is_root = brute_force.roots & one(node) != 0;
    count(brute_force.live_holders(node)) > u64::from(!is_root)
}

/// Whether the numbers on branches add up and every branch is a way that exists.
fn branches(session: &Session, brute_force: &BruteForce, targets: Set, merged: &MergedPaths) {
    let there = led_to(session, brute_force, merged);
    for (&number, &there) in &there {
        let branch = &merged.branches[number];
        let below = branch.children.iter().map(|&child| &merged.branches[child]);
        let (objects, held) = below.fold((branch.here, 0), |sums, child| {
            (sums.0 + child.targets, sums.1 + child.held)
        });
        assert_eq!(branch.targets, objects, "{branch:?}");
        assert!(branch.held >= held, "{branch:?}");
        let example = there & one(branch.example as usize);
        assert!(example != 0, "no way leads to {branch:?}");
        let most = count(there);
        assert!(
            (1..=most).contains(&branch.merged),
            "{branch:?}, {there:#b}"
        );
        assert!(
            branch.here <= count(there & targets),
            "{branch:?}, {there:#b}"
        );
    }
}

/// By branch: all nodes that the steps down to it lead to, with what repeats on the way.
fn led_to(
    session: &Session,
    brute_force: &BruteForce,
    merged: &MergedPaths,
) -> BTreeMap<usize, Set> {
    let of_class = |branch: usize| instances(session, brute_force, merged.branches[branch].class);
    let mut above: BTreeMap<usize, usize> = BTreeMap::new();
    let mut there: BTreeMap<usize, Set> = BTreeMap::new();
    let mut work = merged.tops.clone();
    for &top in &merged.tops {
        there.insert(top, brute_force.roots & of_class(top));
    }
    while let Some(branch) = work.pop() {
        for &child in &merged.branches[branch].children {
            above.insert(child, branch);
            there.insert(child, 0);
            work.push(child);
        }
    }
    loop {
        let before = there.clone();
        for (&at, &from) in &before {
            let branch = &merged.branches[at];
            for via in &branch.through {
                *there.get_mut(&at).unwrap() |= through(brute_force, from, via) & of_class(at);
            }
            // The first of the steps that are repeated.
            let first = |&period: &usize| (1..period).fold(at, |at, _| above[&at]);
            let repeated = branch.periods.iter().map(first);
            for to in repeated.chain(branch.children.iter().copied()) {
                let reached = through(brute_force, from, &merged.branches[to].via) & of_class(to);
                *there.get_mut(&to).unwrap() |= reached;
            }
        }
        if there == before {
            return there;
        }
    }
}

/// What some nodes hold by a field of that name, or as elements.
fn through(brute_force: &BruteForce, from: Set, via: &str) -> Set {
    let fits = |from: usize, kind: Kind, name: &str| match brute_force.object(from) {
        Some(object) if matches!(object.contents, Contents::References(_)) => match kind {
            Kind::Reference => via == "[…]",
            _ => via == name,
        },
        _ => via == name,
    };
    let edges = brute_force
        .edges
        .iter()
        .filter(|edge| edge.keeps && from & one(edge.from) != 0);
    let edges = edges.filter(|edge| fits(edge.from, edge.kind, &edge.name));
    edges.fold(0, |set, edge| set | one(edge.to))
}

fn instances(session: &Session, brute_force: &BruteForce, class: BranchClass) -> Set {
    let of = |class: u32| class_number(session, brute_force, class as usize);
    match class {
        BranchClass::Instances(class) => {
            let class = of(class);
            let objects = (0..brute_force.objects()).filter(|&node| {
                let object = brute_force.object(node);
                object.is_some_and(|object| Some(object.class) == class)
            });
            objects.fold(0, |set, node| set | one(node))
        }
        BranchClass::ClassObject(class) => {
            of(class).map_or(0, |class| one(brute_force.number(Item::Class(class))))
        }
        BranchClass::SystemLoader => brute_force.system_loader.map_or(0, one),
    }
}
