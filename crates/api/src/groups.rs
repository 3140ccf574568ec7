//! The object groups that are kept for a heap or defined.

use anthill_heap::BitSet;
use anthill_session::{Error as SessionError, check_group};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Definitions, Error, Heap, HeapQuestion, Question, with_definitions};

/// List, save and delete object groups
///
/// A group is any set of objects, written in a small language. It covers classes, single objects,
/// static fields, conditions, rows of classification trees, everything that a group reaches or
/// retains, its roots, referrers and dominators, and unions, intersections and differences of
/// groups. You can use the name of a saved or defined group wherever a command takes a group.
/// docs/groups.md describes the language.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Groups {
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
}

/// The object groups of a heap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GroupsAnswer")]
pub struct Answer {
    /// The groups named in definitions, in their order, then the saved groups by name.
    pub groups: Vec<Row>,
    /// Names of groups that were kept for another dump or are damaged.
    #[serde(skip)]
    pub unusable: Vec<String>,
    /// Bytes of the reachable heap.
    #[serde(skip)]
    pub reachable: u64,
}

/// A named object group.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GroupsRow")]
pub struct Row {
    /// The name that stands for the group in questions.
    pub name: String,
    /// The expression that makes the group; docs/groups.md describes the language.
    pub expression: String,
    /// Whether the group is saved beside the index; false for a group from a definition.
    pub kept: bool,
    /// The number of objects in the group.
    pub objects: u64,
    /// Shallow size of the group's objects in bytes.
    pub shallow: u64,
    /// Bytes of all objects that the group reaches, including the group itself.
    pub deep: u64,
    /// The number of objects that the group reaches, including its own.
    pub deep_objects: u64,
    /// Bytes that would be freed with the group, including the group itself.
    pub retained: u64,
    /// The number of objects that would be freed with the group, including its own.
    pub retained_objects: u64,
}

impl Question for Groups {
    const NAME: &'static str = "groups";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        with_definitions(definitions, &self.definitions).map(drop)
    }
}

impl HeapQuestion for Groups {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let (kept, unusable) = session.kept_groups();
        let definitions = with_definitions(&heap.definitions, &self.definitions)?;
        let mut groups = Vec::new();
        for group in definitions.groups() {
            let objects = match session.group(&group.name, &definitions) {
                // A file may be about several programs.
                Err(SessionError::NothingFound(_)) => BitSet::new(session.state().len() as usize),
                objects => objects?,
            };
            groups.push(Row::new(heap, &group.name, &group.text, &objects)?);
        }
        for kept in kept {
            groups.push(Row {
                kept: true,
                ..Row::new(heap, &kept.name, &kept.expression, &kept.objects)?
            });
        }
        Ok(Answer {
            groups,
            unusable,
            reachable: session.analysis()?.total().retained,
        })
    }
}

impl Groups {
    /// Finds mistakes in a group without a heap.
    pub fn check_group(&self, group: &str, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        Ok(check_group(group, &definitions)?)
    }

    /// Keeps a group under a name.
    pub fn keep(&self, heap: &Heap, name: &str, group: &str) -> Result<(), Error> {
        let definitions = with_definitions(&heap.definitions, &self.definitions)?;
        let objects = heap.session.group(group, &definitions)?;
        Ok(heap.session.keep_group(name, group, &objects)?)
    }
}

/// Forgets the group of a name.
pub fn forget(heap: &Heap, name: &str) -> Result<(), Error> {
    match heap.session.forget_group(name)? {
        true => Ok(()),
        false => {
            let reason = format!("no group `{name}` is kept for this dump");
            Err(Error::NothingFound(reason))
        }
    }
}

impl Row {
    fn new(heap: &Heap, name: &str, expression: &str, objects: &BitSet) -> Result<Self, Error> {
        let metrics = heap.session.measure(objects)?;
        Ok(Row {
            name: name.to_owned(),
            expression: expression.to_owned(),
            kept: false,
            objects: metrics.objects,
            shallow: metrics.shallow,
            deep: metrics.deep.bytes,
            deep_objects: metrics.deep.objects,
            retained: metrics.retained.bytes,
            retained_objects: metrics.retained.objects,
        })
    }
}
