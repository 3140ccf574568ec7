//! A session opens a source, computes each thing that many analyses need at most once, and keeps it in an
//! index so that the next opening only maps it: dominators, sizes, data structures, shortest paths.
//!
//! Hands out the heap, the names of its objects and groups of them. The analyses in other crates take a
//! session and decide; none of them is known here.

#![warn(missing_docs)]

mod analysis;
mod cache;
mod classification;
mod dominated;
mod error;
mod fillers;
mod followed;
mod groups;
mod labels;
mod loaders;
mod notes;
mod ownership;
mod platform;
mod recording;
mod referrers;
mod strings;
mod structures;
mod system_properties;
mod thread_locals;
mod threads;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anthill_graph::{Borrowed, Convention, Dominators, Graph, NodeId, Paths};
use anthill_heap::{HeapState, ObjectId, Progress, SharedOnce, Sizes};
use anthill_hprof::{Dump, DumpInfo, Records, input, mat_sizes};
use anthill_index::{Identity, Index, IndexWriter, Key};
use anthill_structures::{Definitions, Members, Structures};
use anthill_trace::Point;
use rustc_hash::FxHashMap;

pub use analysis::{Analysis, Grouping, Groups, Row, package_group};
pub use cache::IndexFolder;
pub use dominated::Dominated;
pub use error::Error;
pub use followed::{followed_structures, reachable};
pub use groups::{Closures, GroupMetrics, KeptGroup, check_defined_groups, check_group, no_node};
pub use labels::{Label, edge_kind, frame_name, primitive, quoted, stable_name};
pub use loaders::LoaderFacts;
pub use platform::is_platform_name;
pub use recording::Recording;
pub use referrers::Referrer;
pub use threads::{Local, ThreadStack};

/// Objects from which a heap is mapped instead of held in memory.
const LARGE: u32 = 1 << 20;

/// How a source is opened.
pub struct Options {
    /// Which dump of the file, from 1; by default the last.
    pub dump: Option<usize>,
    /// Which state of a recording; by default the last.
    pub at: Option<Point>,
    /// What keeps alive.
    pub convention: Convention,
    /// Where the index is kept.
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
    found: Arc<StructureCache>,
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
    index: Option<IndexLocation>,
    notes: Vec<String>,
    from_index: bool,
    analysis: SharedOnce<Analysis>,
    dominated: SharedOnce<Dominated>,
    paths: SharedOnce<Paths>,
    borrowed: SharedOnce<Borrowed>,
    owner_dominators: SharedOnce<Dominators>,
    owner_dominated: SharedOnce<Dominated>,
    paths_from_owners: SharedOnce<Paths>,
    /// By `ThreadLocal`: the field that holds it.
    thread_local_fields: OnceLock<FxHashMap<ObjectId, String>>,
}

/// The data structures of a heap state.
struct StructureCache {
    /// Which there are to be found.
    definitions: Arc<Definitions>,
    structures: SharedOnce<Structures>,
    members: SharedOnce<Members>,
}

impl StructureCache {
    fn by(definitions: Arc<Definitions>) -> Arc<Self> {
        Arc::new(StructureCache {
            definitions,
            structures: SharedOnce::default(),
            members: SharedOnce::default(),
        })
    }
}

/// The shipped definitions, read once: whoever looks at many states of a recording opens many sessions.
fn shipped_definitions() -> Arc<Definitions> {
    static SHIPPED: OnceLock<Arc<Definitions>> = OnceLock::new();
    let shipped = SHIPPED.get_or_init(|| Arc::new(Definitions::shipped()));
    shipped.clone()
}

/// Where the index of this dump is, and what it is the index of.
struct IndexLocation {
    folder: PathBuf,
    identity: Identity,
    /// Or why there is none: then nothing is found and nothing can be kept.
    key: std::io::Result<Key>,
}

impl IndexLocation {
    fn find(&self, what: &str) -> Option<Index> {
        let key = self.key.as_ref().ok()?;
        Index::open(&self.folder.join(what), self.identity.with(what), key)
    }

    fn keep(
        &self,
        what: &str,
        write: impl FnOnce(&mut IndexWriter) -> std::io::Result<()>,
    ) -> Result<(), String> {
        let path = self.folder.join(what);
        let failed = |error: &std::io::Error| {
            let folder = self.folder.display();
            format!("cannot write the index to {folder}: {error}")
        };
        let key = self.key.as_ref().map_err(failed)?;
        let kept = IndexWriter::new(&path, self.identity.with(what), key).and_then(|mut writer| {
            write(&mut writer)?;
            writer.finish(&path)
        });
        kept.map_err(|error| failed(&error))
    }
}

impl IndexLocation {
    /// Keeps a dump that was read and goes on with it mapped: what is in the index need not be
    /// in memory. If that fails, the reason comes with the dump as it is.
    fn keep_heap(&self, dump: Dump) -> (Dump, Option<String>) {
        let note = self
            .keep("heap", |writer| anthill_index::save(&dump, writer))
            .err();
        match self.find("heap").filter(|_| note.is_none()) {
            Some(index) => (anthill_index::mapped(dump, &index), None),
            None => (dump, note),
        }
    }
}

/// A large heap is mapped even if no index is to be kept; the file is gone as soon as nobody
/// maps it any more.
fn map_temporarily(dump: Dump) -> Dump {
    match (dump.state.len() >= LARGE).then(tempfile::tempdir) {
        Some(Ok(folder)) => {
            let place = IndexLocation {
                folder: folder.path().to_owned(),
                identity: Identity(0),
                key: Key::random(),
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
    index: Option<IndexLocation>,
    notes: Vec<String>,
    from_index: bool,
}

impl Opening<'_> {
    fn dump(&self, options: &Options) -> Result<Opened, Error> {
        if options.at.is_some() {
            return Err(Error::Point(format!(
                "{}: is a heap dump; only recordings have points in time to choose from",
                self.path.display()
            )));
        }
        let folder = options.index.for_dump(self.path);
        let identity = folder.as_ref().and_then(|_| {
            let identity = Identity::of(self.path).ok()?;
            Some(identity.with(&format!("{:?}", options.dump)))
        });
        let folder = folder.map(|folder| match options.dump {
            Some(number) => folder.join(format!("dump-{number}")),
            None => folder,
        });
        let index = folder
            .zip(identity)
            .map(|(folder, identity)| IndexLocation {
                folder,
                identity,
                key: options.index.key(),
            });
        self.with_index(index, || {
            Ok(Dump::open(self.path, options.dump, self.progress)?)
        })
    }

    fn state(&self, recording: &Recording, index: &IndexFolder) -> Result<Opened, Error> {
        let folder = index.for_dump(self.path);
        let index = folder.map(|folder| IndexLocation {
            folder: folder.join(format!("state-{}", recording.state().number)),
            identity: recording.identity(),
            key: index.key(),
        });
        self.with_index(index, || {
            self.progress.stage("decompressing the heap", 0);
            recording.load()
        })
    }

    /// Maps what is in the index, or reads the source and keeps it there.
    fn with_index(
        &self,
        index: Option<IndexLocation>,
        read: impl FnOnce() -> Result<Dump, Error>,
    ) -> Result<Opened, Error> {
        let restored = index
            .as_ref()
            .and_then(|place| anthill_index::restore(self.path, &place.find("heap")?));
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
    /// Opens a dump or a state of a recording, from its index if there is one.
    pub fn open(
        path: &Path,
        options: Options,
        progress: Box<dyn Progress + Send>,
    ) -> Result<Self, Error> {
        let opening = Opening {
            path,
            progress: &*progress,
        };
        input::settle(path, &*progress)?;
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
            analysis: SharedOnce::default(),
            dominated: SharedOnce::default(),
            paths: SharedOnce::default(),
            borrowed: SharedOnce::default(),
            owner_dominators: SharedOnce::default(),
            owner_dominated: SharedOnce::default(),
            paths_from_owners: SharedOnce::default(),
            thread_local_fields: OnceLock::new(),
        };
        Ok(Session {
            open: Arc::new(open),
            found: StructureCache::by(shipped_definitions()),
            progress: Arc::from(progress),
        })
    }

    /// Looks for these data structures instead of the shipped ones.
    pub fn with_definitions(self, definitions: Definitions) -> Self {
        Session {
            found: StructureCache::by(Arc::new(definitions)),
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

    /// The source.
    pub fn path(&self) -> &Path {
        &self.open.path
    }

    /// How long the file is that was opened; nothing if it is a pipe.
    pub fn file_bytes(&self) -> Option<u64> {
        let facts = self.path().metadata().ok();
        facts
            .filter(|facts| facts.is_file())
            .map(|facts| facts.len())
    }

    /// The heap itself.
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

    /// What the source says about itself.
    pub fn info(&self) -> &DumpInfo {
        &self.open.dump.info
    }

    /// What keeps alive.
    pub fn convention(&self) -> Convention {
        self.open.convention
    }

    /// Who watches.
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

    /// The heap as nodes and edges.
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
            self.progress().stage("writing the index", 0);
            let _ = place.keep(name, write);
        }
    }

    /// A shortest path from the roots to every reachable object.
    pub fn shortest_paths(&self) -> Result<&Paths, Error> {
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
