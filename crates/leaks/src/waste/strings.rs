//! Strings of equal contents: the string objects but one, and the arrays that would go with them.

use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, HeapState, ObjectId, Value};
use anthill_hprof::{Cursor, FieldPlace, Records};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::WasteInput;
use super::duplicates::{Compared, Key, key_of};
use super::finding::{Collector, Detail, Finding, Row, WasteKind};
use super::holders::Holders;

const STRING: &str = "java.lang.String";

/// The arrays of the reachable strings.
pub(super) struct StringArrays {
    pub all: BitSet,
    /// Those of several strings and of nothing else, with how many these are.
    shared: FxHashMap<ObjectId, usize>,
}

impl StringArrays {
    pub(super) fn new(input: &WasteInput) -> Self {
        let strings = input.classes_that(|class| class.name == STRING);
        let state = input.graph.state;
        let arrays: Vec<ObjectId> = input
            .objects_of(&strings)
            .filter_map(|string| array_of(state, string))
            .collect();
        let (mut all, mut shared) = (input.set(), FxHashMap::default());
        for array in arrays {
            if !all.add(array) {
                *shared.entry(array).or_insert(1) += 1;
            }
        }
        for array in held_otherwise(input, &shared, &strings) {
            shared.remove(&array);
        }
        StringArrays { all, shared }
    }
}

/// Those of the arrays that roots or objects other than strings hold as well.
fn held_otherwise(
    input: &WasteInput,
    arrays: &FxHashMap<ObjectId, usize>,
    is_string: &[bool],
) -> Vec<ObjectId> {
    if arrays.is_empty() {
        return Vec::new();
    }
    let mut wanted = input.set();
    arrays.keys().for_each(|&array| wanted.insert(array));
    let others: Vec<bool> = is_string.iter().map(|is| !is).collect();
    let held = input.objects_of(&others).flat_map_iter(|object| {
        let to = input.graph.referenced(object);
        to.filter(|&to| wanted.contains(to))
    });
    let roots = arrays.keys().filter(|&&array| input.graph.is_root(array));
    let mut held: Vec<ObjectId> = held.collect();
    held.extend(roots);
    held
}

/// In every JDK a string has one reference: its array of bytes or, up to JDK 8, chars.
fn array_of(state: &HeapState, string: ObjectId) -> Option<ObjectId> {
    let array = *state.references(string).first()?;
    let kind = state.class(array).kind;
    let of_text = [FieldType::Byte, FieldType::Char].map(ClassKind::Array);
    of_text.contains(&kind).then_some(array)
}

/// Where a class of strings has what decides, besides the array, about its contents.
struct Places {
    coder: Option<FieldPlace>,
    /// Before JDK 7 update 6, strings could share an array.
    offset: Option<FieldPlace>,
    count: Option<FieldPlace>,
}

impl Places {
    fn new(records: &Records, state: &HeapState, class: ClassId) -> Self {
        let place = |name| records.field_place(state, class, name);
        Places {
            coder: place("coder"),
            offset: place("offset"),
            count: place("count"),
        }
    }

    fn key(
        &self,
        [strings, arrays]: &mut [Cursor; 2],
        state: &HeapState,
        string: ObjectId,
    ) -> Option<Key> {
        let array = array_of(state, string)?;
        let contents = arrays.raw(state, array)?;
        let mut value = |place: Option<FieldPlace>| strings.field(state, string, place?);
        let coder = match value(self.coder) {
            Some(Value::Byte(coder)) => coder as u64,
            _ => 0,
        };
        let (Some(Value::Int(offset)), Some(Value::Int(count))) =
            (value(self.offset), value(self.count))
        else {
            return Some(key_of(contents, coder));
        };
        let start = usize::try_from(offset).ok()?.checked_mul(2)?;
        let length = usize::try_from(count).ok()?.checked_mul(2)?;
        let contents = contents.get(start..start.checked_add(length)?)?;
        Some(key_of(contents, coder))
    }
}

pub(super) fn duplicates<'a>(
    input: &WasteInput<'a>,
    arrays: &StringArrays,
    holders: &mut Holders<'a>,
) -> Finding {
    let state = input.graph.state;
    let is_string = input.classes_that(|class| class.name == STRING);
    let classes = (0..).zip(&is_string).filter(|(_, is)| **is);
    let places: FxHashMap<ClassId, Places> = classes
        .map(|(class, _)| (class, Places::new(input.records, state, class)))
        .collect();
    let compared = Compared::new(input, &is_string, |cursors, string| {
        let places = places.get(&state.class_id(string))?;
        places.key(cursors, state, string)
    });
    let mut collector = Collector::new(WasteKind::DuplicateStrings, holders);
    compared.each_group(|group| {
        let savable = savable_of(input, arrays, group);
        for (&string, &bytes) in group[1..].iter().zip(&savable) {
            collector.add(string, bytes, bytes);
        }
        collector.row(Row {
            class: state.class_id(group[0]),
            object: group[0],
            objects: group.len() as u64,
            savable: savable.iter().sum(),
            detail: Detail::None,
        });
    });
    collector.finish(input.most)
}

/// What could be saved with each of equal strings but the first. An array that several of them share is
/// saved with one of them, unless a string that stays has it too.
fn savable_of(input: &WasteInput, arrays: &StringArrays, group: &[ObjectId]) -> Vec<u64> {
    let state = input.graph.state;
    let mut savable = Vec::with_capacity(group.len() - 1);
    let mut shared: Vec<(ObjectId, usize)> = Vec::new();
    for (index, &string) in group[1..].iter().enumerate() {
        let mut bytes = input.graph.size(string);
        if let Some(array) = array_of(state, string) {
            if input.dominators.immediate[array as usize] == string {
                bytes += input.graph.size(array);
            } else {
                shared.push((array, index));
            }
        }
        savable.push(bytes);
    }
    shared.sort_unstable();
    for users in shared.chunk_by(|a, b| a.0 == b.0) {
        let (array, index) = users[0];
        if arrays.shared.get(&array) == Some(&users.len()) {
            savable[index] += input.graph.size(array);
        }
    }
    savable
}
