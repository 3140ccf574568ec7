//! The lists, maps and other data structures of a heap.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anthill_paths::{StructurePlace, structure_places};
use anthill_session::Session;
use anthill_structures::{Instance, Together};
use anthill_syntax::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mirrored::mirrored;
use crate::{Error, Heap, HeapQuestion, Limit, ObjectName, Question, hex};

/// Find data structures: the largest, the most wasteful, the most deeply nested
///
/// A structure consists of a head, such as a HashMap, and its internals, such as the table and its
/// nodes. Each row shows the retained size, the number of elements, how full the structure is, the
/// bytes of head and internals, how many structures are nested in it, and how it is held.
///
/// The list omits parts of other structures (the map in a set) and views of them (its keys) unless
/// you pass --parts. It omits class loaders, which retain everything that belongs to their classes,
/// unless you ask for them with --type. Totals count an object once even if several structures
/// share it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Structures {
    /// Sort rows by [default: retained; without --sort, the terminal shows short lists by retained,
    /// waste and depth]
    pub sort: Option<Sort>,
    /// Show only structures whose type matches GLOB (`*`: any characters)
    #[serde(rename = "type")]
    #[schemars(extend("x-value" = "GLOB"))]
    pub of_type: Option<String>,
    /// Also show parts and views of other structures
    #[serde(default)]
    pub parts: bool,
    /// Show at most N rows; 0 for all
    #[schemars(extend("x-default-in-words" = "30, or 10 of each list"))]
    pub limit: Option<Limit>,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "StructuresSort")]
pub enum Sort {
    /// Retained size
    Retained,
    /// Number of elements
    Elements,
    /// Bytes of head and internals
    Bytes,
    /// Wasted bytes of head and internals
    Waste,
    /// Nesting depth
    Depth,
}

/// Data structures, one by one and added up. Without `--parts`, parts and views of other structures are
/// omitted; without `--type`, class loaders are.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StructuresAnswer")]
pub struct Answer {
    /// All data structures together.
    pub totals: Type,
    /// The data structures by type, most bytes first.
    pub types: Vec<Type>,
    /// The places where heads were allocated, as far as the source records them, most bytes first.
    pub sites: Vec<Site>,
    /// The data structures, in the order of `--sort`.
    pub structures: Vec<Row>,
}

/// Data structures of one type together. An object that several of them share counts once.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StructuresType")]
pub struct Type {
    /// The name of the definition; absent for all types together.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The number of structures.
    pub structures: u64,
    /// The number of structures without elements.
    pub empty: u64,
    /// The number of elements in all structures.
    pub elements: u64,
    /// Bytes of heads and internals.
    pub bytes: u64,
    /// Bytes of objects that belong to several of the structures.
    pub shared: u64,
    /// Bytes of heads and internals that hold nothing.
    pub wasted: u64,
}

impl Type {
    fn new(name: &str, together: Together) -> Self {
        let Together {
            structures,
            empty,
            elements,
            bytes,
            shared,
            wasted,
        } = together;
        Type {
            name: name.to_owned(),
            structures,
            empty,
            elements,
            bytes,
            shared,
            wasted,
        }
    }
}

/// Structures whose heads were allocated at the same place.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StructuresSite")]
pub struct Site {
    /// The innermost stack frame of the allocation that belongs to the program: not to the JDK, nor to the
    /// library of Kotlin or Scala, unless all frames do.
    pub site: String,
    /// The number of structures whose head was allocated there.
    pub structures: u64,
    /// The number of elements in these structures; an unknown number counts as 0.
    pub elements: u64,
    /// Bytes of heads and internals.
    pub bytes: u64,
    /// Bytes of heads and internals that hold nothing.
    pub wasted: u64,
}

mirrored! {
    /// Where a data structure is among the others.
    #[schemars(rename = "StructuresPlace")]
    Place = anthill_structures::HeadPlace {
        /// In no other structure.
        TopLevel,
        /// An element of another structure.
        Element,
        /// A part of another structure, like the map in a set.
        Part,
        /// A view of another structure, like the keys of a map.
        View,
    }
}

/// The state of a data structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "StructuresHealth")]
pub enum Health {
    /// Nothing is wrong.
    #[serde(rename = "")]
    Good,
    /// It has no elements.
    Empty,
    /// Elements use less than a quarter of at least 16 slots.
    Sparse,
    /// It has at least 64 entries and more than two in each used bucket.
    Degenerate,
}

/// A data structure.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StructuresRow")]
pub struct Row {
    /// The name of the definition that describes the structure.
    #[serde(rename = "type")]
    pub of_type: String,
    /// The head: the object by which the rest of the program holds the structure.
    #[serde(flatten)]
    pub head: ObjectName,
    /// The number of elements; null if it is not known.
    pub elements: Option<u64>,
    /// The number of elements for which the structure has room; null if it is not known.
    pub capacity: Option<u64>,
    /// The elements in percent of the capacity; null if either is not known.
    pub fill: Option<f64>,
    /// The number of objects of which the structure consists besides the head.
    pub internals: u64,
    /// Bytes of head and internals.
    pub bytes: u64,
    /// Bytes of all objects that the structure reaches; null if more than 100 rows are shown.
    pub deep: Option<u64>,
    /// Bytes of head and internals that hold nothing.
    pub wasted: u64,
    /// The state of the structure: an empty text, or what is wrong with it.
    pub health: Health,
    /// The number of structures that are nested from here on.
    pub depth: u32,
    /// Where the structure is among the others.
    pub place: Place,
    /// For a view, the address of the structure whose elements it shows; otherwise null.
    pub view_of: Option<String>,
    /// Whether the structure shares so much with others that its numbers are lower bounds.
    pub at_least: bool,
    /// How the structure is held; its owner path if more than 100 rows are shown; empty if it is
    /// unreachable.
    pub held_by: String,
    /// The stack frame that allocated the head; null if the source does not record it.
    pub allocated_at: Option<String>,
}

impl Question for Structures {
    const NAME: &'static str = "structures";
    type Answer = Answer;
}

impl HeapQuestion for Structures {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let found = self.find(heap)?;
        let sort = self.sort.unwrap_or(Sort::Retained);
        let (totals, types) = found.types()?;
        Ok(Answer {
            totals,
            types,
            sites: found.sites(),
            structures: found.rows(sort, self.limit.unwrap_or_default())?,
        })
    }
}

impl Structures {
    /// All that are asked for, from which several lists can be made.
    pub fn find<'a>(&self, heap: &'a Heap) -> Result<FoundStructures<'a>, Error> {
        let session = &*heap.session;
        let all = &session.structures()?.instances;
        let pattern = self.of_type.as_deref().map(Pattern::class);
        let class = |one: &Instance| session.state().class(one.head).name.as_str();
        let of_type = |(_, one): &(u32, &Instance)| {
            pattern.as_ref().is_none_or(|pattern| {
                pattern.matches(session.structure_type(one)) || pattern.matches(class(one))
            })
        };
        let fitting: Vec<(u32, &Instance)> = (0..).zip(all).filter(of_type).collect();
        if let Some(pattern) = pattern.as_ref().filter(|_| fitting.is_empty()) {
            let names = all.iter().map(|one| session.structure_type(one));
            return Err(Error::NothingFound(pattern.no_match("structure", names)));
        }
        let state = session.state();
        let is_loader = |head| state.extends(state.class_id(head), "java.lang.ClassLoader");
        let wanted_loader = |head| pattern.is_some() || !is_loader(head);
        let is_wanted = |one: &Instance| {
            (self.parts || !(one.is_part || one.is_view)) && wanted_loader(one.head)
        };
        let fits = fitting.len();
        let wanted = fitting.into_iter().filter(|(_, one)| is_wanted(one));
        let instances: Vec<(u32, Instance)> = wanted.map(|(at, one)| (at, *one)).collect();
        if instances.is_empty() && pattern.is_some() {
            let fitting = match fits {
                1 => "1 matching structure is".to_owned(),
                fits => format!("{fits} matching structures are"),
            };
            return Err(Error::NothingFound(format!(
                "{fitting} part or view of another; --parts shows them"
            )));
        }
        Ok(FoundStructures {
            session,
            instances,
            reachable: session.analysis()?.total().retained,
        })
    }
}

/// The structures that are asked for.
pub struct FoundStructures<'a> {
    session: &'a Session,
    /// With their numbers.
    instances: Vec<(u32, Instance)>,
    /// Bytes of the reachable heap.
    pub reachable: u64,
}

impl FoundStructures<'_> {
    /// What all have together and what those of each type have, most bytes first. An object that several
    /// share counts once.
    pub fn types(&self) -> Result<(Type, Vec<Type>), Error> {
        let session = self.session;
        let mut by_type: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (number, one) in &self.instances {
            let of_type = by_type.entry(session.structure_type(one)).or_default();
            of_type.push(*number);
        }
        let (names, mut groups): (Vec<&str>, Vec<Vec<u32>>) = by_type.into_iter().unzip();
        groups.push(self.instances.iter().map(|one| one.0).collect());
        let mut together = session.together(&groups)?;
        let totals = Type::new("", together.pop().unwrap_or_default());
        let types = names.into_iter().zip(together);
        let mut types: Vec<Type> = types.map(|(name, of)| Type::new(name, of)).collect();
        types.sort_by_key(|of_type| Reverse(of_type.bytes));
        Ok((totals, types))
    }

    /// Where heads were allocated, as far as the source tells, most bytes first.
    pub fn sites(&self) -> Vec<Site> {
        let mut sites: BTreeMap<String, Site> = BTreeMap::new();
        for (_, one) in &self.instances {
            let Some(site) = self.session.allocated_at(one.head) else {
                continue;
            };
            let sum = sites.entry(site.clone()).or_insert(Site {
                site,
                structures: 0,
                elements: 0,
                bytes: 0,
                wasted: 0,
            });
            sum.structures += 1;
            sum.elements += one.elements.unwrap_or(0);
            sum.bytes += one.bytes;
            sum.wasted += one.waste();
        }
        let mut sites: Vec<Site> = sites.into_values().collect();
        sites.sort_by_key(|site| Reverse(site.bytes));
        sites
    }

    /// The first structures in an order, those with nothing of what is asked for left out.
    pub fn rows(&self, sort: Sort, limit: Limit) -> Result<Vec<Row>, Error> {
        let session = self.session;
        let analysis = session.analysis()?;
        let retained = |one: &Instance| analysis.dominators.retained(one.head);
        let key = |one: &Instance| match sort {
            Sort::Retained => retained(one),
            Sort::Elements => one.elements.unwrap_or(0),
            Sort::Bytes => one.bytes,
            Sort::Waste => one.waste(),
            Sort::Depth => one.depth.into(),
        };
        let mut chosen: Vec<&Instance> = self.instances.iter().map(|one| &one.1).collect();
        chosen.sort_by_key(|one| (Reverse(key(one)), Reverse(retained(one)), one.head));
        chosen.truncate(limit.most());
        let heads: Vec<u32> = chosen.iter().map(|one| one.head).collect();
        let places = structure_places(session, &heads)?;
        let row = |(one, place): (&Instance, StructurePlace)| {
            let viewed = session.viewed(one)?;
            Ok(Row {
                of_type: session.structure_type(one).to_owned(),
                head: ObjectName::new(session, analysis, one.head),
                elements: one.elements,
                capacity: one.capacity,
                fill: one.fill().map(|fill| fill * 100.0),
                internals: one.internals,
                bytes: one.bytes,
                deep: place.deep,
                wasted: one.waste(),
                health: health(one),
                depth: one.depth,
                place: one.place().into(),
                view_of: viewed.map(|head| hex(session.state().addresses.address(head))),
                at_least: one.at_least,
                held_by: place.held_by,
                allocated_at: place.allocated_at,
            })
        };
        chosen.into_iter().zip(places).map(row).collect()
    }
}

/// What is wrong with a structure, in a word.
fn health(one: &Instance) -> Health {
    if one.is_empty() {
        Health::Empty
    } else if one.is_degenerate() {
        Health::Degenerate
    } else if one.is_sparse() {
        Health::Sparse
    } else {
        Health::Good
    }
}
