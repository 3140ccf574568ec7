//! Small heaps said as data: classes, objects, roots and threads. They are laid out as HotSpot 17 does it with
//! compressed references and written as HPROF records, which a test may put into any order.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::hprof::{Body, Writer};

const HEADER: u64 = 12;
const REFERENCE: u64 = 4;
const ARRAY_BASE: u64 = 16;
const ALIGNMENT: u64 = 8;
/// Fields that the JVM adds to `java.lang.Class` and no dump shows: two pointers, two ints, three references.
const ADDED_TO_CLASS: u64 = 36;
/// A pointer that the JVM adds to every class loader.
const ADDED_TO_LOADER: u64 = 8;
const CLASS: &str = "java.lang.Class";
const LOADER: &str = "java.lang.ClassLoader";

/// An object, or the class object of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    Object(usize),
    Class(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Reference(Option<Item>),
    Boolean(bool),
    Byte(i8),
    Float(f32),
    Int(i32),
}

/// The types that fields have here: none leaves a gap behind it if references and numbers of four bytes come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Reference,
    Boolean,
    Byte,
    Float,
    Int,
}

#[derive(Clone, Debug, Default)]
pub struct Class {
    /// In Java notation: `java.lang.String`, `byte[]`.
    pub name: String,
    pub super_class: Option<usize>,
    /// Numbers of objects; no loader is the boot loader.
    pub loader: Option<usize>,
    pub signers: Option<usize>,
    pub protection_domain: Option<usize>,
    pub fields: Vec<(String, Type)>,
    pub statics: Vec<(String, Value)>,
}

#[derive(Clone, Debug)]
pub struct Object {
    pub class: usize,
    pub contents: Contents,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// The fields of the class, then those of its superclasses.
    Fields(Vec<Value>),
    References(Vec<Option<Item>>),
    Bytes(Vec<u8>),
    Ints(Vec<i32>),
}

/// Why an item is a root. Threads are numbers of [`Heap::threads`], frames are counted from the innermost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    Unknown,
    JniGlobal,
    JniLocal { thread: usize, frame: Option<u32> },
    Local { thread: usize, frame: Option<u32> },
    NativeStack { thread: usize },
    StickyClass,
    ThreadBlock { thread: usize },
    Monitor,
    Thread { thread: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    pub item: Item,
    pub kind: RootKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub class: usize,
    pub method: String,
    pub line: i32,
}

/// A thread; its root says which object it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Innermost first.
    pub frames: Vec<Frame>,
}

#[derive(Clone, Debug, Default)]
pub struct Heap {
    pub classes: Vec<Class>,
    pub objects: Vec<Object>,
    pub roots: Vec<Root>,
    pub threads: Vec<Thread>,
}

/// Where the items of a heap are.
#[derive(Clone, Debug)]
pub struct Addresses {
    objects: Vec<u64>,
    classes: Vec<u64>,
}

impl Addresses {
    pub fn of(&self, item: Item) -> u64 {
        match item {
            Item::Object(object) => self.objects[object],
            Item::Class(class) => self.classes[class],
        }
    }

    fn or_null(&self, item: Option<Item>) -> u64 {
        item.map_or(0, |item| self.of(item))
    }
}

impl Type {
    fn size(self) -> u64 {
        match self {
            Type::Boolean | Type::Byte => 1,
            Type::Reference | Type::Float | Type::Int => 4,
        }
    }

    /// What HPROF calls it.
    fn code(self) -> u8 {
        match self {
            Type::Reference => 2,
            Type::Boolean => 4,
            Type::Float => 6,
            Type::Byte => 8,
            Type::Int => 10,
        }
    }
}

impl Value {
    pub fn ty(self) -> Type {
        match self {
            Value::Reference(_) => Type::Reference,
            Value::Boolean(_) => Type::Boolean,
            Value::Byte(_) => Type::Byte,
            Value::Float(_) => Type::Float,
            Value::Int(_) => Type::Int,
        }
    }

    fn bytes(self, at: &Addresses) -> Vec<u8> {
        match self {
            Value::Reference(item) => at.or_null(item).to_be_bytes().to_vec(),
            Value::Boolean(value) => vec![value.into()],
            Value::Byte(value) => vec![value as u8],
            Value::Float(value) => value.to_be_bytes().to_vec(),
            Value::Int(value) => value.to_be_bytes().to_vec(),
        }
    }
}

impl Heap {
    pub fn items(&self) -> impl Iterator<Item = Item> + use<> {
        let objects = (0..self.objects.len()).map(Item::Object);
        objects.chain((0..self.classes.len()).map(Item::Class))
    }

    /// A class and its superclasses.
    pub fn chain(&self, class: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(class), |&class| self.classes[class].super_class)
    }

    /// The fields of an object's class and its superclasses, in the order of [`Contents::Fields`].
    pub fn fields_of(&self, class: usize) -> impl Iterator<Item = &(String, Type)> + '_ {
        let chain = self.chain(class);
        chain.flat_map(|class| &self.classes[class].fields)
    }

    /// Bytes of an item.
    pub fn size(&self, item: Item) -> u64 {
        let end = match item {
            Item::Class(class) => {
                let classes = self.classes.iter();
                let fields = classes
                    .filter(|class| class.name == CLASS)
                    .flat_map(|class| &class.fields);
                let statics = self.classes[class].statics.iter();
                let own = (HEADER + ADDED_TO_CLASS + total(fields.map(|field| field.1)))
                    .next_multiple_of(ALIGNMENT);
                own + total(statics.map(|field| field.1.ty()))
            }
            Item::Object(object) => {
                let Object { class, contents } = &self.objects[object];
                match contents {
                    Contents::Fields(_) => {
                        let fields = self.fields_of(*class).map(|field| field.1);
                        let is_loader =
                            self.chain(*class).any(|at| self.classes[at].name == LOADER);
                        HEADER + total(fields) + if is_loader { ADDED_TO_LOADER } else { 0 }
                    }
                    Contents::References(items) => ARRAY_BASE + REFERENCE * items.len() as u64,
                    Contents::Bytes(bytes) => ARRAY_BASE + bytes.len() as u64,
                    Contents::Ints(ints) => ARRAY_BASE + 4 * ints.len() as u64,
                }
            }
        };
        end.next_multiple_of(ALIGNMENT)
    }

    /// Puts the items side by side in this order.
    pub fn lay_out(&self, order: &[Item], start: u64) -> Addresses {
        let mut at = Addresses {
            objects: vec![0; self.objects.len()],
            classes: vec![0; self.classes.len()],
        };
        let mut address = start;
        for &item in order {
            match item {
                Item::Object(object) => at.objects[object] = address,
                Item::Class(class) => at.classes[class] = address,
            }
            address += self.size(item);
        }
        at
    }

    /// What an HPROF file of the heap consists of.
    pub fn hprof(&self, at: &Addresses) -> Records {
        let mut writer = RecordWriter::new(self, at);
        (0..self.classes.len()).for_each(|class| writer.load_class(class));
        (0..self.threads.len()).for_each(|thread| writer.stack(thread));
        let classes = (0..self.classes.len()).map(|class| writer.class(class));
        let mut heap: Vec<Body> = classes.collect();
        heap.extend((0..self.objects.len()).map(|object| writer.object(object)));
        heap.extend(self.roots.iter().map(|root| writer.root(root)));
        Records {
            outer: writer.outer,
            heap: heap.into_iter().map(|body| body.0).collect(),
        }
    }

    /// The heap in a few lines, for whoever has to look into a test that failed.
    pub fn show(&self, at: &Addresses) -> String {
        let mut lines: Vec<(u64, String)> = Vec::new();
        for item in self.items() {
            lines.push((at.of(item), Shown(self, at, item).to_string()));
        }
        lines.sort_unstable();
        let mut text: String = lines.into_iter().map(|line| line.1 + "\n").collect();
        for root in &self.roots {
            let _ = writeln!(text, "root {:#x} {:?}", at.of(root.item), root.kind);
        }
        text
    }
}

fn total(types: impl Iterator<Item = Type>) -> u64 {
    types.map(Type::size).sum()
}

/// One item in a line.
struct Shown<'a>(&'a Heap, &'a Addresses, Item);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let &Shown(heap, at, item) = self;
        let value = |value: Value| match value {
            Value::Reference(item) => format!("{:#x}", at.or_null(item)),
            other => format!("{other:?}"),
        };
        write!(f, "{:#x} ", at.of(item))?;
        match item {
            Item::Class(number) => {
                let class = &heap.classes[number];
                write!(f, "class {}", class.name)?;
                let object = |object: Option<usize>| at.or_null(object.map(Item::Object));
                let above = at.or_null(class.super_class.map(Item::Class));
                write!(f, " extends {above:#x} loader {:#x}", object(class.loader))?;
                write!(f, " signers {:#x}", object(class.signers))?;
                write!(f, " domain {:#x}", object(class.protection_domain))?;
                let mut statics = class.statics.iter();
                statics.try_for_each(|(name, of)| write!(f, " {name}={}", value(*of)))
            }
            Item::Object(number) => {
                let object = &heap.objects[number];
                let class = at.classes[object.class];
                write!(f, "{} ({class:#x})", heap.classes[object.class].name)?;
                match &object.contents {
                    Contents::Fields(values) => {
                        let mut fields = heap.fields_of(object.class).zip(values);
                        fields.try_for_each(|((name, _), of)| write!(f, " {name}={}", value(*of)))
                    }
                    Contents::References(items) => {
                        let mut items = items.iter();
                        items.try_for_each(|&item| write!(f, " {:#x}", at.or_null(item)))
                    }
                    other => write!(f, " {other:?}"),
                }
            }
        }
    }
}

/// The records of an HPROF file. Their order within each list means nothing.
#[derive(Clone)]
pub struct Records {
    /// Strings, classes, frames and stack traces.
    pub outer: Vec<Vec<u8>>,
    /// The records within the heap.
    pub heap: Vec<Vec<u8>>,
}

impl Records {
    /// The file, with so many records of the heap in each segment.
    pub fn file(&self, in_segment: usize) -> Vec<u8> {
        let mut writer = Writer::new("JAVA PROFILE 1.0.2", 8);
        let outer = self.outer.iter();
        outer.for_each(|record| writer.bytes.extend(record));
        for segment in self.heap.chunks(in_segment) {
            let segment = segment.concat();
            writer.record_of_length(0x1c, segment.len() as u32, &segment);
        }
        writer.record_of_length(0x2c, 0, &[]);
        writer.bytes
    }
}

struct RecordWriter<'a> {
    heap: &'a Heap,
    at: &'a Addresses,
    writer: Writer,
    strings: BTreeMap<String, u64>,
    outer: Vec<Vec<u8>>,
}

impl<'a> RecordWriter<'a> {
    fn new(heap: &'a Heap, at: &'a Addresses) -> Self {
        let mut writer = Writer::new("", 8);
        writer.bytes.clear();
        RecordWriter {
            heap,
            at,
            writer,
            strings: BTreeMap::new(),
            outer: Vec::new(),
        }
    }

    fn body(&self) -> Body {
        self.writer.body()
    }

    fn record(&mut self, tag: u8, body: Body) {
        self.writer.record(tag, body);
        self.outer.push(std::mem::take(&mut self.writer.bytes));
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.writer.string(text);
        self.outer.push(std::mem::take(&mut self.writer.bytes));
        self.strings.insert(text.to_owned(), id);
        id
    }

    fn load_class(&mut self, class: usize) {
        let name = self.string(&internal_name(&self.heap.classes[class].name));
        let address = self.at.classes[class];
        let body = self.body().u4(serial(class)).id(address).u4(0).id(name);
        self.record(2, body);
    }

    /// The frames of a thread and its stack trace.
    fn stack(&mut self, thread: usize) {
        let mut ids = Vec::new();
        for (depth, frame) in self.heap.threads[thread].frames.iter().enumerate() {
            let id = (serial(thread) as u64) << 16 | depth as u64;
            let names = [frame.method.as_str(), "()V", "Source.java"];
            let [method, signature, source] = names.map(|name| self.string(name));
            let body = self.body().id(id).id(method).id(signature).id(source);
            self.record(4, body.u4(serial(frame.class)).u4(frame.line as u32));
            ids.push(id);
        }
        let body = self.body().u4(serial(thread)).u4(serial(thread));
        let body = body.u4(ids.len() as u32);
        self.record(5, ids.into_iter().fold(body, Body::id));
    }

    fn class(&mut self, number: usize) -> Body {
        let (heap, at) = (self.heap, self.at);
        let class = &heap.classes[number];
        let objects = [class.loader, class.signers, class.protection_domain];
        let [loader, signers, domain] = objects.map(|object| at.or_null(object.map(Item::Object)));
        let above = at.or_null(class.super_class.map(Item::Class));
        let mut statics = Vec::new();
        for (name, value) in &class.statics {
            statics.push((self.string(name), value.ty().code(), value.bytes(at)));
        }
        let statics: Vec<(u64, u8, &[u8])> = statics
            .iter()
            .map(|(name, ty, bytes)| (*name, *ty, &bytes[..]))
            .collect();
        let fields = class.fields.iter();
        let fields: Vec<(u64, u8)> = fields
            .map(|(name, ty)| (self.string(name), ty.code()))
            .collect();
        let linked = [above, loader, signers, domain];
        let body = self.body();
        body.loaded_class(at.classes[number], linked, &statics, &fields)
    }

    fn object(&self, number: usize) -> Body {
        let (at, address) = (self.at, self.at.objects[number]);
        let Object { class, contents } = &self.heap.objects[number];
        let class = at.classes[*class];
        match contents {
            Contents::Fields(values) => {
                let data = values.iter().flat_map(|value| value.bytes(at));
                let data: Vec<u8> = data.collect();
                self.body().instance(address, class, &data)
            }
            Contents::References(items) => {
                let items: Vec<u64> = items.iter().map(|&item| at.or_null(item)).collect();
                self.body().objects(address, class, &items)
            }
            Contents::Bytes(bytes) => {
                let (ty, length) = (Type::Byte.code(), bytes.len() as u32);
                self.body().primitives(address, ty, length, bytes)
            }
            Contents::Ints(ints) => {
                let (ty, length) = (Type::Int.code(), ints.len() as u32);
                let data: Vec<u8> = ints.iter().flat_map(|int| int.to_be_bytes()).collect();
                self.body().primitives(address, ty, length, &data)
            }
        }
    }

    fn root(&self, root: &Root) -> Body {
        let body = |tag: u8| self.body().u1(tag).id(self.at.of(root.item));
        let frame = |frame: Option<u32>| frame.unwrap_or(u32::MAX);
        match root.kind {
            RootKind::Unknown => body(0xff),
            RootKind::JniGlobal => body(0x01).id(1),
            RootKind::JniLocal { thread, frame: at } => body(0x02).u4(serial(thread)).u4(frame(at)),
            RootKind::Local { thread, frame: at } => body(0x03).u4(serial(thread)).u4(frame(at)),
            RootKind::NativeStack { thread } => body(0x04).u4(serial(thread)),
            RootKind::StickyClass => body(0x05),
            RootKind::ThreadBlock { thread } => body(0x06).u4(serial(thread)),
            RootKind::Monitor => body(0x07),
            RootKind::Thread { thread } => body(0x08).u4(serial(thread)).u4(serial(thread)),
        }
    }
}

fn serial(number: usize) -> u32 {
    number as u32 + 1
}

/// `byte[]` is `[B`, `app.Main[]` is `[Lapp/Main;`.
fn internal_name(name: &str) -> String {
    let element = name.trim_end_matches("[]");
    let dimensions = (name.len() - element.len()) / 2;
    let plain = element.replace('.', "/");
    let element = match (dimensions, element) {
        (0, _) => plain,
        (_, "byte") => "B".to_owned(),
        (_, "int") => "I".to_owned(),
        _ => format!("L{plain};"),
    };
    "[".repeat(dimensions) + &element
}
