//! A column that is being filled: fixed length, all zero at first, in huge pages where the
//! system grants them. Graph algorithms jump about in memory; with small pages they spend a
//! good part of their time in page faults and address translation.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::{MmapMut, MmapOptions};

/// Below this many bytes a plain vector does.
const LARGE: usize = 4 << 20;

/// Values in memory of their own, whose number is fixed.
pub struct Buffer<T> {
    memory: Memory<T>,
    len: usize,
}

enum Memory<T> {
    Small(Vec<T>),
    Large(MmapMut),
}

impl<T: Pod> Buffer<T> {
    /// Memory is only taken where something is written, so `len` may be a generous bound.
    pub fn zeroed(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        let mut options = MmapOptions::new();
        options.len(bytes).no_reserve_swap();
        let large = (bytes >= LARGE).then(|| options.map_anon().ok()).flatten();
        let memory = match large {
            Some(map) => {
                // A hint only: without huge pages everything works, a little slower.
                #[cfg(target_os = "linux")]
                let _ = map.advise(memmap2::Advice::HugePage);
                Memory::Large(map)
            }
            None => Memory::Small(vec![T::zeroed(); len]),
        };
        Buffer { memory, len }
    }

    /// The same value everywhere.
    pub fn filled(len: usize, value: T) -> Self {
        let mut buffer = Buffer::zeroed(len);
        buffer.fill(value);
        buffer
    }

    /// The same values in memory of their own.
    pub fn copy_of(values: &[T]) -> Self {
        let mut buffer = Buffer::zeroed(values.len());
        buffer.copy_from_slice(values);
        buffer
    }

    /// The first values of an iterator, zeros if it has fewer.
    pub fn collect(len: usize, values: impl Iterator<Item = T>) -> Self {
        let mut buffer = Buffer::zeroed(len);
        for (slot, value) in buffer.iter_mut().zip(values) {
            *slot = value;
        }
        buffer
    }

    /// Forgets all but the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.memory {
            Memory::Small(values) => &values[..self.len],
            Memory::Large(map) => &bytemuck::cast_slice(map)[..self.len],
        }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Memory::Small(values) => &mut values[..self.len],
            Memory::Large(map) => &mut bytemuck::cast_slice_mut(map)[..self.len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_buffers_behave_alike() {
        for len in [0, 10, (LARGE / 4) + 10] {
            let mut buffer = Buffer::<u32>::zeroed(len);
            assert!(buffer.iter().all(|&value| value == 0));
            buffer
                .iter_mut()
                .zip(0..)
                .for_each(|(slot, value)| *slot = value);
            assert_eq!(buffer.last().copied(), (len as u32).checked_sub(1));
            let copy = Buffer::copy_of(&buffer);
            assert_eq!(copy[..], Buffer::collect(len, 0u32..)[..]);
            buffer.truncate(5);
            assert_eq!(buffer.len(), len.min(5));
        }
    }
}
