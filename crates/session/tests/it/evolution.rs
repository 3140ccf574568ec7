//! Born, died, survived: what the diff of two states says is what a plain comparison of sets says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anthill_classify::Step;
use anthill_heap::{AddressMap, HeapBuilder, HeapState, Quiet};
use anthill_hprof::RecordedValues;
use anthill_session::{EvolvedNode, IndexFolder, Options, Session, evolution};
use anthill_trace::{
    Facts, Identities, IdentityKind, Moment, Point, StateKind, StateToWrite, TraceWriter,
};
use fastrand::Rng;

/// Objects by identity: their classes, and whether something keeps them alive.
type Heap = BTreeMap<u64, (&'static str, bool)>;

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
    let mut writer = TraceWriter::create(path, &Facts::default()).unwrap();
    for (number, heap) in (1..).zip(heaps) {
        let state = state(heap);
        let moment = Moment {
            gc: Some(number),
            time: number * 1_000_000_000,
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
    // The orders are heads; their identities are other than their addresses.
    let heads = |heap: &Heap, state: &HeapState| {
        let orders = heap.iter().filter(|(_, object)| object.0 == "shop.Order");
        Identities::tracked(state, orders.map(|(&id, _)| (id + 5000, id)))
    };
    record(&path, heaps.each_ref(), heads);
    let (before, after) = (open(&path, "#1"), open(&path, "#2"));
    let steps = Step::parse_list("type").unwrap();
    let found = evolution([&before, &after], &steps, |name| name != "Main", false).unwrap();
    assert_eq!(found.identity, IdentityKind::Tracked);
    let [a, b] = heaps.each_ref().map(|heap| alive(heap, "shop.Order"));
    assert_eq!(found.told_apart, [a.len() as u64, b.len() as u64]);
    let orders = child(&found.root, "shop.Order");
    assert_eq!(orders.survived.objects, a.intersection(&b).count() as u64);
    assert_eq!(orders.died.objects, a.difference(&b).count() as u64);
    let items = child(&found.root, "shop.Item");
    assert_eq!((items.born.objects, items.survived.objects), (0, 0));
    assert_eq!(
        items.after.objects,
        alive(&heaps[1], "shop.Item").len() as u64
    );
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
