//! Kinds of values that many questions have.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How many of something are in an answer; 0 stands for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit(pub usize);

impl Limit {
    /// All there are.
    pub const ALL: Limit = Limit(0);

    /// The most that may be in the answer.
    pub fn most(self) -> usize {
        match self.0 {
            0 => usize::MAX,
            limit => limit,
        }
    }
}

impl Default for Limit {
    fn default() -> Self {
        Limit::ALL
    }
}

impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer",
            "minimum": 0,
            "x-value": "N",
            "x-mistake": "it must be a whole number; 0 shows all",
        })
    }
}

/// A part of something, from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Percent(pub f64);

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = f64::deserialize(deserializer)?;
        match (0.0..=100.0).contains(&percent) {
            true => Ok(Percent(percent)),
            false => Err(de::Error::custom("it must be a number from 0 to 100")),
        }
    }
}

impl JsonSchema for Percent {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number",
            "minimum": 0,
            "maximum": 100,
            "x-value": "PERCENT",
            "x-mistake": "it must be a number from 0 to 100",
        })
    }
}

/// Where an object is: `0x…` in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub u64);

impl Address {
    /// Writes it to the end of a buffer and gives what was written; quicker than formatting, for millions of rows.
    #[inline]
    pub fn write(self, buffer: &mut [u8; 18]) -> &[u8] {
        let mut number = self.0;
        let mut start = buffer.len();
        loop {
            start -= 1;
            buffer[start] = b"0123456789abcdef"[(number & 15) as usize];
            number >>= 4;
            if number == 0 {
                break;
            }
        }
        start -= 2;
        buffer[start..start + 2].copy_from_slice(b"0x");
        &buffer[start..]
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Address {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^0x[0-9a-f]+$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_like_format_does() {
        for number in [0, 1, 0xf, 0x10, 0x7f00_1234_5678, u64::MAX] {
            let written = Address(number).write(&mut [0; 18]).to_vec();
            assert_eq!(written, Address(number).to_string().into_bytes());
        }
    }
}
