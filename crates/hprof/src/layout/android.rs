//! Sizes in dumps of Android's runtime, which lays objects out by rules of its own.

use anthill_heap::FieldType;

use super::fields::{FieldRules, align};
use super::hierarchy::Hierarchy;
use super::{Assumed, ClassPointer, ClassShape, Derived, Layout, Observed, is_array};

pub(super) fn is_android(classes: &[ClassShape]) -> bool {
    classes.iter().any(|class| {
        class.name.starts_with("dalvik.")
            || class.name == "java.lang.Object" && !class.fields.is_empty()
    })
}

/// Android's runtime: a header of 8 bytes, which newer releases declare as fields of
/// `java.lang.Object`, then all fields without holes.
pub(super) fn android(observed: &Observed, hierarchy: &Hierarchy) -> Derived {
    let classes = observed.classes;
    let layout = Layout {
        word: 4,
        reference_size: 4,
        class_pointer: ClassPointer::Android,
        alignment: 8,
        field_rules: FieldRules::BestFit,
        array_base: 12,
    };
    let sum = |fields: &[(&str, FieldType)]| -> u32 {
        let sizes = fields.iter().map(|(_, ty)| ty.size(4));
        sizes.fold(0, u32::saturating_add)
    };
    let mut ends = vec![0u32; classes.len()];
    for &class in &hierarchy.order {
        let shape = &classes[class as usize];
        let above = hierarchy.supers[class as usize];
        let start = above.map_or(0, |above| ends[above as usize]);
        let end = start.saturating_add(sum(shape.fields));
        ends[class as usize] = end.max(layout.header());
    }
    let round = |size: u32| align(size, layout.alignment);
    let class_object = classes.iter().position(|c| c.name == "java.lang.Class");
    let base = class_object.map_or(layout.header(), |class| ends[class]);
    let size = |(class, &end): (&ClassShape, &u32)| if is_array(class) { 0 } else { round(end) };
    Derived {
        layout,
        instance_sizes: classes.iter().zip(&ends).map(size).collect(),
        mirror_sizes: classes
            .iter()
            .map(|class| round(base.saturating_add(sum(class.static_fields))))
            .collect(),
        stack_chunk: None,
        assumed: vec![Assumed {
            class: None,
            what: "Android: sizes are an 8-byte header plus the fields".into(),
        }],
    }
}
