//! Where HotSpot puts the fields of a class: the rules up to JDK 5, JDK 14, and since JDK 15.
//!
//! Knows field types and paddings only: no class names, no gaps.

use anthill_heap::FieldType;

/// Which of HotSpot's field layout algorithms the JVM used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldRules {
    /// JDK 5: references first, no hole is filled.
    ReferencesFirst,
    /// JDK 14 and older: fields in groups by type, every class starts where its superclass ends.
    Grouped,
    /// JDK 15 and newer: every field goes to the tightest hole, holes of superclasses included.
    BestFit,
}

/// What the placement of fields depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Geometry {
    pub rules: FieldRules,
    /// Offset of the first field of an object.
    pub header: u32,
    pub reference: u32,
    /// Size of a machine word of the JVM.
    pub word: u32,
}

/// Width of the padding around `@Contended` fields. It can be set, but never is.
pub(super) const PADDING: u32 = 128;

/// No instance of a real class comes near: what lies beyond is damage and grows no further.
const LARGEST_OBJECT: u32 = 1 << 28;

/// A field as far as its place is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub ty: FieldType,
    pub group: Group,
}

/// The `@Contended` group of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    /// Not contended.
    None,
    /// Contended by itself.
    Alone,
    /// Contended together with the fields of the same number.
    Shared(u8),
}

/// The fields one class declares.
#[derive(Clone, Default, Debug)]
pub(super) struct Declared {
    /// In the order of the class file.
    pub slots: Vec<Slot>,
    /// The class itself is `@Contended`.
    pub padded: bool,
    /// The class has fixed offsets up to JDK 14: references first, no hole filled.
    pub fixed: bool,
}

/// The places taken by the fields of a class and its superclasses.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// Holes between fields, by offset.
    holes: Vec<(u32, u32)>,
    /// End of the last field.
    end: u32,
    /// End of the object before alignment, paddings included.
    total: u32,
    contended: bool,
    has_fields: bool,
}

impl Places {
    /// An object without fields.
    pub(super) fn empty(geometry: &Geometry) -> Places {
        Places {
            holes: Vec::new(),
            end: geometry.header,
            total: geometry.header,
            contended: false,
            has_fields: false,
        }
    }

    /// The places after `declared` was added below this superclass.
    pub(super) fn extended(&self, geometry: &Geometry, declared: &Declared) -> Places {
        if self.total > LARGEST_OBJECT {
            return self.clone();
        }
        match geometry.rules {
            FieldRules::ReferencesFirst | FieldRules::Grouped => {
                self.extended_grouped(geometry, declared)
            }
            FieldRules::BestFit => self.extended_best_fit(geometry, declared),
        }
    }

    /// Size of an instance.
    pub(super) fn size(&self, geometry: &Geometry, alignment: u32) -> u32 {
        align(align(self.total, geometry.word), alignment)
    }

    fn extended_best_fit(&self, geometry: &Geometry, declared: &Declared) -> Places {
        let mut places = self.clone();
        let mut fill = true;
        places.total = places.end;
        if self.contended {
            places.holes.clear();
            places.total += PADDING;
            fill = !self.has_fields;
        }
        if declared.padded {
            places.total += PADDING;
            fill = false;
        }
        let mut plain: Vec<Slot> = declared.slots.clone();
        plain.retain(|slot| slot.group == Group::None);
        places.insert_sorted(geometry, plain, fill);

        let mut pad_tail = declared.padded;
        for group in contended_groups(&declared.slots) {
            places.total += PADDING;
            places.insert_sorted(geometry, group, false);
            pad_tail = true;
        }
        places.contended |= pad_tail;
        if pad_tail {
            places.total += PADDING;
        }
        places
    }

    /// Places primitive fields from large to small, then references.
    fn insert_sorted(&mut self, geometry: &Geometry, mut slots: Vec<Slot>, fill: bool) {
        let rank = |slot: &Slot| match slot.ty {
            FieldType::Object => 9,
            ty => 8 - ty.size(geometry.reference),
        };
        slots.sort_by_key(rank);
        for slot in slots {
            self.insert(slot.ty.size(geometry.reference), fill);
        }
    }

    fn insert(&mut self, size: u32, fill: bool) {
        let fits = |&(_, &(offset, length)): &(usize, &(u32, u32))| {
            align(offset, size) + size <= offset + length
        };
        let hole = self
            .holes
            .iter()
            .enumerate()
            .filter(|_| fill)
            .rev()
            .filter(fits)
            .min_by_key(|&(_, &(_, length))| length)
            .map(|(index, _)| index);
        let Some(index) = hole else {
            let offset = align(self.total, size);
            if offset > self.total {
                self.holes.push((self.total, offset - self.total));
            }
            self.total = offset + size;
            self.end = self.total;
            self.has_fields = true;
            return;
        };
        let (offset, length) = self.holes.remove(index);
        let start = align(offset, size);
        let parts = [
            (offset, start - offset),
            (start + size, offset + length - start - size),
        ];
        let left = parts.into_iter().filter(|&(_, length)| length > 0);
        self.holes.splice(index..index, left);
    }

    fn extended_grouped(&self, geometry: &Geometry, declared: &Declared) -> Places {
        let reference = geometry.reference;
        let count = |wanted: &dyn Fn(FieldType) -> bool| {
            let plain = |slot: &&Slot| slot.group == Group::None && wanted(slot.ty);
            declared.slots.iter().filter(plain).count() as u32
        };
        let of_size = |size| count(&|ty| ty != FieldType::Object && ty.size(reference) == size);
        let longs = of_size(8);
        let (mut ints, mut shorts, mut bytes) = (of_size(4), of_size(2), of_size(1));
        let mut references = count(&|ty| ty == FieldType::Object);

        let fixed = declared.fixed || geometry.rules == FieldRules::ReferencesFirst;
        let mut at = self.end;
        if declared.padded {
            at += PADDING;
        }
        if fixed {
            at += references * reference;
            references = 0;
        }
        if longs > 0 {
            let mut gap = align(at, 8) - at;
            at += gap;
            if !fixed {
                fill(&mut gap, 4, &mut ints, 1);
                fill(&mut gap, 2, &mut shorts, u32::MAX);
                fill(&mut gap, 1, &mut bytes, u32::MAX);
                fill(&mut gap, reference, &mut references, 1);
            }
        }
        at += longs * 8 + ints * 4 + shorts * 2 + bytes;
        if references > 0 {
            at = align(at, reference) + references * reference;
        }
        let groups = contended_groups(&declared.slots);
        if !groups.is_empty() {
            at += PADDING;
        }
        for group in groups {
            for slot in group {
                let size = slot.ty.size(reference);
                at = align(at, size) + size;
            }
            at += PADDING;
        }
        if declared.padded {
            at += PADDING;
        }
        let end = align(at, reference);
        Places {
            holes: Vec::new(),
            end,
            total: end,
            contended: false,
            has_fields: true,
        }
    }
}

/// Moves at most `most` fields of `size` from `count` into `gap`.
fn fill(gap: &mut u32, size: u32, count: &mut u32, most: u32) {
    let moved = (*gap / size).min(*count).min(most);
    *gap -= moved * size;
    *count -= moved;
}

/// The contended fields, those of one group together.
fn contended_groups(slots: &[Slot]) -> Vec<Vec<Slot>> {
    let mut groups: Vec<Vec<Slot>> = Vec::new();
    for &slot in slots {
        let shared = |group: &&mut Vec<Slot>| {
            matches!(slot.group, Group::Shared(_)) && group[0].group == slot.group
        };
        match slot.group {
            Group::None => {}
            _ => match groups.iter_mut().find(shared) {
                Some(group) => group.push(slot),
                None => groups.push(vec![slot]),
            },
        }
    }
    groups
}

/// Bytes that static fields add to the class object, which begin at a multiple of 8. All rules
/// put references first, then primitive fields from large to small, and fill no hole.
pub(super) fn statics_size(geometry: &Geometry, types: impl Iterator<Item = FieldType>) -> u32 {
    let (mut references, mut longs, mut small) = (0, 0, 0);
    for ty in types {
        match ty.size(geometry.reference) {
            size if ty == FieldType::Object => references += size,
            8 => longs += 8,
            size => small += size,
        }
    }
    let start = match longs {
        0 => references,
        _ => align(references, 8),
    };
    align(start + longs + small, geometry.word)
}

pub(super) fn align(value: u32, to: u32) -> u32 {
    value.checked_next_multiple_of(to).unwrap_or(value)
}
