//! The heap state of a description, put together by the builder and not by any reader.

use anthill_heap::{
    AddressMap, ArrayLayout, Class, ClassKind, Field, FieldType, Frame, HeapBuilder, HeapState,
    PresentBits, RecordedValues, Root, RootOrigin, Sizes, StackTrace, StaticField, Strength,
    Thread, Value,
};
use anthill_testkit::heap::{self, Contents, Item, RootKind, Type};

use anthill_testkit::brute_force::{BruteForce, Kind, thread_of};

/// Number of [`heap::Heap::classes`] → the name of the class in the builder, where names are unique.
fn builder_name(brute_force: &BruteForce, class: usize) -> String {
    let name = &brute_force.heap.classes[class].name;
    match name.as_str() {
        "java.lang.Class" | "byte[]" | "int[]" => name.clone(),
        array if array.ends_with("[]") => format!("c{class}[]"),
        _ => format!("c{class}"),
    }
}

pub(crate) fn state(brute_force: &BruteForce) -> HeapState {
    let mut builder = HeapBuilder::new();
    let classes = 0..brute_force.heap.classes.len();
    let of_twin: Vec<u32> = classes
        .clone()
        .map(|class| builder.class(&builder_name(brute_force, class), 0))
        .collect();
    for node in 0..brute_force.objects() {
        add_object(&mut builder, brute_force, node);
    }
    for edge in brute_force
        .edges
        .iter()
        .filter(|edge| edge.kind == Kind::Reference)
    {
        builder.edges(&format!("{} -> {}", edge.from, edge.to));
    }
    let mut state = builder.build();
    let addresses: Vec<u64> = (0..brute_force.objects())
        .map(|node| brute_force.at.of(brute_force.item(node).unwrap()))
        .collect();
    state.addresses = AddressMap::new(&addresses).unwrap().0;
    let referents =
        (0..brute_force.objects()).filter_map(|node| Some((node, brute_force.referent(node)?.0)));
    let (from, to): (Vec<u32>, Vec<u32>) =
        referents.map(|(from, to)| (from as u32, to as u32)).unzip();
    state.columns.referrers_by_referent = from.into();
    state.columns.referents = to.into();
    for class in classes {
        let known = &mut state.tables.classes[of_twin[class] as usize];
        complete(brute_force, class, known, &of_twin);
    }
    state.tables.sizes = Some(sizes(brute_force, &of_twin));
    add_threads(&mut state, brute_force);
    state
}

/// Which fields and elements are null, so that references have names.
pub(crate) fn values(brute_force: &BruteForce) -> RecordedValues {
    let mut bits = PresentBits::default();
    for node in 0..brute_force.objects() {
        let present = |value: &heap::Value| match value {
            heap::Value::Reference(item) => Some(item.is_some()),
            _ => None,
        };
        match brute_force.object(node).map(|object| &object.contents) {
            Some(Contents::Fields(values)) => bits.object(values.iter().filter_map(present)),
            Some(Contents::References(items)) => bits.object(items.iter().map(Option::is_some)),
            Some(Contents::Bytes(_) | Contents::Ints(_)) | None => bits.object([]),
        }
    }
    RecordedValues {
        id_size: 8,
        present: Some(bits.words().into()),
        contents: None,
    }
}

fn add_object(builder: &mut HeapBuilder, brute_force: &BruteForce, node: usize) {
    let name = node.to_string();
    match brute_force.item(node).unwrap() {
        Item::Class(class) => drop(builder.class_object(&name, &builder_name(brute_force, class))),
        Item::Object(object) => {
            let object = &brute_force.heap.objects[object];
            let class = builder_name(brute_force, object.class);
            match &object.contents {
                Contents::Fields(_) => drop(builder.object(&name, &class, 0)),
                Contents::References(items) => {
                    builder.array(&name, &class, items.len() as u32);
                }
                Contents::Bytes(bytes) => drop(builder.array(&name, &class, bytes.len() as u32)),
                Contents::Ints(ints) => drop(builder.array(&name, &class, ints.len() as u32)),
            }
        }
    }
}

fn field_type(ty: Type) -> FieldType {
    match ty {
        Type::Reference => FieldType::Object,
        Type::Boolean => FieldType::Boolean,
        Type::Byte => FieldType::Byte,
        Type::Float => FieldType::Float,
        Type::Int => FieldType::Int,
    }
}

/// Fills in what the builder does not know of a class.
fn complete(brute_force: &BruteForce, number: usize, known: &mut Class, of_twin: &[u32]) {
    let class = &brute_force.heap.classes[number];
    let object = |object: Option<usize>| object.map(|object| brute_force.node(object) as u32);
    known.name = class.name.clone();
    known.kind = ClassKind::of_class(&class.name);
    known.super_class = class.super_class.map(|above| of_twin[above]);
    known.loader = object(class.loader);
    known.signers = object(class.signers);
    known.protection_domain = object(class.protection_domain);
    let fields = class.fields.iter().map(|(name, ty)| Field {
        name: name.clone(),
        ty: field_type(*ty),
    });
    known.fields = fields.collect();
    let value = |value: heap::Value| match value {
        heap::Value::Reference(item) => {
            Value::Object(item.map_or(0, |item| brute_force.at.of(item)))
        }
        heap::Value::Boolean(value) => Value::Boolean(value),
        heap::Value::Byte(value) => Value::Byte(value),
        heap::Value::Float(value) => Value::Float(value),
        heap::Value::Int(value) => Value::Int(value),
    };
    let statics = class.statics.iter().map(|(name, of)| StaticField {
        name: name.clone(),
        value: value(*of),
    });
    known.statics = statics.collect();
    let mut chain = brute_force.heap.chain(number);
    known.reference = chain.find_map(|at| Strength::of_class(&brute_force.heap.classes[at].name));
}

fn sizes(brute_force: &BruteForce, of_twin: &[u32]) -> Sizes {
    let mut sizes = Sizes {
        instances: vec![0; of_twin.len()],
        mirrors: vec![0; of_twin.len()],
        arrays: ArrayLayout {
            bases: [16; 9],
            reference_size: 4,
            alignment: 8,
        },
    };
    for node in 0..brute_force.objects() {
        let size = brute_force.size(node) as u32;
        match brute_force.item(node).unwrap() {
            Item::Class(class) => sizes.mirrors[of_twin[class] as usize] = size,
            Item::Object(object) => {
                let object = &brute_force.heap.objects[object];
                if matches!(object.contents, Contents::Fields(_)) {
                    sizes.instances[of_twin[object.class] as usize] = size;
                }
            }
        }
    }
    sizes
}

fn root_origin(kind: RootKind) -> RootOrigin {
    match kind {
        RootKind::Unknown => RootOrigin::Unknown,
        RootKind::JniGlobal => RootOrigin::JniGlobal,
        RootKind::JniLocal { .. } => RootOrigin::JniLocal,
        RootKind::Local { .. } => RootOrigin::JavaFrame,
        RootKind::NativeStack { .. } => RootOrigin::NativeStack,
        RootKind::StickyClass => RootOrigin::StickyClass,
        RootKind::ThreadBlock { .. } => RootOrigin::ThreadBlock,
        RootKind::Monitor => RootOrigin::MonitorUsed,
        RootKind::Thread { .. } => RootOrigin::ThreadObject,
    }
}

fn add_threads(state: &mut HeapState, brute_force: &BruteForce) {
    let tables = &mut state.tables;
    for (number, thread) in brute_force.heap.threads.iter().enumerate() {
        let first = tables.frames.len() as u32;
        tables
            .frames
            .extend(thread.frames.iter().map(|frame| Frame {
                class: brute_force.heap.classes[frame.class].name.clone(),
                method: frame.method.clone(),
                signature: "()V".to_owned(),
                source: Some("Source.java".to_owned()),
                line: frame.line,
            }));
        let serial = number as u32 + 1;
        tables.traces.push(StackTrace {
            serial,
            thread_serial: serial,
            frames: (first..tables.frames.len() as u32).collect(),
        });
        let object = brute_force.thread(number);
        let name = brute_force.field_node(object, "name");
        tables.threads.push(Thread {
            serial,
            object: Some(object as u32),
            name: name.and_then(|name| brute_force.text(name)),
            trace: Some(number as u32),
        });
    }
    tables.roots = brute_force
        .heap
        .roots
        .iter()
        .map(|root| Root {
            object: brute_force.number(root.item) as u32,
            origin: root_origin(root.kind),
            thread: thread_of(root.kind).map(|thread| thread as u32),
            frame: match root.kind {
                RootKind::JniLocal { frame, .. } | RootKind::Local { frame, .. } => frame,
                _ => None,
            },
        })
        .collect();
    let assumed = anthill_testkit::brute_force::nodes(brute_force.assumed_roots());
    tables.roots.extend(assumed.map(|node| Root {
        object: node as u32,
        origin: RootOrigin::Assumed,
        thread: None,
        frame: None,
    }));
}
