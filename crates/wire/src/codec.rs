//! How single values are written and read. Reading checks every length against what is there.

use std::fmt;

/// Bytes that are no message of this protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The position in the frame or file where reading stopped.
    pub offset: usize,
    /// What is wrong with them, and where.
    pub reason: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for Malformed {}

/// Bytes that are read from front to back.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, offset: 0 }
    }

    pub(crate) fn fail<T>(&self, reason: impl Into<String>) -> Result<T, Malformed> {
        Err(Malformed {
            offset: self.offset,
            reason: reason.into(),
        })
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        if length > self.left() {
            return self.fail(format!("{length} bytes wanted, {} left", self.left()));
        }
        let taken = &self.bytes[self.offset..self.offset + length];
        self.offset += length;
        Ok(taken)
    }

    /// All of it must have been read.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        match self.left() {
            0 => Ok(()),
            left => self.fail(format!("{left} bytes too many")),
        }
    }
}

/// A value that a message is made of.
pub(crate) trait Value: Sized {
    /// The fewest bytes a value takes, so that a list cannot claim more elements than there are bytes.
    const LEAST: usize;

    fn put(&self, out: &mut Vec<u8>);
    fn get(input: &mut Input<'_>) -> Result<Self, Malformed>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Value for $number {
            const LEAST: usize = size_of::<$number>();

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(input: &mut Input<'_>) -> Result<Self, Malformed> {
                let mut bytes = [0; size_of::<$number>()];
                bytes.copy_from_slice(input.take(size_of::<$number>())?);
                Ok(<$number>::from_le_bytes(bytes))
            }
        }
    )*};
}
numbers!(u8, u32, u64, i32, i64);

impl Value for bool {
    const LEAST: usize = 1;

    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match u8::get(input)? {
            0 => Ok(false),
            1 => Ok(true),
            other => input.fail(format!("{other} is neither yes nor no")),
        }
    }
}

impl Value for String {
    const LEAST: usize = 4;

    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        out.extend_from_slice(self.as_bytes());
    }

    fn get(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let length = u32::get(input)? as usize;
        let bytes = input.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(e) => input.fail(format!("a text is not UTF-8: {e}")),
        }
    }
}

impl<T: Value> Value for Vec<T> {
    const LEAST: usize = 4;

    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        for value in self {
            value.put(out);
        }
    }

    fn get(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let length = u32::get(input)? as usize;
        if length > input.left() / T::LEAST {
            return input.fail(format!(
                "a list of {length} does not fit into {} bytes",
                input.left()
            ));
        }
        (0..length).map(|_| T::get(input)).collect()
    }
}

impl<T: Value> Value for Option<T> {
    const LEAST: usize = 1;

    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn get(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok(match bool::get(input)? {
            true => Some(T::get(input)?),
            false => None,
        })
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    const LEAST: usize = A::LEAST + B::LEAST;

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok((A::get(input)?, B::get(input)?))
    }
}

/// Whatever is longer than a frame can be is refused when the frame is finished.
fn put_length(length: usize, out: &mut Vec<u8>) {
    u32::try_from(length).unwrap_or(u32::MAX).put(out);
}

/// A struct as the sequence of its fields.
macro_rules! structs {
    ($($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        // A message without fields uses neither argument.
        #[allow(unused_variables)]
        impl crate::codec::Value for $name {
            const LEAST: usize = 0 $(+ <$type as crate::codec::Value>::LEAST)*;

            fn put(&self, out: &mut Vec<u8>) {
                $(crate::codec::Value::put(&self.$field, out);)*
            }

            fn get(input: &mut crate::codec::Input<'_>) -> Result<Self, crate::Malformed> {
                Ok($name { $($field: crate::codec::Value::get(input)?,)* })
            }
        }
    )*};
}

/// An enum without content as one byte.
macro_rules! kinds {
    ($($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $number:literal,)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant = $number,)*
        }

        impl $name {
            /// The kind with this number, if there is one.
            pub fn from_number(number: u8) -> Option<$name> {
                match number {
                    $($number => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        impl crate::codec::Value for $name {
            const LEAST: usize = 1;

            fn put(&self, out: &mut Vec<u8>) {
                out.push(*self as u8);
            }

            fn get(input: &mut crate::codec::Input<'_>) -> Result<Self, crate::Malformed> {
                let number = <u8 as crate::codec::Value>::get(input)?;
                match $name::from_number(number) {
                    Some(kind) => Ok(kind),
                    None => input.fail(format!("{number} is no {}", stringify!($name))),
                }
            }
        }
    )*};
}

/// The messages of one direction: each a number and a struct.
macro_rules! messages {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident($content:ty) = $number:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_meta])* $variant($content),)*
        }

        impl $name {
            /// Appends the message as a frame.
            pub fn encode(&self, out: &mut Vec<u8>) {
                crate::frame::append(out, |out| match self {
                    $($name::$variant(content) => {
                        out.push($number);
                        crate::codec::Value::put(content, out);
                    })*
                });
            }

            /// Reads the message from a frame's content: everything after the length.
            pub fn decode(frame: &[u8]) -> Result<$name, crate::Malformed> {
                let input = &mut crate::codec::Input::new(frame);
                let message = match <u8 as crate::codec::Value>::get(input)? {
                    $($number => $name::$variant(crate::codec::Value::get(input)?),)*
                    other => return input.fail(format!("{other} is no message of {}", stringify!($name))),
                };
                input.end()?;
                Ok(message)
            }
        }
    };
}

pub(crate) use {kinds, messages, structs};
