//! All definitions that hold: the shipped ones and those of files, later ones instead of earlier ones.

use std::sync::{Arc, LazyLock};

use anthill_syntax::Mistake;
use rustc_hash::FxHashMap;

use crate::language::{Definition, Kind, parse};

/// The shipped definitions, by library.
const SHIPPED: [(&str, &str); 11] = [
    ("java.util", include_str!("shipped/java.util.structures")),
    (
        "java.util.concurrent",
        include_str!("shipped/java.util.concurrent.structures"),
    ),
    ("java.lang", include_str!("shipped/java.lang.structures")),
    ("Guava", include_str!("shipped/guava.structures")),
    ("Caffeine", include_str!("shipped/caffeine.structures")),
    ("Scala", include_str!("shipped/scala.structures")),
    ("Kotlin", include_str!("shipped/kotlin.structures")),
    ("fastutil", include_str!("shipped/fastutil.structures")),
    (
        "Eclipse Collections",
        include_str!("shipped/eclipse.structures"),
    ),
    ("Netty", include_str!("shipped/netty.structures")),
    (
        "H2, Ehcache, HikariCP",
        include_str!("shipped/stores.structures"),
    ),
];

/// Where definitions come from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// A file, or the library that shipped definitions are about.
    pub name: Arc<str>,
    /// All that it says, for messages that show a line of it.
    pub text: Arc<str>,
    /// Whether it comes with the program.
    pub shipped: bool,
}

/// A definition and where it comes from.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What is said.
    pub definition: Definition,
    /// By whom.
    pub origin: Origin,
}

/// All that is said about types, the shipped definitions and a person's own.
#[derive(Clone)]
pub struct Definitions {
    all: Vec<Placed>,
    by_name: FxHashMap<String, usize>,
}

impl Definitions {
    /// No definitions at all.
    pub fn none() -> Self {
        Definitions {
            all: Vec::new(),
            by_name: FxHashMap::default(),
        }
    }

    /// The shipped definitions.
    pub fn shipped() -> Self {
        static PARSED: LazyLock<Definitions> = LazyLock::new(|| {
            let mut definitions = Definitions::none();
            for (name, text) in SHIPPED {
                let origin = Origin {
                    name: name.into(),
                    text: text.into(),
                    shipped: true,
                };
                // A test reads them, so there is nothing to report.
                let _ = definitions.add_from(origin);
            }
            definitions
        });
        PARSED.clone()
    }

    /// Adds what a file defines, instead of earlier definitions of the same types. If there is a mistake,
    /// nothing is added.
    pub fn add(&mut self, origin: &str, text: &str) -> Result<(), Mistake> {
        self.add_from(Origin {
            name: origin.into(),
            text: text.into(),
            shipped: false,
        })
    }

    fn add_from(&mut self, origin: Origin) -> Result<(), Mistake> {
        for definition in parse(&origin.text)? {
            let name = definition.name.clone();
            let placed = Placed {
                definition,
                origin: origin.clone(),
            };
            match self.by_name.get(&name) {
                Some(&known) => self.all[known] = placed,
                None => {
                    self.by_name.insert(name, self.all.len());
                    self.all.push(placed);
                }
            }
        }
        Ok(())
    }

    /// In the order in which they were added.
    pub fn all(&self) -> &[Placed] {
        &self.all
    }

    /// Those of heads of data structures.
    pub fn heads(&self) -> impl Iterator<Item = &Placed> {
        let heads = |placed: &&Placed| placed.definition.kind == Kind::Head;
        self.all.iter().filter(heads)
    }

    /// The number of the definition of exactly that name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_definitions_have_no_mistake_and_do_not_override_each_other() {
        let mut names = Vec::new();
        for (origin, text) in SHIPPED {
            let definitions = parse(text);
            let definitions = definitions.unwrap_or_else(|m| panic!("{}", m.show(origin, text)));
            names.extend(definitions.into_iter().map(|definition| definition.name));
        }
        assert_eq!(Definitions::shipped().all().len(), names.len());
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn later_definitions_hold_instead_of_earlier_ones() {
        let mut definitions = Definitions::shipped();
        let before = definitions.all().len();
        definitions
            .add("own", "DS java.util.ArrayList { (*); } DS my.List { (*); }")
            .unwrap();
        assert_eq!(definitions.all().len(), before + 1);
        let list = &definitions.all()[definitions.find("java.util.ArrayList").unwrap()];
        assert!(!list.origin.shipped);
        assert!(definitions.add("own", "DS x.Y {").is_err());
        assert_eq!(definitions.find("x.Y"), None);
    }
}
