//! Whether a heap state that comes from a file keeps what everybody relies on: every number is that of
//! an object, a class, a thread or a frame that exists, columns are as long as they have to be, and
//! chains of superclasses end. One parallel pass over the columns.

use rayon::prelude::*;

use crate::{HeapState, ObjectId, Tables};

/// JVMs align objects to at most this.
const LARGEST_ALIGNMENT: u32 = 256;
/// Values that one thread looks at together, so that the comparison is done in wide registers.
const SHARE: usize = 1 << 14;

/// Whether a part of a state is as it must be.
type Check = fn(&HeapState) -> bool;

/// Whether all values are below the limit.
fn below(values: &[u32], limit: u32) -> bool {
    values
        .par_chunks(SHARE)
        .all(|values| values.iter().copied().max() < Some(limit))
}

fn ascending<T: Sync>(pairs: &[(ObjectId, T)], objects: u32) -> bool {
    pairs.is_sorted_by(|a, b| a.0 < b.0) && pairs.last().is_none_or(|last| last.0 < objects)
}

fn index(index: Option<u32>, len: usize) -> bool {
    index.is_none_or(|index| (index as usize) < len)
}

impl HeapState {
    /// What about this state cannot be, if anything.
    pub fn check(&self) -> Result<(), &'static str> {
        let checks: [(&str, Check); 8] = [
            ("addresses", |state| state.addresses.is_sound()),
            ("lengths of columns", HeapState::columns_fit),
            ("classes of objects", |state| {
                below(&state.columns.classes, state.classes().len() as u32)
            }),
            ("references", HeapState::references_fit),
            ("classes", HeapState::classes_fit),
            ("threads and GC roots", |state| {
                state.tables.threads_and_roots_fit(state.len())
            }),
            ("objects that something is known of", |state| {
                state.tables.facts_fit(state.len())
            }),
            ("sizes", |state| state.tables.sizes_fit(state.len())),
        ];
        let wrong = checks.iter().find(|(_, check)| !check(self));
        wrong.map_or(Ok(()), |(what, _)| Err(what))
    }

    fn columns_fit(&self) -> bool {
        let columns = &self.columns;
        let objects = self.len() as usize;
        columns.classes.len() == objects
            && columns.details.len() == objects
            && columns.offsets.view().len() == objects
            && columns.offsets.ascend_to(columns.references.len())
            && columns.referrers_by_referent.len() == columns.referents.len()
    }

    fn references_fit(&self) -> bool {
        let columns = &self.columns;
        below(&columns.references, self.len())
            && below(&columns.referents, self.len())
            && below(&columns.referrers_by_referent, self.len())
            && columns.referrers_by_referent.is_sorted_by(|a, b| a < b)
    }

    fn classes_fit(&self) -> bool {
        let classes = self.classes();
        let object = |object: Option<ObjectId>| index(object, self.len() as usize);
        classes.iter().all(|class| {
            object(class.mirror)
                && object(class.loader)
                && object(class.signers)
                && object(class.protection_domain)
                && index(class.super_class, classes.len())
        }) && self.superclasses_end()
    }

    fn superclasses_end(&self) -> bool {
        let classes = self.classes();
        // Classes whose chain is known to end.
        let mut ends = vec![false; classes.len()];
        (0..classes.len() as u32).all(|class| {
            let mut chain: Vec<u32> = Vec::new();
            let mut at = Some(class);
            while let Some(class) = at.filter(|&class| !ends[class as usize]) {
                if chain.len() > classes.len() {
                    return false;
                }
                chain.push(class);
                at = classes[class as usize].super_class;
            }
            chain.iter().for_each(|&class| ends[class as usize] = true);
            true
        })
    }
}

impl Tables {
    fn threads_and_roots_fit(&self, objects: u32) -> bool {
        let objects = objects as usize;
        let threads = self
            .threads
            .iter()
            .all(|thread| index(thread.object, objects) && index(thread.trace, self.traces.len()));
        let roots = self.roots.iter().all(|root| {
            index(Some(root.object), objects) && index(root.thread, self.threads.len())
        });
        let held = self.held_by_classes.iter().all(|held| {
            index(Some(held.object), objects) && index(Some(held.class), self.classes.len())
        });
        let mut frames = self.traces.iter().flat_map(|trace| &trace.frames);
        threads && roots && held && frames.all(|&frame| (frame as usize) < self.frames.len())
    }

    fn facts_fit(&self, objects: u32) -> bool {
        let mut traces = self.allocations.iter().map(|allocation| allocation.1);
        ascending(&self.allocations, objects)
            && traces.all(|trace| (trace as usize) < self.traces.len())
            && ascending(&self.ages, objects)
            && ascending(&self.weights, objects)
            && ascending(&self.loader_names, objects)
            && self.spaces.is_sorted_by_key(|space| space.0)
    }

    fn sizes_fit(&self, objects: u32) -> bool {
        let Some(sizes) = &self.sizes else {
            return objects == 0;
        };
        sizes.instances.len() == self.classes.len()
            && sizes.mirrors.len() == self.classes.len()
            && sizes.arrays.alignment.is_power_of_two()
            && sizes.arrays.alignment <= LARGEST_ALIGNMENT
            && matches!(sizes.arrays.reference_size, 4 | 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Column, Frame, HeapBuilder, Offsets, StackTrace, Strength, Thread};

    fn heap() -> HeapState {
        let mut heap = HeapBuilder::new();
        heap.objects("a b c", "shop.Order", 24);
        heap.array("table", "shop.Order[]", 4);
        heap.reference("weak", Strength::Weak, "a");
        heap.class_object("mirror", "shop.Order");
        heap.edges("a -> b c, table -> a b");
        heap.root("table");
        let mut state = heap.build();
        state.tables.frames.push(Frame {
            class: "shop.Main".to_owned(),
            method: "run".to_owned(),
            signature: "()V".to_owned(),
            source: None,
            line: 1,
        });
        state.tables.traces.push(StackTrace {
            frames: vec![0],
            ..StackTrace::default()
        });
        state.tables.threads.push(Thread {
            serial: 1,
            object: Some(0),
            name: None,
            trace: Some(0),
        });
        state.tables.roots[0].thread = Some(0);
        state.tables.allocations.push((1, 0));
        state
    }

    /// The column with the value at a place replaced.
    fn with(column: &[u32], at: usize, value: u32) -> Column<u32> {
        let mut values = column.to_vec();
        values[at] = value;
        values.into()
    }

    type Damage = fn(&mut HeapState);

    fn without_last(column: &[u32]) -> Column<u32> {
        column[..column.len() - 1].to_vec().into()
    }

    #[test]
    fn every_number_that_leads_nowhere_is_found() {
        assert_eq!(heap().check(), Ok(()));
        let damages: [(&str, Damage); 24] = [
            ("class", |s| {
                s.columns.classes = with(&s.columns.classes, 2, 99)
            }),
            ("classes", |s| {
                s.columns.classes = without_last(&s.columns.classes)
            }),
            ("details", |s| {
                s.columns.details = without_last(&s.columns.details)
            }),
            ("reference", |s| {
                s.columns.references = with(&s.columns.references, 1, 6)
            }),
            ("references", |s| {
                s.columns.references = without_last(&s.columns.references)
            }),
            ("referent", |s| {
                s.columns.referents = with(&s.columns.referents, 0, 6)
            }),
            ("referents", |s| {
                s.columns.referents = without_last(&s.columns.referents)
            }),
            ("referrer", |s| {
                s.columns.referrers_by_referent = with(&s.columns.referrers_by_referent, 0, 6);
            }),
            ("offsets", |s| {
                let (bases, distances) = s.columns.offsets.columns();
                let distances = with(distances, 1, 5);
                let offsets = Offsets::from_columns(bases.to_vec().into(), distances);
                s.columns.offsets = offsets.unwrap();
            }),
            ("bases", |s| {
                let distances = s.columns.offsets.columns().1.to_vec().into();
                let offsets = Offsets::from_columns(vec![u64::MAX].into(), distances);
                s.columns.offsets = offsets.unwrap();
            }),
            ("number of offsets", |s| {
                s.columns.offsets = Offsets::from_counts(Buffer::copy_of(&[4, 0])).unwrap();
            }),
            ("mirror", |s| s.tables.classes[0].mirror = Some(6)),
            ("loader", |s| s.tables.classes[0].loader = Some(6)),
            ("superclass", |s| s.tables.classes[0].super_class = Some(99)),
            ("own superclass", |s| {
                s.tables.classes[0].super_class = Some(0)
            }),
            ("root", |s| s.tables.roots[0].object = 6),
            ("thread of a root", |s| s.tables.roots[0].thread = Some(1)),
            ("object of a thread", |s| {
                s.tables.threads[0].object = Some(6)
            }),
            ("stack of a thread", |s| s.tables.threads[0].trace = Some(1)),
            ("frame", |s| s.tables.traces[0].frames = vec![1]),
            ("allocation", |s| s.tables.allocations[0] = (6, 0)),
            ("stack of an allocation", |s| s.tables.allocations[0].1 = 1),
            ("no sizes", |s| s.tables.sizes = None),
            ("sizes", |s| {
                s.tables.sizes.as_mut().unwrap().instances.pop();
            }),
        ];
        for (what, damage) in damages {
            let mut state = heap();
            damage(&mut state);
            assert!(state.check().is_err(), "{what}");
        }
        for (alignment, reference_size) in [(3, 4), (1 << 20, 4), (8, 0), (8, 9)] {
            let mut state = heap();
            let arrays = &mut state.tables.sizes.as_mut().unwrap().arrays;
            (arrays.alignment, arrays.reference_size) = (alignment, reference_size);
            assert!(state.check().is_err(), "{alignment} {reference_size}");
        }
    }
}
