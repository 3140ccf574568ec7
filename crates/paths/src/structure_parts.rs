//! What a path has of data structures: their inner parts are no steps for a person, keys are.

use anthill_graph::NodeId;
use anthill_session::{Error, Session, stable_name};
use anthill_structures::{Model, Structures};

/// How an object holds the next one on a path.
pub(crate) enum PartStep {
    /// Both belong to one structure.
    Inside,
    /// The structure has the object under this key.
    Key(String),
    /// No structure has to do with it.
    Other,
}

/// The inner parts of the data structures of a heap.
pub(crate) struct StructureParts<'a> {
    session: &'a Session,
    model: &'a Model<'a>,
    structures: &'a Structures,
}

impl<'a> StructureParts<'a> {
    pub(crate) fn new(session: &'a Session, model: &'a Model<'a>) -> Result<Self, Error> {
        Ok(StructureParts {
            session,
            model,
            structures: session.structures()?,
        })
    }

    /// How one object holds the next.
    pub(crate) fn step(&self, from: NodeId, to: NodeId) -> PartStep {
        let state = self.session.state();
        let is_internal =
            |node: NodeId| node < state.len() && self.structures.internals.contains(node);
        if from >= state.len() {
            return PartStep::Other;
        }
        if state.array_length(from).is_some() {
            // The place in a hash table changes with its size.
            return match is_internal(to) {
                true => PartStep::Inside,
                false => PartStep::Other,
            };
        }
        if is_internal(from) {
            if is_internal(to) || !self.model.is_entry(from) {
                return PartStep::Inside;
            }
            return self.key(from, to).map_or(PartStep::Inside, PartStep::Key);
        }
        // A class loader is a structure of its classes, but may hold other structures, too.
        let is_loader = || state.extends(state.class_id(from), "java.lang.ClassLoader");
        if is_internal(to) && self.structures.of_head(from).is_some() && !is_loader() {
            return PartStep::Inside;
        }
        PartStep::Other
    }

    /// The key of an entry, as a person reads it.
    fn key(&self, entry: NodeId, to: NodeId) -> Option<String> {
        let (state, records) = (self.session.state(), self.session.records());
        let mut keys = self.model.key_fields(state.class_id(entry));
        let key = keys.find_map(|field| records.field_object(state, entry, field))?;
        if key == to {
            return Some("key".to_owned());
        }
        let class = || stable_name(&state.class(key).name);
        if let Some(constant) = self.session.enum_constant(key) {
            return Some(format!("{}.{constant}", class()));
        }
        let label = self.session.label(key);
        Some(label.detail.unwrap_or_else(|| stable_name(&label.what)))
    }
}
