//! Byte counts by node. All sizes of a heap are multiples of its alignment, so that 32 bits a node
//! are enough for heaps of up to 32 GiB; larger ones take 64.

use anthill_heap::{Buffer, Column};
use bytemuck::Pod;

use crate::graph::NodeId;

/// An amount of bytes for each node, as narrow as the heap allows.
pub struct Amounts {
    /// Amounts are multiples of two to the power of this.
    pub shift: u32,
    /// One of the two has all amounts, the other none.
    pub narrow: Column<u32>,
    /// See `narrow`.
    pub wide: Column<u64>,
}

/// What an amount is counted in.
pub(crate) trait Word: Pod {
    const MOST: u64;

    /// The units, which must not be more than the most.
    fn of(units: u64) -> Self;

    fn plus(self, other: Self) -> Self;

    fn amounts(shift: u32, words: Buffer<Self>) -> Amounts;
}

impl Word for u32 {
    const MOST: u64 = u32::MAX as u64;

    #[inline(always)]
    fn of(units: u64) -> Self {
        units as u32
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn amounts(shift: u32, words: Buffer<Self>) -> Amounts {
        Amounts {
            shift,
            narrow: words.into(),
            wide: Column::default(),
        }
    }
}

impl Word for u64 {
    const MOST: u64 = u64::MAX;

    #[inline(always)]
    fn of(units: u64) -> Self {
        units
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn amounts(shift: u32, words: Buffer<Self>) -> Amounts {
        Amounts {
            shift,
            narrow: Column::default(),
            wide: words.into(),
        }
    }
}

impl Amounts {
    /// The amount of a node, in bytes.
    #[inline]
    pub fn get(&self, node: NodeId) -> u64 {
        let units = match self.narrow.get(node as usize) {
            Some(&units) => units.into(),
            None => self.wide[node as usize],
        };
        units << self.shift
    }

    /// How many nodes have an amount.
    pub fn nodes(&self) -> usize {
        self.narrow.len() + self.wide.len()
    }
}
