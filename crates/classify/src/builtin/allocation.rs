//! Classifiers by where and by whom an object was allocated, and the space it is in, in dumps that
//! tell.

use anthill_heap::{Frame, ObjectId};
use rustc_hash::FxHashMap;

use super::{Context, thread_name};
use crate::values::{Classified, LabelId, Values};

const UNKNOWN: &str = "(not recorded)";

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const TEN_SECONDS: u64 = 10 * SECOND;
const TEN_MINUTES: u64 = 10 * MINUTE;

fn age_name(age: u64) -> &'static str {
    match age {
        0..SECOND => "less than a second",
        SECOND..TEN_SECONDS => "1 to 10 seconds",
        TEN_SECONDS..MINUTE => "10 to 60 seconds",
        MINUTE..TEN_MINUTES => "1 to 10 minutes",
        TEN_MINUTES..HOUR => "10 to 60 minutes",
        HOUR..DAY => "1 to 24 hours",
        _ => "more than a day",
    }
}

impl Context<'_> {
    pub(super) fn allocation_site(&self) -> Classified {
        self.by_trace(|values, trace| {
            let frames = self.frames(trace);
            let texts: Vec<String> = frames
                .map(|frame| format!("{}.{}:{}", frame.class, frame.method, frame.line))
                .collect();
            if texts.is_empty() {
                return values.one(UNKNOWN);
            }
            let path = values.path(texts.iter().map(String::as_str));
            values.label(vec![path])
        })
    }

    pub(super) fn allocating_thread(&self) -> Classified {
        let tables = &self.state().tables;
        self.by_trace(|values, trace| {
            let serial = tables.traces[trace as usize].thread_serial;
            let thread = tables.threads.iter().find(|thread| thread.serial == serial);
            let mut named = tables.allocating_threads.iter();
            match (thread, named.find(|thread| thread.0 == serial)) {
                (Some(thread), _) => values.one(&thread_name(thread)),
                (None, Some((_, name))) => values.one(name),
                (None, None) if serial == 0 => values.one(UNKNOWN),
                (None, None) => values.one(&format!("thread {serial}")),
            }
        })
    }

    /// How old each object is, in steps that people think in.
    pub(super) fn age(&self) -> Classified {
        let ages: FxHashMap<ObjectId, u64> = self.state().tables.ages.iter().copied().collect();
        self.by_object(|values, object| match ages.get(&object) {
            Some(&age) => values.one(age_name(age)),
            None => values.one(UNKNOWN),
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
