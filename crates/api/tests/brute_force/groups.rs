//! Groups of objects: what they hold and keep alive, what cutting references frees, who owns them, who refers to an
//! object, and what leads to objects that are not kept alive.

use anthill_classify::Definitions;
use anthill_graph::{EdgeKind, FrontOptions};
use anthill_heap::{BitSet, Strength as Known};
use anthill_leaks::owner_fronts;
use anthill_paths::weak_references_to;
use anthill_session::Session;
use fastrand::Rng;

use crate::cases::{Needs, on_heaps};
use crate::paths::{is_held_by, is_valid};
use crate::report::without_borrowed_locals;
use anthill_testkit::brute_force::{BruteForce, Kind, Set, Strength, count, nodes, one};

/// A random group of objects.
fn group(random: &mut Rng, brute_force: &BruteForce) -> Set {
    let number = 1 + random.usize(..6);
    (0..number).fold(0, |set, _| set | one(random.usize(..brute_force.objects())))
}

fn bits(brute_force: &BruteForce, set: Set) -> BitSet {
    let mut bits = BitSet::new(brute_force.objects());
    nodes(set).for_each(|node| bits.insert(node as u32));
    bits
}

fn set(bits: &BitSet) -> Set {
    bits.iter().fold(0, |set, node| set | one(node as usize))
}

/// Without MAT's stand-in, which is no object.
fn objects(brute_force: &BruteForce, set: Set) -> Set {
    set & (one(brute_force.objects()) - 1)
}

#[test]
fn groups_hold_keep_and_free_what_a_search_finds() {
    on_heaps(4, 7000, Needs::References, |session, brute_force, case| {
        let mut random = Rng::with_seed(case.seed + 1);
        let (from, to) = (
            group(&mut random, brute_force),
            group(&mut random, brute_force),
        );
        let (from_bits, to_bits) = (bits(brute_force, from), bits(brute_force, to));
        let measured = session.measure(&from_bits).unwrap();
        let totals = |set: Set| (count(set), brute_force.bytes(set));
        assert_eq!((measured.objects, measured.shallow), totals(from));
        let (deep, retained) = (brute_force.deep(from), brute_force.retained(from));
        assert_eq!((measured.deep.objects, measured.deep.bytes), totals(deep));
        let found = (measured.retained.objects, measured.retained.bytes);
        assert_eq!(found, totals(retained));
        let closure = set(&session.retained(&from_bits).unwrap());
        assert_eq!(closure, objects(brute_force, retained));

        let is_cut =
            |from_node: usize, to_node: usize| from & one(from_node) != 0 && to & one(to_node) != 0;
        let edges = brute_force.edges.iter().filter(|edge| edge.keeps);
        let cut = edges.filter(|edge| is_cut(edge.from, edge.to)).count() as u64;
        assert_eq!(session.references_between(&from_bits, &to_bits), cut);
        let freed = set(&session.freed_by_cutting(&from_bits, &to_bits).unwrap());
        assert_eq!(
            freed,
            objects(brute_force, brute_force.freed_by_cutting(from, to))
        );
    });
}

#[test]
fn owners_keep_the_group_alive_together() {
    on_heaps(5, 7000, Needs::References, |session, brute_force, case| {
        let members = group(&mut Rng::with_seed(case.seed + 2), brute_force);
        let options = FrontOptions {
            most: 3,
            share: 1.0,
        };
        let fronts = owner_fronts(session, &bits(brute_force, members), options).unwrap();
        let owned = &without_borrowed_locals(session, brute_force);
        let distances = owned.distances(0);
        let graph = session.owners_graph().unwrap();
        for front in &fronts {
            let owners = front.owners.iter().map(|(owner, _)| *owner as usize);
            let owners: Set = owners.fold(0, |set, owner| set | one(owner));
            assert_eq!(count(owners), front.owners.len() as u64, "{owners:#b}");
            let dead = owned.dies_with(owners);
            let retained = (front.retained.objects, front.retained.bytes);
            assert_eq!(
                retained,
                (count(dead), brute_force.bytes(dead)),
                "{owners:#b}"
            );
            let alive = members & brute_force.live;
            let covered = (brute_force.bytes(members & dead), brute_force.bytes(alive));
            assert_eq!(front.covered, covered, "{owners:#b}");
            let left = alive & !owned.roots & !dead;
            let bytes = brute_force.bytes(left);
            assert_eq!(bytes, 0, "owners {owners:#b} do not keep {left:#b} alive");
            for (owner, readable) in &front.owners {
                let path: Vec<u32> = readable.steps.iter().map(|step| step.node).collect();
                assert_eq!(path.last(), Some(owner));
                is_held_by(brute_force, &readable.short, *owner as usize);
                assert_eq!(
                    distances[*owner as usize],
                    Some(path.len() + readable.skipped)
                );
                if readable.skipped == 0 {
                    is_valid(session, owned, &graph, &path);
                }
            }
        }
    });
}

#[test]
fn referrers_are_all_that_refer() {
    on_heaps(6, 7000, Needs::References, |session, brute_force, _| {
        let graph = session.graph();
        for object in 0..brute_force.objects() {
            let found = session.referrers(&graph, object as u32);
            let found = found.iter().filter(|found| found.kind != EdgeKind::Class);
            let found = found.map(|found| (found.from as usize, found.kind));
            let mut found: Vec<(usize, EdgeKind)> = found.collect();
            let edges = brute_force.edges.iter();
            let edges = edges.filter(|edge| edge.to == object && edge.kind != Kind::Class);
            let mut expected: Vec<(usize, EdgeKind)> = edges
                .map(|edge| (edge.from, known_kind(edge.kind)))
                .collect();
            found.sort_unstable();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(found, expected, "object {object}");
        }
        leads(session, brute_force);
    });
}

fn known_kind(kind: Kind) -> EdgeKind {
    match kind {
        Kind::Reference => EdgeKind::Reference,
        Kind::Class => EdgeKind::Class,
        Kind::Superclass => EdgeKind::Superclass,
        Kind::Loader => EdgeKind::Loader,
        Kind::Signers => EdgeKind::Signers,
        Kind::ProtectionDomain => EdgeKind::ProtectionDomain,
        Kind::Referent => EdgeKind::Referent,
        Kind::Local => EdgeKind::Local,
    }
}

/// What leads to unreachable objects: each kind of references alone, then all together for the rest.
fn leads(session: &Session, brute_force: &BruteForce) {
    let dead = objects(brute_force, !brute_force.live);
    let kinds = [
        (Strength::Weak, Known::Weak),
        (Strength::Phantom, Known::Phantom),
        (Strength::Finalizer, Known::Finalizer),
    ];
    let (mut expected, mut left) = (Vec::new(), dead);
    if !brute_force.mat {
        for (kind, known) in kinds {
            let reached = dead & reached_through(brute_force, &[kind]);
            if reached != 0 {
                expected.push((vec![known], count(reached)));
            }
            left &= !reached;
        }
        let together = left & reached_through(brute_force, &kinds.map(|kind| kind.0));
        if together != 0 {
            let known = kinds.map(|kind| kind.1).to_vec();
            expected.push((known, count(together)));
        }
    }
    let dead: Vec<u32> = nodes(dead).map(|node| node as u32).collect();
    assert_eq!(weak_references_to(session, &dead).unwrap(), expected);
}

/// All that is reached if references of these kinds keep alive as well.
fn reached_through(brute_force: &BruteForce, kinds: &[Strength]) -> Set {
    let mut seen = brute_force.live;
    loop {
        let next = nodes(seen).fold(seen, |set, node| {
            let referent = (node < brute_force.objects())
                .then(|| brute_force.referent(node))
                .flatten();
            let referent = referent.filter(|(_, strength)| kinds.contains(strength));
            set | brute_force.next(node) | referent.map_or(0, |(to, _)| one(to))
        });
        if next == seen {
            return seen;
        }
        seen = next;
    }
}

#[test]
fn groups_of_expressions_are_what_their_names_say() {
    on_heaps(7, 6000, Needs::References, |session, brute_force, case| {
        let of = |text: &str| set(&session.group(text, &Definitions::default()).unwrap());
        assert_eq!(of("all()"), objects(brute_force, brute_force.live));
        assert_eq!(of("unreachable()"), objects(brute_force, !brute_force.live));
        let node = Rng::with_seed(case.seed).usize(..brute_force.objects());
        let address = brute_force.at.of(brute_force.item(node).unwrap());
        assert_eq!(of(&format!("{address:#x}")), one(node));
        let retained = of(&format!("retained({address:#x})"));
        assert_eq!(
            retained,
            objects(brute_force, brute_force.retained(one(node)))
        );
        let reached = of(&format!("reached({address:#x})"));
        assert_eq!(reached, objects(brute_force, brute_force.deep(one(node))));
    });
}
