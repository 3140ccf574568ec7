//! What changed between dumps of a program, or between two states of a recording.

mod evolution;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anthill_classify::Definitions;
use anthill_history::{Changed, Snapshot, changes, structures_by_name};
use anthill_leaks::{Thresholds, report};
use anthill_trace::is_trace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::{Leak, Suspect, suspects};
use crate::{Basis, Error, Heap, Limit, Question, Series, SeriesQuestion};
pub use evolution::{Amount, Evolved, Fates, Identity, Node, State};

/// Compare dumps, or two states of a recording
///
/// For dumps, give the earliest first. The command compares classes and packages by name, data
/// structures by how they are held, and suspects by what they keep alive and who holds them. These
/// names are the same in every run of the program. With more than two dumps, it marks everything
/// that grew from each dump to the next.
///
/// For a recording, choose the two states with --from and --to. The command shows how many objects
/// were born, died and survived, by any classifiers, and for which objects the recording can tell.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Diff {
    /// The earlier state of a recording, as for --at [default: where the heap begins to grow, or
    /// first]
    #[schemars(extend("x-value" = "POINT"))]
    pub from: Option<String>,
    /// The later state of a recording [default: last]
    #[schemars(extend("x-value" = "POINT"))]
    pub to: Option<String>,
    /// Compare by `class`, `package` or `structure` for dumps, by any list of classifiers for a
    /// recording [default: class]
    #[schemars(extend("x-value" = "STEPS"))]
    pub by: Option<String>,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// For a recording, take only objects whose class matches GLOB (`*`: any characters, `?`: one
    /// character)
    #[schemars(extend("x-value" = "GLOB"))]
    pub class: Option<String>,
    /// For a recording, include unreachable objects
    #[serde(default)]
    pub unreachable: bool,
    /// Show at most N rows; 0 for all
    #[schemars(extend("x-default-in-words" = "30; for a recording, 20 below each node"))]
    pub limit: Option<Limit>,
    /// Hide rows that are the same in all dumps
    #[serde(default)]
    #[schemars(extend("x-hidden" = true, "x-default-for-people" = true))]
    pub changed: bool,
}

/// The comparison of dumps, or of two states of a recording.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
#[schemars(rename = "DiffAnswer")]
pub enum Answer {
    /// Dumps were compared.
    Dumps(Difference),
    /// Two states of a recording were compared.
    Recording(Evolved),
}

/// The comparison of dumps. Only reachable objects count.
#[derive(Serialize, JsonSchema)]
pub struct Difference {
    /// What a row stands for: `class`, `package` or `structure`.
    pub by: &'static str,
    /// The compared dumps, in the order in which they were given.
    pub files: Vec<String>,
    /// The reachable heap of each dump, in the order of `files`.
    pub totals: Vec<Figures>,
    /// The leak suspects of all dumps: new ones first, then those that grew, by how much, then the others.
    pub suspects: Vec<SuspectChange>,
    /// The classes, packages or data structures, largest change of the retained size first.
    pub rows: Vec<Line>,
    /// The number of rows that `--limit` left out.
    pub omitted: usize,
}

impl Difference {
    /// How many suspects the last dump has that the first has not.
    pub fn new_suspects(&self) -> usize {
        let is_new = |suspect: &&SuspectChange| suspect.change == Change::New;
        self.suspects.iter().filter(is_new).count()
    }
}

/// A leak suspect over all dumps.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffSuspectChange")]
pub struct SuspectChange {
    /// How the suspect changed from the first file to the last.
    pub change: Change,
    /// An identifier that is the same for the same leak in every run.
    pub fingerprint: String,
    /// The suspicion in one sentence.
    pub sentence: String,
    /// Retained size in bytes, one number for each file, also where it retains too little to be a suspect;
    /// null if Anthill does not find it there.
    pub retained: Vec<Option<u64>>,
}

impl SuspectChange {
    /// Bytes that it retains more in the last file than in the first.
    fn growth(&self) -> u64 {
        let at = |retained: Option<&Option<u64>>| retained.copied().flatten().unwrap_or(0);
        at(self.retained.last()).saturating_sub(at(self.retained.first()))
    }
}

/// A class, a package or a data structure.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffLine")]
pub struct Line {
    /// The class or package, or how the data structure is held.
    pub name: String,
    /// How the row changed from the first file to the last.
    pub change: Change,
    /// Whether the retained size is larger in every file than in the one before.
    pub grows_throughout: bool,
    /// The figures, one entry for each file; null where the file has nothing of the kind.
    pub figures: Vec<Option<Figures>>,
    /// The change of the number of objects from the first file to the last.
    pub objects_change: i64,
    /// The change of the shallow size from the first file to the last, in bytes.
    pub shallow_change: i64,
    /// The change of the retained size from the first file to the last, in bytes.
    pub retained_change: i64,
}

/// Reachable objects with their shallow and retained sizes.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
#[schemars(rename = "DiffFigures")]
pub struct Figures {
    /// The number of reachable objects; for a data structure, the number of its elements.
    pub objects: u64,
    /// Shallow size of these objects in bytes; for a data structure, the bytes of head and internals.
    pub shallow: u64,
    /// Retained size in bytes.
    pub retained: u64,
}

impl From<anthill_history::Figures> for Figures {
    fn from(figures: anthill_history::Figures) -> Self {
        Figures {
            objects: figures.objects,
            shallow: figures.shallow,
            retained: figures.retained,
        }
    }
}

/// A change from the first file to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DiffChange")]
pub enum Change {
    /// It is in the last file but not in the first.
    New,
    /// It is in the first file but not in the last. A suspect that only retains too little to be one in
    /// the last file is not gone.
    Gone,
    /// It retains more in the last file than in the first.
    Grown,
    /// It retains less in the last file than in the first.
    Shrunk,
    /// It retains the same in the first and in the last file.
    Same,
    /// It is neither in the first nor in the last file, but in between.
    Passed,
}

impl From<anthill_history::Change> for Change {
    fn from(change: anthill_history::Change) -> Self {
        match change {
            anthill_history::Change::New => Change::New,
            anthill_history::Change::Gone => Change::Gone,
            anthill_history::Change::Grown => Change::Grown,
            anthill_history::Change::Shrunk => Change::Shrunk,
            anthill_history::Change::Same => Change::Same,
            anthill_history::Change::Passed => Change::Passed,
        }
    }
}

impl Question for Diff {
    const NAME: &'static str = "diff";
    type Answer = Answer;
}

impl SeriesQuestion for Diff {
    fn answer(&self, series: &dyn Series) -> Result<(Answer, Basis), Error> {
        let files = series.files();
        let file = files[0].display();
        if is_trace(&files[0]) {
            return match files {
                [_] if series.at().is_none() => self.evolved(series),
                _ => Err(Error::unusable(
                    format!("{file}: a recording cannot be compared with another file"),
                    "Choose two states of it with --from and --to.",
                )),
            };
        }
        if files.len() == 1 {
            return Err(Error::unusable(
                format!("{file}: a comparison needs two heap dumps"),
                "Add a later dump of the same program.",
            ));
        }
        if self.is_for_recordings(series.definitions()) {
            return Err(Error::unusable(
                "--from, --to, --class, --unreachable and --define work only on recordings",
                "Omit them to compare dumps.",
            ));
        }
        self.difference(series)
    }
}

/// What dumps are compared by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Class,
    Package,
    Structure,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Class => "class",
            By::Package => "package",
            By::Structure => "structure",
        }
    }
}

/// What is remembered of a dump after it was closed.
struct Dump {
    name: String,
    snapshot: Snapshot,
    /// Only if they are asked for.
    structures: BTreeMap<String, anthill_history::Figures>,
    suspects: Vec<Suspect>,
    /// What retains too little to be a suspect, but may be one in another dump.
    minor: Vec<Suspect>,
}

/// What may have been the beginning of a suspect.
const MINOR: Thresholds = Thresholds {
    object: 0.25,
    class: 0.5,
    most: 100,
    ..Thresholds::USUAL
};

impl Dump {
    fn new(heap: &Heap, by: By) -> Result<Self, Error> {
        let session = &heap.session;
        let usual = report(session, &Thresholds::USUAL)?;
        let minor = report(session, &MINOR)?;
        Ok(Dump {
            name: heap.file.clone(),
            snapshot: Snapshot::of(session)?,
            structures: match by {
                By::Structure => structures_by_name(session)?,
                By::Class | By::Package => BTreeMap::new(),
            },
            suspects: suspects(heap, &usual)?,
            minor: suspects(heap, &minor)?,
        })
    }
}

impl Diff {
    fn is_for_recordings(&self, definitions: &Definitions) -> bool {
        self.from.is_some()
            || self.to.is_some()
            || self.class.is_some()
            || self.unreachable
            || !self.definitions.is_empty()
            || definitions.all().len() > Definitions::default().all().len()
    }

    /// How the rows of a comparison of dumps are made.
    fn by(&self) -> Result<By, Error> {
        match self.by.as_deref() {
            None | Some("class") => Ok(By::Class),
            Some("package") => Ok(By::Package),
            Some("structure") => Ok(By::Structure),
            Some(other) => Err(Error::unusable(
                format!(
                    "--by: dumps can be compared by `class`, `package` or `structure`, not by `{other}`"
                ),
                "Only states of a recording can be compared by classifiers.",
            )),
        }
    }

    fn difference(&self, series: &dyn Series) -> Result<(Answer, Basis), Error> {
        let by = self.by()?;
        let first = series.open(0, series.at())?;
        let mut dumps = vec![Dump::new(&first, by)?];
        for file in 1..series.files().len() {
            let heap = series.open(file, series.at())?;
            dumps.push(Dump::new(&heap, by)?);
        }
        let of: Vec<_> = dumps
            .iter()
            .map(|dump| match by {
                By::Class => &dump.snapshot.classes,
                By::Package => &dump.snapshot.packages,
                By::Structure => &dump.structures,
            })
            .collect();
        let mut rows: Vec<Line> = changes(&of).into_iter().map(Line::new).collect();
        if self.changed {
            rows.retain(|line| line.change != Change::Same || line.objects_change != 0);
        }
        let shown = self.limit.unwrap_or_default().most().min(rows.len());
        let omitted = rows.len() - shown;
        rows.truncate(shown);
        let difference = Difference {
            by: by.name(),
            files: dumps.iter().map(|dump| dump.name.clone()).collect(),
            totals: dumps
                .iter()
                .map(|dump| dump.snapshot.total.into())
                .collect(),
            suspects: suspect_changes(&dumps),
            rows,
            omitted,
        };
        Ok((Answer::Dumps(difference), Basis::Heap(first)))
    }
}

impl Line {
    fn new(changed: Changed) -> Self {
        let (first, last) = (changed.first(), changed.last());
        let by = |last: u64, first: u64| last as i64 - first as i64;
        let figures = changed.figures.iter();
        Line {
            change: changed.change().into(),
            grows_throughout: changed.grows_throughout(),
            objects_change: by(last.objects, first.objects),
            shallow_change: by(last.shallow, first.shallow),
            retained_change: by(last.retained, first.retained),
            figures: figures.map(|of| of.map(Figures::from)).collect(),
            name: changed.name,
        }
    }
}

/// The suspects of all dumps by leak: new ones, then those that grew, most first, then the others as they come, the latest first.
fn suspect_changes(dumps: &[Dump]) -> Vec<SuspectChange> {
    let mut found: Vec<(Vec<Leak>, SuspectChange)> = Vec::new();
    for (index, dump) in dumps.iter().enumerate().rev() {
        for suspect in &dump.suspects {
            let leak = Leak::from(suspect);
            let is_same =
                |(leaks, _): &(Vec<Leak>, SuspectChange)| leaks.iter().any(|known| known.is(&leak));
            let place = found.iter().position(is_same).unwrap_or_else(|| {
                let change = SuspectChange {
                    change: Change::Same,
                    fingerprint: suspect.fingerprint.clone(),
                    sentence: suspect.sentence.clone(),
                    retained: vec![None; dumps.len()],
                };
                found.push((Vec::new(), change));
                found.len() - 1
            });
            let (leaks, change) = &mut found[place];
            leaks.push(leak);
            *change.retained[index].get_or_insert(0) += suspect.retained;
        }
    }
    for (leaks, change) in &mut found {
        change.change = anthill_history::Change::over(&change.retained).into();
        // What it had before it was a suspect.
        let unknown = change.retained.iter_mut().zip(dumps);
        for (retained, dump) in unknown.filter(|(retained, _)| retained.is_none()) {
            let is_it = |minor: &&Suspect| {
                let minor = Leak::from(*minor);
                leaks.iter().any(|leak| leak.is(&minor))
            };
            let same = dump.minor.iter().filter(is_it);
            *retained = same
                .map(|minor| minor.retained)
                .reduce(|sum, one| sum + one);
        }
        // Too small for a suspect is not gone.
        if change.change == Change::Gone && change.retained.last().is_some_and(Option::is_some) {
            change.change = anthill_history::Change::over(&change.retained).into();
        }
    }
    let mut changes: Vec<SuspectChange> = found.into_iter().map(|(_, change)| change).collect();
    changes.sort_by_key(|change| match change.change {
        Change::New => (0, Reverse(change.growth())),
        Change::Grown => (1, Reverse(change.growth())),
        _ => (2, Reverse(0)),
    });
    changes
}
