//! The heap dump a command works on: the options all of these commands share, how their numbers
//! are read, and the session they open.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anthill_classify::{Pattern, Tree};
use anthill_graph::Convention;
use anthill_heap::{BitSet, ObjectId};
use anthill_session::{Error, IndexFolder, Options, Session};
use anthill_structures::Definitions;
use anthill_trace::Point;
use clap::{Args, ValueEnum};

use crate::desk::{Desk, Watch};
use crate::failure::{Failure, say};
use crate::names::{address, object_at};
use crate::output::units::count;
use crate::output::{Out, shell};
use crate::progress::Bar;
use crate::structures;
use crate::web::{Trees, lock};

#[derive(Args)]
pub struct SourceArguments {
    /// The heap dump (HPROF, also gzipped) or the recording
    pub file: PathBuf,
    /// Which state of a recording: gc:N, #N, a time like 2m30s or 14:05:30 (UTC), the text of a
    /// mark, first or last [default: last]
    #[arg(long, value_name = "POINT", value_parser = point, help_heading = HEADING)]
    pub at: Option<Point>,
    /// Count as another analyzer does, for comparing
    #[arg(long, value_name = "TOOL", conflicts_with = "keep", help_heading = HEADING)]
    pub compat: Option<Compat>,
    /// Which references keep objects alive besides strong ones
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = "soft",
        help_heading = HEADING
    )]
    pub keep: Vec<Keep>,
    /// Which dump of the file, from 1 [default: the last]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub dump: Option<usize>,
    /// Keep the index in this folder instead of the user's cache
    #[arg(long, value_name = "DIR", conflicts_with = "no_index", help_heading = HEADING)]
    pub index: Option<PathBuf>,
    /// Neither use nor keep an index
    #[arg(long, help_heading = HEADING)]
    pub no_index: bool,
    /// A file that describes data structures, besides `anthill.structures` in the working folder; can be
    /// repeated; docs/structures.md has the language
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub structures: Vec<PathBuf>,
    /// What these files say; they are read once, since one may be a pipe.
    #[arg(skip)]
    definitions: OnceLock<Definitions>,
    /// Print JSON; docs/output.md describes it
    #[arg(long, help_heading = HEADING)]
    pub json: bool,
    /// Show no progress bar
    #[arg(long, help_heading = HEADING)]
    pub no_progress: bool,
    /// Where the file is opened and the answer goes.
    #[arg(skip)]
    pub desk: Desk,
}

/// A part of something, in percent.
pub fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "it must be a number from 0 to 100".to_owned())
}

/// A point of a recording; any text is one.
pub fn point(text: &str) -> Result<Point, String> {
    Ok(Point::parse(text))
}

/// How many of something are shown.
pub fn limit(text: &str) -> Result<usize, String> {
    let limit = text.parse().ok();
    limit.ok_or_else(|| "it must be a whole number; 0 shows all".to_owned())
}

const HEADING: &str = "Options of all commands on dumps";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compat {
    /// Eclipse MAT: its sizes, all references keep alive, unreachable objects are left out
    Mat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Keep {
    Soft,
    Weak,
    Phantom,
    Finalizer,
    /// Strong references only
    None,
}

impl SourceArguments {
    pub fn convention(&self) -> Result<Convention, Failure> {
        if self.compat == Some(Compat::Mat) {
            return Ok(Convention::MAT);
        }
        let kept = |kind| self.keep.contains(&kind);
        if kept(Keep::None) && self.keep.len() > 1 {
            return Err(Failure::unusable(
                "--keep: `none` cannot be combined with other kinds",
                "Say --keep none, or list the kinds, e.g. --keep soft,weak.",
            ));
        }
        Ok(Convention {
            soft: kept(Keep::Soft),
            weak: kept(Keep::Weak),
            phantom: kept(Keep::Phantom),
            finalizer: kept(Keep::Finalizer),
            mat: false,
        })
    }

    fn index_folder(&self) -> IndexFolder {
        match &self.index {
            _ if self.no_index => IndexFolder::None,
            Some(folder) => IndexFolder::Folder(folder.clone()),
            None => IndexFolder::Cache,
        }
    }

    fn definitions(&self) -> Result<Definitions, Failure> {
        if let Some(known) = self.definitions.get() {
            return Ok(known.clone());
        }
        let definitions = structures::definitions(&self.structures)?;
        Ok(self.definitions.get_or_init(|| definitions).clone())
    }

    /// Opens the dump and says on standard error what the user should know about that.
    pub fn open(&self) -> Result<Source, Failure> {
        self.open_file(&self.file)
    }

    /// Opens another dump in the same way.
    pub fn open_file(&self, file: &Path) -> Result<Source, Failure> {
        self.open_at(file, self.at.clone())
    }

    fn options(&self, at: Option<Point>) -> Result<Options, Failure> {
        Ok(Options {
            dump: self.dump,
            at,
            convention: self.convention()?,
            index: self.index_folder(),
        })
    }

    /// Opens heaps one after the other for a short look at each, which gets the place of the heap
    /// among them. None stays open, and no index is kept of states of a recording: there may be
    /// hundreds.
    pub fn look_at_each(
        &self,
        what: &str,
        heaps: &[(&Path, Option<Point>)],
        mut look: impl FnMut(usize, &Session) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let watch = self.desk.progress(!self.no_progress);
        watch.progress.stage(what, heaps.len() as u64);
        for (place, (file, at)) in heaps.iter().enumerate() {
            watch.progress.check().map_err(Error::from)?;
            look(place, &*self.glance(file, at.clone(), &watch)?)?;
            watch.progress.advance(1);
        }
        Ok(())
    }

    fn glance(
        &self,
        file: &Path,
        at: Option<Point>,
        watch: &Watch,
    ) -> Result<Arc<Session>, Failure> {
        let mut options = self.options(at)?;
        if options.at.is_some() && options.index == IndexFolder::Cache {
            options.index = IndexFolder::None;
        }
        if let Desk::Web(request) = &self.desk {
            return request.glance(file, options, watch.part());
        }
        let session = Session::open(file, options, watch.part())?;
        Ok(Arc::new(session.with_definitions(self.definitions()?)))
    }

    /// Opens a dump, or a state of a recording.
    pub fn open_at(&self, file: &Path, at: Option<Point>) -> Result<Source, Failure> {
        let options = self.options(at)?;
        let name = file.display().to_string();
        if file.is_dir() {
            return Err(Failure::unusable(
                format!("{name}: it is a folder"),
                "Name the heap dump in it.",
            ));
        }
        if let Desk::Web(request) = &self.desk {
            let heap = request.open(file, options)?;
            return Ok(Source {
                session: heap.session.clone(),
                trees: Some(heap.trees.clone()),
                name,
                bar: Bar::new(false),
                desk: self.desk.clone(),
            });
        }
        let definitions = self.definitions()?;
        let bar = Bar::new(!self.no_progress);
        let session = Session::open(file, options, Box::new(bar.clone()))?;
        let session = session.with_definitions(definitions);
        bar.clear();
        for note in session.notes() {
            say(note);
        }
        Ok(Source {
            session: Arc::new(session),
            trees: None,
            name,
            bar,
            desk: Desk::Terminal,
        })
    }

    /// Where the answer goes if it is not about one heap.
    pub fn out(&self) -> Out {
        self.desk.out()
    }
}

/// An open dump.
pub struct Source {
    pub session: Arc<Session>,
    /// How results name the file.
    pub name: String,
    bar: Bar,
    desk: Desk,
    /// Classification trees that are kept for further questions.
    trees: Option<Arc<Trees>>,
}

impl Source {
    /// Says on standard error that something is missing from the file.
    pub fn warn_of_missing(&self) {
        let missing = self.session.state().tables.missing.len() as u64;
        if missing > 0 {
            let (things, are) = match missing {
                1 => ("thing", "is"),
                _ => ("things", "are"),
            };
            say(&format!(
                "{} {things} {are} missing from this file; `anthill summary {}` lists {}",
                count(missing),
                shell::file(&self.name),
                if missing == 1 { "it" } else { "them" },
            ));
        }
    }

    /// The objects of the classes that a glob fits, or of all; unreachable ones only on demand.
    pub fn objects_of(&self, glob: Option<&str>, unreachable: bool) -> Result<BitSet, Failure> {
        let pattern = glob.map(Pattern::class);
        let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
        let classes = self.session.state().classes().iter();
        let names = || classes.clone().map(|class| class.name.as_str());
        if let Some(pattern) = pattern.as_ref().filter(|_| !names().any(wanted)) {
            return Err(Failure::NothingFound(pattern.no_match("class", names())));
        }
        Ok(self.session.objects_of(wanted, unreachable)?)
    }

    /// The object that a user named by its address.
    pub fn object(&self, text: &str) -> Result<ObjectId, Failure> {
        let classes = self.session.state().classes();
        if address(text).is_none() && classes.iter().any(|class| class.name == text) {
            return Err(Failure::unusable(
                format!("`{text}` is a class, not the address of an object"),
                format!(
                    "`anthill objects {} --class {} --sort retained` lists its objects and their \
                     addresses.",
                    shell::file(&self.name),
                    shell::word(text)
                ),
            ));
        }
        object_at(&self.session, text)
    }

    /// A classification tree: one that was kept under this key, or a new one.
    pub fn tree(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Tree, Failure>,
    ) -> Result<Arc<Tree>, Failure> {
        let Some(trees) = &self.trees else {
            return Ok(Arc::new(make()?));
        };
        let key = key.to_owned();
        let place = lock(trees).get_or_put(&key, Arc::default);
        let make = || make().map(Arc::new);
        let tree = place.get_or_make(self.session.progress(), make);
        if tree.is_err() {
            lock(trees).remove(&key);
        }
        tree.cloned()
    }

    /// Where the answer goes, for when the work is done.
    pub fn out(&self) -> Out {
        self.bar.clear();
        self.desk.out()
    }

    /// A file instead, for when the work is done.
    pub fn out_to(&self, file: File) -> Out {
        self.bar.clear();
        Out::to(file)
    }

    /// How bytes are counted, in words.
    pub fn layout(&self) -> &str {
        if self.session.convention().mat {
            "sizes as Eclipse MAT counts them"
        } else {
            &self.session.state().tables.layout
        }
    }
}
