//! The bytes of a dump: the mapped file, or what a gzip file unpacks to.
//!
//! `jcmd -gz` writes every megabyte as a gzip member of its own, so members are unpacked in
//! parallel: all places that look like the start of a member are tried at once, and those that
//! turn out to lie between two members are dropped.

use std::fs::File;
use std::io::{Cursor, Read, Write};
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

pub struct Content {
    owner: Owner,
    /// What the packed file lacks.
    pub missing: Vec<Missing>,
}

impl Content {
    pub fn open(path: &Path, progress: &dyn Progress) -> Result<Self, Error> {
        let mapped = map(path)?;
        if mapped.as_ref().as_ref().starts_with(&[0x1f, 0x8b]) {
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
        // A pipe or device has no length and cannot be mapped.
        let mut bytes = Vec::new();
        (&file)
            .read_to_end(&mut bytes)
            .map_err(|e| Error::io(path, e))?;
        return Ok(Arc::new(bytes));
    }
    if metadata.len() == 0 {
        return Ok(Arc::new(Vec::new()));
    }
    map_file(&file).map_err(|e| Error::io(path, e))
}

pub(crate) fn map_file(file: &File) -> std::io::Result<Owner> {
    // SAFETY: the mapping is read-only. Should another process change the file meanwhile, bytes
    // may differ between two reads; every read of them is bounds-checked and trusts no value.
    Ok(Arc::new(unsafe { Mmap::map(file)? }))
}

fn unpack(path: &Path, packed: &[u8], progress: &dyn Progress) -> Result<Content, Error> {
    progress.stage("unpacking", packed.len() as u64);
    let mut spool = SpooledTempFile::new(SPOOL);
    let mut missing = Vec::new();
    let mut written = 0u64;
    let starts = member_starts(packed);
    let mut next = 0;
    let mut position = 0;
    while position < packed.len() {
        progress.check()?;
        next += starts[next..].partition_point(|&start| start < position);
        let batch = &starts[next..(next + BATCH).min(starts.len())];
        let tried: Vec<(usize, Option<Member>)> = batch
            .par_iter()
            .map(|&start| (start, unpack_small(&packed[start..])))
            .collect();
        let before = position;
        for (start, member) in tried {
            if let (true, Some(member)) = (start == position, member) {
                spool
                    .write_all(&member.bytes)
                    .map_err(|e| spool_error(path, e))?;
                written += member.bytes.len() as u64;
                position += member.packed;
            }
        }
        if position == before {
            let (bytes, used, problem) =
                unpack_large(&packed[position..], &mut spool).map_err(|e| spool_error(path, e))?;
            written += bytes;
            if let Some(problem) = problem {
                let ended = position as u64 + used;
                missing.push(Missing {
                    kind: MissingKind::Truncated,
                    offset: Some(ended),
                    amount: packed.len() as u64 - ended.min(packed.len() as u64),
                    what: format!(
                        "the compressed file is damaged or cut off ({problem}); what could be unpacked, {written} bytes, was read"
                    ),
                });
                break;
            }
            position += used as usize;
        }
        progress.advance((position - before) as u64);
    }
    if written == 0 {
        return Err(Error::unusable(
            path,
            0,
            "the file is gzip-compressed but holds nothing that can be unpacked",
        ));
    }
    let owner: Owner = match spool.into_inner() {
        SpooledData::InMemory(bytes) => Arc::new(bytes.into_inner()),
        SpooledData::OnDisk(file) => map_file(&file).map_err(|e| spool_error(path, e))?,
    };
    Ok(Content { owner, missing })
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

/// Unpacks one member into `out`. Returns the unpacked and packed lengths, and what went wrong.
fn unpack_large(
    packed: &[u8],
    out: &mut impl Write,
) -> std::io::Result<(u64, u64, Option<String>)> {
    let mut decoder = GzDecoder::new(Cursor::new(packed));
    let mut buffer = vec![0; 1 << 20];
    let mut written = 0;
    let problem = loop {
        match decoder.read(&mut buffer) {
            Ok(0) => break None,
            Ok(read) => {
                out.write_all(&buffer[..read])?;
                written += read as u64;
            }
            Err(problem) => break Some(problem.to_string()),
        }
    };
    Ok((written, decoder.get_ref().position(), problem))
}
