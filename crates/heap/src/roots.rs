//! GC roots: why an object is alive without anybody referencing it.

use serde::{Deserialize, Serialize};

use crate::ObjectId;

/// The ten kinds of GC roots (Weninger et al. 2018, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootKind {
    /// Classes that the JVM keeps loaded.
    ClassLoader,
    /// Static fields.
    StaticField,
    /// Threads that run.
    Thread,
    /// Variables of methods that run.
    LocalVariable,
    /// Objects that compiled code refers to.
    CodeBlob,
    /// Handles of native code.
    Jni,
    /// What agents and debuggers hold.
    Jvmti,
    /// Objects that are locked or waited for.
    Monitor,
    /// What the JVM's own management keeps.
    Management,
    /// Whatever does not fit elsewhere.
    Other,
}

/// What the source itself calls the root; each maps onto one [`RootKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootOrigin {
    /// The source names no reason.
    Unknown,
    /// A global handle of native code.
    JniGlobal,
    /// A local handle of native code that runs.
    JniLocal,
    /// A variable of a method that runs.
    JavaFrame,
    /// A parameter of a native method that runs.
    NativeStack,
    /// A class that is never unloaded.
    StickyClass,
    /// Something that a block of a thread refers to.
    ThreadBlock,
    /// An object that is locked or waited for.
    MonitorUsed,
    /// A thread that runs.
    ThreadObject,
    /// A text in the JVM's table of strings.
    InternedString,
    /// An object whose finalizer is due.
    Finalizing,
    /// Something a debugger holds.
    Debugger,
    /// A reference that is about to be cleared or enqueued.
    ReferenceCleanup,
    /// Something the JVM itself holds.
    VmInternal,
    /// An object that native code locked.
    JniMonitor,
    /// An object that the source lists though nothing refers to it.
    Unreachable,
    /// Not stated by the source: assumed so that something is alive.
    Assumed,
    /// Values that were computed for a class; which class cannot be told.
    ClassValueMap,
    /// Fields and methods of a class that were asked for; which class cannot be told.
    ReflectionData,
    /// The annotations of a class; which class cannot be told.
    AnnotationData,
    /// What the JVM knows of an annotation interface; which one cannot be told.
    AnnotationType,
    /// The generic signature of a class; which class cannot be told.
    GenericInfo,
}

impl RootOrigin {
    /// The kind it counts as.
    pub fn kind(self) -> RootKind {
        match self {
            RootOrigin::JniGlobal | RootOrigin::JniLocal | RootOrigin::NativeStack => RootKind::Jni,
            RootOrigin::JavaFrame => RootKind::LocalVariable,
            RootOrigin::StickyClass => RootKind::ClassLoader,
            RootOrigin::ThreadBlock | RootOrigin::ThreadObject => RootKind::Thread,
            RootOrigin::MonitorUsed | RootOrigin::JniMonitor => RootKind::Monitor,
            RootOrigin::Debugger => RootKind::Jvmti,
            RootOrigin::Unknown
            | RootOrigin::InternedString
            | RootOrigin::Finalizing
            | RootOrigin::ReferenceCleanup
            | RootOrigin::VmInternal
            | RootOrigin::Unreachable
            | RootOrigin::Assumed
            | RootOrigin::ClassValueMap
            | RootOrigin::ReflectionData
            | RootOrigin::AnnotationData
            | RootOrigin::AnnotationType
            | RootOrigin::GenericInfo => RootKind::Other,
        }
    }

    /// Whether it stands for a field of a class object that dumps leave out: the root lives as long as
    /// a class that cannot be told.
    pub fn is_class_field(self) -> bool {
        matches!(
            self,
            RootOrigin::ClassValueMap
                | RootOrigin::ReflectionData
                | RootOrigin::AnnotationData
                | RootOrigin::AnnotationType
                | RootOrigin::GenericInfo
        )
    }

    /// The words a person knows it by.
    pub fn label(self) -> &'static str {
        match self {
            RootOrigin::Unknown => "unknown",
            RootOrigin::JniGlobal => "JNI global",
            RootOrigin::JniLocal => "JNI local",
            RootOrigin::JavaFrame => "local variable",
            RootOrigin::NativeStack => "native stack",
            RootOrigin::StickyClass => "system class",
            RootOrigin::ThreadBlock => "thread block",
            RootOrigin::MonitorUsed => "monitor",
            RootOrigin::ThreadObject => "thread",
            RootOrigin::InternedString => "interned string",
            RootOrigin::Finalizing => "finalizing",
            RootOrigin::Debugger => "debugger",
            RootOrigin::ReferenceCleanup => "reference cleanup",
            RootOrigin::VmInternal => "VM internal",
            RootOrigin::JniMonitor => "JNI monitor",
            RootOrigin::Unreachable => "listed as a root though unreachable",
            RootOrigin::Assumed => "assumed",
            RootOrigin::ClassValueMap => "held inside the JVM (class value map)",
            RootOrigin::ReflectionData => "held inside the JVM (reflection data)",
            RootOrigin::AnnotationData => "held inside the JVM (annotation data)",
            RootOrigin::AnnotationType => "held inside the JVM (annotation type)",
            RootOrigin::GenericInfo => "held inside the JVM (generic signature)",
        }
    }
}

/// An object that is alive for a reason outside the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The object that is kept alive.
    pub object: ObjectId,
    /// What the source calls the reason.
    pub origin: RootOrigin,
    /// Index into [`crate::Tables::threads`], where the source names a thread.
    pub thread: Option<u32>,
    /// The position in that thread's stack, innermost frame 0, where the source names one.
    pub frame: Option<u32>,
}

impl Root {
    /// The kind its origin counts as.
    pub fn kind(&self) -> RootKind {
        self.origin.kind()
    }
}
