//! Collections that are empty or sparse, and arrays of references that are.

use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, ObjectId};
use anthill_hprof::Cursor;
use anthill_structures::{Instance, SlotPolicy};
use rayon::prelude::*;

use super::finding::{Collector, Detail, Finding, RowsByClass, WasteKind};
use super::holders::Holders;
use super::{SHARE, WasteInput};

/// Storage of fewer slots is never sparse.
const FEWEST_SLOTS: u64 = 16;
/// Of so many slots one at most is used in sparse storage.
const SPARSE: u64 = 4;

/// A data structure that has its elements in an array of its own, or a node for each.
pub(super) struct Collection {
    pub object: ObjectId,
    pub array: Option<ObjectId>,
    pub elements: u64,
    /// How the array is used; there is none if elements have nodes.
    pub room: Option<SlotPolicy>,
    /// Whether the array has chains of entries in it, not elements.
    pub has_buckets: bool,
}

/// All reachable collections. Sets are not among them: theirs is the waste of the map in them.
pub(super) fn measure(input: &WasteInput) -> Vec<Collection> {
    let state = input.graph.state;
    let model = input.model;
    let classes = 0..state.classes().len() as ClassId;
    // By class: whether it is measured, and how its array is used.
    let measured: Vec<(bool, Option<SlotPolicy>)> = classes
        .map(|class| {
            let room = model.slot_policy(class);
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
        let elements = model.reported_size(cursor, one.head).or(one.elements)?;
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

pub(super) fn findings<'a>(
    input: &WasteInput<'a>,
    collections: &[Collection],
    holders: &mut Holders<'a>,
) -> [Finding; 4] {
    let mut storage = input.set();
    let arrays = collections.iter().filter_map(|collection| collection.array);
    arrays.for_each(|array| storage.insert(array));
    let found = collections.iter();
    let mut found: Vec<Wasted> = found
        .filter_map(|collection| waste_of(input, collection))
        .collect();
    leave_what_is_held_otherwise(input, &mut found);
    let of_kind = |kind, holders: &mut Holders<'a>| {
        let of_kind = found.iter().filter(|waste| waste.kind == kind);
        add_up(input, kind, of_kind, holders)
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
    /// The array of a collection.
    array: Option<ObjectId>,
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
    // What something else holds as well stays when the collection lets it go.
    let is_own = |array: ObjectId| input.dominators.immediate[array as usize] == object;
    let (kind, bytes, savable, detail) = match (elements, array) {
        (0, Some(array)) => {
            let bytes = input.graph.size(array);
            let savable = if is_own(array) { bytes } else { 0 };
            (WasteKind::EmptyCollections, bytes, savable, Detail::None)
        }
        (0, None) => {
            let bytes = input.graph.size(object);
            (WasteKind::UnusedCollections, bytes, 0, Detail::None)
        }
        (_, Some(array)) => {
            let room = room?;
            let used = room.used(elements);
            let savable = sparse(input, array, used, room.needed(elements))?;
            let savable = if is_own(array) { savable } else { 0 };
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
        array,
        bytes,
        savable,
        detail,
    })
}

/// An array that something else holds stays when its collection lets it go: nothing is saved.
fn leave_what_is_held_otherwise(input: &WasteInput, found: &mut [Wasted]) {
    let above = |array: ObjectId| input.dominators.immediate[array as usize];
    let mut arrays = input.set();
    for (object, array) in found.iter().filter_map(|of| Some((of.object, of.array?))) {
        if above(array) == object {
            arrays.insert(array);
        }
    }
    // The collection keeps the array alive, but it may do so in other ways as well.
    let is_way_around = |&(from, array): &(ObjectId, ObjectId)| {
        let mut chain = std::iter::once(from).chain(input.dominators.chain(from));
        from != above(array) && !chain.any(|node| node == array)
    };
    let all = vec![true; input.graph.state.classes().len()];
    let ways = input.objects_of(&all).flat_map_iter(|from| {
        let to = input.graph.successors(from);
        let to = to.filter(|&to| arrays.contains(to));
        to.map(move |to| (from, to)).filter(is_way_around)
    });
    let held: Vec<(ObjectId, ObjectId)> = ways.collect();
    held.iter().for_each(|&(_, array)| arrays.remove(array));
    for waste in found {
        let is_alone = |array| above(array) == waste.object && arrays.contains(array);
        if !waste.array.is_none_or(is_alone) {
            waste.savable = 0;
        }
    }
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
            array: None,
            bytes: input.graph.size(array),
            savable,
            detail: Detail::Fill {
                used,
                slots: state.detail(array),
            },
        })
    });
    let found: Vec<Wasted> = found.collect();
    add_up(input, WasteKind::SparseArrays, found.iter(), holders)
}

fn add_up<'a, 'w>(
    input: &WasteInput<'a>,
    kind: WasteKind,
    found: impl Iterator<Item = &'w Wasted>,
    holders: &mut Holders<'a>,
) -> Finding {
    let mut collector = Collector::new(kind, holders);
    let mut rows = RowsByClass::default();
    for waste in found {
        let class = input.graph.state.class_id(waste.object);
        collector.add(waste.object, waste.bytes, waste.savable);
        rows.add(class, waste.object, waste.savable, waste.detail.clone());
    }
    rows.into_rows().for_each(|row| collector.row(row));
    collector.finish(input.most)
}
