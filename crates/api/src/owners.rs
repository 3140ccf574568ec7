//! Who keeps a group alive together.

use anthill_graph::{FrontOptions, NodeId};
use anthill_leaks::{OwnerFront, owner_fronts};
use anthill_paths::ReadablePath;
use anthill_session::{Analysis, Session, check_group};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Definitions, Error, Heap, HeapQuestion, ObjectName, Percent, Question, with_definitions,
};

/// Find the smallest sets of objects that together keep a group alive
///
/// A dominator keeps a whole group alive by itself. Often only a class loader does, because a few
/// objects share the group: two caches, three registries. This command finds the smallest sets of
/// up to --most objects without which the group would be freed, starting at the GC roots. It names
/// internal objects, such as the table of a map, by the map. For a single owner, it also names the
/// objects above it, up to a static field or thread, each of which keeps the group alive by itself.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Owners {
    /// The group: a class, an address, or any other group; see docs/groups.md
    #[schemars(extend("x-subject" = true))]
    pub group: String,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// Maximum number of owners in a set
    #[serde(default = "usual_most")]
    #[schemars(range(min = 1), extend("x-value" = "N", "x-mistake" = "it must be a whole number, at least 1"))]
    pub most: usize,
    /// Minimum percentage of the group's bytes that a set must keep alive, so that a stray reference
    /// does not hide an owner
    #[serde(default = "usual_share")]
    pub share: Percent,
}

fn usual_most() -> usize {
    16
}

fn usual_share() -> Percent {
    Percent(95.0)
}

/// Sets of owners of a group, from the GC roots to the group.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnersAnswer")]
pub struct Answer {
    /// The group as it was given.
    pub group: String,
    /// Bytes of the reachable heap.
    #[serde(skip)]
    pub reachable: u64,
    /// The sets of owners, each with more owners than the one before.
    pub fronts: Vec<Front>,
}

/// A set of objects that together keep the group alive.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnersFront")]
pub struct Front {
    /// The owners in the set.
    pub owners: Vec<Owner>,
    /// For a single owner, objects above it that each keep it alive by themselves, nearest first;
    /// without inner parts of data structures, and without the middle of a long way. Otherwise empty.
    pub above: Vec<Owner>,
    /// Bytes that would be freed with all owners of the set.
    pub retained: u64,
    /// The number of objects that would be freed with all owners of the set.
    pub retained_objects: u64,
    /// The share of the group's reachable bytes that would be freed with all owners of the set, in
    /// percent.
    pub covered: f64,
}

/// An object that, alone or with others, keeps a group alive.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnersOwner")]
pub struct Owner {
    /// The owner, with what it retains alone.
    #[serde(flatten)]
    pub object: ObjectName,
    /// How the program holds the owner.
    pub held_by: String,
}

impl Question for Owners {
    const NAME: &'static str = "owners";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        Ok(check_group(&self.group, &definitions)?)
    }
}

impl HeapQuestion for Owners {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let definitions = with_definitions(&heap.definitions, &self.definitions)?;
        let group = session.group(&self.group, &definitions)?;
        let options = FrontOptions {
            most: self.most,
            share: self.share.0 / 100.0,
        };
        let analysis = session.analysis()?;
        let is_reachable = |object| analysis.dominators.is_reachable(object);
        if !group.iter().any(is_reachable) {
            let reason = format!("no GC root keeps any {} alive", self.group);
            return Err(Error::NothingFound(reason));
        }
        let fronts = owner_fronts(session, &group, options)?;
        if fronts.is_empty() {
            return Err(Error::NothingFound(format!(
                "no set of up to {} objects keeps all {} alive; allow larger sets with --most, or a smaller share of the group with --share",
                self.most, self.group
            )));
        }
        let fronts = fronts.iter();
        Ok(Answer {
            group: self.group.clone(),
            reachable: analysis.total().retained,
            fronts: fronts
                .map(|front| Front::new(session, analysis, front))
                .collect(),
        })
    }
}

impl Front {
    fn new(session: &Session, analysis: &Analysis, front: &OwnerFront) -> Self {
        let owners = |of: &[(NodeId, ReadablePath)]| {
            let owners = of.iter().map(|(node, path)| Owner {
                object: ObjectName::new(session, analysis, *node),
                held_by: path.short.clone(),
            });
            owners.collect()
        };
        Front {
            owners: owners(&front.owners),
            above: owners(&front.above),
            retained: front.retained.bytes,
            retained_objects: front.retained.objects,
            covered: front.covered.0 as f64 * 100.0 / front.covered.1.max(1) as f64,
        }
    }
}
