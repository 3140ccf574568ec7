//! What came into a data structure between two states: object by object where a recording has identities,
//! otherwise by how many there are of each class.

use std::cmp::Reverse;

use anthill_classify::{OVERALL, Step, TreeNodeId};
use anthill_graph::transitive_closure;
use anthill_heap::{BitSet, ObjectId};
use anthill_session::{Error, Session, stable_name};
use anthill_structures::Grown;
use anthill_trace::Identities;
use rustc_hash::FxHashMap;

use crate::growth::leaves_of;
use crate::identities::{identities, newest};

/// Objects of one class that a structure retains and did not retain before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newcomers {
    /// In Java notation.
    pub class: String,
    /// Fewer than none if they are a difference.
    pub objects: i64,
    /// Their own bytes; fewer than none if they are a difference.
    pub bytes: i64,
    /// Whether they were told apart from those that were there before; otherwise they are the difference
    /// of what there is of the class.
    pub by_identity: bool,
}

/// Newcomers of one kind, as classifiers tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewcomersOfKind {
    /// One for each level.
    pub keys: Vec<String>,
    /// As of [`Newcomers`].
    pub objects: i64,
    /// As of [`Newcomers`].
    pub bytes: i64,
    /// As of [`Newcomers`].
    pub by_identity: bool,
}

/// Two states between which structures grew.
pub struct Window<'a> {
    /// The earlier state.
    pub first: &'a Session,
    /// The later state.
    pub last: &'a Session,
    /// Of the first and of the last state.
    known: [Identities; 2],
    /// The objects of the first state by identity.
    before: Before,
}

/// Which objects of the first state can be found by their identities.
enum Before {
    None,
    Tracked {
        objects: FxHashMap<u64, ObjectId>,
        /// Objects up to this identity were there, even if they are not among these.
        newest: Option<u64>,
    },
    /// Identities are addresses.
    All,
}

/// What became known of an object of the last state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Past {
    Unknown,
    /// It was not there.
    Born,
    Was(ObjectId),
}

/// Objects of one class that a structure retains.
#[derive(Clone, Copy)]
struct Sum {
    objects: i64,
    bytes: i64,
    /// Of them, those that were not among what it retained before.
    new_objects: i64,
    new_bytes: i64,
    /// Whether all of them have an identity.
    told_apart: bool,
}

impl Sum {
    const NONE: Sum = Sum {
        objects: 0,
        bytes: 0,
        new_objects: 0,
        new_bytes: 0,
        told_apart: true,
    };
}

impl<'a> Window<'a> {
    /// Joins the states by the identities that both have.
    pub fn new(first: &'a Session, last: &'a Session) -> Result<Self, Error> {
        let known = [identities(first)?, identities(last)?];
        let before = match &known {
            // Each recording has identities of its own.
            _ if first.path() != last.path() => Before::None,
            [Identities::All, Identities::All] => Before::All,
            [Identities::Tracked(pairs), Identities::Tracked(_)] => Before::Tracked {
                objects: pairs.iter().map(|&(object, id)| (id, object)).collect(),
                newest: newest(&known[0]),
            },
            // What only one of the states can tell is no comparison.
            _ => Before::None,
        };
        Ok(Window {
            first,
            last,
            known,
            before,
        })
    }

    /// Whether each object can be told apart.
    pub fn is_by_identity(&self) -> bool {
        matches!(self.before, Before::All)
    }

    fn past(&self, object: ObjectId) -> Past {
        let Some(id) = self.known[1].of(self.last.state(), object) else {
            return Past::Unknown;
        };
        let was = match &self.before {
            Before::None => return Past::Unknown,
            Before::Tracked { objects, newest } => match objects.get(&id) {
                None if Some(id) <= *newest => return Past::Unknown,
                was => was.copied(),
            },
            Before::All => self.first.state().addresses.find(id),
        };
        was.map_or(Past::Born, Past::Was)
    }

    /// What a structure of the last state retains that it did not retain in the first, by class, most bytes
    /// first.
    pub fn newcomers(&self, grown: &Grown) -> Result<Vec<Newcomers>, Error> {
        let retained = retained_by(self.last, Some(grown.last().number))?;
        let retained_before = retained_by(self.first, grown.first().map(|one| one.number))?;
        let now = by_name(self.last, &retained, |object| {
            self.is_new(object, &retained_before)
        });
        let state = self.first.state();
        let mut before = by_name(self.first, &retained_before, |object| {
            self.known[0].of(state, object).map(|_| false)
        });
        let mut newcomers: Vec<Newcomers> = now
            .into_iter()
            .map(|(class, sum)| {
                let earlier = before.remove(&class).unwrap_or(Sum::NONE);
                let by_identity = sum.told_apart && earlier.told_apart;
                let (objects, bytes) = match by_identity {
                    true => (sum.new_objects, sum.new_bytes),
                    false => (sum.objects - earlier.objects, sum.bytes - earlier.bytes),
                };
                Newcomers {
                    class,
                    objects,
                    bytes,
                    by_identity,
                }
            })
            .collect();
        // Classes of which nothing is left have no newcomers, but the difference shows where they went.
        if !self.is_by_identity() {
            newcomers.extend(before.into_iter().map(|(class, sum)| Newcomers {
                class,
                objects: -sum.objects,
                bytes: -sum.bytes,
                by_identity: false,
            }));
        }
        newcomers.retain(|of| (of.objects, of.bytes) != (0, 0));
        newcomers.sort_by(|a, b| (Reverse(a.bytes), &a.class).cmp(&(Reverse(b.bytes), &b.class)));
        Ok(newcomers)
    }

    /// The same by any classifiers. Told apart are all newcomers or none.
    pub fn newcomers_by(
        &self,
        grown: &Grown,
        steps: &[Step],
    ) -> Result<Vec<NewcomersOfKind>, Error> {
        let retained = retained_by(self.last, Some(grown.last().number))?;
        let before = retained_by(self.first, grown.first().map(|one| one.number))?;
        let by_identity = self.is_by_identity();
        let mut kinds = match by_identity {
            true => {
                let mut new = BitSet::new(self.last.state().len() as usize);
                let objects = retained
                    .iter()
                    .filter(|&node| node < self.last.state().len());
                objects
                    .filter(|&object| self.is_new(object, &before) == Some(true))
                    .for_each(|object| new.insert(object));
                kinds(self.last, new, steps)?
            }
            false => {
                let mut now = kinds(self.last, retained, steps)?;
                for (keys, (objects, bytes)) in kinds(self.first, before, steps)? {
                    let sum = now.entry(keys).or_default();
                    sum.0 -= objects;
                    sum.1 -= bytes;
                }
                now
            }
        };
        kinds.retain(|_, sum| *sum != (0, 0));
        let kinds = kinds
            .into_iter()
            .map(|(keys, (objects, bytes))| NewcomersOfKind {
                keys,
                objects,
                bytes,
                by_identity,
            });
        let mut kinds: Vec<NewcomersOfKind> = kinds.collect();
        kinds.sort_by(|a, b| (Reverse(a.bytes), &a.keys).cmp(&(Reverse(b.bytes), &b.keys)));
        Ok(kinds)
    }

    /// Whether an object of the last state was not in a group of the first; nothing if that is not known.
    fn is_new(&self, object: ObjectId, before: &BitSet) -> Option<bool> {
        match self.past(object) {
            Past::Unknown => None,
            Past::Born => Some(true),
            Past::Was(was) => Some(!before.contains(was)),
        }
    }

    /// The part of a structure's elements, in percent, that were not among its elements before; by their
    /// number alone if they cannot be told apart.
    pub fn new_share(&self, grown: &Grown) -> Result<Option<f64>, Error> {
        let share = |new: u64, all: u64| (all > 0).then(|| new as f64 * 100.0 / all as f64);
        if !self.is_by_identity() {
            let (new, all) = (grown.new_elements(), grown.last().elements);
            return Ok(new
                .zip(all)
                .and_then(|(new, all)| share(new.max(0) as u64, all)));
        }
        let leaves = leaves_of(self.last, grown.last().number)?;
        let before = match grown.first() {
            Some(first) => leaves_of(self.first, first.number)?,
            None => BitSet::new(self.first.state().len() as usize),
        };
        let is_new = |leaf: &ObjectId| self.is_new(*leaf, &before) == Some(true);
        let new = leaves.iter().filter(is_new).count();
        Ok(share(new as u64, leaves.count() as u64))
    }

    /// Where what a structure retains, and did not retain before as far as that is known, was allocated: the
    /// nearest frames with how many objects, most first.
    pub fn allocation_sites(&self, grown: &Grown) -> Result<Vec<(String, u64)>, Error> {
        let known = &self.last.state().tables.allocations;
        if known.is_empty() {
            return Ok(Vec::new());
        }
        let retained = retained_by(self.last, Some(grown.last().number))?;
        let before = retained_by(self.first, grown.first().map(|one| one.number))?;
        let of_newcomers = known.iter().filter(|(object, _)| {
            retained.contains(*object) && self.is_new(*object, &before) != Some(false)
        });
        let mut sites: FxHashMap<String, u64> = FxHashMap::default();
        for &(object, _) in of_newcomers {
            if let Some(site) = self.last.allocated_at(object) {
                *sites.entry(site).or_default() += 1;
            }
        }
        let mut sites: Vec<(String, u64)> = sites.into_iter().collect();
        sites.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        Ok(sites)
    }

    /// Bytes of all that a structure reaches, in the first state and in the last.
    pub fn deep(&self, grown: &Grown) -> Result<(Option<u64>, u64), Error> {
        let before = grown.first().map(|one| deep(self.first, one.number));
        Ok((before.transpose()?, deep(self.last, grown.last().number)?))
    }
}

fn deep(session: &Session, number: u32) -> Result<u64, Error> {
    let graph = session.graph();
    let reached = transitive_closure(&graph, &[session.head(number)?]);
    Ok(graph.totals(&reached).bytes)
}

/// The objects and bytes of a group by the keys of the leaves of a classification tree.
fn kinds(
    session: &Session,
    group: BitSet,
    steps: &[Step],
) -> Result<FxHashMap<Vec<String>, (i64, i64)>, Error> {
    let group = group.resized(session.state().len() as usize);
    let tree = session.count(&group, steps)?;
    let mut kinds: FxHashMap<Vec<String>, (i64, i64)> = FxHashMap::default();
    let mut waiting: Vec<(TreeNodeId, Vec<String>)> = vec![(OVERALL, Vec::new())];
    while let Some((at, keys)) = waiting.pop() {
        let node = tree.node(at);
        if node.children.is_empty() && at != OVERALL {
            let sum = kinds.entry(keys).or_default();
            sum.0 += node.objects as i64;
            sum.1 += node.shallow as i64;
            continue;
        }
        waiting.extend(node.children.iter().map(|&child| {
            let mut keys = keys.clone();
            keys.push(tree.node(child).key.clone());
            (child, keys)
        }));
    }
    Ok(kinds)
}

/// What a structure retains; nothing if there is none.
fn retained_by(session: &Session, number: Option<u32>) -> Result<BitSet, Error> {
    Ok(match number {
        Some(number) => {
            let head = session.head(number)?;
            session.owner_dominators()?.dominated_by(&[head])
        }
        None => BitSet::new(session.graph().len() as usize),
    })
}

/// The objects of a group by the name of their class.
fn by_name(
    session: &Session,
    group: &BitSet,
    is_new: impl Fn(ObjectId) -> Option<bool>,
) -> FxHashMap<String, Sum> {
    let graph = session.graph();
    let mut by_class: FxHashMap<u32, Sum> = FxHashMap::default();
    for node in group.iter() {
        let Some(class) = graph.class(node) else {
            continue;
        };
        let sum = by_class.entry(class).or_insert(Sum::NONE);
        let bytes = graph.size(node) as i64;
        let new = is_new(node);
        sum.objects += 1;
        sum.bytes += bytes;
        sum.told_apart &= new.is_some();
        if new == Some(true) {
            sum.new_objects += 1;
            sum.new_bytes += bytes;
        }
    }
    let mut by_name: FxHashMap<String, Sum> = FxHashMap::default();
    for (class, of_class) in by_class {
        let name = stable_name(&session.state().classes()[class as usize].name);
        let sum = by_name.entry(name).or_insert(Sum::NONE);
        sum.objects += of_class.objects;
        sum.bytes += of_class.bytes;
        sum.new_objects += of_class.new_objects;
        sum.new_bytes += of_class.new_bytes;
        sum.told_apart &= of_class.told_apart;
    }
    by_name
}
