//! The predefined classifiers and transformers.

use std::fmt;

use crate::builtin::RootOptions;
use crate::error::Error;
use crate::files::Files;

/// How many keys a classifier gives an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// One key an object.
    One,
    /// Any number of keys an object.
    Many,
    /// A list of keys, each within the one before.
    Hierarchy,
}

impl fmt::Display for Cardinality {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Cardinality::One => "one-to-one",
            Cardinality::Many => "one-to-many",
            Cardinality::Hierarchy => "one-to-hierarchy",
        })
    }
}

/// The classifiers, filters and transformers that are built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "CATALOG describes them")]
pub enum What {
    Type,
    Package,
    Superclass,
    Loader,
    Kind,
    Length,
    Size,
    Address,
    Rooted,
    IndirectlyRooted,
    Strength,
    ClosestRoot,
    DominatingRoot,
    InDegree,
    OutDegree,
    CollectionHealth,
    StructureRole,
    StructurePlace,
    ContainingStructure,
    InstanceHealth,
    Text,
    Field,
    AllocationSite,
    AllocatingThread,
    Age,
    Space,
    Feature,
    PointedFrom,
    PointsTo,
    Dominator,
    Dominated,
    GcClosure,
    TransitiveClosure,
    Structure,
    StructureInternals,
    StructureLeaves,
}

impl What {
    pub(crate) fn is_about_structures(self) -> bool {
        matches!(
            self,
            What::StructureRole
                | What::StructurePlace
                | What::ContainingStructure
                | What::Structure
                | What::StructureInternals
                | What::StructureLeaves
        )
    }
}

/// What a person should know of a classifier or transformer.
pub struct Entry {
    /// Which one.
    pub what: What,
    /// As it is written.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
    /// How it is used.
    pub example: &'static str,
    /// How many keys or objects come of each object.
    pub cardinality: Cardinality,
    /// The type of a key.
    pub returns: &'static str,
    /// Whether it takes an argument in parentheses.
    pub argument: Option<&'static str>,
    /// Whether it can do without its argument.
    pub optional: bool,
    /// Whether it turns an object into other objects, which the steps after it classify.
    pub transformer: bool,
}

const fn classifier(
    what: What,
    name: &'static str,
    cardinality: Cardinality,
    returns: &'static str,
    description: &'static str,
    example: &'static str,
) -> Entry {
    Entry {
        what,
        name,
        description,
        example,
        cardinality,
        returns,
        argument: None,
        optional: false,
        transformer: false,
    }
}

const fn transformer(
    what: What,
    name: &'static str,
    description: &'static str,
    example: &'static str,
) -> Entry {
    let cardinality = Cardinality::Many;
    Entry {
        what,
        name,
        description,
        example,
        cardinality,
        returns: "objects",
        argument: None,
        optional: false,
        transformer: true,
    }
}

use Cardinality::{Hierarchy, Many, One};

/// All that is built in, in the order in which it is listed.
pub const CATALOG: [Entry; 36] = [
    classifier(
        What::Type,
        "type",
        One,
        "text",
        "the class of the object",
        "java.util.HashMap",
    ),
    classifier(
        What::Package,
        "package",
        Hierarchy,
        "text",
        "the package of its class, part by part",
        "java > util > concurrent",
    ),
    classifier(
        What::Superclass,
        "superclass",
        Hierarchy,
        "text",
        "the superclass chain of its class, from java.lang.Object down",
        "java.lang.Object > java.lang.Number > java.lang.Long",
    ),
    classifier(
        What::Loader,
        "loader",
        One,
        "text",
        "the class loader of its class, of the class it stands for, or itself if it loaded classes",
        "boot",
    ),
    classifier(
        What::Kind,
        "kind",
        One,
        "text",
        "instance, small array (under 255 elements) or big array",
        "big array",
    ),
    classifier(
        What::Length,
        "length",
        One,
        "number",
        "the length of an array; -1 for other objects",
        "16",
    ),
    classifier(
        What::Size,
        "size",
        One,
        "text",
        "the shallow size, in powers of two",
        "33 to 64 bytes",
    ),
    classifier(
        What::Address,
        "address",
        One,
        "text",
        "the address",
        "0xfc022d78",
    ),
    Entry {
        argument: Some("OPTIONS"),
        optional: true,
        ..classifier(
            What::Rooted,
            "rooted",
            Many,
            "text",
            "the GC roots that refer to it directly: static field > class > field, thread, local \
            variable > thread > method, and so on; options: variables (only static fields, locals and JNI locals), hide (omit objects without one)",
            "static field > IdCache > idCache",
        )
    },
    Entry {
        argument: Some("OPTIONS"),
        optional: true,
        ..classifier(
            What::IndirectlyRooted,
            "indirectly-rooted",
            Many,
            "text",
            "the GC roots and static fields from which it can be reached; options: all or first \
            (one root per object, faster), variables (only static fields, locals and JNI locals), hide (omit objects without one)",
            "static field > IdCache > idCache",
        )
    },
    classifier(
        What::Strength,
        "strength",
        One,
        "text",
        "the strength of the strongest path to it: strong, soft, weak, finalizer, phantom or \
        unreachable",
        "weak",
    ),
    classifier(
        What::ClosestRoot,
        "closest-root",
        Hierarchy,
        "text",
        "the GC root or static field that the shortest path to it comes from",
        "static field > IdCache > idCache",
    ),
    classifier(
        What::DominatingRoot,
        "dominating-root",
        One,
        "text",
        "the outermost single object that keeps it alive",
        "class IdCache",
    ),
    classifier(
        What::InDegree,
        "in-degree",
        One,
        "number",
        "the number of references to it, of any strength",
        "2",
    ),
    classifier(
        What::OutDegree,
        "out-degree",
        One,
        "number",
        "the number of references it holds, of any strength",
        "3",
    ),
    classifier(
        What::CollectionHealth,
        "collection-health",
        One,
        "text",
        "its role in collections: array, entry, head or contained (Mitchell and Sevitsky)",
        "entry",
    ),
    classifier(
        What::StructureRole,
        "structure-role",
        One,
        "text",
        "its role in data structures: head, internal, leaf or none; see docs/structures.md",
        "internal",
    ),
    classifier(
        What::StructurePlace,
        "structure-place",
        One,
        "text",
        "for the head of a data structure: top-level, or an element, a part or a view of another",
        "top-level",
    ),
    classifier(
        What::ContainingStructure,
        "containing-structure",
        Many,
        "text",
        "the types of the data structures that it is an internal or a leaf of",
        "java.util.HashMap",
    ),
    classifier(
        What::InstanceHealth,
        "instance-health",
        Many,
        "part",
        "its bytes as four parts: header (with gaps and padding), primitive, pointer, null (Mitchell and Sevitsky)",
        "null",
    ),
    classifier(
        What::Text,
        "text",
        One,
        "text",
        "the text of a string",
        "\"main\"",
    ),
    Entry {
        argument: Some("NAME"),
        ..classifier(
            What::Field,
            "field",
            One,
            "value",
            "the value of a field: a number, a text, or the class of the object it refers to",
            "field(state)",
        )
    },
    classifier(
        What::AllocationSite,
        "allocation-site",
        Hierarchy,
        "text",
        "where it was allocated, innermost frame first, if known (sampled objects of recordings)",
        "HashMap.resize > HashMap.put",
    ),
    classifier(
        What::AllocatingThread,
        "allocating-thread",
        One,
        "text",
        "the thread that allocated it, if known",
        "http-nio-8080-exec-1",
    ),
    classifier(
        What::Age,
        "age",
        One,
        "text",
        "its age when the state was taken, if known (sampled objects of recordings)",
        "1 to 10 minutes",
    ),
    classifier(
        What::Space,
        "space",
        One,
        "text",
        "the heap space it is in, if known (Android dumps)",
        "zygote",
    ),
    Entry {
        argument: Some("FILE"),
        ..classifier(
            What::Feature,
            "feature",
            Many,
            "text",
            "the features its class or its allocation site belongs to, from a file that maps \
            code to features",
            "feature(shop.features)",
        )
    },
    transformer(
        What::PointedFrom,
        "pointed-from",
        "the objects that refer to it",
        "type, pointed-from, type",
    ),
    transformer(
        What::PointsTo,
        "points-to",
        "the objects it refers to",
        "type, points-to, type",
    ),
    transformer(
        What::Dominator,
        "dominator",
        "its immediate dominator: the object that alone keeps it alive",
        "type, dominator, type",
    ),
    transformer(
        What::Dominated,
        "dominated",
        "the objects it dominates, without itself",
        "type, dominated, package",
    ),
    transformer(
        What::GcClosure,
        "gc-closure",
        "everything that would be freed with it: itself and the objects it dominates",
        "type, gc-closure, type",
    ),
    transformer(
        What::TransitiveClosure,
        "transitive-closure",
        "everything it reaches through references, itself included",
        "type, transitive-closure, type",
    ),
    transformer(
        What::Structure,
        "structure",
        "the heads of the data structures that it is an internal or a leaf of",
        "type, structure, type",
    ),
    transformer(
        What::StructureInternals,
        "structure-internals",
        "for the head of a data structure: its internals, e.g. the table and the nodes of a map",
        "type, structure-internals, type",
    ),
    transformer(
        What::StructureLeaves,
        "structure-leaves",
        "for the head of a data structure: its leaves, e.g. the keys and the values of a map",
        "type, structure-leaves, type",
    ),
];

/// An entry of the catalog with its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which one.
    pub what: What,
    /// What stands in its parentheses.
    pub argument: Option<String>,
    /// Which files it may read.
    pub files: Files,
}

impl Call {
    /// With this argument, if it can have one.
    pub fn new(entry: &Entry, argument: Option<String>, files: Files) -> Result<Call, String> {
        let name = entry.name;
        match (entry.argument, &argument) {
            (Some(needed), None) if !entry.optional => {
                Err(format!("`{name}` needs an argument: {name}({needed})"))
            }
            (None, Some(_)) => Err(format!("`{name}` takes no argument")),
            _ => Call {
                what: entry.what,
                argument,
                files,
            }
            .checked(),
        }
    }

    /// The same, if its argument makes sense.
    fn checked(self) -> Result<Call, String> {
        if matches!(self.what, What::Rooted | What::IndirectlyRooted) {
            RootOptions::of(&self)?;
        }
        Ok(self)
    }

    /// Why this step cannot be evaluated.
    pub(crate) fn error(&self, reason: impl Into<String>) -> Error {
        Error::Step {
            step: self.entry().name.to_owned(),
            reason: reason.into(),
        }
    }

    /// What the catalog says about it.
    pub fn entry(&self) -> &'static Entry {
        CATALOG
            .iter()
            .find(|entry| entry.what == self.what)
            .unwrap_or(&CATALOG[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CATALOG.len());
    }
}
