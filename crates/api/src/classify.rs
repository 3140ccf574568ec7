//! Objects split level by level, with exact sizes on every node.

use std::borrow::Cow;
use std::sync::Arc;

use anthill_classify::{OVERALL, Step, Tree, TreeNodeId};
use anthill_heap::BitSet;
use anthill_session::{Session, check_group, no_node};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::heap::steps;
use crate::tree::{Node, Shown, View};
use crate::{Definitions, Error, Heap, HeapQuestion, Question, with_definitions};

/// Split objects by any list of classifiers
///
/// Every node shows its number of objects, their shallow size, their deep size (everything they
/// reach through references) and their retained size (everything that would be freed with them).
/// The sizes are exact for the node as a whole and include memory that several of its objects keep
/// alive only together. `anthill classifiers` lists the classifiers.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Classify {
    /// Steps, separated by commas: names of classifiers, filters and transformers, `where
    /// CONDITION`, `to OBJECTS`, or any expression to split by
    #[serde(default = "by_type")]
    #[schemars(extend("x-value" = "STEPS"))]
    pub by: String,
    /// Take only objects that meet this condition
    #[serde(rename = "where")]
    #[schemars(extend("x-value" = "CONDITION"))]
    pub condition: Option<String>,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// Take only objects whose class matches GLOB (`*`: any characters, `?`: one character)
    #[schemars(extend("x-value" = "GLOB"))]
    pub class: Option<String>,
    /// Include unreachable objects
    #[serde(default)]
    pub unreachable: bool,
    /// Take only the objects of this group; see docs/groups.md
    #[schemars(extend("x-excludes" = ["class", "unreachable"]))]
    pub group: Option<String>,
    /// Split one node further: its keys joined by ` > `, then ` => ` and steps; can be repeated
    #[serde(default)]
    pub split: Vec<Split>,
    /// Show only the node with these keys, joined by ` > `, and the nodes below it
    #[schemars(extend("x-value" = "KEYS"))]
    pub node: Option<String>,
    /// How much of the tree is shown, and in which order.
    #[serde(flatten)]
    pub shown: Shown,
}

pub(crate) fn by_type() -> String {
    "type".to_owned()
}

/// A node that is split on its own, and by which steps: `KEYS => STEPS`.
#[derive(Clone, Debug)]
pub struct Split {
    /// Its keys, joined by ` > `.
    pub node: String,
    /// Classifiers, filters and transformers, separated by commas.
    pub steps: String,
}

const WITHOUT_STEPS: &str = "it needs ` => ` between the keys and the steps, as in 'java.util.HashMap => \
     pointed-from, type'";

impl<'de> Deserialize<'de> for Split {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split_once(" => ") {
            Some((node, steps)) => Ok(Split {
                node: node.trim().to_owned(),
                steps: steps.to_owned(),
            }),
            None => Err(de::Error::custom(WITHOUT_STEPS)),
        }
    }
}

impl JsonSchema for Split {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Split".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": " => ",
            "x-value": "KEYS => STEPS",
            "x-contains": " => ",
            "x-mistake": WITHOUT_STEPS,
        })
    }
}

/// A classification tree, or the part of it below one node.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ClassifyAnswer")]
pub struct Answer {
    /// The group whose objects were split, as it was given; null without `--group`.
    pub group: Option<String>,
    /// The condition on the objects, as it was given; null without `--where`.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// The steps of the tree, as they were given.
    pub by: String,
    /// The keys of the node at the top, as they were given; null without `--node`.
    pub node: Option<String>,
    /// How many objects have a known allocation; absent if the steps do not use allocations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AllocationKnown")]
    pub allocation_known: Option<AllocationKnown>,
    /// The node of all objects, or the one that `--node` names.
    pub tree: Node,
    /// The keys of the nodes above the top.
    #[serde(skip)]
    pub above: Vec<String>,
    /// Bytes of the reachable heap.
    #[serde(skip)]
    pub reachable: u64,
    #[serde(skip)]
    found: ClassifiedTop,
}

/// How many of the split objects have a known allocation, because it was sampled.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ClassifyAllocationKnown")]
pub struct AllocationKnown {
    /// The number of objects whose allocation is known.
    pub objects: u64,
    /// The number of all objects that were split.
    pub of: u64,
}

/// What an answer is about.
struct ClassifiedTop {
    tree: Arc<Tree>,
    top: TreeNodeId,
    /// Its objects in the language of groups.
    expression: String,
}

impl Answer {
    /// Keeps the objects of the top as a group of this name.
    pub fn keep(&self, heap: &Heap, name: &str) -> Result<(), Error> {
        let session = &heap.session;
        let found = &self.found;
        let objects = found.tree.objects(session.state(), found.top);
        Ok(session.keep_group(name, &found.expression, &objects)?)
    }
}

impl Question for Classify {
    const NAME: &'static str = "classify";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        self.steps(&definitions)?;
        for split in &self.split {
            steps(&definitions, "--split", &split.steps)?;
        }
        match &self.group {
            Some(group) => Ok(check_group(group, &definitions)?),
            None => Ok(()),
        }
    }
}

impl HeapQuestion for Classify {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let definitions = with_definitions(&heap.definitions, &self.definitions)?;
        let steps = self.steps(&definitions)?;
        let tree = heap.tree(&self.key(), || {
            let group = self.objects(heap, &definitions)?;
            self.tree(session, &group, &steps, &definitions)
        })?;
        let top = find(&tree, self.node.as_deref().unwrap_or_default())?;
        let mut view = View::new(&tree, top, &self.shown);
        let mut allocation_known = None;
        if self.asks_for_allocation() {
            let weights = &session.state().tables.weights;
            view.estimates = (!weights.is_empty()).then(|| tree.sums(session.state(), weights));
            let group = self.objects(heap, &definitions)?;
            allocation_known = Some(AllocationKnown::new(session, &group));
        }
        Ok(Answer {
            group: self.group.clone(),
            condition: self.condition.clone(),
            by: self.by.clone(),
            node: self.node.clone(),
            allocation_known,
            tree: view.node(),
            above: above(&tree, top),
            reachable: session.analysis()?.total().retained,
            found: ClassifiedTop {
                tree,
                top,
                expression: self.expression(),
            },
        })
    }
}

impl Classify {
    /// The steps, the condition on the objects first.
    fn steps(&self, definitions: &Definitions) -> Result<Vec<Step>, Error> {
        let mut all = Vec::new();
        if let Some(condition) = &self.condition {
            let filter = definitions.filter(condition);
            all.push(filter.map_err(|mistake| Error::written(&mistake, "--where", condition))?);
        }
        all.extend(steps(definitions, "--by", &self.by)?);
        Ok(all)
    }

    /// Whether objects are split by what only some of them are known for.
    fn asks_for_allocation(&self) -> bool {
        let names = ["allocation-site", "allocating-thread", "age"];
        let mut words = self
            .by
            .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
        words.any(|word| names.contains(&word))
    }

    /// What the tree is made from.
    fn key(&self) -> String {
        let Classify {
            by,
            condition,
            class,
            unreachable,
            group,
            split,
            definitions,
            ..
        } = self;
        format!("{by:?} {condition:?} {class:?} {unreachable} {group:?} {split:?} {definitions:?}")
    }

    fn objects(&self, heap: &Heap, definitions: &Definitions) -> Result<BitSet, Error> {
        match &self.group {
            Some(group) => Ok(heap.session.group(group, definitions)?),
            None => heap.objects_of(self.class.as_deref(), self.unreachable),
        }
    }

    fn tree(
        &self,
        session: &Session,
        group: &BitSet,
        by: &[Step],
        definitions: &Definitions,
    ) -> Result<Tree, Error> {
        let mut tree = session.classify(group, by)?;
        if tree.node(OVERALL).objects == 0 {
            return Err(Error::NothingFound(self.nothing()));
        }
        for split in &self.split {
            let steps = steps(definitions, "--split", &split.steps)?;
            let node = find(&tree, &split.node)?;
            if !tree.can_be_split(node) {
                return Err(Error::unusable(
                    format!("--split: `{}` is already split", split.node),
                    "Choose a node without children, or add the steps to --by.",
                ));
            }
            session.split(&mut tree, node, &steps)?;
        }
        Ok(tree)
    }

    fn nothing(&self) -> String {
        let nothing = match (&self.condition, &self.group) {
            (Some(condition), _) => format!("no object matches `{condition}`"),
            (None, Some(group)) => format!("the group `{group}` has no objects in this heap"),
            (None, None) => "no matching objects".to_owned(),
        };
        match self.group.is_none() && !self.unreachable {
            true => {
                format!("{nothing}; --unreachable also includes unreachable objects")
            }
            false => nothing,
        }
    }

    /// The objects of the top in the language of groups.
    fn expression(&self) -> String {
        let mut objects = match (&self.group, &self.class) {
            (Some(group), _) => format!("({group})"),
            (None, Some(class)) => format!("class({class:?})"),
            (None, None) => "all()".to_owned(),
        };
        if let Some(condition) = &self.condition {
            objects += &format!(" & where({condition})");
        }
        match &self.node {
            Some(node) => format!("node({:?}, {node:?}, {objects})", self.by),
            None => objects,
        }
    }
}

/// The keys of the nodes above one.
fn above(tree: &Tree, node: TreeNodeId) -> Vec<String> {
    let nodes = std::iter::successors(tree.node(node).parent, |&id| tree.node(id).parent);
    let mut keys: Vec<String> = nodes.map(|id| tree.node(id).key.clone()).collect();
    keys.reverse();
    keys
}

fn find(tree: &Tree, path: &str) -> Result<TreeNodeId, Error> {
    tree.find(path)
        .map_err(|(last, rest)| Error::NothingFound(no_node(tree, last, rest)))
}

impl AllocationKnown {
    fn new(session: &Session, group: &BitSet) -> Self {
        let tables = &session.state().tables;
        let allocations = tables.allocations.iter().map(|known| known.0);
        let ages = tables.ages.iter().map(|known| known.0);
        let mut known = BitSet::new(group.capacity());
        for object in allocations.chain(ages) {
            if group.contains(object) {
                known.insert(object);
            }
        }
        AllocationKnown {
            objects: known.count() as u64,
            of: group.count() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn what_is_shown_of_the_tree_is_asked_for_among_the_rest() {
        let given = [
            ("where", "size > 1K"),
            ("split", "a > b => type, package"),
            ("depth", "2"),
            ("least", "5%"),
            ("sort", "name"),
        ];
        let asked: Classify = read(given).unwrap();
        assert_eq!(asked.condition.as_deref(), Some("size > 1K"));
        assert_eq!((&*asked.split[0].node, &*asked.by), ("a > b", "type"));
        assert_eq!(asked.split[0].steps, "type, package");
        assert_eq!(asked.shown.depth.most(), 2);
        assert_eq!(asked.shown.least.map(|least| least.0), Some(5.0));
        assert_eq!(asked.shown.limit, None);
    }

    #[test]
    fn mistakes_are_found_without_a_heap() {
        for (option, text) in [
            ("split", "a"),
            ("split", "a => nonsense("),
            ("by", "nonsense("),
            ("where", "size >"),
            ("group", "retained("),
            ("definitions", "nonsense"),
            ("least", "101"),
            ("depth", "-1"),
            ("sort", "size"),
            ("save", "name"),
        ] {
            let asked = read::<Classify>([(option, text)]);
            let checked = asked.and_then(|asked| asked.check(&Definitions::default()));
            assert!(checked.is_err(), "{option} {text}");
        }
    }
}
