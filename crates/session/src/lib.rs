//! A session opens a source and computes each analysis at most once, keeping what it computed
//! in an index so that the next opening only maps it. Every face talks to a session.
//!
//! Knows how analyses fit together, but neither how they work nor how results are shown.

mod analysis;
mod cache;
mod checks;
mod classification;
mod diff;
mod dominator_tree;
mod error;
mod evolution;
mod fingerprint;
mod groups;
mod growth;
mod history;
mod identities;
mod labels;
mod layers;
mod merged_paths;
mod newcomers;
mod object_paths;
mod owner_paths;
mod owners;
mod path_graph;
mod patterns;
mod recording;
mod referrers;
mod report;
mod strings;
mod structures;
mod suspects;
mod threads;
mod waste;
mod ways;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anthill_classify::Members;
use anthill_graph::{Convention, Graph, NodeId, Paths};
use anthill_heap::{HeapState, Progress, Shared, Sizes};
use anthill_hprof::index::{Identity, Index, IndexWriter};
use anthill_hprof::{Dump, DumpInfo, Records, mat_sizes};
use anthill_structures::{Definitions, Structures};
use anthill_trace::Point;
use rustc_hash::FxHashMap;

use self::dominator_tree::Dominated;

pub use analysis::{Analysis, Grouping, Groups, Row, package_group};
pub use cache::IndexFolder;
pub use checks::{ProgramCheck, ProgramChecked, RuleChecked, check_rule_groups, growth_violation};
pub use diff::{Change, Changed, Figures, Snapshot, changes, stable_name};
pub use dominator_tree::{Member, TreeItem, TreeOptions};
pub use error::Error;
pub use evolution::{Evolution, EvolvedNode, evolution};
pub use groups::{Closures, GroupMetrics, KeptGroup, check_defined_groups, check_group, no_node};
pub use growth::{JointGrowth, is_identity};
pub use history::{DumpMoment, HeapMoment, History, LeakWindow, StructureHistory, TypeHistory};
pub use labels::{Label, edge_kind, frame_name, primitive, quoted};
pub use layers::{Layer, Layers, Measure, spread};
pub use merged_paths::{Branch, BranchClass, MergedPaths, RootsByObject};
pub use newcomers::{Newcomers, NewcomersOfKind, Window};
pub use object_paths::ObjectPaths;
pub use owners::OwnerFront;
pub use path_graph::{PathEdge, PathGraph, PathNode};
pub use patterns::{Pattern, PatternKind};
pub use recording::Recording;
pub use referrers::Referrer;
pub use report::{Content, Report, ReportedSuspect};
pub use structures::StructurePlace;
pub use threads::{Kept, Local, ThreadStack};
pub use ways::{PATH_ENDS, PathStep, Way};

/// Objects from which a heap is mapped instead of held in memory.
const LARGE: u32 = 1 << 20;

pub struct Options {
    /// Which dump of the file, from 1; by default the last.
    pub dump: Option<usize>,
    /// Which state of a recording; by default the last.
    pub at: Option<Point>,
    pub convention: Convention,
    pub index: IndexFolder,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dump: None,
            at: None,
            convention: Convention::DEFAULT,
            index: IndexFolder::Cache,
        }
    }
}

/// A source that is open. Those who ask at the same time each have their own, which reports to them; all
/// share what was computed.
pub struct Session {
    open: Arc<Open>,
    found: Arc<Found>,
    progress: Arc<dyn Progress + Send>,
}

/// A heap state, and what was computed about it.
struct Open {
    path: PathBuf,
    dump: Dump,
    recording: Option<Recording>,
    convention: Convention,
    /// Sizes under another convention than the JVM's own.
    other_sizes: Option<Sizes>,
    index: Option<Place>,
    notes: Vec<String>,
    from_index: bool,
    analysis: Shared<Analysis>,
    dominated: Shared<Dominated>,
    paths: Shared<Paths>,
    /// By address: the class and the number of the first static field that refers to the object.
    static_fields: OnceLock<FxHashMap<u64, (usize, usize)>>,
}

/// The data structures of a heap state.
struct Found {
    /// Which there are to be found.
    definitions: Definitions,
    structures: Shared<Structures>,
    members: Shared<Members>,
}

impl Found {
    fn by(definitions: Definitions) -> Arc<Self> {
        Arc::new(Found {
            definitions,
            structures: Shared::default(),
            members: Shared::default(),
        })
    }
}

/// Where the index of this dump is, and what it is the index of.
struct Place {
    folder: PathBuf,
    identity: Identity,
}

impl Place {
    fn find(&self, what: &str) -> Option<Index> {
        Index::open(&self.folder.join(what), self.identity.with(what))
    }

    fn keep(
        &self,
        what: &str,
        write: impl FnOnce(&mut IndexWriter) -> std::io::Result<()>,
    ) -> Result<(), String> {
        let path = self.folder.join(what);
        let kept = IndexWriter::new(&path, self.identity.with(what)).and_then(|mut writer| {
            write(&mut writer)?;
            writer.finish(&path)
        });
        kept.map_err(|error| {
            format!(
                "the index could not be kept in {}: {error}",
                self.folder.display()
            )
        })
    }
}

impl Place {
    /// Keeps a dump that was read and goes on with it mapped: what is in the index need not be
    /// in memory. If that fails, the reason comes with the dump as it is.
    fn keep_heap(&self, dump: Dump) -> (Dump, Option<String>) {
        let note = self.keep("heap", |writer| dump.save(writer)).err();
        match self.find("heap").filter(|_| note.is_none()) {
            Some(index) => (dump.mapped(&index), None),
            None => (dump, note),
        }
    }
}

/// A large heap is mapped even if no index is to be kept; the file is gone as soon as nobody
/// maps it any more.
fn map_temporarily(dump: Dump) -> Dump {
    match (dump.state.len() >= LARGE).then(tempfile::tempdir) {
        Some(Ok(folder)) => {
            let place = Place {
                folder: folder.path().to_owned(),
                identity: Identity(0),
            };
            place.keep_heap(dump).0
        }
        _ => dump,
    }
}

/// A source that is being opened.
struct Opening<'a> {
    path: &'a Path,
    progress: &'a dyn Progress,
}

struct Opened {
    dump: Dump,
    index: Option<Place>,
    notes: Vec<String>,
    from_index: bool,
}

impl Opening<'_> {
    fn dump(&self, options: &Options) -> Result<Opened, Error> {
        if options.at.is_some() {
            return Err(Error::Point(format!(
                "{}: this is a heap dump, which has no points in time to choose from",
                self.path.display()
            )));
        }
        let identity = Identity::of(self.path)
            .ok()
            .map(|identity| identity.with(&format!("{:?}", options.dump)));
        let folder = options.index.for_dump(self.path);
        let folder = folder.map(|folder| match options.dump {
            Some(number) => folder.join(format!("dump-{number}")),
            None => folder,
        });
        let index = folder
            .zip(identity)
            .map(|(folder, identity)| Place { folder, identity });
        self.with_index(index, || {
            Ok(Dump::open(self.path, options.dump, self.progress)?)
        })
    }

    fn state(&self, recording: &Recording, index: &IndexFolder) -> Result<Opened, Error> {
        let folder = index.for_dump(self.path);
        let index = folder.map(|folder| Place {
            folder: folder.join(format!("state-{}", recording.state().number)),
            identity: recording.identity(),
        });
        self.with_index(index, || {
            self.progress.stage("unpacking the heap", 0);
            recording.load()
        })
    }

    /// Maps what is in the index, or reads the source and keeps it there.
    fn with_index(
        &self,
        index: Option<Place>,
        read: impl FnOnce() -> Result<Dump, Error>,
    ) -> Result<Opened, Error> {
        let restored = index
            .as_ref()
            .and_then(|place| Dump::restore(self.path, &place.find("heap")?));
        let from_index = restored.is_some();
        let mut notes = Vec::new();
        let dump = match restored {
            Some(dump) => dump,
            None => {
                let dump = read()?;
                self.progress.stage("mapping the heap", 0);
                match &index {
                    Some(place) => {
                        let (dump, note) = place.keep_heap(dump);
                        notes.extend(note);
                        dump
                    }
                    None => map_temporarily(dump),
                }
            }
        };
        Ok(Opened {
            dump,
            index,
            notes,
            from_index,
        })
    }
}

impl Session {
    pub fn open(
        path: &Path,
        options: Options,
        progress: Box<dyn Progress + Send>,
    ) -> Result<Self, Error> {
        let opening = Opening {
            path,
            progress: &*progress,
        };
        let (opened, recording) = if anthill_trace::is_trace(path) {
            let recording = Recording::open(path, &options)?;
            (opening.state(&recording, &options.index)?, Some(recording))
        } else {
            (opening.dump(&options)?, None)
        };
        let Opened {
            mut dump,
            index,
            notes,
            from_index,
        } = opened;
        options.index.opened(path, !from_index);
        if let Some(recording) = &recording {
            // Not in the index: the file may have grown since.
            let damage = recording.trace().damage().iter().cloned();
            dump.state.tables.missing.splice(0..0, damage);
        }
        let sizes = dump.state.tables.sizes.as_ref();
        let other_sizes = options.convention.mat.then(|| {
            let (reference, alignment) = sizes.map_or((4, 8), |sizes| {
                (sizes.arrays.reference_size, sizes.arrays.alignment)
            });
            mat_sizes(
                dump.state.classes(),
                dump.info.id_size.into(),
                reference,
                alignment,
            )
        });
        let open = Open {
            path: path.to_owned(),
            dump,
            recording,
            convention: options.convention,
            other_sizes,
            index,
            notes,
            from_index,
            analysis: Shared::default(),
            dominated: Shared::default(),
            paths: Shared::default(),
            static_fields: OnceLock::new(),
        };
        Ok(Session {
            open: Arc::new(open),
            found: Found::by(Definitions::shipped()),
            progress: Arc::from(progress),
        })
    }

    /// Looks for these data structures instead of the shipped ones.
    pub fn with_definitions(self, definitions: Definitions) -> Self {
        Session {
            found: Found::by(definitions),
            ..self
        }
    }

    /// The same for somebody else, who can follow and cancel what is done for them.
    pub fn reporting_to(&self, progress: Arc<dyn Progress + Send>) -> Self {
        Session {
            open: self.open.clone(),
            found: self.found.clone(),
            progress,
        }
    }

    pub fn path(&self) -> &Path {
        &self.open.path
    }

    pub fn state(&self) -> &HeapState {
        &self.open.dump.state
    }

    /// The recording that the heap state is from, if it is from one.
    pub fn recording(&self) -> Option<&Recording> {
        self.open.recording.as_ref()
    }

    /// Values in the file.
    pub fn records(&self) -> &Records {
        &self.open.dump.records
    }

    pub fn info(&self) -> &DumpInfo {
        &self.open.dump.info
    }

    pub fn convention(&self) -> Convention {
        self.open.convention
    }

    pub fn progress(&self) -> &dyn Progress {
        &*self.progress
    }

    /// What the user should know about the opening itself.
    pub fn notes(&self) -> &[String] {
        &self.open.notes
    }

    /// Whether the dump was read before and only its index was mapped.
    pub fn from_index(&self) -> bool {
        self.open.from_index
    }

    /// Where the index of this dump is or will be kept, if there is to be one.
    pub fn index_folder(&self) -> Option<&Path> {
        self.open.index.as_ref().map(|place| place.folder.as_path())
    }

    /// How bytes are counted under the session's convention.
    pub fn sizes(&self) -> &Sizes {
        static NONE: OnceLock<Sizes> = OnceLock::new();
        let own = self.open.dump.state.tables.sizes.as_ref();
        self.open
            .other_sizes
            .as_ref()
            .or(own)
            .unwrap_or_else(|| NONE.get_or_init(|| mat_sizes(&[], 8, 4, 8)))
    }

    pub fn graph(&self) -> Graph<'_> {
        Graph::new(&self.open.dump.state, self.sizes(), self.open.convention)
    }

    /// Dominators, retained sizes and totals of classes, packages and loaders.
    pub fn analysis(&self) -> Result<&Analysis, Error> {
        let make = || {
            let name = format!("analysis-{}", convention_name(self.open.convention));
            let kept = self.kept(&name);
            match kept.and_then(|index| Analysis::restore(self.state(), &index)) {
                Some(analysis) => Ok(analysis),
                None => {
                    let analysis = Analysis::new(&self.graph(), self.progress())?;
                    self.keep(&name, |writer| analysis.save(writer));
                    Ok(analysis)
                }
            }
        };
        self.open.analysis.get_or_make(self.progress(), make)
    }

    /// What is in the index under a name.
    fn kept(&self, name: &str) -> Option<Index> {
        self.open.index.as_ref()?.find(name)
    }

    /// Keeps something in the index, if the heap could be kept. Then it is a full disk at worst if this
    /// cannot: the next opening computes it again.
    fn keep(&self, name: &str, write: impl FnOnce(&mut IndexWriter) -> std::io::Result<()>) {
        if let Some(place) = self.open.index.as_ref().filter(|_| self.notes().is_empty()) {
            self.progress().stage("keeping the index", 0);
            let _ = place.keep(name, write);
        }
    }

    /// A shortest path from the roots to every reachable object.
    pub(crate) fn paths(&self) -> Result<&Paths, Error> {
        let make = || Ok(Paths::search(&self.graph(), &[], self.progress())?);
        self.open.paths.get_or_make(self.progress(), make)
    }

    /// The address of a node: 0 for the stand-in of the boot loader.
    pub fn address(&self, node: NodeId) -> u64 {
        if node < self.open.dump.state.len() {
            self.open.dump.state.addresses.address(node)
        } else {
            0
        }
    }
}

fn convention_name(convention: Convention) -> String {
    let Convention {
        soft,
        weak,
        phantom,
        finalizer,
        mat,
    } = convention;
    if mat {
        return "mat".to_owned();
    }
    let kinds = [
        (soft, "soft"),
        (weak, "weak"),
        (phantom, "phantom"),
        (finalizer, "finalizer"),
    ];
    let kept: Vec<&str> = kinds
        .iter()
        .filter(|kind| kind.0)
        .map(|kind| kind.1)
        .collect();
    ["strong"]
        .into_iter()
        .chain(kept)
        .collect::<Vec<_>>()
        .join("-")
}
