//! Every algorithm against a brute-force reference implementation on thousands of small random
//! heaps, with cycles, self-loops, unreachable parts, many roots, classes and weak references.

use std::collections::BTreeSet;

use anthill_heap::{BitSet, CLASS_LOADER, HeapBuilder, HeapState, Quiet, Strength};
use fastrand::Rng;

use crate::*;

/// A heap of up to two dozen objects in up to five classes, some with class objects.
fn random_heap(seed: u64) -> HeapState {
    let mut random = Rng::with_seed(seed);
    let mut heap = HeapBuilder::new();
    // MAT's view has a stand-in for the boot loader, an object of this class.
    heap.class(CLASS_LOADER, 16);
    let count = 1 + random.usize(..24);
    let classes = 1 + random.usize(..5);
    let names: Vec<String> = (0..count).map(|i| format!("o{i}")).collect();
    for name in &names {
        let class = random.usize(..classes);
        if random.usize(..8) == 0 && name != "o0" {
            let strength = [Strength::Soft, Strength::Weak, Strength::Phantom][random.usize(..3)];
            let number: usize = name[1..].parse().unwrap();
            let referent = format!("o{}", random.usize(..number));
            heap.reference(name, strength, &referent);
        } else {
            heap.object(name, &format!("C{class}"), 8 * (1 + class as u32));
        }
    }
    for class in 0..classes {
        if random.usize(..2) == 0 {
            heap.class_object(&format!("class{class}"), &format!("C{class}"));
            if random.usize(..2) == 0 {
                heap.loaded_by(&format!("C{class}"), &names[random.usize(..count)]);
            }
            heap.edges(&format!("class{class} -> {}", names[random.usize(..count)]));
            if random.usize(..3) == 0 {
                heap.root(&format!("class{class}"));
            }
        }
    }
    for _ in 0..random.usize(..3 * count) {
        heap.edges(&format!(
            "{} -> {}",
            names[random.usize(..count)],
            names[random.usize(..count)]
        ));
    }
    for _ in 0..random.usize(..4) {
        heap.root(&names[random.usize(..count)]);
    }
    heap.build()
}

/// What can be reached from the roots without passing `without`.
pub(crate) fn reach(graph: &Graph, without: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    let mut work: Vec<NodeId> = graph.roots().to_vec();
    while let Some(node) = work.pop() {
        if !without.contains(&node) && seen.insert(node) {
            work.extend(graph.successors(node));
        }
    }
    seen
}

pub(crate) fn on_random_heaps(mut check: impl FnMut(&Graph, u64)) {
    for seed in 0..4000 {
        let state = random_heap(seed);
        let convention = Convention {
            weak: seed % 2 == 0,
            mat: seed % 3 == 0,
            ..Convention::DEFAULT
        };
        let graph = Graph::new(&state, state.tables.sizes.as_ref().unwrap(), convention);
        check(&graph, seed);
    }
}

/// What dies with `group`: reachable, but not without it.
fn dies_with(graph: &Graph, group: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    reach(graph, &BTreeSet::new())
        .difference(&reach(graph, group))
        .copied()
        .collect()
}

fn bytes(graph: &Graph, nodes: &BTreeSet<NodeId>) -> u64 {
    nodes.iter().map(|&node| graph.size(node)).sum()
}

#[test]
fn reachability_and_closures() {
    on_random_heaps(|graph, seed| {
        let all = reach(graph, &BTreeSet::new());
        assert_eq!(
            reachable(graph).iter().collect::<BTreeSet<_>>(),
            all,
            "seed {seed}"
        );
        let mut random = Rng::with_seed(seed + 1);
        let group: Vec<NodeId> = (0..1 + random.usize(..3))
            .map(|_| random.usize(..graph.len() as usize) as NodeId)
            .collect();
        let closure: BTreeSet<NodeId> = gc_closure(graph, &group).iter().collect();
        assert_eq!(
            closure,
            dies_with(graph, &group.iter().copied().collect()),
            "seed {seed}"
        );
    });
}

#[test]
fn what_cut_references_free() {
    on_random_heaps(|graph, seed| {
        let mut random = Rng::with_seed(seed + 1);
        let mut group = || {
            let mut group = BitSet::new(graph.len() as usize);
            for _ in 0..1 + random.usize(..4) {
                group.insert(random.usize(..graph.len() as usize) as NodeId);
            }
            group
        };
        let (from, to) = (group(), group());
        let mut kept = BTreeSet::new();
        let mut work: Vec<NodeId> = graph.roots().to_vec();
        while let Some(node) = work.pop() {
            if kept.insert(node) {
                let mut next: Vec<NodeId> = graph.successors(node).collect();
                next.retain(|&next| !from.contains(node) || !to.contains(next));
                work.extend(next);
            }
        }
        let freed = &reach(graph, &BTreeSet::new()) - &kept;
        let closure = cut_closure(graph, reachable(graph), &from, &to);
        assert_eq!(
            closure.iter().collect::<BTreeSet<_>>(),
            freed,
            "seed {seed}"
        );
    });
}

#[test]
fn dominators_and_retained_sizes() {
    on_random_heaps(|graph, seed| {
        let search = DepthFirst::new(graph, &Quiet).unwrap();
        let dominators = Dominators::new(graph, search, &Quiet).unwrap();
        let all = reach(graph, &BTreeSet::new());
        for node in 0..graph.len() {
            let dominated = dies_with(graph, &BTreeSet::from([node]));
            assert_eq!(
                dominators.is_reachable(node),
                all.contains(&node),
                "seed {seed} node {node}"
            );
            if all.contains(&node) {
                assert_eq!(
                    dominators.retained(node),
                    bytes(graph, &dominated),
                    "seed {seed} node {node}"
                );
                let strict = all.iter().copied().filter(|&above| {
                    above != node && dies_with(graph, &BTreeSet::from([above])).contains(&node)
                });
                // The immediate dominator is the one all others dominate: it retains the least.
                let nearest =
                    strict.min_by_key(|&above| dies_with(graph, &BTreeSet::from([above])).len());
                assert_eq!(
                    dominators.immediate[node as usize],
                    nearest.unwrap_or(ROOT),
                    "seed {seed} node {node}"
                );
            }
        }
    });
}

/// What every group of a random membership retains and reaches: objects have any of a few
/// labels or none, labels belong to any groups, groups overlap.
#[test]
fn retained_and_deep_sizes_of_groups() {
    on_random_heaps(|graph, seed| {
        let mut random = Rng::with_seed(seed + 7);
        let (labels, groups) = (1 + random.usize(..6), 1 + random.usize(..5));
        let of_node: Vec<Option<u32>> = (0..graph.len())
            .map(|_| Some(random.usize(..labels + 1) as u32).filter(|&l| l < labels as u32))
            .collect();
        let groups_of_label: Vec<Vec<u32>> = (0..labels)
            .map(|_| {
                (0..groups as u32)
                    .filter(|_| random.usize(..3) == 0)
                    .collect()
            })
            .collect();
        let label = |node: NodeId| of_node[node as usize];
        let membership = Membership {
            label,
            groups_of_label: &groups_of_label,
            groups,
        };
        let mut search = DepthFirst::new(graph, &Quiet).unwrap();
        let retained = retained_by_groups(graph, &mut search, &membership, &Quiet).unwrap();
        let deep = deep_by_groups(graph, &membership, &Quiet).unwrap();
        for group in 0..groups as u32 {
            let is_member = |node: &NodeId| {
                label(*node).is_some_and(|label| groups_of_label[label as usize].contains(&group))
            };
            let members: BTreeSet<NodeId> = (0..graph.len()).filter(is_member).collect();
            assert_eq!(
                retained[group as usize],
                totals(graph, &dies_with(graph, &members)),
                "seed {seed} group {group}"
            );
            let mut reached = BTreeSet::new();
            let members: Vec<NodeId> = members.into_iter().collect();
            let mut work = members.clone();
            while let Some(node) = work.pop() {
                if reached.insert(node) {
                    work.extend(graph.referenced(node));
                }
            }
            assert_eq!(
                transitive_closure(graph, &members)
                    .iter()
                    .collect::<BTreeSet<_>>(),
                reached
            );
            assert_eq!(
                deep[group as usize],
                totals(graph, &reached),
                "seed {seed} group {group}"
            );
        }
    });
}

fn totals(graph: &Graph, nodes: &BTreeSet<NodeId>) -> GroupTotals {
    GroupTotals {
        objects: nodes.len() as u64,
        bytes: bytes(graph, nodes),
    }
}

#[test]
fn paths_are_shortest() {
    on_random_heaps(|graph, seed| {
        let paths = Paths::search(graph, &[], &Quiet).unwrap();
        let mut level: BTreeSet<NodeId> = graph.roots().iter().copied().collect();
        let mut seen = BTreeSet::new();
        let mut length = 1;
        while !level.is_empty() {
            for &node in &level {
                let path = paths.to(node).unwrap();
                assert_eq!(path.len(), length, "seed {seed} node {node}");
                assert!(
                    graph.is_root(path[0])
                        && path
                            .windows(2)
                            .all(|pair| graph.successors(pair[0]).any(|to| to == pair[1]))
                );
            }
            seen.extend(level.iter().copied());
            level = level
                .iter()
                .flat_map(|&node| graph.successors(node))
                .filter(|to| !seen.contains(to))
                .collect();
            length += 1;
        }
        assert!((0..graph.len()).all(|node| paths.to(node).is_some() == seen.contains(&node)));
    });
}

/// Whether a path leads from the sources (the roots if there are none) to an end without passing
/// `cut`, and what is reached on the way.
fn reach_ends(
    graph: &Graph,
    sources: &[NodeId],
    ends: &BTreeSet<NodeId>,
    cut: &[NodeId],
) -> (bool, BTreeSet<NodeId>) {
    let mut work: Vec<NodeId> = match sources {
        [] => graph.roots().to_vec(),
        sources => sources
            .iter()
            .flat_map(|&node| graph.successors(node))
            .collect(),
    };
    let mut seen = BTreeSet::new();
    while let Some(node) = work.pop() {
        if ends.contains(&node) {
            return (true, seen);
        }
        if !cut.contains(&node) && seen.insert(node) {
            work.extend(graph.successors(node));
        }
    }
    (false, seen)
}

fn subsets(of: &[NodeId], size: usize) -> Vec<Vec<NodeId>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    (0..of.len())
        .flat_map(|last| {
            subsets(&of[..last], size - 1)
                .into_iter()
                .map(move |mut set| {
                    set.push(of[last]);
                    set
                })
        })
        .collect()
}

/// The fronts of up to `most` owners by trying all sets of objects.
fn fronts_by_trying(graph: &Graph, ends: &BTreeSet<NodeId>, most: usize) -> Vec<Vec<NodeId>> {
    let mut fronts: Vec<Vec<NodeId>> = Vec::new();
    let mut sources = Vec::new();
    for size in 1..=most {
        let (connected, _) = reach_ends(graph, &sources, ends, &[]);
        if !connected {
            break;
        }
        let mut candidates = reach(graph, &BTreeSet::new());
        candidates.retain(|node| !ends.contains(node) && !sources.contains(node));
        let candidates: Vec<NodeId> = candidates.into_iter().collect();
        let cuts = subsets(&candidates, size).into_iter().filter_map(|cut| {
            let (connected, before) = reach_ends(graph, &sources, ends, &cut);
            (!connected).then_some((before.len(), cut))
        });
        if let Some((_, nearest)) = cuts.max() {
            sources.clone_from(&nearest);
            fronts.push(nearest);
        }
    }
    fronts
}

#[test]
fn owner_fronts_are_the_smallest_and_nearest() {
    let mut large = 0;
    on_random_heaps(|graph, seed| {
        let search = DepthFirst::new(graph, &Quiet).unwrap();
        let dominators = Dominators::new(graph, search, &Quiet).unwrap();
        let mut random = Rng::with_seed(seed + 7);
        let mut group = anthill_heap::BitSet::new(graph.len() as usize);
        for _ in 0..1 + random.usize(..4) {
            group.insert(random.usize(..graph.len() as usize) as NodeId);
        }
        let options = FrontOptions {
            most: 3,
            share: 1.0,
        };
        let mut found = owner_fronts(graph, &dominators, &group, options, &Quiet).unwrap();
        found.iter_mut().for_each(|front| front.sort_unstable());
        let ends = group.iter().filter(|&node| !graph.is_root(node)).collect();
        assert_eq!(found, fronts_by_trying(graph, &ends, 3), "seed {seed}");
        large += usize::from(found.iter().any(|front| front.len() > 1));
    });
    assert!(large > 100, "too few heaps with several owners: {large}");
}

/// What references lead to from a node, itself included, if ways end at class objects and do not
/// go into `closed`.
fn references_from(graph: &Graph, node: NodeId, closed: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::from([node]);
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        if (node as usize) < graph.state.len() as usize && graph.state.mirrored(node).is_none() {
            let next = graph.referenced(node).filter(|to| !closed.contains(to));
            work.extend(next.filter(|&to| seen.insert(to)));
        }
    }
    seen
}

#[test]
fn owners_reach_what_a_search_from_each_finds() {
    let mut lost = 0;
    on_random_heaps(|graph, seed| {
        let mut random = Rng::with_seed(seed + 11);
        let mut node = || random.usize(..graph.len() as usize) as NodeId;
        let pairs: Vec<(NodeId, NodeId)> = (0..1 + seed % 40).map(|_| (node(), node())).collect();
        let expected: Vec<bool> = pairs
            .iter()
            .map(|&(owner, ownee)| references_from(graph, owner, &BTreeSet::new()).contains(&ownee))
            .collect();
        lost += expected.iter().filter(|reached| !**reached).count();
        // Short searches alone, hardly any of them, and parts of a few owners.
        for (short, members) in [(1000, 1000), (1, 1000), (1, 4), (1, 0)] {
            let found = owned::reached_within(graph, &pairs, short, members, &Quiet).unwrap();
            assert_eq!(
                found, expected,
                "seed {seed}, {short} visits, {members} members"
            );
        }
        let from: BTreeSet<NodeId> = pairs.iter().map(|pair| pair.0).collect();
        let closed: BTreeSet<NodeId> = pairs.iter().map(|pair| pair.1).collect();
        let mut closed_set = anthill_heap::BitSet::new(graph.len() as usize);
        closed.iter().for_each(|&node| closed_set.insert(node));
        let data = Data::new(graph).without(&closed_set);
        let reached = data.reached(from.iter().copied());
        let expected: BTreeSet<NodeId> = from
            .iter()
            .flat_map(|&node| references_from(graph, node, &closed))
            .collect();
        for node in 0..graph.len() {
            assert_eq!(
                reached.contains(node),
                expected.contains(&node),
                "seed {seed}"
            );
            let way = reached.way(node);
            assert_eq!(way.last(), expected.get(&node), "seed {seed}");
            assert!(way.first().is_none_or(|first| from.contains(first)));
            let steps = way.windows(2);
            steps.for_each(|step| assert!(data.next(step[0]).any(|to| to == step[1])));
        }
    });
    assert!(lost > 1000, "too few pairs without a way: {lost}");
}

#[test]
fn owners_have_what_a_search_from_each_counts() {
    on_random_heaps(|graph, seed| {
        let mut random = Rng::with_seed(seed + 17);
        let mut some = |most| {
            let nodes = (0..random.usize(..most)).collect::<Vec<_>>().into_iter();
            let nodes = nodes.map(|_| random.usize(..graph.len() as usize) as NodeId);
            nodes.collect::<BTreeSet<NodeId>>()
        };
        let (owners, targets) = (some(6), some(12));
        let mut target_set = anthill_heap::BitSet::new(graph.len() as usize);
        targets.iter().for_each(|&node| target_set.insert(node));
        let list: Vec<NodeId> = owners.iter().copied().collect();
        let expected: Vec<u64> = list
            .iter()
            .map(|&owner| {
                let reached = references_from(graph, owner, &owners);
                let counted = reached.intersection(&targets);
                counted.filter(|node| !owners.contains(node)).count() as u64
            })
            .collect();
        for (short, members) in [(1000, 1000), (3, 1000), (1, 2), (0, 0)] {
            let found =
                owned::owned_within(graph, &list, &target_set, short, members, &Quiet).unwrap();
            assert_eq!(
                found, expected,
                "seed {seed}, {short} visits, {members} members"
            );
        }
    });
}

#[test]
fn incoming_references_are_all_found() {
    on_random_heaps(|graph, seed| {
        let mut random = Rng::with_seed(seed + 13);
        let mut some = || {
            let mut set = anthill_heap::BitSet::new(graph.len() as usize);
            for _ in 0..random.usize(..8) {
                set.insert(random.usize(..graph.len() as usize) as NodeId);
            }
            set
        };
        let (to, from) = (some(), some());
        let mut expected = Vec::new();
        for target in to.iter() {
            for source in from.iter() {
                let references = graph.referenced(source).filter(|&one| one == target);
                let (to, from) = (target, source);
                expected.extend(references.map(|_| Incoming { to, from }));
            }
        }
        assert_eq!(references_to(graph, &to, &from), expected, "seed {seed}");
    });
}

#[test]
fn without_what_is_borrowed_everything_is_held_by_as_few_as_possible() {
    let (mut borrowed_any, mut lent_any) = (0, 0);
    for seed in 0..4_000 {
        let mut state = random_heap(seed);
        let mut random = Rng::with_seed(seed);
        for root in &mut state.tables.roots {
            root.origin = match random.u8(0..5) {
                0 | 1 => anthill_heap::RootOrigin::JavaFrame,
                2 => anthill_heap::RootOrigin::ClassValueMap,
                _ => continue,
            };
        }
        let sizes = state.tables.sizes.clone().unwrap();
        let graph = || Graph::new(&state, &sizes, Convention::DEFAULT);
        let none = BTreeSet::new();
        let all = reach(&graph(), &none);
        let borrowed = Borrowed::find(&graph(), &Quiet).unwrap();
        borrowed_any += usize::from(!borrowed.locals.is_empty());
        lent_any += usize::from(!borrowed.lent.is_empty());
        let owned = graph().without_borrowed(&borrowed);
        assert_eq!(reach(&owned, &none), all, "seed {seed}");
        let roots = &state.tables.roots;
        let is_local = |node: NodeId| roots.iter().filter(|root| root.object == node).all(passes);
        let locals = &borrowed.locals;
        assert!(locals.iter().all(|&node| is_local(node)), "seed {seed}");
        for &local in owned.roots().iter().filter(|&&root| is_local(root)) {
            let left = graph().without_roots(&[&locals[..], &[local]].concat());
            assert_ne!(
                reach(&left, &none),
                all,
                "seed {seed}: {local} owns nothing"
            );
        }
        // What is alive without soft references and fields of classes is held neither by these nor by what
        // only they hold.
        let mut held = state.tables.clone();
        held.roots.retain(|root| {
            let mut same = roots.iter().filter(|other| other.object == root.object);
            let of_class = same.any(|other| other.origin.is_class_field());
            let is_owner = !locals.contains(&root.object) && !of_class;
            !root.origin.is_class_field() && (!passes(root) || is_owner)
        });
        let held = HeapState {
            tables: held,
            ..random_heap(seed)
        };
        let strong = Convention {
            soft: false,
            ..Convention::DEFAULT
        };
        let held = reach(&Graph::new(&held, &sizes, strong), &none);
        for &node in &all {
            let is_lent = !held.contains(&node);
            assert_eq!(borrowed.lent.contains(node), is_lent, "seed {seed}");
            let is_soft = state.class(node).reference == Some(Strength::Soft);
            let mut edges = owned.edges(node).filter(|(to, _)| held.contains(to));
            let borrows = edges.any(|(_, kind)| is_lent || is_soft && kind == EdgeKind::Referent);
            assert!(!borrows, "seed {seed}");
        }
    }
    assert!(lent_any > 500, "{lent_any} heaps had something lent");
    assert!(borrowed_any > 500, "{borrowed_any} heaps had such locals");
}
