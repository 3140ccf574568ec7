//! Which objects belong to which data structures, as columns: what classifiers and transformers ask.

use anthill_heap::{BitSet, ObjectId};
use rustc_hash::FxHashMap;

use crate::builtin::Context;
use crate::lists::Lists;
use crate::steps::Step;
use crate::values::{Classified, LabelId};

/// How the head of a structure is in others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadPlace {
    TopLevel,
    Element,
    Part,
    /// It shows what another structure has.
    View,
}

impl HeadPlace {
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
    internals: Lists,
    leaves: Lists,
    /// By member: the heads of the structures it belongs to.
    structures: Lists,
}

impl Members {
    /// Pairs are a head and a member of its structure, each once.
    pub fn new(
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
            internals: Lists::new(objects, || internals.iter().copied()),
            leaves: Lists::new(objects, || leaves.iter().copied()),
            structures: Lists::new(objects, || structures.iter().copied()),
        }
    }

    pub(crate) fn internals(&self, head: ObjectId) -> &[ObjectId] {
        self.internals.of(head)
    }

    pub(crate) fn leaves(&self, head: ObjectId) -> &[ObjectId] {
        self.leaves.of(head)
    }

    pub(crate) fn structures(&self, member: ObjectId) -> &[ObjectId] {
        self.structures.of(member)
    }

    /// The index of its role in [`ROLES`].
    fn role(&self, object: ObjectId) -> usize {
        if self.heads.contains_key(&object) {
            0
        } else if self.is_internal.contains(object) {
            1
        } else if !self.structures(object).is_empty() {
            2
        } else {
            3
        }
    }
}

const ROLES: [&str; 4] = ["head", "internal", "leaf", "none"];

impl Step {
    /// Whether it asks about data structures, so that [`Context::with_members`] is needed.
    pub fn needs_members(&self) -> bool {
        match self {
            Step::Predefined(call) => call.what.is_about_structures(),
            Step::Classify(expression) | Step::Where(expression) | Step::To(expression) => {
                expression.calls(&|call| call.what.is_about_structures())
            }
        }
    }
}

impl Context<'_> {
    pub(crate) fn structure_role(&self) -> Classified {
        let role = |object| self.members.map_or(3, |members| members.role(object)) as i64;
        self.by_number(role, |role| ROLES[role as usize].to_owned())
    }

    pub(crate) fn structure_place(&self) -> Classified {
        let place = |object| {
            let (_, place) = self.members?.heads.get(&object)?;
            Some(place.name())
        };
        self.by_object(|values, object| values.one(place(object).unwrap_or(NO_HEAD)))
    }

    pub(crate) fn containing_structure(&self) -> Classified {
        let mut known: FxHashMap<Vec<&str>, LabelId> = FxHashMap::default();
        self.by_object(|values, object| {
            let heads = self
                .members
                .map_or(&[][..], |members| members.structures(object));
            let of_type = |head| Some(self.members?.heads.get(head)?.0.as_str());
            let mut types: Vec<&str> = heads.iter().filter_map(of_type).collect();
            types.sort_unstable();
            types.dedup();
            if types.is_empty() {
                types.push(NO_STRUCTURE);
            }
            if let Some(&label) = known.get(&types) {
                return label;
            }
            let paths = types
                .iter()
                .map(|&of_type| values.path([of_type]))
                .collect();
            let label = values.label(paths);
            known.insert(types, label);
            label
        })
    }
}

const NO_HEAD: &str = "(no head)";
const NO_STRUCTURE: &str = "(in no structure)";
