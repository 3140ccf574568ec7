//! Threads with their stacks, the objects their frames hold, and what they keep alive.

use std::collections::BTreeMap;

use anthill_graph::{Graph, NodeId, gc_closure};
use anthill_heap::{ObjectId, RootOrigin, Thread, Value};
use rustc_hash::FxHashSet;

use crate::{Error, Session};

/// An object that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    pub object: ObjectId,
    pub origin: RootOrigin,
}

#[derive(Clone, Debug)]
pub struct ThreadStack {
    /// Index into [`anthill_heap::Tables::threads`].
    pub thread: u32,
    pub daemon: Option<bool>,
    /// As `java.lang.Thread.State` has it.
    pub state: Option<&'static str>,
    /// Innermost first: index into [`anthill_heap::Tables::frames`] and what the frame holds.
    pub frames: Vec<(u32, Vec<Local>)>,
    /// What the thread holds outside of the frames that are known.
    pub other: Vec<Local>,
}

/// What a thread keeps alive together with its locals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub objects: Option<u64>,
    pub retained: u64,
}

impl Session {
    /// All threads in the order of the source.
    pub fn thread_stacks(&self) -> Vec<ThreadStack> {
        let tables = &self.state().tables;
        let mut locals: BTreeMap<u32, Vec<(Option<u32>, Local)>> = BTreeMap::new();
        for root in &tables.roots {
            if let Some(thread) = root
                .thread
                .filter(|_| root.origin != RootOrigin::ThreadObject)
            {
                let (object, origin) = (root.object, root.origin);
                let of_thread = locals.entry(thread).or_default();
                of_thread.push((root.frame, Local { object, origin }));
            }
        }
        (0..)
            .zip(&tables.threads)
            .map(|(index, thread)| {
                let held = locals.remove(&index).unwrap_or_default();
                self.thread_stack(index, thread, held)
            })
            .collect()
    }

    fn thread_stack(
        &self,
        index: u32,
        thread: &Thread,
        held: Vec<(Option<u32>, Local)>,
    ) -> ThreadStack {
        let trace = thread
            .trace
            .map(|trace| &self.state().tables.traces[trace as usize]);
        let mut frames: Vec<(u32, Vec<Local>)> = trace
            .iter()
            .flat_map(|trace| &trace.frames)
            .map(|&frame| (frame, Vec::new()))
            .collect();
        let mut other = Vec::new();
        let mut seen = FxHashSet::default();
        for (frame, local) in held {
            if !seen.insert((frame, local)) {
                continue;
            }
            let place = match frame.and_then(|frame| frames.get_mut(frame as usize)) {
                Some((_, locals)) => locals,
                None => &mut other,
            };
            place.push(local);
        }
        let status = self.thread_field(thread, "threadStatus");
        let daemon = self.thread_field(thread, "daemon");
        ThreadStack {
            thread: index,
            daemon: daemon.and_then(|value| match value {
                Value::Boolean(daemon) => Some(daemon),
                _ => None,
            }),
            state: status.and_then(|value| match value {
                Value::Int(status) => Some(state_name(status)),
                _ => None,
            }),
            frames,
            other,
        }
    }

    /// A field of a thread object; newer JDKs keep some in a holder.
    fn thread_field(&self, thread: &Thread, name: &str) -> Option<Value> {
        let (state, records) = (self.state(), self.records());
        let object = thread.object?;
        records.field(state, object, name).or_else(|| {
            let holder = records.field_object(state, object, "holder")?;
            records.field(state, holder, name)
        })
    }

    /// The thread object and its locals, each once.
    pub fn thread_group(&self, stack: &ThreadStack) -> Vec<NodeId> {
        let thread = self.state().tables.threads[stack.thread as usize].object;
        let locals = stack.frames.iter().flat_map(|(_, locals)| locals);
        let mut group: Vec<NodeId> = locals
            .chain(&stack.other)
            .map(|local| local.object)
            .chain(thread)
            .collect();
        group.sort_unstable();
        group.dedup();
        group
    }

    /// What would die with a group, exactly: one walk over the heap.
    pub fn kept_by(&self, graph: &Graph, group: &[NodeId]) -> Kept {
        let totals = graph.totals(&gc_closure(graph, group));
        Kept {
            objects: Some(totals.objects),
            retained: totals.bytes,
        }
    }

    /// What the members of a group retain by themselves, added up: at most what would die with
    /// the group, for what only several of them keep alive together is missing.
    pub fn kept_at_least(&self, group: &[NodeId]) -> Result<Kept, Error> {
        let dominators = &self.analysis()?.dominators;
        let topmost = group.iter().filter(|&&node| {
            let mut above = dominators.chain(node);
            !above.any(|above| group.binary_search(&above).is_ok())
        });
        Ok(Kept {
            objects: None,
            retained: topmost.map(|&node| dominators.retained(node)).sum(),
        })
    }
}

/// The state in the bits of JVMTI's thread states.
fn state_name(status: i32) -> &'static str {
    match status {
        status if status & 0x4 != 0 => "RUNNABLE",
        status if status & 0x400 != 0 => "BLOCKED",
        status if status & 0x10 != 0 => "WAITING",
        status if status & 0x20 != 0 => "TIMED_WAITING",
        status if status & 0x2 != 0 => "TERMINATED",
        status if status & 0x1 == 0 => "NEW",
        _ => "RUNNABLE",
    }
}
