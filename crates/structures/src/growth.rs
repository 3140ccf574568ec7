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
        }
    }
}

/// A structure that is there in the last state and has more than in the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Grown {
    pub key: String,
    /// By state; nothing where it is not there.
    pub curve: Vec<Option<Observed>>,
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
        .map(|key| Grown {
            key: key.clone(),
            curve: inventories
                .iter()
                .map(|inventory| inventory.structures.get(key).copied())
                .collect(),
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
}
