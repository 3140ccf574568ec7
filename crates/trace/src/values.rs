//! The values of a dump's objects as columns: which references are null, and contents.
//!
//! Most objects have all of their references or none, which the heap state tells; only of the
//! others the dump itself is read.

use anthill_heap::{
    FieldType, HeapState, OBJECTS_PER_PART, ObjectId, PresentBits, RecordedValues, Slots,
};
use anthill_hprof::{Cursor, Dump};
use rayon::prelude::*;

/// What a recorded state keeps of the values of a dump; with `contents` those of primitive
/// types as well, unless the dump itself left some out.
pub fn values_of(dump: &Dump, contents: bool) -> RecordedValues {
    let reader = ValueReader::new(dump, contents);
    let starts = (0..dump.state.len()).step_by(OBJECTS_PER_PART);
    let starts: Vec<ObjectId> = starts.collect();
    let parts: Vec<Part> = starts.par_iter().map(|&first| reader.part(first)).collect();
    let whole = parts.iter().all(|part| part.contents.is_some());
    let contents = (contents && whole).then(|| {
        let parts = parts.iter().filter_map(|part| part.contents.as_deref());
        parts.collect::<Vec<_>>().concat().into()
    });
    let present = parts.into_iter().flat_map(|part| part.present);
    RecordedValues {
        id_size: dump.info.id_size,
        present: Some(present.collect::<Vec<_>>().into()),
        contents,
    }
}

/// The class loaders of a dump that have names, ascending.
pub(crate) fn loader_names(dump: &Dump) -> Vec<(ObjectId, String)> {
    let state = &dump.state;
    let classes = 0..state.classes().len() as u32;
    let of_loaders: Vec<bool> = classes
        .map(|class| state.extends(class, "java.lang.ClassLoader"))
        .collect();
    let named = (0..state.len())
        .filter(|&object| of_loaders[state.class_id(object) as usize])
        .filter_map(|loader| Some((loader, dump.records.loader_name(state, loader)?)));
    named.collect()
}

struct ValueReader<'a> {
    dump: &'a Dump,
    slots: Slots,
    /// By class: the offsets and types of the fields of its instances.
    fields: Vec<Vec<(usize, FieldType)>>,
    contents: bool,
}

/// The values of some objects.
struct Part {
    present: Vec<u64>,
    /// `None` if there are some that the dump lacks.
    contents: Option<Vec<u8>>,
}

impl<'a> ValueReader<'a> {
    fn new(dump: &'a Dump, contents: bool) -> Self {
        let state = &dump.state;
        let id_size = u32::from(dump.info.id_size);
        let fields = (0..state.classes().len() as u32).map(|class| {
            let mut offset = 0;
            let fields = dump.records.field_places(state, class);
            let placed = fields.map(|(_, field, _)| {
                let at = offset;
                offset += field.ty.size(id_size) as usize;
                (at, field.ty)
            });
            placed.collect()
        });
        ValueReader {
            dump,
            slots: Slots::new(state),
            fields: fields.collect(),
            contents,
        }
    }

    /// The values of the objects from `first` on that belong together.
    fn part(&self, first: ObjectId) -> Part {
        let state = &self.dump.state;
        let last = state
            .len()
            .min(first.saturating_add(OBJECTS_PER_PART as u32));
        let mut cursor = self.dump.records.cursor();
        let mut present = PresentBits::default();
        let mut contents = Some(Vec::new());
        for object in first..last {
            let (class, detail) = (state.class_id(object), state.detail(object));
            let (slots, bytes) = self.slots.of(class, detail);
            let full = self.references(state, object, class);
            // A class object has its references elsewhere than in slots.
            if full == slots || full == 0 || slots == 0 {
                present.object((0..slots).map(|_| full > 0));
            } else {
                self.mixed(&mut cursor, object, slots, full, &mut present);
            }
            if self.contents && bytes > 0 {
                contents = contents
                    .and_then(|all| self.primitives(&mut cursor, object, bytes as usize, all));
            }
        }
        Part {
            present: present.words(),
            contents,
        }
    }

    /// How many slots of an object have an object of the state.
    fn references(&self, state: &HeapState, object: ObjectId, class: u32) -> u64 {
        let referent = self.slots.referent(class);
        let apart = referent.is_some_and(|_| state.referent(object).is_some());
        state.references(object).len() as u64 + u64::from(apart)
    }

    fn mixed(
        &self,
        cursor: &mut Cursor,
        object: ObjectId,
        slots: u64,
        full: u64,
        present: &mut PresentBits,
    ) {
        let state = &self.dump.state;
        let id_size = usize::from(self.dump.info.id_size);
        let raw = cursor.raw(state, object).unwrap_or_default();
        let id_at = |offset: usize| {
            let id = raw.get(offset..offset + id_size).unwrap_or_default();
            id.iter().fold(0u64, |id, &byte| id << 8 | u64::from(byte))
        };
        let ids: Vec<u64> = if state.array_length(object).is_some() {
            (0..slots as usize)
                .map(|slot| id_at(slot * id_size))
                .collect()
        } else {
            let fields = self.fields[state.class_id(object) as usize].iter();
            let references = fields.filter(|field| field.1 == FieldType::Object);
            references.map(|field| id_at(field.0)).collect()
        };
        let given = ids.iter().filter(|&&id| id != 0).count() as u64;
        // Only where some lead nowhere they have to be looked for one by one.
        let finder = state.addresses.finder();
        let there = |id: u64| id != 0 && (given == full || finder.find(id).is_some());
        present.object(ids.into_iter().map(there));
    }

    /// Adds the primitive values of an object.
    fn primitives(
        &self,
        cursor: &mut Cursor,
        object: ObjectId,
        bytes: usize,
        mut all: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let state = &self.dump.state;
        let raw = cursor.raw(state, object)?;
        let before = all.len();
        if state.array_length(object).is_some() {
            all.extend(raw);
        } else {
            for &(offset, ty) in &self.fields[state.class_id(object) as usize] {
                if ty != FieldType::Object {
                    all.extend(raw.get(offset..offset + ty.size(0) as usize)?);
                }
            }
        }
        (all.len() - before == bytes).then_some(all)
    }
}
