//! What does not hold, as answers have it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::mirrored::mirrored;

mirrored! {
    /// The kinds of rules and assertions.
    #[schemars(rename = "CheckKind")]
    Kind = anthill_assertions::Kind {
        /// An object that must be dead is reachable.
        Dead,
        /// Objects that were allocated in a region and must be dead are reachable.
        AllDead,
        /// A class has too many or too few instances.
        Instances,
        /// More than one reference leads to an object.
        Unshared,
        /// An object is reachable, but not from its owner.
        OwnedBy,
        /// An owner reaches too many objects without passing through another owner.
        PerOwner,
        /// The shallow size of objects, in bytes, is out of bounds.
        Shallow,
        /// The retained size of objects, in bytes, is out of bounds.
        Retained,
        /// The deep size of objects, in bytes, is out of bounds.
        Deep,
        /// The number of elements of data structures is out of bounds.
        Elements,
        /// The capacity of data structures is out of bounds.
        Capacity,
        /// The elements of data structures in percent of their capacity are out of bounds.
        Fill,
        /// An object is reachable from where it must not be.
        Reachable,
        /// A figure grew too much.
        Growth,
    }
}

mirrored! {
    /// The severity of a rule.
    #[schemars(rename = "CheckSeverity")]
    Severity = anthill_assertions::Severity {
        /// Worth knowing.
        Note,
        /// Worth looking at.
        Warning,
        /// Must not happen.
        Error,
    }
}

/// A violation of a rule or an assertion. It stands for all violations that are alike: objects of the
/// same class on the same path through classes and fields.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckViolation")]
pub struct Violation {
    /// The kind of the claim that is violated.
    pub kind: Kind,
    /// The name of the rule; null for assertions.
    pub rule: Option<String>,
    /// The severity of the rule; `error` for assertions.
    pub severity: Severity,
    /// The violation in one sentence.
    pub what: String,
    /// The message that the author of the rule or assertion gave; null if there is none.
    pub message: Option<String>,
    /// The stack where the assertion was made, innermost frame first; empty for rules.
    pub made_at: Vec<String>,
    /// The class of the objects that violate the rule or assertion.
    pub class: String,
    /// The number of objects in this violation.
    pub count: u64,
    /// Shallow size of these objects in bytes.
    pub bytes: u64,
    /// One of the objects, the worst if there are figures; null if there is none.
    pub object: Option<Named>,
    /// The object that should own it; null if the violation is not about owners.
    pub owner: Option<Named>,
    /// The allowed figure in the unit of the rule: bytes, percent or a number; null if there is none.
    pub limit: Option<f64>,
    /// The actual figure in the same unit; null if there is none.
    pub found: Option<f64>,
    /// Paths from GC roots to the object, or to some of the objects.
    pub paths: Vec<Path>,
    /// For an object that must not be shared: all objects that refer to it.
    pub referrers: Vec<Step>,
    /// How the objects are held, if there are many; most objects first.
    pub holders: Vec<Holders>,
    /// N if only every Nth object was looked up for `holders`; otherwise null.
    pub sampled: Option<u64>,
    /// Whether Anthill already reported all of these objects while the program ran.
    pub reported: bool,
    /// The same as it was found, which can be written in lines.
    #[serde(skip)]
    pub told: anthill_assertions::Violation,
}

/// An object.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckNamed")]
pub struct Named {
    /// The name of the object's class, in Java notation.
    pub class: String,
    /// The address of the object: `0x…`.
    pub address: String,
    /// The object as people see it: class, array length, contents of a string, name of a thread,
    /// address.
    pub label: String,
}

/// An object on a path.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckStep")]
pub struct Step {
    /// How the previous object holds this one; null for the first step.
    pub via: Option<String>,
    /// The object at this step.
    #[serde(flatten)]
    pub object: Named,
}

/// A path from a GC root to an object.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckPath")]
pub struct Path {
    /// The GC root in words.
    pub root: String,
    /// The name of the thread to which the root belongs; null if there is none.
    pub thread: Option<String>,
    /// The stack frame to which the root belongs; null if there is none.
    pub frame: Option<String>,
    /// The objects from the GC root to the target, except those skipped.
    pub steps: Vec<Step>,
    /// The number of objects left out after the first half of the steps.
    pub skipped: usize,
}

/// Objects that are held in the same way.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckHolders")]
pub struct Holders {
    /// The number of objects that are held in this way.
    pub count: u64,
    /// How the objects are held, for example `static field Registry.all → elementData → […]`.
    pub held_by: String,
    /// The last object on the path before one of the objects; null if there is none.
    pub example: Option<Named>,
}

impl From<anthill_assertions::Violation> for Violation {
    fn from(told: anthill_assertions::Violation) -> Self {
        Violation {
            kind: told.kind.into(),
            rule: told.rule.clone(),
            severity: told.severity.into(),
            what: told.what.clone(),
            message: told.message.clone(),
            made_at: told.made_at.clone(),
            class: told.class.clone(),
            count: told.count,
            bytes: told.bytes,
            object: told.object.as_ref().map(Named::from),
            owner: told.owner.as_ref().map(Named::from),
            limit: told.limit,
            found: told.found,
            paths: told.paths.iter().map(Path::from).collect(),
            referrers: told.referrers.iter().map(Step::from).collect(),
            holders: told.holders.iter().map(Holders::from).collect(),
            sampled: told.sampled,
            reported: told.reported,
            told,
        }
    }
}

impl From<&anthill_assertions::Named> for Named {
    fn from(named: &anthill_assertions::Named) -> Self {
        Named {
            class: named.class.clone(),
            address: named.address.clone(),
            label: named.label.clone(),
        }
    }
}

impl From<&anthill_assertions::NamedStep> for Step {
    fn from(step: &anthill_assertions::NamedStep) -> Self {
        Step {
            via: step.via.clone(),
            object: (&step.object).into(),
        }
    }
}

impl From<&anthill_assertions::NamedPath> for Path {
    fn from(path: &anthill_assertions::NamedPath) -> Self {
        Path {
            root: path.root.clone(),
            thread: path.thread.clone(),
            frame: path.frame.clone(),
            steps: path.steps.iter().map(Step::from).collect(),
            skipped: path.skipped,
        }
    }
}

impl From<&anthill_assertions::Holders> for Holders {
    fn from(holders: &anthill_assertions::Holders) -> Self {
        Holders {
            count: holders.count,
            held_by: holders.held_by.clone(),
            example: holders.example.as_ref().map(Named::from),
        }
    }
}
