//! What answers say about recordings and their states.

use anthill_history::{HeapMoment, History};
use anthill_trace::{Trace, elapsed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::units::bytes;

/// The JVM that was recorded.
#[derive(Serialize, JsonSchema)]
pub struct Facts {
    /// When the recording began, in nanoseconds since 1970.
    pub started_ns: u64,
    /// When the JVM was started, in nanoseconds since 1970; null if it is not known.
    pub jvm_started_ns: Option<u64>,
    /// The process ID of the JVM; null if it is not known.
    pub pid: Option<u32>,
    /// The version of the JVM.
    pub version: String,
    /// The name of the JVM, for example `OpenJDK 64-Bit Server VM`.
    pub vm: String,
    /// The vendor of the JVM.
    pub vendor: String,
    /// The garbage collector that the JVM used.
    pub collector: String,
    /// The main class or jar and the arguments of the program.
    pub command_line: String,
    /// Flags of the JVM, each with its value.
    pub flags: Vec<(String, String)>,
    /// Processors that the JVM could use; null if that is not known.
    pub cores: Option<u32>,
    /// The maximum size of the heap in bytes; null if it is not known.
    pub max_heap: Option<u64>,
    /// Options of the recorder, each with its value.
    pub options: Vec<(String, String)>,
    /// Data that this JVM does not provide, in sentences.
    pub missing: Vec<String>,
}

impl From<&anthill_trace::Facts> for Facts {
    fn from(facts: &anthill_trace::Facts) -> Self {
        Facts {
            started_ns: facts.started,
            jvm_started_ns: facts.jvm_started,
            pid: facts.pid,
            version: facts.version.clone(),
            vm: facts.vm.clone(),
            vendor: facts.vendor.clone(),
            collector: facts.collector.clone(),
            command_line: facts.command_line.clone(),
            flags: facts.flags.clone(),
            cores: facts.cores,
            max_heap: facts.max_heap,
            options: facts.options.clone(),
            missing: facts.missing.clone(),
        }
    }
}

/// A recording in numbers.
pub struct Recording {
    /// What is known of the recorded JVM.
    pub facts: Facts,
    /// Nanoseconds from the start to whatever happened last.
    pub duration_ns: u64,
    /// Whether it was ended; otherwise it may still grow.
    pub complete: bool,
    /// The number of recorded states of the heap.
    pub states: u64,
    /// The number of garbage collections.
    pub collections: u64,
    /// The number of sampled allocations.
    pub samples: u64,
    /// The number of marks.
    pub marks: u64,
}

impl Recording {
    /// Counts what a recording has.
    pub fn new(trace: &Trace, history: &History) -> Self {
        let timeline = trace.timeline();
        Recording {
            facts: trace.facts().into(),
            duration_ns: history.duration(),
            complete: trace.is_complete(),
            states: trace.states().len() as u64,
            collections: timeline.gcs.len() as u64,
            samples: timeline.samples.len() as u64,
            marks: timeline.marks.len() as u64,
        }
    }
}

/// A point of time at which the whole heap is known.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Moment {
    /// The name of the state for `--at`; for a dump, its file.
    pub point: String,
    /// Nanoseconds since the start of the recording or since the first dump.
    pub time: u64,
    /// The number of the garbage collection after which the state was recorded; null if there was none.
    pub gc: Option<u64>,
    /// The mark for which the state was recorded; null if there was none.
    pub mark: Option<String>,
    /// How long the program was paused while the state was recorded, in nanoseconds; null for
    /// dumps.
    pub pause: Option<u64>,
    /// The number of objects, including unreachable ones.
    pub objects: u64,
    /// Shallow size of all objects in bytes, including unreachable ones.
    pub bytes: u64,
    /// The number of reachable objects; null if it is not known.
    pub reachable_objects: Option<u64>,
    /// Shallow size of the reachable objects in bytes; null if it is not known.
    pub reachable_bytes: Option<u64>,
}

impl Moment {
    /// Bytes alive; all there are where that is not known.
    pub fn alive(&self) -> u64 {
        self.reachable_bytes.unwrap_or(self.bytes)
    }

    /// Objects alive; all there are where that is not known.
    pub fn alive_objects(&self) -> u64 {
        self.reachable_objects.unwrap_or(self.objects)
    }
}

impl From<&HeapMoment> for Moment {
    fn from(moment: &HeapMoment) -> Self {
        Moment {
            point: moment.point.clone(),
            time: moment.time,
            gc: moment.gc,
            mark: moment.mark.clone(),
            pause: moment.pause,
            objects: moment.objects,
            bytes: moment.bytes,
            reachable_objects: moment.reachable_objects,
            reachable_bytes: moment.reachable_bytes,
        }
    }
}

/// The longest tail of states in which the heap keeps growing in spite of dips.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub struct LeakWindow {
    /// The index of the first state of the window in the list of all states, from 0.
    pub from: usize,
    /// The index of the last state of the window in the list of all states, from 0.
    pub to: usize,
    /// Bytes by which the heap grows within the window.
    pub growth: u64,
    /// Nanoseconds from the first to the last state of the window.
    pub duration: u64,
    /// How fast the heap grows there.
    #[serde(skip)]
    pub bytes_per_minute: u64,
}

impl From<anthill_history::LeakWindow> for LeakWindow {
    fn from(window: anthill_history::LeakWindow) -> Self {
        LeakWindow {
            from: window.from,
            to: window.to,
            growth: window.growth,
            duration: window.duration,
            bytes_per_minute: window.bytes_per_minute(),
        }
    }
}

/// Where the heap only grows, and how fast.
pub fn window_sentence(from: &Moment, to: &Moment, window: &LeakWindow) -> String {
    format!(
        "The heap keeps growing from {} (at {}) to {} (at {}): {} to {}, {} a minute. What grows there?",
        from.point,
        elapsed(from.time),
        to.point,
        elapsed(to.time),
        bytes(from.alive()),
        bytes(to.alive()),
        bytes(window.bytes_per_minute),
    )
}
