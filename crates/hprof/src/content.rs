//! The bytes of a dump: the mapped file, or what a gzip file unpacks to.
//!
//! `jcmd -gz` writes every megabyte as a gzip member of its own, so members are unpacked in
//! parallel: all places that look like the start of a member are tried at once, and those that
//! turn out to lie between two members are dropped.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use anthill_heap::{Missing, MissingKind, Owner, Progress};
use flate2::bufread::GzDecoder;
use memmap2::Mmap;
use rayon::prelude::*;
use tempfile::{SpooledData, SpooledTempFile};

use crate::Error;

/// Unpacked data beyond this goes to a temporary file instead of memory.
const SPOOL: usize = 64 << 20;
/// A member that unpacks to more than this is unpacked straight into the output.
const MEMBER: u64 = 8 << 20;
const BATCH: usize = 32;
/// How many places are tried to go on after damage.
const TRIES: usize = 1000;

pub struct Content {
    owner: Owner,
    /// What the packed file lacks.
    pub missing: Vec<Missing>,
}

impl Content {
    pub fn open(path: &Path, progress: &dyn Progress) -> Result<Self, Error> {
        let mapped = map(path)?;
        if is_gzip(mapped.as_ref().as_ref()) {
            unpack(path, mapped.as_ref().as_ref(), progress)
        } else {
            Ok(Content {
                owner: mapped,
                missing: Vec::new(),
            })
        }
    }

    pub fn bytes(&self) -> &[u8] {
        self.owner.as_ref().as_ref()
    }
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Maps a whole file for reading.
pub fn map(path: &Path) -> Result<Owner, Error> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
    if metadata.is_dir() {
        return Err(Error::unusable(
            path,
            0,
            "this is a directory, not a heap dump",
        ));
    }
    if !metadata.is_file() {
        // A pipe has no length and cannot be mapped; a device may never end.
        let mut bytes = Vec::new();
        (&file)
            .take(16)
            .read_to_end(&mut bytes)
            .map_err(|e| Error::io(path, e))?;
        if is_gzip(&bytes) || bytes.starts_with(b"JAVA PROFILE") {
            (&file)
                .read_to_end(&mut bytes)
                .map_err(|e| Error::io(path, e))?;
        }
        return Ok(Arc::new(bytes));
    }
    if metadata.len() == 0 {
        return Ok(Arc::new(Vec::new()));
    }
    map_file(&file).map_err(|e| Error::io(path, e))
}

pub fn map_file(file: &File) -> std::io::Result<Owner> {
    // SAFETY: the mapping is read-only. Should another process change the file meanwhile, bytes
    // may differ between two reads; every read of them is bounds-checked and trusts no value.
    Ok(Arc::new(unsafe { Mmap::map(file)? }))
}

fn unpack(path: &Path, packed: &[u8], progress: &dyn Progress) -> Result<Content, Error> {
    progress.stage("unpacking", packed.len() as u64);
    let mut out = Spool {
        file: SpooledTempFile::new(SPOOL),
        written: 0,
    };
    let mut missing = Vec::new();
    let starts = member_starts(packed);
    let mut position = 0;
    // Members of a moderate size are unpacked in batches; the first larger one ends that.
    let mut in_batches = true;
    while position < packed.len() {
        progress.check()?;
        let before = position;
        if in_batches {
            position += out
                .batch(&packed[position..], &starts, position)
                .map_err(|e| spool_error(path, e))?;
        }
        if position == before {
            in_batches = false;
            let (used, problem) = out
                .member(&packed[position..], progress)
                .map_err(|e| spool_error(path, e))?;
            progress.check()?;
            position += used;
            if let Some(problem) = problem {
                let next = next_member(packed, &starts, position);
                missing.push(Missing {
                    kind: MissingKind::Truncated,
                    offset: Some(position as u64),
                    amount: (next - position) as u64,
                    what: format!("the compressed file is damaged or cut off here ({problem}); what else could be unpacked was read"),
                });
                position = next;
                in_batches = true;
            }
        }
        if !out.is_dump() {
            return Err(Error::unusable(
                path,
                0,
                "the file is gzip-compressed, but what it holds is not an HPROF heap dump",
            ));
        }
        progress.advance((position - before) as u64);
    }
    if out.written == 0 {
        return Err(Error::unusable(
            path,
            0,
            "the file is gzip-compressed but holds nothing that can be unpacked",
        ));
    }
    let owner: Owner = match out.file.into_inner() {
        SpooledData::InMemory(bytes) => Arc::new(bytes.into_inner()),
        SpooledData::OnDisk(file) => map_file(&file).map_err(|e| spool_error(path, e))?,
    };
    Ok(Content { owner, missing })
}

/// After damage: where the next member that unpacks begins, or the end.
fn next_member(packed: &[u8], starts: &[usize], from: usize) -> usize {
    let later = &starts[starts.partition_point(|&start| start < from)..];
    let whole = later
        .iter()
        .copied()
        .take(TRIES)
        .find(|&start| unpack_small(&packed[start..]).is_some());
    whole.unwrap_or(packed.len())
}

/// What was unpacked so far.
struct Spool {
    file: SpooledTempFile,
    written: u64,
}

impl Spool {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.written += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Whether it begins like a dump, as far as can be seen.
    fn is_dump(&mut self) -> bool {
        const MAGIC: &[u8] = b"JAVA PROFILE";
        let mut head = [0; MAGIC.len()];
        let read = self.file.rewind().and_then(|()| self.file.read(&mut head));
        let seen = read.unwrap_or(0);
        let back = self.file.seek(SeekFrom::End(0));
        back.is_ok() && MAGIC.starts_with(&head[..seen])
    }

    /// Unpacks the members of moderate size that follow each other from `position` on, up to
    /// a batch of them, and tells how long they were.
    fn batch(
        &mut self,
        packed: &[u8],
        starts: &[usize],
        position: usize,
    ) -> std::io::Result<usize> {
        let next = starts.partition_point(|&start| start < position);
        let batch = &starts[next..(next + BATCH).min(starts.len())];
        let tried: Vec<(usize, Option<Member>)> = batch
            .par_iter()
            .map(|&start| (start - position, unpack_small(&packed[start - position..])))
            .collect();
        let mut used = 0;
        for (start, member) in tried {
            if let (true, Some(member)) = (start == used, member) {
                self.write(&member.bytes)?;
                used += member.packed;
            }
        }
        Ok(used)
    }

    /// Unpacks one member of any size. Tells how long it was and what went wrong.
    fn member(
        &mut self,
        packed: &[u8],
        progress: &dyn Progress,
    ) -> std::io::Result<(usize, Option<String>)> {
        let mut decoder = GzDecoder::new(Cursor::new(packed));
        let mut buffer = vec![0; 1 << 20];
        let problem = loop {
            match decoder.read(&mut buffer) {
                Ok(0) => break None,
                Ok(read) => self.write(&buffer[..read])?,
                Err(problem) => break Some(problem.to_string()),
            }
            if progress.cancelled() || !self.is_dump() {
                break None;
            }
        };
        // At least one byte, so that damage is passed.
        let used = decoder.get_ref().position() as usize;
        Ok((used.clamp(1, packed.len()), problem))
    }
}

fn spool_error(path: &Path, error: std::io::Error) -> Error {
    let hint = format!(
        "unpacking into {} failed: {error}; set TMPDIR to a folder with more room, or unpack the file yourself",
        std::env::temp_dir().display()
    );
    Error::io(path, std::io::Error::new(error.kind(), hint))
}

struct Member {
    bytes: Vec<u8>,
    /// How long it was in the packed file.
    packed: usize,
}

/// Where a gzip header may begin: magic, deflate, no reserved flag.
fn member_starts(packed: &[u8]) -> Vec<usize> {
    packed
        .par_windows(4)
        .enumerate()
        .filter(|(_, head)| {
            head[0] == 0x1f && head[1] == 0x8b && head[2] == 8 && head[3] & 0xe0 == 0
        })
        .map(|(start, _)| start)
        .collect()
}

/// A whole member of moderate size; `None` if it is larger, damaged or none at all.
fn unpack_small(packed: &[u8]) -> Option<Member> {
    let mut decoder = GzDecoder::new(packed);
    let mut bytes = Vec::new();
    let read = decoder.by_ref().take(MEMBER).read_to_end(&mut bytes).ok()?;
    if read as u64 == MEMBER {
        return None;
    }
    let packed = packed.len() - decoder.into_inner().len();
    Some(Member { bytes, packed })
}
