//! The heap over the time of a recording, as a report shows it.

use anthill_history::{HeapMoment, moments};
use anthill_session::Recording;
use anthill_trace::Gc;
use schemars::JsonSchema;
use serde::Serialize;

use crate::redaction::Redactor;
use crate::{LeakWindow, shell, window_sentence};

/// The recording over time: live heap by state, garbage collections, marks, and growth.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportTimeline")]
pub struct Timeline {
    /// Nanoseconds from the start of the recording to its last event.
    pub duration_ns: u64,
    /// All states of the recording, earliest first.
    pub states: Vec<State>,
    /// The index in `states` of the state that the report is about, from 0.
    pub chosen: usize,
    /// The garbage collections whose heap usage afterwards is known.
    pub collections: Vec<Collection>,
    /// The marks of the recording, earliest first.
    pub marks: Vec<Mark>,
    /// The window in which the heap keeps growing to the end; null if it does not.
    pub leak_window: Option<LeakWindow>,
    /// The leak window in words; null if there is none.
    pub growth: Option<Growth>,
}

/// A state of the recording.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportState")]
pub struct State {
    /// The name of the state for `--at`.
    pub point: String,
    /// Nanoseconds since the start of the recording.
    pub time_ns: u64,
    /// Shallow size of the reachable objects in bytes; of all objects if reachability is not known.
    pub alive: u64,
    /// The number of reachable objects; of all objects if reachability is not known.
    pub objects: u64,
}

/// Heap usage before and after a garbage collection.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportCollection")]
pub struct Collection {
    /// When the collection ended, in nanoseconds since the start of the recording.
    pub time_ns: u64,
    /// Bytes of heap in use before the collection; null if the JVM did not report them.
    pub used_before: Option<u64>,
    /// Bytes of heap in use after the collection.
    pub used_after: u64,
}

/// A point of time that somebody marked.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportMark")]
pub struct Mark {
    /// Nanoseconds since the start of the recording.
    pub time_ns: u64,
    /// The text of the mark; `mark` in a redacted report.
    pub text: String,
}

/// The leak window in words.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportGrowth")]
pub struct Growth {
    /// From which state to which the heap grows, and how fast.
    pub sentence: String,
    /// A command line that shows what grows there.
    pub verify: String,
}

impl Timeline {
    /// The timeline of a recording as a report shows it.
    pub fn new(recording: &Recording, file: &str, redactor: &Redactor) -> Self {
        let moments = moments(recording.trace());
        let window = anthill_history::LeakWindow::of(&moments);
        let timeline = recording.trace().timeline();
        let number = format!("#{}", recording.state().number);
        let chosen = moments.iter().position(|moment| moment.point == number);
        let last = moments.last().map_or(0, |moment| moment.time);
        let growth = window.map(|window| Growth {
            sentence: window_sentence(
                &(&moments[window.from]).into(),
                &(&moments[window.to]).into(),
                &window.into(),
            ),
            verify: format!(
                "anthill diff {} --from {} --to {}",
                redactor.file_word(file),
                shell::word(&moments[window.from].point),
                shell::word(&moments[window.to].point)
            ),
        });
        Timeline {
            duration_ns: timeline.end().max(last).max(1),
            chosen: chosen.unwrap_or_default(),
            collections: timeline.gcs.iter().filter_map(Collection::new).collect(),
            marks: timeline
                .marks
                .iter()
                .map(|mark| Mark {
                    time_ns: mark.time,
                    text: match redactor.is_off() {
                        true => mark.text.clone(),
                        false => "mark".to_owned(),
                    },
                })
                .collect(),
            states: moments.iter().map(State::new).collect(),
            leak_window: window.map(LeakWindow::from),
            growth,
        }
    }
}

impl State {
    fn new(moment: &HeapMoment) -> Self {
        State {
            point: moment.point.clone(),
            time_ns: moment.time,
            alive: moment.alive(),
            objects: moment.alive_objects(),
        }
    }
}

impl Collection {
    fn new(gc: &Gc) -> Option<Self> {
        Some(Collection {
            time_ns: gc.end,
            used_before: gc.used_before,
            used_after: gc.used_after?,
        })
    }
}
