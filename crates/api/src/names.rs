//! How classes, class loaders and objects are named in answers, and how questions name objects.

use std::collections::HashSet;

use anthill_graph::NodeId;
use anthill_heap::{ClassId, ObjectId};
use anthill_session::{Analysis, Session};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Error;

/// Which names of classes are ambiguous in a heap.
pub struct ClassNames<'a> {
    session: &'a Session,
    /// Names that several classes have.
    ambiguous: HashSet<&'a str>,
}

impl<'a> ClassNames<'a> {
    /// Finds out which names of the heap's classes are ambiguous.
    pub fn new(session: &'a Session) -> Self {
        let mut seen = HashSet::new();
        let names = session
            .state()
            .classes()
            .iter()
            .map(|class| class.name.as_str());
        ClassNames {
            session,
            ambiguous: names.filter(|&name| !seen.insert(name)).collect(),
        }
    }

    /// Whether several classes have this class's name.
    pub fn is_ambiguous(&self, class: ClassId) -> bool {
        let class = &self.session.state().classes()[class as usize];
        self.ambiguous.contains(class.name.as_str())
    }

    /// The name of a class, with its loader if the name alone is ambiguous.
    pub fn unambiguous(&self, class: ClassId) -> String {
        let is_ambiguous = self.is_ambiguous(class);
        let class = &self.session.state().classes()[class as usize];
        match is_ambiguous {
            true => format!(
                "{} (loader {})",
                class.name,
                self.session.loader_name(class.loader)
            ),
            false => class.name.clone(),
        }
    }
}

/// An object as answers name it.
#[derive(Serialize, JsonSchema)]
pub struct ObjectName {
    /// The name of the object's class, in Java notation.
    pub class: String,
    /// The address of the object: `0x…`.
    pub address: String,
    /// The object as people see it: class, array length, contents of a string, name of a thread or
    /// class loader, value in a box, address.
    pub label: String,
    /// Bytes that would be freed with the object.
    pub retained: u64,
}

impl ObjectName {
    /// Names the object at a node.
    pub fn new(session: &Session, analysis: &Analysis, node: NodeId) -> Self {
        let label = session.label(node);
        ObjectName {
            class: class_name(session, node).to_owned(),
            address: hex(label.address),
            label: label.to_string(),
            retained: analysis.dominators.retained(node),
        }
    }
}

/// The name of a node's class.
pub fn class_name(session: &Session, node: NodeId) -> &str {
    let state = session.state();
    if node < state.len() {
        &state.class(node).name
    } else {
        "java.lang.ClassLoader"
    }
}

/// An address as every answer has it.
pub fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// An address as users write it: `0x…` or decimal.
pub fn address(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The object a user named by its address.
pub fn object_at(session: &Session, text: &str) -> Result<ObjectId, Error> {
    let Some(address) = address(text) else {
        return Err(Error::unusable(
            format!("`{text}` is not an address"),
            "Write an address as the commands print it, 0x…, or as a decimal number.",
        ));
    };
    session.state().addresses.find(address).ok_or_else(|| {
        Error::NothingFound(format!(
            "no object at {} in this dump; `anthill objects --class NAME` lists addresses",
            hex(address)
        ))
    })
}
