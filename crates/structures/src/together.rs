//! What several structures have together, every object once, however many of them share it.

use anthill_heap::{Cancelled, ObjectId, Progress, Sizes};
use rustc_hash::FxHashSet;

use crate::detect::{BETWEEN_LOOKS, Inside, Structures};
use crate::model::Model;
use crate::tally::{Measures, Tally};
use crate::walker::{Met, Shared, Walker};

/// What some structures have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// How many structures.
    pub structures: u64,
    /// How many of them have no element.
    pub empty: u64,
    /// How many elements, each once for each structure.
    pub elements: u64,
    /// Bytes of heads and internals.
    pub bytes: u64,
    /// Of them, those of objects that belong to several of the structures.
    pub shared: u64,
    /// Of them, those that hold nothing.
    pub wasted: u64,
}

/// Adds up groups of structures, one group after the other. A walk ends where an earlier one of the same
/// group has been, so that a group costs what its objects are, not how often they are shared.
pub struct Unions<'m> {
    found: &'m Structures,
    measures: Measures<'m>,
    walker: Walker<'m>,
    /// By object: the first structure of a group that it belongs to.
    first: Vec<u32>,
}

/// What one structure adds to those before.
#[derive(Default)]
struct Added {
    elements: u64,
    bytes: u64,
    unused: u64,
}

impl<'m> Unions<'m> {
    /// For the structures of a heap, in bytes of these sizes.
    pub fn new(found: &'m Structures, model: &'m Model<'m>, sizes: &'m Sizes) -> Self {
        Unions {
            found,
            measures: Measures::new(model, sizes),
            walker: Walker::new(model),
            first: vec![0; model.state.len() as usize],
        }
    }

    /// What the structures of these numbers have together.
    pub fn of(&mut self, numbers: &[u32], progress: &dyn Progress) -> Result<Together, Cancelled> {
        let mut sum = Together::default();
        let mut seen = FxHashSet::default();
        self.walker.restart();
        for (at, &number) in numbers.iter().enumerate() {
            if at % BETWEEN_LOOKS == 0 {
                progress.check()?;
            }
            let added = self.walk(number, &mut seen, |first, object| {
                first[object as usize] = number;
            });
            let instance = &self.found.instances[number as usize];
            sum.structures += 1;
            sum.empty += u64::from(instance.is_empty());
            sum.elements += added.elements;
            sum.bytes += added.bytes;
            sum.wasted += match instance.is_empty() {
                true => added.bytes,
                false => added.unused,
            };
        }
        sum.shared = self.shared(numbers, progress)?;
        Ok(sum)
    }

    /// Bytes of what belongs to several: the other way round, it is met first by another one.
    fn shared(&mut self, numbers: &[u32], progress: &dyn Progress) -> Result<u64, Cancelled> {
        let mut shared = Vec::new();
        let mut seen = FxHashSet::default();
        self.walker.restart();
        for (at, &number) in numbers.iter().rev().enumerate() {
            if at % BETWEEN_LOOKS == 0 {
                progress.check()?;
            }
            self.walk(number, &mut seen, |first, object| {
                if first[object as usize] != number {
                    shared.push(object);
                }
            });
        }
        let sizes = shared.iter().map(|&object| self.measures.size(object));
        Ok(sizes.sum())
    }

    /// Tells the objects of a structure and of its parts that no walk before has met.
    fn walk(
        &mut self,
        number: u32,
        seen: &mut FxHashSet<u32>,
        mut tell: impl FnMut(&mut [u32], ObjectId),
    ) -> Added {
        let mut added = Added::default();
        let mut waiting = vec![number];
        while let Some(number) = waiting.pop() {
            if !seen.insert(number) {
                continue;
            }
            let instance = &self.found.instances[number as usize];
            let mut tally = Tally::new(&self.measures, instance.head);
            let first = &mut self.first;
            tell(first, instance.head);
            let met = |met| {
                tally.add(met);
                if let Met::Internal { object, .. } = met {
                    tell(first, object);
                }
            };
            self.walker.walk(instance.head, met, || Shared::Leave);
            let elements = tally.elements(&mut self.walker);
            added.bytes += tally.bytes;
            added.unused += tally.unused(elements);
            if !instance.is_view {
                added.elements += elements.unwrap_or(0);
            }
            let inside = self.found.inside(number).iter();
            let parts = inside.filter(|(_, _, how)| *how == Inside::Part);
            waiting.extend(parts.map(|&(_, inner, _)| inner));
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use anthill_heap::{HeapBuilder, Quiet};

    use super::*;
    use crate::Definitions;

    const TEXT: &str = "DS List { Node; List; } Node { Node; (*); }";

    #[test]
    fn random_heaps_have_what_sets_of_members_have() {
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let mut definitions = Definitions::none();
        definitions.add("test", TEXT).unwrap();
        for _ in 0..2000 {
            let mut heap = HeapBuilder::new();
            let objects = 1 + next(14);
            for object in 0..objects {
                let class = ["List", "Node", "Node", "Data"][next(4) as usize];
                heap.object(&object.to_string(), class, 16 + 8 * next(4) as u32);
            }
            for _ in 0..next(30) {
                heap.edges(&format!("{} -> {}", next(objects), next(objects)));
            }
            let state = heap.build();
            let model = Model::new(&state, None, &definitions);
            let sizes = state.tables.sizes.clone().unwrap();
            let found = Structures::detect(&model, &sizes, |_| true, |_, _| false, &Quiet).unwrap();
            let numbers: Vec<u32> = (0..found.instances.len() as u32)
                .filter(|_| next(3) > 0)
                .collect();
            let name = |object: u32| state.class(object).name.as_str();
            // How many of the lists each object belongs to, found by a plain search for each.
            let mut owners: BTreeMap<u32, u64> = BTreeMap::new();
            for &number in &numbers {
                let head = found.instances[number as usize].head;
                let mut members = std::collections::BTreeSet::from([head]);
                let mut waiting = vec![head];
                while let Some(from) = waiting.pop() {
                    for &to in state.references(from) {
                        let part = name(to) == "List" && name(from) == "List";
                        if (part || name(to) == "Node") && members.insert(to) {
                            waiting.push(to);
                        }
                    }
                }
                members
                    .iter()
                    .for_each(|&one| *owners.entry(one).or_default() += 1);
            }
            let measures = Measures::new(&model, &sizes);
            let size = |(&object, _): (&u32, &u64)| measures.size(object);
            let shared = owners.iter().filter(|(_, owners)| **owners > 1);
            let mut unions = Unions::new(&found, &model, &sizes);
            // Twice: what one group leaves behind is nothing to the next.
            unions.of(&[], &Quiet).unwrap();
            let together = unions.of(&numbers, &Quiet).unwrap();
            assert_eq!(together, unions.of(&numbers, &Quiet).unwrap());
            assert_eq!(together.bytes, owners.iter().map(size).sum::<u64>());
            assert_eq!(together.shared, shared.map(size).sum::<u64>());
            assert_eq!(together.structures, numbers.len() as u64);
        }
    }
}
