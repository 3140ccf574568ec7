//! Born, died, survived: what the diff of two states says is what a plain comparison of sets says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anthill_classify::Step;
use anthill_heap::{AddressMap, HeapBuilder, HeapState, Quiet, RecordedValues};
use anthill_history::{EvolvedNode, evolution, identities_missing};
use anthill_session::{IndexFolder, Options, Session};
use anthill_trace::{
    Dropped, Event, Facts, Identities, IdentityKind, Moment, Point, StateKind, StateToWrite,
    TraceWriter,
};
use fastrand::Rng;

/// Objects by identity: their classes, and whether something keeps them alive.
type Heap = BTreeMap<u64, (&'static str, bool)>;

const SECOND: u64 = 1_000_000_000;

const CLASSES: [(&str, u32); 3] = [("shop.Order", 24), ("shop.Customer", 16), ("shop.Item", 40)];

/// A heap whose objects have identities for addresses.
fn state(heap: &Heap) -> HeapState {
    let mut builder = HeapBuilder::new();
    for (id, (class, _)) in heap {
        let size = CLASSES.iter().find(|known| known.0 == *class).unwrap().1;
        builder.object(&id.to_string(), class, size);
    }
    builder.object("root", "Main", 64);
    let alive: Vec<String> = heap
        .iter()
        .filter(|(_, object)| object.1)
        .map(|(id, _)| format!("root -> {id}"))
        .collect();
    builder.edges(&alive.join(","));
    builder.root("root");
    let mut state = builder.build();
    let ids: Vec<u64> = heap.keys().copied().chain([1 << 40]).collect();
    state.addresses = AddressMap::new(&ids).unwrap().0;
    state
}

fn record(path: &Path, heaps: [&Heap; 2], identities: impl Fn(&Heap, &HeapState) -> Identities) {
    record_with_loss(path, heaps, identities, [None; 2]);
}

/// States of second 1 and 2; what the recorder says about identities it has lost in each.
fn record_with_loss(
    path: &Path,
    heaps: [&Heap; 2],
    mut identities: impl FnMut(&Heap, &HeapState) -> Identities,
    lost: [Option<&str>; 2],
) {
    let mut writer = TraceWriter::create(path, &Facts::default()).unwrap();
    for (number, reason) in (1..).zip(lost) {
        if let Some(reason) = reason {
            let dropped = Dropped {
                time: number * SECOND + 1000,
                what: "identities".to_owned(),
                amount: 1,
                reason: reason.to_owned(),
            };
            writer.add(Event::Dropped(dropped)).unwrap();
        }
    }
    for (number, heap) in (1..).zip(heaps) {
        let state = state(heap);
        let moment = Moment {
            gc: Some(number),
            time: number * SECOND,
            timestamp: number,
            kind: StateKind::Walk,
            mark: None,
            pause: 0,
            source_bytes: None,
        };
        let mut to_write = StateToWrite::from_state(&state, moment, RecordedValues::default());
        to_write.identities = identities(heap, &state);
        writer.state(&to_write).unwrap();
    }
    writer.finish().unwrap();
}

fn open(path: &Path, at: &str) -> Session {
    let options = Options {
        at: Some(Point::parse(at)),
        index: IndexFolder::None,
        ..Options::default()
    };
    Session::open(path, options, Box::new(Quiet)).unwrap()
}

/// Identities of the objects of a class that are alive.
fn alive(heap: &Heap, class: &str) -> BTreeSet<u64> {
    let alive = heap.iter().filter(|(_, object)| **object == (class, true));
    alive.map(|(&id, _)| id).collect()
}

fn random_heaps(seed: u64) -> [Heap; 2] {
    let mut random = Rng::with_seed(seed);
    let mut heaps = [Heap::new(), Heap::new()];
    for id in 1..=200 {
        let class = CLASSES[random.usize(..3)].0;
        for heap in &mut heaps {
            if random.usize(..4) > 0 {
                heap.insert(id, (class, random.usize(..5) > 0));
            }
        }
    }
    heaps
}

#[test]
fn with_all_identities_every_class_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..20 {
        let heaps = random_heaps(seed);
        let path = folder.path().join("a.trace");
        record(&path, heaps.each_ref(), |_, _| Identities::All);
        let (before, after) = (open(&path, "#1"), open(&path, "#2"));
        let steps = Step::parse_list("package,type").unwrap();
        let found = evolution([&before, &after], &steps, |_| true, false).unwrap();
        assert_eq!(found.identity, IdentityKind::All);
        let shop = child(&found.root, "shop");
        for (class, size) in CLASSES {
            let [a, b] = heaps.each_ref().map(|heap| alive(heap, class));
            let node = child(shop, class);
            let numbers = [node.born, node.died, node.survived, node.before, node.after]
                .map(|totals| (totals.objects, totals.bytes));
            let expected = [
                b.difference(&a).count(),
                a.difference(&b).count(),
                a.intersection(&b).count(),
                a.len(),
                b.len(),
            ]
            .map(|objects| (objects as u64, objects as u64 * u64::from(size)));
            assert_eq!(numbers, expected, "{class}, seed {seed}");
        }
    }
}

#[test]
fn with_tracked_objects_only_those_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let heaps = random_heaps(77);
    // The orders are heads; their identities are other than their addresses, and those that came later have later ones.
    let identity = |id: u64| match heaps[0].contains_key(&id) {
        true => id + 5000,
        false => id + 6000,
    };
    let heads = |heap: &Heap, state: &HeapState| {
        let orders = heap.iter().filter(|(_, object)| object.0 == "shop.Order");
        Identities::tracked(state, orders.map(|(&id, _)| (identity(id), id)))
    };
    record(&path, heaps.each_ref(), heads);
    let (before, after) = (open(&path, "#1"), open(&path, "#2"));
    let steps = Step::parse_list("type").unwrap();
    let found = evolution([&before, &after], &steps, |name| name != "Main", false).unwrap();
    assert_eq!(found.identity, IdentityKind::Tracked);
    assert_eq!(found.missing, [None, None]);
    let [a, b] = heaps.each_ref().map(|heap| alive(heap, "shop.Order"));
    assert_eq!(found.told_apart, [a.len() as u64, b.len() as u64]);
    let orders = child(&found.root, "shop.Order");
    let survived = b.iter().filter(|id| heaps[0].contains_key(id)).count();
    assert_eq!(orders.survived.objects, survived as u64);
    assert_eq!(orders.born.objects, (b.len() - survived) as u64);
    assert_eq!(orders.died.objects, a.difference(&b).count() as u64);
    let items = child(&found.root, "shop.Item");
    assert_eq!((items.born.objects, items.survived.objects), (0, 0));
    assert_eq!(
        items.after.objects,
        alive(&heaps[1], "shop.Item").len() as u64
    );
}

/// Objects 1 to 120, of which some die, and later ones; 120 is always there.
fn heaps_in_order(random: &mut Rng) -> [Heap; 2] {
    let mut heaps = [Heap::new(), Heap::new()];
    for id in 1..=200 {
        let object = (CLASSES[random.usize(..3)].0, true);
        let in_first = id <= 120 && random.usize(..4) > 0;
        if in_first {
            heaps[0].insert(id, object);
        }
        if (in_first || id > 120) && random.usize(..4) > 0 {
            heaps[1].insert(id, object);
        }
    }
    for heap in &mut heaps {
        heap.insert(120, ("shop.Order", true));
    }
    heaps
}

#[test]
fn what_a_state_lost_sight_of_is_neither_born_nor_taken_for_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    for seed in 0..20 {
        let mut random = Rng::with_seed(seed);
        let heaps = heaps_in_order(&mut random);
        // A quarter of the objects moved during each dump.
        let mut kept: Vec<BTreeSet<u64>> = Vec::new();
        let some = |heap: &Heap, state: &HeapState| {
            let ids = heap.keys().copied();
            let ids = ids.filter(|&id| id == 120 || random.usize(..4) > 0);
            let ids: BTreeSet<u64> = ids.collect();
            kept.push(ids.clone());
            Identities::tracked(state, ids.into_iter().map(|id| (id, id)))
        };
        let reason = "some objects moved";
        record_with_loss(&path, heaps.each_ref(), some, [Some(reason); 2]);
        let (before, after) = (open(&path, "#1"), open(&path, "#2"));
        let steps = Step::parse_list("type").unwrap();
        let found = evolution([&before, &after], &steps, |name| name != "Main", false).unwrap();
        assert_eq!(found.missing, [(); 2].map(|()| Some(reason.to_owned())));
        let truth = |of: &BTreeSet<u64>, born: bool| {
            let of = of.iter().filter(|&&id| (id > 120) == born);
            of.count() as u64
        };
        assert_eq!(
            found.root.born.objects,
            truth(&kept[1], true),
            "seed {seed}"
        );
        assert_eq!(found.root.survived.objects, truth(&kept[1], false));
        let died = kept[0].iter().filter(|id| !heaps[1].contains_key(id));
        assert!(found.root.died.objects >= died.count() as u64);
    }
}

#[test]
fn identities_are_missing_in_the_state_that_was_taken_when_they_were_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let heaps = random_heaps(5);
    let reason = "2 objects moved";
    let heads = |heap: &Heap, state: &HeapState| {
        Identities::tracked(state, heap.keys().map(|&id| (id, id)))
    };
    record_with_loss(&path, heaps.each_ref(), heads, [None, Some(reason)]);
    assert_eq!(identities_missing(&open(&path, "#1")), None);
    let missing = identities_missing(&open(&path, "#2"));
    assert_eq!(missing.as_deref(), Some(reason));
    // A walk leaves nobody out, whatever else it says.
    record_with_loss(
        &path,
        heaps.each_ref(),
        |_, _| Identities::All,
        [Some(reason); 2],
    );
    assert_eq!(identities_missing(&open(&path, "#1")), None);
}

#[test]
fn without_identities_only_numbers_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let heaps = random_heaps(3);
    record(&path, heaps.each_ref(), |_, _| Identities::None);
    let (before, after) = (open(&path, "#1"), open(&path, "#2"));
    let steps = Step::parse_list("type").unwrap();
    let found = evolution([&before, &after], &steps, |_| true, true).unwrap();
    assert_eq!(found.identity, IdentityKind::None);
    // All objects, the one at the root included, also those that nothing keeps alive.
    assert_eq!(
        found.objects,
        heaps.each_ref().map(|heap| heap.len() as u64 + 1)
    );
    assert_eq!(found.root.born.objects + found.root.died.objects, 0);
}

fn child<'a>(node: &'a EvolvedNode, key: &str) -> &'a EvolvedNode {
    let found = node.children.iter().find(|child| child.key == key);
    found.unwrap_or_else(|| panic!("no {key} below {}", node.key))
}
