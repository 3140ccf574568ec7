//! References of objects and of whole groups, in both directions: one by one, or merged by field and class.

use std::collections::BTreeMap;
use std::rc::Rc;

use anthill_graph::{EdgeKind, Graph, NodeId};
use anthill_heap::{BitSet, ClassId, ClassKind, ObjectId, Value};
use anthill_hprof::{Cursor, FieldPlace};
use anthill_session::{Error, Session};
use rustc_hash::FxHashMap;

/// Which end of references is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What objects refer to.
    Outgoing,
    /// What refers to objects.
    Incoming,
}

/// A reference of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The field or element; `static` before a static field, words for other edges.
    pub via: String,
    /// The object at the other end.
    pub object: ObjectId,
}

/// References of a group through fields of one name to or from objects of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedReferences {
    /// The field, `[…]` for elements, or words for other edges.
    pub via: String,
    /// The name of the class of the objects at the other end.
    pub class: String,
    /// These objects, each once, ascending.
    pub objects: Vec<ObjectId>,
    /// How many references there are.
    pub references: u64,
}

impl MergedReferences {
    /// What tells it from the others of the same group.
    pub fn step(&self) -> String {
        format!("{} -> {}", self.via, self.class)
    }
}

/// Elements of an array, whatever their index.
const ELEMENTS: &str = "[…]";
/// Objects between two looks at whether somebody still wants the result.
const BETWEEN_LOOKS: usize = 1 << 16;

/// The references from one object: fields in their order, elements by index. Only those on the page are named;
/// with them comes how many there are.
pub fn outgoing(
    session: &Session,
    object: ObjectId,
    offset: usize,
    limit: usize,
) -> Result<(Vec<Reference>, u64), Error> {
    session.records().open()?;
    let (state, records) = (session.state(), session.records());
    let graph = session.graph();
    let mut page = Vec::new();
    let mut total = 0u64;
    let mut add = |object: ObjectId, via: &mut dyn FnMut() -> String| {
        if total >= offset as u64 && page.len() < limit {
            let via = via();
            page.push(Reference { via, object });
        }
        total += 1;
    };
    let found = |value: Option<Value>| match value {
        Some(Value::Object(address)) => state.addresses.find(address),
        _ => None,
    };
    if let Some(class) = state.mirrored(object) {
        for field in &state.classes()[class as usize].statics {
            if let Some(to) = found(Some(field.value)) {
                add(to, &mut || format!("static {}", field.name));
            }
        }
    } else if let Some(length) = state.array_length(object) {
        let mut cursor = records.cursor();
        for index in 0..if state.references(object).is_empty() {
            0
        } else {
            length
        } {
            if index as usize % BETWEEN_LOOKS == 0 {
                session.progress().check()?;
            }
            if let Some(to) = found(cursor.element(state, object, index)) {
                add(to, &mut || format!("[{index}]"));
            }
        }
    } else {
        let mut cursor = records.cursor();
        for (field, place) in records.reference_places(state, state.class_id(object)) {
            if let Some(to) = found(cursor.field(state, object, place)) {
                add(to, &mut || field.name.clone());
            }
        }
    }
    if let Some((to, _)) = state.referent(object) {
        add(to, &mut || {
            session.edge_name(object, to, EdgeKind::Referent)
        });
    }
    let others = graph
        .edges(object)
        .filter(|(to, kind)| is_other(*kind) && *to < state.len());
    for (to, kind) in others {
        add(to, &mut || session.edge_name(object, to, kind));
    }
    Ok((page, total))
}

/// The references to one object, of those first that retain most.
pub fn incoming(
    session: &Session,
    object: ObjectId,
    offset: usize,
    limit: usize,
) -> Result<(Vec<Reference>, u64), Error> {
    session.records().open()?;
    let dominators = &session.analysis()?.dominators;
    let graph = session.graph();
    let mut referrers = session.referrers(&graph, object);
    referrers.retain(|referrer| referrer.from < session.state().len());
    referrers.sort_by_key(|referrer| {
        (
            std::cmp::Reverse(dominators.retained(referrer.from)),
            referrer.from,
        )
    });
    let page = referrers.iter().skip(offset).take(limit);
    let page = page.map(|referrer| Reference {
        via: session.edge_name(referrer.from, object, referrer.kind),
        object: referrer.from,
    });
    Ok((page.collect(), referrers.len() as u64))
}

/// The references of a group, merged; those with most objects at the other end first.
pub fn merged(
    session: &Session,
    group: &[ObjectId],
    direction: Direction,
) -> Result<Vec<MergedReferences>, Error> {
    session.records().open()?;
    session.progress().stage("merging references", 0);
    let graph = session.graph();
    let mut merging = Merging {
        session,
        graph: &graph,
        cursor: session.records().cursor(),
        fields: FxHashMap::default(),
        found: FxHashMap::default(),
        names: Names::default(),
    };
    match direction {
        Direction::Outgoing => {
            for (number, &object) in group.iter().enumerate() {
                merging.look(number)?;
                merging.from(object, |_| true, direction);
            }
        }
        Direction::Incoming => {
            let mut members = BitSet::new(graph.len() as usize);
            group.iter().for_each(|&object| members.insert(object));
            for object in 0..session.state().len() {
                merging.look(object as usize)?;
                let referent = session.state().referent(object);
                let mut to = graph.edges(object).filter(|edge| edge.1 != EdgeKind::Class);
                let refers = referent.is_some_and(|(to, _)| members.contains(to))
                    || to.any(|(to, _)| members.contains(to));
                if refers {
                    merging.from(object, |to| members.contains(to), direction);
                }
            }
        }
    }
    Ok(merging.finish())
}

/// How many bytes a group retains at least: what its objects retain one by one, without those that others of them
/// retain. All objects of the group together may retain more.
pub fn retained_at_least(session: &Session, group: &[ObjectId]) -> Result<u64, Error> {
    let dominators = &session.analysis()?.dominators;
    if let [object] = group {
        return Ok(dominators.retained(*object));
    }
    let nodes = dominators.immediate.len();
    let mut members = BitSet::new(nodes);
    group.iter().for_each(|&object| members.insert(object));
    // Nodes that are known to be below a member, and those that are known not to be; members count as below.
    let (mut below, mut free) = (BitSet::new(nodes), BitSet::new(nodes));
    let mut way = Vec::new();
    let mut sum = 0;
    for &object in group {
        way.clear();
        let mut is_below = false;
        for above in dominators.chain(object) {
            if members.contains(above) || below.contains(above) {
                is_below = true;
                break;
            }
            if free.contains(above) {
                break;
            }
            way.push(above);
        }
        let known = if is_below { &mut below } else { &mut free };
        way.iter().for_each(|&node| known.insert(node));
        if !is_below {
            sum += dominators.retained(object);
        }
    }
    Ok(sum)
}

/// Edges that are neither in fields nor in elements. An object's edge to its class says nothing that its
/// class does not.
fn is_other(kind: EdgeKind) -> bool {
    !matches!(
        kind,
        EdgeKind::Reference | EdgeKind::Referent | EdgeKind::Class
    )
}

/// The objects at the other end and the references to them, by field and class.
type ByStep = FxHashMap<(u32, ClassId), (Vec<ObjectId>, u64)>;

struct Merging<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    cursor: Cursor<'a>,
    /// By class: its reference fields.
    fields: FxHashMap<ClassId, Rc<[(u32, FieldPlace)]>>,
    found: ByStep,
    names: Names,
}

/// Names by number.
#[derive(Default)]
struct Names {
    numbers: FxHashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

impl<'a> Merging<'a> {
    fn look(&self, number: usize) -> Result<(), Error> {
        if number % BETWEEN_LOOKS == 0 {
            self.session.progress().check()?;
        }
        Ok(())
    }

    /// Adds the references of an object to those that are wanted.
    fn from(&mut self, object: ObjectId, wanted: impl Fn(NodeId) -> bool, direction: Direction) {
        let state = self.session.state();
        if let Some(class) = state.mirrored(object) {
            for field in &state.classes()[class as usize].statics {
                let Value::Object(address) = field.value else {
                    continue;
                };
                if let Some(to) = state.addresses.find(address).filter(|&to| wanted(to)) {
                    let via = self.names.number(&format!("static {}", field.name));
                    self.add(via, object, to, direction);
                }
            }
        } else if matches!(state.class(object).kind, ClassKind::Array(_)) {
            let via = self.names.number(ELEMENTS);
            for &to in state.references(object).iter().filter(|&&to| wanted(to)) {
                self.add(via, object, to, direction);
            }
        } else {
            let fields = self.fields_of(state.class_id(object));
            for &(via, place) in fields.iter() {
                let Some(Value::Object(address)) = self.cursor.field(state, object, place) else {
                    continue;
                };
                if let Some(to) = state.addresses.find(address).filter(|&to| wanted(to)) {
                    self.add(via, object, to, direction);
                }
            }
        }
        if let Some((to, _)) = state.referent(object).filter(|(to, _)| wanted(*to)) {
            let name = self.session.edge_name(object, to, EdgeKind::Referent);
            let via = self.names.number(&name);
            self.add(via, object, to, direction);
        }
        let graph = self.graph;
        let others = graph
            .edges(object)
            .filter(|(to, kind)| is_other(*kind) && *to < state.len());
        for (to, kind) in others.filter(|(to, _)| wanted(*to)) {
            let via = self.names.number(&self.session.edge_name(object, to, kind));
            self.add(via, object, to, direction);
        }
    }

    fn fields_of(&mut self, class: ClassId) -> Rc<[(u32, FieldPlace)]> {
        if let Some(known) = self.fields.get(&class) {
            return known.clone();
        }
        let records = self.session.records();
        let places = records.reference_places(self.session.state(), class);
        let fields: Rc<[(u32, FieldPlace)]> = places
            .map(|(field, place)| (self.names.number(&field.name), place))
            .collect();
        self.fields.insert(class, fields.clone());
        fields
    }

    fn add(&mut self, via: u32, from: ObjectId, to: ObjectId, direction: Direction) {
        let other = match direction {
            Direction::Outgoing => to,
            Direction::Incoming => from,
        };
        let class = self.session.state().class_id(other);
        let (objects, references) = self.found.entry((via, class)).or_default();
        objects.push(other);
        *references += 1;
    }

    /// Classes of one name in several loaders are one.
    fn finish(self) -> Vec<MergedReferences> {
        let classes = self.session.state().classes();
        let mut by_name: BTreeMap<(&str, &str), (Vec<ObjectId>, u64)> = BTreeMap::new();
        for (&(via, class), (objects, references)) in &self.found {
            let key = (
                self.names.names[via as usize].as_str(),
                classes[class as usize].name.as_str(),
            );
            let (all, sum) = by_name.entry(key).or_default();
            all.extend(objects);
            *sum += references;
        }
        let merged = by_name
            .into_iter()
            .map(|((via, class), (mut objects, references))| {
                objects.sort_unstable();
                objects.dedup();
                MergedReferences {
                    via: via.to_owned(),
                    class: class.to_owned(),
                    objects,
                    references,
                }
            });
        let mut merged: Vec<MergedReferences> = merged.collect();
        merged.sort_by_key(|one| std::cmp::Reverse(one.objects.len()));
        merged
    }
}
