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
    pub elements: Option<u64>,
    pub retained: u64,
    /// Bytes of head and internals.
    pub bytes: u64,
}

/// The structures of one state by key.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Bytes of the reachable heap.
    pub heap: u64,
    pub structures: BTreeMap<String, Observed>,
    /// Structures that share their key with others, so that they cannot be told apart.
    pub unclear: u64,
    /// How structures are held, by key, where the key is something else; no two of them alike.
    held: BTreeMap<String, String>,
    /// The same the other way round.
    holds: BTreeMap<String, String>,
}

impl Inventory {
    /// Keys that several structures have are left out.
    pub fn new(heap: u64, observed: impl Iterator<Item = (String, Observed)>) -> Self {
        let mut structures = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        let mut unclear = 0;
        for (key, one) in observed {
            if ambiguous.contains(&key) {
                unclear += 1;
            } else if structures.remove(&key).is_some() {
                unclear += 2;
                ambiguous.insert(key);
            } else {
                structures.insert(key, one);
            }
        }
        Inventory {
            heap,
            structures,
            unclear,
            ..Inventory::default()
        }
    }

    /// Adds how structures are held, so that one can be recognised as what took the place of another.
    pub fn with_holders(mut self, held: impl Iterator<Item = (String, String)>) -> Self {
        let mut ambiguous = BTreeSet::new();
        for (key, holder) in held {
            if !ambiguous.contains(&holder) && self.holds.insert(holder.clone(), key).is_some() {
                self.holds.remove(&holder);
                ambiguous.insert(holder);
            }
        }
        let reversed = self.holds.iter();
        self.held = reversed
            .map(|(holder, key)| (key.clone(), holder.clone()))
            .collect();
        self
    }

    /// What there is here of a structure of a later state: itself, or else what it took the place of, which
    /// is not there any more. The latter is marked.
    pub fn earlier(&self, key: &str, later: &Inventory) -> Option<(Observed, bool)> {
        if let Some(same) = self.structures.get(key) {
            return Some((*same, false));
        }
        let other = self.holds.get(later.held.get(key)?)?;
        let gone = !later.structures.contains_key(other);
        let other = self.structures.get(other).filter(|_| gone)?;
        Some((*other, true))
    }
}

/// A structure that is there in the last state and has more than in the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Grown {
    pub key: String,
    /// By state; nothing where it is not there.
    pub curve: Vec<Option<Observed>>,
    /// Whether it took the place of what the curve begins with.
    pub replaces: bool,
}

impl Grown {
    pub fn first(&self) -> Option<Observed> {
        self.curve.first().copied().flatten()
    }

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

    pub fn new_elements(&self) -> Option<i64> {
        let before = match self.first() {
            Some(first) => first.elements?,
            None => 0,
        };
        Some(self.last().elements? as i64 - before as i64)
    }

    /// Whether it retains at least as much in every state as in the one before.
    pub fn never_shrinks(&self) -> bool {
        let retained = |one: &Option<Observed>| one.map_or(0, |one| one.retained);
        let mut pairs = self.curve.windows(2);
        pairs.all(|pair| retained(&pair[1]) >= retained(&pair[0]))
    }
}

/// The share of the heap's growth, in percent; nothing if the heap did not grow.
pub fn growth_portion(change: u64, heap_before: u64, heap_after: u64) -> Option<f64> {
    let grown = heap_after
        .checked_sub(heap_before)
        .filter(|&grown| grown > 0)?;
    Some(change as f64 / grown as f64 * 100.0)
}

/// The structures that are there at the end and retain more than at the beginning, most growth first.
pub fn grown(inventories: &[Inventory]) -> Vec<Grown> {
    let Some(last) = inventories.last() else {
        return Vec::new();
    };
    let mut grown: Vec<Grown> = last
        .structures
        .keys()
        .map(|key| {
            let earlier = |inventory: &Inventory| inventory.earlier(key, last);
            let curve: Vec<_> = inventories.iter().map(earlier).collect();
            Grown {
                key: key.clone(),
                replaces: curve.iter().flatten().any(|(_, other)| *other),
                curve: curve.into_iter().map(|one| Some(one?.0)).collect(),
            }
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
                    elements: Some(elements),
                    retained,
                    bytes: 0,
                };
                (key.to_owned(), one)
            });
        Inventory::new(heap, observed)
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
    fn what_takes_the_place_of_another_grows_by_the_difference() {
        let held = |key: &str, holder: &str| (key.to_owned(), holder.to_owned());
        let first = inventory(1000, &[("#1", 10, 100), ("#2", 10, 100), ("#5", 1, 70)]);
        let first = first.with_holders(
            [
                held("#1", "A.same"),
                held("#2", "A.more"),
                held("#5", "A.left"),
            ]
            .into_iter(),
        );
        let last = inventory(
            1300,
            &[
                ("#3", 10, 100),
                ("#4", 12, 150),
                ("#5", 1, 70),
                ("#6", 1, 80),
            ],
        );
        let last = last.with_holders(
            [
                held("#3", "A.same"),
                held("#4", "A.more"),
                held("#5", "A.right"),
                held("#6", "A.left"),
            ]
            .into_iter(),
        );
        let found = grown(&[first, last]);
        let seen: Vec<(&str, u64, bool, bool)> = found
            .iter()
            .map(|one| (one.key.as_str(), one.change(), one.replaces, one.is_born()))
            .collect();
        // What only moved away was not replaced.
        assert_eq!(seen, [("#6", 80, false, true), ("#4", 50, true, false)]);
    }
}
