//! GC roots: why an object is alive without anybody referencing it.

use serde::{Deserialize, Serialize};

use crate::ObjectId;

/// The ten kinds of GC roots (Weninger et al. 2018, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootKind {
    ClassLoader,
    StaticField,
    Thread,
    LocalVariable,
    CodeBlob,
    Jni,
    Jvmti,
    Monitor,
    Management,
    Other,
}

/// What the source itself calls the root; each maps onto one [`RootKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootOrigin {
    Unknown,
    JniGlobal,
    JniLocal,
    JavaFrame,
    NativeStack,
    StickyClass,
    ThreadBlock,
    MonitorUsed,
    ThreadObject,
    InternedString,
    Finalizing,
    Debugger,
    ReferenceCleanup,
    VmInternal,
    JniMonitor,
    Unreachable,
    /// Not stated by the source: assumed so that something is alive.
    Assumed,
}

impl RootOrigin {
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
            | RootOrigin::Assumed => RootKind::Other,
        }
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
            RootOrigin::Unreachable => "kept though unreachable",
            RootOrigin::Assumed => "assumed",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    pub object: ObjectId,
    pub origin: RootOrigin,
    /// Index into [`crate::Tables::threads`], where the source names a thread.
    pub thread: Option<u32>,
    /// The position in that thread's stack, innermost frame 0, where the source names one.
    pub frame: Option<u32>,
}

impl Root {
    pub fn kind(&self) -> RootKind {
        self.origin.kind()
    }
}
