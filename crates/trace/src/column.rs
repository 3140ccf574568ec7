//! Columns of numbers in bytes that compress well: numbers become small first, then their bytes
//! are sorted into planes, so that the mostly empty upper ones cost nothing.

/// The numbers as they are.
pub(crate) fn plain(values: &[u32]) -> Vec<u8> {
    planes(values.iter().copied(), values.len())
}

pub(crate) fn from_plain(bytes: &[u8], out: &mut [u32]) -> Option<()> {
    from_planes(bytes, out)
}

/// Numbers as distances from the one before.
pub(crate) fn deltas(values: &[u32]) -> Vec<u8> {
    let mut before = 0u32;
    let distances = values.iter().map(|&value| {
        let distance = value.wrapping_sub(before) as i32;
        before = value;
        ((distance << 1) ^ (distance >> 31)) as u32
    });
    planes(distances, values.len())
}

pub(crate) fn from_deltas(bytes: &[u8], out: &mut [u32]) -> Option<()> {
    from_planes(bytes, out)?;
    let mut before = 0u32;
    for value in out {
        let distance = (*value >> 1) ^ (*value & 1).wrapping_neg();
        before = before.wrapping_add(distance);
        *value = before;
    }
    Some(())
}

/// Wide numbers as distances from the one before, the lower halves first.
pub(crate) fn wide_deltas(values: &[u64]) -> Vec<u8> {
    let mut before = 0u64;
    let distances: Vec<u64> = values
        .iter()
        .map(|&value| {
            let distance = value.wrapping_sub(before) as i64;
            before = value;
            ((distance << 1) ^ (distance >> 63)) as u64
        })
        .collect();
    let mut bytes = planes(distances.iter().map(|&value| value as u32), values.len());
    bytes.extend(planes(
        distances.iter().map(|&value| (value >> 32) as u32),
        values.len(),
    ));
    bytes
}

/// `None` unless the bytes are those of whole numbers.
pub(crate) fn from_wide_deltas(bytes: &[u8]) -> Option<Vec<u64>> {
    if bytes.len() % 8 != 0 {
        return None;
    }
    let (low_bytes, high_bytes) = bytes.split_at(bytes.len() / 2);
    let mut low = vec![0; bytes.len() / 8];
    let mut high = low.clone();
    from_planes(low_bytes, &mut low)?;
    from_planes(high_bytes, &mut high)?;
    let mut before = 0u64;
    let values = low.iter().zip(&high).map(|(&low, &high)| {
        let value = u64::from(high) << 32 | u64::from(low);
        let distance = (value >> 1) ^ (value & 1).wrapping_neg();
        before = before.wrapping_add(distance);
        before
    });
    Some(values.collect())
}

fn planes(values: impl Iterator<Item = u32>, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len * 4];
    let (low, high) = bytes.split_at_mut(len * 2);
    let ((first, second), (third, fourth)) = (low.split_at_mut(len), high.split_at_mut(len));
    for (index, value) in values.enumerate() {
        let [a, b, c, d] = value.to_le_bytes();
        first[index] = a;
        second[index] = b;
        third[index] = c;
        fourth[index] = d;
    }
    bytes
}

/// `None` unless there are exactly the bytes of as many numbers.
fn from_planes(bytes: &[u8], out: &mut [u32]) -> Option<()> {
    let len = out.len();
    if bytes.len() != len * 4 {
        return None;
    }
    let (low, high) = bytes.split_at(len * 2);
    let ((first, second), (third, fourth)) = (low.split_at(len), high.split_at(len));
    for (index, value) in out.iter_mut().enumerate() {
        *value = u32::from_le_bytes([first[index], second[index], third[index], fourth[index]]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for values in [
            vec![],
            vec![7],
            vec![0, u32::MAX, 1, 1 << 31, 5, 5, 4],
            (0..10_000u32)
                .map(|i| i.wrapping_mul(2_654_435_761))
                .collect(),
        ] {
            let mut out = vec![0; values.len()];
            from_plain(&plain(&values), &mut out).unwrap();
            assert_eq!(out, values);
            from_deltas(&deltas(&values), &mut out).unwrap();
            assert_eq!(out, values);
            let mut longer = vec![0; values.len() + 1];
            assert!(from_plain(&plain(&values), &mut longer).is_none());
            let wide: Vec<u64> = values.iter().map(|&v| u64::from(v) << 30 | 5).collect();
            assert_eq!(from_wide_deltas(&wide_deltas(&wide)).unwrap(), wide);
        }
    }
}
