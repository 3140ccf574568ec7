//! Sizes as Eclipse MAT counts them, for results that can be compared with its own.
//!
//! A header is an id and a reference; the fields of each class of the chain are padded to the
//! size of a reference, the whole to the alignment of objects; a class object is its static fields.

use anthill_heap::{ArrayLayout, Class, ClassKind, FieldType, Sizes};

/// The sizes that Eclipse MAT would show.
pub fn mat_sizes(classes: &[Class], id_size: u32, reference_size: u32, alignment: u32) -> Sizes {
    let header = id_size + reference_size;
    let fields = |class: &Class| {
        class
            .fields
            .iter()
            .map(|field| field.ty.size(reference_size))
            .sum::<u32>()
    };
    let instance = |class: u32| {
        let chain: Vec<u32> =
            std::iter::successors(Some(class), |&class| classes[class as usize].super_class)
                .collect();
        let size = chain.iter().rev().fold(header, |size, &class| {
            (size + fields(&classes[class as usize])).next_multiple_of(reference_size)
        });
        size.next_multiple_of(alignment)
    };
    let mirror = |class: &Class| {
        let statics = class
            .statics
            .iter()
            .map(|field| field.value.field_type().size(reference_size))
            .sum::<u32>();
        statics.next_multiple_of(alignment)
    };
    Sizes {
        instances: (0..classes.len() as u32)
            .map(|class| {
                if matches!(classes[class as usize].kind, ClassKind::Array(_)) {
                    0
                } else {
                    instance(class)
                }
            })
            .collect(),
        mirrors: classes.iter().map(mirror).collect(),
        arrays: ArrayLayout {
            bases: FieldType::ALL.map(|_| (header + 4).next_multiple_of(reference_size)),
            reference_size,
            alignment,
        },
    }
}
