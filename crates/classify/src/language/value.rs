//! What expressions evaluate to.

use std::borrow::Cow;
use std::fmt;

use anthill_heap::{ClassId, ObjectId};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Value<'a> {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Object(ObjectId),
    List(Vec<Value<'a>>),
    Path(Vec<Value<'a>>),
    /// Any object of a class: stands for the object while only its class is known.
    OfClass(ClassId),
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: &'a str) -> Self {
        Value::Text(Cow::Borrowed(text))
    }

    /// The same value without copying a text.
    pub(crate) fn borrowed(&self) -> Value<'_> {
        match self {
            Value::Text(text) => Value::Text(Cow::Borrowed(text)),
            Value::List(items) => Value::List(items.iter().map(Value::borrowed).collect()),
            Value::Path(items) => Value::Path(items.iter().map(Value::borrowed).collect()),
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Int(value) => Value::Int(*value),
            Value::Float(value) => Value::Float(*value),
            Value::Object(object) => Value::Object(*object),
            Value::OfClass(class) => Value::OfClass(*class),
        }
    }

    pub(crate) fn into_owned(self) -> Value<'static> {
        let all = |items: Vec<Value<'a>>| items.into_iter().map(Value::into_owned).collect();
        match self {
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::List(items) => Value::List(all(items)),
            Value::Path(items) => Value::Path(all(items)),
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Int(value) => Value::Int(value),
            Value::Float(value) => Value::Float(value),
            Value::Object(object) => Value::Object(object),
            Value::OfClass(class) => Value::OfClass(class),
        }
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Value::Null, Value::Int)
    }
}

/// An integer as long as it fits into 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(crate) fn float(self) -> f64 {
        match self {
            Number::Int(number) => number as f64,
            Number::Float(number) => number,
        }
    }

    /// Exact for integers that fit, floating otherwise.
    pub(crate) fn combine(
        self,
        other: Number,
        exact: impl Fn(i64, i64) -> Option<i64>,
        floating: impl Fn(f64, f64) -> f64,
    ) -> Number {
        if let (Number::Int(a), Number::Int(b)) = (self, other) {
            if let Some(result) = exact(a, b) {
                return Number::Int(result);
            }
        }
        Number::Float(floating(self.float(), other.float()))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.partial_cmp(other) == Some(std::cmp::Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(b)),
            (a, b) => a.float().partial_cmp(&b.float()),
        }
    }
}

impl From<Number> for Value<'_> {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(number) => Value::Int(number),
            Number::Float(number) => Value::Float(number),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Number::Int(number) => number.fmt(f),
            Number::Float(number) => number.fmt(f),
        }
    }
}
