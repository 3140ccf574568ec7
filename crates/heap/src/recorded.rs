//! Values of the objects of a recorded heap state as columns: references are those of the heap
//! state, a bit for each slot says which of them are null, and contents are there if they were
//! asked for.

use std::sync::OnceLock;

use crate::{ClassKind, Column, FieldType, HeapState, ObjectId, Value};

/// The place of one object in this many is remembered.
const ANCHOR_EVERY: usize = 64;
/// The bits of every so many objects begin with a new word, so that they can be made and read
/// apart from the others.
pub const OBJECTS_PER_PART: usize = 1 << 18;

/// What was recorded of the values of a heap state's objects.
#[derive(Default)]
pub struct RecordedValues {
    /// Bytes of an id where places of fields are counted in bytes.
    pub id_size: u8,
    /// A bit for each field or element of a reference type, in the order of objects and fields:
    /// whether an object of the state is there. The bits of every [`OBJECTS_PER_PART`] objects
    /// begin with a new word. The objects themselves are in the heap state's references.
    pub present: Option<Column<u64>>,
    /// The bytes of all fields and elements of primitive types, big-endian, in the same order.
    pub contents: Option<Column<u8>>,
}

/// Collects [`RecordedValues::present`], object by object.
#[derive(Default)]
pub struct PresentBits {
    words: Vec<u64>,
    /// Bits used of the last word.
    used: u32,
    objects: usize,
}

impl PresentBits {
    /// The slots of the next object, in the order of its fields or elements.
    pub fn object(&mut self, slots: impl IntoIterator<Item = bool>) {
        if self.objects % OBJECTS_PER_PART == 0 {
            self.used = 0;
        }
        self.objects += 1;
        for present in slots {
            if self.used == 0 {
                self.words.push(0);
            }
            if let Some(word) = self.words.last_mut() {
                *word |= u64::from(present) << self.used;
            }
            self.used = (self.used + 1) % 64;
        }
    }

    /// The bits, in the form in which they are recorded.
    pub fn words(self) -> Vec<u64> {
        self.words
    }
}

/// How many values objects have, by class.
pub struct Slots {
    classes: Vec<ClassSlots>,
}

#[derive(Clone, Default)]
struct ClassSlots {
    /// Of an instance, the referent among them.
    references: u32,
    /// Bytes of an instance's fields of primitive types.
    bytes: u32,
    /// Reference slots of an element.
    element_references: u32,
    element_bytes: u32,
    /// Which slot is the `referent` that is kept apart.
    referent: Option<u32>,
    mirror: bool,
}

impl Slots {
    /// The slots of all classes of a heap.
    pub fn new(state: &HeapState) -> Self {
        let classes = (0..state.classes().len() as u32).map(|class| of_class(state, class));
        Slots {
            classes: classes.collect(),
        }
    }

    /// The reference slots of an object and the bytes of its primitive values.
    #[inline]
    pub fn of(&self, class: u32, detail: u32) -> (u64, u64) {
        let slots = &self.classes[class as usize];
        // A class object has its static fields in the class table.
        if slots.mirror && (detail as usize) < self.classes.len() {
            return (0, 0);
        }
        let detail = u64::from(detail);
        (
            u64::from(slots.references) + u64::from(slots.element_references) * detail,
            u64::from(slots.bytes) + u64::from(slots.element_bytes) * detail,
        )
    }

    /// Which slot of a `java.lang.ref.Reference` is its referent.
    #[inline]
    pub fn referent(&self, class: u32) -> Option<u32> {
        self.classes[class as usize].referent
    }
}

fn of_class(state: &HeapState, id: u32) -> ClassSlots {
    let class = &state.classes()[id as usize];
    if let ClassKind::Array(element) = class.kind {
        return ClassSlots {
            element_references: u32::from(element == FieldType::Object),
            element_bytes: element.size(0),
            ..ClassSlots::default()
        };
    }
    let mut slots = ClassSlots {
        mirror: class.kind == ClassKind::Mirror,
        ..ClassSlots::default()
    };
    for declaring in state.superclasses(id) {
        let declaring = &state.classes()[declaring as usize];
        for field in &declaring.fields {
            if field.ty != FieldType::Object {
                slots.bytes = slots.bytes.saturating_add(field.ty.size(0));
                continue;
            }
            if class.is_referent(declaring, field) {
                slots.referent = Some(slots.references);
            }
            slots.references += 1;
        }
    }
    slots
}

/// Where the values of an object are in the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValuePosition {
    /// Which one.
    pub object: ObjectId,
    /// Its first bit.
    pub bits: u64,
    /// Its first byte.
    pub bytes: u64,
}

/// How many references an array has before a slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceCount {
    object: ObjectId,
    slot: u32,
    references: u64,
}

/// Recorded values with what is needed to find those of an object.
pub struct LocatedValues {
    /// As they were recorded.
    pub values: RecordedValues,
    anchors: OnceLock<Anchors>,
}

struct Anchors {
    slots: Slots,
    /// Of every 64th object: its first bit and byte.
    every_64th: Vec<(u64, u64)>,
}

impl LocatedValues {
    /// Positions are looked for when the first is asked for.
    pub fn new(values: RecordedValues) -> Self {
        LocatedValues {
            values,
            anchors: OnceLock::new(),
        }
    }

    /// The values of primitive types, if they were recorded.
    pub fn contents(&self) -> Option<&[u8]> {
        self.values.contents.as_deref()
    }

    fn anchors(&self, state: &HeapState) -> &Anchors {
        self.anchors.get_or_init(|| Anchors::new(state))
    }

    /// Where an object's values are, found from an object that is known or the anchor before.
    pub fn position(
        &self,
        state: &HeapState,
        object: ObjectId,
        known: ValuePosition,
    ) -> ValuePosition {
        let anchors = self.anchors(state);
        let anchor = object as usize / ANCHOR_EVERY;
        let from = anchor * ANCHOR_EVERY;
        let mut at = if (from..=object as usize).contains(&(known.object as usize)) {
            known
        } else {
            let (bits, bytes) = anchors.every_64th.get(anchor).copied().unwrap_or_default();
            ValuePosition {
                object: from as ObjectId,
                bits,
                bytes,
            }
        };
        let (classes, details) = (&state.columns.classes, &state.columns.details);
        while at.object < object {
            let index = at.object as usize;
            let (slots, bytes) = anchors.slots.of(classes[index], details[index]);
            at.bits += slots;
            at.bytes += bytes;
            at.object += 1;
        }
        at
    }

    fn bit(&self, at: u64) -> Option<bool> {
        let present = self.values.present.as_ref()?;
        let word = present.get(usize::try_from(at / 64).ok()?)?;
        Some(word >> (at % 64) & 1 != 0)
    }

    /// How many of some bits are set.
    fn count(&self, from: u64, to: u64) -> Option<u64> {
        let present: &[u64] = self.values.present.as_ref()?;
        let (first, last) = (from / 64, to / 64);
        let mut count = 0;
        for index in first..=last {
            let mut word = present.get(index as usize).copied().unwrap_or(0);
            if index == first {
                word &= u64::MAX << (from % 64);
            }
            if index == last {
                word &= (1 << (to % 64)) - 1;
            }
            count += u64::from(word.count_ones());
        }
        Some(count)
    }

    /// The object in a slot, or null; `None` if that was not recorded.
    pub fn reference(&self, state: &HeapState, at: ValuePosition, slot: u32) -> Option<Value> {
        if !self.bit(at.bits + u64::from(slot))? {
            return Some(Value::Object(0));
        }
        let target = match self
            .anchors(state)
            .slots
            .referent(state.class_id(at.object))
        {
            Some(referent) if referent == slot => state.referent(at.object)?.0,
            referent => {
                let mut before = self.count(at.bits, at.bits + u64::from(slot))?;
                let apart = referent.filter(|&referent| referent < slot);
                if let Some(referent) = apart {
                    before -= u64::from(self.bit(at.bits + u64::from(referent))?);
                }
                *state.references(at.object).get(before as usize)?
            }
        };
        Some(Value::Object(state.addresses.address(target)))
    }

    /// The object in an element of an array. `counted` remembers how many references come before
    /// a slot, so that reading on is quick.
    pub fn element(
        &self,
        state: &HeapState,
        at: ValuePosition,
        slot: u32,
        counted: &mut ReferenceCount,
    ) -> Option<Value> {
        if counted.object != at.object || counted.slot > slot {
            *counted = ReferenceCount {
                object: at.object,
                ..ReferenceCount::default()
            };
        }
        let from = at.bits + u64::from(counted.slot);
        counted.references += self.count(from, at.bits + u64::from(slot))?;
        counted.slot = slot;
        if !self.bit(at.bits + u64::from(slot))? {
            return Some(Value::Object(0));
        }
        let references = state.references(at.object);
        let target = *references.get(counted.references as usize)?;
        Some(Value::Object(state.addresses.address(target)))
    }

    /// The slot that a reference of an array comes from, by its place among the references.
    pub fn slot_of(&self, at: ValuePosition, length: u32, index: usize) -> Option<u32> {
        let mut left = index;
        for slot in 0..length {
            if self.bit(at.bits + u64::from(slot))? {
                if left == 0 {
                    return Some(slot);
                }
                left -= 1;
            }
        }
        None
    }
}

impl Anchors {
    fn new(state: &HeapState) -> Self {
        let slots = Slots::new(state);
        let (classes, details): (&[u32], &[u32]) = (&state.columns.classes, &state.columns.details);
        let mut every_64th = Vec::with_capacity(classes.len() / ANCHOR_EVERY + 1);
        let (mut bits, mut bytes) = (0u64, 0u64);
        for (index, (&class, &detail)) in classes.iter().zip(details).enumerate() {
            if index % OBJECTS_PER_PART == 0 {
                bits = bits.next_multiple_of(64);
            }
            if index % ANCHOR_EVERY == 0 {
                every_64th.push((bits, bytes));
            }
            let (of_bits, of_bytes) = slots.of(class, detail);
            bits += of_bits;
            bytes += of_bytes;
        }
        Anchors { slots, every_64th }
    }
}
