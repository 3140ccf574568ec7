//! Objects of equal contents, found by sorting 96-bit hashes of what is in the file: that two different
//! contents share one is less likely than a memory error (10^-11 for a billion objects).

use anthill_heap::{BitSet, ClassKind, ObjectId};
use anthill_hprof::Cursor;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::finding::{Collector, Detail, Finding, Row, WasteKind};
use super::holders::Holders;
use super::{WasteInput, is_primitive_array};

const OBJECT_BITS: u32 = 32;

/// What objects are compared by; 96 bits count.
pub(super) type Key = u128;

/// The key of contents of some kind.
pub(super) fn key_of(contents: &[u8], kind: u64) -> Key {
    xxh3_128_with_seed(contents, kind)
}

/// Objects with their keys, equal ones side by side and in ascending order.
pub(super) struct Compared(Vec<u128>);

impl Compared {
    /// Compares the reachable objects of the wanted classes for which there is a key. Two places in
    /// the file can be read in turn.
    pub(super) fn new(
        input: &WasteInput,
        wanted: &[bool],
        key: impl Fn(&mut [Cursor; 2], ObjectId) -> Option<Key> + Sync,
    ) -> Self {
        let cursors = || [input.records.cursor(), input.records.cursor()];
        let keyed = input
            .objects_of(wanted)
            .map_init(cursors, |cursors, object| {
                let key = key(cursors, object)?;
                Some(key << OBJECT_BITS | u128::from(object))
            });
        let mut entries: Vec<u128> = keyed.flatten_iter().collect();
        entries.par_sort_unstable();
        Compared(entries)
    }

    /// Calls with every group of two or more equal objects.
    pub(super) fn each_group(&self, mut with: impl FnMut(&[ObjectId])) {
        let mut group = Vec::new();
        for equal in self.0.chunk_by(|a, b| a >> OBJECT_BITS == b >> OBJECT_BITS) {
            if equal.len() > 1 {
                group.clear();
                group.extend(equal.iter().map(|&entry| entry as ObjectId));
                with(&group);
            }
        }
    }
}

/// Arrays of primitives that belong to no string: all but one of equal ones could be saved.
pub(super) fn arrays<'a>(
    input: &WasteInput<'a>,
    of_strings: &BitSet,
    holders: &mut Holders<'a>,
) -> Finding {
    let state = input.graph.state;
    let wanted = input.classes_that(|class| is_primitive_array(class.kind));
    let compared = Compared::new(input, &wanted, |[cursor, _], array| {
        let ClassKind::Array(element) = state.class(array).kind else {
            return None;
        };
        if of_strings.contains(array) {
            return None;
        }
        Some(key_of(cursor.raw(state, array)?, element as u64))
    });
    let mut collector = Collector::new(WasteKind::DuplicateArrays, holders);
    compared.each_group(|group| all_but_one(input, group, &mut collector));
    collector.finish(input.most)
}

/// Takes the first of equal objects for the one that stays.
pub(super) fn all_but_one(input: &WasteInput, group: &[ObjectId], collector: &mut Collector) {
    let mut savable = 0;
    for &object in &group[1..] {
        let size = input.graph.size(object);
        collector.add(object, size, size);
        savable += size;
    }
    collector.row(Row {
        class: input.graph.state.class_id(group[0]),
        object: group[0],
        objects: group.len() as u64,
        savable,
        detail: Detail::None,
    });
}
