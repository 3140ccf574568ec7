//! Small heaps whose answers a person can derive, written as HPROF files.

use std::path::Path;

use anthill_testkit::hprof::{Body, Writer};

use crate::program::scratch;

const OBJECT: u8 = 2;
const BYTE: u8 = 8;
pub const INT: u8 = 10;

/// Bytes of a header with compressed class pointers.
const HEADER: u64 = 12;

/// What a class is made of.
#[derive(Default)]
pub struct Class<'a> {
    /// `java.lang.Object` if it is 0.
    pub extends: u64,
    /// The boot loader if it is 0.
    pub loader: u64,
    pub statics: &'a [(&'a str, u64)],
    /// References, then fields of other types with their codes.
    pub fields: &'a [&'a str],
    pub others: &'a [(&'a str, u8)],
}

impl<'a> Class<'a> {
    pub fn with_fields(fields: &'a [&'a str]) -> Self {
        Class {
            fields,
            ..Class::default()
        }
    }

    pub fn with_statics(statics: &'a [(&'a str, u64)]) -> Self {
        Class {
            statics,
            ..Class::default()
        }
    }
}

pub struct Heap {
    writer: Writer,
    heap: Body,
    last: u64,
    objects: u64,
    pub object_class: u64,
}

impl Heap {
    /// A heap with the classes that every JVM has. `java.lang.Object` is a root; there is no other.
    pub fn new() -> Self {
        let mut heap = Heap::without_loaders();
        heap.class("java/lang/ClassLoader", Class::default());
        heap
    }

    /// The same without `java.lang.ClassLoader`.
    pub fn without_loaders() -> Self {
        let writer = Writer::new("JAVA PROFILE 1.0.2", 8);
        let mut heap = Heap {
            heap: writer.body(),
            writer,
            last: 0x7f00_0000,
            objects: 0,
            object_class: 0,
        };
        heap.object_class = heap.class("java/lang/Object", Class::default());
        heap.class("java/lang/Class", Class::default());
        heap.sticky(heap.object_class);
        heap
    }

    /// The address of an object that is written later and has so many references.
    pub fn address(&mut self, references: usize) -> u64 {
        self.reserve(HEADER + 4 * references as u64)
    }

    /// Objects lie side by side, as those of a JVM with compressed references do.
    fn reserve(&mut self, bytes: u64) -> u64 {
        let address = self.last;
        self.last += bytes.next_multiple_of(8);
        address
    }

    /// How many objects there are, class objects included.
    pub fn objects(&self) -> u64 {
        self.objects
    }

    fn add(&mut self, write: impl FnOnce(Body) -> Body) {
        let before = std::mem::replace(&mut self.heap, self.writer.body());
        self.heap = write(before);
    }

    pub fn class(&mut self, name: &str, class: Class) -> u64 {
        let id = self.reserve(96 + 4 * class.statics.len() as u64);
        self.writer.load_class(id, name);
        let values: Vec<[u8; 8]> = class.statics.iter().map(|of| of.1.to_be_bytes()).collect();
        let statics: Vec<(u64, u8, &[u8])> = class
            .statics
            .iter()
            .zip(&values)
            .map(|((name, _), value)| (self.writer.string(name), OBJECT, &value[..]))
            .collect();
        let fields: Vec<(u64, u8)> = class
            .fields
            .iter()
            .map(|&name| (name, OBJECT))
            .chain(class.others.iter().copied())
            .map(|(name, code)| (self.writer.string(name), code))
            .collect();
        let extends = match class.extends {
            0 => self.object_class,
            extends => extends,
        };
        self.add(|heap| heap.loaded_class(id, [extends, class.loader, 0, 0], &statics, &fields));
        self.objects += 1;
        id
    }

    /// `java.lang.String` as it is since JDK 9.
    pub fn string_class(&mut self) -> u64 {
        let class = Class {
            fields: &["value"],
            others: &[("coder", BYTE)],
            ..Class::default()
        };
        self.class("java/lang/String", class)
    }

    pub fn string(&mut self, class: u64, array: u64) -> u64 {
        self.instance_with(class, &[array], &[0])
    }

    pub fn instance(&mut self, class: u64, fields: &[u64]) -> u64 {
        self.instance_with(class, fields, &[])
    }

    /// With bytes of fields that are no references.
    pub fn instance_with(&mut self, class: u64, fields: &[u64], others: &[u8]) -> u64 {
        let id = self.reserve(HEADER + 4 * fields.len() as u64 + others.len() as u64);
        self.write_instance(id, class, fields, others);
        id
    }

    pub fn instance_at(&mut self, id: u64, class: u64, fields: &[u64]) {
        self.write_instance(id, class, fields, &[]);
    }

    fn write_instance(&mut self, id: u64, class: u64, fields: &[u64], others: &[u8]) {
        let mut data: Vec<u8> = fields.iter().flat_map(|to| to.to_be_bytes()).collect();
        data.extend(others);
        self.add(|heap| heap.instance(id, class, &data));
        self.objects += 1;
    }

    pub fn array(&mut self, class: u64, elements: &[u64]) -> u64 {
        let id = self.reserve(16 + 4 * elements.len() as u64);
        self.add(|heap| heap.objects(id, class, elements));
        self.objects += 1;
        id
    }

    /// A `byte[]`.
    pub fn bytes(&mut self, bytes: &[u8]) -> u64 {
        let id = self.reserve(16 + bytes.len() as u64);
        let length = bytes.len() as u32;
        self.add(|heap| heap.primitives(id, BYTE, length, bytes));
        self.objects += 1;
        id
    }

    /// Makes a class object a root, as the JVM does with classes of the boot loader.
    pub fn sticky(&mut self, object: u64) {
        self.add(|heap| heap.u1(0x05).id(object));
    }

    pub fn jni_global(&mut self, object: u64) {
        self.add(|heap| heap.u1(0x01).id(object).id(0));
    }

    pub fn thread(&mut self, serial: u32, object: u64) {
        self.add(|heap| heap.u1(0x08).id(object).u4(serial).u4(0));
    }

    /// A local variable of a thread.
    pub fn local(&mut self, thread: u32, object: u64) {
        self.add(|heap| heap.u1(0x03).id(object).u4(thread).u4(u32::MAX));
    }

    /// Writes the file; its path.
    pub fn write(mut self, name: &str) -> String {
        let heap = std::mem::replace(&mut self.heap, self.writer.body());
        self.writer.record(0x1c, heap);
        self.writer.record(0x2c, self.writer.body());
        let path = scratch(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        std::fs::write(&path, &self.writer.bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}
