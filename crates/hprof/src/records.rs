//! The outer records of an HPROF file: header, strings, classes, stacks, and where the heap is.
//!
//! Lengths are not trusted. A heap record whose end does not look like the start of another
//! record is walked instead, and after damage the next record that makes sense is looked for.

use std::ops::Range;
use std::path::Path;

use anthill_heap::phrases::count;
use anthill_heap::{Missing, MissingKind};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::read::{Reader, modified_utf8, u32_at};
use crate::subrecord;

const MAGIC: &[u8] = b"JAVA PROFILE 1.0";
const HEADER: usize = 9;
const MAX_MAGIC: usize = 1 << 20;
const LONGEST_NAME: usize = 1024;

const UTF8: u8 = 0x01;
const LOAD_CLASS: u8 = 0x02;
const FRAME: u8 = 0x04;
const TRACE: u8 = 0x05;
const START_THREAD: u8 = 0x0a;
const HEAP_DUMP: u8 = 0x0c;
const HEAP_DUMP_SEGMENT: u8 = 0x1c;
const HEAP_DUMP_END: u8 = 0x2c;

/// Everything from one header on. Dumps written one after the other give several.
pub(crate) struct Section {
    pub start: usize,
    /// E.g. `JAVA PROFILE 1.0.2`.
    pub format: String,
    pub id_size: usize,
    /// Milliseconds since 1970.
    pub timestamp: u64,
    strings: FxHashMap<u64, Range<usize>>,
    /// Class id → string id of its name.
    pub class_names: FxHashMap<u64, u64>,
    class_serials: FxHashMap<u32, u64>,
    pub frames: Vec<RawFrame>,
    pub traces: Vec<RawTrace>,
    pub threads: Vec<RawThread>,
    pub dumps: Vec<RawDump>,
    pub missing: Vec<Missing>,
}

pub(crate) struct RawFrame {
    pub id: u64,
    method: u64,
    signature: u64,
    source: u64,
    class_serial: u32,
    line: i32,
}

pub(crate) struct RawTrace {
    pub serial: u32,
    pub thread: u32,
    pub frames: Vec<u64>,
}

pub(crate) struct RawThread {
    pub serial: u32,
    pub object: u64,
    pub name: u64,
}

/// One heap dump: the places of its sub-records.
#[derive(Default)]
pub(crate) struct RawDump {
    pub segments: Vec<Range<usize>>,
    ended: bool,
}

impl Section {
    /// A string of the file; of one longer than any sensible name, the beginning. Many records
    /// can share a string, so its length is not theirs.
    pub(crate) fn string(&self, bytes: &[u8], id: u64) -> Option<String> {
        let text = bytes.get(self.strings.get(&id)?.clone())?;
        if text.len() <= LONGEST_NAME {
            return Some(modified_utf8(text));
        }
        Some(modified_utf8(&text[..LONGEST_NAME]) + "…")
    }

    pub(crate) fn frame(&self, bytes: &[u8], raw: &RawFrame) -> anthill_heap::Frame {
        let text = |id| self.string(bytes, id);
        let class = self
            .class_serials
            .get(&raw.class_serial)
            .and_then(|&name| text(name));
        anthill_heap::Frame {
            class: class.map_or_else(
                || "(unknown class)".to_owned(),
                |name| name.replace('/', "."),
            ),
            method: text(raw.method).unwrap_or_else(|| "(unknown method)".to_owned()),
            signature: text(raw.signature).unwrap_or_default(),
            source: text(raw.source).filter(|source| !source.is_empty()),
            line: raw.line,
        }
    }
}

/// Reads the outer records of the whole file.
pub(crate) fn scan(path: &Path, bytes: &[u8]) -> Result<Vec<Section>, Error> {
    let (first, mut position) = scan_section(path, bytes, 0)?;
    let mut sections = vec![first];
    while position < bytes.len() {
        match scan_section(path, bytes, position) {
            Ok((section, end)) => {
                position = end;
                sections.push(section);
            }
            Err(error) => {
                // What came before is still whole.
                let what = format!("another dump in the file cannot be read: {error}");
                for section in &mut sections {
                    section.note(
                        MissingKind::Truncated,
                        position,
                        bytes.len() - position,
                        &what,
                    );
                }
                break;
            }
        }
    }
    Ok(sections)
}

fn scan_section(path: &Path, bytes: &[u8], start: usize) -> Result<(Section, usize), Error> {
    let (mut section, body) = header(path, bytes, start)?;
    let mut position = body;
    while position < bytes.len() {
        if position > body && bytes[position..].starts_with(MAGIC) {
            break;
        }
        let Some((tag, end)) = record(bytes, position) else {
            section.note(
                MissingKind::Truncated,
                position,
                bytes.len() - position,
                "the file ends inside a record header",
            );
            position = bytes.len();
            break;
        };
        let content = position + HEADER..end;
        position = match tag {
            HEAP_DUMP | HEAP_DUMP_SEGMENT => section.heap(bytes, tag, content),
            HEAP_DUMP_END if end == position + HEADER => {
                section
                    .dumps
                    .last_mut()
                    .into_iter()
                    .for_each(|dump| dump.ended = true);
                end
            }
            _ if end <= bytes.len() && plausible(bytes, position, section.id_size) => {
                section.small_record(bytes, tag, content);
                end
            }
            _ => section.resync(bytes, position, position + 1),
        };
    }
    let unfinished = section.dumps.last().is_some_and(|dump| !dump.ended);
    if unfinished
        && section
            .missing
            .iter()
            .all(|missing| missing.kind != MissingKind::Truncated)
    {
        section.note(
            MissingKind::Truncated,
            position,
            0,
            "the end mark is missing: the file may have been truncated between two records",
        );
    }
    Ok((section, position))
}

fn header(path: &Path, bytes: &[u8], start: usize) -> Result<(Section, usize), Error> {
    let unusable = |offset: usize, reason: String| Error::unusable(path, offset as u64, reason);
    let head = &bytes[start..];
    if !head.starts_with(MAGIC) {
        return Err(unusable(start, not_hprof(head)));
    }
    let ended_early = || {
        unusable(
            bytes.len(),
            "the file ends inside its header: nothing to analyze".to_owned(),
        )
    };
    let magic = head
        .iter()
        .take(MAX_MAGIC)
        .position(|&byte| byte == 0)
        .ok_or_else(|| {
            unusable(
                start,
                "the format name in the header is not \
        terminated"
                    .to_owned(),
            )
        })?;
    // Where the terminator of an overlong name was overwritten, the id size follows at once.
    let places = [start + magic + 1, start + magic];
    let candidates = places.map(|place| header_numbers(bytes, place));
    let usable = candidates.iter().flatten().find(|numbers| {
        numbers
            .id_size
            .is_some_and(|id_size| plausible_chain(bytes, numbers.body, id_size))
    });
    let numbers = usable.or(candidates[0].as_ref()).ok_or_else(ended_early)?;
    let &HeaderNumbers {
        stated,
        timestamp,
        body,
        ..
    } = numbers;
    let Some(id_size) = numbers.id_size else {
        let reason = format!(
            "the header states {stated}-byte ids; only 4 and 8 are valid, and no record shows \
            which applies"
        );
        return Err(unusable(places[0], reason));
    };
    let mut section = Section {
        start,
        format: String::from_utf8_lossy(&head[..magic.min(32)]).into_owned(),
        id_size,
        timestamp,
        strings: FxHashMap::default(),
        class_names: FxHashMap::default(),
        class_serials: FxHashMap::default(),
        frames: Vec::new(),
        traces: Vec::new(),
        threads: Vec::new(),
        dumps: Vec::new(),
        missing: Vec::new(),
    };
    if magic > 32 {
        section.format.truncate(MAGIC.len() + 2);
        section.note(
            MissingKind::Repaired,
            start,
            magic,
            "the format name in the header is too long",
        );
    }
    if stated as usize != id_size {
        let what =
            format!("the header states {stated}-byte ids, the records have {id_size}-byte ids");
        section.note(MissingKind::Repaired, start + magic + 1, 4, &what);
    }
    Ok((section, body))
}

struct HeaderNumbers {
    stated: u32,
    /// Of the ids in the records, or else as stated if that is possible.
    id_size: Option<usize>,
    timestamp: u64,
    body: usize,
}

fn header_numbers(bytes: &[u8], place: usize) -> Option<HeaderNumbers> {
    let mut reader = Reader::new(bytes, place, 8);
    let (stated, timestamp) = (reader.u4()?, reader.u8()?);
    let body = reader.position;
    let possible = (stated == 4 || stated == 8).then_some(stated as usize);
    let id_size = id_size_of_records(bytes, body).or(possible);
    Some(HeaderNumbers {
        stated,
        id_size,
        timestamp,
        body,
    })
}

fn not_hprof(head: &[u8]) -> String {
    let hint = match head {
        [] => return "the file is empty".to_owned(),
        [b'P', b'K', 3, 4, ..] => "the file is a ZIP archive: extract the heap dump first",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            "the file is xz-compressed: decompress it with `xz -d` first"
        }
        [b'B', b'Z', b'h', ..] => {
            "the file is bzip2-compressed: decompress it with `bunzip2` \
        first"
        }
        [0x7f, b'E', b'L', b'F', ..] => {
            "the file is a core dump or a program; `jhsdb jmap --binaryheap --core` turns a core dump into a heap dump"
        }
        _ => "the file is not an HPROF heap dump",
    };
    let seen = String::from_utf8_lossy(&head[..head.len().min(16)])
        .escape_debug()
        .to_string();
    format!("{hint} (it should start with `JAVA PROFILE 1.0`, it starts with `{seen}`)")
}

/// Records of fixed length tell the size of ids better than the header does.
fn id_size_of_records(bytes: &[u8], mut position: usize) -> Option<usize> {
    for _ in 0..1_000_000 {
        let (tag, end) = record(bytes, position)?;
        match (tag, end - position - HEADER) {
            (LOAD_CLASS, 16) | (FRAME, 24) => return Some(4),
            (LOAD_CLASS, 24) | (FRAME, 40) => return Some(8),
            _ => position = end,
        }
    }
    None
}

/// Tag and end of the record at `position`, wherever that end may be.
fn record(bytes: &[u8], position: usize) -> Option<(u8, usize)> {
    (bytes.len().checked_sub(position)? >= HEADER).then(|| {
        let len = u32_at(bytes, position + 5) as usize;
        (bytes[position], position + HEADER + len)
    })
}

/// Whether a record, another header or the end of the file may well be at `position`.
fn plausible(bytes: &[u8], position: usize, id_size: usize) -> bool {
    if position == bytes.len()
        || bytes
            .get(position..)
            .is_some_and(|rest| rest.starts_with(MAGIC))
    {
        return true;
    }
    let Some((tag, end)) = record(bytes, position) else {
        return false;
    };
    let len = end - position - HEADER;
    let fits = end <= bytes.len();
    match tag {
        UTF8 => fits && len >= id_size,
        LOAD_CLASS => fits && len == 8 + 2 * id_size,
        0x03 | 0x0b => fits && len == 4,
        FRAME => fits && len == 8 + 4 * id_size,
        TRACE => fits && len >= 12 && (len - 12) % id_size == 0,
        0x06 | 0x0d => fits && len >= 8,
        0x07 => fits && len == 24,
        START_THREAD => fits && len == 8 + 4 * id_size,
        0x0e => fits && len == 6,
        HEAP_DUMP | HEAP_DUMP_SEGMENT if fits => true,
        // The last record of a truncated file: what it holds must make sense instead.
        HEAP_DUMP | HEAP_DUMP_SEGMENT => {
            u32_at(bytes, position + 1) == 0
                && next_sub(bytes, position + HEADER, id_size).is_some()
        }
        HEAP_DUMP_END => len == 0,
        _ => false,
    }
}

/// Whether several records in a row make sense from `position` on.
fn plausible_chain(bytes: &[u8], mut position: usize, id_size: usize) -> bool {
    for _ in 0..3 {
        if !plausible(bytes, position, id_size) {
            return false;
        }
        match record(bytes, position) {
            Some((_, end)) if end < bytes.len() && !bytes[position..].starts_with(MAGIC) => {
                position = end
            }
            _ => return true,
        }
    }
    true
}

/// Where the sub-records that begin at `position` stop making sense.
fn walk(bytes: &[u8], mut position: usize, id_size: usize) -> usize {
    while let Some(end) = next_sub(bytes, position, id_size) {
        position = end;
    }
    position
}

/// Where the sub-record at `position` ends.
fn next_sub(bytes: &[u8], position: usize, id_size: usize) -> Option<usize> {
    match id_size {
        4 => subrecord::parse::<4>(bytes, position).map(|(_, end)| end),
        _ => subrecord::parse::<8>(bytes, position).map(|(_, end)| end),
    }
}

impl Section {
    fn note(&mut self, kind: MissingKind, offset: usize, amount: usize, what: &str) {
        self.missing.push(Missing {
            kind,
            offset: Some(offset as u64),
            amount: amount as u64,
            what: what.to_owned(),
        });
    }

    /// Takes in a heap record and tells where the next record begins.
    fn heap(&mut self, bytes: &[u8], tag: u8, content: Range<usize>) -> usize {
        let end = self.heap_end(bytes, content.clone());
        let whole = content.start..end;
        match self.dumps.last_mut() {
            Some(dump) if tag == HEAP_DUMP_SEGMENT && !dump.ended => dump.segments.push(whole),
            _ => self.dumps.push(RawDump {
                segments: vec![whole],
                ended: tag == HEAP_DUMP,
            }),
        }
        end
    }

    fn heap_end(&mut self, bytes: &[u8], content: Range<usize>) -> usize {
        let Range { start, end } = content;
        if end > start && end <= bytes.len() && plausible(bytes, end, self.id_size) {
            return end;
        }
        let wrapped = (1..)
            .map(|k| end + (k << 32))
            .take_while(|&end| end <= bytes.len());
        for wrapped in wrapped {
            if plausible_chain(bytes, wrapped, self.id_size) {
                self.note(
                    MissingKind::Repaired,
                    start - 4,
                    4,
                    "the length of a heap record does \
                not fit in 32 bits; the real length was recovered",
                );
                return wrapped;
            }
        }
        let walked = walk(bytes, start, self.id_size);
        if walked < bytes.len() && walked != end && plausible(bytes, walked, self.id_size) {
            self.note(
                MissingKind::Repaired,
                start - 4,
                4,
                "the length of a heap record is wrong; its real end was recovered",
            );
            return walked;
        }
        if walked == end {
            return end;
        }
        if walked == bytes.len() {
            self.note(
                MissingKind::Repaired,
                start - 4,
                4,
                "the length of a heap record is wrong; it was read to the end of the file",
            );
            return walked;
        }
        let next = find_record(bytes, walked, self.id_size);
        if next == bytes.len() && end > bytes.len() {
            let what = format!(
                "the last heap record is missing its last {} bytes",
                count((end - bytes.len()) as u64)
            );
            self.note(
                MissingKind::Truncated,
                bytes.len(),
                end - bytes.len(),
                &what,
            );
        }
        next
    }

    /// Passes over damage and tells where the next record begins.
    fn resync(&mut self, bytes: &[u8], damage: usize, from: usize) -> usize {
        let next = find_record(bytes, from, self.id_size);
        if next == bytes.len()
            && record(bytes, damage).is_some_and(|(tag, end)| tag <= 0x0e && end > bytes.len())
        {
            self.note(
                MissingKind::Truncated,
                damage,
                next - damage,
                "the file ends inside a record",
            );
        } else {
            self.note(
                MissingKind::Unreadable,
                damage,
                next - damage,
                "invalid bytes between two records",
            );
        }
        next
    }

    fn small_record(&mut self, bytes: &[u8], tag: u8, content: Range<usize>) {
        let mut reader = Reader::new(&bytes[..content.end], content.start, self.id_size);
        // A record too short for what it should hold holds nothing.
        let _ = match tag {
            UTF8 => reader.id().map(|id| {
                self.strings.insert(id, reader.position..content.end);
            }),
            LOAD_CLASS => self.load_class(&mut reader),
            FRAME => self.frame_record(&mut reader),
            TRACE => self.trace_record(&mut reader),
            START_THREAD => self.thread_record(&mut reader),
            _ => None,
        };
    }

    fn load_class(&mut self, reader: &mut Reader) -> Option<()> {
        let (serial, class, _, name) = (reader.u4()?, reader.id()?, reader.u4()?, reader.id()?);
        self.class_names.insert(class, name);
        self.class_serials.insert(serial, name);
        Some(())
    }

    fn frame_record(&mut self, reader: &mut Reader) -> Option<()> {
        let (id, method, signature, source) =
            (reader.id()?, reader.id()?, reader.id()?, reader.id()?);
        let (class_serial, line) = (reader.u4()?, reader.u4()? as i32);
        self.frames.push(RawFrame {
            id,
            method,
            signature,
            source,
            class_serial,
            line,
        });
        Some(())
    }

    fn trace_record(&mut self, reader: &mut Reader) -> Option<()> {
        let (serial, thread, _count) = (reader.u4()?, reader.u4()?, reader.u4()?);
        let frames = std::iter::from_fn(|| reader.id()).collect();
        self.traces.push(RawTrace {
            serial,
            thread,
            frames,
        });
        Some(())
    }

    fn thread_record(&mut self, reader: &mut Reader) -> Option<()> {
        let (serial, object, _, name) = (reader.u4()?, reader.id()?, reader.u4()?, reader.id()?);
        self.threads.push(RawThread {
            serial,
            object,
            name,
        });
        Some(())
    }
}

/// The next place from `from` on where records make sense, or the end of the file.
fn find_record(bytes: &[u8], from: usize, id_size: usize) -> usize {
    (from..bytes.len())
        .find(|&position| plausible_chain(bytes, position, id_size))
        .unwrap_or(bytes.len())
}
