//! Data structures against what they were made with: elements, capacity, inner parts, bytes and deep sizes.

use crate::cases::{Needs, on_heaps};
use crate::paths::is_held_by;
use anthill_paths::structure_places;
use anthill_testkit::brute_force::{Set, one};

#[test]
fn structures_have_what_they_were_made_with() {
    on_heaps(15, 6000, Needs::Contents, |session, brute_force, case| {
        let structures = session.structures().unwrap();
        for collection in &case.made.collections {
            let node = brute_force.node(collection.object);
            let class = brute_force.class_name(node);
            let number = structures.of_head(node as u32);
            assert_eq!(
                number.is_some(),
                brute_force.live & one(node) != 0,
                "{class} {node}"
            );
            let Some(number) = number else { continue };
            let found = &structures.instances[number as usize];
            let is_entry = collection.array.is_none() || collection.buckets > 0;
            // A null in an array leaves no reference; an entry is there with a null in it, too.
            let elements = match is_entry {
                true => collection.elements,
                false => collection.elements - collection.nulls,
            };
            assert_eq!(found.elements, Some(elements), "elements of {class} {node}");
            let parts = collection.parts.iter();
            let parts: Set = parts.fold(0, |set, &part| set | one(brute_force.node(part)));
            assert_eq!(
                found.internals,
                u64::from(parts.count_ones()),
                "{class} {node}"
            );
            let bytes = brute_force.bytes(parts | one(node));
            assert_eq!(found.bytes, bytes, "bytes of {class} {node}");
            let slots =
                collection
                    .array
                    .map(|array| match &brute_force.heap.objects[array].contents {
                        anthill_testkit::heap::Contents::References(items) => items.len() as u64,
                        other => panic!("{other:?}"),
                    });
            let capacity = slots.map(|slots| slots / collection.slots_each);
            assert_eq!(
                found.capacity.unwrap_or_default(),
                capacity.unwrap_or_default(),
                "capacity of {class} {node}"
            );
            let place = &structure_places(session, &[node as u32]).unwrap()[0];
            is_held_by(brute_force, &place.held_by, node);
            let deep = brute_force.bytes(brute_force.deep(one(node)));
            assert_eq!(place.deep, Some(deep), "deep size of {class} {node}");
        }
    });
}
