//! What belongs to which structure, for those who ask about members instead of figures.

use anthill_heap::{BitSet, Cancelled, ObjectId, ObjectLists, Progress};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::detect::{Inside, Instance, Structures};
use crate::model::Model;
use crate::walker::{Met, Shared, Walker};

/// Pairs of a head and a member, for each object of the heap, above which members of parts are no longer
/// told for what they are a part of.
const MOST_PAIRS: usize = 4;

/// How the head of a structure is in others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadPlace {
    /// In none.
    TopLevel,
    /// One of the elements of another.
    Element,
    /// A part of another, like the map in a set.
    Part,
    /// It shows what another structure has.
    View,
}

impl HeadPlace {
    /// The word for it in results.
    pub fn name(self) -> &'static str {
        match self {
            HeadPlace::TopLevel => "top-level",
            HeadPlace::Element => "element",
            HeadPlace::Part => "part",
            HeadPlace::View => "view",
        }
    }
}

/// The members of all structures.
pub struct Members {
    heads: FxHashMap<ObjectId, (String, HeadPlace)>,
    is_internal: BitSet,
    /// By head.
    internals: ObjectLists,
    leaves: ObjectLists,
    /// By member: the heads of the structures it belongs to.
    structures: ObjectLists,
}

impl Members {
    /// Pairs are a head and a member of its structure, each once.
    pub(crate) fn new(
        objects: usize,
        heads: impl Iterator<Item = (ObjectId, String, HeadPlace)>,
        internals: &[(ObjectId, ObjectId)],
        leaves: &[(ObjectId, ObjectId)],
    ) -> Self {
        let inverse = |pairs: &[(ObjectId, ObjectId)]| {
            let turned = pairs.iter().map(|&(head, member)| (member, head));
            turned.collect::<Vec<_>>()
        };
        let structures = [inverse(internals), inverse(leaves)].concat();
        let mut is_internal = BitSet::new(objects);
        internals
            .iter()
            .for_each(|&(_, member)| is_internal.insert(member));
        Members {
            is_internal,
            heads: heads
                .map(|(head, of_type, place)| (head, (of_type, place)))
                .collect(),
            internals: ObjectLists::new(objects, || internals.iter().copied()),
            leaves: ObjectLists::new(objects, || leaves.iter().copied()),
            structures: ObjectLists::new(objects, || structures.iter().copied()),
        }
    }

    /// The inner parts of the structure with that head.
    pub fn internals(&self, head: ObjectId) -> &[ObjectId] {
        self.internals.of(head)
    }

    /// The leaves of the structure with that head.
    pub fn leaves(&self, head: ObjectId) -> &[ObjectId] {
        self.leaves.of(head)
    }

    /// The heads of the structures that an object belongs to.
    pub fn structures(&self, member: ObjectId) -> &[ObjectId] {
        self.structures.of(member)
    }

    /// The name of the type and the place of the structure whose head this is.
    pub fn head(&self, object: ObjectId) -> Option<(&str, HeadPlace)> {
        let (of_type, place) = self.heads.get(&object)?;
        Some((of_type, *place))
    }

    /// What an object is to the structures it belongs to.
    pub fn role(&self, object: ObjectId) -> MemberRole {
        if self.heads.contains_key(&object) {
            MemberRole::Head
        } else if self.is_internal.contains(object) {
            MemberRole::Internal
        } else if !self.structures(object).is_empty() {
            MemberRole::Leaf
        } else {
            MemberRole::None
        }
    }
}

/// What an object is to data structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRole {
    /// The head of one.
    Head,
    /// An inner part, but no head.
    Internal,
    /// Only outside of those it belongs to, like an element.
    Leaf,
    /// It belongs to none.
    None,
}

impl MemberRole {
    /// In the order of their numbers.
    pub const ALL: [MemberRole; 4] = [
        MemberRole::Head,
        MemberRole::Internal,
        MemberRole::Leaf,
        MemberRole::None,
    ];

    /// The word for it in results.
    pub fn name(self) -> &'static str {
        match self {
            MemberRole::Head => "head",
            MemberRole::Internal => "internal",
            MemberRole::Leaf => "leaf",
            MemberRole::None => "none",
        }
    }
}

impl Instance {
    /// Where it is among the structures.
    pub fn place(&self) -> HeadPlace {
        match (self.is_part, self.is_element) {
            (true, _) => HeadPlace::Part,
            (_, true) => HeadPlace::Element,
            _ if self.is_view => HeadPlace::View,
            _ => HeadPlace::TopLevel,
        }
    }
}

/// Members of structures, one structure after the other.
#[derive(Default)]
struct ByStructure {
    ends: Vec<usize>,
    members: Vec<ObjectId>,
}

impl ByStructure {
    fn of(&self, number: u32) -> &[ObjectId] {
        let start = match number {
            0 => 0,
            number => self.ends[number as usize - 1],
        };
        &self.members[start..self.ends[number as usize]]
    }

    /// Ends the list of one structure, whose members began there; each is in it once.
    fn end(&mut self, start: usize) {
        self.members[start..].sort_unstable();
        let mut last = start;
        for at in start..self.members.len() {
            if at == start || self.members[at] != self.members[last - 1] {
                self.members[last] = self.members[at];
                last += 1;
            }
        }
        self.members.truncate(last);
        self.ends.push(last);
    }
}

impl Structures {
    /// The members of all structures; those of parts belong to what they are a part of, too.
    pub fn members(&self, model: &Model, progress: &dyn Progress) -> Result<Members, Cancelled> {
        progress.stage("collecting the members of data structures", 0);
        let (mut internals, mut leaves) = (ByStructure::default(), ByStructure::default());
        let mut walker = Walker::new(model);
        for instance in &self.instances {
            let (first_internal, first_leaf) = (internals.members.len(), leaves.members.len());
            let leave = match instance.at_least {
                true => Shared::Leave,
                false => Shared::Follow,
            };
            let tell = |met| match met {
                Met::Internal { object, .. } => internals.members.push(object),
                Met::Part(object) if !instance.is_view => internals.members.push(object),
                Met::Leaf { object, .. } => leaves.members.push(object),
                Met::Part(_) | Met::Array(_) => {}
            };
            walker.walk(instance.head, tell, || leave);
            internals.end(first_internal);
            leaves.end(first_leaf);
        }
        progress.check()?;
        let (internals, leaves) = (self.pairs(&internals, model), self.pairs(&leaves, model));
        let heads = self.instances.iter().map(|instance| {
            let of_type = model.name(instance.definition as usize).to_owned();
            (instance.head, of_type, instance.place())
        });
        let objects = model.state.len() as usize;
        Ok(Members::new(objects, heads, &internals, &leaves))
    }

    /// Heads with their members and those of their parts.
    fn pairs(&self, own: &ByStructure, model: &Model) -> Vec<(ObjectId, ObjectId)> {
        let most = MOST_PAIRS * model.state.len() as usize + own.members.len();
        let mut pairs = Vec::with_capacity(own.members.len());
        for (number, instance) in (0..).zip(&self.instances) {
            let start = pairs.len();
            let mut waiting = vec![number];
            let mut seen = FxHashSet::from_iter([number]);
            while let Some(number) = waiting.pop() {
                pairs.extend(own.of(number).iter().map(|&member| (instance.head, member)));
                let parts = self.inside(number).iter();
                for &(_, inner, _) in parts.filter(|pair| pair.2 == Inside::Part) {
                    if pairs.len() < most && seen.insert(inner) {
                        waiting.push(inner);
                    }
                }
            }
            if seen.len() > 1 {
                pairs[start..].sort_unstable();
                let mut rest = pairs.split_off(start);
                rest.dedup();
                pairs.append(&mut rest);
            }
        }
        pairs
    }
}
