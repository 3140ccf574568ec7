//! Waste with all names and in words: a section of the report, and a command of its own.

use anthill_graph::Graph;
use anthill_leaks::{Detail, Finding, Row, WasteKind};
use anthill_session::{Session, quoted};
use serde::Serialize;

use super::redaction::Redactor;
use crate::failure::Failure;
use crate::output::units::{bytes, count, counted, hex, share};

/// Percent of the reachable heap from which on a kind of waste is told in detail by the report.
const WORTH_TELLING: u64 = 1;
/// Fields that are named of a class.
const FIELDS: usize = 4;
/// Characters of a string that are kept, and that people see.
const TEXT: (usize, usize) = (1000, 60);

/// All waste of a heap.
#[derive(Serialize)]
pub struct Waste {
    pub reachable: u64,
    pub savable: u64,
    /// Whether contents were there to look at; without them most kinds cannot be told.
    pub contents: bool,
    pub kinds: Vec<Kind>,
}

#[derive(Serialize)]
pub struct Kind {
    pub kind: WasteKind,
    pub objects: u64,
    pub bytes: u64,
    pub savable: u64,
    pub rows: Vec<Example>,
    pub omitted: u64,
    pub holders: Vec<HeldBy>,
    pub omitted_holders: u64,
}

#[derive(Serialize)]
pub struct Example {
    pub class: String,
    pub address: String,
    pub objects: u64,
    pub savable: u64,
    /// The contents of a string, the value in a box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// What more there is to say, depending on the kind.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Figures {
    None {},
    Fill {
        used: u64,
        slots: u32,
    },
    Buckets {
        entries: u64,
        buckets: u64,
        longest: u64,
    },
    Nulls {
        nulls: Vec<NullField>,
    },
}

#[derive(Serialize)]
pub struct NullField {
    pub field: String,
    pub objects: u64,
}

#[derive(Serialize)]
pub struct HeldBy {
    pub holder: String,
    pub objects: u64,
    pub savable: u64,
}

impl Waste {
    /// Looks for waste, with so many rows and holders of each kind at most.
    pub fn new(session: &Session, most: usize, redactor: &Redactor) -> Result<Self, Failure> {
        let findings = session.waste(most)?;
        let maker = Maker {
            session,
            graph: &session.graph(),
            redactor,
        };
        Ok(Waste {
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
                .hide(&self.session.holder_name(self.graph, holder)),
            objects: holder.objects,
            savable: holder.savable,
        });
        Kind {
            kind: finding.kind,
            objects: finding.objects,
            bytes: finding.bytes,
            savable: finding.savable,
            rows: finding
                .rows
                .iter()
                .map(|row| self.example(finding.kind, row))
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
            WasteKind::DuplicateStrings => session.records().text(session.state(), object, TEXT.0),
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

impl Waste {
    /// How much there is in all.
    pub fn sentence(&self) -> String {
        let rest = match self.contents {
            true => "",
            false => {
                " Duplicates and collections were not looked at: the recording has no contents."
            }
        };
        format!(
            "{} of the reachable {} could be saved ({}).{rest}",
            bytes(self.savable),
            bytes(self.reachable),
            share(self.savable, self.reachable)
        )
    }
}

impl Kind {
    pub fn title(&self) -> &'static str {
        match self.kind {
            WasteKind::DuplicateStrings => "duplicate strings",
            WasteKind::DuplicateArrays => "duplicate arrays",
            WasteKind::DuplicateBoxes => "duplicate boxes",
            WasteKind::BoxedNumbers => "boxed numbers",
            WasteKind::EmptyCollections => "empty collections",
            WasteKind::UnusedCollections => "unused collections",
            WasteKind::SparseCollections => "sparse collections",
            WasteKind::SparseArrays => "sparse arrays",
            WasteKind::HashCollisions => "hash collisions",
            WasteKind::NullFields => "null fields",
        }
    }

    /// What is counted, and how.
    pub fn rule(&self) -> &'static str {
        match self.kind {
            WasteKind::DuplicateStrings => {
                "Strings of equal contents, all but one of each, with the arrays that go with them."
            }
            WasteKind::DuplicateArrays => {
                "Arrays of primitives with equal elements, all but one of each; not those of strings."
            }
            WasteKind::DuplicateBoxes => "Boxes of the same class and value, all but one of each.",
            WasteKind::BoxedNumbers => {
                "All of them, for information: fields and arrays of primitives need none."
            }
            WasteKind::EmptyCollections => {
                "Collections without elements: the storage they have all the same."
            }
            WasteKind::UnusedCollections => {
                "Collections without elements that have no storage yet, for information."
            }
            WasteKind::SparseCollections => {
                "Collections with 16 slots or more, less than a quarter of them used: what is beyond \
                 the storage their elements need."
            }
            WasteKind::SparseArrays => {
                "Arrays of 16 references or more outside of collections, over three quarters of them \
                 null: the null ones."
            }
            WasteKind::HashCollisions => {
                "Maps of 64 entries or more with over two in a used bucket: they cost time, not bytes."
            }
            WasteKind::NullFields => {
                "Classes of 100 objects or more whose reference fields are null to 75% or more: the \
                 bytes of these fields."
            }
        }
    }

    /// The rows: what it is, savable bytes, objects.
    pub fn what(&self) -> impl Iterator<Item = [String; 3]> {
        let rows = self.rows.iter();
        rows.map(|row| self.cells(row.what(), row.savable, row.objects))
    }

    /// The holders: where it is held, savable bytes, objects.
    pub fn held_by(&self) -> impl Iterator<Item = [String; 3]> {
        let holders = self.holders.iter();
        holders.map(|held| self.cells(held.holder.clone(), held.savable, held.objects))
    }

    fn cells(&self, what: String, savable: u64, objects: u64) -> [String; 3] {
        let savable = match self.savable {
            // What is only for information.
            0 => String::new(),
            _ => bytes(savable),
        };
        [what, savable, count(objects)]
    }

    /// Title, number and bytes.
    pub fn headline(&self) -> String {
        let (one, many) = match self.kind {
            WasteKind::HashCollisions => ("map", "maps"),
            WasteKind::EmptyCollections
            | WasteKind::UnusedCollections
            | WasteKind::SparseCollections => ("collection", "collections"),
            _ => ("object", "objects"),
        };
        let mut title = self.title().to_owned();
        title[..1].make_ascii_uppercase();
        let much = match self.savable {
            0 => format!("{} taken up", bytes(self.bytes)),
            savable => format!("{} could be saved", bytes(savable)),
        };
        format!("{title}: {}, {much}", counted(self.objects, one, many))
    }
}

impl Example {
    /// What it is, and what more there is to say.
    pub fn what(&self) -> String {
        let name = match &self.text {
            Some(text) if self.class == "java.lang.String" => quoted(text, TEXT.1),
            Some(text) => format!("{} {text}", self.class),
            None => self.class.clone(),
        };
        let example = format!("e.g. {}", self.address);
        match &self.figures {
            Figures::None {} if self.text.is_some() => name,
            Figures::None {} => format!("{name}, {example}"),
            Figures::Fill { used, slots } => format!(
                "{name}, {example} uses {} of {} slots",
                count(*used),
                count((*slots).into())
            ),
            Figures::Buckets {
                entries,
                buckets,
                longest,
            } => format!(
                "{name} {}: {} in {}, {} in the fullest",
                self.address,
                counted(*entries, "entry", "entries"),
                counted(*buckets, "bucket", "buckets"),
                count(*longest)
            ),
            Figures::Nulls { nulls } => {
                let fields: Vec<String> = nulls
                    .iter()
                    .take(FIELDS)
                    .map(|null| format!("{} {}", null.field, share(null.objects, self.objects)))
                    .collect();
                let more = if nulls.len() > FIELDS { ", …" } else { "" };
                format!("{name}: null in {}{more}", fields.join(", "))
            }
        }
    }
}
