//! Which objects are recognised by a person, and which only hold everything together.

use anthill_graph::{Dominators, NodeId};
use anthill_heap::{ClassId, ClassKind, HeapState};
use anthill_session::is_platform_name;
use anthill_structures::Structures;

/// Classes in which the JVM and its libraries keep what every program needs: opened jar files, modules,
/// method handles, security providers.
const JVM_OWN: [&str; 8] = [
    "java.util.zip.ZipFile",
    "java.util.jar.",
    "java.lang.invoke.",
    "java.lang.module.",
    "java.lang.Module",
    "java.security.",
    "jdk.internal.",
    "sun.",
];

/// Classes whose objects hold one thing.
const WRAPPERS: [&str; 3] = [
    "java.util.concurrent.atomic.",
    "java.util.Optional",
    "kotlinx.atomicfu.",
];

const CLEANERS: [&str; 3] = ["java.lang.ref.", "jdk.internal.ref.", "sun.misc.Cleaner"];

/// What classes are, decided once.
pub struct Roles<'a> {
    state: &'a HeapState,
    dominators: &'a Dominators,
    /// By class.
    is_loader: Vec<bool>,
    /// What clears up after collected objects; it holds whatever it is to clear up.
    is_cleaner: Vec<bool>,
    is_thread: Vec<bool>,
    is_inner_part: Vec<bool>,
    is_platform: Vec<bool>,
    structures: Option<&'a Structures>,
}

impl<'a> Roles<'a> {
    /// The roles of all classes of a heap.
    pub fn new(state: &'a HeapState, dominators: &'a Dominators) -> Self {
        let classes = 0..state.classes().len() as ClassId;
        let name = |class: ClassId| state.classes()[class as usize].name.as_str();
        let is_platform = |class: ClassId| {
            let element = name(class).trim_end_matches("[]");
            !element.contains('.') && element.len() < name(class).len() || is_platform_name(element)
        };
        let is_array =
            |class: ClassId| matches!(state.classes()[class as usize].kind, ClassKind::Array(_));
        Roles {
            state,
            dominators,
            is_loader: classes
                .clone()
                .map(|class| state.extends(class, "java.lang.ClassLoader"))
                .collect(),
            is_cleaner: classes
                .clone()
                .map(|class| {
                    CLEANERS
                        .iter()
                        .any(|prefix| name(class).starts_with(prefix))
                })
                .collect(),
            is_thread: classes
                .clone()
                .map(|class| state.extends(class, "java.lang.Thread"))
                .collect(),
            is_inner_part: classes
                .clone()
                .map(|class| {
                    let is_wrapper = WRAPPERS
                        .iter()
                        .any(|prefix| name(class).starts_with(prefix));
                    is_array(class)
                        || is_wrapper
                        || is_platform(class) && name(class).contains('$')
                        || name(class).contains("$$Lambda")
                })
                .collect(),
            is_platform: classes.map(is_platform).collect(),
            structures: None,
        }
    }

    /// The same for a heap whose data structures are known.
    pub fn with_structures(mut self, structures: &'a Structures) -> Self {
        self.structures = Some(structures);
        self
    }

    /// Whether it stands for a data structure.
    pub(crate) fn is_structure(&self, node: NodeId) -> bool {
        let found = |structures: &Structures| structures.of_head(node).is_some();
        node < self.state.len() && self.structures.is_some_and(found)
    }

    /// Whether it is part of a data structure, or hardly more than a reference: a person looks past it.
    pub(crate) fn is_part(&self, node: NodeId) -> bool {
        self.is_inner(node) || self.is_structure(node)
    }

    /// Whether two objects have the same class.
    pub(crate) fn are_of_one_class(&self, one: NodeId, other: NodeId) -> bool {
        let class = |node: NodeId| (node < self.state.len()).then(|| self.state.class_id(node));
        class(one) == class(other)
    }

    /// Whether it is an inner part of a data structure, or hardly more than a reference.
    pub(crate) fn is_inner(&self, node: NodeId) -> bool {
        let internal = |structures: &Structures| structures.internals.contains(node);
        self.of(node, &self.is_inner_part)
            || node < self.state.len() && self.structures.is_some_and(internal)
    }

    fn of(&self, node: NodeId, of_class: &[bool]) -> bool {
        node < self.state.len() && of_class[self.state.class_id(node) as usize]
    }

    /// Whether it is a class loader.
    pub fn is_loader(&self, node: NodeId) -> bool {
        self.of(node, &self.is_loader)
    }

    /// Whether a class, or the element class of an array, belongs to the JVM and not to the program.
    pub fn is_platform_class(&self, class: ClassId) -> bool {
        self.is_platform[class as usize]
    }

    /// Whether a class is one in which the JVM keeps what every program needs.
    pub(crate) fn is_jvm_class(&self, class: ClassId) -> bool {
        let name = &self.state.classes()[class as usize].name;
        JVM_OWN.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Whether the JVM itself holds an object: a class of its own does, or no class at all, only a
    /// handle to an array.
    pub(crate) fn is_held_by_jvm(&self, node: NodeId) -> bool {
        let around = std::iter::once(node).chain(self.dominators.chain(node));
        let mut around = around.filter(|&node| node < self.state.len());
        let is_array = |node: NodeId| self.state.array_length(node).is_some();
        if self.dominators.chain(node).next().is_none() && is_array(node) {
            return self.is_platform_class(self.state.class_id(node));
        }
        around.any(|node| match self.state.mirrored(node) {
            Some(class) => self.is_jvm_class(class),
            None => self.is_jvm_class(self.state.class_id(node)),
        })
    }

    /// One of the loaders that every program has; it keeps nearly all of it alive.
    pub fn is_own_loader(&self, node: NodeId) -> bool {
        self.is_loader(node) && self.of(node, &self.is_platform)
    }

    /// The object a person would name: the map of a table, the list of an array.
    pub fn recognisable(&self, node: NodeId) -> NodeId {
        let mut named = node;
        for above in self.dominators.chain(node) {
            if !self.is_inner(named) || self.is_frame(above) {
                break;
            }
            named = above;
        }
        named
    }

    /// Threads, class loaders, class objects and cleaners: a program lives in them.
    pub fn is_frame(&self, node: NodeId) -> bool {
        node >= self.state.len() || self.is_frame_class(self.state.class_id(node))
    }

    /// Whether objects of the class only hold everything together, like threads and loaders.
    pub fn is_frame_class(&self, class: ClassId) -> bool {
        let (class, kind) = (class as usize, self.state.classes()[class as usize].kind);
        self.is_loader[class]
            || self.is_thread[class]
            || self.is_cleaner[class]
            || kind == ClassKind::Mirror
    }

    /// Whether it says nothing that this object keeps something alive: it is a thread, a loader,
    /// a class, or what a loader keeps its classes in.
    pub fn is_context(&self, node: NodeId) -> bool {
        let named = self.recognisable(node);
        let above = self.dominators.chain(named).next();
        self.is_frame(named) || above.is_some_and(|above| self.is_loader(above))
    }
}
