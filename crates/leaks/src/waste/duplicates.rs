//! Objects of equal contents, found by sorting 96-bit hashes of what is in the file: that two different
//! contents share one is less likely than a memory error (10^-11 for a billion objects).

use anthill_heap::{BitSet, ClassKind, ObjectId};
use anthill_hprof::Cursor;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::finding::{Collector, Detail, Finding, Row, RowsByClass, WasteKind};
use super::holders::Holders;
use super::{WasteInput, is_primitive_array};

const OBJECT_BITS: u32 = 32;

/// What objects are compared by; 96 bits count.
pub(super) type Key = u128;

/// Instead of the key of arrays that have only zeros.
const ZEROS: Key = 0;

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

    /// The objects with a key, in ascending order.
    fn with_key(&self, key: Key) -> Vec<ObjectId> {
        let start = self.0.partition_point(|&entry| entry >> OBJECT_BITS < key);
        let of_key = self.0[start..].iter();
        let of_key = of_key.take_while(|&&entry| entry >> OBJECT_BITS == key);
        of_key.map(|&entry| entry as ObjectId).collect()
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

/// Arrays of primitives that belong to no string: of equal ones all but one could be saved. Those that have
/// only zeros are not counted as equal: mostly they are buffers, which nobody can share.
pub(super) fn arrays<'a>(
    input: &WasteInput<'a>,
    of_strings: &BitSet,
    holders: &mut Holders<'a>,
) -> [Finding; 2] {
    let state = input.graph.state;
    let wanted = input.classes_that(|class| is_primitive_array(class.kind));
    let is_zero = |contents: &[u8]| !contents.is_empty() && contents.iter().all(|&byte| byte == 0);
    let compared = Compared::new(input, &wanted, |[cursor, _], array| {
        let ClassKind::Array(element) = state.class(array).kind else {
            return None;
        };
        if of_strings.contains(array) {
            return None;
        }
        let contents = cursor.raw(state, array)?;
        if is_zero(contents) {
            return Some(ZEROS);
        }
        Some(key_of(contents, element as u64))
    });
    let mut collector = Collector::new(WasteKind::DuplicateArrays, holders);
    let zeros = compared.with_key(ZEROS);
    compared.each_group(|group| {
        if group.first() != zeros.first() {
            all_but_one(input, group, &mut collector);
        }
    });
    let equal = collector.finish(input.most);
    [equal, zero_arrays(input, &zeros, holders)]
}

fn zero_arrays<'a>(
    input: &WasteInput<'a>,
    arrays: &[ObjectId],
    holders: &mut Holders<'a>,
) -> Finding {
    let mut collector = Collector::new(WasteKind::ZeroArrays, holders);
    let mut rows = RowsByClass::default();
    for &array in arrays {
        collector.add(array, input.graph.size(array), 0);
        rows.add(input.graph.state.class_id(array), array, 0, Detail::None);
    }
    rows.into_rows().for_each(|row| collector.row(row));
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
