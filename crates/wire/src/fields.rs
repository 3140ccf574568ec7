//! Which field a walk's index means. JVMTI counts the fields of all interfaces first, then those of the superclasses
//! from `java.lang.Object` down, then the class's own (jvmtiHeapReferenceInfoField in its specification).

use std::collections::HashSet;

use crate::Shape;

/// A field: the class that declares it and its place among the fields that class declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// The id of its class.
    pub class: u64,
    /// Its place there, from 0.
    pub field: usize,
}

/// The fields by index that references of kind `Field` from instances of `class`, or of kind `StaticField` from
/// the class itself, can name: the first is the lowest index, the second the field at that index and above, in order.
/// None if the shape of `class`, a superclass or an interface is not known, for then the indices are not either.
pub fn field_places<'a>(
    class: u64,
    shape: impl Fn(u64) -> Option<&'a Shape>,
) -> Option<(usize, Vec<FieldPlace>)> {
    let mut line = Vec::new();
    let mut next = class;
    while next != 0 {
        // A class that is its own superclass comes from a damaged table.
        if line.len() > MAX_DEPTH {
            return None;
        }
        let found = shape(next)?;
        line.push(found);
        // An interface names java.lang.Object as its superclass, whose fields it does not have.
        next = if found.interface { 0 } else { found.superclass };
    }

    let mut seen = HashSet::new();
    let mut open: Vec<u64> = line
        .iter()
        .flat_map(|shape| &shape.interfaces)
        .copied()
        .collect();
    let mut first = 0;
    while let Some(interface) = open.pop() {
        if seen.insert(interface) {
            let found = shape(interface)?;
            first += found.fields.len();
            open.extend(&found.interfaces);
        }
    }

    let places = line.iter().rev().flat_map(|shape| {
        (0..shape.fields.len()).map(|field| FieldPlace {
            class: shape.class,
            field,
        })
    });
    Some((first, places.collect()))
}

/// Far above what the class file format allows to be useful.
const MAX_DEPTH: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn shape(class: u64, superclass: u64, interfaces: &[u64], fields: usize) -> Shape {
        Shape {
            class,
            superclass,
            loader: 0,
            interface: false,
            interfaces: interfaces.to_vec(),
            fields: (0..fields)
                .map(|i| Field {
                    name: format!("f{i}"),
                    signature: "I".to_owned(),
                    is_static: false,
                })
                .collect(),
        }
    }

    /// The example of the JVMTI specification: interface I0 { p }, I1 extends I0 { x }, I2 extends I0 { y },
    /// C1 implements I1 { a, b }, C2 extends C1 implements I2 { q, r }.
    #[test]
    fn the_example_of_the_specification_is_numbered_as_there() {
        let mut shapes = [
            shape(1, 0, &[], 0), // java.lang.Object
            shape(10, 1, &[], 1),
            shape(11, 1, &[10], 1),
            shape(12, 1, &[10], 1),
            shape(20, 1, &[11], 2),
            shape(21, 20, &[12], 2),
        ];
        for shape in &mut shapes[1..4] {
            shape.interface = true;
        }
        let find = |class| shapes.iter().find(|shape| shape.class == class);
        let place = |class, field| FieldPlace { class, field };

        assert_eq!(field_places(10, find), Some((0, vec![place(10, 0)])));
        assert_eq!(field_places(11, find), Some((1, vec![place(11, 0)])));
        assert_eq!(
            field_places(20, find),
            Some((2, vec![place(20, 0), place(20, 1)]))
        );
        let own = vec![place(20, 0), place(20, 1), place(21, 0), place(21, 1)];
        assert_eq!(field_places(21, find), Some((3, own)));
    }

    #[test]
    fn a_class_table_with_gaps_or_circles_gives_nothing() {
        let gap = shape(2, 1, &[], 1);
        assert_eq!(field_places(2, |class| (class == 2).then_some(&gap)), None);
        let circle = shape(3, 3, &[], 1);
        assert_eq!(field_places(3, |_| Some(&circle)), None);
    }
}
