//! Memory that holds nothing, or nothing new.

use anthill_graph::Graph;
use anthill_leaks::{Detail, Finding, Row, holder_name, waste};
use anthill_session::Session;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::redaction::Redactor;
use crate::{Error, Heap, HeapQuestion, Limit, Question, WasteKind, hex};

/// Find waste: duplicates, empty and sparse collections, collisions, boxes, null fields
///
/// For each kind of waste, the command shows the number of objects, the bytes you could save, the
/// largest examples, and their holders. A holder is the nearest static field or object of one of
/// the program's own classes that alone keeps the waste alive. Only reachable objects count.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Waste {
    /// Show at most N rows and holders of each kind; 0 for all
    #[serde(default = "usual_limit")]
    pub limit: Limit,
}

fn usual_limit() -> Limit {
    Limit(10)
}

/// Percent of the reachable heap from which on a kind of waste is told in detail by the report.
const WORTH_TELLING: u64 = 1;
/// Characters of a string that are kept.
const TEXT: usize = 1000;

/// All waste of a heap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WasteAnswer")]
pub struct Answer {
    /// Bytes of the reachable heap.
    pub reachable: u64,
    /// Bytes that could be saved, added up over all kinds.
    pub savable: u64,
    /// Whether the source has the contents of objects. Without them, only boxed numbers and null fields
    /// can be found.
    pub contents: bool,
    /// The kinds of waste that occur, most savable bytes first.
    pub kinds: Vec<Kind>,
}

/// A kind of waste.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WasteOfKind")]
pub struct Kind {
    /// The kind of waste.
    pub kind: WasteKind,
    /// The number of objects that are wasted or have waste in them.
    pub objects: u64,
    /// Bytes of the superfluous objects, of the storage of the collections, or of the tables of
    /// colliding maps.
    pub bytes: u64,
    /// Bytes that could be saved; 0 for kinds that are only for information.
    pub savable: u64,
    /// Objects that are wasted in the same way, most savable first.
    pub rows: Vec<Example>,
    /// The number of rows that `--limit` left out.
    pub omitted: u64,
    /// Where the objects are held, most savable bytes first.
    pub holders: Vec<HeldBy>,
    /// The number of holders that `--limit` left out.
    pub omitted_holders: u64,
}

/// Objects that are wasted in the same way. Which of the optional fields it has depends on the kind of
/// waste.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WasteExample", transform = in_one)]
pub struct Example {
    /// The name of the class.
    pub class: String,
    /// The address of the first of equal objects; for a class, of the object with the most to save.
    pub address: String,
    /// The number of all copies, of all objects of the class with waste, or of the entries of a map.
    pub objects: u64,
    /// Bytes that could be saved.
    pub savable: u64,
    /// The first 1000 characters of a duplicate string, or the value in a duplicate box.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub text: Option<String>,
    /// Further fields, depending on the kind of waste.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Puts the fields of all variants among those of the object, for readers that cannot handle both.
fn in_one(schema: &mut Schema) {
    let Some(Value::Array(variants)) = schema.remove("anyOf") else {
        return;
    };
    let Some(Value::Object(fields)) = schema.get_mut("properties") else {
        return;
    };
    for variant in variants {
        if let Value::Object(more) = &variant["properties"] {
            fields.extend(more.clone());
        }
    }
}

/// Further fields, depending on the kind of waste.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WasteFigures")]
pub enum Figures {
    /// Nothing more.
    None {},
    /// How full the storage of the example is.
    Fill {
        /// Used slots of the array, for sparse collections and arrays.
        used: u64,
        /// All slots of the array, for sparse collections and arrays.
        slots: u32,
    },
    /// How the entries of a hash map are spread.
    Buckets {
        /// All entries of the map, for hash collisions.
        entries: u64,
        /// Used buckets of the map, for hash collisions.
        buckets: u64,
        /// Entries in the fullest bucket, for hash collisions.
        longest: u64,
    },
    /// Which fields of the class are null.
    Nulls {
        /// Fields that are null in most objects, for null fields.
        nulls: Vec<NullField>,
    },
}

/// A field that is null in most objects of a class.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WasteNullField")]
pub struct NullField {
    /// The name of the field.
    pub field: String,
    /// The number of objects in which the field is null.
    pub objects: u64,
}

/// A place that holds waste.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WasteHeldBy")]
pub struct HeldBy {
    /// The holder in words: a static field, or a class with the fields that hold the objects.
    pub holder: String,
    /// The number of objects with waste that are held there.
    pub objects: u64,
    /// Bytes of these objects that could be saved.
    pub savable: u64,
}

impl Question for Waste {
    const NAME: &'static str = "waste";
    type Answer = Answer;
}

impl HeapQuestion for Waste {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        found(&heap.session, self.limit.most(), &Redactor::none())
    }
}

/// Looks for waste, with so many rows and holders of each kind at most.
pub fn found(session: &Session, most: usize, redactor: &Redactor) -> Result<Answer, Error> {
    let findings = waste(session, most)?;
    let maker = Maker {
        session,
        graph: &session.graph(),
        redactor,
    };
    Ok(Answer {
        reachable: session.analysis()?.total().retained,
        savable: findings.iter().map(|finding| finding.savable).sum(),
        contents: session.records().has_contents(),
        kinds: findings
            .iter()
            .filter(|finding| finding.objects > 0)
            .map(|finding| maker.kind(finding))
            .collect(),
    })
}

impl Answer {
    /// The kinds that a report tells in detail.
    pub fn worth_telling(&self) -> impl Iterator<Item = &Kind> {
        let least = self.reachable / 100 * WORTH_TELLING;
        let told =
            move |kind: &&Kind| kind.savable > least || kind.kind == WasteKind::HashCollisions;
        self.kinds.iter().filter(told)
    }
}

struct Maker<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    redactor: &'a Redactor,
}

impl Maker<'_> {
    fn kind(&self, finding: &Finding) -> Kind {
        let holders = finding.holders.iter().map(|holder| HeldBy {
            holder: self
                .redactor
                .hide(&holder_name(self.session, self.graph, holder)),
            objects: holder.objects,
            savable: holder.savable,
        });
        Kind {
            kind: finding.kind.into(),
            objects: finding.objects,
            bytes: finding.bytes,
            savable: finding.savable,
            rows: finding
                .rows
                .iter()
                .map(|row| self.example(finding.kind.into(), row))
                .collect(),
            omitted: finding.omitted,
            holders: holders.collect(),
            omitted_holders: finding.omitted_holders,
        }
    }

    fn example(&self, kind: WasteKind, row: &Row) -> Example {
        let (session, object) = (self.session, row.object);
        let text = match kind {
            _ if !self.redactor.is_off() => None,
            WasteKind::DuplicateStrings => session.records().text(session.state(), object, TEXT),
            WasteKind::DuplicateBoxes => session.label(object).detail,
            _ => None,
        };
        Example {
            class: self
                .redactor
                .hide(&self.session.state().classes()[row.class as usize].name),
            address: hex(self.session.address(row.object)),
            objects: row.objects,
            savable: row.savable,
            text,
            figures: match &row.detail {
                Detail::None => Figures::None {},
                &Detail::Fill { used, slots } => Figures::Fill { used, slots },
                &Detail::Buckets {
                    entries,
                    used,
                    longest,
                } => Figures::Buckets {
                    entries,
                    buckets: used,
                    longest,
                },
                Detail::Nulls(fields) => Figures::Nulls {
                    nulls: fields
                        .iter()
                        .map(|(field, objects)| NullField {
                            field: self.redactor.hide_field(field),
                            objects: *objects,
                        })
                        .collect(),
                },
            },
        }
    }
}
