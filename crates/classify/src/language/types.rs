//! The types of expressions, known before any object is visited.

use std::fmt;

/// What a value of the language is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the language has the same words")]
pub enum Type {
    Null,
    Bool,
    Number,
    Text,
    Object,
    List(Box<Type>),
    /// Keys, each within the one before.
    Path,
    /// What a field or an element holds: its class says what that is.
    Any,
}

impl Type {
    /// A list of such values.
    pub fn list(of: Type) -> Type {
        Type::List(Box::new(of))
    }

    /// Whether a value of this type can stand where `wanted` is needed.
    pub fn fits(&self, wanted: &Type) -> bool {
        match (self, wanted) {
            (Type::Any | Type::Null, _) | (_, Type::Any) => true,
            (Type::List(element), Type::List(wanted)) => element.fits(wanted),
            _ => self == wanted,
        }
    }

    /// The type of a value that is of one of two types; `None` if they have nothing in common.
    pub fn join(self, other: Type) -> Option<Type> {
        match (self, other) {
            (Type::Null, other) | (other, Type::Null) => Some(other),
            (Type::Any, Type::List(_) | Type::Path) | (Type::List(_) | Type::Path, Type::Any) => {
                None
            }
            (Type::Any, _) | (_, Type::Any) => Some(Type::Any),
            (Type::List(a), Type::List(b)) => a.join(*b).map(Type::list),
            (a, b) => (a == b).then_some(a),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("true or false"),
            Type::Number => f.write_str("a number"),
            Type::Text => f.write_str("a text"),
            Type::Object => f.write_str("an object"),
            Type::Path => f.write_str("a path"),
            Type::Any => f.write_str("a value"),
            Type::List(of) => match **of {
                Type::Null | Type::Any => f.write_str("a list"),
                Type::Bool => f.write_str("a list of true or false"),
                Type::Number => f.write_str("a list of numbers"),
                Type::Text => f.write_str("a list of texts"),
                Type::Object => f.write_str("a list of objects"),
                Type::List(_) => f.write_str("a list of lists"),
                Type::Path => f.write_str("a list of paths"),
            },
        }
    }
}
