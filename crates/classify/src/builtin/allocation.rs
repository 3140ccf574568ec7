//! Classifiers by where and by whom an object was allocated, and the space it is in, in dumps that
//! tell.

use anthill_heap::{Frame, ObjectId};
use rustc_hash::FxHashMap;

use super::{Context, thread_name};
use crate::values::{Classified, LabelId, Values};

const UNKNOWN: &str = "(not recorded)";

impl Context<'_> {
    pub(super) fn allocation_site(&self) -> Classified {
        self.by_trace(|values, trace| {
            let frames = self.frames(trace);
            let texts: Vec<String> = frames
                .map(|frame| format!("{}.{}:{}", frame.class, frame.method, frame.line))
                .collect();
            let path = values.path(texts.iter().map(String::as_str));
            values.label(vec![path])
        })
    }

    pub(super) fn allocating_thread(&self) -> Classified {
        let tables = &self.state().tables;
        self.by_trace(|values, trace| {
            let serial = tables.traces[trace as usize].thread_serial;
            let thread = tables.threads.iter().find(|thread| thread.serial == serial);
            match thread {
                Some(thread) => values.one(&thread_name(thread)),
                None if serial == 0 => values.one(UNKNOWN),
                None => values.one(&format!("thread {serial}")),
            }
        })
    }

    /// The heap space of each object, in dumps that have several.
    pub(super) fn space(&self) -> Classified {
        let state = self.state();
        if state.tables.spaces.is_empty() {
            return self.by_class(|values, _| values.one(UNKNOWN));
        }
        let mut cursor = self.records.cursor();
        self.by_object(|values, object| {
            let space = cursor.space(state, object);
            values.one(space.unwrap_or(UNKNOWN))
        })
    }

    /// The frames of a stack trace, innermost first.
    pub(super) fn frames(&self, trace: u32) -> impl Iterator<Item = &Frame> {
        let tables = &self.state().tables;
        let frames = tables.traces[trace as usize].frames.iter();
        frames.map(|&frame| &tables.frames[frame as usize])
    }

    /// The allocation stack trace of each object that has one.
    pub(super) fn allocation_traces(&self) -> FxHashMap<ObjectId, u32> {
        self.state().tables.allocations.iter().copied().collect()
    }

    /// What depends on the allocation stack trace only.
    fn by_trace(&self, label: impl Fn(&mut Values, u32) -> LabelId) -> Classified {
        let traces = self.allocation_traces();
        let mut known: FxHashMap<Option<u32>, LabelId> = FxHashMap::default();
        self.by_object(|values, object| {
            let trace = traces.get(&object).copied();
            *known.entry(trace).or_insert_with(|| match trace {
                None => values.one(UNKNOWN),
                Some(trace) => label(values, trace),
            })
        })
    }
}
