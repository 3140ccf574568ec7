//! What happened between heap states: collections, allocations, threads, marks, costs.
//!
//! Times are nanoseconds since the recording's start; names are numbers of [`crate::Symbols`].

use serde::{Deserialize, Serialize};

/// A garbage collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gc {
    /// Counts the JVM's collections; what `gc:N` names.
    pub number: u64,
    /// Whether the whole heap was collected.
    pub full: bool,
    /// E.g. `G1 Young Generation`.
    pub collector: String,
    /// E.g. `Allocation Failure`; empty if the JVM did not say.
    pub cause: String,
    /// When its pause began.
    pub start: u64,
    /// When its pause ended.
    pub end: u64,
    /// Bytes of heap in use before it, if the JVM told.
    pub used_before: Option<u64>,
    /// Bytes of heap in use after it, if the JVM told.
    pub used_after: Option<u64>,
    /// Bytes of memory that the heap had after it, if the JVM told.
    pub committed: Option<u64>,
}

/// A sampled allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When it was allocated.
    pub time: u64,
    /// The symbol of its class.
    pub class: u32,
    /// Bytes of the object.
    pub size: u64,
    /// Bytes of allocation that this sample stands for.
    pub weight: u64,
    /// The symbol of the thread that allocated it, if it is known.
    pub thread: Option<u32>,
    /// The symbol of where it was allocated, if it is known.
    pub stack: Option<u32>,
    /// The identity under which states tell whether the object is still alive.
    pub tracked: Option<u64>,
}

/// A thread started or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadEvent {
    /// When it did.
    pub time: u64,
    /// The thread's symbol.
    pub thread: u32,
    /// Whether it started; otherwise it ended.
    pub started: bool,
}

/// A moment that the program or a person named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When it was.
    pub time: u64,
    /// What it is called.
    pub text: String,
}

/// What recording cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Up to when, or at the end of what cost it.
    pub time: u64,
    /// How long the program stood still.
    pub pause: u64,
    /// CPU time inside the JVM.
    pub agent: u64,
    /// CPU time outside the JVM.
    pub recorder: u64,
    /// E.g. `state 4`, `sampling`.
    pub what: String,
}

/// Something that should have been recorded and was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// When it was noticed.
    pub time: u64,
    /// E.g. `state`, `samples`.
    pub what: String,
    /// How many.
    pub amount: u64,
    /// In words, for a person.
    pub reason: String,
}

/// An assertion of the program that did not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// When the state was taken that shows it.
    pub time: u64,
    /// E.g. `dead`, `owned-by`.
    pub kind: String,
    /// What the program says about it.
    pub message: Option<String>,
    /// Where the assertion was made, the innermost frame first.
    pub made_at: Vec<String>,
    /// Of the objects, in Java notation.
    pub class: String,
    /// Objects that violate it in the same way, and their bytes.
    pub count: u64,
    /// See `count`.
    pub bytes: u64,
    /// Everything in words, on several lines.
    pub text: String,
    /// Everything as JSON.
    pub json: String,
}

/// What a recorder tells a trace, in any order of kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The JVM collected garbage.
    Gc(Gc),
    /// An object was allocated.
    Sample(Sample),
    /// A thread came or went.
    Thread(ThreadEvent),
    /// Somebody named this moment.
    Mark(Mark),
    /// Recording had its price.
    Cost(Cost),
    /// Something is not in the trace.
    Dropped(Dropped),
    /// The program's heap is not as the program says.
    Violation(Violation),
}

/// All events of a trace, each kind in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Garbage collections.
    pub gcs: Vec<Gc>,
    /// Sampled allocations.
    pub samples: Vec<Sample>,
    /// Starts and ends of threads.
    pub threads: Vec<ThreadEvent>,
    /// Named moments.
    pub marks: Vec<Mark>,
    /// What recording cost.
    pub costs: Vec<Cost>,
    /// What is not in the trace.
    pub dropped: Vec<Dropped>,
    /// Assertions that did not hold.
    pub violations: Vec<Violation>,
}

impl Timeline {
    pub(crate) fn add(&mut self, event: Event) {
        match event {
            Event::Gc(gc) => self.gcs.push(gc),
            Event::Sample(sample) => self.samples.push(sample),
            Event::Thread(thread) => self.threads.push(thread),
            Event::Mark(mark) => self.marks.push(mark),
            Event::Cost(cost) => self.costs.push(cost),
            Event::Dropped(dropped) => self.dropped.push(dropped),
            Event::Violation(violation) => self.violations.push(violation),
        }
    }

    pub(crate) fn append(&mut self, mut other: Timeline) {
        self.gcs.append(&mut other.gcs);
        self.samples.append(&mut other.samples);
        self.threads.append(&mut other.threads);
        self.marks.append(&mut other.marks);
        self.costs.append(&mut other.costs);
        self.dropped.append(&mut other.dropped);
        self.violations.append(&mut other.violations);
    }

    /// Events of several threads may arrive a little out of order.
    pub(crate) fn sort(&mut self) {
        self.gcs.sort_by_key(|gc| gc.start);
        self.samples.sort_by_key(|sample| sample.time);
        self.threads.sort_by_key(|thread| thread.time);
        self.marks.sort_by_key(|mark| mark.time);
        self.costs.sort_by_key(|cost| cost.time);
        self.dropped.sort_by_key(|dropped| dropped.time);
        self.violations.sort_by_key(|violation| violation.time);
    }

    /// When the last event ended.
    pub fn end(&self) -> u64 {
        let last = [
            self.gcs.iter().map(|gc| gc.end).max(),
            self.samples.last().map(|sample| sample.time),
            self.threads.last().map(|thread| thread.time),
            self.marks.last().map(|mark| mark.time),
            self.costs.last().map(|cost| cost.time),
            self.dropped.last().map(|dropped| dropped.time),
            self.violations.last().map(|violation| violation.time),
        ];
        last.into_iter().flatten().max().unwrap_or(0)
    }
}

/// A block of events. Samples are by far the most, so they are columns: equal and close values
/// stand side by side.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct EventBlock {
    gcs: Vec<Gc>,
    threads: Vec<ThreadEvent>,
    marks: Vec<Mark>,
    costs: Vec<Cost>,
    dropped: Vec<Dropped>,
    samples: SampleColumns,
}

#[derive(Default, Serialize, Deserialize)]
struct SampleColumns {
    /// Each as the distance from the one before, wrapping.
    times: Vec<i64>,
    classes: Vec<u32>,
    sizes: Vec<u64>,
    weights: Vec<u64>,
    /// One more than the number, 0 for none; so are the next two.
    threads: Vec<u64>,
    stacks: Vec<u64>,
    /// As distances, wrapping.
    tracked: Vec<i64>,
}

/// 0 for none, else one more; the largest value is none as well.
fn or_zero(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.wrapping_add(1))
}

impl From<Timeline> for EventBlock {
    fn from(events: Timeline) -> Self {
        let mut samples = SampleColumns::default();
        let (mut time, mut tracked) = (0u64, 0u64);
        for sample in &events.samples {
            samples.times.push(sample.time.wrapping_sub(time) as i64);
            time = sample.time;
            samples.classes.push(sample.class);
            samples.sizes.push(sample.size);
            samples.weights.push(sample.weight);
            samples.threads.push(or_zero(sample.thread.map(u64::from)));
            samples.stacks.push(or_zero(sample.stack.map(u64::from)));
            let id = or_zero(sample.tracked);
            samples.tracked.push(id.wrapping_sub(tracked) as i64);
            tracked = id;
        }
        EventBlock {
            gcs: events.gcs,
            threads: events.threads,
            marks: events.marks,
            costs: events.costs,
            dropped: events.dropped,
            samples,
        }
    }
}

impl EventBlock {
    /// `None` if the columns do not fit together.
    pub(crate) fn events(self) -> Option<Timeline> {
        let columns = &self.samples;
        let count = columns.times.len();
        let fits = [
            columns.classes.len(),
            columns.sizes.len(),
            columns.weights.len(),
            columns.threads.len(),
            columns.stacks.len(),
            columns.tracked.len(),
        ];
        if fits.iter().any(|&len| len != count) {
            return None;
        }
        let (mut time, mut tracked) = (0u64, 0u64);
        let narrow = |value: u64| u32::try_from(value.checked_sub(1)?).ok();
        let samples = (0..count).map(|index| {
            time = time.wrapping_add(columns.times[index] as u64);
            tracked = tracked.wrapping_add(columns.tracked[index] as u64);
            Sample {
                time,
                class: columns.classes[index],
                size: columns.sizes[index],
                weight: columns.weights[index],
                thread: narrow(columns.threads[index]),
                stack: narrow(columns.stacks[index]),
                tracked: tracked.checked_sub(1),
            }
        });
        let samples = samples.collect();
        Some(Timeline {
            gcs: self.gcs,
            samples,
            threads: self.threads,
            marks: self.marks,
            costs: self.costs,
            dropped: self.dropped,
            // In blocks of their own.
            violations: Vec::new(),
        })
    }
}
