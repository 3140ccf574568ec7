//! Hash maps whose entries share too few buckets. They cost time rather than bytes.

use anthill_heap::{ClassId, ObjectId, Value};
use anthill_hprof::{Cursor, FieldPlace};
use rustc_hash::FxHashMap;

use super::WasteInput;
use super::collections::Collection;
use super::finding::{Collector, Detail, Finding, Row, WasteKind};
use super::holders::Holders;

/// In smaller maps chance does as much.
const FEWEST_ENTRIES: u64 = 64;
/// Entries of a used bucket, on average, above which there is something wrong: the JDK keeps 0.75 a
/// bucket, so that even a bad spread has fewer than two in the used ones.
const MOST_ENTRIES: u64 = 2;

/// In a `ConcurrentHashMap` the head of a bucket that is a tree; its entries are a chain beside that.
const TREE: &str = "java.util.concurrent.ConcurrentHashMap$TreeBin";

pub(super) fn finding<'a>(
    input: &WasteInput<'a>,
    collections: &[Collection],
    holders: &mut Holders<'a>,
) -> Finding {
    let state = input.graph.state;
    let mut collector = Collector::new(WasteKind::HashCollisions, holders);
    let mut chains = Chains {
        input,
        cursor: input.records.cursor(),
        next: FxHashMap::default(),
    };
    for map in collections {
        let Some(table) = map.array.filter(|_| map.has_buckets) else {
            continue;
        };
        let used = state.references(table).len() as u64;
        if map.elements < FEWEST_ENTRIES || used == 0 || map.elements <= used * MOST_ENTRIES {
            continue;
        }
        let longest = chains.longest(state.references(table), map.elements);
        collector.add(map.object, input.graph.size(table), 0);
        collector.row(Row {
            class: state.class_id(map.object),
            object: map.object,
            objects: map.elements,
            savable: 0,
            detail: Detail::Buckets {
                entries: map.elements,
                used,
                longest,
            },
        });
    }
    collector.finish(input.most)
}

/// Follows the entries of buckets.
struct Chains<'a> {
    input: &'a WasteInput<'a>,
    cursor: Cursor<'a>,
    /// By class: where its objects refer to the next entry.
    next: FxHashMap<ClassId, Option<FieldPlace>>,
}

impl Chains<'_> {
    /// The entries of the fullest bucket. No more are counted in all than the map has and the heap can
    /// hold: in a damaged dump chains go round in circles.
    fn longest(&mut self, heads: &[ObjectId], entries: u64) -> u64 {
        let mut left = entries.min(self.input.graph.len().into());
        let mut longest = 0;
        for &head in heads {
            let length = self.length(head, left);
            left -= length;
            longest = longest.max(length);
        }
        longest
    }

    fn length(&mut self, head: ObjectId, most: u64) -> u64 {
        let mut at = match self.input.graph.state.class(head).name.as_str() {
            TREE => self.after(head),
            _ => Some(head),
        };
        let mut length = 0;
        while let Some(entry) = at.filter(|_| length < most) {
            length += 1;
            at = self.after(entry);
        }
        length
    }

    fn after(&mut self, entry: ObjectId) -> Option<ObjectId> {
        let (state, records) = (self.input.graph.state, self.input.records);
        let class = state.class_id(entry);
        let place = self.next.entry(class).or_insert_with(|| {
            let field = match state.classes()[class as usize].name.as_str() {
                TREE => "first",
                _ => "next",
            };
            records.field_place(state, class, field)
        });
        match self.cursor.field(state, entry, (*place)?)? {
            Value::Object(address) => state.addresses.find(address),
            _ => None,
        }
    }
}
