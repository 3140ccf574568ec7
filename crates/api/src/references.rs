//! References from or to objects, one level at a time, for those who walk through a heap.

use std::cmp::Reverse;
use std::sync::Arc;

use anthill_heap::ObjectId;
use anthill_paths::{
    Direction as Way, MergedReferences, RootsByObject, incoming, merged, outgoing,
    retained_at_least,
};
use anthill_session::{Session, check_group};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Definitions, Error, Heap, HeapQuestion, Limit, Question, hex, with_definitions};

/// Follow references from an object or a group, or to it, one level at a time
///
/// Without --merged, the rows are the objects at the other end of each reference of one object, or
/// the objects of the group. With --merged, references of all objects of the group through the same
/// field to the same class are one row, and --step follows such rows further.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct References {
    /// The object or the group: an address, a class, or any other group
    #[schemars(extend("x-subject" = true))]
    pub group: String,
    /// Which references to follow
    #[serde(default)]
    pub direction: Direction,
    /// Merge references by field and class
    #[serde(default)]
    pub merged: bool,
    /// Follow these references first, as the step of a merged row names them: `FIELD -> CLASS`; can be
    /// repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "STEP", "x-requires" = "merged"))]
    pub step: Vec<String>,
    /// Define groups of your own; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// Skip the first N rows, to continue where --limit stopped
    #[serde(default)]
    #[schemars(extend("x-value" = "N"))]
    pub offset: usize,
    /// Show at most N rows; 0 for all
    #[serde(default = "usual_limit")]
    pub limit: Limit,
}

fn usual_limit() -> Limit {
    Limit(50)
}

/// Which references to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ReferencesDirection")]
pub enum Direction {
    /// What the objects refer to
    #[default]
    Outgoing,
    /// What refers to the objects
    Incoming,
}

/// References from or to objects.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReferencesAnswer")]
pub struct Answer {
    /// The objects whose references the rows are, after all steps.
    pub from: Row,
    /// The number of rows, including those that `--offset` and `--limit` left out.
    pub total: u64,
    /// The rows: fields in their order and elements by index; referrers, objects of a group and merged
    /// references by their retained size.
    pub rows: Vec<Row>,
}

/// An object, or several objects of one class, and the references that lead there.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReferencesRow")]
pub struct Row {
    /// The field or the element of the reference; `[…]` for elements of any index; empty for the objects that one
    /// starts with.
    pub via: String,
    /// With `--merged`: what `--step` takes to follow this row; otherwise empty.
    pub step: String,
    /// The name of the class; empty if the objects are of several.
    pub class: String,
    /// The address of the object: `0x…`; null for several.
    pub address: Option<String>,
    /// The object as people see it, or a number of objects and their class.
    pub label: String,
    /// The number of objects.
    pub objects: u64,
    /// The number of references that lead to or come from these objects.
    pub references: u64,
    /// Shallow size of the objects in bytes.
    pub shallow: u64,
    /// Bytes that would be freed with the objects.
    pub retained: u64,
    /// Whether they may retain more than that: it is the sum of what objects retain that no other of them
    /// retains.
    pub at_least: bool,
    /// The GC root that holds the object directly, or one that holds one of the objects; null if there is none.
    pub root: Option<String>,
    /// Whether there are references to follow from here; when following incoming references, there may be.
    pub further: bool,
}

impl Question for References {
    const NAME: &'static str = "references";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        Ok(check_group(&self.group, &definitions)?)
    }
}

impl HeapQuestion for References {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &*heap.session;
        let rows = Rows {
            session,
            roots: RootsByObject::new(session),
            way: match self.direction {
                Direction::Outgoing => Way::Outgoing,
                Direction::Incoming => Way::Incoming,
            },
        };
        let group = self.start(heap)?;
        if group.is_empty() {
            return Err(Error::NothingFound(format!(
                "`{}` has no objects",
                self.group
            )));
        }
        let (offset, limit) = (self.offset, self.limit.most());
        let (page, total) = match (&group[..], self.merged) {
            (_, true) => {
                let found = merged(session, &group, rows.way)?;
                rows.of_merged(&found, offset, limit)?
            }
            (&[object], false) => {
                let found = match rows.way {
                    Way::Outgoing => outgoing(session, object, offset, limit)?,
                    Way::Incoming => incoming(session, object, offset, limit)?,
                };
                let page = found.0.into_iter();
                let page = page.map(|one| rows.of(one.via, String::new(), &[one.object], 1));
                (page.collect::<Result<_, _>>()?, found.1)
            }
            (_, false) => rows.of_objects(&group, offset, limit)?,
        };
        Ok(Answer {
            from: rows.of(String::new(), String::new(), &group, 0)?,
            total,
            rows: page,
        })
    }
}

impl References {
    /// The objects where all steps lead.
    fn start(&self, heap: &Heap) -> Result<Arc<Vec<ObjectId>>, Error> {
        let session = &*heap.session;
        let definitions = with_definitions(&heap.definitions, &self.definitions)?;
        let way = match self.direction {
            Direction::Outgoing => Way::Outgoing,
            Direction::Incoming => Way::Incoming,
        };
        let group = session.group(&self.group, &definitions)?;
        let mut group: Arc<Vec<ObjectId>> = Arc::new(group.iter().collect());
        let mut key = format!(
            "{:?} {:?} {:?}",
            self.direction, self.group, self.definitions
        );
        for step in &self.step {
            key += &format!(" {step:?}");
            group = heap.followed(&key, || {
                let found = merged(session, &group, way)?;
                let one = found.into_iter().find(|one| one.step() == *step);
                let none = || Error::NothingFound(format!("no reference `{step}`"));
                Ok(one.ok_or_else(none)?.objects)
            })?;
        }
        Ok(group)
    }
}

/// Makes rows.
struct Rows<'a> {
    session: &'a Session,
    roots: RootsByObject<'a>,
    way: Way,
}

impl Rows<'_> {
    fn of(
        &self,
        via: String,
        step: String,
        objects: &[ObjectId],
        references: u64,
    ) -> Result<Row, Error> {
        let session = self.session;
        let state = session.state();
        let graph = session.graph();
        let class = |object: ObjectId| state.class(object).name.as_str();
        let first = objects[0];
        let single = (objects.len() == 1).then_some(first);
        let same = objects.iter().all(|&object| class(object) == class(first));
        let of_class = if same { class(first) } else { "" };
        let label = match single {
            Some(object) => session.label(object).to_string(),
            None if same => format!("{} × {of_class}", crate::units::count(objects.len() as u64)),
            None => format!("{} objects", crate::units::count(objects.len() as u64)),
        };
        let refers = |&object: &ObjectId| {
            !state.references(object).is_empty() || state.referent(object).is_some()
        };
        let root = objects
            .iter()
            .find_map(|&object| self.roots.of(object).first());
        Ok(Row {
            via,
            step,
            class: of_class.to_owned(),
            address: single.map(|object| hex(session.address(object))),
            label,
            objects: objects.len() as u64,
            references,
            shallow: objects.iter().map(|&object| graph.size(object)).sum(),
            retained: retained_at_least(session, objects)?,
            at_least: single.is_none(),
            root: root.map(|root| session.root_name(root)),
            further: self.way == Way::Incoming || objects.iter().any(refers),
        })
    }

    /// The objects of a group, those that retain most first.
    fn of_objects(
        &self,
        group: &[ObjectId],
        offset: usize,
        limit: usize,
    ) -> Result<(Vec<Row>, u64), Error> {
        let dominators = &self.session.analysis()?.dominators;
        let mut sorted = group.to_vec();
        sorted.sort_by_key(|&object| (Reverse(dominators.retained(object)), object));
        let page = sorted.iter().skip(offset).take(limit);
        let page = page.map(|&object| self.of(String::new(), String::new(), &[object], 0));
        Ok((page.collect::<Result<_, _>>()?, group.len() as u64))
    }

    fn of_merged(
        &self,
        found: &[MergedReferences],
        offset: usize,
        limit: usize,
    ) -> Result<(Vec<Row>, u64), Error> {
        let retained = |one: &MergedReferences| retained_at_least(self.session, &one.objects);
        let mut sorted = Vec::with_capacity(found.len());
        for one in found {
            self.session.progress().check()?;
            sorted.push((retained(one)?, one));
        }
        sorted.sort_by_key(|(retained, one)| (Reverse(*retained), one.step()));
        let page = sorted.iter().skip(offset).take(limit);
        let page =
            page.map(|(_, one)| self.of(one.via.clone(), one.step(), &one.objects, one.references));
        Ok((page.collect::<Result<_, _>>()?, found.len() as u64))
    }
}
