//! Where memory accumulates in the words of whoever wrote the program: the field that holds it, and what
//! is in it.

use anthill_graph::{Dominators, Graph, NodeId};
use anthill_heap::{ClassId, HeapState};
use anthill_session::{Dominated, Session};
use rustc_hash::FxHashMap;

use crate::names::{SAMPLES, Samples, keys, named};
use crate::roles::Roles;

/// Parts of a structure between an entry and its value.
const NEAR: usize = 3;
/// A class of the program is named instead of one of the JVM that retains at most so many times more.
const OWN_CLASS_COUNTS: u64 = 5;

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// The class that declares it.
    pub class: ClassId,
    /// Its name.
    pub field: String,
    /// Whether the suspect itself has the field, instead of being held by it.
    pub is_own: bool,
}

/// What a suspect keeps many of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Their class.
    pub class: ClassId,
    /// How many.
    pub objects: u64,
    /// Bytes that would be freed with them.
    pub retained: u64,
    /// Some of them, if they have names.
    pub samples: Option<Samples>,
}

/// The objects of a class among those that a suspect keeps alive.
#[derive(Default)]
struct OfClass {
    objects: u64,
    retained: u64,
    /// The first few, with what holds each.
    first: Vec<(NodeId, NodeId)>,
}

/// A heap in which places are looked for.
pub(crate) struct Places<'a> {
    pub session: &'a Session,
    pub graph: &'a Graph<'a>,
    pub dominators: &'a Dominators,
    pub dominated: &'a Dominated,
    pub roles: &'a Roles<'a>,
}

impl Places<'_> {
    /// The field in which memory accumulates: one of the suspect's own if it leads to the accumulation, or
    /// the one that holds the suspect.
    pub(crate) fn place(
        &self,
        suspect: NodeId,
        accumulation: Option<NodeId>,
        path: &[NodeId],
    ) -> Option<FieldPlace> {
        let own = accumulation.filter(|_| !self.roles.is_structure(suspect));
        own.and_then(|accumulation| self.own_field(suspect, accumulation))
            .or_else(|| self.holding_field(path))
    }

    /// The field of the suspect that leads to where memory accumulates.
    pub(crate) fn own_field(&self, suspect: NodeId, accumulation: NodeId) -> Option<FieldPlace> {
        let mut way = std::iter::once(accumulation).chain(self.dominators.chain(accumulation));
        let is_below = |&node: &NodeId| self.dominators.chain(node).next() == Some(suspect);
        let below = way.find(is_below)?;
        self.field(suspect, below, true)
    }

    /// The last field on a path that belongs to no data structure.
    fn holding_field(&self, path: &[NodeId]) -> Option<FieldPlace> {
        let edges = path.windows(2).rev();
        let mut meaningful = edges.filter(|edge| !self.roles.is_part(edge[0]));
        let edge = meaningful.next()?;
        self.field(edge[0], edge[1], false)
    }

    fn field(&self, from: NodeId, to: NodeId, is_own: bool) -> Option<FieldPlace> {
        let state = self.session.state();
        if from >= state.len() {
            return None;
        }
        let name = self.session.reference_name(self.graph, from, to)?;
        let (class, field) = match (state.mirrored(from), name.strip_prefix("static ")) {
            (Some(class), Some(field)) => (class, field.to_owned()),
            (Some(_), None) => return None,
            (None, _) => (declaring(state, state.class_id(from), &name)?, name),
        };
        Some(FieldPlace {
            class,
            field,
            is_own,
        })
    }

    /// The objects that retain most among those of one class that a suspect keeps alive, whatever
    /// data structures they are in.
    pub(crate) fn elements(&self, suspect: NodeId) -> Option<Elements> {
        let mut of_class: FxHashMap<ClassId, OfClass> = FxHashMap::default();
        let mut work = vec![suspect];
        while let Some(node) = work.pop() {
            for &child in self.dominated.of(node) {
                if self.roles.is_part(child) {
                    work.push(child);
                } else if let Some(class) = self.graph.class(child) {
                    let of_class = of_class.entry(class).or_default();
                    of_class.objects += 1;
                    of_class.retained += self.dominators.retained(child);
                    if of_class.first.len() < SAMPLES {
                        of_class.first.push((node, child));
                    }
                }
            }
        }
        let several = of_class.into_iter().filter(|(_, one)| one.objects > 1);
        let (class, found) = several.max_by_key(|(class, one)| {
            let weight = match self.roles.is_platform_class(*class) {
                true => 1,
                false => OWN_CLASS_COUNTS,
            };
            (one.retained.saturating_mul(weight), *class)
        })?;
        Some(Elements {
            class,
            objects: found.objects,
            retained: found.retained,
            samples: self.samples(&found.first),
        })
    }

    /// Their keys, if they are in a map, or what they are called.
    fn samples(&self, objects: &[(NodeId, NodeId)]) -> Option<Samples> {
        let model = self.session.structure_model();
        let is_entry = |node: &NodeId| *node < self.session.state().len() && model.is_entry(*node);
        // Between an entry and its value there may be a reference of the cache.
        let entry = |&(holder, element): &(NodeId, NodeId)| {
            let above = std::iter::once(holder).chain(self.dominators.chain(holder));
            let mut parts = above
                .take_while(|&node| self.roles.is_part(node))
                .take(NEAR);
            Some((parts.find(is_entry)?, element))
        };
        let entries: Vec<(NodeId, NodeId)> = objects.iter().filter_map(entry).collect();
        let elements: Vec<NodeId> = objects.iter().map(|&(_, element)| element).collect();
        keys(self.session, &model, &entries).or_else(|| named(self.session, &elements))
    }
}

/// The class in which a field of an object's class is declared.
fn declaring(state: &HeapState, class: ClassId, field: &str) -> Option<ClassId> {
    let above = |&class: &ClassId| state.classes()[class as usize].super_class;
    let mut classes = std::iter::successors(Some(class), above);
    classes.find(|&class| {
        let mut fields = state.classes()[class as usize].fields.iter();
        fields.any(|one| one.name == field)
    })
}
