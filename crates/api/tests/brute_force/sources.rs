//! The same heap from other sources and in other wrappings gives the same answers: as HPROF and as a trace, of the dump or of a
//! state that no reader made; with records in another order and in other segments, packed, at other addresses, and from an index.

use std::path::Path;

use anthill_graph::Convention;
use anthill_heap::{HeapState, Quiet};
use anthill_hprof::Dump;
use anthill_session::{IndexFolder, Options, Session};
use anthill_testkit::heap::Item;
use anthill_trace::StateToWrite;
use fastrand::Rng;

use crate::answers::{Answers, everything, figures};
use crate::built;
use crate::cases::{Case, Shown, convention, folder, moment, on_seeds, open, record};
use anthill_testkit::brute_force::BruteForce;

fn same(found: &Answers, expected: &Answers, what: &str) {
    for (question, answer) in expected {
        let found = found.get(question);
        assert_eq!(found, Some(answer), "{what}: {question}");
    }
    assert_eq!(found.len(), expected.len(), "{what} has more answers");
}

/// Calls with heaps in a folder of their own.
fn on_files(number: u64, usual: u64, check: impl Fn(&Case, &Path, Convention) + Sync) {
    on_seeds(number, usual, |seed| {
        let folder = folder();
        let case = Case::new(seed);
        let path = case.write(folder.path());
        let convention = convention(seed);
        let _shown = Shown(&case, convention);
        check(&case, &path, convention);
    });
}

#[test]
fn dumps_and_traces_give_the_same_answers() {
    on_files(18, 150, |case, path, convention| {
        let brute_force = case.brute_force(convention);
        let of_dump = open(path, convention);
        let folder = path.parent().unwrap();
        let dump = Dump::open(path, None, &Quiet).unwrap();
        let trace = record(folder, &StateToWrite::from_dump(&dump, moment(), true));
        let recorded = everything(&open(&trace, convention), &brute_force);
        same(
            &recorded,
            &everything(&of_dump, &brute_force),
            "trace with contents",
        );
        let trace = record(folder, &StateToWrite::from_dump(&dump, moment(), false));
        let expected = figures(&of_dump, &brute_force);
        same(
            &figures(&open(&trace, convention), &brute_force),
            &expected,
            "trace",
        );

        let plain = case.brute_force(Convention::DEFAULT);
        let built = built::state(&plain);
        same_state(&dump.state, &built, &plain);
        let values = built::values(&plain);
        let to_write = StateToWrite::from_state(&built, moment(), values);
        let trace = record(folder, &to_write);
        same(
            &figures(&open(&trace, convention), &brute_force),
            &expected,
            "built",
        );
    });
}

/// Whether a reader made of the file what the description says.
fn same_state(read: &HeapState, built: &HeapState, brute_force: &BruteForce) {
    assert_eq!(read.len(), built.len());
    for object in 0..read.len() {
        assert_eq!(
            read.references(object),
            built.references(object),
            "{object}"
        );
        assert_eq!(
            read.array_length(object),
            built.array_length(object),
            "{object}"
        );
        assert_eq!(read.referent(object), built.referent(object), "{object}");
        let class = |state: &HeapState| state.classes()[state.class_id(object) as usize].mirror;
        assert_eq!(class(read), class(built), "{object}");
    }
    let key = |root: &anthill_heap::Root| format!("{root:?}");
    let roots = |state: &HeapState| {
        let mut roots: Vec<String> = state.tables.roots.iter().map(key).collect();
        roots.sort();
        roots
    };
    assert_eq!(roots(read), roots(built));
    for node in 0..brute_force.objects() {
        let Some(Item::Class(_)) = brute_force.item(node) else {
            continue;
        };
        let class = |state: &HeapState| {
            let class = &state.classes()[state.mirrored(node as u32).unwrap() as usize];
            let above = class
                .super_class
                .map(|above| state.classes()[above as usize].mirror);
            let linked = (above, class.loader, class.signers, class.protection_domain);
            let fields = (class.fields.clone(), class.statics.clone());
            (
                class.name.clone(),
                class.kind,
                linked,
                fields,
                class.reference,
            )
        };
        assert_eq!(class(read), class(built), "class object {node}");
    }
}

#[test]
fn segments_and_packing_change_nothing() {
    on_files(19, 150, |case, path, convention| {
        let brute_force = case.brute_force(convention);
        let expected = everything(&open(path, convention), &brute_force);
        let records = case.made.heap.hprof(&case.at);
        let split = path.with_extension("split.hprof");
        let in_segment = 1 + case.seed as usize % 7;
        std::fs::write(&split, records.file(in_segment)).unwrap();
        same(
            &everything(&open(&split, convention), &brute_force),
            &expected,
            "split",
        );
        let packed = path.with_extension("hprof.gz");
        std::fs::write(&packed, case.packed()).unwrap();
        same(
            &everything(&open(&packed, convention), &brute_force),
            &expected,
            "packed",
        );
    });
}

#[test]
fn the_order_of_records_changes_no_figure() {
    on_files(20, 150, |case, path, convention| {
        let brute_force = case.brute_force(convention);
        let expected = figures(&open(path, convention), &brute_force);
        let shuffled = path.with_extension("shuffled.hprof");
        std::fs::write(&shuffled, case.shuffled()).unwrap();
        same(
            &figures(&open(&shuffled, convention), &brute_force),
            &expected,
            "shuffled",
        );
    });
}

#[test]
fn addresses_change_no_answer() {
    on_files(21, 150, |case, path, convention| {
        let brute_force = case.brute_force(convention);
        let session = open(path, convention);
        let moved = path.with_extension("moved.hprof");
        let heap = &case.made.heap;
        let mut order: Vec<Item> = (0..brute_force.objects())
            .map(|node| brute_force.item(node).unwrap())
            .collect();
        // In the same order at another place, low or beyond what 32 bits reach.
        let start = [0x1_0000, 0x7f_ffff_0000][case.seed as usize / 2 % 2];
        let at = heap.lay_out(&order, start);
        std::fs::write(&moved, heap.hprof(&at).file(usize::MAX)).unwrap();
        let there = BruteForce::new(heap, &at, convention.mat);
        let found = everything(&open(&moved, convention), &there);
        same(&found, &everything(&session, &brute_force), "moved");
        // In another order, which only decides between equals.
        Rng::with_seed(case.seed + 4).shuffle(&mut order);
        let at = heap.lay_out(&order, start);
        std::fs::write(&moved, heap.hprof(&at).file(usize::MAX)).unwrap();
        let there = BruteForce::new(heap, &at, convention.mat);
        let found = figures(&open(&moved, convention), &there);
        same(&found, &figures(&session, &brute_force), "shuffled");
    });
}

#[test]
fn a_reopened_index_gives_the_same_answers() {
    on_files(22, 150, |case, path, convention| {
        let brute_force = case.brute_force(convention);
        let expected = everything(&open(path, convention), &brute_force);
        let folder = path.with_extension("index");
        let indexed = || {
            let options = Options {
                convention,
                index: IndexFolder::Folder(folder.clone()),
                ..Options::default()
            };
            Session::open(path, options, Box::new(Quiet)).unwrap()
        };
        let first = indexed();
        same(
            &everything(&first, &brute_force),
            &expected,
            "first opening",
        );
        drop(first);
        let second = indexed();
        assert!(second.from_index());
        same(
            &everything(&second, &brute_force),
            &expected,
            "second opening",
        );
    });
}
