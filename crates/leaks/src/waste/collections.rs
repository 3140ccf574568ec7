//! Collections that are empty or sparse, and arrays of references that are.

use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, ObjectId};
use rayon::prelude::*;

use super::WasteInput;
use super::finding::{Collector, Detail, Finding, RowsByClass, WasteKind};
use super::holders::Holders;
use super::known::{Places, Storage};

/// Storage of fewer slots is never sparse.
const FEWEST_SLOTS: u64 = 16;
/// Of so many slots one at most is used in sparse storage.
const SPARSE: u64 = 4;

/// A collection with its elements.
pub struct Collection {
    pub object: ObjectId,
    pub array: Option<ObjectId>,
    pub elements: u64,
    pub storage: Storage,
}

/// All reachable collections.
pub fn measure(input: &WasteInput) -> Vec<Collection> {
    let state = input.graph.state;
    let classes = 0..state.classes().len() as ClassId;
    let places: Vec<Option<Places>> = classes
        .map(|class| Places::new(input.records, state, class))
        .collect();
    let wanted: Vec<bool> = places.iter().map(Option::is_some).collect();
    let cursors = || [input.records.cursor(), input.records.cursor()];
    let measured = input
        .objects_of(&wanted)
        .map_init(cursors, |cursors, object| {
            let places = places[state.class_id(object) as usize].as_ref()?;
            let (elements, array) = places.read(cursors, state, object)?;
            Some(Collection {
                object,
                array,
                elements,
                storage: places.storage,
            })
        });
    measured.flatten_iter().collect()
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
        storage,
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
            let used = storage.used(elements);
            let savable = sparse(input, array, used, storage.sensible(elements))?;
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
