//! What probably leaks, and who holds it. Redaction happens here, once for all forms; `wording` has the
//! sentences.

mod leak;
mod timeline;
mod wording;

use wording::Told;
pub(crate) use wording::loader_holder;

use std::io::Write;

use anthill_graph::{Dominators, NodeId};
use anthill_heap::ClassId;
use anthill_leaks::{ReportedSuspect, Subject, Thresholds, report};
use anthill_paths::{ReadablePath, TreeOptions, dominator_tree};
use anthill_session::{Analysis, Grouping, Session, frame_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::Notes;
use crate::redaction::{Redaction, Redactor};
use crate::registry::write_json;
use crate::{
    AnswerError, Envelope, Error, Heap, HeapQuestion, Percent, Question, class_name, hex, waste,
};
pub use anthill_leaks::Leak;
pub use leak::leak_of_json;
pub use timeline::{Collection, Growth, Mark, State, Timeline};

/// Report probable leaks: the suspects, who holds them, and what they contain
///
/// A suspect keeps a large share of the reachable heap alive. It is a single object, a class
/// loader, all objects of a class, or several objects that only together retain much, such as two
/// caches with the same entries or the threads of a pool. For each suspect, the report shows how
/// much it retains, the field that holds it, the path from a GC root, and its contents. Local
/// variables of running methods do not count as owners of what something else holds as well.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Report {
    /// Minimum percentage of the reachable heap that a single object must retain to be a suspect
    pub object: Percent,
    /// Minimum percentage of the reachable heap that the objects of a class must retain together to
    /// be a suspect
    pub class: Percent,
    /// Mark a suspect HIGH if it retains more than this percentage of the reachable heap
    pub high: Percent,
    /// Search for sets of at most N owners
    #[schemars(extend("x-value" = "N"))]
    pub owners: usize,
    /// Report at most N single objects
    #[schemars(extend("x-value" = "N"))]
    pub most: usize,
    /// Continue with the largest child of an object if it retains more than this percentage of the
    /// object's retained size
    pub pass_through: Percent,
    /// List an object as context instead of as a suspect if the suspects below it explain at least
    /// this percentage of it
    pub explained: Percent,
    /// Hide the contents of strings and the names of threads, or also the names of classes and
    /// fields
    #[schemars(extend("x-value" = "WHAT", "x-if-bare" = "contents"))]
    pub redact: Option<Redact>,
    /// Skip the waste and the treemap, which take longer to compute than the suspects
    pub brief: bool,
}

impl Report {
    /// What a person noted on the heap, for documents; nothing where something is to be hidden.
    pub fn notes(&self, heap: &Heap) -> Notes {
        match self.redact {
            None => Notes::of(heap),
            Some(_) => Notes::default(),
        }
    }
}

impl Default for Report {
    fn default() -> Self {
        let usual = Thresholds::default();
        Report {
            object: Percent(usual.object),
            class: Percent(usual.class),
            high: Percent(usual.high),
            owners: usual.owners,
            most: usual.most,
            pass_through: Percent(usual.pass_through),
            explained: Percent(usual.explained),
            redact: None,
            brief: false,
        }
    }
}

/// What is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ReportRedact")]
pub enum Redact {
    /// The contents of strings and the names of threads
    Contents,
    /// Also the names of classes and fields that do not come with the JVM
    Names,
}

/// How severe a suspect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "ReportSeverity")]
pub enum Severity {
    /// It retains at most 30 % of the reachable heap, or the share that `--high` sets.
    Medium,
    /// It retains more than 30 % of the reachable heap, or the share that `--high` sets.
    High,
}

impl From<anthill_leaks::Severity> for Severity {
    fn from(severity: anthill_leaks::Severity) -> Self {
        match severity {
            anthill_leaks::Severity::Medium => Severity::Medium,
            anthill_leaks::Severity::High => Severity::High,
        }
    }
}

/// Rows of the table of classes.
const CLASSES: usize = 15;
/// Rows and holders of each kind of waste.
const WASTE: usize = 5;
/// Stack frames that are shown of a thread.
const FRAMES: usize = 12;

/// Leak suspects, and more facts about the heap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportAnswer")]
pub struct Answer {
    /// The file as the report names it.
    #[serde(skip)]
    pub file: String,
    /// The number of objects in the dump, including unreachable ones.
    pub objects: u64,
    /// Shallow size of all objects in bytes, including unreachable ones.
    pub shallow: u64,
    /// Bytes of the reachable heap; every share is a percentage of them.
    pub reachable: u64,
    /// Shallow size of the unreachable objects in bytes.
    pub unreachable: u64,
    /// Which references keep objects alive, in words.
    #[serde(skip)]
    pub convention: String,
    /// What the file lacks, in sentences.
    #[serde(skip)]
    pub missing: Vec<String>,
    /// The thread that found no memory, if the JVM wrote the dump because of an `OutOfMemoryError`;
    /// otherwise null.
    pub out_of_memory: Option<OutOfMemory>,
    /// The leak suspects: HIGH before MEDIUM, then certain leaks, then by size.
    pub suspects: Vec<Suspect>,
    /// Known ways to leak that concern the whole heap.
    pub patterns: Vec<Pattern>,
    /// Objects that retain much only because the suspects are below them.
    pub context: Vec<Named>,
    /// The 15 classes with the largest shallow size, largest first.
    pub classes: Vec<ClassRow>,
    /// The waste, as `anthill waste` finds it, with five rows and holders of each kind; null with
    /// `--brief`.
    pub waste: Option<waste::Answer>,
    /// The upper part of the dominator tree; empty with `--brief`.
    pub treemap: Vec<Tile>,
    /// The recording over time; null for a heap dump.
    pub timeline: Option<Timeline>,
}

/// The end of a program for lack of memory.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportOutOfMemory")]
pub struct OutOfMemory {
    /// What happened in one sentence.
    pub sentence: String,
    /// The thread that found no memory.
    pub thread: Thread,
}

/// Something that keeps a large share of the reachable heap alive.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportSuspect")]
pub struct Suspect {
    /// `HIGH` or `MEDIUM`, by the share of the reachable heap.
    pub severity: Severity,
    /// What the suspect is.
    pub kind: SuspectKind,
    /// The suspicion in one sentence.
    pub sentence: String,
    /// The field in which memory accumulates, with the class that declares it; null if there is no such
    /// field.
    pub place: Option<String>,
    /// What the suspect keeps many of; null if that is not known.
    pub elements: Option<Elements>,
    /// Other static fields, threads and GC roots that hold a single object that is suspected: it is
    /// freed only if all of them let go of it.
    pub also_held_by: Vec<String>,
    /// What the program calls a single object that is suspected; null if it has no name, and in a
    /// redacted report.
    pub named_by: Option<NamedBy>,
    /// Retained size in bytes.
    pub retained: u64,
    /// Bytes outside of the heap that direct byte buffers of the suspect own, if they are a large
    /// share of the program's memory; otherwise 0. Sizes do not include them, the order of suspects does.
    pub outside: u64,
    /// The number of objects that would be freed with the suspect.
    pub retained_objects: u64,
    /// The retained size in percent of the reachable heap.
    pub share: f64,
    /// The objects that keep the suspect alive.
    pub owners: Vec<Owner>,
    /// The object below which memory fans out; null if there is none.
    pub accumulation: Option<Named>,
    /// The objects that several owners keep alive together; null for suspects of other kinds.
    pub kept: Option<Kept>,
    /// The objects that the suspect keeps alive, by class.
    pub contents: Vec<ContainedClass>,
    /// Known ways to leak that the suspect matches.
    pub patterns: Vec<Pattern>,
    /// How to look closer, and what usually helps.
    pub advice: Advice,
    /// An identifier that is the same for the same leak in every run.
    pub fingerprint: String,
    /// Where the program holds the owners, in names that are the same in every run.
    pub holders: Vec<String>,
    /// Whether the suspect is in the list of known leaks.
    pub known: bool,
}

/// Objects of one class that a suspect keeps alive, whatever data structures they are in.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportElements")]
pub struct Elements {
    /// The name of the class.
    pub class: String,
    /// The number of objects.
    pub objects: u64,
    /// Retained size of these objects in bytes.
    pub retained: u64,
    /// A few of these objects by name; null if they have no names, and in a redacted report.
    pub samples: Option<Samples>,
}

/// A few of many objects, by name.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportSamples")]
pub struct Samples {
    /// The field that has the names, or `keys` for the keys of a map; null if the objects are strings
    /// or numbers.
    pub field: Option<String>,
    /// The names. Strings are in quotes.
    pub names: Vec<String>,
}

/// An object that names a suspect: the suspect itself, or an object of the program that refers to
/// it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportNamedBy")]
pub struct NamedBy {
    /// The object that has the name.
    #[serde(flatten)]
    pub object: Named,
    /// The field that has the name.
    pub field: String,
    /// The name, in quotes.
    pub name: String,
}

/// The kinds of suspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ReportSuspectKind")]
pub enum SuspectKind {
    /// A single object.
    Object,
    /// Several objects that keep others alive together.
    Owners,
    /// A class loader.
    #[serde(rename = "class loader")]
    ClassLoader,
    /// All objects of a class.
    Class,
    /// Objects of one class that are held in the same way, such as the threads of a pool.
    Alike,
}

/// A known way to leak.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportPattern")]
pub struct Pattern {
    /// The name of the pattern.
    pub name: &'static str,
    /// The facts by which the pattern was recognized.
    pub evidence: String,
    /// The usual remedy.
    pub fix: &'static str,
}

/// An object that keeps a suspect alive.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportOwner")]
pub struct Owner {
    /// The owner.
    #[serde(flatten)]
    pub object: Named,
    /// How the owner is held, from a static field or a GC root on.
    pub held_by: String,
    /// The GC root at the start of the path, in words.
    pub root: String,
    /// The objects from the GC root to the owner, except those skipped.
    pub path: Vec<Step>,
    /// The number of objects left out in the middle of a long path.
    pub skipped: usize,
    /// The thread in which the path begins; null if the path begins elsewhere.
    pub thread: Option<Thread>,
}

/// An object on the path to an owner.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportStep")]
pub struct Step {
    /// How the previous object holds this one; null for the first step.
    pub via: Option<String>,
    /// The object at this step.
    #[serde(flatten)]
    pub object: Named,
}

/// The thread that a path begins in.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportThread")]
pub struct Thread {
    /// The name of the thread; null if it is not known or the report is redacted.
    pub name: Option<String>,
    /// The innermost stack frames of the thread, innermost first.
    pub frames: Vec<String>,
}

/// An object.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportNamed")]
pub struct Named {
    /// The name of the object's class, in Java notation.
    pub class: String,
    /// The address of the object: `0x…`.
    pub address: String,
    /// The object as people see it: class, array length, contents of a string, name of a thread,
    /// address.
    pub label: String,
    /// Retained size of the object in bytes.
    pub retained: u64,
}

/// Objects that several owners keep alive together.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportKept")]
pub struct Kept {
    /// The class of the objects, or `package NAME`.
    pub class: String,
    /// The number of objects of this class or package that the owners keep alive.
    pub objects: u64,
    /// The share of the bytes of these objects that the owners keep alive, in percent.
    pub covered: f64,
}

/// Objects of one class that a suspect keeps alive.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportContainedClass")]
pub struct ContainedClass {
    /// The name of the class.
    pub class: String,
    /// The number of objects of the class that the suspect keeps alive.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub shallow: u64,
    /// The field by which most of these bytes are held; null if there is no such field.
    pub through: Option<String>,
}

/// A class with a large shallow size.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportClassRow")]
pub struct ClassRow {
    /// The name of the class.
    pub class: String,
    /// The number of objects of the class, including unreachable ones.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub shallow: u64,
    /// Bytes that would be freed if all objects of the class were gone.
    pub retained: u64,
}

/// A part of the dominator tree.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportTile")]
pub struct Tile {
    /// The part in words: an object, several objects of a class, or a chain of objects.
    pub label: String,
    /// Retained size in bytes.
    pub retained: u64,
    /// The largest parts right below this one.
    pub children: Vec<Tile>,
}

/// How to confirm a suspicion, and what usually helps.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportAdvice")]
pub struct Advice {
    /// A command line that looks closer.
    pub verify: String,
    /// The usual remedy, unless a pattern already has it; otherwise null.
    pub fix: Option<&'static str>,
}

struct Maker<'a> {
    session: &'a Session,
    analysis: &'a Analysis,
    owners: &'a Dominators,
    file: &'a str,
    reachable: u64,
    redactor: Redactor,
}

/// The suspects of a report alone, with nothing hidden.
pub fn suspects(heap: &Heap, report: &anthill_leaks::Report) -> Result<Vec<Suspect>, Error> {
    Ok(Maker::new(heap, Redaction::None)?.suspects(report))
}

impl Question for Report {
    const NAME: &'static str = "report";
    type Answer = Answer;
}

impl HeapQuestion for Report {
    /// The envelope names the file as the report does, which may hide it.
    fn write_json(answer: &Answer, heap: &Heap, out: &mut dyn Write) -> Result<(), AnswerError> {
        let envelope = Envelope {
            file: &answer.file,
            ..Envelope::new(heap, Report::NAME, answer)
        };
        write_json(&envelope, out)
    }

    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let report = report(session, &self.thresholds())?;
        let total = session.analysis()?.total();
        let maker = Maker::new(heap, self.redaction())?;
        let missing = heap.missing().iter();
        let context = report.context.iter();
        Ok(Answer {
            file: maker.redactor.file(&heap.file),
            objects: total.objects,
            shallow: total.shallow,
            reachable: total.retained,
            unreachable: total.unreachable_shallow,
            convention: session.convention().to_string(),
            missing: missing.map(|missing| missing.what.clone()).collect(),
            out_of_memory: report
                .out_of_memory
                .as_ref()
                .map(|(found, path)| OutOfMemory {
                    sentence: maker.out_of_memory(found, path.as_ref()),
                    thread: maker.thread(found.thread),
                }),
            suspects: maker.suspects(&report),
            patterns: maker.patterns(&report.patterns),
            context: context.map(|&node| maker.named(node)).collect(),
            classes: maker.classes(),
            waste: match self.brief {
                true => None,
                false => Some(waste::found(session, WASTE, &maker.redactor)?),
            },
            treemap: match self.brief {
                true => Vec::new(),
                false => maker.treemap()?,
            },
            timeline: session
                .recording()
                .map(|recording| Timeline::new(recording, &heap.file, &maker.redactor)),
        })
    }
}

impl Report {
    fn thresholds(&self) -> Thresholds {
        Thresholds {
            object: self.object.0,
            class: self.class.0,
            high: self.high.0,
            owners: self.owners,
            most: self.most,
            pass_through: self.pass_through.0,
            explained: self.explained.0,
        }
    }

    fn redaction(&self) -> Redaction {
        match self.redact {
            None => Redaction::None,
            Some(Redact::Contents) => Redaction::Contents,
            Some(Redact::Names) => Redaction::Names,
        }
    }
}

impl Answer {
    /// Marks the suspects that somebody knows already.
    pub fn mark_known(&mut self, known: &[Leak]) {
        for suspect in &mut self.suspects {
            let leak = Leak::from(&*suspect);
            suspect.known = known.iter().any(|known| known.is(&leak));
        }
    }

    /// How many suspects are at least this severe and not known.
    pub fn severe(&self, least: Severity) -> usize {
        let is_severe = |suspect: &&Suspect| suspect.severity >= least && !suspect.known;
        self.suspects.iter().filter(is_severe).count()
    }
}

impl<'a> Maker<'a> {
    fn new(heap: &'a Heap, redaction: Redaction) -> Result<Self, Error> {
        let session = &heap.session;
        let analysis = session.analysis()?;
        Ok(Maker {
            session,
            analysis,
            owners: session.owner_dominators()?,
            file: &heap.file,
            reachable: analysis.total().retained,
            redactor: Redactor::new(redaction, session, analysis),
        })
    }

    fn suspects(&self, report: &anthill_leaks::Report) -> Vec<Suspect> {
        let suspects = report.suspects.iter();
        suspects.map(|suspect| self.suspect(suspect)).collect()
    }

    fn suspect(&self, suspect: &ReportedSuspect) -> Suspect {
        let owners: Vec<Owner> = suspect
            .owner_paths
            .iter()
            .map(|(node, path)| self.owner(*node, path))
            .collect();
        let kept = suspect.kept.map(|kept| Kept {
            class: self.hidden(&kept.group.name(self.session)),
            objects: kept.objects,
            covered: kept.covered.0 as f64 * 100.0 / kept.covered.1.max(1) as f64,
        });
        let elements = suspect.elements.as_ref().map(|elements| Elements {
            class: self.class(elements.class),
            objects: elements.objects,
            retained: elements.retained,
            samples: elements
                .samples
                .as_ref()
                .filter(|_| self.redactor.is_off())
                .map(|samples| Samples {
                    field: samples.field.clone(),
                    names: samples.names.clone(),
                }),
        });
        let named_by = suspect.named_by.as_ref();
        let named_by = named_by.filter(|_| self.redactor.is_off());
        let named_by = named_by.map(|named| NamedBy {
            object: self.named(named.node),
            field: named.field.clone(),
            name: named.name.clone(),
        });
        let place = suspect.place.as_ref().map(|place| {
            let field = self.redactor.hide_field(&place.field);
            format!("{}.{field}", self.class(place.class))
        });
        Suspect {
            severity: suspect.severity.into(),
            kind: match suspect.subject {
                Subject::Loader(_) => SuspectKind::ClassLoader,
                Subject::Object(_) => SuspectKind::Object,
                Subject::Owners(_) => SuspectKind::Owners,
                Subject::Class(_) => SuspectKind::Class,
                Subject::Alike(_) => SuspectKind::Alike,
            },
            sentence: self.sentence(&Told {
                suspect,
                owners: &owners,
                kept: kept.as_ref(),
                place: place.as_deref(),
                elements: elements.as_ref(),
                named_by: named_by.as_ref(),
            }),
            place,
            elements,
            also_held_by: suspect
                .also_held_by
                .iter()
                .map(|place| self.hidden(place))
                .collect(),
            named_by,
            retained: suspect.retained,
            outside: suspect.outside,
            retained_objects: suspect.retained_objects,
            share: suspect.retained as f64 * 100.0 / self.reachable.max(1) as f64,
            accumulation: suspect.accumulation.map(|node| self.named(node)),
            contents: suspect
                .contents
                .iter()
                .map(|content| ContainedClass {
                    class: self.class(content.class),
                    objects: content.objects,
                    shallow: content.shallow,
                    through: content
                        .through
                        .as_deref()
                        .map(|through| self.hidden(through)),
                })
                .collect(),
            patterns: self.patterns(&suspect.patterns),
            advice: self.advice(suspect, &owners),
            fingerprint: suspect.fingerprint.clone(),
            holders: suspect
                .holders
                .iter()
                .map(|holder| self.hidden(holder))
                .collect(),
            known: false,
            owners,
            kept,
        }
    }

    fn patterns(&self, patterns: &[anthill_leaks::Pattern]) -> Vec<Pattern> {
        patterns
            .iter()
            .map(|pattern| self.pattern(pattern))
            .collect()
    }

    /// How many reachable objects of a class there are.
    fn reachable_objects(&self, class: ClassId) -> u64 {
        let row = &self.analysis.rows(Grouping::Class)[class as usize];
        row.objects - row.unreachable_objects
    }

    fn owner(&self, node: NodeId, path: &ReadablePath) -> Owner {
        Owner {
            object: self.named(node),
            held_by: self.hidden(&path.short),
            root: self.hidden(&path.root),
            path: path
                .steps
                .iter()
                .map(|step| Step {
                    via: step.via.as_deref().map(|via| self.redactor.hide_field(via)),
                    object: self.named(step.node),
                })
                .collect(),
            skipped: path.skipped,
            thread: path.thread.map(|thread| self.thread(thread)),
        }
    }

    fn thread(&self, number: u32) -> Thread {
        let tables = &self.session.state().tables;
        let thread = &tables.threads[number as usize];
        let frames = thread
            .trace
            .map_or(&[][..], |trace| &tables.traces[trace as usize].frames);
        Thread {
            name: thread.name.clone().filter(|_| self.redactor.is_off()),
            frames: frames
                .iter()
                .take(FRAMES)
                .map(|&frame| self.hidden(&frame_name(&tables.frames[frame as usize])))
                .collect(),
        }
    }

    fn named(&self, node: NodeId) -> Named {
        Named {
            class: self.hidden(class_name(self.session, node)),
            address: hex(self.session.address(node)),
            label: self.label(node),
            retained: self.owners.retained(node),
        }
    }

    fn label(&self, node: NodeId) -> String {
        let mut label = self.session.label(node);
        if !self.redactor.is_off() {
            label.detail = None;
        }
        label.what = self.hidden(&label.what);
        label.to_string()
    }

    fn class(&self, class: ClassId) -> String {
        self.hidden(&self.session.state().classes()[class as usize].name)
    }

    fn hidden(&self, text: &str) -> String {
        self.redactor.hide(text)
    }

    fn classes(&self) -> Vec<ClassRow> {
        let rows = self.analysis.rows(Grouping::Class);
        let mut classes: Vec<ClassId> = (0..rows.len() as ClassId).collect();
        classes.sort_by_key(|&class| std::cmp::Reverse(rows[class as usize].shallow));
        classes.truncate(CLASSES);
        let row = |class: ClassId| {
            let row = &rows[class as usize];
            ClassRow {
                class: self.class(class),
                objects: row.objects,
                shallow: row.shallow,
                retained: row.retained,
            }
        };
        classes.into_iter().map(row).collect()
    }

    fn treemap(&self) -> Result<Vec<Tile>, Error> {
        let options = TreeOptions {
            top: None,
            depth: 6,
            limit: 12,
            least: self.reachable / 200,
        };
        let items = dominator_tree(self.session, &options)?;
        let mut tiles: Vec<Option<Tile>> = items.iter().map(|_| None).collect();
        for (index, item) in items.iter().enumerate().rev() {
            let children = item
                .children
                .iter()
                .filter_map(|&child| tiles[child].take());
            let children = children.collect();
            tiles[index] = Some(Tile {
                label: self.tile_label(item),
                retained: item.retained,
                children,
            });
        }
        let top = tiles.into_iter().next().flatten();
        Ok(top.map_or_else(Vec::new, |top| top.children))
    }
}
