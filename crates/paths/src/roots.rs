//! The roots of a heap by the objects they hold, and their names.

use anthill_graph::NodeId;
use anthill_heap::{ObjectId, Root, RootOrigin};
use anthill_session::{Session, frame_name};

/// The roots of the heap, to be found by what they hold.
pub struct RootsByObject<'a> {
    session: &'a Session,
    /// Sorted by object.
    roots: Vec<&'a Root>,
}

impl<'a> RootsByObject<'a> {
    /// All roots of a heap.
    pub fn new(session: &'a Session) -> Self {
        RootsByObject::of_those(session, |_| true)
    }

    /// As if there were only these roots.
    pub fn of_those(session: &'a Session, wanted: impl Fn(&Root) -> bool) -> Self {
        let roots = session.state().tables.roots.iter();
        let mut roots: Vec<&Root> = roots.filter(|root| wanted(root)).collect();
        // Where an object has several roots, those that say more come first.
        roots.sort_by_key(|root| {
            let other = root.origin != RootOrigin::ThreadObject;
            (
                root.object,
                other,
                root.frame.is_none(),
                root.thread.is_none(),
            )
        });
        RootsByObject { session, roots }
    }

    /// The roots that hold an object.
    pub fn of(&self, object: ObjectId) -> &[&'a Root] {
        let start = self.roots.partition_point(|root| root.object < object);
        let len = self.roots[start..].partition_point(|root| root.object == object);
        &self.roots[start..start + len]
    }

    /// Why a node is a root, in words.
    pub fn name(&self, node: NodeId) -> String {
        match self.of(node).first() {
            Some(root) => self.session.root_name(root),
            None => "root of the boot loader".to_owned(),
        }
    }

    /// The same without the name of the thread: what many threads do in the same place is one.
    pub fn place(&self, node: NodeId) -> String {
        let Some(root) = self.of(node).first() else {
            return self.name(node);
        };
        match self.session.root_frame(root) {
            Some(frame) => format!("{} at {}", root.origin.label(), frame_name(frame)),
            None => root.origin.label().to_owned(),
        }
    }
}
