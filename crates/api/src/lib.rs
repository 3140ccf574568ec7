//! Every question that Anthill answers, and every answer. A question is a type: its fields are what can be asked for, with their
//! limits, defaults and descriptions. So is its answer. Faces (the command line, the web view, a Rust program) turn whatever they
//! get into a question and show the answer in their own way; analyses and decisions stay on this side.
//!
//! Knows neither command lines nor HTTP nor terminals, and no files except those that are open.

#![warn(missing_docs)]

pub mod allocations;
pub mod check;
pub mod classifiers;
pub mod classify;
pub mod cut;
pub mod diff;
pub mod dominators;
pub mod elements;
mod envelope;
mod error;
pub mod groups;
pub mod growth;
mod heap;
mod heap_options;
pub mod histogram;
pub mod inspect;
pub mod loaders;
mod mirrored;
mod names;
pub mod notes;
pub mod object;
pub mod objects;
mod options;
pub mod owners;
pub mod paths;
pub mod recent;
mod recorded;
pub mod redaction;
pub mod references;
pub mod registry;
pub mod report;
mod roots;
mod series;
pub mod shell;
pub mod strings;
pub mod structures;
pub mod summary;
pub mod threads;
pub mod timeline;
pub mod tree;
pub mod units;
mod values;
pub mod waste;

pub use envelope::{Envelope, SCHEMA_VERSION, SeriesEnvelope, Tool};
pub use error::{Error, MORE_STATES};
pub use heap::{Definitions, Heap, with_definitions};
pub use heap_options::{Compat, HeapOptions, Keep};
pub use mirrored::{Missing, MissingKind, RootKind, RootOrigin, Strength, WasteKind};
pub use names::{ClassNames, ObjectName, address, class_name, hex, object_at};
pub use options::{Choice, Kind, Opt, about, check_together, options, read};
pub use recorded::{Facts, LeakWindow, Moment, Recording, window_sentence};
pub use registry::AnswerError;
pub use roots::RootName;
pub use series::{Basis, Series, look_at_each};
pub use values::{Address, Limit, Percent};

use std::io::Write;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What every question has.
pub trait Question: DeserializeOwned + JsonSchema {
    /// What commands, addresses and answers call it.
    const NAME: &'static str;

    /// What comes back.
    type Answer: Serialize + JsonSchema;

    /// Finds mistakes that can be found without a heap, before a large one is opened.
    fn check(&self, _definitions: &Definitions) -> Result<(), Error> {
        Ok(())
    }
}

/// A question about one heap.
pub trait HeapQuestion: Question {
    /// Answers the question.
    fn answer(&self, heap: &Heap) -> Result<Self::Answer, Error>;

    /// Writes an answer as JSON, in its envelope.
    fn write_json(
        answer: &Self::Answer,
        heap: &Heap,
        out: &mut dyn Write,
    ) -> Result<(), AnswerError> {
        registry::write_json(&Envelope::new(heap, Self::NAME, answer), out)
    }
}

/// A question about several heaps: dumps in the order in which they were taken, or states of a recording.
pub trait SeriesQuestion: Question {
    /// Answers the question, and says what the answer rests on.
    fn answer(&self, series: &dyn Series) -> Result<(Self::Answer, Basis), Error>;
}

/// A question about no heap.
pub trait StandaloneQuestion: Question {
    /// Answers the question, given the user's own definitions.
    fn answer(&self, definitions: &Definitions) -> Result<Self::Answer, Error>;
}
