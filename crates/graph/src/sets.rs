//! Sets of groups for every object of a heap: equal sets share one number and operations are
//! remembered, since a heap has millions of objects but few distinct sets.

use std::cmp::Ordering;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::groups::GroupTotals;

pub(crate) type SetId = u32;
pub(crate) const EMPTY: SetId = 0;
pub(crate) const UNSET: SetId = SetId::MAX;
/// More members than this in all sets together, and the groups are treated in parts.
const MAX_MEMBERS: usize = 1 << 24;
const RECENT: usize = 1 << 10;

/// Sets of groups, equal ones once.
pub(crate) struct Sets<'a> {
    groups_of_label: &'a [Vec<u32>],
    members: Vec<Rc<[u32]>>,
    numbers: FxHashMap<Rc<[u32]>, SetId>,
    with_label: FxHashMap<(SetId, u32), SetId>,
    /// The latest answers of `with_label`, by a few bits of the question.
    recent: Box<[(SetId, u32, SetId); RECENT]>,
    intersections: FxHashMap<(SetId, SetId), SetId>,
    unions: FxHashMap<(SetId, SetId), SetId>,
    total_members: usize,
}

impl<'a> Sets<'a> {
    pub(crate) fn new(groups_of_label: &'a [Vec<u32>]) -> Self {
        let mut sets = Sets {
            groups_of_label,
            members: Vec::new(),
            numbers: FxHashMap::default(),
            with_label: FxHashMap::default(),
            recent: Box::new([(UNSET, 0, 0); RECENT]),
            intersections: FxHashMap::default(),
            unions: FxHashMap::default(),
            total_members: 0,
        };
        sets.number(&[]);
        sets
    }

    pub(crate) fn members(&self, set: SetId) -> &[u32] {
        &self.members[set as usize]
    }

    /// With at most two sets, {} and one other, there is nothing left to split.
    pub(crate) fn overfull(&self) -> bool {
        self.total_members > MAX_MEMBERS && self.members.len() > 2
    }

    fn number(&mut self, members: &[u32]) -> SetId {
        if let Some(&set) = self.numbers.get(members) {
            return set;
        }
        let set = self.members.len() as SetId;
        let members: Rc<[u32]> = members.into();
        self.total_members += members.len();
        self.numbers.insert(members.clone(), set);
        self.members.push(members);
        set
    }

    #[inline]
    pub(crate) fn with_label(&mut self, set: SetId, label: u32) -> SetId {
        let slot = (set as usize).wrapping_mul(31).wrapping_add(label as usize) % RECENT;
        let recent = self.recent[slot];
        if (recent.0, recent.1) == (set, label) {
            return recent.2;
        }
        let with = match self.with_label.get(&(set, label)) {
            Some(&with) => with,
            None => self.make_with_label(set, label),
        };
        self.recent[slot] = (set, label, with);
        with
    }

    /// With the groups of several labels, which are sorted on the way. No sets are made in between
    /// where they are many: each would be larger than the one before.
    pub(crate) fn with_labels(&mut self, set: SetId, labels: &mut Vec<u32>) -> SetId {
        const FEW: usize = 2;
        labels.sort_unstable();
        labels.dedup();
        if labels.len() <= FEW {
            return labels
                .iter()
                .fold(set, |set, &label| self.with_label(set, label));
        }
        let groups = labels
            .iter()
            .flat_map(|&label| &self.groups_of_label[label as usize]);
        let mut groups: Vec<u32> = groups.copied().collect();
        groups.sort_unstable();
        groups.dedup();
        let members = merged(self.members(set), &groups);
        self.number(&members)
    }

    fn make_with_label(&mut self, set: SetId, label: u32) -> SetId {
        let with = self.make_union(set, |sets| &sets.groups_of_label[label as usize]);
        self.with_label.insert((set, label), with);
        with
    }

    #[inline]
    pub(crate) fn intersection(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || a == EMPTY || b == EMPTY {
            return if a == b { a } else { EMPTY };
        }
        let key = (a.min(b), a.max(b));
        if let Some(&both) = self.intersections.get(&key) {
            return both;
        }
        let other = self.members(b);
        let both = self
            .members(a)
            .iter()
            .copied()
            .filter(|group| other.binary_search(group).is_ok());
        let both = self.number(&both.collect::<Vec<_>>());
        self.intersections.insert(key, both);
        both
    }

    #[inline]
    pub(crate) fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == EMPTY {
            return a;
        }
        if a == EMPTY {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(&either) = self.unions.get(&key) {
            return either;
        }
        let either = self.make_union(a, |sets| sets.members(b));
        self.unions.insert(key, either);
        either
    }

    fn make_union(&mut self, set: SetId, with: impl FnOnce(&Self) -> &[u32]) -> SetId {
        let own = self.members(set);
        let members = merged(own, with(self));
        if members.len() == own.len() {
            return set;
        }
        self.number(&members)
    }
}

/// The members of two ascending lists, ascending, each once.
fn merged(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut members = Vec::with_capacity(a.len() + b.len());
    let (mut left, mut right) = (a, b);
    while let ([first, rest @ ..], [other, ..]) = (left, right) {
        match first.cmp(other) {
            Ordering::Less => {
                members.push(*first);
                left = rest;
            }
            Ordering::Equal => right = &right[1..],
            Ordering::Greater => {
                members.push(*other);
                right = &right[1..];
            }
        }
    }
    members.extend_from_slice(left);
    members.extend_from_slice(right);
    members
}

/// Adds up objects and bytes by set.
#[derive(Default)]
pub(crate) struct Sums(Vec<GroupTotals>);

impl Sums {
    #[inline]
    pub(crate) fn add(&mut self, set: SetId, totals: GroupTotals) {
        if self.0.len() <= set as usize {
            self.0.resize(set as usize + 1, GroupTotals::default());
        }
        let sum = &mut self.0[set as usize];
        sum.objects += totals.objects;
        sum.bytes += totals.bytes;
    }

    pub(crate) fn join(&mut self, other: &Sums) {
        for (&totals, set) in other.0.iter().zip(0..) {
            self.add(set, totals);
        }
    }

    /// Adds what each set has to the totals of its groups.
    pub(crate) fn spread(&self, sets: &Sets, totals: &mut [GroupTotals]) {
        for (sum, set) in self.0.iter().zip(0..) {
            for &group in sets.members(set) {
                totals[group as usize].objects += sum.objects;
                totals[group as usize].bytes += sum.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_merged_in_order() {
        for (a, b, both) in [
            (&[][..], &[][..], &[][..]),
            (&[1, 3], &[], &[1, 3]),
            (&[], &[2], &[2]),
            (&[1, 3, 5], &[2, 3, 9], &[1, 2, 3, 5, 9]),
            (&[1, 2], &[1, 2], &[1, 2]),
        ] {
            assert_eq!(merged(a, b), both);
        }
    }
}
