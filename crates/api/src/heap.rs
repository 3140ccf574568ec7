//! A heap that questions are about.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use anthill_classify::Definitions;
use anthill_classify::{Step, Tree};
use anthill_heap::{BitSet, Cancelled, Missing, ObjectId, Progress, SharedOnce};
use anthill_session::{Options, Session, check_defined_groups};
use anthill_structures::{Definitions as Structures, Element};
use anthill_syntax::Pattern;

use crate::recent::Recent;
use crate::{Error, address, object_at};

/// Classification trees of a heap that are kept for further questions.
const MOST_TREES: usize = 6;

/// Structures whose elements are kept for further pages.
const MOST_LISTS: usize = 2;
/// A structure with more elements is gone through again for each page.
const LONGEST_LIST: usize = 2_000_000;

/// Groups at the ends of merged references that are kept to be followed further.
const MOST_FOLLOWED: usize = 16;

type Followed = Mutex<Recent<String, Arc<SharedOnce<Arc<Vec<ObjectId>>>>>>;
type Lists = Mutex<Recent<ObjectId, Arc<SharedOnce<Option<Vec<Element>>>>>>;
type Trees = Mutex<Recent<String, Arc<SharedOnce<Arc<Tree>>>>>;

/// A heap that is open, with what a face brings along for all questions about it.
#[derive(Clone)]
pub struct Heap {
    /// The heap itself.
    pub session: Arc<Session>,
    /// How answers name the file.
    pub file: String,
    /// Classifiers and groups of the user's own.
    pub definitions: Definitions,
    trees: Arc<Trees>,
    lists: Arc<Lists>,
    followed: Arc<Followed>,
}

impl Heap {
    /// Opens a dump, or a state of a recording, in which these data structures are looked for.
    pub fn open(
        file: &Path,
        options: Options,
        progress: Box<dyn Progress + Send>,
        structures: Structures,
    ) -> Result<Self, Error> {
        let name = file.display().to_string();
        if file.is_dir() {
            return Err(Error::unusable(
                format!("{name}: is a directory"),
                "Give the heap dump in it.",
            ));
        }
        let session = Session::open(file, options, progress)?.with_definitions(structures);
        Ok(Heap::new(Arc::new(session), name))
    }

    /// An open heap without definitions of the user's own.
    pub fn new(session: Arc<Session>, file: String) -> Self {
        Heap {
            session,
            file,
            definitions: Definitions::default(),
            trees: Arc::new(Mutex::new(Recent::new(MOST_TREES))),
            lists: Arc::new(Mutex::new(Recent::new(MOST_LISTS))),
            followed: Arc::new(Mutex::new(Recent::new(MOST_FOLLOWED))),
        }
    }

    /// The same heap for a question that brings definitions along.
    pub fn with_definitions(&self, definitions: Definitions) -> Self {
        Heap {
            definitions,
            ..self.clone()
        }
    }

    /// The same heap, whose file answers call otherwise.
    pub fn called(&self, file: String) -> Self {
        Heap {
            file,
            ..self.clone()
        }
    }

    /// The same heap for somebody who follows the progress of another question.
    pub fn reporting_to(&self, progress: Arc<dyn Progress + Send>) -> Self {
        Heap {
            session: Arc::new(self.session.reporting_to(progress)),
            ..self.clone()
        }
    }

    /// The objects of the classes that a glob fits, or of all; unreachable ones only on demand.
    pub fn objects_of(&self, glob: Option<&str>, unreachable: bool) -> Result<BitSet, Error> {
        let pattern = glob.map(Pattern::class);
        let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
        let classes = self.session.state().classes().iter();
        let names = || classes.clone().map(|class| class.name.as_str());
        if let Some(pattern) = pattern.as_ref().filter(|_| !names().any(wanted)) {
            return Err(Error::NothingFound(pattern.no_match("class", names())));
        }
        Ok(self.session.objects_of(wanted, unreachable)?)
    }

    /// The object that a user named by its address.
    pub fn object(&self, text: &str) -> Result<ObjectId, Error> {
        let classes = self.session.state().classes();
        if address(text).is_none() && classes.iter().any(|class| class.name == text) {
            return Err(Error::ClassInsteadOfObject {
                class: text.to_owned(),
                file: self.file.clone(),
            });
        }
        object_at(&self.session, text)
    }

    /// A classification tree: one that was kept under this key, or a new one.
    pub fn tree<E: From<Cancelled>>(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Tree, E>,
    ) -> Result<Arc<Tree>, E> {
        let key = key.to_owned();
        let place = lock(&self.trees).get_or_put(&key, Arc::default);
        let make = || make().map(Arc::new);
        let tree = place.get_or_make(self.session.progress(), make);
        if tree.is_err() {
            lock(&self.trees).remove(&key);
        }
        tree.cloned()
    }

    /// Tells the elements of the structure with that head, in its own order.
    pub fn elements(&self, head: ObjectId, tell: &mut dyn FnMut(Element)) -> Result<(), Error> {
        let session = &self.session;
        let place = lock(&self.lists).get_or_put(&head, Arc::default);
        let kept = place.get_or_make(session.progress(), || {
            let mut list = Vec::new();
            let mut fits = true;
            session.elements(head, &mut |element| {
                fits &= list.len() < LONGEST_LIST;
                if fits {
                    list.push(element);
                }
            })?;
            Ok::<_, Error>(fits.then_some(list))
        })?;
        match kept {
            Some(list) => {
                for some in list.chunks(1 << 12) {
                    session.progress().check()?;
                    some.iter().for_each(|&element| tell(element));
                }
            }
            None => session.elements(head, tell)?,
        }
        Ok(())
    }

    /// The objects where references lead: those that were kept under this key, or new ones.
    pub fn followed(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Vec<ObjectId>, Error>,
    ) -> Result<Arc<Vec<ObjectId>>, Error> {
        let key = key.to_owned();
        let place = lock(&self.followed).get_or_put(&key, Arc::default);
        let found = place.get_or_make(self.session.progress(), || make().map(Arc::new));
        if found.is_err() {
            lock(&self.followed).remove(&key);
        }
        found.cloned()
    }

    /// How bytes are counted, in words.
    pub fn layout(&self) -> &str {
        if self.session.convention().mat {
            "sizes as Eclipse MAT counts them"
        } else {
            &self.session.state().tables.layout
        }
    }

    /// What could not be read.
    pub fn missing(&self) -> &[Missing] {
        &self.session.state().tables.missing
    }
}

/// These definitions with more that a question brings.
pub fn with_definitions(base: &Definitions, texts: &[String]) -> Result<Definitions, Error> {
    let mut definitions = base.clone();
    for text in texts {
        let origin = "--definitions";
        definitions
            .add(origin, text)
            .map_err(|mistake| Error::written(&mistake, origin, text))?;
    }
    check_defined_groups(&definitions)?;
    Ok(definitions)
}

/// The classifiers, filters and transformers that were written for an option.
pub(crate) fn steps(
    definitions: &Definitions,
    option: &str,
    text: &str,
) -> Result<Vec<Step>, Error> {
    let steps = definitions.steps(text);
    steps.map_err(|mistake| Error::written(&mistake, option, text))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
