//! Random small heaps: objects of a program in classes of several loaders, strings that share arrays, collections,
//! references of every strength, threads with locals, roots of every kind, and much that is not reachable.

use std::collections::BTreeMap;

use crate::heap::{
    Class, Contents, Frame, Heap, Item, Object, Root, RootKind, Thread, Type, Value,
};
use fastrand::Rng;

/// A name, the superclass and the fields.
type ClassOfTable = (&'static str, &'static str, &'static [(&'static str, Type)]);

/// Classes as JDK 17 has them, as far as it matters.
const CLASSES: &[ClassOfTable] = {
    use Type::{Boolean, Byte, Float, Int, Reference};
    &[
        ("java.lang.Object", "", &[]),
        (
            "java.lang.Class",
            "java.lang.Object",
            &[("classData", Reference), ("annotationData", Reference)],
        ),
        (
            "java.lang.String",
            "java.lang.Object",
            &[("value", Reference), ("hash", Int), ("coder", Byte)],
        ),
        ("byte[]", "java.lang.Object", &[]),
        ("int[]", "java.lang.Object", &[]),
        ("java.lang.Object[]", "java.lang.Object", &[]),
        ("java.lang.Number", "java.lang.Object", &[]),
        ("java.lang.Integer", "java.lang.Number", &[("value", Int)]),
        (
            "java.lang.Thread",
            "java.lang.Object",
            &[
                ("name", Reference),
                ("target", Reference),
                ("threadStatus", Int),
                ("daemon", Boolean),
            ],
        ),
        (
            "java.lang.ClassLoader",
            "java.lang.Object",
            &[("parent", Reference), ("name", Reference)],
        ),
        (
            "app.Loader",
            "java.lang.ClassLoader",
            &[("holds", Reference)],
        ),
        (
            "java.lang.ref.Reference",
            "java.lang.Object",
            &[
                ("referent", Reference),
                ("queue", Reference),
                ("next", Reference),
            ],
        ),
        (
            "java.lang.ref.SoftReference",
            "java.lang.ref.Reference",
            &[],
        ),
        (
            "java.lang.ref.WeakReference",
            "java.lang.ref.Reference",
            &[],
        ),
        (
            "java.lang.ref.PhantomReference",
            "java.lang.ref.Reference",
            &[],
        ),
        (
            "java.lang.ref.FinalReference",
            "java.lang.ref.Reference",
            &[],
        ),
        (
            "app.WeakEntry",
            "java.lang.ref.WeakReference",
            &[("value", Reference)],
        ),
        (
            "java.util.AbstractList",
            "java.lang.Object",
            &[("modCount", Int)],
        ),
        (
            "java.util.ArrayList",
            "java.util.AbstractList",
            &[("elementData", Reference), ("size", Int)],
        ),
        (
            "java.util.LinkedList",
            "java.util.AbstractList",
            &[("first", Reference), ("last", Reference), ("size", Int)],
        ),
        (
            "java.util.LinkedList$Node",
            "java.lang.Object",
            &[
                ("item", Reference),
                ("next", Reference),
                ("prev", Reference),
            ],
        ),
        (
            "java.util.ArrayDeque",
            "java.lang.Object",
            &[("elements", Reference), ("head", Int), ("tail", Int)],
        ),
        (
            "java.util.AbstractMap",
            "java.lang.Object",
            &[("keySet", Reference), ("values", Reference)],
        ),
        (
            "java.util.HashMap",
            "java.util.AbstractMap",
            &[
                ("table", Reference),
                ("entrySet", Reference),
                ("size", Int),
                ("modCount", Int),
                ("threshold", Int),
                ("loadFactor", Float),
            ],
        ),
        ("java.util.HashMap$Node[]", "java.lang.Object", &[]),
        (
            "java.util.HashMap$Node",
            "java.lang.Object",
            &[
                ("hash", Int),
                ("key", Reference),
                ("value", Reference),
                ("next", Reference),
            ],
        ),
        (
            "java.util.HashSet",
            "java.lang.Object",
            &[("map", Reference)],
        ),
        (
            "java.util.IdentityHashMap",
            "java.util.AbstractMap",
            &[
                ("table", Reference),
                ("size", Int),
                ("modCount", Int),
                ("entrySet", Reference),
            ],
        ),
        (
            "java.util.TreeMap",
            "java.util.AbstractMap",
            &[("root", Reference), ("size", Int), ("modCount", Int)],
        ),
        (
            "java.util.TreeMap$Entry",
            "java.lang.Object",
            &[
                ("key", Reference),
                ("value", Reference),
                ("left", Reference),
                ("right", Reference),
                ("parent", Reference),
                ("color", Boolean),
            ],
        ),
    ]
};

/// What is true of a collection because it was made so.
#[derive(Clone, Debug)]
pub struct Collection {
    pub object: usize,
    /// The array that its elements or entries are in.
    pub array: Option<usize>,
    /// Entries and other inner parts, the array among them.
    pub parts: Vec<usize>,
    /// Elements, and of them those that are null (for maps, whose keys are).
    pub elements: u64,
    pub nulls: u64,
    /// Slots that one element takes of the array: 2 where keys and values take turns.
    pub slots_each: u64,
    /// Used slots that lead to chains of entries.
    pub buckets: u64,
}

pub struct Made {
    pub heap: Heap,
    pub collections: Vec<Collection>,
}

/// The heap of a seed.
pub fn heap(seed: u64) -> Made {
    let mut maker = Maker::new(seed);
    maker.make(seed);
    Made {
        heap: maker.heap,
        collections: maker.collections,
    }
}

/// A heap with many objects of a class and a map of many entries, all of which an array leads to.
pub struct Large {
    pub heap: Heap,
    /// The reference fields of the class.
    fields: u64,
    /// The reachable objects of the class, and how many nulls are in their fields.
    objects: u64,
    nulls: u64,
    entries: u64,
    buckets: u64,
}

impl Large {
    /// Objects of classes with 100 or more of them whose fields are null to three quarters, and the bytes of the nulls.
    pub fn null_fields(&self) -> (u64, u64) {
        let are_many = self.objects >= 100 && self.fields > 0;
        match are_many && self.nulls * 4 >= self.objects * self.fields * 3 {
            true => (self.objects, self.nulls * 4),
            false => (0, 0),
        }
    }

    /// Maps of 64 entries or more with over two entries in a used bucket; they cost no bytes.
    pub fn collisions(&self) -> (u64, u64) {
        let collide = self.entries >= 64 && self.entries > self.buckets * 2;
        (u64::from(collide), 0)
    }
}

/// The large heap of a seed.
pub fn large(seed: u64) -> Large {
    let mut maker = Maker::new(seed);
    maker.class("java.lang.Class");
    let object = maker.class("java.lang.Object");
    let fields = maker.random.usize(..6);
    maker.heap.classes.push(Class {
        name: "app.Many".to_owned(),
        super_class: Some(object),
        fields: (0..fields)
            .map(|field| (format!("f{field}"), Type::Reference))
            .collect(),
        ..Class::default()
    });
    let class = maker.heap.classes.len() - 1;
    let map = maker.new_object("java.util.HashMap");
    let (entries, buckets) = maker.entries(map);
    let mut held = vec![Some(Item::Object(map))];
    let (mut objects, mut nulls) = (0, 0);
    let one_in = 1 + maker.random.usize(..8);
    for _ in 0..90 + maker.random.usize(..40) {
        let object = maker.instance(class);
        for field in 0..fields {
            if maker.chance(one_in) {
                maker.point(object, &format!("f{field}"), map);
            } else {
                nulls += 1;
            }
        }
        objects += 1;
        held.push(Some(Item::Object(object)));
    }
    let array = maker.array("java.lang.Object[]", held);
    let item = Item::Object(array);
    let kind = RootKind::JniGlobal;
    maker.heap.roots.push(Root { item, kind });
    // Garbage does not count.
    maker.instance(class);
    Large {
        heap: maker.heap,
        fields: fields as u64,
        objects,
        nulls,
        entries,
        buckets,
    }
}

struct Maker {
    random: Rng,
    heap: Heap,
    classes: BTreeMap<&'static str, usize>,
    /// The program's own classes.
    app: Vec<usize>,
    collections: Vec<Collection>,
}

impl Maker {
    fn new(seed: u64) -> Self {
        Maker {
            random: Rng::with_seed(seed),
            heap: Heap::default(),
            classes: BTreeMap::new(),
            app: Vec::new(),
            collections: Vec::new(),
        }
    }

    fn make(&mut self, seed: u64) {
        self.class("java.lang.Object");
        self.class("java.lang.Class");
        // Every JVM has it, and MAT's stand-in for the boot loader is an object of it.
        self.class("java.lang.ClassLoader");
        let loaders: Vec<usize> = (0..self.random.usize(..3)).map(|_| self.loader()).collect();
        self.app_classes(&loaders);
        let count = 3 + self.random.usize(..if seed % 8 == 1 { 50 } else { 20 });
        while self.heap.objects.len() < count {
            self.some_object();
        }
        for _ in 0..self.random.usize(..4) {
            self.thread();
        }
        self.fill();
        self.statics();
        self.link_classes();
        self.roots();
        if seed % 8 == 0 {
            self.pad();
        }
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.random.usize(..one_in) == 0
    }

    fn class(&mut self, name: &'static str) -> usize {
        if let Some(&class) = self.classes.get(name) {
            return class;
        }
        let of_name = CLASSES.iter().find(|class| class.0 == name);
        let &(_, above, fields) = of_name.expect("a class of the table");
        let super_class = (!above.is_empty()).then(|| self.class(above));
        let fields = fields.iter().map(|&(name, ty)| (name.to_owned(), ty));
        self.heap.classes.push(Class {
            name: name.to_owned(),
            super_class,
            fields: fields.collect(),
            ..Class::default()
        });
        let class = self.heap.classes.len() - 1;
        self.classes.insert(name, class);
        class
    }

    fn add(&mut self, class: usize, contents: Contents) -> usize {
        self.heap.objects.push(Object { class, contents });
        self.heap.objects.len() - 1
    }

    /// An instance with nothing in its fields.
    fn instance(&mut self, class: usize) -> usize {
        let fields = self.heap.fields_of(class);
        let values = fields.map(|(_, ty)| match ty {
            Type::Reference => Value::Reference(None),
            Type::Boolean => Value::Boolean(false),
            Type::Byte => Value::Byte(0),
            Type::Float => Value::Float(0.75),
            Type::Int => Value::Int(0),
        });
        let values = values.collect();
        self.add(class, Contents::Fields(values))
    }

    fn new_object(&mut self, class: &'static str) -> usize {
        let class = self.class(class);
        self.instance(class)
    }

    fn set(&mut self, object: usize, field: &str, value: Value) {
        let class = self.heap.objects[object].class;
        let place = self
            .heap
            .fields_of(class)
            .position(|(name, _)| name == field);
        let place = place.expect("a field of that name");
        if let Contents::Fields(values) = &mut self.heap.objects[object].contents {
            values[place] = value;
        }
    }

    fn point(&mut self, object: usize, field: &str, to: usize) {
        self.set(object, field, Value::Reference(Some(Item::Object(to))));
    }

    /// Any object, now and then a class object.
    fn any(&mut self) -> Item {
        match self.chance(12) {
            true => Item::Class(self.random.usize(..self.heap.classes.len())),
            false => Item::Object(self.random.usize(..self.heap.objects.len())),
        }
    }

    /// Any object that is there already, or null.
    fn any_or_null(&mut self) -> Option<Item> {
        let none = self.heap.objects.is_empty() || self.chance(3);
        (!none).then(|| self.any())
    }

    fn loader(&mut self) -> usize {
        let loader = self.new_object("app.Loader");
        if self.chance(2) {
            let name = self.string();
            self.point(loader, "name", name);
        }
        loader
    }

    fn app_classes(&mut self, loaders: &[usize]) {
        let object = self.class("java.lang.Object");
        for number in 0..1 + self.random.usize(..5) {
            let known = self.app.last().map(|&class| &self.heap.classes[class]);
            let same = known.map(|class| class.name.clone());
            let same = same.filter(|_| number % 2 == 1 && loaders.len() == 2);
            let above = self.app.last().copied().filter(|_| self.chance(3));
            let fields = 0..self.random.usize(..4);
            let mut possible: Vec<Option<usize>> = loaders.iter().copied().map(Some).collect();
            possible.push(None);
            if same.is_some() {
                // A loader has one class of a name.
                let before = self
                    .app
                    .last()
                    .map(|&class| self.heap.classes[class].loader);
                possible.retain(|&loader| Some(loader) != before);
            }
            let loader = possible[self.random.usize(..possible.len())];
            self.heap.classes.push(Class {
                name: same.unwrap_or_else(|| match number % 3 {
                    0 => format!("app.C{number}"),
                    1 => format!("C{number}"),
                    _ => format!("app.model.C{number}"),
                }),
                super_class: Some(above.unwrap_or(object)),
                loader,
                fields: fields
                    .map(|field| (format!("f{number}{field}"), Type::Reference))
                    .collect(),
                ..Class::default()
            });
            self.app.push(self.heap.classes.len() - 1);
        }
    }

    fn some_object(&mut self) {
        match self.random.usize(..24) {
            0..10 => {
                let class = self.app[self.random.usize(..self.app.len())];
                self.instance(class);
            }
            10 | 11 => drop(self.string()),
            12 => drop(self.ints()),
            13 => drop(self.objects()),
            14 | 15 => drop(self.reference()),
            16 => {
                let number = self.new_object("java.lang.Integer");
                let value = self.random.i32(..3);
                self.set(number, "value", Value::Int(value));
            }
            17 => self.array_list(),
            18 => drop(self.map()),
            19 => self.hash_set(),
            20 => self.linked_list(),
            21 => self.array_deque(),
            22 => self.identity_map(),
            _ => self.tree_map(),
        }
    }

    /// One of a few texts, in an array of its own or in that of another string.
    fn string(&mut self) -> usize {
        let string = self.new_object("java.lang.String");
        let bytes = self.class("byte[]");
        let arrays: Vec<usize> = (0..self.heap.objects.len())
            .filter(|&object| self.heap.objects[object].class == bytes)
            .collect();
        let array = match arrays.is_empty() || !self.chance(3) {
            true => {
                let text = ["", "a", "some longer text"][self.random.usize(..3)];
                self.add(bytes, Contents::Bytes(text.as_bytes().to_vec()))
            }
            false => arrays[self.random.usize(..arrays.len())],
        };
        self.point(string, "value", array);
        if self.chance(12) {
            self.set(string, "coder", Value::Byte(1));
        }
        string
    }

    fn ints(&mut self) -> usize {
        let class = self.class("int[]");
        let ints = vec![self.random.i32(..2); self.random.usize(..3)];
        self.add(class, Contents::Ints(ints))
    }

    /// An array of references, filled or mostly null.
    fn objects(&mut self) -> usize {
        let class = self.class("java.lang.Object[]");
        let length = self.random.usize(..40);
        let one_in = 1 + self.random.usize(..12);
        let mut items = vec![None; length];
        for item in &mut items {
            if self.chance(one_in) {
                *item = Some(Item::Object(usize::MAX));
            }
        }
        self.add(class, Contents::References(items))
    }

    fn reference(&mut self) -> usize {
        let classes = [
            "java.lang.ref.SoftReference",
            "java.lang.ref.WeakReference",
            "java.lang.ref.PhantomReference",
            "java.lang.ref.FinalReference",
            "app.WeakEntry",
        ];
        let class = classes[self.random.usize(..5)];
        self.new_object(class)
    }

    fn collection(&mut self, object: usize, array: Option<usize>, parts: Vec<usize>, of: Elements) {
        self.collections.push(Collection {
            object,
            array,
            parts,
            elements: of.all,
            nulls: of.nulls,
            slots_each: of.slots_each,
            buckets: of.buckets,
        });
    }

    /// Some elements, a few of them null. The nodes of collections are private: no program puts them into others.
    fn elements(&mut self, most: usize) -> Vec<Option<Item>> {
        let number = self.random.usize(..=most);
        let mut elements: Vec<Option<Item>> = (0..number).map(|_| self.any_or_null()).collect();
        for element in &mut elements {
            *element = element.filter(|&item| match item {
                Item::Object(object) => {
                    let class = self.heap.objects[object].class;
                    !self.heap.classes[class].name.contains('$')
                }
                Item::Class(_) => true,
            });
        }
        elements
    }

    fn array(&mut self, class: &'static str, items: Vec<Option<Item>>) -> usize {
        let class = self.class(class);
        self.add(class, Contents::References(items))
    }

    /// So many slots are there for so many elements.
    fn room(&mut self, elements: usize) -> usize {
        elements + [0, 1, 5, 20, 60][self.random.usize(..5)]
    }

    fn array_list(&mut self) {
        let elements = self.elements(6);
        let list = self.new_object("java.util.ArrayList");
        self.set(list, "size", Value::Int(elements.len() as i32));
        let of = Elements::of(&elements);
        let none = elements.is_empty() && self.chance(2);
        let array = (!none).then(|| {
            let room = self.room(elements.len());
            let mut items = elements;
            items.resize(room, None);
            self.array("java.lang.Object[]", items)
        });
        if let Some(array) = array {
            self.point(list, "elementData", array);
        }
        self.collection(list, array, array.into_iter().collect(), of);
    }

    fn array_deque(&mut self) {
        let mut elements = self.elements(6);
        elements.retain(Option::is_some);
        let deque = self.new_object("java.util.ArrayDeque");
        let of = Elements::of(&elements);
        let room = self.room(elements.len()) + 1;
        let tail = elements.len();
        elements.resize(room, None);
        let array = self.array("java.lang.Object[]", elements);
        self.point(deque, "elements", array);
        self.set(deque, "tail", Value::Int(tail as i32));
        self.collection(deque, Some(array), vec![array], of);
    }

    fn linked_list(&mut self) {
        let elements = self.elements(4);
        let list = self.new_object("java.util.LinkedList");
        self.set(list, "size", Value::Int(elements.len() as i32));
        let mut nodes: Vec<usize> = Vec::new();
        for &element in &elements {
            let node = self.new_object("java.util.LinkedList$Node");
            self.set(node, "item", Value::Reference(element));
            match nodes.last() {
                Some(&last) => {
                    self.point(last, "next", node);
                    self.point(node, "prev", last);
                }
                None => self.point(list, "first", node),
            }
            self.point(list, "last", node);
            nodes.push(node);
        }
        self.collection(list, None, nodes, Elements::of(&elements));
    }

    /// A map with a table of so many buckets as a person may ask for, its entries anywhere in it.
    fn map(&mut self) -> usize {
        let map = self.new_object("java.util.HashMap");
        let keys = self.elements(6);
        self.set(map, "size", Value::Int(keys.len() as i32));
        let mut of = Elements::of(&keys);
        if keys.is_empty() && self.chance(2) {
            self.collection(map, None, Vec::new(), of);
            return map;
        }
        let buckets = (keys.len() * 4 / 3 + 1).next_power_of_two() << self.random.usize(..4);
        let mut table: Vec<Option<Item>> = vec![None; buckets];
        let mut parts = Vec::new();
        for key in keys {
            let node = self.new_object("java.util.HashMap$Node");
            self.set(node, "key", Value::Reference(key));
            let value = self.any_or_null();
            self.set(node, "value", Value::Reference(value));
            let bucket = self.random.usize(..buckets.min(8));
            self.set(node, "next", Value::Reference(table[bucket]));
            table[bucket] = Some(Item::Object(node));
            parts.push(node);
        }
        of.buckets = table.iter().flatten().count() as u64;
        let table = self.array("java.util.HashMap$Node[]", table);
        self.point(map, "table", table);
        parts.push(table);
        self.collection(map, Some(table), parts, of);
        map
    }

    /// Gives a map 50 to 90 entries without keys in up to 50 buckets, and tells how many of both.
    fn entries(&mut self, map: usize) -> (u64, u64) {
        let (entries, buckets) = (50 + self.random.usize(..40), 1 + self.random.usize(..50));
        self.set(map, "size", Value::Int(entries as i32));
        let mut table: Vec<Option<Item>> = vec![None; 128];
        for _ in 0..entries {
            let node = self.new_object("java.util.HashMap$Node");
            let bucket = self.random.usize(..buckets);
            self.set(node, "next", Value::Reference(table[bucket]));
            table[bucket] = Some(Item::Object(node));
        }
        let used = table.iter().flatten().count() as u64;
        let table = self.array("java.util.HashMap$Node[]", table);
        self.point(map, "table", table);
        (entries as u64, used)
    }

    fn hash_set(&mut self) {
        let map = self.map();
        let set = self.new_object("java.util.HashSet");
        self.point(set, "map", map);
    }

    /// Keys and values in turn; values may be null.
    fn identity_map(&mut self) {
        let mut keys = self.elements(4);
        keys.retain(Option::is_some);
        let map = self.new_object("java.util.IdentityHashMap");
        self.set(map, "size", Value::Int(keys.len() as i32));
        let of = Elements {
            slots_each: 2,
            ..Elements::of(&keys)
        };
        let pairs = (keys.len() * 3 / 2 + 1).next_power_of_two().max(4) << self.random.usize(..3);
        let mut table = Vec::with_capacity(pairs * 2);
        for key in keys {
            let value = self.any_or_null();
            table.extend([key, value]);
        }
        table.resize(pairs * 2, None);
        let table = self.array("java.lang.Object[]", table);
        self.point(map, "table", table);
        self.collection(map, Some(table), vec![table], of);
    }

    /// A tree that leans to the right.
    fn tree_map(&mut self) {
        let mut keys = self.elements(4);
        keys.retain(Option::is_some);
        let map = self.new_object("java.util.TreeMap");
        self.set(map, "size", Value::Int(keys.len() as i32));
        let mut entries: Vec<usize> = Vec::new();
        for &key in &keys {
            let entry = self.new_object("java.util.TreeMap$Entry");
            self.set(entry, "key", Value::Reference(key));
            let value = self.any_or_null();
            self.set(entry, "value", Value::Reference(value));
            match entries.last() {
                Some(&above) => {
                    self.point(above, "right", entry);
                    self.point(entry, "parent", above);
                }
                None => self.point(map, "root", entry),
            }
            entries.push(entry);
        }
        self.collection(map, None, entries, Elements::of(&keys));
    }

    /// A thread with a stack, locals in its frames and what else a thread can hold.
    fn thread(&mut self) {
        let object = self.new_object("java.lang.Thread");
        let status = [0, 1, 5, 0x401, 0x191][self.random.usize(..5)];
        self.set(object, "threadStatus", Value::Int(status));
        let daemon = self.random.bool();
        self.set(object, "daemon", Value::Boolean(daemon));
        if !self.chance(4) {
            let name = self.string();
            self.point(object, "name", name);
        }
        let thread = self.heap.threads.len();
        let frames = (0..self.random.usize(..4)).map(|depth| Frame {
            class: self.app[self.random.usize(..self.app.len())],
            method: ["run", "main", "<init>"][depth % 3].to_owned(),
            line: self.random.i32(-3..20),
        });
        let frames: Vec<Frame> = frames.collect();
        let depth = frames.len() as u32;
        self.heap.threads.push(Thread { frames });
        let item = Item::Object(object);
        let kind = RootKind::Thread { thread };
        self.heap.roots.push(Root { item, kind });
        for _ in 0..self.random.usize(..4) {
            let frame = (!self.chance(3)).then(|| self.random.u32(..depth + 1));
            let kind = match self.random.usize(..6) {
                0 => RootKind::JniLocal { thread, frame },
                1 => RootKind::NativeStack { thread },
                2 => RootKind::ThreadBlock { thread },
                _ => RootKind::Local { thread, frame },
            };
            let item = self.any();
            self.heap.roots.push(Root { item, kind });
        }
    }

    /// Fills whatever is still empty.
    fn fill(&mut self) {
        for object in 0..self.heap.objects.len() {
            let class = self.heap.objects[object].class;
            let name = self.heap.classes[class].name.clone();
            let fields: &[&str] = match name.as_str() {
                "app.WeakEntry" => &["referent", "value", "queue"],
                "java.lang.Thread" => &["target"],
                "app.Loader" => &["parent", "holds"],
                _ if name.starts_with("java.lang.ref.") => &["referent", "queue", "next"],
                _ => &[],
            };
            for field in fields {
                if !self.chance(3) {
                    let to = self.any();
                    self.set(object, field, Value::Reference(Some(to)));
                }
            }
            if self.app.contains(&class) {
                let fields = self.heap.fields_of(class).count();
                let values = (0..fields).map(|_| Value::Reference(self.any_or_null()));
                let values = values.collect();
                self.heap.objects[object].contents = Contents::Fields(values);
            }
            if let Contents::References(mut items) = self.heap.objects[object].contents.clone() {
                for item in items.iter_mut().flatten() {
                    if *item == Item::Object(usize::MAX) {
                        *item = self.any();
                    }
                }
                self.heap.objects[object].contents = Contents::References(items);
            }
        }
    }

    fn statics(&mut self) {
        for class in self.app.clone() {
            for field in 0..self.random.usize(..3) {
                let value = Value::Reference(self.any_or_null());
                let statics = &mut self.heap.classes[class].statics;
                statics.push((format!("S{field}"), value));
            }
            if self.chance(4) {
                let statics = &mut self.heap.classes[class].statics;
                statics.push(("COUNT".to_owned(), Value::Int(7)));
            }
        }
    }

    /// Signers and protection domains are objects of their own; here the program's are taken for them.
    fn link_classes(&mut self) {
        let mut own: Vec<usize> = (0..self.heap.objects.len()).collect();
        own.retain(|&object| self.app.contains(&self.heap.objects[object].class));
        if own.is_empty() {
            return;
        }
        for class in self.app.clone() {
            let [signers, domain] = [6, 4].map(|one_in| {
                let object = own[self.random.usize(..own.len())];
                self.chance(one_in).then_some(object)
            });
            self.heap.classes[class].signers = signers;
            self.heap.classes[class].protection_domain = domain;
        }
    }

    fn roots(&mut self) {
        let of_boot: Vec<usize> = (0..self.heap.classes.len())
            .filter(|&class| self.heap.classes[class].loader.is_none())
            .collect();
        let share = 1 + self.random.usize(..6);
        for class in of_boot {
            if self.chance(share) && self.heap.classes.len() > 2 {
                let item = Item::Class(class);
                let kind = RootKind::StickyClass;
                self.heap.roots.push(Root { item, kind });
            }
        }
        for _ in 0..self.random.usize(..3) {
            let kinds = [RootKind::JniGlobal, RootKind::Monitor, RootKind::Unknown];
            let kind = kinds[self.random.usize(..3)];
            let item = self.any();
            self.heap.roots.push(Root { item, kind });
        }
    }

    /// Makes it 64 objects, if there are fewer.
    fn pad(&mut self) {
        let number = self.heap.objects.len() + self.heap.classes.len();
        for _ in number..64 {
            let class = self.app[0];
            self.instance(class);
        }
    }
}

/// How many elements there are.
#[derive(Clone, Copy)]
struct Elements {
    all: u64,
    nulls: u64,
    slots_each: u64,
    buckets: u64,
}

impl Elements {
    fn of(elements: &[Option<Item>]) -> Self {
        Elements {
            all: elements.len() as u64,
            nulls: elements.iter().filter(|item| item.is_none()).count() as u64,
            slots_each: 1,
            buckets: 0,
        }
    }
}
