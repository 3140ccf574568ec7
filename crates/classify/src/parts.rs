//! Instance health: the bytes of an object as four parts (Mitchell and Sevitsky, as told by
//! Weninger et al. 2018, section 5.3.2).

use anthill_graph::Graph;
use anthill_heap::{Class, ClassKind, FieldType, HeapState, ObjectId, Value};

/// How many parts an object has.
pub(crate) const COUNT: usize = 4;

/// The parts by name. Primitives are fields and elements that are no references, pointers are
/// references to something, nulls references to nothing. The header is all else: what the JVM
/// itself needs, gaps and padding included.
pub(crate) const NAMES: [&str; COUNT] = ["header", "primitive", "pointer", "null"];

/// What an object of a class has in its fields, or an array per element.
#[derive(Clone, Copy, Default)]
struct SlotCounts {
    primitive: u64,
    references: u64,
    nulls: u64,
}

impl SlotCounts {
    fn add(&mut self, ty: FieldType) {
        match ty {
            FieldType::Object => self.references += 1,
            primitive => self.primitive += u64::from(primitive.size(0)),
        }
    }

    fn times(self, count: u64) -> Self {
        SlotCounts {
            primitive: self.primitive * count,
            references: self.references * count,
            nulls: self.nulls * count,
        }
    }
}

/// Tells the parts of objects.
pub(crate) struct Parts<'a> {
    graph: &'a Graph<'a>,
    /// By class: what its instances have, or its arrays per element.
    instances: Vec<SlotCounts>,
    /// By class: what its class object has.
    statics: Vec<SlotCounts>,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(graph: &'a Graph<'a>) -> Self {
        let state = graph.state;
        let classes = 0..state.classes().len() as u32;
        Parts {
            graph,
            instances: classes.map(|class| instance(state, class)).collect(),
            statics: state.classes().iter().map(statics).collect(),
        }
    }

    /// The bytes of the parts, in the order of [`NAMES`]; together the bytes of the object.
    pub(crate) fn of(&self, object: ObjectId, bytes: u64) -> [u64; COUNT] {
        let mut left = bytes;
        let mut take = |bytes: u64| {
            let taken = bytes.min(left);
            left -= taken;
            taken
        };
        let content = self.content(object);
        let reference = u64::from(self.graph.reference_size());
        let primitive = take(content.primitive);
        let pointer = take((content.references - content.nulls) * reference);
        let null = take(content.nulls * reference);
        [left, primitive, pointer, null]
    }

    fn content(&self, object: ObjectId) -> SlotCounts {
        let state = self.graph.state;
        if let Some(class) = state.mirrored(object) {
            return self.statics[class as usize];
        }
        let elements = state.array_length(object).map_or(1, u64::from);
        let mut content = self.instances[state.class_id(object) as usize].times(elements);
        let held = state.references(object).len() + usize::from(state.referent(object).is_some());
        content.nulls = content.references.saturating_sub(held as u64);
        content
    }
}

fn instance(state: &HeapState, class: u32) -> SlotCounts {
    let mut content = SlotCounts::default();
    match state.classes()[class as usize].kind {
        ClassKind::Array(element) => content.add(element),
        ClassKind::Instance | ClassKind::Variable => {
            let declared = state
                .superclasses(class)
                .flat_map(|class| &state.classes()[class as usize].fields);
            declared.for_each(|field| content.add(field.ty));
        }
        // The dump has no fields of class objects but the static ones of the class they stand for.
        ClassKind::Mirror => {}
    }
    content
}

fn statics(class: &Class) -> SlotCounts {
    let mut content = SlotCounts::default();
    for field in &class.statics {
        content.add(field.value.field_type());
        content.nulls += u64::from(field.value == Value::Object(0));
    }
    content
}

#[cfg(test)]
mod tests {
    use anthill_graph::Convention;
    use anthill_heap::{Field, HeapBuilder, StaticField, Strength};

    use super::*;

    #[test]
    fn parts_of_a_small_heap_counted_by_hand() {
        let mut heap = HeapBuilder::new();
        heap.object("node", "Node", 32);
        heap.object("array", "Object[]", 0);
        heap.reference("soft", Strength::Soft, "node");
        heap.class_object("class", "Node");
        heap.edges("node -> array, array -> node node");
        heap.root("node");
        let mut state = heap.build();
        let field = |name: &str, ty| Field {
            name: name.to_owned(),
            ty,
        };
        for class in &mut state.tables.classes {
            match class.name.as_str() {
                // 12 bytes of header, 4 + 1 of primitives, 2 × 4 of references: 25, padded to 32.
                "Node" => {
                    class.fields = vec![
                        field("hash", FieldType::Int),
                        field("red", FieldType::Boolean),
                        field("key", FieldType::Object),
                        field("next", FieldType::Object),
                    ];
                    let value = |value| StaticField {
                        name: String::new(),
                        value,
                    };
                    class.statics = vec![
                        value(Value::Long(1)),
                        value(Value::Object(0)),
                        value(Value::Object(0x1000)),
                    ];
                }
                "Object[]" => class.kind = ClassKind::Array(FieldType::Object),
                "java.lang.ref.SoftReference" => {
                    class.fields = vec![
                        field("referent", FieldType::Object),
                        field("queue", FieldType::Object),
                    ];
                }
                _ => {}
            }
        }
        let mut details = state.columns.details.to_vec();
        details[heap.id("array") as usize] = 5;
        state.columns.details = details.into();
        let sizes = state.tables.sizes.clone().unwrap();
        let graph = Graph::new(&state, &sizes, Convention::DEFAULT);
        let parts = Parts::new(&graph);
        let of = |name: &str| {
            let object = heap.id(name);
            parts.of(object, graph.size(object))
        };
        assert_eq!(of("node"), [32 - 5 - 8, 5, 4, 4]);
        // 16 bytes before the elements, 5 × 4 of them, padded to 40.
        assert_eq!(of("array"), [20, 0, 2 * 4, 3 * 4]);
        assert_eq!(of("soft"), [48 - 8, 0, 4, 4]);
        assert_eq!(of("class"), [96 - 16, 8, 4, 4]);
    }
}
