//! What would be freed without some references.

use anthill_classify::{OVERALL, Tree};
use anthill_session::check_group;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::classify::by_type;
use crate::heap::steps;
use crate::tree::{Node, Shown, View};
use crate::{Definitions, Error, Heap, HeapQuestion, Question, with_definitions};

/// Show what would be freed if some references were cut
///
/// The command removes every reference from the objects of one group to those of another and shows
/// the objects that become unreachable. You see what a fix would save before you write it. The
/// result is exact for any number of references: an object is freed only if nothing else leads to
/// it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Cut {
    /// The group that the references come from: a class, an address, or any other group; see
    /// docs/groups.md
    #[schemars(extend("x-subject" = true))]
    pub from: String,
    /// The group that the references lead to
    #[schemars(extend("x-subject" = true))]
    pub to: String,
    /// Split the freed objects by these steps
    #[serde(default = "by_type")]
    #[schemars(extend("x-value" = "STEPS"))]
    pub by: String,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// How much of the tree is shown, and in which order.
    #[serde(flatten)]
    pub shown: Shown,
}

/// The effect of cutting references.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CutAnswer")]
pub struct Answer {
    /// The group from which the references lead, as it was given.
    pub from: String,
    /// The group to which the references lead, as it was given.
    pub to: String,
    /// The steps by which the freed objects are split.
    pub by: String,
    /// The number of references that are cut.
    pub references: u64,
    /// Bytes that would be freed.
    pub freed: u64,
    /// The number of objects that would be freed.
    pub freed_objects: u64,
    /// The objects that would be freed; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Node")]
    pub tree: Option<Node>,
    /// Bytes of the reachable heap.
    #[serde(skip)]
    pub reachable: u64,
}

impl Question for Cut {
    const NAME: &'static str = "cut";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        steps(&definitions, "--by", &self.by)?;
        check_group(&self.from, &definitions)?;
        Ok(check_group(&self.to, &definitions)?)
    }
}

impl HeapQuestion for Cut {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let definitions = with_definitions(&heap.definitions, &self.definitions)?;
        let steps = steps(&definitions, "--by", &self.by)?;
        let from = session.group(&self.from, &definitions)?;
        let to = session.group(&self.to, &definitions)?;
        let references = session.references_between(&from, &to);
        if references == 0 {
            let (from, to) = (&self.from, &self.to);
            let reason = format!("no reference leads from `{from}` to `{to}`");
            return Err(Error::NothingFound(reason));
        }
        let freed = session.freed_by_cutting(&from, &to)?;
        let tree = match freed.is_empty() {
            true => None,
            false => Some(session.classify(&freed, &steps)?),
        };
        let own = |tree: &Tree| (tree.node(OVERALL).shallow, tree.node(OVERALL).objects);
        let (freed, freed_objects) = tree.as_ref().map_or((0, 0), own);
        let view = |tree| View::new(tree, OVERALL, &self.shown).node();
        Ok(Answer {
            from: self.from.clone(),
            to: self.to.clone(),
            by: self.by.clone(),
            references,
            freed,
            freed_objects,
            tree: tree.as_ref().map(view),
            reachable: session.analysis()?.total().retained,
        })
    }
}
