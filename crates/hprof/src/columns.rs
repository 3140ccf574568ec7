//! The second pass over the heap: class, detail and references of every object.
//!
//! Spans are read in parallel, each into columns of its own in file order. Objects with
//! consecutive numbers form runs; the final columns are the runs put in order.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use anthill_heap::{
    AddressFinder, AddressMap, BitSet, Buffer, ClassId, ClassKind, Column, FieldType, HeapColumns,
    ObjectId, Offsets, Progress,
};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::Error;
use crate::classes::{ClassTable, InstanceLayout};
use crate::read::{Reader, id_at, u32_at};
use crate::records::Section;
use crate::subrecord::{ClassDump, Sub, parse};
use crate::survey::{Span, batches};

/// The place of one object in this many is remembered; the others are found by reading on.
const ANCHOR_EVERY: u32 = 64;
/// Marks the class of an object whose class was not known when its span was read.
const UNKNOWN: ClassId = ClassId::MAX;
/// The detail of a class object that stands for no known class.
const NO_CLASS: u32 = u32::MAX;

pub(crate) struct Loaded {
    pub columns: HeapColumns,
    /// Object numbers, ascending, and where in the file their records are.
    pub anchors: (Vec<ObjectId>, Vec<u64>),
    /// Objects with the serial number of their allocation trace, ascending.
    pub allocations: Vec<(ObjectId, u32)>,
    pub dangling: u64,
    /// By class that is not described: bytes of field values of its instances.
    pub undescribed: FxHashMap<ClassId, u32>,
}

/// What the second pass reads from.
pub(crate) struct Sources<'a> {
    pub path: &'a Path,
    pub bytes: &'a [u8],
    pub section: &'a Section,
    pub spans: &'a [Span],
    pub addresses: &'a AddressMap,
    pub duplicates: bool,
    /// Which trace serials have frames.
    pub traces: &'a FxHashMap<u32, u32>,
}

pub(crate) fn load<const ID: usize>(
    sources: &Sources,
    table: &mut ClassTable,
    progress: &dyn Progress,
) -> Result<Loaded, Error> {
    let primitive_arrays = FieldType::ALL.map(|ty| match ty {
        FieldType::Object => UNKNOWN,
        _ => table.named(&format!("{}[]", ty.keyword())),
    });
    let mirror_class = table.named("java.lang.Class");
    let pass = SecondPass {
        sources,
        table,
        lengths: table.data_lengths(ID),
        layouts: table.classes.iter().map(|_| OnceLock::new()).collect(),
        primitive_arrays,
        mirror_class,
    };
    // The first record of an object wins, so with duplicates the order matters.
    let mut claimed = sources
        .duplicates
        .then(|| BitSet::new(sources.addresses.len() as usize));
    // Every reference takes an id in the file.
    let most_references = sources.spans.iter().map(|span| span.bytes.len() / ID).sum();
    let mut assembly = Assembly::new(sources.addresses.len() as usize, most_references);
    for batch in batches(sources.spans, |span| span.bytes.len()) {
        let spans = &sources.spans[batch];
        let parts: Vec<Part> = match &mut claimed {
            Some(claimed) => spans
                .iter()
                .map(|span| pass.read::<ID>(span, Some(claimed)))
                .collect(),
            None => spans
                .par_iter()
                .map(|span| pass.read::<ID>(span, None))
                .collect(),
        };
        for (part, span) in parts.into_iter().zip(spans) {
            assembly.add(part);
            progress.check()?;
            progress.advance(span.bytes.len() as u64);
        }
    }
    assembly.finish(sources, table).ok_or_else(|| {
        let reason = "more than 2^32 references in 1,024 neighboring objects: the file is damaged";
        Error::unusable(sources.path, 0, reason)
    })
}

struct SecondPass<'a> {
    sources: &'a Sources<'a>,
    table: &'a ClassTable,
    /// By class: bytes of field values of an instance.
    lengths: Vec<Option<usize>>,
    /// By class, once there is an instance of it.
    layouts: Vec<OnceLock<InstanceLayout>>,
    primitive_arrays: [ClassId; 9],
    mirror_class: ClassId,
}

/// The objects of one span in file order.
#[derive(Default)]
struct Part {
    runs: Vec<Run>,
    classes: Vec<ClassId>,
    details: Vec<u32>,
    degrees: Vec<u32>,
    references: Vec<ObjectId>,
    referents: Vec<(ObjectId, ObjectId)>,
    anchors: Vec<(ObjectId, u64)>,
    allocations: Vec<(ObjectId, u32)>,
    unknown: Vec<UnknownClass>,
    dangling: u64,
}

/// Objects with consecutive numbers.
struct Run {
    first: ObjectId,
    /// Their places in the part's columns.
    objects: Range<usize>,
    references: Range<usize>,
}

struct UnknownClass {
    index: usize,
    class: u64,
    array: bool,
    len: u32,
}

impl SecondPass<'_> {
    fn read<const ID: usize>(&self, span: &Span, mut claimed: Option<&mut BitSet>) -> Part {
        let mut part = Part::with_capacity(span.objects);
        let span = &span.bytes;
        let bytes = &self.sources.bytes[..span.end];
        let finder = self.sources.addresses.finder();
        let mut expected = ObjectId::MAX;
        let mut until_anchor = 0;
        let mut position = span.start;
        while let Some((sub, end)) = parse::<ID>(bytes, position) {
            let id = match sub {
                Sub::Instance { id, .. }
                | Sub::ObjectArray { id, .. }
                | Sub::PrimitiveArray { id, .. }
                | Sub::Class { id } => id,
                Sub::Root { .. } | Sub::Space { .. } => 0,
            };
            // Ids of the first pass are all there; only those without an address are not.
            let number = if id == 0 { None } else { finder.find(id) };
            let number =
                number.filter(|&number| claimed.as_mut().is_none_or(|claimed| claimed.add(number)));
            if let Some(number) = number {
                if number != expected {
                    part.begin_run(number);
                    until_anchor = 0;
                }
                if until_anchor == 0 {
                    part.anchors.push((number, position as u64));
                    until_anchor = ANCHOR_EVERY;
                }
                until_anchor -= 1;
                expected = number + 1;
                self.take::<ID>(&mut part, &sub, number, position, bytes, finder);
            } else if id != 0 {
                // A passed-over duplicate: its record must not be counted from an anchor.
                expected = ObjectId::MAX;
            }
            position = end;
            if position >= span.end {
                break;
            }
        }
        part.end_run();
        part.references.shrink_to_fit();
        part
    }

    #[inline(always)]
    fn take<const ID: usize>(
        &self,
        part: &mut Part,
        sub: &Sub,
        number: ObjectId,
        position: usize,
        bytes: &[u8],
        finder: AddressFinder,
    ) {
        let before = part.references.len();
        let mut dangling = 0;
        let mut reference = |references: &mut Vec<ObjectId>, id: u64| {
            if id != 0 {
                match finder.find(id) {
                    Some(target) => references.push(target),
                    None => dangling += 1,
                }
            }
        };
        let (class, detail, trace) = match *sub {
            Sub::Instance {
                trace,
                class,
                data,
                len,
                ..
            } => {
                let Some(&class) = self.table.by_id.get(&class) else {
                    part.unknown.push(UnknownClass {
                        index: part.classes.len(),
                        class,
                        array: false,
                        len: len as u32,
                    });
                    return part.push(UNKNOWN, 0, 0);
                };
                let layout: &InstanceLayout = match self.lengths[class as usize] {
                    Some(expected) if expected > len => &self.table.instance_layout(class, ID),
                    _ => self.layouts[class as usize]
                        .get_or_init(|| self.table.instance_layout(class, ID)),
                };
                for &offset in &layout.references {
                    if offset as usize + ID <= len {
                        reference(
                            &mut part.references,
                            id_at::<ID>(bytes, data + offset as usize),
                        );
                    }
                }
                let detail = if layout.referent.is_some() || layout.stack_words.is_some() {
                    self.special::<ID>(part, layout, number, &bytes[data..data + len])
                } else if self.table.classes[class as usize].kind == ClassKind::Mirror {
                    NO_CLASS
                } else {
                    0
                };
                if !self.table.classes[class as usize].described {
                    part.unknown.push(UnknownClass {
                        index: part.classes.len(),
                        class: self.table.raw[class as usize].id,
                        array: false,
                        len: len as u32,
                    });
                }
                (class, detail, trace)
            }
            Sub::ObjectArray {
                trace,
                class,
                data,
                length,
                ..
            } => {
                for index in 0..length as usize {
                    reference(&mut part.references, id_at::<ID>(bytes, data + index * ID));
                }
                let known = self.table.by_id.get(&class).copied();
                match known.filter(|&class| {
                    matches!(self.table.classes[class as usize].kind, ClassKind::Array(_))
                }) {
                    Some(class) => (class, length, trace),
                    None => {
                        part.unknown.push(UnknownClass {
                            index: part.classes.len(),
                            class,
                            array: true,
                            len: 0,
                        });
                        (UNKNOWN, length, trace)
                    }
                }
            }
            Sub::PrimitiveArray {
                trace,
                element,
                length,
                ..
            } => (self.primitive_arrays[element as usize], length, trace),
            Sub::Class { id } => {
                let mut reader = Reader::new(bytes, position + 1, ID);
                if let Some(dump) = ClassDump::parse(&mut reader) {
                    class_references(&dump).for_each(|id| reference(&mut part.references, id));
                }
                (
                    self.mirror_class,
                    self.table.by_id.get(&id).copied().unwrap_or(NO_CLASS),
                    0,
                )
            }
            Sub::Root { .. } | Sub::Space { .. } => return,
        };
        part.dangling += dangling;
        if !self.sources.traces.is_empty() && self.sources.traces.contains_key(&trace) {
            part.allocations.push((number, trace));
        }
        let degree = part.references.len() - before;
        part.push(class, detail, degree as u32);
    }

    /// What only a few classes have: a referent, which goes to a column of its own, or a
    /// number of stack words, which is the object's detail.
    #[cold]
    fn special<const ID: usize>(
        &self,
        part: &mut Part,
        layout: &InstanceLayout,
        number: ObjectId,
        data: &[u8],
    ) -> u32 {
        if let Some(offset) = layout
            .referent
            .map(|offset| offset as usize)
            .filter(|offset| offset + ID <= data.len())
        {
            let id = id_at::<ID>(data, offset);
            match self.sources.addresses.find(id) {
                Some(referent) => part.referents.push((number, referent)),
                None => part.dangling += u64::from(id != 0),
            }
        }
        let words = layout.stack_words.map(|offset| offset as usize);
        words
            .filter(|offset| offset + 4 <= data.len())
            .map_or(0, |offset| u32_at(data, offset))
    }
}

/// The objects a class object references itself, in the order of the file: constant pool
/// entries, then static fields.
pub(crate) fn class_references<'a>(dump: &'a ClassDump) -> impl Iterator<Item = u64> + 'a {
    let statics = dump.statics.iter().filter_map(|&(_, value)| match value {
        anthill_heap::Value::Object(id) => Some(id),
        _ => None,
    });
    dump.constants.iter().copied().chain(statics)
}

impl Part {
    fn with_capacity(objects: usize) -> Self {
        Part {
            classes: Vec::with_capacity(objects),
            details: Vec::with_capacity(objects),
            degrees: Vec::with_capacity(objects),
            ..Part::default()
        }
    }

    #[inline(always)]
    fn push(&mut self, class: ClassId, detail: u32, degree: u32) {
        self.classes.push(class);
        self.details.push(detail);
        self.degrees.push(degree);
    }

    fn begin_run(&mut self, first: ObjectId) {
        self.end_run();
        let (objects, references) = (self.classes.len(), self.references.len());
        self.runs.push(Run {
            first,
            objects: objects..objects,
            references: references..references,
        });
    }

    fn end_run(&mut self) {
        if let Some(run) = self.runs.last_mut() {
            run.objects.end = self.classes.len();
            run.references.end = self.references.len();
        }
    }
}

/// The final columns while they come together. Numbers are known, so classes and details go
/// straight to their places; references can only once all degrees are known.
struct Assembly {
    classes: Buffer<u32>,
    details: Buffer<u32>,
    degrees: Buffer<u32>,
    /// Runs with where their references are in `references`.
    runs: Vec<(ObjectId, Range<usize>)>,
    references: Buffer<u32>,
    /// How many references there are so far.
    filled: usize,
    referents: Vec<(ObjectId, ObjectId)>,
    anchors: Vec<(ObjectId, u64)>,
    allocations: Vec<(ObjectId, u32)>,
    /// Objects whose class was not known.
    unknown: Vec<(ObjectId, UnknownClass)>,
    dangling: u64,
}

impl Assembly {
    fn new(objects: usize, most_references: usize) -> Self {
        Assembly {
            classes: Buffer::zeroed(objects),
            details: Buffer::zeroed(objects),
            degrees: Buffer::zeroed(objects + 1),
            runs: Vec::new(),
            references: Buffer::zeroed(most_references),
            filled: 0,
            referents: Vec::new(),
            anchors: Vec::new(),
            allocations: Vec::new(),
            unknown: Vec::new(),
            dangling: 0,
        }
    }

    fn add(&mut self, part: Part) {
        let before = self.filled;
        let mut unknown = part.unknown.into_iter().peekable();
        for run in part.runs {
            let first = run.first as usize;
            let to = first..first + run.objects.len();
            self.classes[to.clone()].copy_from_slice(&part.classes[run.objects.clone()]);
            self.details[to.clone()].copy_from_slice(&part.details[run.objects.clone()]);
            self.degrees[to].copy_from_slice(&part.degrees[run.objects.clone()]);
            while let Some(unknown) = unknown.next_if(|unknown| unknown.index < run.objects.end) {
                let number = run.first + (unknown.index - run.objects.start) as u32;
                self.unknown.push((number, unknown));
            }
            self.runs.push((
                run.first,
                before + run.references.start..before + run.references.end,
            ));
        }
        self.filled += part.references.len();
        self.references[before..self.filled].copy_from_slice(&part.references);
        self.referents.extend(part.referents);
        self.anchors.extend(part.anchors);
        self.allocations.extend(part.allocations);
        self.dangling += part.dangling;
    }

    /// `None` if there are more references than offsets can tell.
    fn finish(mut self, sources: &Sources, table: &mut ClassTable) -> Option<Loaded> {
        let undescribed = self.settle_unknown_classes(sources, table);
        let offsets = Offsets::from_counts(self.degrees)?;
        self.references.truncate(self.filled);
        let references = in_order(self.runs, self.references);
        self.anchors.sort_unstable();
        self.allocations.sort_unstable();
        self.referents.sort_unstable();
        let (referrers_by_referent, referents): (Vec<_>, Vec<_>) =
            self.referents.into_iter().unzip();
        Some(Loaded {
            columns: HeapColumns {
                classes: self.classes.into(),
                details: self.details.into(),
                offsets,
                references,
                referrers_by_referent: referrers_by_referent.into(),
                referents: referents.into(),
            },
            anchors: self.anchors.into_iter().unzip(),
            allocations: self.allocations,
            dangling: self.dangling,
            undescribed,
        })
    }

    fn settle_unknown_classes(
        &mut self,
        sources: &Sources,
        table: &mut ClassTable,
    ) -> FxHashMap<ClassId, u32> {
        let mut lengths = FxHashMap::default();
        for (number, unknown) in &self.unknown {
            let class = table.unknown(sources.bytes, sources.section, unknown.class);
            let class = if unknown.array {
                table.array_of(class)
            } else {
                class
            };
            self.classes[*number as usize] = class;
            if table.classes[class as usize].kind == ClassKind::Mirror {
                self.details[*number as usize] = NO_CLASS;
            }
            if !unknown.array {
                lengths.insert(class, unknown.len);
            }
        }
        lengths
    }
}

/// The references of all runs in the order of their objects' numbers.
fn in_order(mut runs: Vec<(ObjectId, Range<usize>)>, references: Buffer<u32>) -> Column<u32> {
    if runs.is_sorted_by_key(|run| run.0) {
        return references.into();
    }
    runs.sort_unstable_by_key(|run| run.0);
    let mut ordered = Buffer::zeroed(references.len());
    let (to, from): (&mut [u32], &[u32]) = (&mut ordered, &references);
    let mut start = 0;
    for (_, run) in runs {
        let end = start + run.len();
        to[start..end].copy_from_slice(&from[run]);
        start = end;
    }
    ordered.into()
}
