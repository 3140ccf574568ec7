//! Names in the heap that tell a person what something is: keys of maps, fields like `name` and `id`. They
//! are contents, which a report may have to hide.

use anthill_graph::NodeId;
use anthill_heap::{BitSet, ObjectId, Value};
use anthill_session::{Session, quoted};
use anthill_structures::Model;
use rustc_hash::FxHashMap;

use crate::roles::Roles;

/// Keys or names that are shown.
pub(crate) const SAMPLES: usize = 3;
/// Characters of a name that are shown.
const LONGEST: usize = 40;
/// What the keys of a map are called.
const KEYS: &str = "keys";
/// How far away an object may be by which another one is named.
const NEAR: usize = 3;
/// Objects that are looked at on each step of the way.
const REFERRERS: usize = 64;

/// Fields that name an object, the best first; also at the end of a longer name, as in `tableName`.
const NAMING: [&str; 8] = ["name", "title", "key", "id", "path", "url", "uri", "label"];

/// Some of many objects, by the names they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// The field that has the names, or `keys` for the keys of a map; none if the objects are the names themselves.
    pub field: Option<String>,
    /// The names, as a person reads them: texts in quotes.
    pub names: Vec<String>,
}

/// An object that names another one to which it refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedBy {
    /// The object with the name; it may be the other one itself.
    pub node: NodeId,
    /// Its field.
    pub field: String,
    /// The text of the field, in quotes.
    pub name: String,
}

/// The keys under which entries of a map have their values, if these keys have names.
pub(crate) fn keys(
    session: &Session,
    model: &Model,
    entries: &[(NodeId, NodeId)],
) -> Option<Samples> {
    let (state, records) = (session.state(), session.records());
    let name = |&(entry, element): &(NodeId, NodeId)| {
        let mut fields = model.key_fields(state.class_id(entry));
        let key = fields.find_map(|field| records.field_object(state, entry, field))?;
        let named = || naming_field(session, key).map(|(_, name)| name);
        (key != element).then(|| session.label(key).detail.or_else(named))?
    };
    let names: Vec<String> = entries.iter().filter_map(name).collect();
    let field = Some(KEYS.to_owned());
    are_different(&names).then_some(Samples { field, names })
}

/// Objects of one class by what they are, if they are texts or numbers, or by the field that tells them apart.
pub(crate) fn named(session: &Session, objects: &[NodeId]) -> Option<Samples> {
    let values = objects
        .iter()
        .filter_map(|&object| session.label(object).detail);
    let values: Vec<String> = values.collect();
    if values.len() == objects.len() && are_different(&values) {
        let (field, names) = (None, values);
        return Some(Samples { field, names });
    }
    let fields = naming_fields(session, *objects.first()?);
    fields.into_iter().find_map(|(_, field, _)| {
        let (state, records) = (session.state(), session.records());
        let text = |&object: &NodeId| {
            let value = records.field_object(state, object, field)?;
            shown(session, value)
        };
        let names: Vec<String> = objects.iter().filter_map(text).collect();
        let field = Some(field.to_owned());
        are_different(&names).then_some(Samples { field, names })
    })
}

/// Whether the names tell anything.
fn are_different(names: &[String]) -> bool {
    let new = |(index, name): (usize, &String)| !names[..index].contains(name);
    !names.is_empty() && names.iter().enumerate().all(new)
}

/// The field that names an object, with its text.
fn naming_field(session: &Session, object: ObjectId) -> Option<(String, String)> {
    let fields = naming_fields(session, object).into_iter();
    let naming = fields.filter_map(|(rank, field, value)| {
        let name = shown(session, value)?;
        // `AUDIT_DATA` says more than `table.4`.
        let is_numbered = name.contains(|char: char| char.is_ascii_digit());
        Some(((rank?, is_numbered), field.to_owned(), name))
    });
    let (_, field, name) = naming.min_by_key(|(rank, ..)| *rank)?;
    Some((field, name))
}

fn shown(session: &Session, text: ObjectId) -> Option<String> {
    let text = session.records().text(session.state(), text, LONGEST + 1)?;
    (!text.is_empty()).then(|| quoted(&text, LONGEST))
}

/// The fields of an object that have texts, the best name for it first; without a rank, it is no name.
fn naming_fields(session: &Session, object: ObjectId) -> Vec<(Option<usize>, &str, ObjectId)> {
    let (state, records) = (session.state(), session.records());
    let rank = |field: &str| {
        let field = field.to_ascii_lowercase();
        let exact = NAMING.iter().position(|&name| field == name);
        let ending = || NAMING.iter().position(|&name| field.ends_with(name));
        exact.or_else(|| ending().map(|at| at + NAMING.len()))
    };
    let fields = records.fields(state, object).into_iter();
    let texts = fields.filter_map(|field| {
        let Some(Value::Object(address)) = field.value else {
            return None;
        };
        let value = state.addresses.find(address)?;
        let is_text = state.class(value).name == "java.lang.String";
        is_text.then(|| (rank(field.name), field.name, value))
    });
    let mut texts: Vec<(Option<usize>, &str, ObjectId)> = texts.collect();
    // The first of equal ones is the one that is nearest to the object's own class.
    texts.sort_by_key(|(rank, ..)| rank.unwrap_or(usize::MAX));
    texts
}

/// By what each object is named: itself, or the nearest object of the program that refers to it and has a name.
pub(crate) fn named_by(session: &Session, roles: &Roles, nodes: &[NodeId]) -> Vec<Option<NamedBy>> {
    let state = session.state();
    let name = |node: NodeId| {
        let (field, name) = naming_field(session, node)?;
        Some(NamedBy { node, field, name })
    };
    let mut found: Vec<Option<NamedBy>> = vec![None; nodes.len()];
    if !session.records().has_contents() {
        return found;
    }
    // The parts of a structure refer to it, too.
    let is_own = |node: NodeId| {
        node < state.len() && !roles.is_platform_class(state.class_id(node)) && !roles.is_part(node)
    };
    // By object on the way: which ones are looked for through it.
    let mut at: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
    for (index, &node) in nodes.iter().enumerate() {
        if node < state.len() && !roles.is_platform_class(state.class_id(node)) {
            found[index] = name(node);
        }
        if node < state.len() && found[index].is_none() {
            at.entry(node).or_default().push(index);
        }
    }
    for _ in 0..NEAR {
        if at.is_empty() {
            break;
        }
        let referrers = referrers(session, &at, is_own);
        let mut next: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
        for (from, of) in referrers {
            for index in of {
                if found[index].is_none() {
                    found[index] = name(from);
                }
                next.entry(from).or_default().push(index);
            }
        }
        next.retain(|_, of| {
            of.retain(|&index| found[index].is_none());
            !of.is_empty()
        });
        at = next;
    }
    found
}

/// The objects of the program with fields that refer to these, ascending, if they are few.
fn referrers(
    session: &Session,
    of: &FxHashMap<NodeId, Vec<usize>>,
    is_own: impl Fn(NodeId) -> bool,
) -> Vec<(NodeId, Vec<usize>)> {
    let state = session.state();
    let mut wanted = BitSet::new(state.len() as usize);
    of.keys().for_each(|&node| wanted.insert(node));
    let mut found: Vec<(NodeId, Vec<usize>)> = Vec::new();
    for from in (0..state.len()).filter(|&from| is_own(from)) {
        if state.array_length(from).is_some() {
            continue;
        }
        for to in state
            .references(from)
            .iter()
            .filter(|&&to| wanted.contains(to))
        {
            found.push((from, of[to].clone()));
            if found.len() > REFERRERS {
                return Vec::new();
            }
        }
    }
    found
}
