//! The assertions of a program that uses Anthill's Java API: objects of the package
//! `dev.anthill.internal` in its own heap, which hold the asserted objects weakly. Any heap state of
//! such a program has them, whoever took it.

use anthill_graph::{Graph, Incoming, NodeId, reached_from, references_to};
use anthill_heap::{BitSet, Cancelled, ClassId, HeapState, ObjectId, Progress, RootOrigin, Value};
use anthill_hprof::{Cursor, FieldPlace, Records};
use rustc_hash::FxHashMap;

use crate::Kind;

const PACKAGE: &str = "dev.anthill.internal.";
const ASSERTED: &str = "dev.anthill.internal.Asserted";

/// What is asserted of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asserted {
    /// It is to be unreachable.
    Dead,
    /// It was allocated in a region of which nothing was to survive: the `Region` object.
    Survivor(Option<ObjectId>),
    /// The object is a class object; at most so many instances may be reachable.
    Instances {
        /// How many may be.
        most: u64,
        /// Whether those of subclasses count.
        subclasses: bool,
    },
    /// At most one reference may lead to it.
    Unshared,
    /// By this owner; `None` if that is dead.
    Owned(Option<NodeId>),
}

impl Asserted {
    /// What a violation of it is called.
    pub fn kind(self) -> Kind {
        match self {
            Asserted::Dead => Kind::Dead,
            Asserted::Survivor(_) => Kind::AllDead,
            Asserted::Instances { .. } => Kind::Instances,
            Asserted::Unshared => Kind::Unshared,
            Asserted::Owned(_) => Kind::OwnedBy,
        }
    }
}

/// An assertion about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The object.
    pub about: NodeId,
    /// What must hold for it.
    pub asserted: Asserted,
    /// The program's number for it, if the source has numbers.
    pub id: Option<i64>,
    /// The objects that say where it was made, and what the program says about it.
    pub site: Option<ObjectId>,
    /// See `site`.
    pub message: Option<ObjectId>,
    /// Whether a violation was already reported while the program ran.
    pub reported: bool,
}

/// All assertions of a heap whose objects are still there, and how many could not be read.
pub fn assertions(
    state: &HeapState,
    records: &Records,
    reachable: &BitSet,
) -> (Vec<Assertion>, u64) {
    let layouts: Vec<Option<Layout>> = (0..state.classes().len() as ClassId)
        .map(|class| Layout::of(state, records, class))
        .collect();
    if layouts.iter().all(Option::is_none) {
        return (Vec::new(), 0);
    }
    let mut cursor = records.cursor();
    let (mut found, mut unread) = (Vec::new(), 0);
    let columns = &state.columns;
    for (&object, &about) in columns
        .referrers_by_referent
        .iter()
        .zip(&*columns.referents)
    {
        let layout = &layouts[state.class_id(object) as usize];
        let Some(layout) = layout.as_ref().filter(|_| reachable.contains(object)) else {
            continue;
        };
        match layout.read(state, &mut cursor, object, about) {
            Some(assertion) => found.push(assertion),
            None => unread += 1,
        }
    }
    (found, unread)
}

/// Where the objects of one class of assertions have their fields.
struct Layout {
    kind: Kind,
    id: Option<FieldPlace>,
    site: Option<FieldPlace>,
    message: Option<FieldPlace>,
    reported: Option<FieldPlace>,
    region: Option<FieldPlace>,
    owner: Option<FieldPlace>,
    max: Option<FieldPlace>,
    subclasses: Option<FieldPlace>,
}

impl Layout {
    fn of(state: &HeapState, records: &Records, class: ClassId) -> Option<Self> {
        if !state.extends(class, ASSERTED) {
            return None;
        }
        let mut names = state
            .superclasses(class)
            .filter_map(|class| state.classes()[class as usize].name.strip_prefix(PACKAGE));
        let kind = names.find_map(|name| match name {
            "Dead" => Some(Kind::Dead),
            "Survivor" => Some(Kind::AllDead),
            "Unshared" => Some(Kind::Unshared),
            "OwnedBy" => Some(Kind::OwnedBy),
            "Instances" => Some(Kind::Instances),
            _ => None,
        })?;
        let place = |name| records.field_place(state, class, name);
        Some(Layout {
            kind,
            id: place("id"),
            site: place("site"),
            message: place("message"),
            reported: place("reported"),
            region: place("region"),
            owner: place("owner"),
            max: place("max"),
            subclasses: place("subclasses"),
        })
    }

    /// `None` if what the assertion says is not in the source.
    fn read(
        &self,
        state: &HeapState,
        cursor: &mut Cursor,
        object: ObjectId,
        about: NodeId,
    ) -> Option<Assertion> {
        let mut value = |place: Option<FieldPlace>| cursor.field(state, object, place?);
        let referred = |value: Option<Value>| match value {
            Some(Value::Object(address)) => state.addresses.find(address),
            _ => None,
        };
        let asserted = match self.kind {
            Kind::Dead => Asserted::Dead,
            Kind::AllDead => Asserted::Survivor(referred(value(self.region))),
            Kind::Unshared => Asserted::Unshared,
            Kind::OwnedBy => {
                let owner = referred(value(self.owner))?;
                Asserted::Owned(state.referent(owner).map(|(owner, _)| owner))
            }
            Kind::Instances => match (value(self.max)?, value(self.subclasses)?) {
                (Value::Int(most), Value::Boolean(subclasses)) => Asserted::Instances {
                    most: u64::try_from(most).unwrap_or(0),
                    subclasses,
                },
                _ => return None,
            },
            _ => return None,
        };
        Some(Assertion {
            about,
            asserted,
            id: match value(self.id) {
                Some(Value::Long(id)) => Some(id),
                _ => None,
            },
            site: referred(value(self.site)),
            message: referred(value(self.message)),
            reported: value(self.reported) == Some(Value::Boolean(true)),
        })
    }
}

/// An assertion that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolatedAssertion {
    /// Which assertion.
    pub assertion: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is reachable and should be dead.
    Alive,
    /// These references lead to it; one would be fine. JNI handles that the program keeps count
    /// and are not listed.
    Shared {
        /// Who refers to it.
        from: Vec<NodeId>,
        /// How many handles lead to it.
        handles: usize,
    },
    /// So many instances of the class.
    TooMany(u64),
    /// It is reachable, but not from its owner.
    NotOwned {
        /// Whether that is so because the owner is gone.
        owner_dead: bool,
    },
}

/// The assertions that do not hold. `reachable` is what the graph reaches from its roots.
pub fn check(
    graph: &Graph,
    reachable: &BitSet,
    assertions: &[Assertion],
    progress: &dyn Progress,
) -> Result<Vec<ViolatedAssertion>, Cancelled> {
    let mut found = Vec::new();
    let alive = |assertion: &&(usize, &Assertion)| reachable.contains(assertion.1.about);
    let numbered: Vec<(usize, &Assertion)> = assertions.iter().enumerate().collect();
    let of = |wanted: fn(Asserted) -> bool| {
        let fits = move |one: &&(usize, &Assertion)| wanted(one.1.asserted);
        numbered.iter().filter(fits).filter(alive)
    };
    let dead = of(|asserted| matches!(asserted, Asserted::Dead | Asserted::Survivor(_)));
    found.extend(dead.map(|&(assertion, _)| ViolatedAssertion {
        assertion,
        problem: Problem::Alive,
    }));
    let unshared: Vec<_> = of(|asserted| asserted == Asserted::Unshared).collect();
    if !unshared.is_empty() {
        let objects = unshared.iter().map(|one| one.1.about);
        let sharing = Sharing::new(graph, reachable, objects);
        found.extend(unshared.iter().filter_map(|&&(assertion, one)| {
            let problem = sharing.problem(one.about)?;
            Some(ViolatedAssertion { assertion, problem })
        }));
    }
    let owned = of(|asserted| matches!(asserted, Asserted::Owned(_))).copied();
    found.extend(not_owned(graph, reachable, owned.collect(), progress)?);
    let instances = of(|asserted| matches!(asserted, Asserted::Instances { .. }));
    let mut counts = None;
    for &(assertion, one) in instances {
        let counts = counts.get_or_insert_with(|| instances_by_class(graph, reachable));
        found.extend(
            too_many(graph.state, counts, one)
                .map(|problem| ViolatedAssertion { assertion, problem }),
        );
    }
    found.sort_unstable_by_key(|found| found.assertion);
    Ok(found)
}

/// Who refers to some objects.
pub(crate) struct Sharing {
    references: Vec<Incoming>,
    /// JNI global handles: they are as good as a field.
    handles: FxHashMap<NodeId, usize>,
}

impl Sharing {
    pub(crate) fn new(
        graph: &Graph,
        reachable: &BitSet,
        objects: impl Iterator<Item = NodeId>,
    ) -> Self {
        let mut wanted = BitSet::new(graph.len() as usize);
        objects.for_each(|object| wanted.insert(object));
        let mut handles: FxHashMap<NodeId, usize> = FxHashMap::default();
        for root in &graph.state.tables.roots {
            if root.origin == RootOrigin::JniGlobal && wanted.contains(root.object) {
                *handles.entry(root.object).or_default() += 1;
            }
        }
        Sharing {
            references: references_to(graph, &wanted, reachable),
            handles,
        }
    }

    /// More than one reference.
    pub(crate) fn problem(&self, object: NodeId) -> Option<Problem> {
        let start = self.references.partition_point(|one| one.to < object);
        let references = self.references[start..].iter();
        let references = references.take_while(|one| one.to == object);
        let from: Vec<NodeId> = references.map(|one| one.from).collect();
        let handles = self.handles.get(&object).copied().unwrap_or(0);
        (from.len() + handles > 1).then_some(Problem::Shared { from, handles })
    }
}

/// Ownees that are reachable, but not from their owners.
fn not_owned(
    graph: &Graph,
    reachable: &BitSet,
    owned: Vec<(usize, &Assertion)>,
    progress: &dyn Progress,
) -> Result<Vec<ViolatedAssertion>, Cancelled> {
    let mut found = Vec::new();
    let (mut pairs, mut numbers) = (Vec::new(), Vec::new());
    for (assertion, one) in owned {
        let Asserted::Owned(owner) = one.asserted else {
            continue;
        };
        match owner.filter(|&owner| reachable.contains(owner)) {
            Some(owner) => {
                pairs.push((owner, one.about));
                numbers.push(assertion);
            }
            None => found.push(ViolatedAssertion {
                assertion,
                problem: Problem::NotOwned { owner_dead: true },
            }),
        }
    }
    if !pairs.is_empty() {
        let reached = reached_from(graph, &pairs, progress)?;
        let lost = numbers.into_iter().zip(reached).filter(|one| !one.1);
        found.extend(lost.map(|(assertion, _)| ViolatedAssertion {
            assertion,
            problem: Problem::NotOwned { owner_dead: false },
        }));
    }
    Ok(found)
}

/// By class: its reachable instances.
pub(crate) fn instances_by_class(graph: &Graph, reachable: &BitSet) -> Vec<u64> {
    let mut counts = vec![0; graph.state.classes().len()];
    for class in reachable.iter().filter_map(|node| graph.class(node)) {
        counts[class as usize] += 1;
    }
    counts
}

fn too_many(state: &HeapState, counts: &[u64], assertion: &Assertion) -> Option<Problem> {
    let Asserted::Instances { most, subclasses } = assertion.asserted else {
        return None;
    };
    let class = state.mirrored(assertion.about)?;
    let instances = match subclasses {
        true => (0..)
            .zip(counts)
            .filter(|(one, _)| state.superclasses(*one).any(|above| above == class))
            .map(|(_, count)| count)
            .sum(),
        false => counts[class as usize],
    };
    (instances > most).then_some(Problem::TooMany(instances))
}

#[cfg(test)]
mod tests;
