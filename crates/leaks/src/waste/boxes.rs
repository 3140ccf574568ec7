//! Boxed numbers: all of them, and those of equal values.

use anthill_heap::{ClassId, Value};
use anthill_hprof::FieldPlace;
use rayon::prelude::*;

use super::WasteInput;
use super::duplicates::{Compared, Key, all_but_one};
use super::finding::{Collector, Detail, Finding, RowsByClass, WasteKind};
use super::holders::Holders;

const BOXES: [&str; 8] = [
    "java.lang.Boolean",
    "java.lang.Byte",
    "java.lang.Character",
    "java.lang.Double",
    "java.lang.Float",
    "java.lang.Integer",
    "java.lang.Long",
    "java.lang.Short",
];

fn are_boxes(input: &WasteInput) -> Vec<bool> {
    input.classes_that(|class| BOXES.contains(&class.name.as_str()))
}

pub(super) fn all<'a>(input: &WasteInput<'a>, holders: &mut Holders<'a>) -> Finding {
    let is_box = are_boxes(input);
    let state = input.graph.state;
    let mut collector = Collector::new(WasteKind::BoxedNumbers, holders);
    let mut rows = RowsByClass::default();
    for object in input.objects_of(&is_box).collect::<Vec<_>>() {
        collector.add(object, input.graph.size(object), 0);
        rows.add(state.class_id(object), object, 0, Detail::None);
    }
    rows.into_rows().for_each(|row| collector.row(row));
    collector.finish(input.most)
}

pub(super) fn duplicates<'a>(input: &WasteInput<'a>, holders: &mut Holders<'a>) -> Finding {
    let state = input.graph.state;
    let is_box = are_boxes(input);
    let classes = (0..).zip(&is_box);
    let places: Vec<Option<FieldPlace>> = classes
        .map(|(class, is_box)| {
            let place = is_box.then(|| input.records.field_place(state, class, "value"));
            place.flatten()
        })
        .collect();
    let compared = Compared::new(input, &is_box, |[cursor, _], object| {
        let class = state.class_id(object);
        let value = cursor.field(state, object, places[class as usize]?)?;
        key(class, value)
    });
    let mut collector = Collector::new(WasteKind::DuplicateBoxes, holders);
    compared.each_group(|group| all_but_one(input, group, &mut collector));
    collector.finish(input.most)
}

/// The value itself: these fit, so that nothing is left to chance.
fn key(class: ClassId, value: Value) -> Option<Key> {
    let bits = match value {
        Value::Object(_) | Value::NotRecorded(_) => return None,
        Value::Boolean(value) => u64::from(value),
        Value::Char(value) => u64::from(value),
        Value::Float(value) => u64::from(value.to_bits()),
        Value::Double(value) => value.to_bits(),
        Value::Byte(value) => value as u64,
        Value::Short(value) => value as u64,
        Value::Int(value) => value as u64,
        Value::Long(value) => value as u64,
    };
    Some(u128::from(class) << 64 | u128::from(bits))
}
