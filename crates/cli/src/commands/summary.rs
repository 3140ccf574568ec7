//! `anthill summary`: what is in a dump, how it was read, and what is missing from it.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use anthill_graph::Convention;
use anthill_heap::{HeapState, ObjectId, RootKind, RootOrigin, Strength};
use anthill_session::{Analysis, Grouping, History, LeakWindow, Recording, Row};
use anthill_trace::elapsed;
use clap::Args;
use serde::Serialize;

use crate::commands::dominators::{JsonItem, largest};
use crate::commands::timeline;
use crate::failure::Failure;
use crate::names::ClassNames;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, date, separated, share};
use crate::output::{Out, json};
use crate::report::window_sentence;
use crate::source::{Source, SourceArguments};

/// Show what is in a dump, how it was read, and what is missing from it
///
/// Start here: how much is alive, how much is garbage, which classes and objects keep most of it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill summary app.hprof
      Is the heap full of live objects, and who holds them?
  anthill summary app.hprof.gz --json
      The same for a script
  anthill summary app.hprof --keep none
      How much would be left if the JVM dropped all soft references?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Leave out the objects that keep most alive, which take longer than the rest
    #[arg(long)]
    pub brief: bool,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let summary = Summary::new(source, arguments.brief)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "summary", &summary)
    } else {
        summary.text(source, &mut out)
    }
}

const TOP: usize = 5;

#[derive(Serialize)]
struct Summary {
    /// Of a recording: the state that is summed up, and the recording around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<RecordedState>,
    format: String,
    /// Milliseconds since 1970.
    timestamp: u64,
    id_size: u8,
    file_bytes: u64,
    /// Bytes of the file as it is on the disk.
    packed_bytes: Option<u64>,
    dump: usize,
    dumps: usize,
    objects: u64,
    shallow: u64,
    reachable: Totals,
    unreachable: Unreachable,
    classes: u64,
    classes_with_instances: u64,
    loaders: u64,
    threads: u64,
    roots: Vec<Roots>,
    index: Index,
    assumed: Vec<Assumed>,
    top_classes: Vec<TopClass>,
    top_dominators: Vec<JsonItem>,
}

#[derive(Clone, Copy, Serialize)]
struct Totals {
    objects: u64,
    shallow: u64,
}

#[derive(Serialize)]
struct Unreachable {
    #[serde(flatten)]
    all: Totals,
    /// References that do not keep alive lead to them.
    weakly_reachable: Totals,
    /// Nothing in the file leads to them.
    garbage: Totals,
    /// How many wait to be finalized; what only they lead to is not counted.
    finalizable: u64,
    /// How many are referents of weak and phantom references; what only they lead to is not
    /// counted.
    weakly_held: u64,
}

#[derive(Serialize)]
struct Roots {
    kind: RootKind,
    origin: RootOrigin,
    roots: u64,
}

#[derive(Serialize)]
struct Index {
    used: bool,
    /// Whether the next opening finds it.
    kept: bool,
    folder: Option<String>,
}

/// A class whose size the file does not tell.
#[derive(Serialize)]
struct Assumed {
    class: String,
    what: String,
}

#[derive(Serialize)]
struct TopClass {
    class: String,
    objects: u64,
    shallow: u64,
    retained: u64,
}

/// A state and the recording it is from.
#[derive(Serialize)]
struct RecordedState {
    state: u32,
    states: usize,
    time_ns: u64,
    gc: Option<u64>,
    mark: Option<String>,
    pause_ns: u64,
    contents: bool,
    complete: bool,
    leak_window: Option<LeakWindow>,
    #[serde(skip)]
    words: Vec<String>,
    #[serde(skip)]
    window: Option<String>,
}

impl RecordedState {
    fn new(recording: &Recording) -> Result<Self, Failure> {
        let (trace, state) = (recording.trace(), recording.state());
        let history = History::of_trace(trace.path())?;
        let mut words = timeline::recording(trace, &history);
        let gc = state
            .gc
            .map_or(String::new(), |gc| format!(", after gc:{gc}"));
        let mark = state.mark.as_ref();
        let mark = mark.map_or(String::new(), |mark| format!(", for mark:{mark}"));
        words.push(format!(
            "state #{} of {}, at {}{gc}{mark}, {}",
            state.number,
            trace.states().len(),
            elapsed(state.time),
            match state.contents {
                true => "with contents",
                false => "without contents (--contents records them)",
            }
        ));
        Ok(RecordedState {
            state: state.number,
            states: trace.states().len(),
            time_ns: state.time,
            gc: state.gc,
            mark: state.mark.clone(),
            pause_ns: state.pause,
            contents: state.contents,
            complete: trace.is_complete(),
            leak_window: history.window,
            words,
            window: history
                .window
                .map(|window| window_sentence(&history.moments, window)),
        })
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        for words in &self.words {
            out.line(format!("  {words}"))?;
        }
        if let Some(window) = &self.window {
            out.wrapped(&format!("  {window}"), 2)?;
        }
        Ok(())
    }
}

impl Summary {
    fn new(source: &Source, brief: bool) -> Result<Self, Failure> {
        let session = &source.session;
        let (state, info) = (session.state(), session.info());
        let analysis = session.analysis()?;
        let total = analysis.total();
        let unreachable = Totals {
            objects: total.unreachable_objects,
            shallow: total.unreachable_shallow,
        };
        let weakly_reachable = Totals {
            objects: analysis.weakly_reachable.objects,
            shallow: analysis.weakly_reachable.bytes,
        };
        Ok(Summary {
            recording: session.recording().map(RecordedState::new).transpose()?,
            format: info.format.clone(),
            timestamp: info.timestamp,
            id_size: info.id_size,
            file_bytes: info.bytes,
            packed_bytes: std::fs::metadata(session.path())
                .ok()
                .map(|file| file.len())
                .filter(|&packed| packed != info.bytes),
            dump: info.dump,
            dumps: info.dumps,
            objects: total.objects,
            shallow: total.shallow,
            reachable: Totals {
                objects: total.retained_objects,
                shallow: total.retained,
            },
            unreachable: Unreachable {
                all: unreachable,
                weakly_reachable,
                garbage: Totals {
                    objects: unreachable.objects - weakly_reachable.objects,
                    shallow: unreachable.shallow - weakly_reachable.shallow,
                },
                finalizable: referents(state, analysis, &[Strength::Finalizer]),
                weakly_held: referents(state, analysis, &[Strength::Weak, Strength::Phantom]),
            },
            classes: state.classes().len() as u64,
            classes_with_instances: analysis
                .rows(Grouping::Class)
                .iter()
                .filter(|row| row.objects > 0)
                .count() as u64,
            loaders: analysis.groups().loaders.len() as u64,
            threads: state.tables.threads.len() as u64,
            roots: roots(source),
            index: Index {
                used: session.from_index(),
                kept: session.index_folder().is_some() && session.notes().is_empty(),
                folder: session
                    .index_folder()
                    .map(|path| path.display().to_string()),
            },
            assumed: state
                .tables
                .assumed
                .iter()
                .map(|(class, what)| Assumed {
                    class: class.clone(),
                    what: what.clone(),
                })
                .collect(),
            top_classes: top_classes(source, analysis.rows(Grouping::Class)),
            top_dominators: match brief {
                true => Vec::new(),
                false => largest(source, TOP)?,
            },
        })
    }

    fn text(&self, source: &Source, out: &mut Out) -> Result<(), Failure> {
        let state = source.session.state();
        out.heading(&source.name)?;
        if let Some(recorded) = &self.recording {
            recorded.text(out)?;
        } else {
            self.file_line(out)?;
        }
        out.line(format!("  {}", source.layout()))?;
        out.line(format!("  {}", source.session.convention()))?;
        let index = match (&self.index.folder, self.index.used) {
            (None, _) => "no index used or kept".to_owned(),
            (Some(folder), true) => format!("opened from the index in {folder}"),
            (Some(folder), false) if self.index.kept => format!("index kept in {folder}"),
            (Some(folder), false) => format!("the index could not be kept in {folder}"),
        };
        out.line(format!("  {index}"))?;
        if !state.tables.missing.is_empty() {
            out.blank()?;
            out.heading("Missing from this file")?;
            for missing in &state.tables.missing {
                let place = missing.offset.map_or(String::new(), |offset| {
                    format!("at offset {}: ", count(offset))
                });
                out.line(format!("  {place}{}", separated(&missing.what)))?;
            }
        }
        out.blank()?;
        self.totals().print(out)?;
        out.blank()?;
        self.hints(source.session.convention(), out)?;
        out.line(format!(
            "{} loaded by {}, {} of them with instances; {}",
            counted(self.classes, "class", "classes"),
            counted(self.loaders, "class loader", "class loaders"),
            count(self.classes_with_instances),
            counted(self.threads, "thread", "threads"),
        ))?;
        out.blank()?;
        self.root_table().print(out)?;
        if !self.assumed.is_empty() {
            out.blank()?;
            out.heading("Sizes that the file does not tell and that were assumed")?;
            for assumed in &self.assumed {
                out.line(format!("  {}: {}", assumed.class, assumed.what))?;
            }
        }
        let classes = self.top_classes.iter();
        let classes = classes.map(|class| (class.retained, &class.class));
        out.blank()?;
        self.top_table("classes that keep most alive", classes)
            .print(out)?;
        let dominators = self.top_dominators.iter();
        let dominators = dominators.map(|item| (item.retained, &item.label));
        if !self.top_dominators.is_empty() {
            out.blank()?;
            self.top_table("objects that keep most alive", dominators)
                .print(out)?;
        }
        Ok(out.flush()?)
    }

    /// What the file of a dump is.
    fn file_line(&self, out: &mut Out) -> Result<(), Failure> {
        let dumps = if self.dumps > 1 {
            format!(", dump {} of {}", self.dump, self.dumps)
        } else {
            String::new()
        };
        let packed = self.packed_bytes.map_or(String::new(), |packed| {
            format!(" unpacked from a file of {}", bytes(packed))
        });
        out.line(format!(
            "  {}, {}{packed}, {}-byte ids, taken {}{dumps}",
            self.format,
            bytes(self.file_bytes),
            self.id_size,
            date(self.timestamp),
        ))?;
        Ok(())
    }

    /// How to see more of what is not reachable.
    fn hints(&self, convention: Convention, out: &mut Out) -> Result<(), Failure> {
        let Unreachable {
            finalizable,
            weakly_held,
            ..
        } = self.unreachable;
        if finalizable > 0 {
            let (wait, they) = match finalizable {
                1 => ("object waits", "it counts"),
                _ => ("objects wait", "they count"),
            };
            out.line(format!(
                "{} {wait} to be finalized; with --keep {} {they} as alive",
                count(finalizable),
                keep(convention, &["finalizer"]),
            ))?;
        }
        if weakly_held > 0 {
            let (are, they) = match weakly_held {
                1 => ("object is", "it counts"),
                _ => ("objects are", "they count"),
            };
            out.line(format!(
                "{} {are} held only weakly; with --keep {} {they} as alive",
                count(weakly_held),
                keep(convention, &["weak", "phantom"]),
            ))?;
        }
        if finalizable + weakly_held > 0 {
            out.blank()?;
        }
        Ok(())
    }

    fn totals(&self) -> Table<3> {
        let mut table = Table::new([
            ("", Align::Left),
            ("objects", Align::Right),
            ("shallow", Align::Right),
        ]);
        let mut row = |name: &str, objects, shallow| {
            table.row([name.to_owned(), count(objects), bytes(shallow)]);
        };
        row("in the dump", self.objects, self.shallow);
        row("reachable", self.reachable.objects, self.reachable.shallow);
        let Unreachable {
            weakly_reachable,
            garbage,
            ..
        } = &self.unreachable;
        row(
            "only through references that do not keep alive",
            weakly_reachable.objects,
            weakly_reachable.shallow,
        );
        row(
            "without any root: garbage, or held inside the JVM",
            garbage.objects,
            garbage.shallow,
        );
        table
    }

    fn root_table(&self) -> Table<3> {
        let mut table = Table::new([
            ("GC roots", Align::Right),
            ("kind", Align::Left),
            ("named in the dump as", Align::Left),
        ]);
        for roots in &self.roots {
            table.row([
                count(roots.roots),
                kind_name(roots.kind).to_owned(),
                roots.origin.label().to_owned(),
            ]);
        }
        table
    }

    fn top_table<'a>(
        &self,
        title: &'static str,
        rows: impl Iterator<Item = (u64, &'a String)>,
    ) -> Table<3> {
        let mut table = Table::new([
            ("retained", Align::Right),
            ("share", Align::Right),
            (title, Align::Left),
        ]);
        for (retained, name) in rows.filter(|row| row.0 > 0) {
            table.row([
                bytes(retained),
                share(retained, self.reachable.shallow),
                name.clone(),
            ]);
        }
        table
    }
}

fn top_classes(source: &Source, rows: &[Row]) -> Vec<TopClass> {
    let names = ClassNames::new(&source.session);
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(rows[class as usize].retained));
    let top = order.into_iter().take(TOP);
    top.map(|class| {
        let row = rows[class as usize];
        TopClass {
            class: names.unambiguous(class),
            objects: row.objects,
            shallow: row.shallow,
            retained: row.retained,
        }
    })
    .collect()
}

/// The kinds of references that keep alive, and more, as `--keep` takes them.
fn keep(convention: Convention, more: &[&'static str]) -> String {
    let kinds = [
        ("soft", convention.soft),
        ("weak", convention.weak),
        ("phantom", convention.phantom),
        ("finalizer", convention.finalizer),
    ];
    let kept = kinds
        .iter()
        .filter(|(kind, kept)| *kept || more.contains(kind));
    kept.map(|&(kind, _)| kind).collect::<Vec<_>>().join(",")
}

/// How many unreachable objects are referents of reachable references of these strengths.
fn referents(state: &HeapState, analysis: &Analysis, strengths: &[Strength]) -> u64 {
    let columns = &state.columns;
    let references = columns.referrers_by_referent.iter();
    let referents: HashSet<ObjectId> = references
        .zip(columns.referents.iter())
        .filter(|&(&from, &to)| {
            let strength = state.class(from).reference;
            strength.is_some_and(|strength| strengths.contains(&strength))
                && analysis.dominators.is_reachable(from)
                && !analysis.dominators.is_reachable(to)
        })
        .map(|(_, &to)| to)
        .collect();
    referents.len() as u64
}

fn roots(source: &Source) -> Vec<Roots> {
    let mut counts = BTreeMap::new();
    for root in &source.session.state().tables.roots {
        *counts.entry((root.kind(), root.origin)).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|((kind, origin), roots)| Roots {
            kind,
            origin,
            roots,
        })
        .collect()
}

/// The words a person knows a kind of roots by.
fn kind_name(kind: RootKind) -> &'static str {
    match kind {
        RootKind::ClassLoader => "class loader",
        RootKind::StaticField => "static field",
        RootKind::Thread => "thread",
        RootKind::LocalVariable => "local variable",
        RootKind::CodeBlob => "code blob",
        RootKind::Jni => "JNI",
        RootKind::Jvmti => "JVMTI",
        RootKind::Monitor => "monitor",
        RootKind::Management => "management",
        RootKind::Other => "other",
    }
}
