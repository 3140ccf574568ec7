//! What is said about recordings, in words.

use anthill_api::Recording;
use anthill_trace::elapsed;

use crate::output::units::{bytes, counted, date};

/// What was recorded, of which JVM, and when, in lines.
pub fn recording(recording: &Recording) -> Vec<String> {
    let facts = &recording.facts;
    let mut jvm = vec![format!("{} {}", facts.vm, facts.version).trim().to_owned()];
    jvm.push(facts.collector.clone());
    jvm.extend(
        facts
            .max_heap
            .map(|most| format!("maximum heap {}", bytes(most))),
    );
    jvm.extend(
        facts
            .cores
            .map(|cores| counted(cores.into(), "core", "cores")),
    );
    jvm.retain(|part| !part.is_empty());
    if jvm.is_empty() {
        jvm.push("an unknown JVM".to_owned());
    }
    let mut lines = vec![format!("recording of {}", jvm.join(", "))];
    if !facts.command_line.is_empty() {
        lines.push(facts.command_line.clone());
    }
    lines.push(format!(
        "from {}, {}{}: {}, {}, {}, {}",
        date(facts.started_ns / 1_000_000),
        elapsed(recording.duration_ns),
        if recording.complete { "" } else { " so far" },
        counted(recording.states, "state", "states"),
        counted(recording.collections, "collection", "collections"),
        counted(
            recording.samples,
            "sampled allocation",
            "sampled allocations"
        ),
        counted(recording.marks, "mark", "marks"),
    ));
    let missing = facts.missing.iter();
    lines.extend(missing.map(|missing| format!("not available from this JVM: {missing}")));
    lines
}
