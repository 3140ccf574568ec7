//! Local variables that do not count: a test that asserts an object dead names it by a variable of
//! its own, which is in a frame that waits for the answer.

use anthill_graph::NodeId;
use anthill_heap::{HeapState, Root, RootOrigin, Value};
use anthill_hprof::Records;
use rustc_hash::FxHashSet;

/// The packages whose frames stand between the program and the check.
const OWN_FRAMES: &str = "dev.anthill.";

/// A thread as whoever asks knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadName {
    /// Its Java name; all threads of the name are meant.
    Name(String),
    /// What `Thread.getId()` says.
    Id(i64),
}

/// Forgives the variables of a thread's frames from the innermost one to the first one outside of
/// Anthill's own packages, that one included, as far as they refer directly to an asserted object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgive {
    /// Whose frames.
    pub thread: ThreadName,
}

/// The frames whose variables are forgiven: threads and how many of their frames.
#[derive(Clone, Debug, Default)]
pub struct Forgiven {
    frames: Vec<(u32, u32)>,
    /// Only references to these.
    objects: FxHashSet<NodeId>,
}

impl Forgiven {
    /// What to forgive in this heap, if it is about these objects.
    pub fn new(
        state: &HeapState,
        records: &Records,
        forgive: &Forgive,
        objects: impl Iterator<Item = NodeId>,
    ) -> Self {
        let tables = &state.tables;
        let is_meant = |thread: &anthill_heap::Thread| match &forgive.thread {
            ThreadName::Name(name) => thread.name.as_ref() == Some(name),
            ThreadName::Id(id) => {
                let field = |object| records.field(state, object, "tid");
                thread.object.and_then(field) == Some(Value::Long(*id))
            }
        };
        let frames = (0..).zip(&tables.threads);
        let frames = frames.filter(|(_, thread)| is_meant(thread));
        let frames = frames.filter_map(|(number, thread)| {
            let trace = &tables.traces[thread.trace? as usize];
            let is_own = |&frame: &u32| {
                let frame = tables.frames.get(frame as usize);
                frame.is_some_and(|frame| frame.class.starts_with(OWN_FRAMES))
            };
            // The thread waits for the answer, in frames of the JDK.
            let waiting = trace.frames.iter().position(is_own).unwrap_or(0);
            let own = trace.frames[waiting..].iter();
            let own = own.take_while(|frame| is_own(frame)).count();
            Some((number, (waiting + own) as u32 + 1))
        });
        Forgiven {
            frames: frames.collect(),
            objects: objects.collect(),
        }
    }

    /// Whether what the root holds does not count as held.
    pub fn contains(&self, root: &Root) -> bool {
        let (Some(thread), Some(frame)) = (root.thread, root.frame) else {
            return false;
        };
        let local = matches!(
            root.origin,
            RootOrigin::JavaFrame | RootOrigin::JniLocal | RootOrigin::NativeStack
        );
        let mut frames = self.frames.iter();
        local
            && self.objects.contains(&root.object)
            && frames.any(|&(forgiven, frames)| forgiven == thread && frame < frames)
    }

    /// The objects that are no roots once these variables are forgiven.
    pub fn no_roots(&self, state: &HeapState) -> Vec<NodeId> {
        let mut rooted = FxHashSet::default();
        let mut forgiven = Vec::new();
        for root in &state.tables.roots {
            match self.contains(root) {
                true => forgiven.push(root.object),
                false => {
                    rooted.insert(root.object);
                }
            }
        }
        forgiven.retain(|object| !rooted.contains(object));
        forgiven
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anthill_heap::{Frame, HeapBuilder, RecordedValues, StackTrace, Thread};

    use super::*;

    fn frame(class: &str) -> Frame {
        Frame {
            class: class.to_owned(),
            method: "run".to_owned(),
            signature: String::new(),
            source: None,
            line: 1,
        }
    }

    /// A thread that waits for a check in two frames of Anthill's, called by a test, called by others.
    fn state() -> HeapState {
        let mut heap = HeapBuilder::new();
        heap.objects("a b c d", "A", 16);
        let mut state = heap.build();
        let tables = &mut state.tables;
        let classes = [
            "dev.anthill.internal.Agent",
            "dev.anthill.GcAssertions",
            "com.app.Test",
            "org.junit.Runner",
        ];
        tables.frames = classes.map(frame).to_vec();
        for (number, name) in [(0, "main"), (1, "other")] {
            tables.traces.push(StackTrace {
                serial: number,
                thread_serial: number,
                frames: vec![0, 1, 2, 3],
            });
            tables.threads.push(Thread {
                serial: number,
                object: None,
                name: Some(name.to_owned()),
                trace: Some(number),
            });
        }
        state
    }

    fn local(object: NodeId, thread: u32, frame: u32) -> Root {
        Root {
            object,
            origin: RootOrigin::JavaFrame,
            thread: Some(thread),
            frame: Some(frame),
        }
    }

    #[test]
    fn only_variables_of_the_asking_frames_that_name_the_object_are_forgiven() {
        let mut state = state();
        state.tables.roots = vec![
            local(0, 0, 0),
            local(0, 0, 2),
            // In the frame of whoever called the test.
            local(1, 0, 3),
            // Of another thread.
            local(2, 1, 2),
            // Of an object that nothing is asserted of.
            local(3, 0, 2),
        ];
        let records = Records::recorded(Path::new(""), RecordedValues::default());
        let forgive = Forgive {
            thread: ThreadName::Name("main".to_owned()),
        };
        let forgiven = Forgiven::new(&state, &records, &forgive, 0..3);
        let roots: Vec<bool> = state
            .tables
            .roots
            .iter()
            .map(|root| forgiven.contains(root))
            .collect();
        assert_eq!(roots, [true, true, false, false, false]);
        assert_eq!(forgiven.no_roots(&state), [0, 0]);
        // Something else than a variable holds it, too.
        state.tables.roots.push(Root {
            origin: RootOrigin::JniGlobal,
            thread: None,
            frame: None,
            object: 0,
        });
        assert_eq!(forgiven.no_roots(&state), [] as [NodeId; 0]);
    }
}
