//! Strings by a part of their text.

use std::cmp::Reverse;
use std::collections::HashMap;

use anthill_heap::ObjectId;
use anthill_session::quoted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Heap, HeapQuestion, Limit, Question, hex};

/// Find strings that contain a text
///
/// Strings with the same contents are one row with the number of copies, the address of the first
/// copy, and the retained size of all copies.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Strings {
    /// The text to search for; an empty text matches all strings
    #[schemars(extend("x-subject" = true))]
    pub text: String,
    /// Ignore case
    #[serde(default)]
    #[schemars(extend("x-letter" = "i"))]
    pub ignore_case: bool,
    /// Show at most N rows; 0 for all
    #[schemars(extend("x-default-for-people" = 30))]
    pub limit: Option<Limit>,
}

/// The strings that contain the text in question.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StringsAnswer")]
pub struct Answer {
    /// The number of strings found.
    pub objects: u64,
    /// The number of distinct contents among the strings found.
    pub texts: u64,
    /// Bytes that the strings found retain, added up.
    pub retained: u64,
    /// The number of strings found that are unreachable.
    pub unreachable: u64,
    /// A row for each distinct content, largest retained size first.
    pub rows: Vec<TextRow>,
    /// The number of rows that `--limit` left out.
    pub omitted: u64,
}

/// Strings of equal contents.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StringsTextRow")]
pub struct TextRow {
    /// The address of the first string with these contents.
    pub address: String,
    /// The number of strings with these contents.
    pub copies: u64,
    /// Bytes that all copies retain, added up.
    pub retained: u64,
    /// The whole contents.
    pub text: String,
    /// The number of copies that are unreachable.
    pub unreachable: u64,
}

/// The String objects that have a text.
struct Copies {
    first: ObjectId,
    copies: u64,
    retained: u64,
    unreachable: u64,
}

impl Question for Strings {
    const NAME: &'static str = "strings";
    type Answer = Answer;
}

impl HeapQuestion for Strings {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let analysis = session.analysis()?;
        let text = &self.text;
        let found = if text.is_empty() {
            session.find_strings(|_| true)?
        } else if self.ignore_case {
            let lower = text.to_lowercase();
            session.find_strings(|candidate| candidate.to_lowercase().contains(&lower))?
        } else {
            session.find_strings(|candidate| candidate.contains(text))?
        };
        if found.is_empty() {
            let reason = format!("no string contains {}", quoted(text, 60));
            return Err(Error::NothingFound(reason));
        }
        let objects = found.len() as u64;
        let mut by_text: HashMap<String, Copies> = HashMap::new();
        for (object, text) in found {
            let copies = by_text.entry(text).or_insert(Copies {
                first: object,
                copies: 0,
                retained: 0,
                unreachable: 0,
            });
            copies.copies += 1;
            copies.retained += analysis.dominators.retained(object);
            copies.unreachable += u64::from(!analysis.dominators.is_reachable(object));
        }
        let mut rows: Vec<(String, Copies)> = by_text.into_iter().collect();
        rows.sort_unstable_by_key(|(_, copies)| (Reverse(copies.retained), copies.first));
        let texts = rows.len() as u64;
        let retained = rows.iter().map(|(_, copies)| copies.retained).sum();
        let unreachable = rows.iter().map(|(_, copies)| copies.unreachable).sum();
        rows.truncate(self.limit.unwrap_or_default().most());
        Ok(Answer {
            objects,
            texts,
            retained,
            unreachable,
            omitted: texts - rows.len() as u64,
            rows: rows
                .into_iter()
                .map(|(text, copies)| TextRow {
                    address: hex(session.address(copies.first)),
                    copies: copies.copies,
                    retained: copies.retained,
                    text,
                    unreachable: copies.unreachable,
                })
                .collect(),
        })
    }
}
