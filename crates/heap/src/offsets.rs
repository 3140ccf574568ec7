//! Where each object's references begin: ascending 64-bit offsets in four bytes apiece.
//!
//! The number of references may exceed 2^32, so every block of objects has a 64-bit base and
//! its members store the distance from it.

use rayon::prelude::*;

use crate::{Buffer, Column};

const BLOCK: usize = 1024;

/// Where the references of each object begin among those of all objects.
#[derive(Default)]
pub struct Offsets {
    bases: Column<u64>,
    distances: Column<u32>,
}

impl Offsets {
    /// From the columns of an earlier [`Offsets::columns`]; `None` if they do not fit together.
    pub fn from_columns(bases: Column<u64>, distances: Column<u32>) -> Option<Self> {
        (bases.len() == distances.len().div_ceil(BLOCK)).then_some(Offsets { bases, distances })
    }

    /// The two columns to keep on disk: offsets of blocks, distances of objects from them.
    pub fn columns(&self) -> (&[u64], &[u32]) {
        (&self.bases, &self.distances)
    }

    /// Whether the offsets ascend and end at `last`.
    pub(crate) fn ascend_to(&self, last: usize) -> bool {
        let view = self.view();
        let Some(end) = self.distances.len().checked_sub(1) else {
            return last == 0;
        };
        let blocks_ascend = |block: usize| {
            let from = block * BLOCK;
            let distances = &view.distances[from..(from + BLOCK).min(view.distances.len())];
            let sums = view.bases[block].checked_add(u32::MAX.into()).is_some();
            let next = view.bases.get(block + 1);
            let furthest = distances.last().copied().unwrap_or_default();
            sums && distances.is_sorted()
                && next.is_none_or(|&next| view.bases[block] + u64::from(furthest) <= next)
        };
        (0..view.bases.len()).into_par_iter().all(blocks_ascend) && view.get(end) == last
    }

    /// Prefix sums of all `counts` but the last, which gives way to their total. `None` if the
    /// objects of one block have more than 2^32 references together.
    pub fn from_counts(mut counts: Buffer<u32>) -> Option<Self> {
        let mut bases = Vec::with_capacity(counts.len() / BLOCK + 1);
        let mut total = 0u64;
        for block in counts.chunks_mut(BLOCK) {
            bases.push(total);
            let base = total;
            for slot in block {
                let count = u64::from(*slot);
                *slot = u32::try_from(total - base).ok()?;
                total += count;
            }
        }
        Some(Offsets {
            bases: bases.into(),
            distances: counts.into(),
        })
    }

    /// Slices of the columns, for hot loops.
    pub fn view(&self) -> OffsetsView<'_> {
        OffsetsView {
            bases: &self.bases,
            distances: &self.distances,
        }
    }
}

/// Borrowed slices of [`Offsets`], for hot loops.
#[derive(Clone, Copy)]
pub struct OffsetsView<'a> {
    bases: &'a [u64],
    distances: &'a [u32],
}

impl OffsetsView<'_> {
    /// The number of objects, one less than the number of offsets.
    pub fn len(&self) -> usize {
        self.distances.len().saturating_sub(1)
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the references of an object begin; for the number after the last one, where all end.
    #[inline]
    pub fn get(&self, index: usize) -> usize {
        (self.bases[index / BLOCK] + u64::from(self.distances[index])) as usize
    }

    /// Where the references of an object are.
    #[inline]
    pub fn range(&self, index: u32) -> std::ops::Range<usize> {
        self.get(index as usize)..self.get(index as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(counts: impl Iterator<Item = u32>) -> Option<Offsets> {
        let counts: Vec<u32> = counts.chain([0]).collect();
        Offsets::from_counts(Buffer::copy_of(&counts))
    }

    #[test]
    fn offsets_are_prefix_sums_across_blocks() {
        let counts = || (0..5000).map(|i| i % 7);
        let offsets = from(counts()).unwrap();
        let mut sum = 0;
        for (i, count) in (0..).zip(counts()) {
            assert_eq!(offsets.view().range(i), sum..sum + count as usize);
            sum += count as usize;
        }
    }

    #[test]
    fn totals_beyond_32_bits_are_exact() {
        let offsets = from((0..4096).map(|i| if i % 1024 == 0 { u32::MAX } else { 0 })).unwrap();
        assert_eq!(offsets.view().get(4096), 4 * u32::MAX as usize);
        assert!(from([u32::MAX, u32::MAX, 1].into_iter()).is_none());
    }
}
