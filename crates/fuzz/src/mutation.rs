//! How seeds are changed: as bytes, as the records of a dump, as the blocks of a trace, as the sections
//! of an index, as words of a language.

use fastrand::Rng;

/// A seed is not made longer than this.
const LONGEST: usize = 1 << 16;

/// Changes bytes in some places; `other` is another seed to take from.
pub(crate) fn bytes(random: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.usize(..4) {
        one_change(random, bytes, other);
    }
    bytes.truncate(LONGEST);
}

fn one_change(random: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    if bytes.is_empty() {
        bytes.extend(&other[..other.len().min(100)]);
        return;
    }
    let at = random.usize(..bytes.len());
    match random.usize(..10) {
        0 => bytes[at] ^= 1 << random.usize(..8),
        1 => bytes[at] = random.u8(..),
        2..5 => number(random, &mut bytes[at..]),
        5 => copy_within(random, bytes, at),
        6 => {
            let end = (at + random.usize(..40)).min(bytes.len());
            bytes.drain(at..end);
        }
        7 => {
            let end = (at + random.usize(..40)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            let to = random.usize(..=bytes.len());
            bytes.splice(to..to, copy);
        }
        8 => bytes.truncate(at),
        _ => {
            let from = random.usize(..=other.len());
            let length = random.usize(..=64).min(other.len() - from);
            bytes.splice(at..at, other[from..from + length].iter().copied());
        }
    }
}

/// Numbers that programs get wrong.
fn interesting(random: &mut Rng) -> u64 {
    let one = 1u64 << random.usize(..64);
    match random.usize(..4) {
        0 => random.u64(..300),
        1 => one,
        2 => one.wrapping_sub(1),
        _ => u64::MAX - random.u64(..4),
    }
}

/// Writes a number of any width over the first bytes.
fn number(random: &mut Rng, bytes: &mut [u8]) {
    let width = [1, 2, 4, 8][random.usize(..4)].min(bytes.len());
    let value = interesting(random);
    if random.bool() {
        bytes[..width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
    } else {
        bytes[..width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

/// Puts a number, such as an id, in the place of another.
fn copy_within(random: &mut Rng, bytes: &mut [u8], to: usize) {
    let width = [4, 8][random.usize(..2)];
    if bytes.len() < width {
        return;
    }
    let from = random.usize(..=bytes.len() - width);
    let to = to.min(bytes.len() - width);
    bytes.copy_within(from..from + width, to);
}

/// What comes before the records of a dump: a text, the size of ids, a time.
const DUMP_HEADER: usize = 31;
/// The tag, time and length of a record.
const RECORD_HEADER: usize = 9;

/// Changes a dump record by record, so that what is around a change stays readable.
pub(crate) fn dump(random: &mut Rng, dump: &mut Vec<u8>, other: &[u8]) {
    if random.usize(..8) == 0 {
        return bytes(random, dump, other);
    }
    let mut records = records(dump);
    for _ in 0..=random.usize(..4) {
        if records.is_empty() {
            break;
        }
        let at = random.usize(..records.len());
        match random.usize(..12) {
            0 => drop(records.remove(at)),
            1 => records.insert(at, records[random.usize(..records.len())].clone()),
            2 => {
                let with = random.usize(..records.len());
                records.swap(at, with);
            }
            _ => {
                let body = &mut records[at].body;
                one_change(random, body, other);
            }
        }
    }
    dump.truncate(DUMP_HEADER);
    for record in records {
        dump.extend(record.head);
        dump.extend((record.body.len() as u32).to_be_bytes());
        dump.extend(record.body);
    }
    dump.truncate(LONGEST);
}

#[derive(Clone)]
struct Record {
    /// Tag and time.
    head: [u8; 5],
    body: Vec<u8>,
}

fn records(dump: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut rest = dump.get(DUMP_HEADER..).unwrap_or_default();
    while let Some((head, body)) = rest.split_at_checked(RECORD_HEADER) {
        let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize;
        let (body, after) = body.split_at(length.min(body.len()));
        records.push(Record {
            head: [head[0], head[1], head[2], head[3], head[4]],
            body: body.to_vec(),
        });
        rest = after;
    }
    records
}

/// Changes what is in one or two blocks of a trace; their checksums stay right.
pub(crate) fn trace(random: &mut Rng, trace: &mut Vec<u8>, other: &[u8]) {
    if random.usize(..8) == 0 {
        return bytes(random, trace, other);
    }
    let blocks = anthill_trace::rewritten(trace, |_, _| ()).1;
    let chosen = [random.usize(..blocks.max(1)), random.usize(..blocks.max(1))];
    let (changed, _) = anthill_trace::rewritten(trace, |block, payload| {
        if chosen.contains(&block) {
            one_change(random, payload, other);
        }
    });
    *trace = changed;
}

/// The sections of an index as one seed.
pub(crate) fn joined(sections: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in sections {
        out.extend((name.len() as u32).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    }
    out
}

pub(crate) fn sections(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    fn part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        *bytes = rest;
        Some(part)
    }
    let mut sections = Vec::new();
    while let Some((name, content)) = part(&mut bytes).zip(part(&mut bytes)) {
        sections.push((String::from_utf8_lossy(name).into_owned(), content.to_vec()));
    }
    sections
}

/// Changes numbers in a section of an index, mostly without changing how long it is.
pub(crate) fn index(random: &mut Rng, index: &mut Vec<u8>, other: &[u8]) {
    let mut all = sections(index);
    for _ in 0..=random.usize(..2) {
        if all.is_empty() {
            break;
        }
        let at = random.usize(..all.len());
        let content = &mut all[at].1;
        match random.usize(..8) {
            _ if content.is_empty() => content.extend(&other[..other.len().min(8)]),
            0 => one_change(random, content, other),
            1..4 => {
                let at = random.usize(..content.len()) & !3;
                copy_within(random, content, at);
            }
            _ => {
                let at = random.usize(..content.len()) & !3;
                number(random, &mut content[at..]);
            }
        }
    }
    *index = joined(&all);
}

/// Changes a text word by word.
pub(crate) fn text(random: &mut Rng, text: &mut Vec<u8>, other: &[u8]) {
    let own = words(text);
    let theirs = words(other);
    let mut out = own.clone();
    for _ in 0..=random.usize(..4) {
        let at = random.usize(..=out.len());
        let word = match random.usize(..4) {
            0 if !own.is_empty() => own[random.usize(..own.len())].clone(),
            1 | 2 if !theirs.is_empty() => theirs[random.usize(..theirs.len())].clone(),
            _ => ODD_WORDS[random.usize(..ODD_WORDS.len())]
                .as_bytes()
                .to_vec(),
        };
        match random.usize(..6) {
            0 | 1 if at < out.len() => out[at] = word,
            2 if at < out.len() => drop(out.remove(at)),
            3 if at < out.len() => {
                let end = (at + 1 + random.usize(..12)).min(out.len());
                let copy = out[at..end].to_vec();
                out.splice(at..at, copy);
            }
            4 if at < out.len() => one_change(random, &mut out[at], other),
            _ => out.insert(at, word),
        }
    }
    *text = out.concat();
    text.truncate(4096);
}

const ODD_WORDS: [&str; 28] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "((((((((",
    "))))",
    "-",
    "--1",
    "!",
    "!!!!!!!!",
    " not ",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1e308",
    "0.0",
    "\u{0}",
    "\u{e9}",
    "\u{1F41C}",
    "\\u{",
    "#",
    "\n",
];

/// A text cut where letters, digits, spaces and signs meet.
fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let kind = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => 0,
        b'0'..=b'9' => 1,
        b' ' | b'\n' => 2,
        // Signs stand alone.
        _ => 3,
    };
    let together = |a: &u8, b: &u8| kind(a) == kind(b) && kind(a) != 3;
    text.chunk_by(together).map(<[u8]>::to_vec).collect()
}
