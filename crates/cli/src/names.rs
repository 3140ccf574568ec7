//! How classes and class loaders are named in results.

use std::collections::HashSet;

use anthill_heap::{ClassId, HeapState, ObjectId};

use crate::output::units::hex;

pub struct ClassNames<'a> {
    state: &'a HeapState,
    /// Names that several classes have.
    ambiguous: HashSet<&'a str>,
}

impl<'a> ClassNames<'a> {
    pub fn new(state: &'a HeapState) -> Self {
        let mut seen = HashSet::new();
        let names = state.classes().iter().map(|class| class.name.as_str());
        ClassNames {
            state,
            ambiguous: names.filter(|&name| !seen.insert(name)).collect(),
        }
    }

    /// The name of a class, with its loader if the name alone is ambiguous.
    pub fn unambiguous(&self, class: ClassId) -> String {
        let class = &self.state.classes()[class as usize];
        if self.ambiguous.contains(class.name.as_str()) {
            format!("{} (loader {})", class.name, self.loader(class.loader))
        } else {
            class.name.clone()
        }
    }

    /// A class loader: its class and address.
    pub fn loader(&self, loader: Option<ObjectId>) -> String {
        match loader {
            None => "boot".to_owned(),
            Some(loader) => format!(
                "{}@{}",
                self.state.class(loader).name,
                hex(self.state.addresses.address(loader))
            ),
        }
    }
}
