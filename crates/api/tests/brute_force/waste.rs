//! `waste`: every kind, by looking at each object and asking who else holds it.

use std::collections::BTreeMap;

use anthill_leaks::{Finding, WasteKind, waste};
use anthill_session::Session;
use anthill_testkit::heap::Contents;

use crate::cases::{Case, Needs, on_heaps};
use anthill_testkit::brute_force::{BruteForce, Set, nodes, one};
use anthill_testkit::random::Collection;

/// Storage of fewer slots is never sparse.
const FEWEST_SLOTS: u64 = 16;

/// Objects that are wasted, what they take up and what could be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wasted {
    objects: u64,
    bytes: u64,
    savable: u64,
}

impl Wasted {
    fn add(&mut self, bytes: u64, savable: u64) {
        self.objects += 1;
        self.bytes += bytes;
        self.savable += savable;
    }
}

#[test]
fn every_kind_of_waste_is_counted() {
    on_heaps(13, 7000, Needs::Contents, |session, brute_force, case| {
        let findings = waste(session, usize::MAX).unwrap();
        let found = |kind: WasteKind| {
            let finding = findings.iter().find(|finding| finding.kind == kind);
            let finding = finding.expect("every kind is told");
            adds_up(finding);
            Wasted {
                objects: finding.objects,
                bytes: finding.bytes,
                savable: finding.savable,
            }
        };
        assert_eq!(
            found(WasteKind::DuplicateStrings),
            strings(brute_force),
            "strings"
        );
        assert_eq!(
            found(WasteKind::DuplicateArrays),
            arrays(brute_force),
            "arrays"
        );
        assert_eq!(
            found(WasteKind::ZeroArrays),
            zero_arrays(brute_force),
            "zero-filled arrays"
        );
        assert_eq!(
            found(WasteKind::DuplicateBoxes),
            boxes(brute_force),
            "boxes"
        );
        let mut numbers = Wasted::default();
        live_of(brute_force, "java.lang.Integer")
            .for_each(|node| numbers.add(brute_force.size(node), 0));
        assert_eq!(found(WasteKind::BoxedNumbers), numbers, "boxed numbers");
        collections(brute_force, case, found);
        let nothing = Wasted::default();
        assert_eq!(found(WasteKind::HashCollisions), nothing, "collisions");
        assert_eq!(found(WasteKind::NullFields), nothing, "null fields");
    });
}

/// The rows and the holders of a kind have all of it.
fn adds_up(finding: &Finding) {
    let rows: u64 = finding.rows.iter().map(|row| row.savable).sum();
    assert_eq!(rows, finding.savable, "rows of {:?}", finding.kind);
    let holders = finding.holders.iter();
    let held = holders.fold((0, 0), |sum, of| (sum.0 + of.objects, sum.1 + of.savable));
    assert_eq!(
        held,
        (finding.objects, finding.savable),
        "holders of {:?}",
        finding.kind
    );
    assert_eq!((finding.omitted, finding.omitted_holders), (0, 0));
}

fn live_of<'t>(brute_force: &'t BruteForce, class: &'t str) -> impl Iterator<Item = usize> + 't {
    nodes(brute_force.live).filter(move |&node| {
        brute_force.object(node).is_some() && brute_force.class_name(node) == class
    })
}

/// Objects of equal contents, each group in the order of addresses.
fn equal<K: Ord>(objects: impl Iterator<Item = (K, usize)>) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (key, object) in objects {
        groups.entry(key).or_default().push(object);
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
}

/// All but the first string of each text, with those of their arrays that nothing else holds.
fn strings(brute_force: &BruteForce) -> Wasted {
    let array_of = |string: usize| brute_force.field_node(string, "value").unwrap();
    let text = |string: usize| match &brute_force.object(array_of(string)).unwrap().contents {
        Contents::Bytes(bytes) => (
            bytes.clone(),
            format!("{:?}", brute_force.field(string, "coder")),
        ),
        _ => panic!("a string without text"),
    };
    let strings = live_of(brute_force, "java.lang.String").map(|string| (text(string), string));
    let mut wasted = Wasted::default();
    for group in equal(strings) {
        let rest: Set = group[1..].iter().fold(0, |set, &string| set | one(string));
        let mut saved: Set = 0;
        for &string in &group[1..] {
            let array = array_of(string);
            let holders = brute_force.holders(array) & brute_force.live;
            if holders & !rest == 0 && brute_force.roots & one(array) == 0 {
                saved |= one(array);
            }
        }
        let bytes = brute_force.bytes(rest | saved);
        wasted.objects += group.len() as u64 - 1;
        wasted.bytes += bytes;
        wasted.savable += bytes;
    }
    wasted
}

/// The arrays of numbers that belong to no string.
fn number_arrays<'t>(brute_force: &'t BruteForce) -> impl Iterator<Item = (&'t Contents, usize)> {
    let strings = live_of(brute_force, "java.lang.String");
    let of_strings = strings.filter_map(|string| brute_force.field_node(string, "value"));
    let of_strings: Set = of_strings.fold(0, |set, array| set | one(array));
    let others = nodes(brute_force.live & !of_strings);
    others.filter_map(|node| match &brute_force.object(node)?.contents {
        contents @ (Contents::Bytes(_) | Contents::Ints(_)) => Some((contents, node)),
        _ => None,
    })
}

/// Whether there are elements, and all of them are zero.
fn is_zero(contents: &Contents) -> bool {
    match contents {
        Contents::Bytes(bytes) => !bytes.is_empty() && bytes.iter().all(|&byte| byte == 0),
        Contents::Ints(ints) => !ints.is_empty() && ints.iter().all(|&int| int == 0),
        _ => false,
    }
}

/// All but the first of equal arrays of numbers that are not only zeros.
fn arrays(brute_force: &BruteForce) -> Wasted {
    let arrays = number_arrays(brute_force).filter(|(contents, _)| !is_zero(contents));
    let arrays = arrays.map(|(contents, node)| (format!("{contents:?}"), node));
    all_but_the_first(brute_force, equal(arrays))
}

fn zero_arrays(brute_force: &BruteForce) -> Wasted {
    let mut found = Wasted::default();
    number_arrays(brute_force)
        .filter(|(contents, _)| is_zero(contents))
        .for_each(|(_, node)| found.add(brute_force.size(node), 0));
    found
}

fn boxes(brute_force: &BruteForce) -> Wasted {
    let value = |node: usize| format!("{:?}", brute_force.field(node, "value"));
    let boxes = live_of(brute_force, "java.lang.Integer").map(|node| (value(node), node));
    all_but_the_first(brute_force, equal(boxes))
}

fn all_but_the_first(brute_force: &BruteForce, groups: Vec<Vec<usize>>) -> Wasted {
    let mut wasted = Wasted::default();
    for &object in groups.iter().flat_map(|group| &group[1..]) {
        wasted.add(brute_force.size(object), brute_force.size(object));
    }
    wasted
}

fn collections(brute_force: &BruteForce, case: &Case, found: impl Fn(WasteKind) -> Wasted) {
    let [mut empty, mut unused, mut sparse, mut outside] = [Wasted::default(); 4];
    let mut storage: Set = 0;
    for collection in &case.made.collections {
        let node = brute_force.node(collection.object);
        if brute_force.live & one(node) == 0 {
            continue;
        }
        let array = collection.array.map(|array| brute_force.node(array));
        storage |= array.map_or(0, one);
        match array.filter(|&array| slots(brute_force, array) > 0) {
            None if collection.elements == 0 => unused.add(brute_force.size(node), 0),
            None => {}
            Some(array) if collection.elements == 0 => {
                empty.add(
                    brute_force.size(array),
                    savable(brute_force, node, array, 0),
                );
            }
            Some(array) => {
                let used = collection.elements * collection.slots_each;
                if is_sparse(brute_force, array, used) {
                    let needed = array_size(needed(brute_force, node, collection));
                    sparse.add(
                        brute_force.size(array),
                        savable(brute_force, node, array, needed),
                    );
                }
            }
        }
    }
    for array in nodes(brute_force.live & !storage) {
        let Some(Contents::References(items)) = brute_force.object(array).map(|of| &of.contents)
        else {
            continue;
        };
        let used = items.iter().flatten().count() as u64;
        if is_sparse(brute_force, array, used) {
            outside.add(
                brute_force.size(array),
                brute_force.size(array) - array_size(used),
            );
        }
    }
    assert_eq!(
        found(WasteKind::EmptyCollections),
        empty,
        "empty collections"
    );
    assert_eq!(
        found(WasteKind::UnusedCollections),
        unused,
        "unused collections"
    );
    assert_eq!(
        found(WasteKind::SparseCollections),
        sparse,
        "sparse collections"
    );
    assert_eq!(found(WasteKind::SparseArrays), outside, "sparse arrays");
}

/// What is saved if a collection has a smaller array or none, unless something else holds the one it has.
fn savable(brute_force: &BruteForce, collection: usize, array: usize, needed: u64) -> u64 {
    match brute_force.freed_by_cutting(one(collection), one(array)) & one(array) {
        0 => 0,
        _ => brute_force.size(array) - needed,
    }
}

fn slots(brute_force: &BruteForce, array: usize) -> u64 {
    match &brute_force.object(array).unwrap().contents {
        Contents::References(items) => items.len() as u64,
        other => panic!("{other:?} is no array of references"),
    }
}

/// Less than a quarter of it used.
fn is_sparse(brute_force: &BruteForce, array: usize, used: u64) -> bool {
    let slots = slots(brute_force, array);
    slots >= FEWEST_SLOTS && used * 4 < slots
}

/// Bytes of an array of so many references.
fn array_size(slots: u64) -> u64 {
    (16 + 4 * slots).next_multiple_of(8)
}

/// The slots of the smallest array in which the JDK keeps so many elements.
fn needed(brute_force: &BruteForce, node: usize, collection: &Collection) -> u64 {
    let elements = collection.elements;
    let smallest = |fits: &dyn Fn(u64) -> bool| {
        let powers = (0..32).map(|power| 1 << power);
        powers.into_iter().find(|&slots| fits(slots)).unwrap()
    };
    let needed = match brute_force.class_name(node) {
        // putVal: `if (++size > threshold) resize()`, and the threshold is three quarters.
        "java.util.HashMap" => smallest(&|slots| elements * 4 <= slots * 3),
        // put: `s + (s << 1) > len` with two slots a key, never fewer than four keys.
        "java.util.IdentityHashMap" => smallest(&|slots| slots >= 8 && elements * 3 <= slots),
        // A free slot tells a full ring from an empty one.
        "java.util.ArrayDeque" => elements + 1,
        _ => elements,
    };
    needed.min(slots(
        brute_force,
        brute_force.node(collection.array.unwrap()),
    ))
}

/// What needs more objects than the small heaps have: classes with many null fields, and maps that collide.
#[test]
fn what_takes_many_objects_is_counted_too() {
    crate::cases::on_large_heaps(14, 300, |session: &Session, large| {
        let findings = waste(session, usize::MAX).unwrap();
        let found = |kind: WasteKind| {
            let finding = findings.iter().find(|finding| finding.kind == kind);
            let finding = finding.expect("every kind is told");
            adds_up(finding);
            (finding.objects, finding.savable)
        };
        assert_eq!(found(WasteKind::NullFields), large.null_fields());
        assert_eq!(found(WasteKind::HashCollisions), large.collisions());
    });
}
