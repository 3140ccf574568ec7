//! Class loaders: what they are called and load, how much they keep alive, and what holds them.

use std::cmp::Reverse;

use anthill_heap::ObjectId;
use anthill_leaks::{is_stopped, loader_holders};
use anthill_paths::held_by;
use anthill_session::{Analysis, Grouping, LoaderFacts, Row, Session};
use anthill_syntax::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::loader_holder;
use crate::{Error, Heap, HeapQuestion, Limit, ObjectName, Question};

/// Show class loaders: what they load, how much they keep alive, and what holds them
///
/// A row shows the name of the class loader or the context path of its web application, the state
/// of the application (Tomcat), the jars and directories that it loads from, the number of its
/// classes and their objects, and its retained size. Class loaders of stopped applications should
/// be gone: their rows list everything that still holds them.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Loaders {
    /// Sort rows by
    #[serde(default)]
    pub sort: Sort,
    /// Show only class loaders whose class, name, context path or one of whose jars matches GLOB
    /// (`*`: any characters, `?`: one character)
    #[schemars(extend("x-value" = "GLOB"))]
    pub filter: Option<String>,
    /// Show at most N rows; 0 for all
    #[schemars(extend("x-default-for-people" = 30))]
    pub limit: Option<Limit>,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "LoadersSort")]
pub enum Sort {
    /// Retained size
    #[default]
    Retained,
    /// Number of classes
    Classes,
    /// Number of objects
    Objects,
}

/// The class loaders of a heap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadersAnswer")]
pub struct Answer {
    /// The class loaders that have classes, in the order of `--sort`.
    pub rows: Vec<LoaderRow>,
    /// The number of rows that `--limit` left out.
    pub omitted: usize,
    /// Bytes of the reachable heap.
    pub reachable: u64,
}

/// A class loader with what it loads and what holds it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadersRow")]
pub struct LoaderRow {
    /// The class loader; null for the boot class loader, which is no object.
    pub loader: Option<ObjectName>,
    /// The name that the program gave the class loader; `boot` for the boot class loader; null if it has none.
    pub name: Option<String>,
    /// The context path of its web application (Tomcat); otherwise null.
    pub context: Option<String>,
    /// The state of its web application (Tomcat's `LifecycleState`); otherwise null.
    pub state: Option<String>,
    /// Whether its application was stopped: the class loader should be gone.
    pub stopped: bool,
    /// The jars and directories that it loads from, as far as it lists them, at most 100.
    pub places: Vec<String>,
    /// The class loader that it asks first; null if that is the boot class loader.
    pub parent: Option<ObjectName>,
    /// The number of classes that it defined, without arrays.
    pub classes: u64,
    /// The number of objects of these classes.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub shallow: u64,
    /// Bytes that would be freed with the class loader, with its classes and all that only they keep
    /// alive; for the boot class loader, with all objects of its classes.
    pub retained: u64,
    /// Everything that holds the class loader if it is stopped; otherwise how its shortest path starts.
    /// Empty if it is unreachable.
    pub held_by: Vec<String>,
}

impl LoaderRow {
    /// What people call the class loader.
    pub fn label(&self) -> &str {
        self.loader.as_ref().map_or("boot", |loader| &loader.label)
    }
}

impl Question for Loaders {
    const NAME: &'static str = "loaders";
    type Answer = Answer;
}

/// A class loader with its figures.
struct Found {
    loader: Option<ObjectId>,
    classes: u64,
    row: Row,
    retained: u64,
}

impl HeapQuestion for Loaders {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &*heap.session;
        session.records().open()?;
        let analysis = session.analysis()?;
        let mut found = found(session, analysis);
        if let Some(filter) = &self.filter {
            let pattern = Pattern::class(filter);
            found.retain(|one| {
                names(session, one.loader)
                    .iter()
                    .any(|name| pattern.matches(name))
            });
            if found.is_empty() {
                let reason = format!("no class loader matches `{filter}`");
                return Err(Error::NothingFound(reason));
            }
        }
        found.sort_by_key(|one| {
            let key = match self.sort {
                Sort::Retained => one.retained,
                Sort::Classes => one.classes,
                Sort::Objects => one.row.objects,
            };
            (Reverse(key), Reverse(one.classes), one.loader)
        });
        let shown = self.limit.unwrap_or_default().most().min(found.len());
        let omitted = found.len() - shown;
        found.truncate(shown);
        Ok(Answer {
            rows: rows(session, analysis, &found)?,
            omitted,
            reachable: analysis.total().retained,
        })
    }
}

fn found(session: &Session, analysis: &Analysis) -> Vec<Found> {
    let loaders = analysis.groups().loaders();
    let mut classes = vec![0; loaders.len()];
    for class in session.state().classes() {
        let is_array = matches!(class.kind, anthill_heap::ClassKind::Array(_));
        let at = loaders.binary_search(&class.loader);
        if let (Ok(at), false) = (at, is_array) {
            classes[at] += 1;
        }
    }
    let rows = analysis.rows(Grouping::Loader).iter();
    let rows = loaders.iter().zip(classes).zip(rows);
    let all = rows.map(|((&loader, classes), &row)| Found {
        loader,
        classes,
        row,
        retained: loader.map_or(row.retained, |loader| analysis.dominators.retained(loader)),
    });
    all.filter(|one| one.classes > 0).collect()
}

/// What a filter is compared with.
fn names(session: &Session, loader: Option<ObjectId>) -> Vec<String> {
    let Some(loader) = loader else {
        return vec!["boot".to_owned()];
    };
    let facts = session.loader_facts(loader);
    let class = session.state().class(loader).name.clone();
    let places = facts.places.iter().map(|place| {
        let name = place.trim_end_matches('/').rsplit('/').next();
        name.unwrap_or(place).to_owned()
    });
    let names = [Some(class), facts.name.clone(), facts.context.clone()];
    places.chain(names.into_iter().flatten()).collect()
}

fn rows(session: &Session, analysis: &Analysis, found: &[Found]) -> Result<Vec<LoaderRow>, Error> {
    let named = |loader: ObjectId| ObjectName::new(session, analysis, loader);
    let loaders: Vec<ObjectId> = found.iter().filter_map(|one| one.loader).collect();
    let mut paths = held_by(session, &loaders)?.into_iter();
    let mut rows = Vec::with_capacity(found.len());
    for one in found {
        session.progress().check()?;
        let facts = match one.loader {
            Some(loader) => session.loader_facts(loader),
            None => LoaderFacts {
                name: Some("boot".to_owned()),
                ..LoaderFacts::default()
            },
        };
        let stopped = facts.state.as_deref().is_some_and(is_stopped);
        let path = one.loader.and_then(|_| paths.next());
        let held_by = match one.loader.filter(|_| stopped) {
            Some(loader) if analysis.dominators.is_reachable(loader) => {
                let label = |node| session.label(node).to_string();
                let holders = loader_holders(session, loader)?;
                let words = |holder| loader_holder(holder, label, str::to_owned);
                holders.iter().map(words).collect()
            }
            _ => path.into_iter().filter(|path| !path.is_empty()).collect(),
        };
        rows.push(LoaderRow {
            loader: one.loader.map(named),
            name: facts.name,
            context: facts.context,
            state: facts.state,
            stopped,
            places: facts.places,
            parent: facts.parent.map(named),
            classes: one.classes,
            objects: one.row.objects,
            shallow: one.row.shallow,
            retained: one.retained,
            held_by,
        });
    }
    Ok(rows)
}
