//! From what the JVM wrote to a state in the trace, in a thread of low priority.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anthill_heap::phrases::count;
use anthill_heap::{BitSet, Class, ClassId, HeapState, Missing, MissingKind, Quiet};
use anthill_hprof::{Dump, Records};
use anthill_trace::{
    FollowedStructure, Identities, Moment, StateHeader, StateToWrite, TraceWriter,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::clock::own_cpu;
use crate::heap_walk::{ClassTable, Walk};

/// A tenth of what others get, so that a state is also written beside a program that uses all cores.
const LOW_PRIORITY: i32 = 10;

/// What is computed about each state before it is written. The caller brings it: a recorder runs no
/// analyses of its own.
#[derive(Clone, Copy)]
pub struct StateAnalysis {
    /// The objects that GC roots keep alive; nothing if sizes are unknown.
    pub reachable: fn(&HeapState) -> Option<BitSet>,
    /// The data structures that are followed from state to state, of a state whose identities and
    /// reachable objects are known, with the values of its objects if they can be read.
    pub structures: fn(&StateToWrite, Option<&Records>) -> Vec<FollowedStructure>,
}

/// A state that lies on disk.
pub(crate) struct Job {
    pub path: PathBuf,
    pub moment: Moment,
    pub contents: bool,
    pub source: Source,
    /// Somebody waits for it.
    pub urgent: bool,
    /// Whether this JVM's dumps leave out what virtual threads have on their stacks.
    pub hides_virtual_threads: bool,
}

pub(crate) enum Source {
    /// A dump, and which tracked object is at which address.
    Dump(Vec<(u64, u64)>),
    Walk(Arc<ClassTable>),
}

/// A state that is in the trace.
pub(crate) struct Written {
    pub header: StateHeader,
    /// Bytes it takes there.
    pub bytes: u64,
}

pub(crate) struct Converted {
    pub result: Result<Written, String>,
    /// Processor time it took.
    pub cpu: Duration,
    /// Why identities are missing, if they are.
    pub lost_identities: Option<String>,
}

/// The thread that converts one state after the other.
pub(crate) struct Converter {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Converter {
    pub(crate) fn start(
        writer: Arc<Mutex<TraceWriter>>,
        analysis: StateAnalysis,
        mut done: impl FnMut(Converted) + Send + 'static,
    ) -> Self {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let thread = thread::spawn(move || {
            for job in waiting {
                let before = own_cpu();
                let mut lost_identities = None;
                let result = in_background(job.urgent, || {
                    convert(&job, analysis, &writer, &mut lost_identities)
                });
                // Written or not, it is of no more use.
                let _ = fs::remove_file(&job.path);
                done(Converted {
                    result,
                    cpu: own_cpu().saturating_sub(before),
                    lost_identities,
                });
            }
        });
        Converter {
            jobs: Some(jobs),
            thread: Some(thread),
        }
    }

    pub(crate) fn convert(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only after this sender is gone.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Converter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Works with all cores, but only where nobody else wants them unless it is urgent. Whoever waits for the result gets one,
/// also if the work fails in a way that it should not.
pub(crate) fn in_background<T: Send>(
    urgent: bool,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let pool = workers(urgent)?;
    let done = catch_unwind(AssertUnwindSafe(|| pool.install(work)));
    done.unwrap_or_else(|_| {
        Err("Anthill failed to convert it; this is a bug in \
    Anthill"
            .to_owned())
    })
}

fn workers(urgent: bool) -> Result<ThreadPool, String> {
    let pool = ThreadPoolBuilder::new().start_handler(move |_| {
        if !urgent {
            // Where that is refused, it works all the same.
            let _ = rustix::process::nice(LOW_PRIORITY);
        }
    });
    pool.build().map_err(|error| error.to_string())
}

fn convert(
    job: &Job,
    analysis: StateAnalysis,
    writer: &Mutex<TraceWriter>,
    lost: &mut Option<String>,
) -> Result<Written, String> {
    match &job.source {
        Source::Dump(tracked) => {
            let mut dump =
                Dump::open(&job.path, None, &Quiet).map_err(|error| error.to_string())?;
            if job.hides_virtual_threads {
                note_virtual_threads(&mut dump.state);
            }
            let mut moment = job.moment.clone();
            moment.source_bytes = Some(dump.info.bytes);
            let reachable = (analysis.reachable)(&dump.state);
            let mut state = StateToWrite::from_dump(&dump, moment, job.contents);
            state.identities = identities(&dump.state, tracked, lost);
            state.reachable = reachable.as_ref();
            state.structures = (analysis.structures)(&state, Some(&dump.records));
            write(&state, writer)
        }
        Source::Walk(classes) => {
            let walk = Walk::read(&job.path, classes)?;
            let reachable = (analysis.reachable)(&walk.state);
            let mut state = StateToWrite::from_state(&walk.state, job.moment.clone(), walk.values);
            state.identities = Identities::All;
            state.reachable = reachable.as_ref();
            state.structures = (analysis.structures)(&state, None);
            write(&state, writer)
        }
    }
}

fn write(state: &StateToWrite, writer: &Mutex<TraceWriter>) -> Result<Written, String> {
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    let before = writer.bytes();
    let header = writer.state(state).map_err(|error| error.to_string())?;
    Ok(Written {
        header,
        bytes: writer.bytes() - before,
    })
}

/// What only waiting virtual threads hold looks like garbage; who reads the state must know.
fn note_virtual_threads(state: &mut HeapState) {
    let is_virtual = |class: &Class| class.name == "java.lang.VirtualThread";
    let Some(class) = state.classes().iter().position(is_virtual) else {
        return;
    };
    let class = class as ClassId;
    let threads = state
        .columns
        .classes
        .iter()
        .filter(|&&of| of == class)
        .count();
    if threads > 0 {
        state.tables.missing.push(Missing {
            kind: MissingKind::Absent,
            offset: None,
            amount: threads as u64,
            what: format!(
                "dumps of this JVM omit the stacks of its {} virtual threads: objects that only these \
                hold count as unreachable; a recording with the identities of all objects has them",
                count(threads as u64)
            ),
        });
    }
}

/// Identities are believed together or not at all: one address without an object means that the
/// addresses are not those of the dump.
fn identities(state: &HeapState, tracked: &[(u64, u64)], lost: &mut Option<String>) -> Identities {
    if tracked.is_empty() {
        return Identities::None;
    }
    let finder = state.addresses.finder();
    let unknown = tracked
        .iter()
        .filter(|(_, address)| finder.find(*address).is_none())
        .count();
    if unknown > 0 {
        *lost = Some(format!(
            "{unknown} of {} tracked objects are not where the JVM said they are",
            tracked.len()
        ));
        return Identities::None;
    }
    Identities::tracked(state, tracked.iter().copied())
}
