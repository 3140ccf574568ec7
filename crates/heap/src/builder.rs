//! Small heaps for tests, said in a few lines.
//!
//! ```
//! use anthill_heap::HeapBuilder;
//!
//! let mut heap = HeapBuilder::new();
//! heap.object("list", "java.util.ArrayList", 24);
//! heap.objects("a b c", "Item", 16);
//! heap.edges("list -> a b c, a -> b, c -> c");
//! heap.root("list");
//! let state = heap.build();
//! assert_eq!(state.len(), 4);
//! assert_eq!(state.references(heap.id("list")), [heap.id("a"), heap.id("b"), heap.id("c")]);
//! ```

use std::collections::BTreeMap;

use crate::{
    AddressMap, ArrayLayout, Buffer, Class, ClassId, ClassKind, FieldType, HeapColumns, HeapState,
    ObjectId, Offsets, Root, RootOrigin, Sizes, Strength, Tables,
};

/// Objects are numbered in the order in which they are named.
#[derive(Default)]
pub struct HeapBuilder {
    names: BTreeMap<String, ObjectId>,
    classes: Vec<Class>,
    sizes: Vec<u32>,
    objects: Vec<BuiltObject>,
    roots: Vec<Root>,
}

struct BuiltObject {
    class: ClassId,
    detail: u32,
    references: Vec<ObjectId>,
    referent: Option<ObjectId>,
}

impl HeapBuilder {
    /// A heap without objects.
    pub fn new() -> Self {
        HeapBuilder::default()
    }

    /// The class of that name; made on first use, with instances of `size` bytes.
    pub fn class(&mut self, name: &str, size: u32) -> ClassId {
        if let Some(class) = self.classes.iter().position(|class| class.name == name) {
            return class as ClassId;
        }
        let kind = if name == "java.lang.Class" {
            ClassKind::Mirror
        } else {
            ClassKind::Instance
        };
        self.classes.push(Class::new(name.to_owned(), kind));
        self.sizes.push(size);
        self.classes.len() as ClassId - 1
    }

    /// A new object.
    pub fn object(&mut self, name: &str, class: &str, size: u32) -> ObjectId {
        let class = self.class(class, size);
        self.add(name, class, 0)
    }

    /// A new array of a class like `int[]` or `Item[]`.
    pub fn array(&mut self, name: &str, class: &str, length: u32) -> ObjectId {
        let element = class.strip_suffix("[]").expect("the class of an array");
        let primitive = FieldType::ALL
            .into_iter()
            .find(|ty| ty.keyword() == element);
        let class = self.class(class, 0);
        self.classes[class as usize].kind =
            ClassKind::Array(primitive.unwrap_or(FieldType::Object));
        self.add(name, class, length)
    }

    /// Several new objects, names separated by spaces.
    pub fn objects(&mut self, names: &str, class: &str, size: u32) {
        for name in names.split_whitespace() {
            self.object(name, class, size);
        }
    }

    /// The class object of `class`, which then references its class objects like a JVM's does.
    pub fn class_object(&mut self, name: &str, class: &str) -> ObjectId {
        let of = self.class(class, 16);
        let mirror_class = self.class("java.lang.Class", 0);
        let object = self.add(name, mirror_class, of);
        self.classes[of as usize].mirror = Some(object);
        object
    }

    /// Says who loaded a class.
    pub fn loaded_by(&mut self, class: &str, loader: &str) {
        let class = self.class(class, 16);
        self.classes[class as usize].loader = Some(self.id(loader));
    }

    /// A `java.lang.ref.Reference` object of the given strength to `referent`.
    pub fn reference(&mut self, name: &str, strength: Strength, referent: &str) -> ObjectId {
        let class = self.class(&format!("java.lang.ref.{strength:?}Reference"), 48);
        self.classes[class as usize].reference = Some(strength);
        let object = self.add(name, class, 0);
        self.objects[object as usize].referent = Some(self.id(referent));
        object
    }

    /// References, `from -> to to, from -> to`, in this order.
    pub fn edges(&mut self, edges: &str) {
        for part in edges.split(',').filter(|part| !part.trim().is_empty()) {
            let (from, to) = part.split_once("->").expect("`from -> to`");
            let from = self.id(from.trim());
            for to in to.split_whitespace() {
                let to = self.id(to);
                self.objects[from as usize].references.push(to);
            }
        }
    }

    /// Lets a root lead to a named object.
    pub fn root(&mut self, name: &str) {
        let object = self.id(name);
        self.roots.push(Root {
            object,
            origin: RootOrigin::JniGlobal,
            thread: None,
            frame: None,
        });
    }

    /// The number of a named object.
    pub fn id(&self, name: &str) -> ObjectId {
        *self
            .names
            .get(name)
            .unwrap_or_else(|| panic!("no object is called `{name}`"))
    }

    /// The heap that was described so far.
    pub fn build(&self) -> HeapState {
        let addresses: Vec<u64> = (0..self.objects.len() as u64)
            .map(|i| 0x1000 + i * 16)
            .collect();
        let (addresses, _) = AddressMap::new(&addresses).expect("a small heap");
        let counts = self
            .objects
            .iter()
            .map(|object| object.references.len() as u32);
        let counts = Buffer::collect(self.objects.len() + 1, counts);
        let with_referent = || {
            let numbered = (0..).zip(&self.objects);
            numbered.filter_map(|(number, object)| Some((number, object.referent?)))
        };
        let columns = HeapColumns {
            classes: self
                .objects
                .iter()
                .map(|o| o.class)
                .collect::<Vec<_>>()
                .into(),
            details: self
                .objects
                .iter()
                .map(|o| o.detail)
                .collect::<Vec<_>>()
                .into(),
            offsets: Offsets::from_counts(counts).expect("a small heap"),
            references: self
                .objects
                .iter()
                .flat_map(|o| o.references.iter().copied())
                .collect::<Vec<_>>()
                .into(),
            referrers_by_referent: with_referent()
                .map(|(from, _)| from)
                .collect::<Vec<_>>()
                .into(),
            referents: with_referent().map(|(_, to)| to).collect::<Vec<_>>().into(),
        };
        let tables = Tables {
            classes: self.classes.clone(),
            roots: self.roots.clone(),
            sizes: Some(Sizes {
                instances: self.sizes.clone(),
                mirrors: vec![96; self.classes.len()],
                arrays: ArrayLayout {
                    bases: [16; 9],
                    reference_size: 4,
                    alignment: 8,
                },
            }),
            ..Tables::default()
        };
        HeapState {
            tables,
            columns,
            addresses,
        }
    }

    fn add(&mut self, name: &str, class: ClassId, detail: u32) -> ObjectId {
        let object = self.objects.len() as ObjectId;
        let before = self.names.insert(name.to_owned(), object);
        assert!(before.is_none(), "two objects are called `{name}`");
        self.objects.push(BuiltObject {
            class,
            detail,
            references: Vec::new(),
            referent: None,
        });
        object
    }
}
