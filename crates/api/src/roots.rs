//! How answers name GC roots.

use anthill_heap::Root;
use anthill_session::{Session, frame_name};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{RootKind, RootOrigin};

/// A GC root as answers name it.
#[derive(Serialize, JsonSchema)]
pub struct RootName {
    /// The kind of the GC root.
    pub kind: RootKind,
    /// The name of the root's kind in the file.
    pub origin: RootOrigin,
    /// The name of the thread to which the root belongs; null if there is none or it is not known.
    pub thread: Option<String>,
    /// The stack frame to which the root belongs; null if there is none or it is not known.
    pub frame: Option<String>,
    /// The GC root in words.
    pub label: String,
}

impl RootName {
    /// Names a GC root of the heap.
    pub fn new(session: &Session, root: &Root) -> Self {
        RootName {
            kind: root.kind().into(),
            origin: root.origin.into(),
            thread: session.root_thread(root),
            frame: session.root_frame(root).map(frame_name),
            label: session.root_name(root),
        }
    }
}
