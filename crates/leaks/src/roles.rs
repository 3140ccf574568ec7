//! Which objects are recognised by a person, and which only hold everything together.

use anthill_graph::{Dominators, NodeId};
use anthill_heap::{ClassId, ClassKind, HeapState};

/// Packages whose classes come with the JVM, or with Android.
const PLATFORM: [&str; 10] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "android.",
    "com.android.",
    "dalvik.",
    "libcore.",
    "org.apache.harmony.",
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
}

impl<'a> Roles<'a> {
    pub fn new(state: &'a HeapState, dominators: &'a Dominators) -> Self {
        let classes = 0..state.classes().len() as ClassId;
        let name = |class: ClassId| state.classes()[class as usize].name.as_str();
        let is_platform = |class: ClassId| {
            let element = name(class).trim_end_matches("[]");
            !element.contains('.') && element.len() < name(class).len()
                || PLATFORM.iter().any(|package| element.starts_with(package))
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
                .map(|class| is_platform(class) && (is_array(class) || name(class).contains('$')))
                .collect(),
            is_platform: classes.map(is_platform).collect(),
        }
    }

    fn of(&self, node: NodeId, of_class: &[bool]) -> bool {
        node < self.state.len() && of_class[self.state.class_id(node) as usize]
    }

    pub fn is_loader(&self, node: NodeId) -> bool {
        self.of(node, &self.is_loader)
    }

    /// Whether a class, or the element class of an array, belongs to the JVM and not to the program.
    pub fn is_platform_class(&self, class: ClassId) -> bool {
        self.is_platform[class as usize]
    }

    /// One of the loaders that every program has; it keeps nearly all of it alive.
    pub fn is_own_loader(&self, node: NodeId) -> bool {
        self.is_loader(node) && self.of(node, &self.is_platform)
    }

    /// The object a person would name: the map of a table, the list of an array.
    pub fn recognisable(&self, node: NodeId) -> NodeId {
        let mut named = node;
        for above in self.dominators.chain(node) {
            if !self.of(named, &self.is_inner_part) || self.is_frame(above) {
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
