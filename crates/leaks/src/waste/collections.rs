//! Collections that are empty or sparse, and arrays of references that are.

use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, ObjectId};
use anthill_hprof::Cursor;
use anthill_structures::{Instance, Room};
use rayon::prelude::*;

use super::finding::{Collector, Detail, Finding, RowsByClass, WasteKind};
use super::holders::Holders;
use super::{SHARE, WasteInput};

/// Storage of fewer slots is never sparse.
const FEWEST_SLOTS: u64 = 16;
/// Of so many slots one at most is used in sparse storage.
const SPARSE: u64 = 4;

/// A data structure that has its elements in an array of its own, or a node for each.
pub struct Collection {
    pub object: ObjectId,
    pub array: Option<ObjectId>,
    pub elements: u64,
    /// How the array is used; there is none if elements have nodes.
    pub room: Option<Room>,
    /// Whether the array has chains of entries in it, not elements.
    pub has_buckets: bool,
}

/// All reachable collections. Sets are not among them: theirs is the waste of the map in them.
pub fn measure(input: &WasteInput) -> Vec<Collection> {
    let state = input.graph.state;
    let model = input.model;
    let classes = 0..state.classes().len() as ClassId;
    // By class: whether it is measured, and how its array is used.
    let measured: Vec<(bool, Option<Room>)> = classes
        .map(|class| {
            let room = model.room(class);
            (room.is_some() || model.is_linked(class), room)
        })
        .collect();
    let instances = input.structures.instances.par_iter();
    let instances = instances.with_min_len(SHARE);
    let measure = |cursor: &mut Cursor, one: &Instance| {
        let (is_measured, room) = measured[state.class_id(one.head) as usize];
        if !is_measured || one.at_least {
            return None;
        }
        // Null elements leave no reference, but take up a slot.
        let elements = model.stated(cursor, one.head).or(one.elements)?;
        Some(Collection {
            object: one.head,
            array: model.storage(cursor, one.head),
            elements,
            room,
            has_buckets: one.buckets > 0,
        })
    };
    instances
        .map_init(|| input.records.cursor(), measure)
        .flatten_iter()
        .collect()
}

pub fn findings<'a>(
    input: &WasteInput<'a>,
    collections: &[Collection],
    holders: &mut Holders<'a>,
) -> [Finding; 4] {
    let mut storage = input.set();
    let arrays = collections.iter().filter_map(|collection| collection.array);
    arrays.for_each(|array| storage.insert(array));
    let of_kind = |kind, holders: &mut Holders<'a>| {
        let found = collections
            .iter()
            .filter_map(|collection| waste_of(input, collection))
            .filter(|waste| waste.kind == kind);
        add_up(input, kind, found, holders)
    };
    [
        of_kind(WasteKind::EmptyCollections, holders),
        of_kind(WasteKind::UnusedCollections, holders),
        of_kind(WasteKind::SparseCollections, holders),
        sparse_arrays(input, &storage, holders),
    ]
}

/// What is wasted in one object.
struct Wasted {
    kind: WasteKind,
    object: ObjectId,
    bytes: u64,
    savable: u64,
    detail: Detail,
}

fn waste_of(input: &WasteInput, collection: &Collection) -> Option<Wasted> {
    let &Collection {
        object,
        array,
        elements,
        room,
        ..
    } = collection;
    let array = array.filter(|&array| input.graph.state.detail(array) > 0);
    let (kind, bytes, savable, detail) = match (elements, array) {
        (0, Some(array)) => {
            let bytes = input.graph.size(array);
            (WasteKind::EmptyCollections, bytes, bytes, Detail::None)
        }
        (0, None) => {
            let bytes = input.graph.size(object);
            (WasteKind::UnusedCollections, bytes, 0, Detail::None)
        }
        (_, Some(array)) => {
            let room = room?;
            let used = room.used(elements);
            let savable = sparse(input, array, used, room.needed(elements))?;
            let slots = input.graph.state.detail(array);
            let bytes = input.graph.size(array);
            let detail = Detail::Fill { used, slots };
            (WasteKind::SparseCollections, bytes, savable, detail)
        }
        _ => return None,
    };
    Some(Wasted {
        kind,
        object,
        bytes,
        savable,
        detail,
    })
}

/// What could be saved of an array with a quarter of its slots used or less: all but the slots that
/// are needed.
fn sparse(input: &WasteInput, array: ObjectId, used: u64, needed: u64) -> Option<u64> {
    let state = input.graph.state;
    let slots = state.detail(array);
    if u64::from(slots) < FEWEST_SLOTS || used.saturating_mul(SPARSE) >= slots.into() {
        return None;
    }
    let needed = u32::try_from(needed).unwrap_or(slots).min(slots);
    let smaller = input.graph.size_of(state.class_id(array), needed);
    Some(input.graph.size(array) - smaller)
}

fn sparse_arrays<'a>(
    input: &WasteInput<'a>,
    of_collections: &BitSet,
    holders: &mut Holders<'a>,
) -> Finding {
    let state = input.graph.state;
    let is_array = input.classes_that(|class| class.kind == ClassKind::Array(FieldType::Object));
    let found = input.objects_of(&is_array).filter_map(|array| {
        if of_collections.contains(array) {
            return None;
        }
        let used = state.references(array).len() as u64;
        let savable = sparse(input, array, used, used)?;
        Some(Wasted {
            kind: WasteKind::SparseArrays,
            object: array,
            bytes: input.graph.size(array),
            savable,
            detail: Detail::Fill {
                used,
                slots: state.detail(array),
            },
        })
    });
    let found: Vec<Wasted> = found.collect();
    add_up(input, WasteKind::SparseArrays, found.into_iter(), holders)
}

fn add_up<'a>(
    input: &WasteInput<'a>,
    kind: WasteKind,
    found: impl Iterator<Item = Wasted>,
    holders: &mut Holders<'a>,
) -> Finding {
    let mut collector = Collector::new(kind, holders);
    let mut rows = RowsByClass::default();
    for waste in found {
        let class = input.graph.state.class_id(waste.object);
        collector.add(waste.object, waste.bytes, waste.savable);
        rows.add(class, waste.object, waste.savable, waste.detail);
    }
    rows.into_rows().for_each(|row| collector.row(row));
    collector.finish(input.most)
}
