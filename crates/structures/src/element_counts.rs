//! Whether a definition determines how many elements a structure has, and by what.

use rustc_hash::FxHashSet;

use crate::language::{Definition, Item, Kind, Role, Target};
use crate::model::{Model, is_primitive_array};

/// What determines how many elements structures of a definition have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// References to leaves and entries.
    References,
    /// The field of its size alone.
    Field,
    /// The field of its size and, where it cannot be read, references: a pair whose value is null
    /// leaves one reference instead of two.
    Pairs,
    /// Nothing: it is all internals.
    Nothing,
}

impl Model<'_> {
    pub(crate) fn counts(&self, number: usize) -> Counts {
        let definition = &self.definitions.all()[number].definition;
        let by_field = definition.size.is_some();
        if by_field && (definition.kind == Kind::View || !has_references(definition)) {
            Counts::Field
        } else if by_field && has_pairs_only(definition) {
            Counts::Pairs
        } else if definition.items.is_empty() || self.leads_to_elements(number) {
            Counts::References
        } else {
            Counts::Nothing
        }
    }

    /// Whether there is a way from a definition to something that counts.
    fn leads_to_elements(&self, number: usize) -> bool {
        let mut seen = FxHashSet::from_iter([number]);
        let mut waiting = vec![number];
        while let Some(number) = waiting.pop() {
            let definition = &self.definitions.all()[number].definition;
            if definition.kind == Kind::Entry || definition.size.is_some() {
                return true;
            }
            for item in &definition.items {
                if self.counts_itself(item) {
                    return true;
                }
                let targets = item.content.iter().chain([&item.target]);
                for target in targets.filter(|target| !target.leaf) {
                    let parts = self.described(target.name.trim_end_matches("[]"));
                    waiting.extend(parts.into_iter().filter(|&part| seen.insert(part)));
                }
            }
        }
        false
    }

    /// Whether what an item leads to counts, whatever is described of it.
    fn counts_itself(&self, item: &Item) -> bool {
        let target = &item.target;
        let counted = |role: Role| role.halves() > 0;
        if !item.content.is_empty() {
            return item.content.iter().any(|of| of.leaf && counted(of.role));
        }
        if target.leaf || !counted(target.role) {
            return target.leaf && counted(target.role);
        }
        let element = target.name.strip_suffix("[]");
        let of_leaves = element.is_some_and(|element| {
            !is_primitive_array(&target.name) && self.described(element).is_empty()
        });
        of_leaves || target.name.contains(['*', '?'])
    }

    /// The definitions of a type and of its subtypes.
    fn described(&self, name: &str) -> Vec<usize> {
        let classes = self.names.matching(name);
        let of_classes = classes
            .iter()
            .filter_map(|class| self.of_class[class as usize]);
        let mut found: Vec<usize> = of_classes.chain(self.definitions.find(name)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whether it has nothing but keys and values in turn.
fn has_pairs_only(definition: &Definition) -> bool {
    let mut items = definition.items.iter();
    let is_pair = |target: &Target| target.leaf && target.role == Role::Pair;
    !definition.items.is_empty()
        && items.all(|item| !item.content.is_empty() && item.content.iter().all(is_pair))
}

/// Whether there is anything but arrays of primitives.
fn has_references(definition: &Definition) -> bool {
    let mut targets = definition.items.iter().map(|item| &item.target);
    targets.any(|target| target.leaf || !is_primitive_array(&target.name))
}
