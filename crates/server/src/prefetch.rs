//! What is asked of a file as soon as it is read, before anybody does: what people look at first.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::questions::Question;
use crate::sources::Sources;

/// Questions with their options, as the pages ask them, in the order in which people come to need them.
const QUESTIONS: [(&str, &[(&str, &str)]); 6] = [
    ("summary", &[("brief", "true")]),
    ("report", &[("brief", "true")]),
    ("waste", &[("limit", "100")]),
    (
        "classify",
        &[("by", "type"), ("depth", "1"), ("limit", "1")],
    ),
    ("dominators", &[("depth", "1"), ("limit", "1")]),
    ("structures", &[("limit", "1")]),
];

/// While people wait for something, nothing more is begun.
const PAUSE: Duration = Duration::from_millis(50);

/// So often it is begun again with what people asked for, too, and then wanted no more.
const TRIES: usize = 3;

/// Answers these questions one after the other.
pub(crate) fn run(sources: &Arc<Sources>, source: usize) {
    for (name, options) in std::iter::repeat_n(QUESTIONS, TRIES).flatten() {
        while sources.is_busy() {
            thread::sleep(PAUSE);
        }
        let option = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        // What is answered already takes no time.
        sources.prefetch(&Question {
            source,
            name: name.to_owned(),
            options: options.iter().map(option).collect(),
        });
    }
}
