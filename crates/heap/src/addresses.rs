//! Addresses ↔ object numbers.
//!
//! Object numbers are ranks by address. Heap addresses are aligned and dense, so one bit per
//! possible address with rank counters beside it answers address → number with one or two cache
//! misses; a page directory keeps sparse address spaces cheap. Ids that are neither aligned nor
//! dense fall back to a sorted column.

use std::sync::OnceLock;

use bytemuck::{Pod, Zeroable};

use crate::{Buffer, Column, MAX_OBJECTS, ObjectId};

/// 64 possible addresses and the number of objects before them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Block {
    bits: u64,
    rank: u32,
    unused: u32,
}

impl Block {
    /// Which of the 64 addresses have objects.
    pub fn bits(&self) -> u64 {
        self.bits
    }
}

const SLOTS_PER_BLOCK_BITS: u32 = 6;
const SMALLEST_PAGE_BITS: u32 = 12;
const LARGEST_PAGE_BITS: u32 = 21;
const MAX_DIRECTORY: u64 = 1 << 22;
/// Bitmap bytes per object from which the sorted column is smaller.
const MAX_BYTES_PER_OBJECT: u64 = 16;
const NO_PAGE: u32 = u32::MAX;

/// The addresses of all objects, and the object at an address.
#[derive(Default)]
pub struct AddressMap {
    parts: AddressMapParts,
    /// The block that every 1024th object is in, once an address was asked for.
    landmarks: OnceLock<Vec<u32>>,
}

const LANDMARK_EVERY: u32 = 1024;

/// What an [`AddressMap`] is made of, for those who keep it on disk.
#[derive(Default)]
pub struct AddressMapParts {
    /// Number of objects, lowest address, log2 of the alignment, log2 of the slots in a page.
    pub shape: [u64; 4],
    /// By page: its index among the pages that exist.
    pub directory: Column<u32>,
    /// By existing page: which page it is.
    pub pages: Column<u32>,
    /// The bitmap, page after page.
    pub blocks: Column<Block>,
    /// The addresses themselves, if a bitmap would be too sparse; then there are no blocks.
    pub sorted: Column<u64>,
}

impl AddressMap {
    /// Numbers the addresses, which may come in any order. Returns the map and how many
    /// addresses were there more than once; `None` if there are more than [`MAX_OBJECTS`].
    pub fn new(addresses: &[u64]) -> Option<(Self, u64)> {
        let total = addresses.len() as u64;
        if total > MAX_OBJECTS {
            return None;
        }
        let all = || addresses.iter().copied();
        let Some(low) = all().min() else {
            return Some((AddressMap::default(), 0));
        };
        let distances = all().fold(0, |bits, address| bits | (address - low));
        let span = all().max().map_or(0, |high| high - low);
        let shift = if distances == 0 {
            0
        } else {
            distances.trailing_zeros().min(16)
        };
        let last_slot = span >> shift;
        let page_bits = (SMALLEST_PAGE_BITS..=LARGEST_PAGE_BITS)
            .find(|bits| last_slot >> bits < MAX_DIRECTORY)
            .filter(|bits| last_slot >> bits < total.max(1 << 16));
        let dense = page_bits
            .and_then(|page_bits| Dense::new(addresses, low, shift, page_bits, last_slot, total));
        let (parts, duplicates) = match dense {
            Some(dense) => dense.finish(),
            None => sorted(addresses),
        };
        Some((AddressMap::from_parts(parts), duplicates))
    }

    /// The map that these parts were taken from.
    pub fn from_parts(parts: AddressMapParts) -> Self {
        AddressMap {
            parts,
            landmarks: OnceLock::new(),
        }
    }

    /// Whether the parts fit together, so that every number has an address and every address its number.
    pub(crate) fn is_sound(&self) -> bool {
        let AddressMapParts {
            shape: [total, low, shift, page_bits],
            directory,
            pages,
            blocks,
            sorted,
        } = &self.parts;
        if *total > MAX_OBJECTS {
            return false;
        }
        if blocks.is_empty() {
            return directory.is_empty()
                && pages.is_empty()
                && sorted.len() as u64 == *total
                && sorted.is_sorted_by(|a, b| a < b);
        }
        let page_bits = u32::try_from(*page_bits).unwrap_or(u32::MAX);
        let pages_fit = (SMALLEST_PAGE_BITS..=LARGEST_PAGE_BITS).contains(&page_bits)
            && sorted.is_empty()
            && pages.is_sorted_by(|a, b| a < b)
            && pages.len().checked_shl(page_bits - SLOTS_PER_BLOCK_BITS) == Some(blocks.len())
            && pages
                .last()
                .is_some_and(|&last| (last as usize) < directory.len())
            && *shift < 64
            && end_of_pages(directory.len() as u64, page_bits, *shift, *low).is_some();
        let mut expected = vec![NO_PAGE; if pages_fit { directory.len() } else { 0 }];
        for (&page, index) in pages.iter().zip(0..).take(expected.len()) {
            expected[page as usize] = index;
        }
        let mut rank = 0u64;
        let ranks_fit = blocks.iter().all(|block| {
            let fits = u64::from(block.rank) == rank;
            rank += u64::from(block.bits.count_ones());
            fits
        });
        pages_fit && expected == directory[..] && ranks_fit && rank == *total
    }

    /// From the parts that cannot be computed from others: which pages exist, and the bits of
    /// their blocks. `None` if they do not fit together.
    pub fn from_bits(
        shape: [u64; 4],
        pages: Vec<u64>,
        bits: &[u64],
        sorted: Vec<u64>,
    ) -> Option<Self> {
        let [total, low, shift, page_bits] = shape;
        let parts = if bits.is_empty() {
            let fits = pages.is_empty()
                && sorted.len() as u64 == total
                && sorted.is_sorted_by(|a, b| a < b);
            fits.then(|| AddressMapParts {
                shape: [total, 0, 0, SMALLEST_PAGE_BITS.into()],
                sorted: sorted.into(),
                ..AddressMapParts::default()
            })?
        } else {
            let page_bits = u32::try_from(page_bits).ok()?;
            let fits = (SMALLEST_PAGE_BITS..=LARGEST_PAGE_BITS).contains(&page_bits)
                && shift < 64
                && sorted.is_empty()
                && pages.is_sorted_by(|a, b| a < b)
                && pages.len().checked_shl(page_bits - SLOTS_PER_BLOCK_BITS) == Some(bits.len());
            let last = *pages.last().filter(|&&last| fits && last < MAX_DIRECTORY)?;
            // The last address has to be one.
            end_of_pages(last + 1, page_bits, shift, low)?;
            let mut directory = vec![NO_PAGE; last as usize + 1];
            for (&page, index) in pages.iter().zip(0..) {
                directory[page as usize] = index;
            }
            let blocks = bits.iter().map(|&bits| Block {
                bits,
                ..Block::default()
            });
            let dense = Dense {
                low,
                shift: shift as u32,
                page_bits,
                directory,
                pages: pages.into_iter().map(|page| page as u32).collect(),
                blocks: Buffer::collect(bits.len(), blocks),
                duplicates: 0,
            };
            let count: u64 = bits.iter().map(|bits| u64::from(bits.count_ones())).sum();
            if count != total || total > MAX_OBJECTS {
                return None;
            }
            dense.finish().0
        };
        Some(AddressMap::from_parts(parts))
    }

    /// What to keep on disk.
    pub fn parts(&self) -> &AddressMapParts {
        &self.parts
    }

    /// The number of objects.
    pub fn len(&self) -> u32 {
        self.parts.shape[0] as u32
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What finds objects by their addresses, for hot loops.
    pub fn finder(&self) -> AddressFinder<'_> {
        let [_, low, shift, page_bits] = self.parts.shape;
        AddressFinder {
            low,
            shift: shift as u32 & 63,
            page_bits: (page_bits as u32).clamp(SMALLEST_PAGE_BITS, LARGEST_PAGE_BITS),
            directory: &self.parts.directory,
            blocks: &self.parts.blocks,
            sorted: &self.parts.sorted,
        }
    }

    /// The object at an address.
    pub fn find(&self, address: u64) -> Option<ObjectId> {
        self.finder().find(address)
    }

    /// The address of an object. 0 for a number that is not one.
    pub fn address(&self, object: ObjectId) -> u64 {
        if !self.parts.sorted.is_empty() {
            return self.parts.sorted.get(object as usize).copied().unwrap_or(0);
        }
        let blocks: &[Block] = &self.parts.blocks;
        let landmarks = self.landmarks.get_or_init(|| landmarks(blocks));
        let landmark = (object / LANDMARK_EVERY) as usize;
        let Some(&first) = landmarks.get(landmark) else {
            return 0;
        };
        let last = landmarks.get(landmark + 1);
        let last = last.map_or(blocks.len(), |&last| last as usize + 1);
        let first = first as usize;
        let index = first
            + blocks[first..last]
                .partition_point(|block| block.rank <= object)
                .saturating_sub(1);
        let Some(block) = blocks.get(index) else {
            return 0;
        };
        let mut bits = block.bits;
        for _ in block.rank..object {
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            0
        } else {
            self.slot_address(index, bits.trailing_zeros())
        }
    }

    /// All addresses in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let blocks: &[Block] = &self.parts.blocks;
        let dense = blocks.iter().enumerate().flat_map(move |(index, block)| {
            let base = if block.bits == 0 {
                0
            } else {
                self.slot_address(index, 0)
            };
            let shift = self.parts.shape[2];
            std::iter::successors((block.bits != 0).then_some(block.bits), |bits| {
                let bits = bits & (bits - 1);
                (bits != 0).then_some(bits)
            })
            .map(move |bits| base + (u64::from(bits.trailing_zeros()) << shift))
        });
        self.parts.sorted.iter().copied().chain(dense)
    }

    fn slot_address(&self, block: usize, bit: u32) -> u64 {
        let [_, low, shift, page_bits] = self.parts.shape;
        let blocks_per_page = 1usize << (page_bits as u32 - SLOTS_PER_BLOCK_BITS);
        let page = u64::from(self.parts.pages[block / blocks_per_page]);
        let slot = (page << page_bits) + ((block % blocks_per_page) as u64 * 64) + u64::from(bit);
        low + (slot << shift)
    }
}

/// The last address of so many pages; `None` if there is no such address.
fn end_of_pages(pages: u64, page_bits: u32, shift: u64, low: u64) -> Option<u64> {
    let last = pages.checked_mul(1 << page_bits)?.checked_sub(1)?;
    last.checked_mul(1 << shift)?.checked_add(low)
}

/// Borrowed slices of an [`AddressMap`], for hot loops.
#[derive(Clone, Copy)]
pub struct AddressFinder<'a> {
    low: u64,
    shift: u32,
    page_bits: u32,
    directory: &'a [u32],
    blocks: &'a [Block],
    sorted: &'a [u64],
}

impl AddressFinder<'_> {
    /// The object at exactly this address.
    #[inline]
    pub fn find(&self, address: u64) -> Option<ObjectId> {
        let distance = address.wrapping_sub(self.low);
        let slot = distance >> self.shift;
        let Some(&page) = self.directory.get((slot >> self.page_bits) as usize) else {
            return self.find_sorted(address);
        };
        if page == NO_PAGE || slot << self.shift != distance {
            return None;
        }
        let in_page = slot & ((1 << self.page_bits) - 1);
        let index = ((page as usize) << (self.page_bits - SLOTS_PER_BLOCK_BITS))
            + (in_page >> SLOTS_PER_BLOCK_BITS) as usize;
        let block = self.blocks.get(index)?;
        let bit = 1u64 << (slot & 63);
        (block.bits & bit != 0).then(|| block.rank + (block.bits & (bit - 1)).count_ones())
    }

    #[cold]
    fn find_sorted(&self, address: u64) -> Option<ObjectId> {
        self.sorted
            .binary_search(&address)
            .ok()
            .map(|index| index as ObjectId)
    }
}

struct Dense {
    low: u64,
    shift: u32,
    page_bits: u32,
    directory: Vec<u32>,
    pages: Vec<u32>,
    blocks: Buffer<Block>,
    duplicates: u64,
}

impl Dense {
    /// `None` if the addresses are so sparse that a sorted column is smaller.
    fn new(
        addresses: &[u64],
        low: u64,
        shift: u32,
        page_bits: u32,
        last_slot: u64,
        total: u64,
    ) -> Option<Self> {
        let mut directory = vec![NO_PAGE; (last_slot >> page_bits) as usize + 1];
        for &address in addresses {
            directory[((address - low) >> shift >> page_bits) as usize] = 0;
        }
        let mut pages = Vec::new();
        for (page, entry) in directory.iter_mut().enumerate() {
            if *entry == 0 {
                *entry = pages.len() as u32;
                pages.push(page as u32);
            }
        }
        let blocks = (pages.len() as u64) << (page_bits - SLOTS_PER_BLOCK_BITS);
        if blocks * size_of::<Block>() as u64 > (total * MAX_BYTES_PER_OBJECT).max(1 << 16) {
            return None;
        }
        let mut dense = Dense {
            low,
            shift,
            page_bits,
            directory,
            pages,
            blocks: Buffer::zeroed(blocks as usize),
            duplicates: 0,
        };
        dense.set_all(addresses);
        Some(dense)
    }

    fn set_all(&mut self, addresses: &[u64]) {
        let blocks: &mut [Block] = &mut self.blocks;
        for &address in addresses {
            let slot = (address - self.low) >> self.shift;
            let page = self.directory[(slot >> self.page_bits) as usize] as usize;
            let in_page = (slot & ((1 << self.page_bits) - 1)) >> SLOTS_PER_BLOCK_BITS;
            let block =
                &mut blocks[(page << (self.page_bits - SLOTS_PER_BLOCK_BITS)) + in_page as usize];
            let bit = 1 << (slot & 63);
            self.duplicates += u64::from(block.bits & bit != 0);
            block.bits |= bit;
        }
    }

    fn finish(mut self) -> (AddressMapParts, u64) {
        let mut rank = 0;
        for block in self.blocks.iter_mut() {
            block.rank = rank;
            rank += block.bits.count_ones();
        }
        let parts = AddressMapParts {
            shape: [
                rank.into(),
                self.low,
                self.shift.into(),
                self.page_bits.into(),
            ],
            directory: self.directory.into(),
            pages: self.pages.into(),
            blocks: self.blocks.into(),
            sorted: Column::default(),
        };
        (parts, self.duplicates)
    }
}

/// The block of every 1024th object.
fn landmarks(blocks: &[Block]) -> Vec<u32> {
    let mut landmarks = Vec::new();
    let mut next = 0;
    for (index, block) in blocks.iter().enumerate() {
        let end = u64::from(block.rank) + u64::from(block.bits.count_ones());
        while end > next {
            landmarks.push(index as u32);
            next += u64::from(LANDMARK_EVERY);
        }
    }
    landmarks
}

fn sorted(addresses: &[u64]) -> (AddressMapParts, u64) {
    let mut sorted = addresses.to_vec();
    let before = sorted.len();
    sorted.sort_unstable();
    sorted.dedup();
    let duplicates = (before - sorted.len()) as u64;
    let parts = AddressMapParts {
        shape: [sorted.len() as u64, 0, 0, SMALLEST_PAGE_BITS.into()],
        sorted: sorted.into(),
        ..AddressMapParts::default()
    };
    (parts, duplicates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut addresses: Vec<u64>) {
        let (map, duplicates) = AddressMap::new(&addresses).unwrap();
        let before = addresses.len();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(duplicates as usize, before - addresses.len());
        assert_eq!(map.iter().collect::<Vec<_>>(), addresses);
        for (number, &address) in addresses.iter().enumerate() {
            assert_eq!(map.find(address), Some(number as u32));
            assert_eq!(map.address(number as u32), address);
            for near in [
                address.wrapping_sub(1),
                address.wrapping_add(1),
                address ^ 8,
            ] {
                assert_eq!(
                    map.find(near).is_some(),
                    addresses.binary_search(&near).is_ok()
                );
            }
        }
        assert_eq!(map.find(0).is_some(), addresses.first() == Some(&0));
        assert_eq!(
            map.find(u64::MAX).is_some(),
            addresses.last() == Some(&u64::MAX)
        );
    }

    #[test]
    fn dense_heaps() {
        check((0..10_000).map(|i| 0xfc00_0000 + i * 24).collect());
        check(
            (0..10_000)
                .rev()
                .map(|i| 0x7f00_0000_0000 + i * 16)
                .collect(),
        );
        check(vec![0x1000]);
        check(vec![]);
        check(vec![8, 8, 16]);
    }

    #[test]
    fn numbers_without_alignment() {
        check((1..5_000).collect());
    }

    #[test]
    fn far_apart_and_random_ids() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            seed ^ seed >> 29
        };
        check((0..3_000).map(|_| random()).collect());
        check(
            (0..3_000)
                .map(|i| (i % 3) << 42 | (random() & 0xffff8))
                .collect(),
        );
        check(vec![0, u64::MAX]);
    }
}
