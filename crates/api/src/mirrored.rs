//! Names that lower crates give to things, as answers have them: with a schema.

use schemars::JsonSchema;
use serde::Serialize;

/// An enum with the same variants as one of a lower crate.
macro_rules! mirrored {
    ($(#[$about:meta])* $name:ident = $of:path { $($(#[$one:meta])* $variant:ident,)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        $(#[$about])*
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$one])* $variant,)*
        }

        impl From<$of> for $name {
            fn from(of: $of) -> Self {
                use $of as Of;
                match of {
                    $(Of::$variant => $name::$variant,)*
                }
            }
        }
    };
}

pub(crate) use mirrored;

mirrored! {
    /// The kinds of GC roots.
    RootKind = anthill_heap::RootKind {
        /// A class that the JVM keeps loaded.
        ClassLoader,
        /// A static field.
        StaticField,
        /// A running thread.
        Thread,
        /// A local variable of a running method.
        LocalVariable,
        /// A reference from compiled code.
        CodeBlob,
        /// A handle of native code.
        Jni,
        /// A reference of an agent or debugger.
        Jvmti,
        /// An object that is locked or waited for.
        Monitor,
        /// A reference of the JVM's own management.
        Management,
        /// A root of any other kind.
        Other,
    }
}

mirrored! {
    /// The name of a GC root's kind in the file.
    RootOrigin = anthill_heap::RootOrigin {
        /// The file names no reason.
        Unknown,
        /// A global handle of native code.
        JniGlobal,
        /// A local handle of running native code.
        JniLocal,
        /// A local variable of a running method.
        JavaFrame,
        /// A parameter of a running native method.
        NativeStack,
        /// A class that is never unloaded.
        StickyClass,
        /// An object that a thread block refers to.
        ThreadBlock,
        /// An object that is locked or waited for.
        MonitorUsed,
        /// A running thread.
        ThreadObject,
        /// A string in the JVM's string table.
        InternedString,
        /// An object whose finalizer is due.
        Finalizing,
        /// An object that a debugger holds.
        Debugger,
        /// A reference that is about to be cleared or enqueued.
        ReferenceCleanup,
        /// An object that the JVM itself holds.
        VmInternal,
        /// An object that native code locked.
        JniMonitor,
        /// An object that the file lists as a root though nothing refers to it.
        Unreachable,
        /// A root that is not in the file, which Anthill assumes so that something is alive.
        Assumed,
        /// Values that a `ClassValue` computed for a class that cannot be determined.
        ClassValueMap,
        /// Cached fields and methods of a class that cannot be determined.
        ReflectionData,
        /// Cached annotations of a class that cannot be determined.
        AnnotationData,
        /// The cached description of an annotation interface that cannot be determined.
        AnnotationType,
        /// The cached generic signature of a class that cannot be determined.
        GenericInfo,
    }
}

mirrored! {
    /// The kinds of waste.
    WasteKind = anthill_leaks::WasteKind {
        /// Strings of equal contents, without the first of each. You can save the strings, and
        /// their arrays unless something else holds them.
        DuplicateStrings,
        /// Primitive arrays of equal type and elements that are not all zero, without the first of
        /// each and without the arrays of strings. You can save the arrays.
        DuplicateArrays,
        /// Primitive arrays whose elements are all zero, without the arrays of strings, for
        /// information: most are buffers, which cannot be shared.
        ZeroArrays,
        /// `Integer`, `Long`, `Double`, … of the same class and value, without the first of each.
        /// You can save the boxes.
        DuplicateBoxes,
        /// All boxed numbers, for information.
        BoxedNumbers,
        /// Collections without elements whose array has slots. You can save the array, unless
        /// something else holds it.
        EmptyCollections,
        /// Collections without elements and without an array, for information.
        UnusedCollections,
        /// Collections with elements that use less than a quarter of an array of at least 16 slots.
        /// You can save the difference to an array of the size that the elements need.
        SparseCollections,
        /// Arrays of references outside of collections with at least 16 elements, more than three
        /// quarters of them null. You can save the difference to an array of the other elements.
        SparseArrays,
        /// Hash maps of at least 64 entries with more than two entries per used bucket. You can
        /// save nothing: collisions cost time.
        HashCollisions,
        /// Classes with at least 100 objects and at least 75 % of their reference fields null,
        /// without the JVM's own classes. You can save the bytes of the null fields.
        NullFields,
    }
}

mirrored! {
    /// How strongly a reference holds.
    Strength = anthill_heap::Strength {
        /// An ordinary reference.
        Strong,
        /// The referent of a `SoftReference`.
        Soft,
        /// The referent of a `WeakReference`.
        Weak,
        /// The referent of a `PhantomReference`.
        Phantom,
        /// The referent of a `FinalReference`: an object with a finalizer.
        Finalizer,
    }
}

impl Strength {
    /// As answers and questions write it.
    pub fn name(self) -> &'static str {
        match self {
            Strength::Strong => "strong",
            Strength::Soft => "soft",
            Strength::Weak => "weak",
            Strength::Phantom => "phantom",
            Strength::Finalizer => "finalizer",
        }
    }
}

mirrored! {
    /// The kinds of defects of a file.
    MissingKind = anthill_heap::MissingKind {
        /// The file ends too early.
        Truncated,
        /// Bytes could not be read and were skipped.
        Unreadable,
        /// A wrong value could be repaired, for example a length field.
        Repaired,
        /// Objects belong to a class that the file does not describe.
        UnknownClass,
        /// Objects occur more than once or have no address.
        BadObjects,
        /// References lead to objects that are not in the file.
        DanglingReferences,
        /// A whole part is absent, for example all GC roots.
        Absent,
        /// Nothing is missing, but the graph differs from that of a heap dump, as in a state
        /// recorded with `--identity all`.
        OtherGraph,
    }
}

/// Data that the file lacks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Missing {
    /// The kind of the defect.
    pub kind: MissingKind,
    /// The place in the decompressed file, in bytes from its start; null if there is no single
    /// place.
    pub offset: Option<u64>,
    /// The number of bytes, objects or references, depending on the kind.
    pub amount: u64,
    /// The defect in one sentence.
    pub what: String,
}

impl From<&anthill_heap::Missing> for Missing {
    fn from(missing: &anthill_heap::Missing) -> Self {
        Missing {
            kind: missing.kind.into(),
            offset: missing.offset,
            amount: missing.amount,
            what: missing.what.clone(),
        }
    }
}
