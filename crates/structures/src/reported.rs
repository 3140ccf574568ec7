//! What heads report about themselves: how many elements they have, their capacity, and where the
//! elements are.

use anthill_heap::{ClassId, ClassKind, ObjectId, Value};
use anthill_hprof::Cursor;

use crate::element_counts::Counts;
use crate::language::{Kind, Measure};
use crate::model::{Effect, Model};
use crate::slot_policy::SlotPolicy;

impl Model<'_> {
    /// How many elements a head reports, if it has a field for that and the source its value.
    pub fn reported_size(&self, cursor: &mut Cursor, head: ObjectId) -> Option<u64> {
        let size = self.plan_at(head)?.size?;
        match cursor.field(self.state, head, size.place)? {
            Value::Object(address) if size.bits => {
                let array = self.state.addresses.find(address)?;
                let bytes = cursor.raw(self.state, array)?.iter();
                Some(bytes.map(|byte| u64::from(byte.count_ones())).sum())
            }
            Value::Int(value) if size.bits => Some(value.count_ones().into()),
            Value::Long(value) if size.bits => Some(value.count_ones().into()),
            Value::Int(value) => u64::try_from(value).ok(),
            Value::Long(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The capacity that a head reports. The greatest number means that there is no limit.
    pub(crate) fn reported_capacity(&self, cursor: &mut Cursor, head: ObjectId) -> Option<u64> {
        let of = self.plan_at(head)?.capacity?;
        let bits = of.measure == Measure::Bits;
        match cursor.field(self.state, head, of.place)? {
            Value::Object(address) => {
                let array = self.state.addresses.find(address)?;
                let slots = u64::from(self.state.array_length(array)?);
                let ClassKind::Array(element) = self.state.class(array).kind else {
                    return None;
                };
                Some(match of.measure {
                    Measure::Slots => slots,
                    Measure::Pairs => slots / 2,
                    Measure::Bits => slots.saturating_mul(8 * u64::from(element.size(0))),
                })
            }
            Value::Int(_) if bits => Some(32),
            Value::Long(_) if bits => Some(64),
            Value::Int(value) if value < i32::MAX => u64::try_from(value).ok(),
            Value::Long(value) if value < i64::MAX => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The array that has a structure's elements in it, of those that say which it is.
    pub fn storage(&self, cursor: &mut Cursor, head: ObjectId) -> Option<ObjectId> {
        let of = self.plan_at(head)?.capacity.filter(|of| of.is_storage)?;
        match cursor.field(self.state, head, of.place)? {
            Value::Object(address) => {
                let array = self.state.addresses.find(address);
                array.filter(|&array| self.state.array_length(array).is_some())
            }
            _ => None,
        }
    }

    /// How structures of a class use an array of their own; nothing if that is not said, or if they have
    /// none.
    pub fn slot_policy(&self, class: ClassId) -> Option<SlotPolicy> {
        let plan = &self.plans[self.plan_of[class as usize]? as usize];
        let of = plan.capacity.filter(|of| of.is_storage)?;
        Some(of.policy)
    }

    /// Whether structures of a class have a node for each element, and say how many.
    pub fn is_linked(&self, class: ClassId) -> bool {
        self.plan_of[class as usize].is_some_and(|plan| {
            let plan = &self.plans[plan as usize];
            let effects = self.tables[plan.effects].effects.iter();
            let mut followed = effects
                .zip(self.state.classes())
                .filter(|(effect, _)| matches!(effect, Effect::Follow(_)))
                .map(|(_, class)| class.kind);
            plan.kind == Kind::Head
                && plan.counts == Counts::References
                && plan.size.is_some()
                && !followed.any(|kind| matches!(kind, ClassKind::Array(_)))
        })
    }
}
