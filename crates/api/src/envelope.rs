//! What every answer comes in: which program made it, for which question, from which file, under which convention, and what could
//! not be read.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Basis, Heap, Missing};

/// Raised when a field changes its meaning or goes away; docs/output.md has the history.
pub const SCHEMA_VERSION: u32 = 1;

/// The fields that every answer about one heap has in addition to its own.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HeapEnvelope", bound = "")]
pub struct Envelope<'a, A> {
    /// The program that answered, and the question.
    pub anthill: Tool<'a>,
    /// The file as it was named.
    pub file: &'a str,
    /// Which references keep objects alive, in words.
    pub convention: String,
    /// The object layout that the sizes follow, in words.
    pub layout: &'a str,
    /// Data that the file lacks; empty if it is complete.
    pub missing: Vec<Missing>,
    /// The fields of the answer itself.
    #[serde(flatten)]
    #[schemars(skip)]
    pub answer: A,
}

/// The fields that every answer about several heaps has in addition to its own.
#[derive(Serialize, JsonSchema)]
#[schemars(bound = "")]
pub struct SeriesEnvelope<'a, A> {
    /// The program that answered, and the question.
    pub anthill: Tool<'a>,
    /// The file as it was named.
    pub file: &'a str,
    /// Which references keep objects alive, in words; absent if no heap was opened, as for `timeline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub convention: Option<String>,
    /// The object layout that the sizes follow, in words; absent if no heap was opened, as for
    /// `timeline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub layout: Option<&'a str>,
    /// Data that the file lacks; empty if it is complete.
    pub missing: Vec<Missing>,
    /// The fields of the answer itself.
    #[serde(flatten)]
    #[schemars(skip)]
    pub answer: A,
}

/// The program and the question that it answered.
#[derive(Serialize, JsonSchema)]
pub struct Tool<'a> {
    /// The version of the program.
    pub version: &'a str,
    /// The version of the schema of answers; docs/output.md has its history.
    pub schema: u32,
    /// The name of the question, which is the name of the command.
    pub command: &'a str,
}

impl<'a> Tool<'a> {
    /// This program, answering the question of that name.
    pub fn answering(command: &'a str) -> Self {
        Tool {
            version: env!("CARGO_PKG_VERSION"),
            schema: SCHEMA_VERSION,
            command,
        }
    }
}

impl<'a, A> Envelope<'a, A> {
    /// Wraps the answer to a question about a heap.
    pub fn new(heap: &'a Heap, command: &'a str, answer: A) -> Self {
        Envelope {
            anthill: Tool::answering(command),
            file: &heap.file,
            convention: heap.session.convention().to_string(),
            layout: heap.layout(),
            missing: heap.missing().iter().map(Missing::from).collect(),
            answer,
        }
    }
}

impl<'a, A> SeriesEnvelope<'a, A> {
    /// Wraps the answer to a question about several heaps, the first of which is in this file.
    pub fn new(basis: &'a Basis, file: &'a str, command: &'a str, answer: A) -> Self {
        let (heap, missing) = match basis {
            Basis::Heap(heap) => (Some(heap), heap.missing()),
            Basis::Files(missing) => (None, &missing[..]),
        };
        SeriesEnvelope {
            anthill: Tool::answering(command),
            file: heap.map_or(file, |heap| &heap.file),
            convention: heap.map(|heap| heap.session.convention().to_string()),
            layout: heap.map(Heap::layout),
            missing: missing.iter().map(Missing::from).collect(),
            answer,
        }
    }
}
