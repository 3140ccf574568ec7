//! Which class loader an object belongs to.

use crate::{ClassId, ClassKind, HeapState, ObjectId};

/// The loaders of a heap's classes.
pub struct Loaders {
    /// Ascending; the boot loader is `None`.
    all: Vec<Option<ObjectId>>,
    /// By class: whether its objects are class objects or some are loaders.
    is_special: Vec<bool>,
}

impl Loaders {
    /// The loaders of all classes of a heap.
    pub fn new(state: &HeapState) -> Self {
        let classes = state.classes();
        let mut all: Vec<_> = classes.iter().map(|class| class.loader).collect();
        all.sort_unstable();
        all.dedup();
        let mirrors = classes.iter().map(|class| class.kind == ClassKind::Mirror);
        let mut is_special: Vec<bool> = mirrors.collect();
        for &loader in all.iter().flatten() {
            is_special[state.class_id(loader) as usize] = true;
        }
        Loaders { all, is_special }
    }

    /// All loaders that loaded a class, ascending.
    pub fn all(&self) -> &[Option<ObjectId>] {
        &self.all
    }

    /// Whether objects of a class may belong to another loader than the class.
    pub fn is_special(&self, class: ClassId) -> bool {
        self.is_special[class as usize]
    }

    /// The loader that an object belongs to: the loader of its class, for a class object that of the
    /// class it stands for, and for a loader of classes itself. All that belongs to a loader is what
    /// leaks with it.
    pub fn of(&self, state: &HeapState, object: ObjectId) -> Option<ObjectId> {
        let class = state.class_id(object);
        let classes = state.classes();
        if self.is_special(class) {
            if let Some(mirrored) = state.mirrored(object) {
                return classes[mirrored as usize].loader;
            }
            if self.all.binary_search(&Some(object)).is_ok() {
                return Some(object);
            }
        }
        classes[class as usize].loader
    }
}
