//! Which structures grow between heap states, and how much of the heap's growth is theirs (Weninger et
//! al. 2018: heap growth portion).
//!
//! Knows only what was observed of each structure under a key that stays the same: an identity that a
//! recording follows, or the way by which a dump holds it.

use std::collections::{BTreeMap, BTreeSet};

/// What a structure has in one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Its number among the structures of the state.
    pub number: u32,
    /// Who it is in a recording, where that is known. Later ones are greater.
    pub identity: Option<u64>,
    /// How many elements it has, if that is known.
    pub elements: Option<u64>,
    /// Bytes that would die with it.
    pub retained: u64,
    /// Bytes of head and internals.
    pub bytes: u64,
}

/// How a structure is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The way to it, in words.
    pub path: String,
    /// Whether the path leads to one place, not to one of several that look alike.
    pub is_one_place: bool,
}

/// What there is in an earlier state of a structure of a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// Itself, under the same key.
    Same(Observed),
    /// What is held in the same way, where one of the two has no identity.
    Alike(Observed),
    /// What it took the place of, which is gone.
    Replaced(Observed),
    /// It was not there.
    Absent,
    /// It was there, or may have been, but cannot be found.
    Unknown,
}

impl Earlier {
    /// What was found, if anything was.
    pub fn observed(self) -> Option<Observed> {
        match self {
            Earlier::Same(one) | Earlier::Alike(one) | Earlier::Replaced(one) => Some(one),
            Earlier::Absent | Earlier::Unknown => None,
        }
    }

    /// What to compare with: what was not there had nothing, and what is not known is nothing to compare with.
    pub fn figures(self) -> Option<Observed> {
        match self {
            Earlier::Absent => Some(Observed {
                elements: Some(0),
                ..Observed::default()
            }),
            found => found.observed(),
        }
    }
}

/// The structures of one state by key.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Bytes of the reachable heap.
    pub heap: u64,
    /// Those that can be told apart.
    pub structures: BTreeMap<String, Observed>,
    /// Structures that share their key with others, so that they cannot be told apart.
    pub unclear: u64,
    /// The keys that they share.
    shared: BTreeSet<String>,
    /// How structures with identities are held, by key.
    held: BTreeMap<String, Holder>,
    /// Keys by path; nothing where several structures are held in the same way.
    holds: BTreeMap<String, Option<String>>,
    /// The last identity that was given before the state was taken.
    newest: Option<u64>,
}

impl Inventory {
    /// Keys that several structures have are left out.
    pub fn new(heap: u64, observed: impl Iterator<Item = (String, Observed)>) -> Self {
        let mut structures = BTreeMap::new();
        let mut shared = BTreeSet::new();
        let mut unclear = 0;
        for (key, one) in observed {
            if shared.contains(&key) {
                unclear += 1;
            } else if structures.remove(&key).is_some() {
                unclear += 2;
                shared.insert(key);
            } else {
                structures.insert(key, one);
            }
        }
        Inventory {
            heap,
            structures,
            unclear,
            shared,
            ..Inventory::default()
        }
    }

    /// Adds what is known of structures whose keys are identities: the last one that was given before, and how
    /// they are held. So one can be recognised that has lost its identity or took the place of another.
    pub fn with_identities(
        mut self,
        newest: Option<u64>,
        held: impl Iterator<Item = (String, Holder)>,
    ) -> Self {
        self.newest = newest;
        self.held = held.collect();
        for (key, holder) in &self.held {
            let path = &holder.path;
            let is_only = !self.holds.contains_key(path)
                && !self.structures.contains_key(path)
                && !self.shared.contains(path);
            let only = is_only.then(|| key.clone());
            self.holds.insert(path.clone(), only);
        }
        self
    }

    /// What there is here of a structure of a later state.
    pub fn earlier(&self, key: &str, later: &Inventory) -> Earlier {
        if let Some(same) = self.structures.get(key) {
            return Earlier::Same(*same);
        }
        if self.shared.contains(key) {
            return Earlier::Unknown;
        }
        match later.structures.get(key).and_then(|one| one.identity) {
            Some(identity) => self.before_identity(key, identity, later),
            None => self.at_path(key, later),
        }
    }

    /// The same of one with an identity that is not here.
    fn before_identity(&self, key: &str, identity: u64, later: &Inventory) -> Earlier {
        let was_there = self.newest.is_some_and(|newest| identity <= newest);
        let not_found = match was_there {
            true => Earlier::Unknown,
            false => Earlier::Absent,
        };
        let Some(holder) = later.held.get(key) else {
            return not_found;
        };
        let path = &holder.path;
        let is_only = later.holds.get(path).is_some_and(Option::is_some);
        match self.structures.get(path) {
            Some(alike) if is_only => return Earlier::Alike(*alike),
            // One of those that have no identity here may be the same.
            Some(_) => return Earlier::Unknown,
            None if self.shared.contains(path) => return Earlier::Unknown,
            None => {}
        }
        let is_in_place = is_only && holder.is_one_place && !was_there;
        match self.holds.get(path).filter(|_| is_in_place) {
            Some(Some(other)) if !later.structures.contains_key(other) => {
                let other = self.structures.get(other).copied();
                other.map_or(not_found, Earlier::Replaced)
            }
            _ => not_found,
        }
    }

    /// The same of one without an identity, whose key is how it is held.
    fn at_path(&self, path: &str, later: &Inventory) -> Earlier {
        match self.holds.get(path) {
            // That one is somewhere else now.
            Some(Some(other)) if later.structures.contains_key(other) => Earlier::Absent,
            Some(Some(other)) => {
                let other = self.structures.get(other).copied();
                other.map_or(Earlier::Unknown, Earlier::Alike)
            }
            Some(None) => Earlier::Unknown,
            None => Earlier::Absent,
        }
    }

    /// How many structures of a later state cannot be compared with this one.
    pub fn not_comparable(&self, later: &Inventory) -> u64 {
        let unknown = later.structures.keys();
        let unknown = unknown.filter(|key| self.earlier(key, later) == Earlier::Unknown);
        later.unclear + unknown.count() as u64
    }
}

/// A structure that is there in the last state and has more than in the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Grown {
    /// What it is called in all states.
    pub key: String,
    /// By state; nothing where it is not there or not known. In the first state it is known.
    pub curve: Vec<Option<Observed>>,
    /// Whether it took the place of what the curve begins with.
    pub replaces: bool,
}

impl Grown {
    /// What it had in the first state.
    pub fn first(&self) -> Option<Observed> {
        self.curve.first().copied().flatten()
    }

    /// What it has in the last state.
    pub fn last(&self) -> Observed {
        self.curve.last().copied().flatten().unwrap_or_default()
    }

    /// Whether it was not there in the first state.
    pub fn is_born(&self) -> bool {
        self.first().is_none()
    }

    /// By how many bytes it retains more.
    pub fn change(&self) -> u64 {
        let before = self.first().map_or(0, |first| first.retained);
        self.last().retained.saturating_sub(before)
    }

    /// How many elements more it has, if both numbers are known.
    pub fn new_elements(&self) -> Option<i64> {
        let before = match self.first() {
            Some(first) => first.elements?,
            None => 0,
        };
        Some(self.last().elements? as i64 - before as i64)
    }

    /// Whether hardly anything came after the first third of the states: what a program makes when it starts is no leak.
    pub fn has_settled(&self) -> bool {
        const LEAST_LATER: u128 = 5;
        let third = (self.curve.len() / 3).max(1);
        let is_late = third + 1 < self.curve.len();
        let then = self.curve.get(third).copied().flatten();
        then.filter(|_| is_late).is_some_and(|then| {
            let later = self.last().retained.saturating_sub(then.retained);
            u128::from(later) * 100 <= u128::from(self.change()) * LEAST_LATER
        })
    }

    /// Whether it retains at least as much in every state as in the one before, as far as it is known.
    pub fn never_shrinks(&self) -> bool {
        let known = self.curve.iter().flatten();
        known.is_sorted_by_key(|one| one.retained)
    }
}

/// The share of the heap's growth, in percent; nothing if the heap did not grow.
pub fn growth_portion(change: u64, heap_before: u64, heap_after: u64) -> Option<f64> {
    let grown = heap_after
        .checked_sub(heap_before)
        .filter(|&grown| grown > 0)?;
    Some(change as f64 / grown as f64 * 100.0)
}

/// The structures that are there at the end and retain more than at the beginning, most growth first. Those of
/// which the beginning is not known are left out.
pub fn grown(inventories: &[Inventory]) -> Vec<Grown> {
    let Some(last) = inventories.last() else {
        return Vec::new();
    };
    let mut grown: Vec<Grown> = last
        .structures
        .keys()
        .filter_map(|key| {
            let earlier = |inventory: &Inventory| inventory.earlier(key, last);
            let curve: Vec<Earlier> = inventories.iter().map(earlier).collect();
            let first = *curve.first()?;
            (first != Earlier::Unknown).then(|| Grown {
                key: key.clone(),
                replaces: matches!(first, Earlier::Replaced(_)),
                curve: curve.into_iter().map(Earlier::observed).collect(),
            })
        })
        .filter(|one| one.change() > 0)
        .collect();
    grown.sort_by(|a, b| (b.change(), &a.key).cmp(&(a.change(), &b.key)));
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(heap: u64, of: &[(&str, u64, u64)]) -> Inventory {
        let observed = of
            .iter()
            .zip(0..)
            .map(|(&(key, elements, retained), number)| {
                let one = Observed {
                    number,
                    identity: key.strip_prefix('#').and_then(|id| id.parse().ok()),
                    elements: Some(elements),
                    retained,
                    bytes: 0,
                };
                (key.to_owned(), one)
            });
        Inventory::new(heap, observed)
    }

    /// Adds how structures are held; identities up to the newest of them were given before.
    fn with_held(inventory: Inventory, held: &[(&str, &str)]) -> Inventory {
        let identities = inventory.structures.values();
        let newest = identities.filter_map(|one| one.identity).max();
        let held = held.iter().map(|&(key, path)| {
            let holder = Holder {
                path: path.to_owned(),
                is_one_place: !path.contains("[Key]"),
            };
            (key.to_owned(), holder)
        });
        inventory.with_identities(newest, held)
    }

    /// What is said about each structure that grew: by how many bytes, and what there is of it at the beginning.
    fn said(inventories: &[Inventory]) -> Vec<(String, u64, &'static str)> {
        let [first, .., last] = inventories else {
            panic!("two states");
        };
        let said = grown(inventories).into_iter().map(|one| {
            let how = match first.earlier(&one.key, last) {
                Earlier::Same(_) => "same",
                Earlier::Alike(_) => "alike",
                Earlier::Replaced(_) => "replaced",
                Earlier::Absent => "born",
                Earlier::Unknown => "unknown",
            };
            assert_eq!(
                (one.is_born(), one.replaces),
                (how == "born", how == "replaced")
            );
            (one.key.clone(), one.change(), how)
        });
        said.collect()
    }

    fn growth(key: &str, bytes: u64, how: &'static str) -> (String, u64, &'static str) {
        (key.to_owned(), bytes, how)
    }

    #[test]
    fn growth_is_a_portion_of_what_the_heap_grew_by() {
        // The example of the paper: 1 GB to 2 GB, a list that retains 700 MB more.
        let gb = 1000 * 1000 * 1000;
        assert_eq!(growth_portion(700 * gb / 1000, gb, 2 * gb), Some(70.0));
        assert_eq!(growth_portion(5, 10, 10), None);
        assert_eq!(growth_portion(5, 10, 9), None);
    }

    #[test]
    fn what_is_there_at_the_end_and_retains_more_has_grown() {
        let inventories = [
            inventory(
                1000,
                &[
                    ("leak", 10, 100),
                    ("lru", 50, 500),
                    ("dropped", 1, 10),
                    ("twice", 1, 1),
                    ("twice", 1, 1),
                ],
            ),
            inventory(
                1400,
                &[
                    ("leak", 20, 200),
                    ("lru", 50, 520),
                    ("dropped", 90, 300),
                    ("born", 1, 20),
                ],
            ),
            inventory(
                2000,
                &[("leak", 30, 900), ("lru", 50, 490), ("born", 5, 60)],
            ),
        ];
        let found = grown(&inventories);
        let keys: Vec<&str> = found.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["leak", "born"]);
        let (leak, born) = (&found[0], &found[1]);
        assert_eq!((leak.change(), leak.new_elements()), (800, Some(20)));
        assert_eq!(growth_portion(leak.change(), 1000, 2000), Some(80.0));
        assert!(leak.never_shrinks() && !leak.is_born() && born.is_born());
        assert_eq!((born.change(), born.new_elements()), (60, Some(5)));
        assert_eq!(
            (inventories[0].unclear, inventories[0].structures.len()),
            (2, 3)
        );
        assert!(grown(&[]).is_empty());
    }

    #[test]
    fn what_only_a_start_makes_has_settled() {
        let of = |sizes: &[u64]| {
            let states = sizes.iter().map(|&size| match size {
                0 => inventory(1000, &[]),
                size => inventory(1000 + size, &[("it", 1, size)]),
            });
            grown(&states.collect::<Vec<_>>()).remove(0)
        };
        assert!(of(&[100, 500, 500]).has_settled());
        assert!(
            of(&[0, 500, 510, 505]).has_settled(),
            "born in the first third"
        );
        assert!(of(&[100, 300, 500, 500, 500, 505, 510]).has_settled());
        assert!(
            !of(&[100, 500]).has_settled(),
            "nobody knows what comes later"
        );
        assert!(!of(&[100, 500, 600]).has_settled());
        assert!(!of(&[100, 200, 400, 800]).has_settled());
        assert!(
            !of(&[100, 0, 500]).has_settled(),
            "a state that does not know it"
        );
        assert!(!of(&[100, 100, 100, 100, 100, 500]).has_settled());
    }

    #[test]
    fn what_takes_the_place_of_another_grows_by_the_difference() {
        let first = inventory(1000, &[("#1", 10, 100), ("#2", 10, 100), ("#5", 1, 70)]);
        let first = with_held(
            first,
            &[("#1", "A.same"), ("#2", "A.more"), ("#5", "A.left")],
        );
        let last = inventory(
            1300,
            &[
                ("#13", 10, 100),
                ("#14", 12, 150),
                ("#5", 1, 70),
                ("#16", 1, 80),
            ],
        );
        let last = with_held(
            last,
            &[
                ("#13", "A.same"),
                ("#14", "A.more"),
                ("#5", "A.right"),
                ("#16", "A.left"),
            ],
        );
        // What only moved away was not replaced.
        assert_eq!(
            said(&[first, last]),
            [growth("#16", 80, "born"), growth("#14", 50, "replaced")]
        );
    }

    #[test]
    fn what_lost_its_identity_is_recognised_by_how_it_is_held() {
        let whole = with_held(
            inventory(1000, &[("#1", 10, 100), ("#9", 1, 10)]),
            &[("#1", "A.list"), ("#9", "A.other")],
        );
        let lost = with_held(
            inventory(1050, &[("A.list", 15, 150), ("#9", 1, 10)]),
            &[("#9", "A.other")],
        );
        let later = with_held(
            inventory(1200, &[("#1", 30, 300), ("#9", 1, 10)]),
            &[("#1", "A.list"), ("#9", "A.other")],
        );
        let at_the_end = said(&[whole.clone(), lost.clone()]);
        assert_eq!(at_the_end, [growth("A.list", 50, "alike")]);
        let at_the_beginning = said(&[lost.clone(), later.clone()]);
        assert_eq!(at_the_beginning, [growth("#1", 150, "alike")]);
        // Both ends know it: nothing is approximate but the middle of the curve.
        let states = [whole, lost, later];
        assert_eq!(said(&states), [growth("#1", 200, "same")]);
        let found = grown(&states);
        let curve = found[0].curve.iter().map(|one| Some((*one)?.retained));
        assert_eq!(curve.collect::<Vec<_>>(), [Some(100), Some(150), Some(300)]);
    }

    #[test]
    fn what_was_there_and_cannot_be_found_has_not_grown() {
        let values = "A.map → [Key]";
        let first = with_held(
            inventory(1000, &[("#9", 1, 10), (values, 5, 50), (values, 5, 50)]),
            &[("#9", "A.other")],
        );
        let last = with_held(
            inventory(
                2000,
                &[
                    ("#3", 50, 500),
                    ("#12", 6, 60),
                    ("#13", 7, 70),
                    ("#9", 1, 10),
                ],
            ),
            &[
                ("#3", "A.moved"),
                ("#12", values),
                ("#13", "A.new"),
                ("#9", "A.other"),
            ],
        );
        // The third was there when the ninth was; the twelfth may be one of those in the map.
        assert_eq!(first.earlier("#3", &last), Earlier::Unknown);
        assert_eq!(first.earlier("#12", &last), Earlier::Unknown);
        assert_eq!(first.not_comparable(&last), 2);
        assert_eq!(said(&[first, last]), [growth("#13", 70, "born")]);
    }

    #[test]
    fn one_of_several_that_could_not_be_told_apart_is_not_new() {
        let first = inventory(1000, &[("A.map → [Key]", 5, 50), ("A.map → [Key]", 5, 50)]);
        let last = inventory(1100, &[("A.map → [Key]", 5, 50), ("A.new", 10, 100)]);
        assert_eq!(first.not_comparable(&last), 1);
        assert_eq!(said(&[first, last]), [growth("A.new", 100, "born")]);
    }

    #[test]
    fn a_state_that_does_not_know_a_structure_leaves_a_gap() {
        let known = |retained| {
            let of = inventory(1000 + retained, &[("#1", 1, retained)]);
            with_held(of, &[("#1", "A.list")])
        };
        let unknown = inventory(1000, &[("B.list", 1, 10)]);
        let found = grown(&[known(100), unknown, known(120)]);
        let curve: Vec<_> = found[0].curve.iter().map(|one| one.is_some()).collect();
        assert_eq!(curve, [true, false, true]);
        assert!(found[0].never_shrinks() && !found[0].is_born());
    }
}
