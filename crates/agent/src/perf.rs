//! The JVM's performance counters, read where the JVM itself has them mapped (its hsperfdata file). Reading one is
//! reading a word, which is allowed even where no call into the JVM is.

use std::fs;
use std::ptr;

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN: u8 = 1;
const PROLOGUE: usize = 32;
const ENTRY: usize = 20;

/// The mapping, which the JVM never takes away.
pub(crate) struct PerfData {
    bytes: &'static [u8],
}

/// A counter the JVM goes on changing.
#[derive(Clone, Copy)]
pub(crate) struct Counter(*const u64);

// SAFETY: a counter is an aligned word in memory that stays mapped; it is only read.
unsafe impl Send for Counter {}
// SAFETY: as above.
unsafe impl Sync for Counter {}

impl Counter {
    pub(crate) fn get(self) -> u64 {
        // SAFETY: see above; the JVM writes it at any time, hence volatile.
        unsafe { ptr::read_volatile(self.0) }
    }
}

/// A text the JVM goes on changing.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    start: *const u8,
    length: usize,
}

// SAFETY: as for a counter.
unsafe impl Send for Text {}
// SAFETY: as for a counter.
unsafe impl Sync for Text {}

impl Text {
    /// The text up to its end, at most `buffer`; may be torn if the JVM writes it just then.
    pub(crate) fn read(self, buffer: &mut [u8]) -> usize {
        let mut length = 0;
        while length < self.length.min(buffer.len()) {
            // SAFETY: within the text, which stays mapped.
            let byte = unsafe { ptr::read_volatile(self.start.add(length)) };
            if byte == 0 {
                break;
            }
            buffer[length] = byte;
            length += 1;
        }
        length
    }

    pub(crate) fn get(self) -> String {
        let mut buffer = vec![0; self.length];
        let length = self.read(&mut buffer);
        buffer.truncate(length);
        String::from_utf8_lossy(&buffer).into_owned()
    }
}

impl PerfData {
    /// Finds the mapping in this process.
    pub(crate) fn find() -> Result<PerfData, String> {
        let maps = fs::read_to_string("/proc/self/maps")
            .map_err(|e| format!("/proc/self/maps cannot be read: {e}"))?;
        let (start, length) = maps
            .lines()
            .find_map(mapping)
            .ok_or("the JVM keeps no performance counters (-XX:-UsePerfData)")?;
        // SAFETY: the range is mapped readable by the JVM, which keeps it until the process ends.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        let known = bytes.starts_with(&MAGIC) && bytes[4] == LITTLE_ENDIAN && bytes[5] == 2;
        if !known {
            return Err("the JVM's performance counters have an unknown format".to_owned());
        }
        Ok(PerfData { bytes })
    }

    pub(crate) fn counter(&self, name: &str) -> Option<Counter> {
        let (kind, data) = self.entry(name)?;
        let aligned = data.as_ptr() as usize % align_of::<u64>() == 0;
        (kind == b'J' && data.len() >= 8 && aligned).then(|| Counter(data.as_ptr().cast()))
    }

    pub(crate) fn text(&self, name: &str) -> Option<Text> {
        let (kind, data) = self.entry(name)?;
        (kind == b'B').then_some(Text {
            start: data.as_ptr(),
            length: data.len(),
        })
    }

    /// The kind of an entry and its data. Entries are never moved or removed, only added.
    fn entry(&self, name: &str) -> Option<(u8, &'static [u8])> {
        let mut at = self.number(24)?;
        let count = self.number(28)?;
        for _ in 0..count {
            let length = self.number(at)?;
            let entry = self.bytes.get(at..at.checked_add(length)?)?;
            if length < ENTRY {
                return None;
            }
            let name_at = self.number(at + 4)?;
            let stored = entry.get(name_at..)?.split(|&byte| byte == 0).next()?;
            if stored == name.as_bytes() {
                let data_at = self.number(at + 16)?;
                return Some((entry[12], entry.get(data_at..)?));
            }
            at += length;
        }
        None
    }

    fn number(&self, at: usize) -> Option<usize> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?;
        let number = i32::from_le_bytes(bytes.try_into().ok()?);
        usize::try_from(number).ok()
    }
}

/// Start and length of the mapping in a line of `/proc/self/maps`, if it is the counters'.
fn mapping(line: &str) -> Option<(usize, usize)> {
    let path = line.split_once('/')?.1;
    let pid = std::process::id().to_string();
    let file = path.trim_end_matches(" (deleted)").rsplit('/').next()?;
    if !path.contains("hsperfdata_") || file != pid {
        return None;
    }
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let length = usize::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    (length > PROLOGUE).then_some((start, length))
}
