//! Why an object, or the objects of a class, are alive.

use anthill_classify::Definitions;
use anthill_graph::NodeId;
use anthill_heap::{ClassId, ObjectId};
use anthill_paths::{
    Branch, BranchClass, MergedPaths, PATH_ENDS, PathStep, RootsByObject, collapsed_paths,
    collapsed_steps, merged_paths, path_steps, paths_to, weak_references_to,
};
use anthill_session::{Session, check_group};
use anthill_syntax::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::count;
use crate::{
    ClassNames, Error, Heap, HeapQuestion, Limit, ObjectName, Percent, Question, RootName,
    Strength, address, hex, object_at, with_definitions,
};

/// Show why objects are alive: the shortest paths from the GC roots to them
///
/// For one object, given by its address, the command shows a shortest path through each object that
/// refers to it. For a class, given by name or pattern, it merges the shortest paths to all objects
/// of the class where they pass through the same fields of the same classes. Each line shows how
/// many of the objects it leads to, and how many bytes they hold. Each object counts on one path
/// only, even if other paths lead to it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Paths {
    /// The address of an object (0x… or decimal), or the name of a class, with `*` and `?` as
    /// wildcards
    #[schemars(extend("x-subject" = true, "x-value" = "OBJECT|CLASS"))]
    pub target: Option<String>,
    /// Show the paths to the objects of this group; see docs/groups.md
    #[schemars(extend("x-value" = "GROUP", "x-excludes" = ["target"]))]
    pub group: Option<String>,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// Show each data structure as one step, without its internals: a map, not its table and nodes
    #[serde(default)]
    pub collapse: bool,
    /// Show at most N paths to an object, or N branches at each step to a class; 0 for all
    #[serde(default = "usual_limit")]
    pub limit: Limit,
    /// Hide branches that lead to less than this percentage of both the objects and the bytes
    #[serde(default = "usual_least")]
    pub least: Percent,
}

fn usual_limit() -> Limit {
    Limit(5)
}

fn usual_least() -> Percent {
    Percent(1.0)
}

/// The paths to one object, or merged paths to several.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PathsAnswer")]
pub enum Answer {
    /// The paths to one object.
    Object(ObjectPaths),
    /// The merged paths to the objects of a class or group.
    Merged(Merged),
}

/// The paths to one object.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PathsObjectPaths")]
pub struct ObjectPaths {
    /// The object that the paths lead to.
    pub object: ObjectName,
    /// For each holder of the object, the shortest path that does not pass through the object itself;
    /// the object alone if it is a GC root.
    pub paths: Vec<ObjectPath>,
    /// The number of paths that `--limit` left out.
    pub omitted: usize,
}

/// A path from a GC root.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PathsObjectPath")]
pub struct ObjectPath {
    /// The GC roots that hold the first object of the path.
    pub roots: Vec<RootName>,
    /// What the path starts with where the source has no root: MAT's stand-in for the boot loader.
    #[serde(skip)]
    pub start: String,
    /// The number of objects on the path.
    pub length: usize,
    /// The number of objects left out after the first half of the steps: a path of more than 30 objects
    /// shows 15 at each end.
    pub skipped: usize,
    /// The objects from the GC root to the target, except those skipped.
    pub steps: Vec<Step>,
}

/// An object on a path.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PathsStep")]
pub struct Step {
    /// How the previous object holds this one: a field, `[17]`, `static field`, `class`, `superclass`,
    /// `class loader`, `signers`, `protection domain`, `referent (weak)` or `local variable`; null for
    /// the first step.
    pub via: Option<String>,
    /// The object at this step.
    #[serde(flatten)]
    pub object: ObjectName,
}

/// The merged paths to the objects of a class or group.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PathsMerged")]
pub struct Merged {
    /// The class, or the pattern or group as it was given.
    pub target: String,
    /// The number of target objects with a path. Each object counts on one shortest path only.
    pub objects: u64,
    /// Bytes that would be freed if all target objects were gone, exactly.
    pub retained: u64,
    /// Bytes that each target object retains alone, added up; an object that another one of them
    /// dominates does not count again. Bytes that only several of them keep alive together are in
    /// `retained` but not here.
    pub held: u64,
    /// The number of target objects with another holder than the last step of their path or the GC
    /// root.
    pub other_holders: u64,
    /// The number of target objects without a path from a GC root.
    pub unreachable_objects: u64,
    /// References that lead to the unreachable target objects without keeping them alive; empty if
    /// there are none.
    pub led_to: Vec<LedTo>,
    /// The branches that begin at GC roots, most `held` first, then most `objects`.
    pub branches: Vec<ShownBranch>,
    /// The branches that the limits left out at the top.
    pub omitted: Omitted,
    /// The address of one of the objects, where most is held.
    #[serde(skip)]
    pub example: String,
}

/// Branches that the limits left out at one place. `--least` leaves out branches with too small a share
/// of both `objects` and `held`, `--limit` keeps those with the largest share of either, and there are
/// at most 60 levels.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "PathsOmitted")]
pub struct Omitted {
    /// The number of branches left out.
    pub branches: u64,
    /// The number of target objects that end in these branches or below.
    pub objects: u64,
    /// Bytes that each of these target objects retains alone, added up.
    pub held: u64,
}

/// Objects of a class that are held in the same way.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PathsShownBranch")]
pub struct ShownBranch {
    /// How the branch above holds this one, with `[…]` for elements of arrays; for a branch at the top,
    /// the GC root in words.
    pub via: String,
    /// The class of the objects merged here, with its class loader if several classes have this name.
    pub class: String,
    /// Whether the branch stands for the class object itself instead of instances.
    pub class_object: bool,
    /// The number of distinct objects merged here.
    pub merged: u64,
    /// The fields by which objects of the branch hold others of the branch, as in a linked list;
    /// otherwise empty.
    pub through: Vec<String>,
    /// Numbers N for which paths go the last N steps down to here several times in a row; mostly empty.
    pub repeats: Vec<usize>,
    /// The number of target objects that end here.
    pub here: u64,
    /// The number of target objects that end here or below.
    pub objects: u64,
    /// Bytes that each of these target objects retains alone, added up.
    pub held: u64,
    /// The address of one of the objects merged here.
    pub example: String,
    /// The number of steps left out between this branch and the only one below it: a chain of more than
    /// 30 steps without a side branch shows 15 at each end.
    pub skipped: usize,
    /// The branches below, most `held` first, then most `objects`.
    pub children: Vec<ShownBranch>,
    /// The branches that the limits left out right below.
    pub omitted: Omitted,
}

/// Unreachable objects to which references of certain kinds lead.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PathsLedTo")]
pub struct LedTo {
    /// The kinds of references; several if only all of them together lead to the objects.
    pub kinds: Vec<Strength>,
    /// The number of unreachable target objects to which they lead.
    pub objects: u64,
}

/// Why so many objects are unreachable, in words.
pub fn unreachable(objects: u64, led_to: &[LedTo]) -> String {
    if led_to.is_empty() {
        return "unreachable: no GC root in the dump leads there".to_owned();
    }
    let lead = |led_to: &LedTo| {
        let kinds: Vec<&str> = led_to.kinds.iter().map(|kind| kind.name()).collect();
        match (objects, led_to.objects) {
            (1, _) => kinds.join(" and "),
            (_, to) => format!("{} to {}", kinds.join(" and "), count(to)),
        }
    };
    let leads: Vec<String> = led_to.iter().map(lead).collect();
    format!(
        "unreachable: only references that do not keep objects alive lead there ({})",
        leads.join(", ")
    )
}

impl Question for Paths {
    const NAME: &'static str = "paths";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        match (&self.group, &self.target) {
            (Some(group), _) => {
                let definitions = with_definitions(definitions, &self.definitions)?;
                Ok(check_group(group, &definitions)?)
            }
            (None, Some(_)) => Ok(()),
            (None, None) => Err(Error::unusable(
                "no objects to find paths to",
                "Give the address of an object, a class, or a group with --group.",
            )),
        }
    }
}

impl HeapQuestion for Paths {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let target = self.target.as_deref().unwrap_or_default();
        let targets = match &self.group {
            Some(group) => {
                let definitions = with_definitions(&heap.definitions, &self.definitions)?;
                Targets::of_group(session, group, &definitions)?
            }
            None if address(target).is_some() => {
                let object = object_at(session, target)?;
                return Ok(Answer::Object(self.to_object(session, object)?));
            }
            None => Targets::of_class(session, target)?,
        };
        let merged = merged(session, &targets, self.collapse)?;
        let shown = Shown {
            limit: self.limit.most(),
            least: self.least.0,
        };
        let merged = Merged::new(session, &targets, &merged, &shown)?;
        Ok(Answer::Merged(merged))
    }
}

impl Paths {
    fn to_object(&self, session: &Session, object: ObjectId) -> Result<ObjectPaths, Error> {
        let analysis = session.analysis()?;
        let name = ObjectName::new(session, analysis, object);
        if !analysis.dominators.is_reachable(object) {
            return Err(Error::Unreachable {
                target: name.label,
                objects: None,
                led_to: led_to(session, &[object])?,
                convention: session.convention(),
            });
        }
        let found = paths_to(session, object, self.limit.most())?;
        let graph = session.graph();
        let roots = RootsByObject::new(session);
        Ok(ObjectPaths {
            object: name,
            omitted: found.omitted,
            paths: found
                .paths
                .iter()
                .map(|path| {
                    let of_root = roots.of(path[0]).iter();
                    let (steps, skipped) = match self.collapse {
                        true => collapsed_steps(session, &graph, path)?,
                        false => path_steps(session, &graph, path),
                    };
                    let step = |step: PathStep| Step {
                        via: step.via,
                        object: ObjectName::new(session, analysis, step.node),
                    };
                    Ok(ObjectPath {
                        roots: of_root.map(|root| RootName::new(session, root)).collect(),
                        start: roots.name(path[0]),
                        length: path.len(),
                        skipped,
                        steps: steps.into_iter().map(step).collect(),
                    })
                })
                .collect::<Result<_, Error>>()?,
        })
    }
}

/// The merged paths to some objects, with structures as they are or as one step each.
pub fn merged(session: &Session, targets: &Targets, collapse: bool) -> Result<MergedPaths, Error> {
    Ok(match collapse {
        true => collapsed_paths(session, &targets.nodes)?,
        false => merged_paths(session, &targets.nodes)?,
    })
}

/// Which objects paths are to lead to.
pub struct Targets {
    /// How a person called them, and how results say what they are.
    pub name: String,
    /// The objects, reachable or not.
    pub nodes: Vec<NodeId>,
    /// Bytes that would be freed if all of them were gone.
    pub retained: u64,
}

impl Targets {
    /// All objects of the classes that a name or glob fits.
    fn of_class(session: &Session, target: &str) -> Result<Self, Error> {
        let (state, graph) = (session.state(), session.graph());
        let pattern = Pattern::class(target);
        let classes: Vec<ClassId> = (0..)
            .zip(state.classes())
            .filter(|(_, class)| pattern.matches(&class.name))
            .map(|(id, _)| id)
            .collect();
        if classes.is_empty() {
            let names = state.classes().iter().map(|class| class.name.as_str());
            return Err(Error::NothingFound(pattern.no_match("class", names)));
        }
        let mut wanted = vec![false; state.classes().len()];
        classes.iter().for_each(|&id| wanted[id as usize] = true);
        let is_target = |node: &NodeId| {
            graph
                .class(*node)
                .is_some_and(|class| wanted[class as usize])
        };
        let nodes: Vec<NodeId> = (0..graph.len()).filter(is_target).collect();
        Ok(Targets {
            name: match classes[..] {
                [class] => state.classes()[class as usize].name.clone(),
                _ => target.to_owned(),
            },
            retained: session.retained_by(&classes, &nodes)?,
            nodes,
        })
    }

    fn of_group(session: &Session, text: &str, definitions: &Definitions) -> Result<Self, Error> {
        let group = session.group(text, definitions)?;
        Ok(Targets {
            name: text.to_owned(),
            retained: session.measure(&group)?.retained.bytes,
            nodes: group.iter().collect(),
        })
    }
}

/// How much of merged paths is shown.
pub struct Shown {
    /// Branches at each step at most.
    pub limit: usize,
    /// Percent of the objects or of the bytes at least.
    pub least: f64,
}

impl Merged {
    /// Prepares merged paths for showing; an error if none of the objects is reachable.
    pub fn new(
        session: &Session,
        targets: &Targets,
        merged: &MergedPaths,
        shown: &Shown,
    ) -> Result<Self, Error> {
        let target = targets.name.clone();
        let led_to = led_to(session, &merged.unreachable)?;
        let unreachable_objects = merged.unreachable.len() as u64;
        if merged.targets == 0 {
            return Err(match unreachable_objects {
                0 => Error::NothingFound(format!("{target} has no objects in this dump")),
                objects => Error::Unreachable {
                    target,
                    objects: Some(objects),
                    led_to,
                    convention: session.convention(),
                },
            });
        }
        let view = View {
            session,
            names: ClassNames::new(session),
            limit: shown.limit,
            least: shown.least,
            merged,
        };
        let (branches, omitted) = view.branches(&merged.tops, 1, 0);
        Ok(Merged {
            target,
            objects: merged.targets,
            retained: targets.retained,
            held: merged.held,
            other_holders: merged.other_holders,
            unreachable_objects,
            led_to,
            branches,
            omitted,
            example: hex(session.address(view.example())),
        })
    }
}

/// Levels of branches that are shown: readers of JSON commonly take 128 levels of nesting, and
/// a branch makes two.
const DEEPEST: usize = 60;

/// What of the merged paths is shown.
struct View<'a> {
    session: &'a Session,
    names: ClassNames<'a>,
    limit: usize,
    least: f64,
    merged: &'a MergedPaths,
}

impl View<'_> {
    /// Branches at one place, and what is left out there. `straight` is how many branches right
    /// above have nothing but the next one.
    fn branches(
        &self,
        branches: &[usize],
        level: usize,
        straight: usize,
    ) -> (Vec<ShownBranch>, Omitted) {
        let shown = match level > DEEPEST {
            true => Vec::new(),
            false => self.shown(branches),
        };
        let (all, kept) = (self.sum(branches), self.sum(&shown));
        let omitted = Omitted {
            branches: all.branches - kept.branches,
            objects: all.objects - kept.objects,
            held: all.held - kept.held,
        };
        let shown = shown.into_iter();
        let shown = shown.map(|index| self.branch(index, level, straight));
        (shown.collect(), omitted)
    }

    fn sum(&self, branches: &[usize]) -> Omitted {
        let branches = branches.iter().map(|&index| &self.merged.branches[index]);
        branches.fold(Omitted::default(), |sum, branch| Omitted {
            branches: sum.branches + 1,
            objects: sum.objects + branch.targets,
            held: sum.held + branch.held,
        })
    }

    fn branch(&self, index: usize, level: usize, straight: usize) -> ShownBranch {
        let branch = &self.merged.branches[index];
        let mut below = branch.children.as_slice();
        let mut straight = match self.only_next(index) {
            Some(_) => straight + 1,
            None => 0,
        };
        let mut skipped = 0;
        if straight == PATH_ENDS {
            let down = |&index: &usize| self.only_next(index);
            let rest = std::iter::successors(below.first().copied(), down);
            skipped = rest.count().saturating_sub(PATH_ENDS);
            for _ in 0..skipped {
                below = &self.merged.branches[below[0]].children;
            }
            straight = 0;
        }
        let (children, omitted) = self.branches(below, level + 1, straight);
        ShownBranch {
            via: branch.via.clone(),
            class: match branch.class {
                BranchClass::Instances(class) | BranchClass::ClassObject(class) => {
                    self.names.unambiguous(class)
                }
                BranchClass::SystemLoader => "java.lang.ClassLoader".to_owned(),
            },
            class_object: matches!(branch.class, BranchClass::ClassObject(_)),
            merged: branch.merged,
            through: branch.through.clone(),
            repeats: branch.periods.clone(),
            here: branch.here,
            objects: branch.targets,
            held: branch.held,
            example: hex(self.session.address(branch.example)),
            skipped,
            children,
            omitted,
        }
    }

    /// The branch below, if there is one and the branch has nothing else.
    fn only_next(&self, index: usize) -> Option<usize> {
        let branch = &self.merged.branches[index];
        match branch.children[..] {
            [next] if branch.here == 0 => Some(next),
            _ => None,
        }
    }

    /// The branches at one place that matter by objects or by bytes, in their order.
    fn shown(&self, branches: &[usize]) -> Vec<usize> {
        let part = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
        let percent = |&index: &usize| {
            let branch = &self.merged.branches[index];
            let objects = part(branch.targets, self.merged.targets);
            objects.max(part(branch.held, self.merged.held))
        };
        let mut shown: Vec<(usize, usize)> = (0..)
            .zip(branches.iter().copied())
            .filter(|(_, index)| percent(index) >= self.least)
            .collect();
        if shown.len() > self.limit {
            shown.sort_by(|(_, a), (_, b)| percent(b).total_cmp(&percent(a)));
            shown.truncate(self.limit);
            shown.sort_unstable();
        }
        shown.into_iter().map(|(_, index)| index).collect()
    }

    /// A target at the end of the branch that holds most.
    fn example(&self) -> NodeId {
        let first = |branches: &[usize]| branches.first().map(|&top| &self.merged.branches[top]);
        let down = |branch: &&Branch| match branch.here {
            0 => first(&branch.children),
            _ => None,
        };
        let end = std::iter::successors(first(&self.merged.tops), down).last();
        end.map_or(0, |branch| branch.example)
    }
}

fn led_to(session: &Session, unreachable: &[NodeId]) -> Result<Vec<LedTo>, Error> {
    let found = weak_references_to(session, unreachable)?.into_iter();
    Ok(found
        .map(|(kinds, objects)| LedTo {
            kinds: kinds.into_iter().map(Strength::from).collect(),
            objects,
        })
        .collect())
}
