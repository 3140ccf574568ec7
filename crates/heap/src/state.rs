//! The heap state itself.

use serde::{Deserialize, Serialize};

use crate::{
    AddressMap, Class, ClassId, ClassKind, Column, Frame, HeldByClass, Missing, ObjectId, Offsets,
    Root, Sizes, StackTrace, Strength, Thread,
};

/// The class that all class loaders extend.
pub const CLASS_LOADER: &str = "java.lang.ClassLoader";

/// What is small enough to be plain structs: everything but the columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tables {
    /// By [`ClassId`].
    pub classes: Vec<Class>,
    /// In the order of the source; an object may be there more than once.
    pub roots: Vec<Root>,
    /// What fields of class objects hold that the source leaves out, ascending by object; see
    /// [`HeapState::find_class_fields`].
    pub held_by_classes: Vec<HeldByClass>,
    /// Those that were alive.
    pub threads: Vec<Thread>,
    /// The frames of all stack traces.
    pub frames: Vec<Frame>,
    /// Stacks of threads and of allocations.
    pub traces: Vec<StackTrace>,
    /// Objects whose allocation stack trace is known: number and index into `traces`, ascending.
    pub allocations: Vec<(ObjectId, u32)>,
    /// Threads that allocated and are known by name only: serial number and name.
    pub allocating_threads: Vec<(u32, String)>,
    /// Objects whose age is known: number and nanoseconds, ascending.
    pub ages: Vec<(ObjectId, u64)>,
    /// Objects that were sampled: number and the bytes of allocation each stands for, ascending.
    pub weights: Vec<(ObjectId, u64)>,
    /// Names of class loaders where the source has no texts to read them from, ascending.
    pub loader_names: Vec<(ObjectId, String)>,
    /// Where in the source heap spaces begin, ascending, with their names.
    pub spaces: Vec<(u64, String)>,
    /// The JVM's own sizes.
    pub sizes: Option<Sizes>,
    /// Which object layout the sizes follow, in words.
    pub layout: String,
    /// Classes whose sizes the source cannot tell, with what was assumed.
    pub assumed: Vec<(String, String)>,
    /// What could not be read.
    pub missing: Vec<Missing>,
    /// References to objects that are not in the source.
    pub dangling: u64,
}

/// One value per object, in the order of their numbers, and the references of all of them.
#[derive(Default)]
pub struct HeapColumns {
    /// The class of each object.
    pub classes: Column<u32>,
    /// What it says depends on the [`ClassKind`].
    pub details: Column<u32>,
    /// Where the references of each object begin in `references`.
    pub offsets: Offsets,
    /// The objects referenced by fields or elements, in their order, without nulls. A class
    /// object has its static fields here; `Reference.referent` is kept apart.
    pub references: Column<u32>,
    /// `java.lang.ref.Reference` objects with a referent, ascending.
    pub referrers_by_referent: Column<u32>,
    /// Their referents.
    pub referents: Column<u32>,
}

/// Objects are numbered from 0. The number after the last one is the boot loader, which no source
/// has as an object but which Eclipse MAT counts as one: it reads as an object of
/// [`CLASS_LOADER`] that refers to nothing, so that whoever meets it on a walk through the heap
/// need not know about it.
pub struct HeapState {
    /// Classes, roots, threads and whatever else is not by object.
    pub tables: Tables,
    /// Objects.
    pub columns: HeapColumns,
    /// Where the objects were.
    pub addresses: AddressMap,
}

impl HeapState {
    /// The number of objects.
    pub fn len(&self) -> u32 {
        self.addresses.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// By [`ClassId`].
    pub fn classes(&self) -> &[Class] {
        &self.tables.classes
    }

    /// The number of an object's class.
    pub fn class_id(&self, object: ObjectId) -> ClassId {
        match self.columns.classes.get(object as usize) {
            Some(&class) => class,
            None => self.boot_loader_class(object),
        }
    }

    #[cold]
    fn boot_loader_class(&self, object: ObjectId) -> ClassId {
        assert_eq!(object, self.len(), "a number that no object has");
        let class = self.class_of_loaders();
        class.expect("only a heap with class loaders has a stand-in for the boot loader")
    }

    /// The class of class loaders, if the heap state knows it.
    pub fn class_of_loaders(&self) -> Option<ClassId> {
        let mut classes = (0..).zip(self.classes());
        let found = classes.find(|(_, class)| class.name == CLASS_LOADER);
        found.map(|(class, _)| class)
    }

    /// An object's class.
    pub fn class(&self, object: ObjectId) -> &Class {
        &self.tables.classes[self.class_id(object) as usize]
    }

    /// The array's length, or whatever else the [`ClassKind`] says it is.
    pub fn detail(&self, object: ObjectId) -> u32 {
        let detail = self.columns.details.get(object as usize);
        detail.copied().unwrap_or_default()
    }

    /// The class that a class object stands for.
    pub fn mirrored(&self, object: ObjectId) -> Option<ClassId> {
        (self.class(object).kind == ClassKind::Mirror)
            .then(|| self.detail(object))
            .filter(|&class| (class as usize) < self.tables.classes.len())
    }

    /// The number of elements, if the object is an array.
    pub fn array_length(&self, object: ObjectId) -> Option<u32> {
        matches!(self.class(object).kind, ClassKind::Array(_)).then(|| self.detail(object))
    }

    /// The objects that its fields or elements refer to, in their order, without nulls.
    pub fn references(&self, object: ObjectId) -> &[ObjectId] {
        if object >= self.len() {
            return &[];
        }
        &self.columns.references[self.columns.offsets.view().range(object)]
    }

    /// The referent of a `java.lang.ref.Reference` object and how strongly it is held.
    pub fn referent(&self, object: ObjectId) -> Option<(ObjectId, Strength)> {
        let strength = self.class(object).reference?;
        let index = self
            .columns
            .referrers_by_referent
            .binary_search(&object)
            .ok()?;
        Some((self.columns.referents[index], strength))
    }

    /// Whether a class, or one of its superclasses, has that name.
    pub fn extends(&self, class: ClassId, name: &str) -> bool {
        self.superclasses(class)
            .any(|class| self.tables.classes[class as usize].name == name)
    }

    /// The class objects' view of inheritance: the class itself, then its superclasses.
    pub fn superclasses(&self, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
        std::iter::successors(Some(class), |&class| {
            self.tables.classes[class as usize].super_class
        })
    }
}
