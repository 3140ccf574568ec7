//! Adds up what a walk through one structure meets.

use anthill_heap::{FieldType, ObjectId, Sizer, Sizes};

use crate::element_counts::Counts;
use crate::model::Model;
use crate::walker::{Met, Walker};

/// How large objects and slots are.
pub(crate) struct Measures<'m> {
    model: &'m Model<'m>,
    sizer: Sizer<'m>,
    /// Bytes of a reference in an array.
    reference: u64,
}

impl<'m> Measures<'m> {
    pub(crate) fn new(model: &'m Model<'m>, sizes: &'m Sizes) -> Self {
        Measures {
            model,
            sizer: sizes.sizer(model.state.classes()),
            reference: sizes.arrays.reference_size.into(),
        }
    }

    pub(crate) fn size(&self, object: ObjectId) -> u64 {
        let state = self.model.state;
        self.sizer
            .size(state.class_id(object), state.detail(object))
    }
}

pub(crate) struct Tally<'m> {
    measures: &'m Measures<'m>,
    head: ObjectId,
    /// Twice the elements that references tell.
    halves: u64,
    pub internals: u64,
    /// Of the head and the internals.
    pub bytes: u64,
    /// Used slots of hash tables.
    pub buckets: u64,
    /// Twice the room in arrays, and how many arrays there are.
    capacity_halves: u64,
    arrays: u32,
    /// Bytes of slots without references.
    unused: u64,
    /// Bytes of a slot in arrays whose used slots only the number of elements tells.
    primitive: u64,
}

impl<'m> Tally<'m> {
    pub(crate) fn new(measures: &'m Measures<'m>, head: ObjectId) -> Self {
        Tally {
            measures,
            head,
            halves: 0,
            internals: 0,
            bytes: measures.size(head),
            buckets: 0,
            capacity_halves: 0,
            arrays: 0,
            unused: 0,
            primitive: 0,
        }
    }

    pub(crate) fn add(&mut self, met: Met) {
        match met {
            Met::Internal { object, entry } => {
                self.internals += 1;
                self.bytes += self.measures.size(object);
                self.halves += 2 * u64::from(entry);
            }
            Met::Array(array) => {
                self.capacity_halves += array.halves;
                self.arrays += 1;
                self.buckets += if array.buckets { array.used } else { 0 };
                match array.element {
                    FieldType::Object => {
                        let free = array.slots.saturating_sub(array.used);
                        self.unused += free * self.measures.reference;
                    }
                    element => self.primitive = element.size(0).into(),
                }
            }
            Met::Part(_) => {}
            Met::Leaf { halves, .. } => self.halves += halves,
        }
    }

    /// How many elements there are, if that can be told.
    pub(crate) fn elements(&self, walker: &mut Walker) -> Option<u64> {
        let plan = self.measures.model.plan_at(self.head);
        let by_references = self.halves.div_ceil(2);
        match plan.map_or(Counts::References, |plan| plan.counts) {
            Counts::References => Some(by_references),
            Counts::Pairs => walker.reported_size(self.head).or(Some(by_references)),
            Counts::Field => walker.reported_size(self.head),
            Counts::Nothing => None,
        }
    }

    /// For how many elements the arrays have room.
    pub(crate) fn slots(&self) -> Option<u64> {
        (self.arrays > 0).then_some(self.capacity_halves / 2)
    }

    /// For how many elements there is room: what the definition says, otherwise what the arrays have.
    pub(crate) fn capacity(&self, walker: &mut Walker) -> Option<u64> {
        let plan = self.measures.model.plan_at(self.head);
        let said = plan.and_then(|plan| plan.capacity);
        // One array, or none, of those that belong to it is the one that the field leads to.
        let said = said.filter(|said| !said.is_storage || self.arrays > 1);
        said.and_then(|_| walker.reported_capacity(self.head))
            .or(self.slots())
    }

    /// Bytes of slots that nothing is in.
    pub(crate) fn unused(&self, elements: Option<u64>) -> u64 {
        let free = match (elements, self.slots()) {
            (Some(elements), Some(slots)) => slots.saturating_sub(elements),
            _ => 0,
        };
        self.unused + free * self.primitive
    }
}
