//! The heap dump a command works on: the options all of these commands share, how their numbers
//! are read, and the session they open.

use std::cell::RefCell;
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anthill_api::{Error, Heap, HeapOptions, Series};
use anthill_graph::Convention;
use anthill_heap::{Missing, MissingKind, Progress};
use anthill_history::Layers;
use anthill_session::{IndexFolder, Session};
use anthill_structures::Definitions;
use anthill_trace::Point;
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, Error as ClapError, FromArgMatches};

use crate::asked::{Asked, arguments};
use crate::failure::say;
use crate::output::units::count;
use crate::output::{Out, shell};
use crate::progress::Bar;
use crate::structures;

#[derive(Args)]
pub struct SourceArguments {
    /// Heap dump (HPROF, plain or compressed with gzip or zstd) or recording; - for standard input
    #[arg(value_parser = heap_file())]
    pub file: PathBuf,
    #[command(flatten)]
    pub heap: HeapArguments,
    /// Keep the index in DIR instead of the user's cache directory
    #[arg(long, value_name = "DIR", conflicts_with = "no_index", help_heading = HEADING)]
    pub index: Option<PathBuf>,
    /// Neither read nor write an index
    #[arg(long, help_heading = HEADING)]
    pub no_index: bool,
    /// Read descriptions of data structures from FILE, in addition to `anthill.structures` in the
    /// working directory; can be repeated; see docs/structures.md
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub structures: Vec<PathBuf>,
    /// What these files say; they are read once, since one may be a pipe.
    #[arg(skip)]
    definitions: OnceLock<Definitions>,
    /// Print JSON; see docs/output.md
    #[arg(long, help_heading = HEADING)]
    pub json: bool,
    /// Show no progress bar
    #[arg(long, help_heading = HEADING)]
    pub no_progress: bool,
}

/// The name of a heap dump or a recording.
pub fn heap_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| {
        if path.as_os_str() == "-" {
            PathBuf::from("/dev/stdin")
        } else {
            path
        }
    })
}

/// A part of something, in percent.
pub fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "it must be a number from 0 to 100".to_owned())
}

/// How many of something are shown.
pub fn limit(text: &str) -> Result<usize, String> {
    let limit = text.parse().ok();
    limit.ok_or_else(|| "it must be a whole number; 0 shows all".to_owned())
}

pub const HEADING: &str = "Options of all commands on dumps";

/// Which heap is meant, and how its numbers are read.
pub struct HeapArguments(Asked<HeapOptions>);

impl FromArgMatches for HeapArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, ClapError> {
        Asked::from_arg_matches(matches).map(HeapArguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), ClapError> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for HeapArguments {
    fn augment_args(command: Command) -> Command {
        arguments::<HeapOptions>()
            .map(|argument| argument.help_heading(HEADING))
            .fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        HeapArguments::augment_args(command)
    }
}

impl HeapArguments {
    pub fn options(&self) -> Result<HeapOptions, Error> {
        self.0.read()
    }
}

impl SourceArguments {
    fn index_folder(&self) -> IndexFolder {
        match &self.index {
            _ if self.no_index => IndexFolder::None,
            Some(folder) => IndexFolder::Folder(folder.clone()),
            None => IndexFolder::Cache,
        }
    }

    fn definitions(&self) -> Result<Definitions, Error> {
        if let Some(known) = self.definitions.get() {
            return Ok(known.clone());
        }
        let definitions = structures::definitions(&self.structures)?;
        Ok(self.definitions.get_or_init(|| definitions).clone())
    }

    /// Opens the dump and says on standard error what the user should know about that.
    pub fn open(&self) -> Result<Source, Error> {
        let heap = self.heap.options()?;
        self.open_at(&self.file, &heap, heap.point())
    }

    /// Opens a dump, or a state of a recording.
    fn open_at(&self, file: &Path, heap: &HeapOptions, at: Option<Point>) -> Result<Source, Error> {
        let options = heap.open_at(at, self.index_folder())?;
        let definitions = self.definitions()?;
        let bar = Bar::new(!self.no_progress);
        let heap = Heap::open(file, options, Box::new(bar.clone()), definitions)?;
        bar.clear();
        for note in heap.session.notes() {
            say(note);
        }
        Ok(Source { heap, bar })
    }
}

/// Files that a question about several heaps is about.
pub struct Files<'a> {
    source: &'a SourceArguments,
    files: Vec<PathBuf>,
    heap: HeapOptions,
    definitions: anthill_api::Definitions,
    bar: Bar,
    /// Those of the files that are open.
    bars: RefCell<Vec<Bar>>,
    /// Whether it is said what is missing from a file.
    warns: bool,
}

impl<'a> Files<'a> {
    /// The file that every command has, and later ones.
    pub fn new(
        source: &'a SourceArguments,
        later: &[PathBuf],
        definitions: anthill_api::Definitions,
    ) -> Result<Self, Error> {
        let first = [&source.file].into_iter();
        Ok(Files {
            source,
            files: first.chain(later).cloned().collect(),
            heap: source.heap.options()?,
            definitions,
            bar: Bar::new(!source.no_progress),
            bars: RefCell::default(),
            warns: false,
        })
    }

    /// Says what is missing from the files as they are opened, states of a recording excepted.
    pub fn warning(self) -> Self {
        Files {
            warns: true,
            ..self
        }
    }

    fn clear(&self) {
        self.bar.clear();
        self.bars.borrow().iter().for_each(Bar::clear);
    }

    /// Where the answer goes, for when the work is done.
    pub fn out(&self) -> Out {
        self.clear();
        Out::stdout()
    }

    /// A file instead, for when the work is done.
    pub fn out_to(&self, file: File) -> Out {
        self.clear();
        Out::to(file)
    }
}

impl Series for Files<'_> {
    fn files(&self) -> &[PathBuf] {
        &self.files
    }

    fn at(&self) -> Option<Point> {
        self.heap.point()
    }

    fn convention(&self) -> Result<Convention, Error> {
        self.heap.convention()
    }

    fn definitions(&self) -> &anthill_api::Definitions {
        &self.definitions
    }

    fn open(&self, file: usize, at: Option<Point>) -> Result<Heap, Error> {
        let is_whole = at == self.at();
        let opened = self.source.open_at(&self.files[file], &self.heap, at)?;
        if self.warns && is_whole {
            opened.warn_of_missing();
        }
        self.bars.borrow_mut().push(opened.bar);
        Ok(opened.heap)
    }

    fn open_briefly(
        &self,
        file: usize,
        at: Option<Point>,
        progress: Box<dyn Progress + Send + Sync>,
    ) -> Result<Arc<Session>, Error> {
        let index = match self.source.index_folder() {
            IndexFolder::Cache if at.is_some() => IndexFolder::None,
            folder => folder,
        };
        let options = self.heap.open_at(at, index)?;
        let session = Session::open(&self.files[file], options, progress)?;
        Ok(Arc::new(
            session.with_definitions(self.source.definitions()?),
        ))
    }

    fn progress(&self) -> Arc<dyn Progress + Send + Sync> {
        Arc::new(self.bar.clone())
    }

    fn layers(
        &self,
        _: &str,
        make: &mut dyn FnMut() -> Result<Layers, Error>,
    ) -> Result<Arc<Layers>, Error> {
        make().map(Arc::new)
    }
}

/// An open dump.
pub struct Source {
    pub heap: Heap,
    bar: Bar,
}

impl Deref for Source {
    type Target = Heap;

    fn deref(&self) -> &Heap {
        &self.heap
    }
}

impl Source {
    /// Says on standard error that something is missing from the file, or how its graph differs from that of a dump.
    pub fn warn_of_missing(&self) {
        let missing = &self.session.state().tables.missing;
        let (other, missing): (Vec<&Missing>, Vec<&Missing>) = missing
            .iter()
            .partition(|missing| missing.kind == MissingKind::OtherGraph);
        for other in other {
            say(&other.what);
        }
        let missing = missing.len() as u64;
        if missing > 0 {
            let (things, are) = match missing {
                1 => ("thing", "is"),
                _ => ("things", "are"),
            };
            say(&format!(
                "{} {things} {are} missing from this file; `anthill summary {}` lists {}",
                count(missing),
                shell::file(&self.file),
                if missing == 1 { "it" } else { "them" },
            ));
        }
    }

    /// Where the answer goes, for when the work is done.
    pub fn out(&self) -> Out {
        self.bar.clear();
        Out::stdout()
    }

    /// A file instead, for when the work is done.
    pub fn out_to(&self, file: File) -> Out {
        self.bar.clear();
        Out::to(file)
    }
}
