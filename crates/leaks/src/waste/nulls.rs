//! Classes of the program whose objects have null in most of their fields. The JVM's own classes are left
//! out: nobody can change them, and references need their fields.

use std::cmp::Reverse;

use anthill_heap::{ClassId, ClassKind, FieldType, Value};
use anthill_hprof::FieldPlace;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::WasteInput;
use super::finding::{Collector, Detail, Finding, RowsByClass, WasteKind};
use super::holders::Holders;
use crate::roles::Roles;

const FEWEST_OBJECTS: u64 = 100;
/// Percent of the fields.
const LEAST_NULL: u64 = 75;

/// The objects of a class and their references.
#[derive(Clone, Copy, Default)]
struct Count {
    objects: u64,
    references: u64,
}

pub(super) fn finding<'a>(input: &WasteInput<'a>, holders: &mut Holders<'a>) -> Finding {
    let (graph, state) = (input.graph, input.graph.state);
    let fields = reference_fields(input);
    let candidates: Vec<bool> = fields.iter().map(|&fields| fields > 0).collect();
    let counts = count(input, &candidates);
    let is_found: Vec<bool> = counts
        .iter()
        .zip(&fields)
        .map(|(count, fields)| {
            let all = count.objects * fields;
            let nulls = all.saturating_sub(count.references);
            count.objects >= FEWEST_OBJECTS && nulls * 100 >= all * LEAST_NULL
        })
        .collect();
    let mut collector = Collector::new(WasteKind::NullFields, holders);
    let mut rows = RowsByClass::default();
    for object in input.objects_of(&is_found).collect::<Vec<_>>() {
        let class = state.class_id(object);
        let set = state.references(object).len() as u64;
        let nulls = fields[class as usize].saturating_sub(set);
        let savable = nulls * u64::from(graph.reference_size());
        collector.add(object, graph.size(object), savable);
        rows.add(class, object, savable, Detail::None);
    }
    rows.into_rows().for_each(|row| collector.row(row));
    let mut finding = collector.finish(input.most);
    let classes: Vec<ClassId> = finding.rows.iter().map(|row| row.class).collect();
    let mut nulls = nulls_by_field(input, &classes);
    for row in &mut finding.rows {
        let mut fields = nulls.remove(&row.class).unwrap_or_default();
        fields.retain(|field| field.1 > 0);
        fields.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        row.detail = Detail::Nulls(fields);
    }
    finding
}

/// By class: how many references its objects can hold; 0 for those that do not count.
fn reference_fields(input: &WasteInput) -> Vec<u64> {
    let state = input.graph.state;
    let roles = Roles::new(state, input.dominators);
    let classes = (0..).zip(state.classes());
    let fields = classes.map(|(id, class)| {
        if class.kind != ClassKind::Instance
            || class.reference.is_some()
            || roles.is_platform_class(id)
        {
            return 0;
        }
        let declared = state
            .superclasses(id)
            .flat_map(|class| &state.classes()[class as usize].fields);
        declared
            .filter(|field| field.ty == FieldType::Object)
            .count() as u64
    });
    fields.collect()
}

fn count(input: &WasteInput, candidates: &[bool]) -> Vec<Count> {
    let state = input.graph.state;
    let none = || vec![Count::default(); candidates.len()];
    let counts = input
        .objects_of(candidates)
        .fold(none, |mut counts, object| {
            let count = &mut counts[state.class_id(object) as usize];
            count.objects += 1;
            count.references += state.references(object).len() as u64;
            counts
        });
    counts.reduce(none, |mut sum, part| {
        for (sum, part) in sum.iter_mut().zip(part) {
            sum.objects += part.objects;
            sum.references += part.references;
        }
        sum
    })
}

/// By class: its fields with how many objects have null there.
fn nulls_by_field(
    input: &WasteInput,
    classes: &[ClassId],
) -> FxHashMap<ClassId, Vec<(String, u64)>> {
    let state = input.graph.state;
    let mut wanted = vec![false; state.classes().len()];
    classes
        .iter()
        .for_each(|&class| wanted[class as usize] = true);
    let named = |class: ClassId| {
        let references = input.records.reference_places(state, class);
        references
            .map(|(field, place)| (field.name.as_str(), place))
            .collect()
    };
    let places: FxHashMap<ClassId, Vec<(&str, FieldPlace)>> =
        classes.iter().map(|&class| (class, named(class))).collect();
    let nothing = || (input.records.cursor(), Nulls::default());
    let counted = input
        .objects_of(&wanted)
        .fold(nothing, |(mut cursor, mut nulls), object| {
            let class = state.class_id(object);
            let fields = places.get(&class).map_or(&[][..], |fields| fields);
            let counts = nulls.entry(class).or_insert_with(|| vec![0; fields.len()]);
            for (count, (_, place)) in counts.iter_mut().zip(fields) {
                let value = cursor.field(state, object, *place);
                *count += u64::from(value == Some(Value::Object(0)));
            }
            (cursor, nulls)
        });
    let mut nulls = counted.map(|(_, nulls)| nulls).reduce(Nulls::default, sum);
    let named = places.into_iter().map(|(class, fields)| {
        let counts = nulls.remove(&class).unwrap_or_default();
        let names = fields.iter().map(|(name, _)| (*name).to_owned());
        (class, names.zip(counts).collect())
    });
    named.collect()
}

/// By class and field: how many objects have null there.
type Nulls = FxHashMap<ClassId, Vec<u64>>;

fn sum(mut sum: Nulls, part: Nulls) -> Nulls {
    for (class, counts) in part {
        let sums = sum.entry(class).or_insert_with(|| vec![0; counts.len()]);
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    sum
}
