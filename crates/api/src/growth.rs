//! Which data structures grow from state to state.

mod states;

use anthill_classify::{Definitions, Step};
use anthill_history::{
    GrownPlace, InnermostGrowth, JointGrowth, Newcomers, NewcomersOfKind, Window, grown_places,
    innermost_growth, is_identity, joint_growth, retained_together, structure_names, without_alike,
};
use anthill_session::Session;
use anthill_structures::{Earlier, Grown, Inventory, grown, growth_portion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::heap::steps;
use crate::{
    Address, Basis, Error, Limit, Percent, Question, Series, SeriesQuestion, with_definitions,
};
use states::States;

/// Find data structures that grow from dump to dump, or over a recording
///
/// For each structure that retains more at the end than at the beginning, the command shows its
/// share of the heap's growth (HGP, the heap growth portion: growth of its retained size / growth
/// of the reachable heap), how many elements it gained, and which objects are new.
///
/// If structures are nested, it shows the innermost one that makes up most of the growth. It shows
/// structures that share their contents together, because each of them alone retains little. It
/// identifies a structure in a recording by its head. In dumps, it recognizes a structure by its
/// owner path, which is approximate. Where no known structure explains the growth, it names the
/// place that keeps more objects alive than before.
///
/// In a recording, structures that grew only in the first third of the states are omitted, because
/// every program makes some when it starts. If most of the growth is gone in the last state, the
/// analysis ends where the heap was largest; --to last includes the last state.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Growth {
    /// The first state of a recording, as for --at [default: first]
    #[schemars(extend("x-value" = "POINT", "x-excludes" = ["at"]))]
    pub from: Option<String>,
    /// The last state of a recording, as for --at [default: last]
    #[schemars(extend("x-value" = "POINT", "x-excludes" = ["at"]))]
    pub to: Option<String>,
    /// Analyze at most N evenly spread states of a recording; 0 for all
    #[serde(default = "usual_states")]
    pub states: Limit,
    /// Hide structures below this percentage of the heap's growth
    #[serde(default = "usual_least")]
    pub least: Percent,
    /// Show at most N structures; 0 for all
    #[serde(default = "usual_limit")]
    pub limit: Limit,
    /// Include structures nested in others
    #[serde(default)]
    pub inside: bool,
    /// Also split the newcomers by these classifiers, e.g. `package, type` or `allocation-site`
    #[schemars(extend("x-value" = "STEPS"))]
    pub by: Option<String>,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
}

fn usual_states() -> Limit {
    Limit(30)
}

fn usual_least() -> Percent {
    Percent(1.0)
}

fn usual_limit() -> Limit {
    Limit(10)
}

/// Of so many structures the deep sizes are told: each takes a walk through all that it reaches.
const MOST_DEEP: usize = 100;
/// The part of the heap's growth, in percent, that is worth a word if no structure explains it.
const MUCH_ELSEWHERE: f64 = 20.0;

/// The data structures that grew from the first state to the last.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthAnswer")]
pub struct Answer {
    /// The states that were analyzed, earliest first.
    pub states: Vec<State>,
    /// The number of states in between that were not analyzed because of `--states`.
    pub skipped: usize,
    /// The last state of the recording, if most of the growth was gone by then: the analysis ends earlier,
    /// where the heap was largest. Null if it includes the last state, and always with `--to`.
    pub shrunk: Option<State>,
    /// Bytes by which the reachable heap grew from the first state to the last.
    pub heap_growth: i64,
    /// The smallest share of the heap's growth that is shown, in percent, as `--least` set it.
    pub least: f64,
    /// Whether some of the structures shown were recognized only by how they are held; each of them is
    /// also marked.
    pub approximate: bool,
    /// The number of structures of the last state that are omitted because several look the same or
    /// their counterpart in the first state is unknown.
    pub unclear: u64,
    /// Sets of structures that keep their contents alive only together, largest first.
    pub joint: Vec<Joint>,
    /// The structures that grew, most growth first.
    pub structures: Vec<Structure>,
    /// Places outside of known structures that keep more alive, most growth first; empty if structures
    /// explain the growth.
    pub places: Vec<Place>,
    /// For a recording, the number of structures that are omitted because they grew only in the first third
    /// of the states, as when a program starts.
    pub settled: usize,
    /// The number of further growing structures inside of those shown.
    pub within: usize,
    /// Bytes of the heap's growth that no structure found retains, alone or together with others.
    pub elsewhere: u64,
    /// The number of structures that `--limit` left out.
    pub omitted: usize,
    /// The part of the growth that is elsewhere, in percent, if it is worth a word.
    #[serde(skip)]
    pub much_elsewhere: Option<f64>,
}

impl Answer {
    /// The largest part of the growth, in percent, that comes from one structure or from several together.
    pub fn largest_portion(&self) -> Option<f64> {
        let structures = self.structures.iter();
        let portions = structures.flat_map(|one| {
            let outer = one.inside_of.as_ref();
            [one.hgp, outer.and_then(|outer| outer.hgp)]
        });
        let joint = self.joint.iter().map(|joint| joint.hgp);
        let places = self.places.iter().map(|place| place.hgp);
        let all = portions.flatten().chain(joint).chain(places);
        all.max_by(f64::total_cmp)
    }
}

/// A state of the heap.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "GrowthState")]
pub struct State {
    /// The name of the state in the recording, or the file of the dump.
    pub name: String,
    /// Bytes of the reachable heap.
    pub reachable: u64,
    /// Why objects that should have an identity have none, for example because they moved during the
    /// dump; null if no identity is missing.
    pub identities_missing: Option<String>,
}

/// Structures that keep their contents alive only together.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthJoint")]
pub struct Joint {
    /// How each of the structures is held, and its class.
    pub owners: Vec<String>,
    /// Bytes that the structures retain together in the first state.
    pub retained_before: u64,
    /// Bytes that the structures retain together in the last state.
    pub retained: u64,
    /// How many more bytes the structures together retain in the last state than in the first.
    pub growth: i64,
    /// The growth in percent of `retained_before`; null if that is 0.
    pub relative: Option<f64>,
    /// The growth in percent of the heap's growth.
    pub hgp: f64,
}

/// Objects outside of known structures that keep more alive than before.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthPlace")]
pub struct Place {
    /// How the objects are held, and their class; numbers that differ between equal owners are `*`.
    pub name: String,
    /// The number of equal owners, such as the threads of a pool.
    pub owners: u64,
    /// The objects of which there are more now; null if the number of objects did not grow.
    pub elements: Option<PlaceElements>,
    /// Retained size in the first state in bytes.
    pub retained_before: u64,
    /// Retained size in the last state in bytes.
    pub retained: u64,
    /// Bytes retained in the last state less those in the first.
    pub growth: u64,
    /// The growth in percent of the heap's growth.
    pub hgp: f64,
}

/// Objects of which there are more than before.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthPlaceElements")]
pub struct PlaceElements {
    /// The name of their class.
    pub class: String,
    /// The last class that is not the JVM's own among what each of them keeps alive; null if there is none.
    pub about: Option<String>,
    /// Their number in the first state.
    pub before: u64,
    /// Their number in the last state.
    pub after: u64,
}

/// A figure in the first and in the last state.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "GrowthChange")]
pub struct Change {
    /// The figure in the first state; null if the structure did not exist or the figure is not known.
    pub before: Option<u64>,
    /// The figure in the last state; null if it is not known.
    pub after: Option<u64>,
    /// The figure in the last state less that in the first; a structure that did not exist counts as 0.
    /// Null if a figure is not known.
    pub absolute: Option<i64>,
    /// The change in percent of the figure in the first state; null if that is 0 or not known.
    pub relative: Option<f64>,
}

/// The changes of a structure from the first state to the last.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthChanges")]
pub struct Changes {
    /// Retained size in bytes.
    pub retained: Change,
    /// Bytes of all objects that the structure reaches; null if more than 100 structures are shown.
    pub deep: Option<Change>,
    /// The number of elements.
    pub elements: Change,
}

/// A structure that grew.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthStructure")]
pub struct Structure {
    /// How the structure is held, and its class.
    pub name: String,
    /// The address of the structure's head in the last state.
    pub address: Address,
    /// Whether the structure was recognized only by how it is held.
    pub approximate: bool,
    /// Whether the structure did not exist in the first state.
    pub born: bool,
    /// In a recording: whether the structure took the place of another one, to which the earlier
    /// figures belong.
    pub replaces: bool,
    /// The outermost structure around this one that grew; null if there is none.
    pub inside_of: Option<Outer>,
    /// How many more bytes the structure retains in the last state than in the first.
    pub growth: u64,
    /// The growth in percent of the heap's growth; null if the heap did not grow.
    pub hgp: Option<f64>,
    /// The changes from the first state to the last.
    pub change: Changes,
    /// The number of elements in the last state less that in the first; null if either is not known.
    pub new_elements: Option<i64>,
    /// The share of new elements in percent: elements with an identity that was not there before with
    /// `--identity all`, otherwise the difference of numbers; null if it is not known.
    pub new_share: Option<f64>,
    /// Retained size in bytes, one number for each state; null where the structure does not exist or
    /// the size is not known.
    pub retained: Vec<Option<u64>>,
    /// The number of elements, one number for each state; null where the structure does not exist or
    /// the number is not known.
    pub elements: Vec<Option<u64>>,
    /// Whether the retained size never shrinks from one state to the next, as far as it is known.
    pub never_shrinks: bool,
    /// Objects that the structure retains and did not retain before, by class, most bytes first.
    pub newcomers: Vec<Newcomer>,
    /// The same objects by the leaves of the classification tree; absent without `--by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<NewcomerKind>")]
    pub newcomers_by: Option<Vec<NewcomerKind>>,
    /// The places where newcomers were allocated, as far as the source records them, most objects
    /// first. Without identities, all retained objects count.
    pub allocation_sites: Vec<Site>,
}

/// A structure around another one.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthOuter")]
pub struct Outer {
    /// How the structure is held, and its class.
    pub name: String,
    /// How many more bytes the structure retains in the last state than in the first.
    pub growth: u64,
    /// The growth in percent of the heap's growth; null if the heap did not grow.
    pub hgp: Option<f64>,
}

/// Objects that were allocated at the same place.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthSite")]
pub struct Site {
    /// The innermost stack frame of the allocation that belongs to the program: not to the JDK, nor to the
    /// library of Kotlin or Scala, unless all frames do.
    pub site: String,
    /// The number of objects allocated there.
    pub objects: u64,
}

/// Objects of one class that came into a structure.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthNewcomer")]
pub struct Newcomer {
    /// The name of the class.
    pub class: String,
    /// The number of objects; may be negative unless `by_identity` is true.
    pub objects: i64,
    /// Shallow size of the objects in bytes; may be negative unless `by_identity` is true.
    pub bytes: i64,
    /// Whether the identities of the objects show that they are new; otherwise the numbers are
    /// differences.
    pub by_identity: bool,
}

/// Objects with the same keys that came into a structure.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GrowthNewcomerKind")]
pub struct NewcomerKind {
    /// The keys of the leaf, one for each level of the tree.
    pub keys: Vec<String>,
    /// The number of objects; may be negative unless `by_identity` is true.
    pub objects: i64,
    /// Shallow size of the objects in bytes; may be negative unless `by_identity` is true.
    pub bytes: i64,
    /// Whether the identities of the objects show that they are new; otherwise the numbers are
    /// differences.
    pub by_identity: bool,
}

impl Question for Growth {
    const NAME: &'static str = "growth";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        self.steps(definitions).map(drop)
    }
}

impl SeriesQuestion for Growth {
    fn answer(&self, series: &dyn Series) -> Result<(Answer, Basis), Error> {
        let steps = self.steps(series.definitions())?;
        let states = States::open(self, series)?;
        let answer = self.growth(&steps, &states)?;
        Ok((answer, Basis::Heap(states.last)))
    }
}

impl Growth {
    /// What newcomers are split by; nothing if that is not asked for.
    fn steps(&self, definitions: &Definitions) -> Result<Vec<Step>, Error> {
        match &self.by {
            Some(by) => steps(
                &with_definitions(definitions, &self.definitions)?,
                "--by",
                by,
            ),
            None => Ok(Vec::new()),
        }
    }

    fn growth(&self, steps: &[Step], states: &States) -> Result<Answer, Error> {
        let (first, last) = (&states.first.session, &states.last.session);
        let inventories = &states.inventories;
        let (before, after) = (&inventories[0], &inventories[inventories.len() - 1]);
        let least = self.least.0;
        let portion = |one: &Grown| growth_portion(one.change(), before.heap, after.heap);
        let enough = |one: &Grown| portion(one).is_none_or(|portion| portion >= least);
        let found = grown(inventories).into_iter().filter(enough);
        let is_start = |one: &Grown| states.is_recording && one.has_settled();
        let (settled, found): (Vec<Grown>, Vec<Grown>) = found.partition(is_start);
        let found = without_alike(last, found)?;
        let mut joint = joint_growth(last, (before, after), first)?;
        joint.retain(|joint| joint.portion >= least);
        let owners = joint.iter().flat_map(|joint| &joint.owners);
        let explained: Vec<String> = found
            .iter()
            .chain(&settled)
            .map(|one| &one.key)
            .chain(owners)
            .cloned()
            .collect();
        let (earlier, now) = retained_together(last, &explained, (before, after), first)?;
        let heap_growth = after.heap as i64 - before.heap as i64;
        let elsewhere = (heap_growth - (now as i64 - earlier as i64)).max(0) as u64;
        let all = found.len();
        let heads = found.iter().chain(&settled);
        let heads = heads.map(|one| last.head(one.last().number));
        let heads: Vec<u32> = heads.collect::<Result<_, _>>()?;
        let mut found = match self.inside {
            true => found.into_iter().map(InnermostGrowth::alone).collect(),
            false => innermost_growth(last, found)?,
        };
        let said: usize = found.iter().map(InnermostGrowth::structures).sum();
        let shown = self.limit.most().min(found.len());
        let omitted = found.len() - shown;
        found.truncate(shown);
        let is_sure = |key: &String| {
            let earlier = before.earlier(key, after);
            is_identity(key) && matches!(earlier, Earlier::Same(_) | Earlier::Absent)
        };
        let structures = structures(&found, [first, last], steps, portion, is_sure)?;
        let mut owners = joint.iter().flat_map(|joint| &joint.owners);
        let approximate = owners.any(|key| !is_sure(key))
            || structures.iter().any(|structure| structure.approximate);
        let joint = joint
            .into_iter()
            .map(|joint| Joint::new(joint, last, after));
        let elsewhere_share = elsewhere as f64 / heap_growth.max(1) as f64 * 100.0;
        let places = match elsewhere_share >= MUCH_ELSEWHERE {
            true => places(first, last, &heads, self.least)?,
            false => Vec::new(),
        };
        let by_places: u64 = places.iter().map(|place| place.growth).sum();
        let unexplained = elsewhere.saturating_sub(by_places);
        let unexplained = unexplained as f64 / heap_growth.max(1) as f64 * 100.0;
        Ok(Answer {
            states: states.described(),
            skipped: states.skipped,
            shrunk: states.shrunk.clone(),
            heap_growth,
            least,
            approximate,
            unclear: before.not_comparable(after),
            joint: joint.collect::<Result<_, Error>>()?,
            structures,
            places,
            settled: settled.len(),
            within: all - said,
            elsewhere,
            omitted,
            much_elsewhere: Some(unexplained).filter(|&share| share >= MUCH_ELSEWHERE),
        })
    }
}

/// Places that grew outside of the structures that are named.
fn places(
    first: &Session,
    last: &Session,
    heads: &[u32],
    least: Percent,
) -> Result<Vec<Place>, Error> {
    let dominators = last.owner_dominators()?;
    let is_named = |place: &GrownPlace| {
        let mut around = std::iter::once(place.example).chain(dominators.chain(place.example));
        around.any(|node| heads.contains(&node))
    };
    let total = |session: &Session| Ok::<_, Error>(session.analysis()?.total().retained);
    let growth = total(last)?.saturating_sub(total(first)?).max(1);
    let places = grown_places(first, last)?.into_iter();
    let places = places.filter(|place| !is_named(place));
    let places = places.map(|place| Place {
        growth: place.growth(),
        hgp: place.growth() as f64 * 100.0 / growth as f64,
        owners: place.owners,
        elements: place.elements.map(|elements| PlaceElements {
            class: elements.class,
            about: elements.about,
            before: elements.count.0,
            after: elements.count.1,
        }),
        retained_before: place.retained.0,
        retained: place.retained.1,
        name: place.name,
    });
    Ok(places.filter(|place| place.hgp >= least.0).collect())
}

/// The structures that are shown, with all that is known of them.
fn structures(
    found: &[InnermostGrowth],
    [first, last]: [&Session; 2],
    steps: &[Step],
    portion: impl Fn(&Grown) -> Option<f64>,
    is_sure: impl Fn(&String) -> bool,
) -> Result<Vec<Structure>, Error> {
    let names_of = |of: &mut dyn Iterator<Item = &Grown>| {
        let heads = of.map(|one| last.head(one.last().number));
        let heads: Vec<u32> = heads.collect::<Result<_, _>>()?;
        Ok::<_, Error>(structure_names(last, &heads)?.into_iter())
    };
    let names = names_of(&mut found.iter().map(|one| &one.grown))?;
    let mut outer_names = names_of(&mut found.iter().filter_map(|one| one.inside_of.as_ref()))?;
    let window = Window::new(first, last)?;
    let with_deep = found.len() <= MOST_DEEP;
    let structures = found.iter().zip(names).map(|(found, name)| {
        let one = &found.grown;
        let newcomers = window.newcomers(one)?.into_iter();
        let sites = window.allocation_sites(one)?.into_iter();
        Ok(Structure {
            name,
            address: Address(last.address(last.head(one.last().number)?)),
            approximate: !is_sure(&one.key),
            born: one.is_born(),
            replaces: one.replaces,
            inside_of: found.inside_of.as_ref().map(|outer| Outer {
                name: outer_names.next().unwrap_or_default(),
                growth: outer.change(),
                hgp: portion(outer),
            }),
            growth: one.change(),
            hgp: portion(one),
            change: Changes::new(one, &window, with_deep)?,
            new_elements: one.new_elements(),
            new_share: window.new_share(one)?,
            retained: one.curve.iter().map(|one| Some((*one)?.retained)).collect(),
            elements: one.curve.iter().map(|one| (*one)?.elements).collect(),
            never_shrinks: one.never_shrinks(),
            newcomers: newcomers.map(Newcomer::from).collect(),
            newcomers_by: match steps {
                [] => None,
                steps => {
                    let kinds = window.newcomers_by(one, steps)?.into_iter();
                    Some(kinds.map(NewcomerKind::from).collect())
                }
            },
            allocation_sites: sites
                .map(|(site, objects)| Site { site, objects })
                .collect(),
        })
    });
    structures.collect()
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

impl Changes {
    fn new(grown: &Grown, window: &Window, with_deep: bool) -> Result<Self, Error> {
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
    fn new(joint: JointGrowth, session: &Session, inventory: &Inventory) -> Result<Self, Error> {
        let heads = joint
            .owners
            .iter()
            .filter_map(|key| inventory.structures.get(key));
        let heads: Vec<u32> = heads
            .map(|one| session.head(one.number))
            .collect::<Result<_, _>>()?;
        let (before, after) = joint.retained;
        let growth = after as i64 - before as i64;
        Ok(Joint {
            owners: structure_names(session, &heads)?,
            retained_before: before,
            retained: after,
            growth,
            relative: relative(growth, before),
            hgp: joint.portion,
        })
    }
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
