//! A column: one value per object (or reference, or block), in memory or inside somebody's mapping.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;

use crate::Buffer;

/// Whatever keeps the bytes of a borrowed column alive, e.g. a mapped file.
pub type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Values of one kind, which read the same wherever they are.
pub enum Column<T> {
    /// In a vector.
    Owned(Vec<T>),
    /// In huge pages, see [`Buffer`].
    Buffer(Buffer<T>),
    /// Inside memory of somebody else.
    Borrowed {
        /// Whose memory it is.
        owner: Owner,
        /// Which part of it.
        bytes: Range<usize>,
    },
}

impl<T: Pod> Column<T> {
    /// A column over `bytes` of `owner`; `None` if they are out of range, not aligned for `T`
    /// or not a whole number of values.
    pub fn borrowed(owner: Owner, bytes: Range<usize>) -> Option<Self> {
        let slice = (*owner).as_ref().get(bytes.clone())?;
        bytemuck::try_cast_slice::<u8, T>(slice).ok()?;
        Some(Column::Borrowed { owner, bytes })
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Column::Owned(values) => values,
            Column::Buffer(values) => values,
            Column::Borrowed { owner, bytes } => {
                bytemuck::cast_slice(&(**owner).as_ref()[bytes.clone()])
            }
        }
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Column::Owned(values)
    }
}

impl<T> From<Buffer<T>> for Column<T> {
    fn from(values: Buffer<T>) -> Self {
        Column::Buffer(values)
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column::Owned(Vec::new())
    }
}
