//! The file: named sections of bytes that are mapped when they are needed again.
//!
//! An index is written under a temporary name and renamed when it is complete, so two processes
//! do not disturb each other and a half-written file is never seen. It states which dump it was
//! made from, and every section has a checksum under the [`Key`] of its directory: a foreign, forged, old
//! or damaged index is not used.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anthill_heap::{Column, Owner};
use bytemuck::Pod;
use rayon::prelude::*;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::Xxh3;

use crate::Key;

const MAGIC: [u8; 8] = *b"ANTHILL\n";
/// Raised whenever the content of any section changes its meaning.
const VERSION: u64 = 10;
const ALIGNMENT: usize = 64;
const HEADER: usize = 64;

/// Which dump an index belongs to: length, time of change and samples of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(pub u128);

impl Identity {
    /// The identity of the file as it is now.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut hash = Xxh3::new();
        hash.update(&metadata.len().to_le_bytes());
        let changed = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        hash.update(&changed.map_or(0, |time| time.as_nanos()).to_le_bytes());
        hash.update(&changed_inside(&metadata).to_le_bytes());
        let samples = 32;
        let mut buffer = vec![0; 16 << 10];
        for sample in 0..=samples {
            let last = metadata.len().saturating_sub(buffer.len() as u64);
            file.seek(SeekFrom::Start(last / samples * sample))?;
            let read = file.read(&mut buffer)?;
            hash.update(&buffer[..read]);
        }
        Ok(Identity(hash.digest128()))
    }

    /// The identity of one of the things that are kept for a dump.
    pub fn with(self, what: &str) -> Self {
        let mut hash = Xxh3::new();
        hash.update(&self.0.to_le_bytes());
        hash.update(what.as_bytes());
        Identity(hash.digest128())
    }
}

/// When anything about the file changed last, which nobody can set back.
#[cfg(unix)]
fn changed_inside(metadata: &std::fs::Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    metadata
        .ctime()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed_inside(_: &std::fs::Metadata) -> i64 {
    0
}

struct Section {
    name: String,
    bytes: Range<usize>,
    checksum: u64,
}

/// An index that is being written, under a temporary name until it is whole.
pub struct IndexWriter<'a> {
    key: &'a Key,
    file: NamedTempFile,
    position: usize,
    sections: Vec<Section>,
    identity: Identity,
}

impl<'a> IndexWriter<'a> {
    /// Starts an index that will be called `path`; its directory is made if need be.
    pub fn new(path: &Path, identity: Identity, key: &'a Key) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(&[0; HEADER])?;
        Ok(IndexWriter {
            key,
            file,
            position: HEADER,
            sections: Vec::new(),
            identity,
        })
    }

    /// Appends a section.
    pub fn add<T: Pod>(&mut self, name: &str, values: &[T]) -> io::Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.file.write_all(bytes)?;
        let end = self.position + bytes.len();
        self.sections.push(Section {
            name: name.to_owned(),
            bytes: self.position..end,
            checksum: self.key.checksum(bytes),
        });
        self.position = end.next_multiple_of(ALIGNMENT);
        self.file.write_all(&[0; ALIGNMENT][..self.position - end])
    }

    /// Completes the index and gives it its name.
    pub fn finish(mut self, path: &Path) -> io::Result<()> {
        let contents = contents(&self.sections);
        self.file.write_all(&contents)?;
        let mut header = Vec::with_capacity(HEADER);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend(self.identity.0.to_le_bytes());
        header.extend((self.position as u64).to_le_bytes());
        header.extend((contents.len() as u64).to_le_bytes());
        header.extend(self.key.checksum(&contents).to_le_bytes());
        header.extend(self.key.checksum(&header).to_le_bytes());
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)?;
        self.file.flush()?;
        self.file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn contents(sections: &[Section]) -> Vec<u8> {
    let mut out = Vec::new();
    for section in sections {
        out.extend((section.name.len() as u64).to_le_bytes());
        out.extend(section.name.as_bytes());
        for number in [
            section.bytes.start as u64,
            section.bytes.end as u64,
            section.checksum,
        ] {
            out.extend(number.to_le_bytes());
        }
    }
    out
}

/// An index on disk whose sections are read when asked for.
pub struct Index {
    owner: Owner,
    sections: Vec<Section>,
}

impl Index {
    /// The index at `path`, if there is one, it is whole, it was made under the key, and it belongs
    /// to `identity`.
    pub fn open(path: &Path, identity: Identity, key: &Key) -> Option<Self> {
        let owner = anthill_hprof::map(path).ok()?;
        let bytes = owner.as_ref().as_ref();
        let header = bytes.get(..HEADER)?;
        let number =
            |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
        let whole = header[..8] == MAGIC
            && number(8) == VERSION
            && header[16..32] == identity.0.to_le_bytes()
            && key.checksum(&header[..56]) == number(56);
        if !whole {
            return None;
        }
        let start = usize::try_from(number(32)).ok()?;
        let table = bytes.get(start..start.checked_add(usize::try_from(number(40)).ok()?)?)?;
        if key.checksum(table) != number(48) {
            return None;
        }
        let sections = parse_contents(table)?;
        let intact = sections.par_iter().all(|section| {
            bytes
                .get(section.bytes.clone())
                .is_some_and(|bytes| key.checksum(bytes) == section.checksum)
        });
        intact.then_some(Index { owner, sections })
    }

    /// The section of that name as a column.
    pub fn column<T: Pod>(&self, name: &str) -> Option<Column<T>> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        Column::borrowed(self.owner.clone(), section.bytes.clone())
    }
}

fn parse_contents(mut table: &[u8]) -> Option<Vec<Section>> {
    fn number(table: &mut &[u8]) -> Option<usize> {
        let (bytes, rest) = table.split_first_chunk()?;
        *table = rest;
        usize::try_from(u64::from_le_bytes(*bytes)).ok()
    }
    let mut sections = Vec::new();
    while !table.is_empty() {
        let len = number(&mut table)?;
        let (name, rest) = table.split_at_checked(len)?;
        table = rest;
        let bytes = number(&mut table)?..number(&mut table)?;
        let checksum = number(&mut table)? as u64;
        sections.push(Section {
            name: String::from_utf8(name.to_vec()).ok()?,
            bytes,
            checksum,
        });
    }
    Some(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(identity: Identity, key: &Key) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/in/index");
        let mut writer = IndexWriter::new(&path, identity, key).unwrap();
        writer.add("numbers", &[1u32, 2, 3]).unwrap();
        writer.add("wide", &[u64::MAX; 100]).unwrap();
        writer.finish(&path).unwrap();
        (folder, path)
    }

    #[test]
    fn sections_come_back() {
        let key = Key::random().unwrap();
        let (_folder, path) = written(Identity(7), &key);
        let index = Index::open(&path, Identity(7), &key).unwrap();
        assert_eq!(index.column::<u32>("numbers").unwrap()[..], [1, 2, 3]);
        assert_eq!(index.column::<u64>("wide").unwrap()[..], [u64::MAX; 100]);
        assert!(
            index.column::<u64>("numbers").is_none() && index.column::<u32>("others").is_none()
        );
        assert!(Index::open(&path, Identity(8), &key).is_none());
    }

    #[test]
    fn an_index_of_another_folder_or_machine_is_not_used() {
        let (key, others) = (Key::random().unwrap(), Key::random().unwrap());
        let (_folder, path) = written(Identity(7), &others);
        assert!(Index::open(&path, Identity(7), &others).is_some());
        assert!(Index::open(&path, Identity(7), &key).is_none());
    }

    #[test]
    fn no_damaged_byte_goes_unnoticed() {
        let key = Key::random().unwrap();
        let (_folder, path) = written(Identity(7), &key);
        let good = std::fs::read(&path).unwrap();
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 0x10;
            std::fs::write(&path, &bad).unwrap();
            if let Some(index) = Index::open(&path, Identity(7), &key) {
                // Only the padding between sections is free to change.
                assert_eq!(
                    index.column::<u32>("numbers").unwrap()[..],
                    [1, 2, 3],
                    "byte {place}"
                );
                assert_eq!(
                    index.column::<u64>("wide").unwrap()[..],
                    [u64::MAX; 100],
                    "byte {place}"
                );
            }
        }
        for length in 0..good.len() {
            std::fs::write(&path, &good[..length]).unwrap();
            assert!(
                Index::open(&path, Identity(7), &key).is_none(),
                "cut to {length}"
            );
        }
    }
}
