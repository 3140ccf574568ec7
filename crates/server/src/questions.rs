//! Questions as addresses ask them. A page can ask everything that the questions' types can say, about the open files only: no
//! type of a question has a field for a file.

use anthill_api::registry::{Listed, Parsed, Subject, find};
use anthill_api::{Definitions, HeapOptions, Opt, check_together, options, read};

use crate::document::Document;
use crate::reply::Error;

/// How an address names further files that a question is about, by their numbers.
pub(crate) const LATER: &str = "later";

/// A question as an address asks it.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The number of the file it is about.
    pub(crate) source: usize,
    /// Which question.
    pub(crate) name: String,
    /// Names and values.
    pub(crate) options: Vec<(String, String)>,
}

/// A question that was read and makes sense.
pub(crate) struct Request {
    pub(crate) parsed: Parsed,
    pub(crate) heap: HeapOptions,
    /// The numbers of the files it is about.
    pub(crate) sources: Vec<usize>,
}

/// The options that say which heap a question is about.
pub(crate) fn heap_options(question: &Listed) -> Vec<Opt> {
    match question.subject {
        Subject::Heap | Subject::Series => options::<HeapOptions>(),
        Subject::Nothing => Vec::new(),
    }
}

impl Question {
    /// The document that is asked for, if the answer is one.
    pub(crate) fn document(&self) -> Option<Document> {
        Document::find(&self.name)
    }

    /// Reads the question, of which so many files are open.
    pub(crate) fn parse(&self, files: usize) -> Result<Request, Error> {
        let source = |number: &str| {
            let known = number.parse().ok().filter(|&number| number < files);
            known.ok_or_else(|| Error::NotFound(format!("no source {number}")))
        };
        let mut sources = vec![source(&self.source.to_string())?];
        let document = self.document();
        let listed = document
            .map_or_else(|| find(&self.name), |_| find(Document::QUESTION))
            .ok_or_else(|| Error::bad_request(format!("`{}` does not take a file", self.name)))?;
        let of_heap = heap_options(listed);
        let of_question = (listed.options)();
        let mut about_heap = Vec::new();
        let mut about_question = Vec::new();
        for option in &self.options {
            let (name, value) = option;
            let is_in = |options: &[Opt]| options.iter().any(|option| option.name == *name);
            if name == LATER && listed.subject == Subject::Series {
                sources.push(source(value)?);
            } else if is_in(&of_heap) {
                about_heap.push((name.as_str(), value.as_str()));
            } else if is_in(&of_question) {
                about_question.push(option.clone());
            } else {
                return Err(Error::bad_request(format!(
                    "`{}` has no option `{name}` here",
                    self.name
                )));
            }
        }
        let is_given = |name: &str| self.options.iter().any(|(given, _)| given == name);
        check_together(&[of_heap, of_question].concat(), is_given)?;
        Ok(Request {
            parsed: match document {
                Some(document) => document.parse(&about_question)?,
                None => (listed.parse)(&about_question, &Definitions::default())?,
            },
            heap: read(about_heap)?,
            sources,
        })
    }
}

#[cfg(test)]
mod tests {
    use anthill_api::registry::QUESTIONS;

    use super::*;

    fn ask(name: &str, options: &[(&str, &str)]) -> Result<Request, Error> {
        let option = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let question = Question {
            source: 0,
            name: name.to_owned(),
            options: options.iter().map(option).collect(),
        };
        question.parse(2)
    }

    #[test]
    fn what_names_files_cannot_be_asked() {
        let files = [
            "file",
            "index",
            "structures",
            "define",
            "output",
            "known",
            "save",
            "forget",
            "more",
        ];
        let questions = QUESTIONS.iter().map(|question| question.name);
        for question in questions.chain(["report.html", "report.md"]) {
            for name in files {
                let asked = ask(question, &[(name, "/etc/passwd")]);
                assert!(
                    matches!(asked, Err(Error::BadRequest { .. })),
                    "{question} {name}"
                );
            }
        }
    }

    #[test]
    fn a_document_takes_the_options_of_its_question() {
        assert!(ask("report.html", &[("most", "3"), ("at", "#1")]).is_ok());
        assert!(ask("report.md", &[]).is_ok());
        assert!(ask("report.pdf", &[]).is_err());
        assert!(ask("histogram.html", &[]).is_err());
        assert!(ask("report.html", &[("by", "type")]).is_err());
    }

    #[test]
    fn a_series_is_named_by_numbers_of_open_files() {
        let request = ask("diff", &[("later", "1")]).ok().unwrap();
        assert_eq!(request.sources, [0, 1]);
        assert!(matches!(
            ask("diff", &[("later", "2")]),
            Err(Error::NotFound(_))
        ));
        assert!(ask("histogram", &[("later", "1")]).is_err());
    }

    #[test]
    fn options_that_exclude_each_other_are_refused_wherever_they_belong() {
        assert!(ask("growth", &[("from", "first"), ("at", "last")]).is_err());
        assert!(ask("summary", &[("compat", "mat"), ("keep", "soft")]).is_err());
        assert!(ask("summary", &[("keep", "soft,weak"), ("at", "#1")]).is_ok());
    }
}
