//! What is in a dump, how it was read, and what is missing from it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use anthill_heap::{HeapState, ObjectId, Root, Strength};
use anthill_history::History;
use anthill_session::{Analysis, Grouping, Row, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dominators::{Item, largest};
use crate::{
    ClassNames, Error, Heap, HeapQuestion, LeakWindow, Moment, Question, Recording, RootKind,
    RootOrigin,
};

/// Show what a dump contains, how it was read, and what is missing from it
///
/// Start here: the summary shows how much of the heap is alive, how much is garbage, and which
/// classes and objects retain the most.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// Skip the objects that retain the most, which take longer to find than the rest
    #[serde(default)]
    pub brief: bool,
}

/// Classes and objects that are named.
const TOP: usize = 5;

/// A summary of a heap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryAnswer")]
pub struct Answer {
    /// The recorded state and its recording; absent for a heap dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordedState")]
    pub recording: Option<RecordedState>,
    /// The format that the file names, for example `JAVA PROFILE 1.0.2`.
    pub format: String,
    /// When the heap was dumped, in milliseconds since 1970, as the file states it.
    pub timestamp: u64,
    /// The JVM, as its system properties describe it; null if the file does not have them.
    pub jvm: Option<Jvm>,
    /// The system properties whose keys and values are strings; empty if the file does not have them.
    pub system_properties: BTreeMap<String, String>,
    /// Bytes of an identifier in the file.
    pub id_size: u8,
    /// Bytes of the unpacked file.
    pub file_bytes: u64,
    /// Bytes of the file on disk if it is compressed; otherwise null.
    pub packed_bytes: Option<u64>,
    /// The number of this dump in the file, from 1.
    pub dump: usize,
    /// The number of dumps in the file.
    pub dumps: usize,
    /// The number of objects in the dump, including unreachable ones.
    pub objects: u64,
    /// Shallow size of all objects in bytes, including unreachable ones.
    pub shallow: u64,
    /// The objects that GC roots keep alive.
    pub reachable: Totals,
    /// The objects that no GC root keeps alive.
    pub unreachable: Unreachable,
    /// The number of classes.
    pub classes: u64,
    /// The number of classes with at least one object in the dump.
    pub classes_with_instances: u64,
    /// The number of class loaders, including the boot loader.
    pub loaders: u64,
    /// The number of threads.
    pub threads: u64,
    /// The number of GC roots by kind and origin.
    pub roots: Vec<Roots>,
    /// The index of the dump, from which it opens faster.
    pub index: Index,
    /// Classes whose size the file does not determine.
    pub assumed: Vec<Assumed>,
    /// The five classes with the largest retained size.
    pub top_classes: Vec<TopClass>,
    /// The five largest items of the dominator tree; empty with `--brief`.
    pub top_dominators: Vec<Item>,
}

/// The JVM whose heap it is.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryJvm")]
pub struct Jvm {
    /// The name of the JVM, for example `OpenJDK 64-Bit Server VM`.
    pub name: String,
    /// Its version, for example `17.0.15+6-Debian-1deb12u1`.
    pub version: String,
    /// The operating system and the processor, for example `Linux amd64`.
    pub system: String,
    /// The main class or the jar file, with the arguments of the program; null if it is not known.
    pub command: Option<String>,
}

impl Jvm {
    fn new(properties: &BTreeMap<String, String>) -> Option<Self> {
        let property = |name: &str| properties.get(name).cloned();
        Some(Jvm {
            name: property("java.vm.name")?,
            version: property("java.runtime.version").or_else(|| property("java.version"))?,
            system: ["os.name", "os.arch"]
                .map(|name| property(name).unwrap_or_default())
                .join(" "),
            command: property("sun.java.command"),
        })
    }
}

/// A number of objects and their bytes.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "SummaryTotals")]
pub struct Totals {
    /// The number of objects.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub shallow: u64,
}

/// Objects that no GC root keeps alive.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryUnreachable")]
pub struct Unreachable {
    /// All of them, whether weakly reachable or garbage.
    #[serde(flatten)]
    pub all: Totals,
    /// Unreachable objects that only references lead to which do not keep objects alive, such as
    /// weak ones.
    pub weakly_reachable: Totals,
    /// Unreachable objects that no GC root in the file leads to.
    pub garbage: Totals,
    /// The number of unreachable objects that wait for finalization, without the objects that only
    /// they refer to.
    pub finalizable: u64,
    /// The number of unreachable objects that are referents of weak and phantom references, without
    /// the objects that only they refer to.
    pub weakly_held: u64,
}

/// GC roots of one kind and origin.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryRoots")]
pub struct Roots {
    /// The kind of the roots.
    pub kind: RootKind,
    /// The name of the roots' kind in the file.
    pub origin: RootOrigin,
    /// The number of these roots.
    pub roots: u64,
    /// The words a person knows the origin by.
    #[serde(skip)]
    pub named: &'static str,
}

/// The index that Anthill keeps so that the next opening is fast.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryIndex")]
pub struct Index {
    /// Whether this opening came from the index.
    pub used: bool,
    /// Whether the next opening can use the index.
    pub kept: bool,
    /// The directory in which the index is or will be kept; null if none is kept.
    pub folder: Option<String>,
}

/// A class whose size the file does not determine.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryAssumed")]
pub struct Assumed {
    /// The name of the class.
    pub class: String,
    /// The assumption about the size, in words.
    pub what: String,
}

/// A class with a large retained size.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryTopClass")]
pub struct TopClass {
    /// The name of the class, with its class loader if several classes have this name.
    pub class: String,
    /// The number of objects of the class, including unreachable ones.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub shallow: u64,
    /// Bytes that would be freed if all objects of the class were gone.
    pub retained: u64,
}

/// A state and the recording it is from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SummaryRecordedState")]
pub struct RecordedState {
    /// The number of the state.
    pub state: u32,
    /// The number of states in the recording.
    pub states: usize,
    /// When the state was recorded, in nanoseconds since the start of the recording.
    pub time_ns: u64,
    /// The number of the garbage collection after which the state was recorded; null if there was none.
    pub gc: Option<u64>,
    /// The mark for which the state was recorded; null if there was none.
    pub mark: Option<String>,
    /// How long the program was paused while the state was recorded, in nanoseconds.
    pub pause_ns: u64,
    /// Whether the contents of primitive arrays and fields were recorded.
    pub contents: bool,
    /// Whether the recording was ended; otherwise it may still grow.
    pub complete: bool,
    /// The window in which the heap keeps growing to the end of the recording; null if it does not.
    pub leak_window: Option<LeakWindow>,
    /// The first and the last moment of that window.
    #[serde(skip)]
    pub window: Option<(Moment, Moment)>,
    /// The recording in numbers.
    #[serde(skip)]
    pub recording: Recording,
}

impl RecordedState {
    fn new(recording: &anthill_session::Recording) -> Result<Self, Error> {
        let (trace, state) = (recording.trace(), recording.state());
        let history = History::of_trace(trace.path())?;
        let moment = |place: usize| Moment::from(&history.moments[place]);
        Ok(RecordedState {
            state: state.number,
            states: trace.states().len(),
            time_ns: state.time,
            gc: state.gc,
            mark: state.mark.clone(),
            pause_ns: state.pause,
            contents: state.contents,
            complete: trace.is_complete(),
            leak_window: history.window.map(LeakWindow::from),
            window: history
                .window
                .map(|window| (moment(window.from), moment(window.to))),
            recording: Recording::new(trace, &history),
        })
    }
}

impl Question for Summary {
    const NAME: &'static str = "summary";
    type Answer = Answer;
}

impl HeapQuestion for Summary {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let (state, info) = (session.state(), session.info());
        let analysis = session.analysis()?;
        let total = analysis.total();
        let by_class = analysis.rows(Grouping::Class);
        let folder = session.index_folder();
        let system_properties = session.system_properties()?;
        Ok(Answer {
            recording: session.recording().map(RecordedState::new).transpose()?,
            format: info.format.clone(),
            timestamp: info.timestamp,
            jvm: Jvm::new(&system_properties),
            system_properties,
            id_size: info.id_size,
            file_bytes: info.bytes,
            packed_bytes: session.file_bytes().filter(|&packed| packed != info.bytes),
            dump: info.dump,
            dumps: info.dumps,
            objects: total.objects,
            shallow: total.shallow,
            reachable: Totals {
                objects: total.retained_objects,
                shallow: total.retained,
            },
            unreachable: unreachable(state, analysis),
            classes: state.classes().len() as u64,
            classes_with_instances: by_class.iter().filter(|row| row.objects > 0).count() as u64,
            loaders: analysis.groups().loaders().len() as u64,
            threads: state.tables.threads.len() as u64,
            roots: roots(session),
            index: Index {
                used: session.from_index(),
                kept: folder.is_some() && session.notes().is_empty(),
                folder: folder.map(|path| path.display().to_string()),
            },
            assumed: assumed(state),
            top_classes: top_classes(session, by_class),
            top_dominators: match self.brief {
                true => Vec::new(),
                false => largest(session, TOP)?,
            },
        })
    }
}

fn unreachable(state: &HeapState, analysis: &Analysis) -> Unreachable {
    let total = analysis.total();
    let all = Totals {
        objects: total.unreachable_objects,
        shallow: total.unreachable_shallow,
    };
    let weakly_reachable = Totals {
        objects: analysis.weakly_reachable.objects,
        shallow: analysis.weakly_reachable.bytes,
    };
    Unreachable {
        all,
        weakly_reachable,
        garbage: Totals {
            objects: all.objects - weakly_reachable.objects,
            shallow: all.shallow - weakly_reachable.shallow,
        },
        finalizable: referents(state, analysis, &[Strength::Finalizer]),
        weakly_held: referents(state, analysis, &[Strength::Weak, Strength::Phantom]),
    }
}

/// How many unreachable objects are referents of reachable references of these strengths.
fn referents(state: &HeapState, analysis: &Analysis, strengths: &[Strength]) -> u64 {
    let columns = &state.columns;
    let references = columns.referrers_by_referent.iter();
    let referents: HashSet<ObjectId> = references
        .zip(columns.referents.iter())
        .filter(|&(&from, &to)| {
            let strength = state.class(from).reference;
            strength.is_some_and(|strength| strengths.contains(&strength))
                && analysis.dominators.is_reachable(from)
                && !analysis.dominators.is_reachable(to)
        })
        .map(|(_, &to)| to)
        .collect();
    referents.len() as u64
}

/// Eclipse MAT knows no fields of class objects but static ones.
fn roots(session: &Session) -> Vec<Roots> {
    let mut counts = BTreeMap::new();
    let is_known = |root: &&Root| !session.convention().mat || !root.origin.is_class_field();
    for root in session.state().tables.roots.iter().filter(is_known) {
        *counts.entry((root.kind(), root.origin)).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|((kind, origin), roots)| Roots {
            kind: kind.into(),
            origin: origin.into(),
            roots,
            named: origin.label(),
        })
        .collect()
}

fn assumed(state: &HeapState) -> Vec<Assumed> {
    let assumed = state.tables.assumed.iter();
    assumed
        .map(|(class, what)| Assumed {
            class: class.clone(),
            what: what.clone(),
        })
        .collect()
}

fn top_classes(session: &Session, rows: &[Row]) -> Vec<TopClass> {
    let names = ClassNames::new(session);
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by_key(|&class| Reverse(rows[class as usize].retained));
    let top = order.into_iter().take(TOP);
    top.map(|class| {
        let row = rows[class as usize];
        TopClass {
            class: names.unambiguous(class),
            objects: row.objects,
            shallow: row.shallow,
            retained: row.retained,
        }
    })
    .collect()
}
