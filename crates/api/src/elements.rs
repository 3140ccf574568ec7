//! The elements of a data structure or an array, page by page.

use anthill_heap::{ClassKind, ObjectId, Value};
use anthill_session::{Analysis, Session, primitive};
use anthill_structures::Element;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::Content;
use crate::{Error, Heap, HeapQuestion, Limit, Question, hex};

/// List the elements of a data structure or an array: keys and values of a map, values of a list
///
/// The definitions of data structures determine where elements are; docs/structures.md describes
/// them. Elements come in the order of the structure: a list by index, a sorted map by key, a hash
/// map by slot. A set shows the keys of its map.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Elements {
    /// The address of the data structure or the array: 0x… or decimal
    #[schemars(extend("x-subject" = true))]
    pub object: String,
    /// Show only elements whose key or value contains TEXT, ignoring case: contents of strings,
    /// numbers, names of classes, and addresses if TEXT starts with 0x
    #[schemars(extend("x-value" = "TEXT"))]
    pub search: Option<String>,
    /// Skip the first N elements, to continue where --limit stopped
    #[serde(default)]
    #[schemars(extend("x-value" = "N"))]
    pub offset: u64,
    /// Show at most N elements; 0 for all
    #[serde(default = "usual_limit")]
    pub limit: Limit,
}

fn usual_limit() -> Limit {
    Limit(50)
}

/// Elements of a data structure or an array.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ElementsAnswer")]
pub struct Answer {
    /// The name of the object's class, in Java notation.
    pub class: String,
    /// The address of the object: `0x…`.
    pub address: String,
    /// The object as people see it.
    pub label: String,
    /// The name of the definition that describes the data structure; null for an array.
    pub structure: Option<String>,
    /// Whether some elements are entries with a key.
    pub keyed: bool,
    /// The number of elements. A list counts null elements; other structures have none.
    pub total: u64,
    /// The number of elements that contain the text in question; all without `--search`.
    pub matching: u64,
    /// The elements, at most as many as `--limit` allows.
    pub elements: Vec<Row>,
}

/// An element.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ElementsRow")]
pub struct Row {
    /// The number of the element among all, from 0. For an array, the index.
    pub index: u64,
    /// The key of an entry; null if the element is not an entry.
    pub key: Option<Content>,
    /// The value of an entry, or the element itself.
    pub value: Content,
}

impl Answer {
    /// How many further elements there are.
    pub fn rest(&self, offset: u64) -> u64 {
        self.matching
            .saturating_sub(offset.saturating_add(self.elements.len() as u64))
    }
}

impl Question for Elements {
    const NAME: &'static str = "elements";
    type Answer = Answer;
}

impl HeapQuestion for Elements {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &*heap.session;
        let object = heap.object(&self.object)?;
        session.records().open()?;
        let state = session.state();
        let structure = session.structure_of(object);
        let mut page = Page {
            question: self,
            session,
            analysis: session.analysis()?,
            search: self
                .search
                .as_deref()
                .filter(|text| !text.is_empty())
                .map(Search::new),
            keyed: false,
            total: 0,
            matching: 0,
            rows: Vec::new(),
        };
        match (&structure, state.array_length(object)) {
            (Some(_), _) => heap.elements(object, &mut |element| page.add(element))?,
            (None, Some(length)) => page.array(object, length)?,
            (None, None) => {
                let class = &state.class(object).name;
                return Err(Error::unusable(
                    format!(
                        "{} is neither a data structure nor an array: {class}",
                        self.object
                    ),
                    "`--structures FILE` describes data structures of your own; \
                    docs/structures.md explains how.",
                ));
            }
        }
        Ok(Answer {
            class: state.class(object).name.clone(),
            address: hex(session.address(object)),
            label: session.label(object).to_string(),
            structure,
            keyed: page.keyed,
            total: page.total,
            matching: page.matching,
            elements: page.rows,
        })
    }
}

/// Elements between two looks at whether somebody still wants the result.
const BETWEEN_LOOKS: u32 = 1 << 16;

/// Takes all elements and keeps those that are asked for.
struct Page<'a> {
    question: &'a Elements,
    session: &'a Session,
    analysis: &'a Analysis,
    search: Option<Search>,
    keyed: bool,
    total: u64,
    matching: u64,
    rows: Vec<Row>,
}

impl Page<'_> {
    fn add(&mut self, element: Element) {
        let index = self.total;
        self.total += 1;
        self.keyed |= element.key.is_some();
        let sides = [element.key, element.value];
        if let Some(search) = &self.search {
            let mut sides = sides.into_iter().flatten();
            if !sides.any(|value| search.finds(self.session, value)) {
                return;
            }
        }
        self.matching += 1;
        let is_before = self.matching <= self.question.offset;
        if is_before || self.rows.len() >= self.question.limit.most() {
            return;
        }
        let [key, value] =
            sides.map(|side| side.map(|value| Content::new(self.session, self.analysis, value)));
        self.rows.push(Row {
            index,
            key,
            value: value.unwrap_or(Content::Null(())),
        });
    }

    /// The slots of an array. Without a search, only those that are shown are read.
    fn array(&mut self, array: ObjectId, length: u32) -> Result<(), Error> {
        let (state, records) = (self.session.state(), self.session.records());
        let (start, end) = match &self.search {
            Some(_) => (0, length),
            None => {
                let start = self.question.offset.min(length.into());
                let most = self.question.limit.most() as u64;
                (
                    start as u32,
                    start.saturating_add(most).min(length.into()) as u32,
                )
            }
        };
        (self.total, self.matching) = (start.into(), start.into());
        let mut cursor = records.cursor();
        let ClassKind::Array(element) = state.class(array).kind else {
            return Ok(());
        };
        for index in start..end {
            if index % BETWEEN_LOOKS == 0 {
                self.session.progress().check()?;
            }
            let value = cursor.element(state, array, index);
            let value = value.or(Some(Value::NotRecorded(element)));
            self.add(Element { key: None, value });
        }
        if self.search.is_none() {
            self.matching = length.into();
        }
        self.total = length.into();
        Ok(())
    }
}

/// What elements are searched for.
struct Search {
    /// In small letters.
    text: String,
    is_address: bool,
}

impl Search {
    fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        Search {
            is_address: text.starts_with("0x"),
            text,
        }
    }

    fn finds(&self, session: &Session, value: Value) -> bool {
        let state = session.state();
        let Value::Object(address) = value else {
            return primitive(value).to_lowercase().contains(&self.text);
        };
        let Some(object) = state.addresses.find(address) else {
            return false;
        };
        if self.is_address {
            return hex(address) == self.text;
        }
        if let Some(text) = session.records().string(state, object) {
            return text.to_lowercase().contains(&self.text);
        }
        let label = session.label(object);
        // The name of the class says nothing about a number.
        let is_box = label.detail.is_some() && label.what.starts_with("java.lang.");
        let detail = label.detail.unwrap_or_default();
        let what = if is_box { "" } else { &label.what };
        [what, &detail]
            .iter()
            .any(|part| part.to_lowercase().contains(&self.text))
    }
}
