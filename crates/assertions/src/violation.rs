//! What a violation says, and how it reads in lines: the same in a program's log, on a console and
//! for whoever asked in the program.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reachable, though it was to be dead.
    Dead,
    /// The same, of what was allocated in a region.
    AllDead,
    /// Too many or too few of a class.
    Instances,
    /// More than one reference.
    Unshared,
    /// Reachable, but not from its owner.
    OwnedBy,
    /// Of each owner.
    PerOwner,
    /// Own bytes.
    Shallow,
    /// Bytes that would die with the objects.
    Retained,
    /// Bytes of all that the objects reach.
    Deep,
    /// Elements of data structures.
    Elements,
    /// Room of data structures.
    Capacity,
    /// Elements as a share of the room.
    Fill,
    /// Reachable from where it must not be.
    Reachable,
    /// A figure that grew.
    Growth,
}

impl Kind {
    /// The kind of that name among those that programs assert.
    pub fn of_assertion(name: &str) -> Option<Self> {
        let all = [
            Kind::Dead,
            Kind::AllDead,
            Kind::Instances,
            Kind::Unshared,
            Kind::OwnedBy,
        ];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// The word for it in results and rules.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dead => "dead",
            Kind::AllDead => "all-dead",
            Kind::Instances => "instances",
            Kind::Unshared => "unshared",
            Kind::OwnedBy => "owned-by",
            Kind::PerOwner => "per-owner",
            Kind::Shallow => "shallow",
            Kind::Retained => "retained",
            Kind::Deep => "deep",
            Kind::Elements => "elements",
            Kind::Capacity => "capacity",
            Kind::Fill => "fill",
            Kind::Reachable => "reachable",
            Kind::Growth => "growth",
        }
    }
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
/// How bad a violation is.
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// It should be looked at.
    Warning,
    /// It must not be.
    #[default]
    Error,
}

/// An object as results name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// In Java notation.
    pub class: String,
    /// In hexadecimal digits.
    pub address: String,
    /// Class, text or name, and address, as everywhere.
    pub label: String,
}

/// An object on a path and how the one before holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedStep {
    /// The field or element; none for the first object.
    pub via: Option<String>,
    /// The object itself.
    #[serde(flatten)]
    pub object: Named,
}

/// A path from a root to an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPath {
    /// The root in words.
    pub root: String,
    /// The thread whose root it is.
    pub thread: Option<String>,
    /// The call whose variable it is.
    pub frame: Option<String>,
    /// From the root on.
    pub steps: Vec<NamedStep>,
    /// Objects left out in the middle of a very long path, after the first half of the steps.
    pub skipped: usize,
}

/// Objects that are held in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holders {
    /// How many.
    pub count: u64,
    /// How: `static field Registry.all → elementData → […]`.
    pub held_by: String,
    /// The last object before them, for one of them.
    pub example: Option<Named>,
}

/// Something that must hold and does not, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// What did not hold.
    pub kind: Kind,
    /// The name of the rule; none for what the program itself asserted.
    pub rule: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub what: String,
    /// What the person who wrote the assertion or rule says about it.
    pub message: Option<String>,
    /// Where the assertion was made, innermost frame first.
    pub made_at: Vec<String>,
    /// The class of the objects.
    pub class: String,
    /// How many objects violate it in the same way.
    pub count: u64,
    /// Their bytes, without what they hold.
    pub bytes: u64,
    /// One of them.
    pub object: Option<Named>,
    /// Who should own it.
    pub owner: Option<Named>,
    /// What the figure may be.
    pub limit: Option<f64>,
    /// What the figure is.
    pub found: Option<f64>,
    /// Some ways to the object.
    pub paths: Vec<NamedPath>,
    /// All that refer to an object that must not be shared.
    pub referrers: Vec<NamedStep>,
    /// How the objects are held, where they are many.
    pub holders: Vec<Holders>,
    /// The holders of every so many objects were looked up only, where they are very many.
    pub sampled: Option<u64>,
    /// Whether all of it was reported while the program ran.
    pub reported: bool,
    /// The program's numbers for the assertions.
    #[serde(skip)]
    pub ids: Vec<i64>,
}

impl Violation {
    /// A violation that says nothing yet.
    pub fn of(kind: Kind) -> Self {
        Violation {
            kind,
            rule: None,
            severity: Severity::Error,
            what: String::new(),
            message: None,
            made_at: Vec::new(),
            class: String::new(),
            count: 0,
            bytes: 0,
            object: None,
            owner: None,
            limit: None,
            found: None,
            paths: Vec::new(),
            referrers: Vec::new(),
            holders: Vec::new(),
            sampled: None,
            reported: false,
            ids: Vec::new(),
        }
    }
}

/// Referrers and ways of holding that the text lists.
const LISTED: usize = 20;

impl fmt::Display for Violation {
    /// Several lines, the last one ended.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.rule {
            Some(rule) => writeln!(f, "{rule}: {}", self.what)?,
            None => writeln!(f, "{}", self.what)?,
        }
        if let Some(message) = &self.message {
            writeln!(f, "  {message}")?;
        }
        self.object_line(f)?;
        for (index, frame) in self.made_at.iter().enumerate() {
            let before = if index == 0 {
                "asserted at"
            } else {
                "           "
            };
            writeln!(f, "  {before} {frame}")?;
        }
        self.lists(f)?;
        for path in &self.paths {
            write!(f, "{path}")?;
        }
        Ok(())
    }
}

impl Violation {
    fn object_line(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Some(object) = &self.object else {
            return Ok(());
        };
        write!(f, "  {}", object.label)?;
        match self.count {
            0 | 1 => writeln!(f, ", {} bytes", self.bytes)?,
            count => writeln!(
                f,
                " and {} more held in the same way, {} bytes",
                count - 1,
                self.bytes
            )?,
        }
        if let Some(owner) = &self.owner {
            writeln!(f, "  owner: {}", owner.label)?;
        }
        Ok(())
    }

    fn lists(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for referrer in self.referrers.iter().take(LISTED) {
            let via = referrer.via.as_deref().unwrap_or("reference");
            writeln!(f, "  referred to by {} ({via})", referrer.object.label)?;
        }
        more(f, self.referrers.len(), "referrers")?;
        for holders in self.holders.iter().take(LISTED) {
            writeln!(f, "  {} held by {}", holders.count, holders.held_by)?;
        }
        more(f, self.holders.len(), "paths")?;
        match self.sampled {
            Some(every) => writeln!(f, "  (sample: every {every}th object)"),
            None => Ok(()),
        }
    }
}

fn more(f: &mut fmt::Formatter, number: usize, what: &str) -> fmt::Result {
    match number.saturating_sub(LISTED) {
        0 => Ok(()),
        left => writeln!(f, "  … {left} more {what}"),
    }
}

impl fmt::Display for NamedPath {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "  GC root: {}", self.root)?;
        let middle = self.steps.len() / 2;
        for (depth, step) in self.steps.iter().enumerate() {
            if self.skipped > 0 && depth == middle {
                writeln!(
                    f,
                    "  {}… {} more objects …",
                    "  ".repeat(depth),
                    self.skipped
                )?;
            }
            match &step.via {
                Some(via) => {
                    let indent = "  ".repeat(depth.saturating_sub(1));
                    writeln!(f, "  {indent}└─ {via} → {}", step.object.label)?;
                }
                None => writeln!(f, "  {}", step.object.label)?,
            }
        }
        Ok(())
    }
}
