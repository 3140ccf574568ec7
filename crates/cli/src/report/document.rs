//! What a report says, with all names. Redaction happens here, once for all forms.

use anthill_graph::NodeId;
use anthill_heap::ClassId;
use anthill_leaks::{Severity, Subject};
use anthill_session::{
    Analysis, Grouping, Member, Pattern, PatternKind, Report, ReportedSuspect, Session,
    TreeOptions, Way, frame_name,
};
use serde::Serialize;

use super::redaction::{Redaction, Redactor};
use super::timeline::Timeline;
use super::waste::Waste;
use crate::failure::Failure;
use crate::names::class_name;
use crate::output::shell;
use crate::output::units::{bytes, count, counted, hex, separated, share};
use crate::source::Source;

/// Rows of the table of classes.
const CLASSES: usize = 15;
/// Rows and holders of each kind of waste.
const WASTE: usize = 5;
/// Stack frames that are shown of a thread.
const FRAMES: usize = 12;

#[derive(Serialize)]
pub struct Document {
    #[serde(skip)]
    pub file: String,
    pub objects: u64,
    pub shallow: u64,
    /// Bytes of the reachable heap: all shares are of these.
    pub reachable: u64,
    pub unreachable: u64,
    #[serde(skip)]
    pub convention: String,
    #[serde(skip)]
    pub missing: Vec<String>,
    pub suspects: Vec<SuspectText>,
    /// What is worth knowing besides the suspects.
    pub patterns: Vec<PatternText>,
    /// What retains much because the suspects are below it.
    pub context: Vec<Named>,
    pub classes: Vec<ClassRow>,
    /// Nothing in a brief report.
    pub waste: Option<Waste>,
    /// The largest parts of the dominator tree.
    pub treemap: Vec<Tile>,
    /// Of a recording.
    pub timeline: Option<Timeline>,
}

#[derive(Serialize)]
pub struct SuspectText {
    pub severity: Severity,
    pub kind: &'static str,
    /// What is suspected, in one sentence.
    pub sentence: String,
    pub retained: u64,
    pub retained_objects: u64,
    /// Of the reachable heap, in percent.
    pub share: f64,
    pub owners: Vec<Owner>,
    pub accumulation: Option<Named>,
    pub kept: Option<Kept>,
    pub contents: Vec<Content>,
    /// Known ways to leak that it looks like.
    pub patterns: Vec<PatternText>,
    pub advice: Advice,
    pub fingerprint: String,
    /// Where the program holds the owners, in names that are the same in every run.
    pub holders: Vec<String>,
    /// Whether the user knows it already.
    pub known: bool,
}

#[derive(Serialize)]
pub struct PatternText {
    pub name: &'static str,
    pub evidence: String,
    pub fix: &'static str,
}

#[derive(Serialize)]
pub struct Owner {
    #[serde(flatten)]
    pub object: Named,
    /// What holds it, from a static field or a GC root on.
    pub held_by: String,
    pub root: String,
    pub path: Vec<Step>,
    /// Objects left out in the middle of a long path.
    pub skipped: usize,
    pub thread: Option<ThreadText>,
}

#[derive(Serialize)]
pub struct Step {
    pub via: Option<String>,
    #[serde(flatten)]
    pub object: Named,
}

#[derive(Serialize)]
pub struct ThreadText {
    pub name: Option<String>,
    pub frames: Vec<String>,
}

#[derive(Serialize)]
pub struct Named {
    pub class: String,
    pub address: String,
    pub label: String,
    pub retained: u64,
}

#[derive(Serialize)]
pub struct Kept {
    pub class: String,
    pub objects: u64,
    /// Of their bytes, in percent.
    pub covered: f64,
}

#[derive(Serialize)]
pub struct Content {
    pub class: String,
    pub objects: u64,
    pub shallow: u64,
    /// How most of them are held.
    pub through: Option<String>,
}

#[derive(Serialize)]
pub struct ClassRow {
    pub class: String,
    pub objects: u64,
    pub shallow: u64,
    pub retained: u64,
}

#[derive(Serialize)]
pub struct Tile {
    pub label: String,
    pub retained: u64,
    pub children: Vec<Tile>,
}

/// How to make sure, and what usually helps.
#[derive(Serialize)]
pub struct Advice {
    pub verify: String,
    /// What a pattern does not say already.
    pub fix: Option<&'static str>,
}

struct Maker<'a> {
    session: &'a Session,
    analysis: &'a Analysis,
    file: &'a str,
    reachable: u64,
    redactor: Redactor,
}

/// The suspects of a report alone, with nothing hidden.
pub fn suspects(source: &Source, report: &Report) -> Result<Vec<SuspectText>, Failure> {
    Ok(Maker::new(source, Redaction::None)?.suspects(report))
}

impl Document {
    /// A brief one leaves out what takes longest and is not about suspects.
    pub fn new(
        source: &Source,
        report: &Report,
        redaction: Redaction,
        brief: bool,
    ) -> Result<Self, Failure> {
        let session = &source.session;
        let total = session.analysis()?.total();
        let maker = Maker::new(source, redaction)?;
        Ok(Document {
            file: maker.redactor.file(&source.name),
            objects: total.objects,
            shallow: total.shallow,
            reachable: total.retained,
            unreachable: total.unreachable_shallow,
            convention: session.convention().to_string(),
            missing: session
                .state()
                .tables
                .missing
                .iter()
                .map(|missing| missing.what.clone())
                .collect(),
            suspects: maker.suspects(report),
            patterns: maker.patterns(&report.patterns),
            context: report
                .context
                .iter()
                .map(|&node| maker.named(node))
                .collect(),
            classes: maker.classes(),
            waste: match brief {
                true => None,
                false => Some(Waste::new(session, WASTE, &maker.redactor)?),
            },
            treemap: match brief {
                true => Vec::new(),
                false => maker.treemap()?,
            },
            timeline: session
                .recording()
                .map(|recording| Timeline::new(recording, &source.name, &maker.redactor)),
        })
    }
}

impl<'a> Maker<'a> {
    fn new(source: &'a Source, redaction: Redaction) -> Result<Self, Failure> {
        let session = &source.session;
        let analysis = session.analysis()?;
        Ok(Maker {
            session,
            analysis,
            file: &source.name,
            reachable: analysis.total().retained,
            redactor: Redactor::new(redaction, session, analysis),
        })
    }

    fn suspects(&self, report: &Report) -> Vec<SuspectText> {
        let suspects = report.suspects.iter();
        suspects.map(|suspect| self.suspect(suspect)).collect()
    }

    fn suspect(&self, suspect: &ReportedSuspect) -> SuspectText {
        let owners: Vec<Owner> = suspect
            .ways
            .iter()
            .map(|(node, way)| self.owner(*node, way))
            .collect();
        let kept = suspect.kept.map(|kept| Kept {
            class: self.hidden(&self.session.kept_name(kept.group)),
            objects: kept.objects,
            covered: kept.covered.0 as f64 * 100.0 / kept.covered.1.max(1) as f64,
        });
        SuspectText {
            severity: suspect.severity,
            kind: match suspect.subject {
                Subject::Loader(_) => "class loader",
                Subject::Object(_) => "object",
                Subject::Owners(_) => "owners",
                Subject::Class(_) => "class",
            },
            sentence: self.sentence(suspect, &owners, kept.as_ref()),
            retained: suspect.retained,
            retained_objects: suspect.retained_objects,
            share: suspect.retained as f64 * 100.0 / self.reachable.max(1) as f64,
            accumulation: suspect.accumulation.map(|node| self.named(node)),
            contents: suspect
                .contents
                .iter()
                .map(|content| Content {
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

    fn sentence(&self, suspect: &ReportedSuspect, owners: &[Owner], kept: Option<&Kept>) -> String {
        let much = format!(
            "{} ({} of the reachable heap)",
            bytes(suspect.retained),
            share(suspect.retained, self.reachable)
        );
        let held = |owner: &Owner| format!("{}, held by {},", owner.object.label, owner.held_by);
        let mut sentence = match (&suspect.subject, owners) {
            (Subject::Class(class), _) => {
                let objects = self.analysis.rows(Grouping::Class)[*class as usize];
                format!(
                    "{} of {} together retain {much}.",
                    counted(
                        objects.objects - objects.unreachable_objects,
                        "object",
                        "objects"
                    ),
                    self.class(*class)
                )
            }
            (Subject::Loader(_), [owner, ..]) => {
                format!("The class loader {} retains {much}.", held(owner))
            }
            (_, [owner]) => format!("{} retains {much}.", held(owner)),
            (_, owners) => {
                let classes: Vec<&str> = owners
                    .iter()
                    .map(|owner| owner.object.class.as_str())
                    .collect();
                let same = classes.windows(2).all(|pair| pair[0] == pair[1]);
                let what = match classes.first() {
                    Some(class) if same => format!("{} {class} objects", owners.len()),
                    _ => format!("{} objects", owners.len()),
                };
                let places: Vec<&str> = owners.iter().map(|owner| owner.held_by.as_str()).collect();
                format!("{what}, held by {}, together retain {much}.", list(&places))
            }
        };
        if let Some(kept) = kept {
            sentence += &match kept.covered {
                covered if covered > 99.95 => format!(
                    " Without them none of the {} would be alive.",
                    counted(
                        kept.objects,
                        &format!("object of {}", kept.class),
                        &format!("objects of {}", kept.class)
                    )
                ),
                covered => format!(
                    " They keep {covered:.1}% of the {} objects of {} alive.",
                    count(kept.objects),
                    kept.class
                ),
            };
        }
        const FAN: usize = 10;
        let accumulation = suspect.accumulation.map(|node| {
            let children = self.analysis.dominators.children(Some(node));
            (node, children.len())
        });
        // In a search tree every node has a few.
        if let Some((node, children)) = accumulation.filter(|(_, children)| *children >= FAN) {
            sentence += &format!(
                " Memory accumulates in {}, which alone keeps {} alive.",
                self.label(node),
                counted(
                    children as u64,
                    "further object directly",
                    "further objects directly"
                )
            );
        }
        sentence
    }

    fn advice(&self, suspect: &ReportedSuspect, owners: &[Owner]) -> Advice {
        let file = self.redactor.file_word(self.file);
        let verify = match (&suspect.subject, owners.first()) {
            (Subject::Class(class), _) => {
                let class = shell::word(&self.class(*class));
                format!("anthill paths {file} {class}")
            }
            (_, Some(owner)) => format!("anthill paths {file} {}", owner.object.address),
            (_, None) => format!("anthill dominators {file}"),
        };
        let in_thread = owners.iter().any(|owner| owner.thread.is_some());
        let fix = match suspect.subject {
            Subject::Owners(_) => Some(
                "An entry is only freed when all of them let go of it: remove it from each, or let \
                 all but one hold it weakly. Give caches a limit and entries an age.",
            ),
            _ if !suspect.patterns.is_empty() => None,
            _ if in_thread => Some(
                "A thread holds it while it runs. See whether the thread ends, and whether it works \
                 on more than it needs at once.",
            ),
            _ => Some(
                "See who adds to it and who should take away again, and whether it has a limit. \
                 Compare with a dump taken later: does it grow?",
            ),
        };
        Advice { verify, fix }
    }

    fn patterns(&self, patterns: &[Pattern]) -> Vec<PatternText> {
        let text = |pattern: &Pattern| {
            let (name, fix) = words(pattern.kind);
            PatternText {
                name,
                evidence: separated(&self.hidden(&pattern.evidence)),
                fix,
            }
        };
        patterns.iter().map(text).collect()
    }

    fn owner(&self, node: NodeId, way: &Way) -> Owner {
        let tables = &self.session.state().tables;
        let thread = way.thread.map(|thread| {
            let thread = &tables.threads[thread as usize];
            let frames = thread
                .trace
                .map_or(&[][..], |trace| &tables.traces[trace as usize].frames);
            ThreadText {
                name: thread.name.clone().filter(|_| self.redactor.is_off()),
                frames: frames
                    .iter()
                    .take(FRAMES)
                    .map(|&frame| self.hidden(&frame_name(&tables.frames[frame as usize])))
                    .collect(),
            }
        });
        Owner {
            object: self.named(node),
            held_by: self.hidden(&way.short),
            root: self.hidden(&way.root),
            path: way
                .steps
                .iter()
                .map(|step| Step {
                    via: step.via.as_deref().map(|via| self.redactor.hide_field(via)),
                    object: self.named(step.node),
                })
                .collect(),
            skipped: way.skipped,
            thread,
        }
    }

    fn named(&self, node: NodeId) -> Named {
        Named {
            class: self.hidden(class_name(self.session, node)),
            address: hex(self.session.address(node)),
            label: self.label(node),
            retained: self.analysis.dominators.retained(node),
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

    fn treemap(&self) -> Result<Vec<Tile>, Failure> {
        let options = TreeOptions {
            top: None,
            depth: 6,
            limit: 12,
            least: self.reachable / 200,
        };
        let items = self.session.dominator_tree(&options)?;
        let mut tiles: Vec<Option<Tile>> = items.iter().map(|_| None).collect();
        for (index, item) in items.iter().enumerate().rev() {
            let children = item
                .children
                .iter()
                .filter_map(|&child| tiles[child].take());
            let label = match item.member {
                Member::Heap => "reachable".to_owned(),
                Member::Object(node) => self.label(node),
                Member::Group(class) => format!("{} × {}", count(item.count), self.class(class)),
                Member::Chain(class) => match class {
                    Some(class) => format!("chain of {} {}", count(item.count), self.class(class)),
                    None => format!("chain of {} objects", count(item.count)),
                },
            };
            let children = children.collect();
            tiles[index] = Some(Tile {
                label,
                retained: item.retained,
                children,
            });
        }
        let top = tiles.into_iter().next().flatten();
        Ok(top.map_or_else(Vec::new, |top| top.children))
    }
}

/// The name of a pattern and what usually helps.
fn words(kind: PatternKind) -> (&'static str, &'static str) {
    match kind {
        PatternKind::LeakedLoader => (
            "leaked class loader",
            "Undo what refers to it from outside when the component stops: end its threads, \
             remove thread-local values, deregister drivers and hooks.",
        ),
        PatternKind::StaticCollection => (
            "growing collection in a static field",
            "It lives as long as its class. If it is a cache, give it a limit or an age; if it is \
             a registry, see who should have removed the entries.",
        ),
        PatternKind::ThreadLocalValue => (
            "thread-local value",
            "Pool threads do not end, and neither do their thread-local values: call remove() in a \
             finally block, or share one instance.",
        ),
        PatternKind::Listeners => (
            "listeners that were not removed",
            "Remove a listener where its owner is closed, or let the registry hold it weakly.",
        ),
        PatternKind::InnerClass => (
            "hidden reference of an inner class",
            "Make the class static, or turn the lambda into one that uses no member of its outer \
             object.",
        ),
        PatternKind::ObsoleteReferences => (
            "obsolete references in an array",
            "Set the slot to null when an element is removed.",
        ),
        PatternKind::WeakMapValue => (
            "weak map whose values reach their keys",
            "Hold the value weakly too, or keep it in the key.",
        ),
        PatternKind::ReferenceQueue => (
            "backlog in a reference queue",
            "The thread that empties the queue is blocked or too slow: look at finalizers and \
             cleaners in the thread stacks.",
        ),
        PatternKind::InternedStrings => (
            "interned strings that nothing else uses",
            "Intern only what is compared often and of which there are few; what input decides has no \
             limit.",
        ),
        PatternKind::OffHeap => (
            "memory outside of the heap",
            "Limit it with -XX:MaxDirectMemorySize, pool the buffers, and see who keeps them.",
        ),
    }
}

/// `a, b and c`.
fn list(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
