//! What `anthill growth` shows of structures, alone or together, as JSON, text and CSV.

use anthill_session::{JointGrowth, Newcomers, NewcomersOfKind, Session, Window};
use anthill_structures::{Grown, Inventory};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Out;
use crate::output::units::{bytes, count, counted};

/// Classes of newcomers that are shown, and kinds of them if they are asked for.
const MOST_CLASSES: usize = 3;
const MOST_KINDS: usize = 10;

/// The columns of CSV.
pub const COLUMNS: [&str; 14] = [
    "hgp",
    "growth",
    "relative",
    "retained_before",
    "retained",
    "deep_before",
    "deep",
    "elements_before",
    "elements",
    "new_share",
    "born",
    "approximate",
    "structures",
    "name",
];

#[derive(Serialize)]
pub struct Joint {
    pub owners: Vec<String>,
    pub retained_before: u64,
    pub retained: u64,
    pub growth: i64,
    /// Of what they retained before, in percent; null if that was nothing.
    pub relative: Option<f64>,
    pub hgp: f64,
}

/// What there is at the beginning and at the end.
#[derive(Clone, Copy, Serialize)]
pub struct Change {
    /// Null if it was not there, or if it is not known.
    pub before: Option<u64>,
    pub after: Option<u64>,
    /// One less the other; what was not there counts as nothing.
    pub absolute: Option<i64>,
    /// Of what there was before, in percent; null if that was nothing.
    pub relative: Option<f64>,
}

impl Change {
    fn new(born: bool, before: Option<u64>, after: Option<u64>) -> Self {
        let earlier = if born { Some(0) } else { before };
        let absolute = earlier
            .zip(after)
            .map(|(before, after)| after as i64 - before as i64);
        let relative = absolute.zip(before).and_then(|(by, of)| relative(by, of));
        Change {
            before,
            after,
            absolute,
            relative,
        }
    }
}

/// A change in percent of what there was.
fn relative(change: i64, before: u64) -> Option<f64> {
    (before > 0).then(|| change as f64 * 100.0 / before as f64)
}

#[derive(Serialize)]
pub struct Changes {
    pub retained: Change,
    /// Null if more than 100 structures are shown.
    pub deep: Option<Change>,
    pub elements: Change,
}

#[derive(Serialize)]
pub struct Structure {
    pub name: String,
    /// Whether it was recognised only by how it is held.
    pub approximate: bool,
    /// Whether it was not there at the beginning.
    pub born: bool,
    /// Whether it took the place of the one whose figures are those of the beginning.
    pub replaces: bool,
    /// The outermost structure around it that grew.
    pub inside_of: Option<Outer>,
    pub growth: u64,
    /// In percent.
    pub hgp: Option<f64>,
    /// From the first state to the last.
    pub change: Changes,
    pub new_elements: Option<i64>,
    /// How many of its elements were not among them before, in percent.
    pub new_share: Option<f64>,
    /// By state; null where it is not there or not known.
    pub retained: Vec<Option<u64>>,
    pub elements: Vec<Option<u64>>,
    pub never_shrinks: bool,
    pub newcomers: Vec<Newcomer>,
    /// By the classifiers after --by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newcomers_by: Option<Vec<NewcomerKind>>,
    /// Where newcomers were allocated, as far as that is known.
    pub allocation_sites: Vec<Site>,
}

#[derive(Serialize)]
pub struct Outer {
    pub name: String,
    pub growth: u64,
    /// In percent.
    pub hgp: Option<f64>,
}

#[derive(Serialize)]
pub struct Site {
    pub site: String,
    pub objects: u64,
}

#[derive(Serialize)]
pub struct Newcomer {
    pub class: String,
    pub objects: i64,
    pub bytes: i64,
    /// Whether they are objects that were not there before; otherwise a difference of numbers.
    pub by_identity: bool,
}

#[derive(Serialize)]
pub struct NewcomerKind {
    /// One for each level.
    pub keys: Vec<String>,
    pub objects: i64,
    pub bytes: i64,
    pub by_identity: bool,
}

impl From<NewcomersOfKind> for NewcomerKind {
    fn from(of: NewcomersOfKind) -> Self {
        NewcomerKind {
            keys: of.keys,
            objects: of.objects,
            bytes: of.bytes,
            by_identity: of.by_identity,
        }
    }
}

impl From<Newcomers> for Newcomer {
    fn from(of: Newcomers) -> Self {
        Newcomer {
            class: of.class,
            objects: of.objects,
            bytes: of.bytes,
            by_identity: of.by_identity,
        }
    }
}

/// A cell that may have nothing in it.
fn cell(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A number in percent, as a cell.
fn percent_cell(percent: Option<f64>) -> String {
    cell(percent.map(|percent| format!("{percent:.2}")))
}

impl Changes {
    pub fn new(grown: &Grown, window: &Window, with_deep: bool) -> Result<Self, Failure> {
        let (born, first, last) = (grown.is_born(), grown.first(), grown.last());
        let deep = with_deep.then(|| window.deep(grown)).transpose()?;
        Ok(Changes {
            retained: Change::new(born, first.map(|one| one.retained), Some(last.retained)),
            deep: deep.map(|(before, after)| Change::new(born, before, Some(after))),
            elements: Change::new(born, first.and_then(|one| one.elements), last.elements),
        })
    }
}

impl Joint {
    pub fn new(
        joint: JointGrowth,
        session: &Session,
        inventory: &Inventory,
    ) -> Result<Self, Failure> {
        let heads = joint
            .owners
            .iter()
            .filter_map(|key| inventory.structures.get(key));
        let heads: Vec<u32> = heads
            .map(|one| session.head(one.number))
            .collect::<Result<_, _>>()?;
        Ok(Joint {
            owners: session.structure_names(&heads)?,
            retained_before: joint.retained.0,
            retained: joint.retained.1,
            growth: joint.retained.1 as i64 - joint.retained.0 as i64,
            relative: relative(
                joint.retained.1 as i64 - joint.retained.0 as i64,
                joint.retained.0,
            ),
            hgp: joint.portion,
        })
    }

    /// As a line of CSV.
    pub fn cells(&self) -> [String; 14] {
        let none = String::new;
        [
            percent_cell(Some(self.hgp)),
            self.growth.to_string(),
            percent_cell(self.relative),
            self.retained_before.to_string(),
            self.retained.to_string(),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
            self.owners.len().to_string(),
            self.owners.join(" + "),
        ]
    }

    pub fn text(&self, out: &mut Out) -> Result<(), Failure> {
        out.blank()?;
        out.heading(&format!(
            "HGP {:.1}%: {} together retain {} more{} ({} → {})",
            self.hgp,
            counted(self.owners.len() as u64, "structure", "structures"),
            bytes(self.growth.unsigned_abs()),
            in_percent(self.relative),
            bytes(self.retained_before),
            bytes(self.retained),
        ))?;
        for owner in &self.owners {
            out.line(format!("  {owner}"))?;
        }
        Ok(())
    }
}

/// A relative change as text after an absolute one.
fn in_percent(relative: Option<f64>) -> String {
    relative.map_or(String::new(), |percent| format!(", {percent:+.0}%"))
}

impl Structure {
    /// As a line of CSV.
    pub fn cells(&self) -> [String; 14] {
        let Changes {
            retained,
            deep,
            elements,
        } = &self.change;
        [
            percent_cell(self.hgp),
            self.growth.to_string(),
            percent_cell(retained.relative),
            cell(retained.before),
            cell(retained.after),
            cell(deep.and_then(|deep| deep.before)),
            cell(deep.and_then(|deep| deep.after)),
            cell(elements.before),
            cell(elements.after),
            percent_cell(self.new_share),
            self.born.to_string(),
            self.approximate.to_string(),
            "1".to_owned(),
            self.name.clone(),
        ]
    }

    pub fn text(&self, out: &mut Out) -> Result<(), Failure> {
        out.blank()?;
        let portion = self
            .hgp
            .map_or(String::new(), |hgp| format!("HGP {hgp:.1}%: "));
        let curve: Vec<String> = self
            .retained
            .iter()
            .map(|retained| retained.map_or("–".to_owned(), bytes))
            .collect();
        out.heading(&format!(
            "{portion}{} more{} ({})",
            bytes(self.growth),
            in_percent(self.change.retained.relative),
            curve.join(" → ")
        ))?;
        let since = match (self.born, self.replaces) {
            (true, _) => ", not there at the beginning",
            (_, true) => ", in place of an earlier one",
            _ => "",
        };
        out.line(format!("  {}{since}", self.name))?;
        if let Some(outer) = &self.inside_of {
            out.line(format!(
                "  in {}, which retains {} more",
                outer.name,
                bytes(outer.growth)
            ))?;
        }
        let elements: Vec<String> = self
            .elements
            .iter()
            .map(|elements| elements.map_or("–".to_owned(), count))
            .collect();
        if self.new_elements.is_some() {
            let share = match self.new_share {
                Some(share) if share > 0.0 => format!(", {share:.0}% of them new"),
                _ => String::new(),
            };
            out.line(format!("  elements: {}{share}", elements.join(" → ")))?;
        }
        if let Some(deep) = self.change.deep {
            let size = |size: Option<u64>| size.map_or("–".to_owned(), bytes);
            let (before, after) = (size(deep.before), size(deep.after));
            let change = in_percent(deep.relative);
            out.line(format!("  all it reaches: {before} → {after}{change}"))?;
        }
        self.newcomers_text(out)?;
        let sites = self.allocation_sites.iter().take(MOST_CLASSES);
        let sites: Vec<String> = sites
            .map(|of| format!("{} ({})", of.site, counted(of.objects, "sample", "samples")))
            .collect();
        if !sites.is_empty() {
            out.line(format!("  allocated at {}", sites.join(", ")))?;
        }
        Ok(())
    }

    /// Objects that were told apart from those there before, then differences of what there is; of what was
    /// asked for after --by more, each in a line of its own.
    fn newcomers_text(&self, out: &mut Out) -> Result<(), Failure> {
        for (by_identity, words) in [
            (true, "newcomers, by identity"),
            (false, "newcomers, by number"),
        ] {
            let of_kind = self.newcomers.iter();
            let of_kind = of_kind.filter(|of| of.by_identity == by_identity && of.bytes > 0);
            let shown: Vec<String> = of_kind
                .take(MOST_CLASSES)
                .map(|of| came(of.objects, of.bytes, by_identity, &of.class))
                .collect();
            if !shown.is_empty() {
                out.line(format!("  {words}: {}", shown.join(", ")))?;
            }
        }
        let kinds = self.newcomers_by.iter().flatten();
        for of in kinds.filter(|of| of.bytes > 0).take(MOST_KINDS) {
            let kind = came(of.objects, of.bytes, of.by_identity, &of.keys.join(" › "));
            out.line(format!("    {kind}"))?;
        }
        Ok(())
    }
}

/// Newcomers of a kind in words; a difference has a sign.
fn came(objects: i64, size: i64, by_identity: bool, kind: &str) -> String {
    let sign = match (by_identity, objects < 0) {
        (true, _) => "",
        (_, true) => "−",
        _ => "+",
    };
    let number = count(objects.unsigned_abs());
    format!("{sign}{number} {kind} ({})", bytes(size.unsigned_abs()))
}
