//! Everything about one object group.

use anthill_classify::{OVERALL, Step};
use anthill_heap::BitSet;
use anthill_paths::{BranchClass, MergedPaths, PathGraph};
use anthill_session::{Closures, Session, check_group};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::classify::by_type;
use crate::heap::steps;
use crate::paths::{self, Merged, Targets, merged};
use crate::tree::{Node, Shown, View};
use crate::{ClassNames, Definitions, Error, Heap, HeapQuestion, Question, with_definitions};

/// Inspect an object group: its sizes, roots, closures and the paths to it
///
/// The output shows the shallow, deep and retained size of the group; the objects through which GC
/// roots and static fields keep it alive; the contents of its transitive closure and of its GC
/// closure; and the merged shortest paths from the GC roots. docs/groups.md describes the language
/// of groups.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Inspect {
    /// The group: a class, an address, or any other group
    #[schemars(extend("x-subject" = true))]
    pub group: String,
    /// Split the closures by these steps
    #[serde(default = "by_type")]
    #[schemars(extend("x-value" = "STEPS"))]
    pub by: String,
    /// Split the root objects by these steps
    #[serde(default = "by_root")]
    #[schemars(extend("x-value" = "STEPS"))]
    pub roots_by: String,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// How much of the trees is shown, and in which order.
    #[serde(flatten)]
    pub shown: Shown,
    /// Show each data structure on the paths as one step, without its internals
    #[serde(default)]
    pub collapse: bool,
}

fn by_root() -> String {
    "rooted".to_owned()
}

/// Branches at each step of the paths; the question about paths shows more.
const MOST_BRANCHES: usize = 5;
/// Branches that lead to less than this part are left out of paths, in percent. Programs too get only the main ways: they branch at
/// every step.
const LEAST_OF_PATHS: f64 = 1.0;

/// An object group: its sizes, roots and closures, and the paths to it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InspectAnswer")]
pub struct Answer {
    /// The group as it was given.
    pub group: String,
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
    /// Bytes of the reachable heap.
    pub heap: u64,
    /// The steps by which the closures are split.
    pub by: String,
    /// The steps by which the root objects are split.
    pub roots_by: String,
    /// The root objects that keep the group alive.
    pub roots_keeping: Node,
    /// The root objects from which references of any strength lead to the group.
    pub roots_reaching: Node,
    /// Whether those are the same as the ones that keep it alive.
    #[serde(skip)]
    pub same_roots: bool,
    /// The objects that the group reaches.
    pub transitive_closure: Node,
    /// The objects that would be freed with the group.
    pub gc_closure: Node,
    /// The merged paths to the group, with at most five branches at each step and by default only
    /// branches of at least 1 %; null if nothing of the group is reachable.
    pub paths: Option<Merged>,
    #[serde(skip)]
    found: MergedPaths,
    /// Percent of the objects that a way must lead to.
    #[serde(skip)]
    least_of_paths: f64,
}

/// A graph of classes.
pub struct Graph {
    /// Nodes and edges.
    pub of: PathGraph,
    /// By node.
    pub names: Vec<String>,
    /// Edges that lead to less than this part of the objects are to be left out, in percent.
    pub least: f64,
}

impl Answer {
    /// The ways to the group as a graph with one node for each class.
    pub fn graph(&self, heap: &Heap) -> Graph {
        let graph = self.found.graph();
        Graph {
            names: names(&heap.session, &graph),
            of: graph,
            least: self.least_of_paths,
        }
    }
}

impl Question for Inspect {
    const NAME: &'static str = "inspect";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        self.splits(&definitions)?;
        Ok(check_group(&self.group, &definitions)?)
    }
}

impl HeapQuestion for Inspect {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let definitions = with_definitions(&heap.definitions, &self.definitions)?;
        let splits = self.splits(&definitions)?;
        let group = session.group(&self.group, &definitions)?;
        if group.is_empty() {
            let reason = format!("the group `{}` has no objects in this dump", self.group);
            return Err(Error::NothingFound(reason));
        }
        let closures = session.closures(&group)?;
        let metrics = &closures.metrics;
        let targets = Targets {
            name: self.group.clone(),
            nodes: group.iter().collect(),
            retained: metrics.retained.bytes,
        };
        let merged = merged(session, &targets, self.collapse)?;
        let trees = self.trees(session, &group, &closures, &splits)?;
        let shown = self.shown_paths();
        Ok(Answer {
            group: self.group.clone(),
            objects: metrics.objects,
            shallow: metrics.shallow,
            deep: metrics.deep.bytes,
            deep_objects: metrics.deep.objects,
            retained: metrics.retained.bytes,
            retained_objects: metrics.retained.objects,
            heap: session.analysis()?.total().retained,
            by: self.by.clone(),
            roots_by: self.roots_by.clone(),
            roots_keeping: trees.keeping,
            roots_reaching: trees.reaching,
            same_roots: trees.same_roots,
            transitive_closure: trees.reached,
            gc_closure: trees.retained,
            paths: match merged.targets {
                0 => None,
                _ => Some(Merged::new(session, &targets, &merged, &shown)?),
            },
            found: merged,
            least_of_paths: shown.least,
        })
    }
}

/// The steps of both kinds of trees.
struct Splits {
    by: Vec<Step>,
    roots_by: Vec<Step>,
}

/// The classification trees of a group.
struct Trees {
    keeping: Node,
    reaching: Node,
    same_roots: bool,
    reached: Node,
    retained: Node,
}

impl Inspect {
    fn splits(&self, definitions: &Definitions) -> Result<Splits, Error> {
        Ok(Splits {
            by: steps(definitions, "--by", &self.by)?,
            roots_by: steps(definitions, "--roots-by", &self.roots_by)?,
        })
    }

    fn shown_paths(&self) -> paths::Shown {
        let limit = self.shown.limit.unwrap_or_default().most();
        let least = self.shown.least;
        paths::Shown {
            limit: limit.min(MOST_BRANCHES),
            least: least.map_or(LEAST_OF_PATHS, |least| least.0),
        }
    }

    fn trees(
        &self,
        session: &Session,
        group: &BitSet,
        closures: &Closures,
        splits: &Splits,
    ) -> Result<Trees, Error> {
        let (by, roots_by) = (&splits.by[..], &splits.roots_by[..]);
        let (keeping, reaching) = session.roots_of_both_kinds(group)?;
        let mut groups = vec![
            (&closures.reached, by),
            (&closures.retained, by),
            (&keeping, roots_by),
        ];
        let same_roots = reaching == keeping;
        if !same_roots {
            groups.push((&reaching, roots_by));
        }
        let trees = session.classify_all(&groups)?;
        let node = |place: usize| View::new(&trees[place], OVERALL, &self.shown).node();
        Ok(Trees {
            reached: node(0),
            retained: node(1),
            keeping: node(2),
            reaching: node(if same_roots { 2 } else { 3 }),
            same_roots,
        })
    }
}

/// The names of the classes of a graph, by node.
fn names(session: &Session, graph: &PathGraph) -> Vec<String> {
    let names = ClassNames::new(session);
    let name = |class: BranchClass| match class {
        BranchClass::Instances(class) => names.unambiguous(class),
        BranchClass::ClassObject(class) => format!("class {}", names.unambiguous(class)),
        BranchClass::SystemLoader => "java.lang.ClassLoader".to_owned(),
    };
    graph.nodes.iter().map(|node| name(node.class)).collect()
}
