//! Bounds-checked reading of big-endian values.

use anthill_heap::{FieldType, Value};

/// A position in bytes with ids of a known size. Every read is `None` past the end.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    pub position: usize,
    pub id_size: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], position: usize, id_size: usize) -> Self {
        Reader {
            bytes,
            position,
            id_size,
        }
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(len)?;
        let taken = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(taken)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Option<()> {
        self.take(len).map(drop)
    }

    pub(crate) fn u1(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u2(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(crate) fn u4(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn u8(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn id(&mut self) -> Option<u64> {
        if self.id_size == 4 {
            self.u4().map(u64::from)
        } else {
            self.u8()
        }
    }

    /// A value of the given type.
    pub(crate) fn value(&mut self, ty: FieldType) -> Option<Value> {
        Some(match ty {
            FieldType::Object => Value::Object(self.id()?),
            FieldType::Boolean => Value::Boolean(self.u1()? != 0),
            FieldType::Char => Value::Char(self.u2()?),
            FieldType::Float => Value::Float(f32::from_bits(self.u4()?)),
            FieldType::Double => Value::Double(f64::from_bits(self.u8()?)),
            FieldType::Byte => Value::Byte(self.u1()? as i8),
            FieldType::Short => Value::Short(self.u2()? as i16),
            FieldType::Int => Value::Int(self.u4()? as i32),
            FieldType::Long => Value::Long(self.u8()? as i64),
        })
    }
}

/// The type a type code stands for. Format 1.0 wrote signature characters instead of codes.
#[inline]
pub(crate) fn field_type(code: u8) -> Option<FieldType> {
    Some(match code {
        1 | 2 | b'L' | b'[' => FieldType::Object,
        4 | b'Z' => FieldType::Boolean,
        5 | b'C' => FieldType::Char,
        6 | b'F' => FieldType::Float,
        7 | b'D' => FieldType::Double,
        8 | b'B' => FieldType::Byte,
        9 | b'S' => FieldType::Short,
        10 | b'I' => FieldType::Int,
        11 | b'J' => FieldType::Long,
        _ => return None,
    })
}

/// The id at the start of `bytes`, which must be long enough.
#[inline(always)]
pub(crate) fn id_at<const ID: usize>(bytes: &[u8], position: usize) -> u64 {
    if ID == 4 {
        u64::from(u32_at(bytes, position))
    } else {
        let mut id = [0; 8];
        id.copy_from_slice(&bytes[position..position + 8]);
        u64::from_be_bytes(id)
    }
}

#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], position: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[position..position + 4]);
    u32::from_be_bytes(value)
}

/// Text in the JVM's modified UTF-8: NUL as two bytes, supplementary characters as surrogate
/// pairs of three bytes each. What is not valid becomes U+FFFD.
pub(crate) fn modified_utf8(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let (unit, length) = match (first, tail) {
            (0..=0x7f, _) => (u16::from(*first), 1),
            (0xc0..=0xdf, [b @ 0x80..=0xbf, ..]) => {
                (u16::from(first & 0x1f) << 6 | u16::from(b & 0x3f), 2)
            }
            (0xe0..=0xef, [b @ 0x80..=0xbf, c @ 0x80..=0xbf, ..]) => (
                u16::from(first & 0xf) << 12 | u16::from(b & 0x3f) << 6 | u16::from(c & 0x3f),
                3,
            ),
            _ => (0xfffd, 1),
        };
        units.push(unit);
        rest = &rest[length..];
    }
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8_knows_its_peculiarities() {
        assert_eq!(modified_utf8(b"plain"), "plain");
        assert_eq!(modified_utf8("Größe".as_bytes()), "Größe");
        assert_eq!(modified_utf8(&[0xc0, 0x80]), "\0");
        // U+1D4B3 as the surrogates D835 DCB3.
        assert_eq!(
            modified_utf8(&[0xed, 0xa0, 0xb5, 0xed, 0xb2, 0xb3]),
            "\u{1d4b3}"
        );
        assert_eq!(modified_utf8(&[b'a', 0xff, b'b']), "a\u{fffd}b");
    }

    #[test]
    fn reading_past_the_end_is_none() {
        let mut reader = Reader::new(&[1, 2, 3], 0, 8);
        assert_eq!(reader.u2(), Some(0x0102));
        assert_eq!(reader.u4(), None);
        assert_eq!(reader.u1(), Some(3));
        assert_eq!(Reader::new(&[], usize::MAX, 4).id(), None);
    }
}
