//! The list of all questions, for faces that ask them by name and for descriptions that are made from their types.

use std::io::{self, Write};

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;

use crate::{
    Basis, Definitions, Error, Heap, HeapQuestion, Opt, Question, Series, SeriesEnvelope,
    SeriesQuestion, StandaloneQuestion, allocations, check, classifiers, classify, cut, diff,
    dominators, elements, groups, growth, histogram, inspect, loaders, object, objects, options,
    owners, paths, read, references, report, strings, structures, summary, threads, timeline,
    waste,
};

/// A question for those who know its name and not its type.
pub struct Listed {
    /// What commands, addresses and answers call it.
    pub name: &'static str,
    /// What it is for: a line, then more about it.
    pub about: fn() -> String,
    /// What can be asked for.
    pub options: fn() -> Vec<Opt>,
    /// What it is about.
    pub subject: Subject,
    /// The form of its answer, without the envelope.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
    /// Reads the question and finds mistakes in it.
    pub parse: fn(Given, &Definitions) -> Result<Parsed, Error>,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// One heap.
    Heap,
    /// Several heaps: dumps, or states of a recording.
    Series,
    /// No heap.
    Nothing,
}

/// Options and their values.
pub type Given<'a> = &'a [(String, String)];

type Answered = Result<(), AnswerError>;

/// A question that was read: writes its answer as JSON.
pub enum Parsed {
    /// About one heap.
    Heap(Box<AnswerHeap>),
    /// About several heaps.
    Series(Box<AnswerSeries>),
    /// About no heap.
    Nothing(Box<AnswerNothing>),
}

type AnswerHeap = dyn FnOnce(&Heap, &mut dyn Write) -> Answered;
type AnswerSeries = dyn FnOnce(&dyn Series, &mut dyn Write) -> Answered;
type AnswerNothing = dyn FnOnce(&mut dyn Write) -> Answered;

/// Why there is no answer, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The question has no answer.
    #[error(transparent)]
    Question(#[from] Error),
    /// The answer could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl From<serde_json::Error> for AnswerError {
    fn from(error: serde_json::Error) -> Self {
        AnswerError::Output(error.into())
    }
}

/// All questions, in the order in which people come to need them.
pub const QUESTIONS: &[Listed] = &[
    about_heap::<summary::Summary>(),
    about_heap::<report::Report>(),
    about_heap::<histogram::Histogram>(),
    about_heap::<classify::Classify>(),
    about_nothing::<classifiers::Classifiers>(),
    about_heap::<groups::Groups>(),
    about_heap::<inspect::Inspect>(),
    about_heap::<owners::Owners>(),
    about_heap::<cut::Cut>(),
    about_heap::<dominators::Dominators>(),
    about_heap::<paths::Paths>(),
    about_heap::<object::Object>(),
    about_heap::<elements::Elements>(),
    about_heap::<references::References>(),
    about_heap::<objects::Objects>(),
    about_heap::<strings::Strings>(),
    about_heap::<structures::Structures>(),
    about_heap::<loaders::Loaders>(),
    about_heap::<threads::Threads>(),
    about_heap::<waste::Waste>(),
    about_series::<check::Check>(),
    about_series::<diff::Diff>(),
    about_series::<growth::Growth>(),
    about_series::<timeline::Timeline>(),
    about_series::<allocations::Allocations>(),
];

/// The question of this name.
pub fn find(name: &str) -> Option<&'static Listed> {
    QUESTIONS.iter().find(|question| question.name == name)
}

const fn about_heap<Q: HeapQuestion + 'static>() -> Listed {
    listed::<Q>(Subject::Heap, |given, definitions| {
        let question: Q = parse(given, definitions)?;
        Ok(Parsed::Heap(Box::new(move |heap, out| {
            let answer = question.answer(heap)?;
            Q::write_json(&answer, heap, out)
        })))
    })
}

const fn about_series<Q: SeriesQuestion + 'static>() -> Listed {
    listed::<Q>(Subject::Series, |given, definitions| {
        let question: Q = parse(given, definitions)?;
        Ok(Parsed::Series(Box::new(move |series, out| {
            let (answer, basis) = question.answer(series)?;
            write_series_json::<Q>(&answer, &basis, series, out)
        })))
    })
}

const fn about_nothing<Q: StandaloneQuestion + 'static>() -> Listed {
    listed::<Q>(Subject::Nothing, |given, definitions| {
        let question: Q = parse(given, definitions)?;
        let definitions = definitions.clone();
        Ok(Parsed::Nothing(Box::new(move |out| {
            write_json(&question.answer(&definitions)?, out)
        })))
    })
}

const fn listed<Q: Question>(
    subject: Subject,
    parse: fn(Given, &Definitions) -> Result<Parsed, Error>,
) -> Listed {
    Listed {
        name: Q::NAME,
        about: crate::about::<Q>,
        options: options::<Q>,
        subject,
        answer: |generator| generator.subschema_for::<Q::Answer>(),
        parse,
    }
}

fn parse<Q: Question>(given: Given, definitions: &Definitions) -> Result<Q, Error> {
    let given = given.iter();
    let question: Q = read(given.map(|(name, text)| (name.as_str(), text.as_str())))?;
    question.check(definitions)?;
    Ok(question)
}

/// Writes a value as JSON for people and programs, with a line break at its end.
pub fn write_json(value: &impl Serialize, out: &mut dyn Write) -> Answered {
    serde_json::to_writer_pretty(&mut *out, value)?;
    Ok(writeln!(out)?)
}

/// Writes an answer about several heaps, in its envelope.
pub fn write_series_json<Q: SeriesQuestion>(
    answer: &Q::Answer,
    basis: &Basis,
    series: &dyn Series,
    out: &mut dyn Write,
) -> Answered {
    let file = series.files().first();
    let file = file.map_or_else(String::new, |file| file.display().to_string());
    write_json(&SeriesEnvelope::new(basis, &file, Q::NAME, answer), out)
}
