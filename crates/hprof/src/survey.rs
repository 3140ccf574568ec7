//! The first pass over the heap: which objects, class dumps and roots there are, and which
//! stretches of the file hold sub-records that make sense.

use std::ops::Range;

use anthill_heap::phrases::count;
use anthill_heap::{Missing, MissingKind, Progress, RootOrigin};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::Error;
use crate::read::id_at;
use crate::subrecord::{Sub, parse};

/// Spans are cut at this many bytes, so that the second pass can share them out.
const SPAN: usize = 2 << 20;
/// So many bytes are read in parallel before their results are put together.
const BATCH: usize = 32 << 20;
/// After damage, this many sub-records in a row must make sense.
const CHAIN: usize = 4;

/// A stretch of whole sub-records.
pub(crate) struct Span {
    pub bytes: Range<usize>,
    /// How many of them are objects.
    pub objects: usize,
}

#[derive(Default)]
pub(crate) struct Survey {
    /// In file order.
    pub spans: Vec<Span>,
    /// Of instances, arrays and classes.
    pub addresses: Vec<u64>,
    /// Where class dumps are.
    pub class_dumps: Vec<usize>,
    pub roots: Vec<RawRoot>,
    /// Where heap spaces begin, with the ids of their names.
    pub spaces: Vec<(usize, u64)>,
    /// Objects that claim the address 0.
    pub without_address: u64,
    pub missing: Vec<Missing>,
}

#[derive(Clone, Copy)]
pub(crate) struct RawRoot {
    pub object: u64,
    pub origin: RootOrigin,
    pub thread: Option<u32>,
    pub frame: Option<u32>,
    pub trace: Option<u32>,
}

/// What is known of a class when deciding whether an instance of it makes sense.
pub(crate) type InstanceLengths = FxHashMap<u64, Option<usize>>;

/// Surveys all segments. Those with damage are read again, strictly, once `lengths` can be
/// computed from the class dumps found so far.
pub(crate) fn survey<const ID: usize>(
    bytes: &[u8],
    segments: &[Range<usize>],
    progress: &dyn Progress,
    lengths: impl FnOnce(&[usize]) -> InstanceLengths,
) -> Result<Survey, Error> {
    let mut survey = Survey::default();
    let mut damaged = Vec::new();
    let mut class_dumps = Vec::new();
    for batch in batches(segments, |segment| segment.len()) {
        let parts: Vec<Part> = segments[batch.clone()]
            .par_iter()
            .map(|segment| Part::read::<ID>(bytes, segment.clone()))
            .collect();
        for (part, segment) in parts.into_iter().zip(&segments[batch]) {
            progress.check()?;
            progress.advance(segment.len() as u64);
            class_dumps.extend_from_slice(&part.class_dumps);
            if part.damage {
                damaged.push(segment.clone());
            } else {
                survey.add(part);
            }
        }
    }
    if !damaged.is_empty() {
        let lengths = lengths(&class_dumps);
        for segment in damaged {
            survey.add(Part::read_strictly::<ID>(
                bytes, segment, &lengths, progress,
            )?);
        }
    }
    Ok(survey)
}

/// Cuts items into batches of a moderate number of bytes, to work on in parallel.
pub(crate) fn batches<T>(items: &[T], len: impl Fn(&T) -> usize) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, item) in items.iter().enumerate() {
        bytes += len(item);
        if bytes >= BATCH || index + 1 == items.len() {
            batches.push(start..index + 1);
            (start, bytes) = (index + 1, 0);
        }
    }
    batches
}

impl Survey {
    fn add(&mut self, part: Part) {
        self.spans.extend(part.spans);
        self.addresses.extend_from_slice(&part.addresses);
        self.class_dumps.extend(part.class_dumps);
        self.roots.extend(part.roots);
        self.spaces.extend(part.spaces);
        self.without_address += part.without_address;
        self.missing.extend(part.missing);
    }
}

/// What one segment holds.
#[derive(Default)]
struct Part {
    spans: Vec<Span>,
    addresses: Vec<u64>,
    class_dumps: Vec<usize>,
    roots: Vec<RawRoot>,
    spaces: Vec<(usize, u64)>,
    without_address: u64,
    missing: Vec<Missing>,
    /// How many addresses belong to finished spans.
    counted: usize,
    /// Whether a sub-record does not make sense.
    damage: bool,
}

impl Part {
    fn read<const ID: usize>(bytes: &[u8], segment: Range<usize>) -> Self {
        let mut part = Part::default();
        let bytes = &bytes[..segment.end];
        let mut position = segment.start;
        while position < segment.end {
            let span = position;
            let stop = segment.end.min(span + SPAN);
            while position < stop {
                let Some((sub, end)) = parse::<ID>(bytes, position) else {
                    part.damage = true;
                    return part;
                };
                part.take(sub, position);
                position = end;
            }
            part.end_span(span..position);
        }
        part
    }

    fn read_strictly<const ID: usize>(
        bytes: &[u8],
        segment: Range<usize>,
        lengths: &InstanceLengths,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let mut part = Part::default();
        let bytes = &bytes[..segment.end];
        let mut position = segment.start;
        while position < segment.end {
            let span = position;
            while let Some((sub, end)) =
                parse::<ID>(bytes, position).filter(|(sub, _)| sensible(sub, lengths))
            {
                part.take(sub, position);
                position = end;
            }
            if position > span {
                part.end_span(span..position);
            }
            if position < segment.end {
                let next = resync::<ID>(bytes, position + 1, lengths, progress)?;
                part.missing.push(Missing {
                    kind: MissingKind::Unreadable,
                    offset: Some(position as u64),
                    amount: (next - position) as u64,
                    what: match next - position {
                        1 => "1 invalid byte of the heap was skipped".to_owned(),
                        many => {
                            let many = count(many as u64);
                            format!("{many} invalid bytes of the heap were skipped")
                        }
                    },
                });
                position = next;
            }
        }
        Ok(part)
    }

    fn end_span(&mut self, bytes: Range<usize>) {
        let objects = self.addresses.len() - self.counted;
        self.counted = self.addresses.len();
        self.spans.push(Span { bytes, objects });
    }

    #[inline(always)]
    fn take(&mut self, sub: Sub, position: usize) {
        let id = match sub {
            Sub::Instance { id, .. }
            | Sub::ObjectArray { id, .. }
            | Sub::PrimitiveArray { id, .. } => id,
            Sub::Class { id } => {
                self.class_dumps.push(position);
                id
            }
            Sub::Root {
                object,
                origin,
                thread,
                frame,
                trace,
            } => {
                return self.roots.push(RawRoot {
                    object,
                    origin,
                    thread,
                    frame,
                    trace,
                });
            }
            Sub::Space { name } => return self.spaces.push((position, name)),
        };
        if id == 0 {
            self.without_address += 1;
        } else {
            self.addresses.push(id);
        }
    }
}

/// Whether a sub-record that can be parsed also makes sense: its class is known and the
/// length is right for it.
fn sensible(sub: &Sub, lengths: &InstanceLengths) -> bool {
    match sub {
        Sub::Instance { class, len, .. } => match lengths.get(class) {
            Some(Some(expected)) => expected == len,
            Some(None) => true,
            None => lengths.is_empty(),
        },
        Sub::ObjectArray { class, .. } => lengths.contains_key(class) || lengths.is_empty(),
        _ => true,
    }
}

/// The next position where a chain of sub-records makes sense, or the end.
fn resync<const ID: usize>(
    bytes: &[u8],
    from: usize,
    lengths: &InstanceLengths,
    progress: &dyn Progress,
) -> Result<usize, Error> {
    for position in from..bytes.len() {
        if position % (1 << 20) == 0 {
            progress.check()?;
        }
        if makes_sense::<ID>(bytes, position, lengths) {
            return Ok(position);
        }
    }
    Ok(bytes.len())
}

fn makes_sense<const ID: usize>(
    bytes: &[u8],
    mut position: usize,
    lengths: &InstanceLengths,
) -> bool {
    let mut telling = false;
    for _ in 0..CHAIN {
        if is_unknown_class::<ID>(bytes, position, lengths) {
            return false;
        }
        match parse::<ID>(bytes, position).filter(|(sub, _)| sensible(sub, lengths)) {
            // Roots are so short that noise looks like them.
            Some((sub, end)) => {
                telling |= matches!(
                    sub,
                    Sub::Instance { .. } | Sub::ObjectArray { .. } | Sub::Class { .. }
                );
                position = end;
            }
            None => return false,
        }
        if position == bytes.len() {
            break;
        }
    }
    telling
}

/// Whether what looks like a class dump is none by its id: class dumps are long, and noise that
/// looks like one is not worth reading.
fn is_unknown_class<const ID: usize>(
    bytes: &[u8],
    position: usize,
    lengths: &InstanceLengths,
) -> bool {
    const CLASS_DUMP: u8 = 0x20;
    bytes.get(position) == Some(&CLASS_DUMP)
        && bytes.len() - position > ID
        && !lengths.is_empty()
        && !lengths.contains_key(&id_at::<ID>(bytes, position + 1))
}
