//! Threads with their stacks, the objects their frames hold, and what they keep alive.

use std::collections::BTreeMap;

use anthill_graph::{GroupTotals, kept_by_threads};
use anthill_heap::{ObjectId, RootOrigin, Thread, Value};
use rustc_hash::FxHashSet;

use crate::{Error, Session};

/// An object that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// Which object.
    pub object: ObjectId,
    /// What the source calls the root.
    pub origin: RootOrigin,
}

/// A thread and what it holds.
#[derive(Clone, Debug)]
pub struct ThreadStack {
    /// Index into [`anthill_heap::Tables::threads`].
    pub thread: u32,
    /// Whether the JVM ends without waiting for it, if the source tells.
    pub daemon: Option<bool>,
    /// As `java.lang.Thread.State` has it.
    pub state: Option<&'static str>,
    /// Innermost first: index into [`anthill_heap::Tables::frames`] and what the frame holds.
    pub frames: Vec<(u32, Vec<Local>)>,
    /// What the thread holds outside of the frames that are known.
    pub other: Vec<Local>,
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
            // Frames that are not known are one place.
            let frame = frame.filter(|&frame| (frame as usize) < frames.len());
            if !seen.insert((frame, local)) {
                continue;
            }
            match frame {
                Some(frame) => frames[frame as usize].1.push(local),
                None => other.push(local),
            }
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

    /// By thread, in the order of [`anthill_heap::Tables::threads`]: what would be freed if the roots of
    /// the thread were gone, its object and its locals, and everything else stayed.
    pub fn kept_by_threads(&self) -> Result<Vec<GroupTotals>, Error> {
        Ok(kept_by_threads(&self.graph(), self.progress())?)
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
