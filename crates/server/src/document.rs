//! Answers as documents to save: the report, as `anthill report -o` writes it.

use anthill_api::notes::Notes;
use anthill_api::registry::{Given, Parsed};
use anthill_api::report::{Answer, Report};
use anthill_api::{Definitions, Error, HeapQuestion, Question, read};
use anthill_documents::{html, markdown};

/// A form of the report; its name is that of the question with a file name extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document {
    /// How addresses call it.
    pub(crate) name: &'static str,
    /// What browsers call it.
    pub(crate) media_type: &'static str,
    /// What it is, for the description of the API.
    pub(crate) about: &'static str,
    write: fn(&Answer, &Notes) -> String,
}

/// All of them.
pub(crate) const DOCUMENTS: [Document; 2] = [
    Document {
        name: "report.html",
        media_type: "text/html; charset=utf-8",
        about: "Get the report as one HTML file that needs no other",
        write: html::page,
    },
    Document {
        name: "report.md",
        media_type: "text/markdown; charset=utf-8",
        about: "Get the report as Markdown",
        write: markdown::text,
    },
];

impl Document {
    /// What all documents are made from.
    pub(crate) const QUESTION: &str = Report::NAME;

    pub(crate) fn find(name: &str) -> Option<Self> {
        DOCUMENTS.into_iter().find(|document| document.name == name)
    }

    /// Reads the question whose answer becomes the document.
    pub(crate) fn parse(self, given: Given) -> Result<Parsed, Error> {
        let given = given.iter();
        let report: Report = read(given.map(|(name, text)| (name.as_str(), text.as_str())))?;
        report.check(&Definitions::default())?;
        Ok(Parsed::Heap(Box::new(move |heap, out| {
            let answer = report.answer(heap)?;
            let notes = report.notes(heap);
            Ok(out.write_all((self.write)(&answer, &notes).as_bytes())?)
        })))
    }
}
