//! The heap over time, from a recording or a series of dumps.

mod layers;

use anthill_classify::{Definitions, Step};
use anthill_history::{DumpMoment, History, StructureHistory, TypeHistory, names_by_identity};
use anthill_syntax::Pattern;
use anthill_trace::{Trace, is_trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::heap::steps;
use crate::{
    Basis, Error, Facts, LeakWindow, Limit, Moment, Question, Recording, Series, SeriesQuestion,
    with_definitions,
};
pub use layers::{Layer, Layers, Others, OverTime, Sort};

/// Show the heap over time: sizes, types, collections, allocation, marks
///
/// The input is a recording, or several dumps with the earliest first. If the heap keeps growing to
/// the end in spite of dips, the command names the window in which it grows, for a closer look. For
/// a recording, it reads only the summary of each state, so that hundreds of states take no time.
/// --by splits the heap by any classifiers instead of by type, and reads the states themselves.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Timeline {
    /// Show only types that match GLOB (`*`: any characters, `?`: one character)
    #[schemars(extend("x-value" = "GLOB"))]
    pub class: Option<String>,
    /// Split the heap by these classifiers, e.g. `closest-root` or `package, type`, instead of by type
    #[schemars(extend("x-value" = "STEPS"))]
    pub by: Option<String>,
    /// With --by: show the N largest layers, and all others as one; 0 for all
    #[serde(default = "usual_top")]
    #[schemars(extend("x-requires" = "by"))]
    pub top: Limit,
    /// With --by: sort layers by
    #[serde(default)]
    #[schemars(extend("x-value" = "MEASURE", "x-requires" = "by"))]
    pub sort: Sort,
    /// With --by: analyze at most N evenly spread states; 0 for all. By type or package, Anthill
    /// knows all states without reading them
    #[serde(default = "usual_states")]
    #[schemars(extend("x-requires" = "by"))]
    pub states: Limit,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// Show at most N states, types and data structures; 0 for all
    #[schemars(extend("x-default-in-words" = "20, 10 and 5"))]
    pub limit: Option<Limit>,
    /// Show at most N types if there is no other limit
    #[schemars(extend("x-hidden" = true, "x-default-for-people" = 10))]
    pub most_types: Option<Limit>,
    /// Show at most N data structures if there is no other limit
    #[schemars(extend("x-hidden" = true, "x-default-for-people" = 5))]
    pub most_structures: Option<Limit>,
}

fn usual_top() -> Limit {
    Limit(8)
}

fn usual_states() -> Limit {
    Limit(60)
}

/// A heap over time, from a recording or from several dumps.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineAnswer")]
pub struct Answer {
    /// The JVM that was recorded; null for dumps.
    pub facts: Option<Facts>,
    /// Whether the recording was ended, otherwise it may still grow; null for dumps.
    pub complete: Option<bool>,
    /// Nanoseconds from the start of the recording, or from the first dump, to the last event.
    pub duration_ns: u64,
    /// The states of the recording, or the dumps, earliest first.
    pub states: Vec<Moment>,
    /// The types, most bytes in the last state first.
    pub types: Vec<Type>,
    /// The heap split by the steps of `--by`; absent without `--by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Layers")]
    pub layers: Option<Layers>,
    /// For a recording, the data structures that differ most between the first and the last state that
    /// has them; empty for older recordings.
    pub structures: Vec<Structure>,
    /// The garbage collections, earliest first.
    pub gcs: Vec<Gc>,
    /// Allocated bytes per second in equal periods of the recording, estimated from samples.
    pub allocation_rates: Vec<u64>,
    /// The marks of the recording.
    pub marks: Vec<Mark>,
    /// The cost of the whole recording.
    pub costs: Costs,
    /// Data that could not be recorded.
    pub dropped: Vec<Dropped>,
    /// Assertions of the program that did not hold; equal violations are listed once.
    pub violations: Vec<Violation>,
    /// The window in which the heap keeps growing to the end; null if it does not.
    pub leak_window: Option<LeakWindow>,
    /// Nothing for dumps.
    #[serde(skip)]
    pub recording: Option<Recording>,
}

/// A type over time.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineType")]
pub struct Type {
    /// The name of the type, in Java notation.
    #[serde(rename = "type")]
    pub name: String,
    /// The number of reachable objects of the type, one number for each state.
    pub objects: Vec<u64>,
    /// Shallow size of these objects in bytes, one number for each state.
    pub bytes: Vec<u64>,
}

/// A data structure over time.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineStructure")]
pub struct Structure {
    /// The identity of the structure's head.
    pub identity: u64,
    /// The class of the structure's head.
    pub class: String,
    /// How the structure is held in the last state, and its class; null if the last state does not have it.
    pub name: Option<String>,
    /// The number of elements, one number for each state; null where the structure does not exist, is
    /// not among the largest 10,000, or has no identity.
    pub elements: Vec<Option<u64>>,
    /// Bytes of head and internals, one number for each state; null as in `elements`.
    pub bytes: Vec<Option<u64>>,
    /// Bytes more, or less, at the last state that tells about it than at the first.
    #[serde(skip)]
    pub change: i64,
}

/// A garbage collection.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineGc")]
pub struct Gc {
    /// The JVM's number of the collection: the N of `gc:N`.
    pub number: u64,
    /// Whether the whole heap was collected.
    pub full: bool,
    /// The JVM's name of the collector, for example `G1 Young Generation`.
    pub collector: String,
    /// Why the JVM collected, for example `Allocation Failure`; empty if the JVM did not report it.
    pub cause: String,
    /// When the pause began, in nanoseconds since the recording's start.
    pub start_ns: u64,
    /// When the pause ended, in nanoseconds since the recording's start.
    pub end_ns: u64,
    /// Bytes of heap in use before the collection; null if the JVM did not report them.
    pub used_before: Option<u64>,
    /// Bytes of heap in use after the collection; null if the JVM did not report them.
    pub used_after: Option<u64>,
    /// Bytes of heap that the JVM had reserved from the system; null if the JVM did not report them.
    pub committed: Option<u64>,
}

/// A point of time that somebody marked.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineMark")]
pub struct Mark {
    /// Nanoseconds since the start of the recording.
    pub time_ns: u64,
    /// The text of the mark.
    pub text: String,
}

/// The cost of recording, in nanoseconds.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
#[schemars(rename = "TimelineCosts")]
pub struct Costs {
    /// How long the program was paused in total, in nanoseconds.
    pub pause_ns: u64,
    /// CPU time that the agent used in the JVM, in nanoseconds.
    pub agent_cpu_ns: u64,
    /// CPU time that the recorder used outside of the JVM, in nanoseconds.
    pub recorder_cpu_ns: u64,
}

/// Data that could not be recorded.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineDropped")]
pub struct Dropped {
    /// When it was noticed, in nanoseconds since the recording's start.
    pub time_ns: u64,
    /// The kind of data that was lost, for example `state` or `samples`.
    pub what: String,
    /// The number of losses of this kind.
    pub amount: u64,
    /// The reason for the loss, in words.
    pub reason: String,
}

/// An assertion of the program that did not hold.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineViolation")]
pub struct Violation {
    /// When the state that shows it was recorded, in nanoseconds since the recording's start.
    pub time_ns: u64,
    /// The kind of the assertion: `dead`, `all-dead`, `instances`, `unshared` or `owned-by`.
    pub kind: String,
    /// The message that the program gave; null if there is none.
    pub message: Option<String>,
    /// The stack where the assertion was made, innermost frame first.
    pub made_at: Vec<String>,
    /// The class of the objects, in Java notation.
    pub class: String,
    /// The number of objects that violate the assertion.
    pub count: u64,
    /// Shallow size of these objects in bytes.
    pub bytes: u64,
    /// The whole report of the violation, with the paths to the objects.
    pub text: String,
}

impl Question for Timeline {
    const NAME: &'static str = "timeline";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        self.steps(definitions).map(drop)
    }
}

impl SeriesQuestion for Timeline {
    fn answer(&self, series: &dyn Series) -> Result<(Answer, Basis), Error> {
        if series.at().is_some() {
            return Err(Error::unusable(
                "a timeline covers all states of a recording",
                "Omit --at, or use another command for that state.",
            ));
        }
        let steps = self.steps(series.definitions())?;
        let history = history(series)?;
        let pattern = self.class.as_deref().map(Pattern::class);
        let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
        let most = |usual: Option<Limit>| self.limit.or(usual).unwrap_or_default().most();
        let types = history.types(most(self.most_types), wanted);
        if let Some(glob) = self.class.as_ref().filter(|_| types.is_empty()) {
            let reason = format!("no state has objects of a class that fits `{glob}`");
            return Err(Error::NothingFound(reason));
        }
        let structures = named(series, history.structures(most(self.most_structures)))?;
        let layers = match steps {
            Some(steps) => Some(self.layers(series, &history, &steps, &wanted)?),
            None => None,
        };
        let trace = history.trace.as_ref();
        let damage = trace.map_or(&[][..], Trace::damage).to_vec();
        let answer = Answer {
            types: types.into_iter().map(Type::from).collect(),
            structures,
            layers,
            ..told(&history)
        };
        Ok((answer, Basis::Files(damage)))
    }
}

impl Timeline {
    /// The steps that the heap is split by, if that is asked for.
    fn steps(&self, definitions: &Definitions) -> Result<Option<Vec<Step>>, Error> {
        let Some(by) = &self.by else {
            return Ok(None);
        };
        steps(
            &with_definitions(definitions, &self.definitions)?,
            "--by",
            by,
        )
        .map(Some)
    }
}

fn history(series: &dyn Series) -> Result<History, Error> {
    let files = series.files();
    let first = &files[0];
    if !is_trace(first) {
        let moment = |file: usize| Ok(DumpMoment::of(&series.open(file, None)?.session)?);
        let dumps = (0..files.len()).map(moment).collect::<Result<_, Error>>()?;
        return Ok(History::of_dumps(first, dumps));
    }
    match files.get(1) {
        None => Ok(History::of_trace(first)?),
        Some(other) => Err(Error::unusable(
            format!("{}: a recording has its own timeline", first.display()),
            format!(
                "Omit {}; only dumps can be combined in one timeline.",
                other.display()
            ),
        )),
    }
}

/// The structures with the names that those of the last state have there.
fn named(series: &dyn Series, found: Vec<StructureHistory>) -> Result<Vec<Structure>, Error> {
    let mut structures: Vec<Structure> = found.into_iter().map(Structure::from).collect();
    let at_end = structures.iter().filter(|one| one.is_at_end());
    let wanted: Vec<u64> = at_end.map(|one| one.identity).collect();
    if !wanted.is_empty() {
        let mut names = names_by_identity(&series.open(0, None)?.session, &wanted)?;
        for one in &mut structures {
            one.name = names.remove(&one.identity);
        }
    }
    Ok(structures)
}

impl Structure {
    fn is_at_end(&self) -> bool {
        self.bytes.last().copied().flatten().is_some()
    }
}

/// What a history tells without types, structures and layers.
fn told(history: &History) -> Answer {
    let trace = history.trace.as_ref();
    let timeline = history.timeline();
    let marks = timeline.map_or(&[][..], |timeline| &timeline.marks);
    let costs = timeline.map_or(&[][..], |timeline| &timeline.costs);
    let dropped = timeline.map_or(&[][..], |timeline| &timeline.dropped);
    let violations = timeline.map_or(&[][..], |timeline| &timeline.violations);
    Answer {
        facts: trace.map(|trace| trace.facts().into()),
        complete: trace.map(Trace::is_complete),
        duration_ns: history.duration(),
        states: history.moments.iter().map(Moment::from).collect(),
        types: Vec::new(),
        layers: None,
        structures: Vec::new(),
        gcs: history.gcs().iter().map(Gc::from).collect(),
        allocation_rates: history.allocation_rates(),
        marks: marks
            .iter()
            .map(|mark| Mark {
                time_ns: mark.time,
                text: mark.text.clone(),
            })
            .collect(),
        costs: costs.iter().fold(Costs::default(), |sum, cost| Costs {
            pause_ns: sum.pause_ns.saturating_add(cost.pause),
            agent_cpu_ns: sum.agent_cpu_ns.saturating_add(cost.agent),
            recorder_cpu_ns: sum.recorder_cpu_ns.saturating_add(cost.recorder),
        }),
        dropped: dropped
            .iter()
            .map(|dropped| Dropped {
                time_ns: dropped.time,
                what: dropped.what.clone(),
                amount: dropped.amount,
                reason: dropped.reason.clone(),
            })
            .collect(),
        violations: violations.iter().map(Violation::from).collect(),
        leak_window: history.window.map(LeakWindow::from),
        recording: trace.map(|trace| Recording::new(trace, history)),
    }
}

impl From<TypeHistory> for Type {
    fn from(history: TypeHistory) -> Self {
        Type {
            name: history.name,
            objects: history.objects,
            bytes: history.bytes,
        }
    }
}

impl From<StructureHistory> for Structure {
    fn from(history: StructureHistory) -> Self {
        Structure {
            change: history.change(),
            identity: history.identity,
            class: history.class,
            name: None,
            elements: history.elements,
            bytes: history.bytes,
        }
    }
}

impl From<&anthill_trace::Gc> for Gc {
    fn from(gc: &anthill_trace::Gc) -> Self {
        Gc {
            number: gc.number,
            full: gc.full,
            collector: gc.collector.clone(),
            cause: gc.cause.clone(),
            start_ns: gc.start,
            end_ns: gc.end,
            used_before: gc.used_before,
            used_after: gc.used_after,
            committed: gc.committed,
        }
    }
}

impl From<&anthill_trace::Violation> for Violation {
    fn from(violation: &anthill_trace::Violation) -> Self {
        Violation {
            time_ns: violation.time,
            kind: violation.kind.clone(),
            message: violation.message.clone(),
            made_at: violation.made_at.clone(),
            class: violation.class.clone(),
            count: violation.count,
            bytes: violation.bytes,
            text: violation.text.clone(),
        }
    }
}
