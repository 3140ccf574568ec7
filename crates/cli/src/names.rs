//! How classes, class loaders and objects are named in results, and how users name objects.

use std::collections::HashSet;

use anthill_graph::NodeId;
use anthill_heap::{ClassId, ObjectId};
use anthill_session::{Analysis, Session};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::units::hex;

pub struct ClassNames<'a> {
    session: &'a Session,
    /// Names that several classes have.
    ambiguous: HashSet<&'a str>,
}

impl<'a> ClassNames<'a> {
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

    /// The name of a class, with its loader if the name alone is ambiguous.
    pub fn unambiguous(&self, class: ClassId) -> String {
        let class = &self.session.state().classes()[class as usize];
        if self.ambiguous.contains(class.name.as_str()) {
            format!(
                "{} (loader {})",
                class.name,
                self.session.loader_name(class.loader)
            )
        } else {
            class.name.clone()
        }
    }
}

/// An object as JSON results name it.
#[derive(Serialize)]
pub struct ObjectName {
    pub class: String,
    pub address: String,
    pub label: String,
    pub retained: u64,
}

impl ObjectName {
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

/// An address as users write it: `0x…` or decimal.
pub fn address(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The object a user named by its address.
pub fn object_at(session: &Session, text: &str) -> Result<ObjectId, Failure> {
    let Some(address) = address(text) else {
        return Err(Failure::unusable(
            format!("`{text}` is not an address"),
            "Addresses are written as every command prints them: 0x… or a decimal number.",
        ));
    };
    session.state().addresses.find(address).ok_or_else(|| {
        Failure::NothingFound(format!(
            "there is no object at {} in this dump; `anthill objects --class NAME` lists addresses",
            hex(address)
        ))
    })
}
