//! Classifiers about the data structures that objects belong to.

use anthill_structures::MemberRole;
use rustc_hash::FxHashMap;

use super::Context;
use crate::steps::Step;
use crate::values::{Classified, LabelId};

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
        let none = MemberRole::None;
        let role = |object| self.members.map_or(none, |members| members.role(object)) as i64;
        self.by_number(role, |role| {
            MemberRole::ALL[role as usize].name().to_owned()
        })
    }

    pub(crate) fn structure_place(&self) -> Classified {
        let place = |object| {
            let (_, place) = self.members?.head(object)?;
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
            let of_type = |&head| Some(self.members?.head(head)?.0);
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
