//! From the file of a walk to a heap state whose addresses are the objects' identities.
//!
//! A walk names fields by JVMTI's numbers; here they become the fields of classes as dumps have
//! them: a class's own first, superclasses' last.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::{fs, mem};

use anthill_heap::{
    AddressFinder, AddressMap, ArrayLayout, Buffer, Class, ClassId, ClassKind, Field, FieldType,
    Frame, HeapColumns, HeapState, Missing, MissingKind, ObjectId, Offsets, PresentBits,
    RecordedValues, Root, RootOrigin, Sizes, Slots, StackTrace, StaticField, Strength, Tables,
    Thread, Value,
};
use anthill_wire::walk_file::{Record, Records, ReferenceKind, RootFrame, RootKind};
use anthill_wire::{self as wire, FieldPlace, field_places};

use crate::names::{Methods, class_name, field_type, unknown_frame};

/// What the agent said about classes, methods and threads, by its ids.
#[derive(Clone, Default)]
pub(crate) struct ClassTable {
    signatures: BTreeMap<u64, String>,
    shapes: HashMap<u64, wire::Shape>,
    methods: Methods,
    threads: HashMap<u64, String>,
    alignment: u32,
    compressed: Option<bool>,
}

impl ClassTable {
    pub(crate) fn new(hello: &wire::Hello) -> Self {
        ClassTable {
            alignment: hello.object_alignment,
            compressed: hello.compressed_references,
            ..ClassTable::default()
        }
    }

    pub(crate) fn add_class(&mut self, class: &wire::Class) {
        self.signatures.insert(class.id, class.signature.clone());
    }

    pub(crate) fn add_shape(&mut self, shape: wire::Shape) {
        self.shapes.insert(shape.class, shape);
    }

    pub(crate) fn add_method(&mut self, method: &wire::Method) {
        self.methods.add(method.clone());
    }

    pub(crate) fn add_thread(&mut self, thread: &wire::Thread) {
        self.threads.insert(thread.java_id, thread.name.clone());
    }

    fn is_referent(&self, class: u64, field: &wire::Field) -> bool {
        field.name == "referent"
            && self
                .signatures
                .get(&class)
                .is_some_and(|signature| signature == "Ljava/lang/ref/Reference;")
    }
}

/// How the graph of a walk differs from that of a dump.
const WALKED: &str = "this state with the identities of all objects was recorded by walking the heap: unlike a heap dump it has \
    no unreachable objects, it has the class objects of archived classes that are not loaded, and classes \
    also hold what their constant pools refer to";

/// A heap state from a walk.
pub(crate) struct Walk {
    pub state: HeapState,
    pub values: RecordedValues,
}

/// An object as the walk found it.
struct WalkedObject {
    id: u64,
    class: u64,
    size: u64,
    length: i32,
}

/// A reference: from which object, its place among that object's references, and where it leads.
type Slot = (ObjectId, u32, ObjectId);

/// The same without where it leads.
type ReferenceSlot = (ObjectId, u32);

impl Walk {
    pub(crate) fn read(path: &Path, table: &ClassTable) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let named = |error: wire::Malformed| format!("{}: {error}", path.display());
        let mut objects = Vec::new();
        let mut whole = false;
        for record in Records::new(&bytes).map_err(named)? {
            match record.map_err(named)? {
                Record::Object {
                    id,
                    class,
                    size,
                    length,
                } => objects.push(WalkedObject {
                    id,
                    class,
                    size,
                    length,
                }),
                Record::End { .. } => whole = true,
                Record::Reference { .. } | Record::Root { .. } => {}
            }
        }
        if !whole {
            return Err(format!("{}: the walk is not complete", path.display()));
        }
        objects.sort_unstable_by_key(|object| object.id);
        objects.dedup_by_key(|object| object.id);
        let ids: Vec<u64> = objects.iter().map(|object| object.id).collect();
        let (addresses, _) =
            AddressMap::new(&ids).ok_or("there are more objects than a state can hold")?;
        let mut builder = Builder::new(table, &objects, &addresses);
        for record in Records::new(&bytes).map_err(named)? {
            match record.map_err(named)? {
                Record::Reference {
                    kind,
                    from,
                    to,
                    index,
                } => builder.reference(kind, from, to, index),
                Record::Root {
                    kind,
                    object,
                    frame,
                } => builder.root(kind, object, frame),
                Record::Object { .. } | Record::End { .. } => {}
            }
        }
        drop(bytes);
        let (tables, columns, present) = builder.finish(&objects)?;
        let state = HeapState {
            tables,
            columns,
            addresses,
        };
        Ok(Walk {
            values: values(&state, &present),
            state,
        })
    }
}

/// By class: what JVMTI's field numbers mean.
#[derive(Default)]
struct FieldNumbers {
    first: usize,
    /// By number from `first`: what it is, if it is a reference.
    places: Vec<Option<FieldMeaning>>,
}

#[derive(Clone, Copy)]
enum FieldMeaning {
    /// The n-th reference of an instance.
    Slot(u32),
    /// The same, of a class that holds its referent by it.
    Referent(u32),
    /// The n-th static reference of the class.
    Static(u32),
}

struct Builder<'a> {
    table: &'a ClassTable,
    finder: AddressFinder<'a>,
    class_ids: HashMap<u64, ClassId>,
    classes: Vec<Class>,
    fields: Vec<FieldNumbers>,
    object_classes: Vec<ClassId>,
    details: Vec<u32>,
    slots: Vec<Slot>,
    referents: Vec<Slot>,
    roots: Vec<Root>,
    threads: Threads,
}

impl<'a> Builder<'a> {
    fn new(table: &'a ClassTable, objects: &[WalkedObject], addresses: &'a AddressMap) -> Self {
        let finder = addresses.finder();
        let mut class_ids: HashMap<u64, ClassId> = HashMap::new();
        let mut classes = Vec::new();
        for (&id, signature) in &table.signatures {
            class_ids.insert(id, classes.len() as ClassId);
            let name = class_name(signature);
            let kind = ClassKind::of_class(&name);
            let mut class = Class::new(name, kind);
            class.mirror = finder.find(id);
            classes.push(class);
        }
        let unknown = classes.len() as ClassId;
        classes.push(Class {
            described: false,
            ..Class::new("(unknown class)".to_owned(), ClassKind::Instance)
        });
        describe(table, &class_ids, &mut classes, &finder);
        let fields = table
            .signatures
            .keys()
            .zip(&classes)
            .map(|(&id, class)| field_numbers(table, id, class.reference.is_some()))
            .chain([FieldNumbers::default()])
            .collect();
        let object_classes: Vec<ClassId> = objects
            .iter()
            .map(|object| class_ids.get(&object.class).copied().unwrap_or(unknown))
            .collect();
        let details = objects
            .iter()
            .zip(&object_classes)
            .map(|(object, &class)| match classes[class as usize].kind {
                ClassKind::Instance => 0,
                ClassKind::Variable => (object.size / 8) as u32,
                ClassKind::Array(_) => object.length.max(0) as u32,
                ClassKind::Mirror => class_ids.get(&object.id).copied().unwrap_or(u32::MAX),
            })
            .collect();
        Builder {
            table,
            finder,
            class_ids,
            classes,
            fields,
            object_classes,
            details,
            slots: Vec::new(),
            referents: Vec::new(),
            roots: Vec::new(),
            threads: Threads::default(),
        }
    }

    fn reference(&mut self, kind: ReferenceKind, from: u64, to: u64, index: i32) {
        let (Some(referrer), Some(object)) = (self.finder.find(from), self.finder.find(to)) else {
            return;
        };
        let index = index.max(0) as usize;
        let class = self.class_ids.get(&from).copied();
        match kind {
            ReferenceKind::Field => {
                let of = self.object_classes[referrer as usize];
                match self.meaning(of, index) {
                    Some(FieldMeaning::Slot(slot)) => self.slots.push((referrer, slot, object)),
                    Some(FieldMeaning::Referent(slot)) => {
                        self.referents.push((referrer, slot, object));
                    }
                    Some(FieldMeaning::Static(_)) | None => {}
                }
            }
            ReferenceKind::Element => self.slots.push((referrer, index as u32, object)),
            ReferenceKind::StaticField => {
                let Some(class) = class else { return };
                if let Some(FieldMeaning::Static(field)) = self.meaning(class, index) {
                    let statics = &mut self.classes[class as usize].statics;
                    statics[field as usize].value = Value::Object(to);
                    self.slots.push((referrer, field, object));
                }
            }
            ReferenceKind::ConstantPool => {
                let statics = class.map_or(0, |class| self.classes[class as usize].statics.len());
                let slot = (statics + index) as u32;
                self.slots.push((referrer, slot, object));
            }
            ReferenceKind::ClassLoader => self.set(class, |class| class.loader = Some(object)),
            ReferenceKind::Signers => self.set(class, |class| class.signers = Some(object)),
            ReferenceKind::ProtectionDomain => {
                self.set(class, |class| class.protection_domain = Some(object));
            }
            ReferenceKind::Superclass | ReferenceKind::Interface | ReferenceKind::Other => {}
        }
    }

    fn set(&mut self, class: Option<ClassId>, set: impl FnOnce(&mut Class)) {
        if let Some(class) = class {
            set(&mut self.classes[class as usize]);
        }
    }

    fn meaning(&self, class: ClassId, index: usize) -> Option<FieldMeaning> {
        let numbers = &self.fields[class as usize];
        let place = index.checked_sub(numbers.first)?;
        numbers.places.get(place).copied().flatten()
    }

    fn root(&mut self, kind: RootKind, object: u64, frame: Option<RootFrame>) {
        let Some(object) = self.finder.find(object) else {
            return;
        };
        let origin = match kind {
            RootKind::JniGlobal => RootOrigin::JniGlobal,
            RootKind::SystemClass => RootOrigin::StickyClass,
            RootKind::Monitor => RootOrigin::MonitorUsed,
            RootKind::StackLocal => RootOrigin::JavaFrame,
            RootKind::JniLocal => RootOrigin::JniLocal,
            RootKind::Thread => RootOrigin::ThreadObject,
            RootKind::Other => RootOrigin::Unknown,
        };
        let thread = match (&frame, kind) {
            (Some(frame), _) => {
                let of = self.finder.find(frame.thread_object);
                Some(self.threads.at(frame, of, self.table))
            }
            (None, RootKind::Thread) => Some(self.threads.of_object(object)),
            (None, _) => None,
        };
        let depth = frame.and_then(|frame| u32::try_from(frame.depth).ok());
        self.roots.push(Root {
            object,
            origin,
            thread,
            frame: depth,
        });
    }

    /// The tables, the columns, and which slots of which objects have references.
    fn finish(
        mut self,
        objects: &[WalkedObject],
    ) -> Result<(Tables, HeapColumns, Vec<ReferenceSlot>), String> {
        for slots in [&mut self.slots, &mut self.referents] {
            slots.sort_unstable();
            slots.dedup_by_key(|&mut (object, slot, _)| (object, slot));
        }
        let slots = self.slots.iter().chain(&self.referents);
        let mut present: Vec<ReferenceSlot> = slots.map(|slot| (slot.0, slot.1)).collect();
        present.sort_unstable();
        let sizes = sizes(objects, &self.object_classes, &self.classes, self.table);
        let mut counts = Buffer::zeroed(objects.len() + 1);
        for (object, ..) in &self.slots {
            counts[*object as usize] += 1u32;
        }
        let offsets = Offsets::from_counts(counts).ok_or("there are too many references")?;
        let referrers: Vec<u32> = self.referents.iter().map(|slot| slot.0).collect();
        let referents: Vec<u32> = self.referents.iter().map(|slot| slot.2).collect();
        let references: Vec<u32> = self.slots.iter().map(|slot| slot.2).collect();
        let columns = HeapColumns {
            classes: mem::take(&mut self.object_classes).into(),
            details: mem::take(&mut self.details).into(),
            offsets,
            references: references.into(),
            referrers_by_referent: referrers.into(),
            referents: referents.into(),
        };
        let mut tables = Tables {
            classes: self.classes,
            roots: self.roots,
            sizes: Some(sizes),
            layout: "sizes as reported by the JVM".to_owned(),
            missing: vec![Missing {
                kind: MissingKind::OtherGraph,
                offset: None,
                amount: 0,
                what: WALKED.to_owned(),
            }],
            ..Tables::default()
        };
        self.threads.into_tables(&mut tables);
        Ok((tables, columns, present))
    }
}

/// Which references are there, of all that objects could have; `present` in the order of objects and slots.
fn values(state: &HeapState, present: &[ReferenceSlot]) -> RecordedValues {
    let slots = Slots::new(state);
    let mut bits = PresentBits::default();
    let objects = state.columns.classes.iter().zip(&*state.columns.details);
    let mut rest = present;
    for (object, (&class, &detail)) in (0..).zip(objects) {
        let own = rest.iter().take_while(|(of, _)| *of == object).count();
        let (own, others) = rest.split_at(own);
        rest = others;
        let mut own = own.iter().map(|&(_, slot)| u64::from(slot)).peekable();
        // Class objects have slots of their own, which are not among these.
        let (count, _) = slots.of(class, detail);
        bits.object((0..count).map(|slot| own.next_if_eq(&slot).is_some()));
    }
    RecordedValues {
        id_size: 8,
        present: Some(bits.words().into()),
        contents: None,
    }
}

/// Superclasses, loaders and fields.
fn describe(
    table: &ClassTable,
    class_ids: &HashMap<u64, ClassId>,
    classes: &mut [Class],
    finder: &AddressFinder,
) {
    for (id, &class) in class_ids {
        let Some(shape) = table.shapes.get(id) else {
            continue;
        };
        let superclass = class_ids.get(&shape.superclass).copied();
        let class = &mut classes[class as usize];
        class.super_class = superclass.filter(|_| !shape.interface || shape.superclass != 0);
        class.loader = finder.find(shape.loader);
        for field in &shape.fields {
            let ty = field_type(&field.signature);
            if field.is_static {
                let name = field.name.clone();
                // What the walk does not tell is null; values of primitive types are left out.
                if ty == FieldType::Object {
                    let value = Value::Object(0);
                    class.statics.push(StaticField { name, value });
                }
            } else {
                let name = field.name.clone();
                class.fields.push(Field { name, ty });
            }
        }
    }
    for class in 0..classes.len() {
        classes[class].reference = strength(classes, class);
    }
}

/// Of the class itself or the nearest superclass that has one.
fn strength(classes: &[Class], class: usize) -> Option<Strength> {
    let mut next = Some(class);
    let mut steps = 0;
    while let Some(class) = next.filter(|_| steps <= classes.len()) {
        if let Some(strength) = Strength::of_class(&classes[class].name) {
            return Some(strength);
        }
        next = classes[class].super_class.map(|class| class as usize);
        steps += 1;
    }
    None
}

fn field_numbers(table: &ClassTable, id: u64, weak: bool) -> FieldNumbers {
    let Some((first, places)) = field_places(id, |id| table.shapes.get(&id)) else {
        return FieldNumbers::default();
    };
    let mut line: Vec<u64> = places.iter().map(|place| place.class).collect();
    line.dedup();
    let mut meanings = HashMap::new();
    let mut slots = 0;
    // A class's own fields come first, as in dumps.
    for &class in line.iter().rev() {
        let shape = &table.shapes[&class];
        let mut statics = 0;
        let references = shape
            .fields
            .iter()
            .enumerate()
            .filter(|(_, field)| field_type(&field.signature) == FieldType::Object);
        for (index, field) in references {
            let meaning = if field.is_static {
                statics += 1;
                FieldMeaning::Static(statics - 1)
            } else {
                slots += 1;
                if weak && table.is_referent(class, field) {
                    FieldMeaning::Referent(slots - 1)
                } else {
                    FieldMeaning::Slot(slots - 1)
                }
            };
            meanings.insert((class, index), meaning);
        }
    }
    let meaning = |place: &FieldPlace| {
        let meaning = meanings.get(&(place.class, place.field)).copied();
        // Static fields of superclasses are told by their own class objects.
        meaning.filter(|meaning| place.class == id || !matches!(meaning, FieldMeaning::Static(_)))
    };
    FieldNumbers {
        first,
        places: places.iter().map(meaning).collect(),
    }
}

/// Sizes as they were seen; classes without objects have none.
fn sizes(
    objects: &[WalkedObject],
    object_classes: &[ClassId],
    classes: &[Class],
    table: &ClassTable,
) -> Sizes {
    let mut instances = vec![0; classes.len()];
    let mut mirrors = vec![0; classes.len()];
    let class_of_id: HashMap<u64, usize> = table.signatures.keys().copied().zip(0..).collect();
    let reference_size = if table.compressed == Some(false) {
        8
    } else {
        4
    };
    let alignment = match table.alignment {
        0 => 8,
        alignment => alignment.next_power_of_two(),
    };
    let mut arrays = ArrayLayout {
        bases: [16; 9],
        reference_size,
        alignment,
    };
    let mut fits = [ARRAY_BASES.map(|_| true); 9];
    for (object, &class) in objects.iter().zip(object_classes) {
        match classes[class as usize].kind {
            ClassKind::Instance | ClassKind::Variable => {
                instances[class as usize] = object.size as u32;
            }
            ClassKind::Mirror => {
                if let Some(&of) = class_of_id.get(&object.id) {
                    mirrors[of] = object.size as u32;
                }
                instances[class as usize] = object.size as u32;
            }
            ClassKind::Array(element) => {
                for (base, fits) in ARRAY_BASES.iter().zip(&mut fits[element as usize]) {
                    arrays.bases[element as usize] = *base;
                    *fits &= arrays.size(element, object.length.max(0) as u32) == object.size;
                }
            }
        }
    }
    // Where several fit, it is the one that fits most types of elements.
    let common = |base: usize| fits.iter().filter(|fits| fits[base]).count();
    for (element, fits) in fits.iter().enumerate() {
        let best = (0..ARRAY_BASES.len())
            .filter(|&base| fits[base])
            .max_by_key(|&base| common(base));
        arrays.bases[element] = best.map_or(16, |base| ARRAY_BASES[base]);
    }
    Sizes {
        instances,
        mirrors,
        arrays,
    }
}

/// Where the elements of an array can begin, with and without compressed class pointers and headers.
const ARRAY_BASES: [u32; 4] = [16, 12, 20, 24];

/// The threads that roots name, with as much of their stacks as roots tell.
#[derive(Default)]
struct Threads {
    threads: Vec<Thread>,
    by_object: HashMap<ObjectId, u32>,
    by_id: HashMap<u64, u32>,
    /// By thread: the frames by depth.
    stacks: Vec<BTreeMap<usize, Frame>>,
}

impl Threads {
    fn add(&mut self, object: Option<ObjectId>) -> u32 {
        let number = self.threads.len() as u32;
        self.threads.push(Thread {
            serial: number + 1,
            object,
            name: None,
            trace: None,
        });
        self.stacks.push(BTreeMap::new());
        if let Some(object) = object {
            self.by_object.insert(object, number);
        }
        number
    }

    fn of_object(&mut self, object: ObjectId) -> u32 {
        match self.by_object.get(&object) {
            Some(&number) => number,
            None => self.add(Some(object)),
        }
    }

    /// The thread of a frame, which is taken in.
    fn at(&mut self, frame: &RootFrame, object: Option<ObjectId>, table: &ClassTable) -> u32 {
        let known = self.by_id.get(&frame.thread).copied();
        let number = known.unwrap_or_else(|| match object {
            Some(object) => self.of_object(object),
            None => self.add(None),
        });
        self.by_id.insert(frame.thread, number);
        let thread = &mut self.threads[number as usize];
        if thread.name.is_none() {
            thread.name = table.threads.get(&frame.thread).cloned();
        }
        // A damaged depth must not make a stack of billions.
        if let Some(depth) = usize::try_from(frame.depth)
            .ok()
            .filter(|&depth| depth < DEEPEST)
        {
            self.stacks[number as usize]
                .entry(depth)
                .or_insert_with(|| table.methods.frame(frame.method, frame.location));
        }
        number
    }

    fn into_tables(mut self, tables: &mut Tables) {
        for (thread, stack) in self.threads.iter_mut().zip(self.stacks) {
            let Some(deepest) = stack.keys().next_back() else {
                continue;
            };
            let first = tables.frames.len() as u32;
            let frames = (0..=*deepest).map(|depth| stack.get(&depth).cloned());
            tables
                .frames
                .extend(frames.map(|frame| frame.unwrap_or_else(unknown_frame)));
            thread.trace = Some(tables.traces.len() as u32);
            tables.traces.push(StackTrace {
                serial: thread.serial,
                thread_serial: thread.serial,
                frames: (first..tables.frames.len() as u32).collect(),
            });
        }
        tables.threads = self.threads;
    }
}

const DEEPEST: usize = 100_000;
