//! The bytes of a dump: the mapped file, or what a gzip or zstd file unpacks to.
//!
//! `jcmd -gz` writes every megabyte as a gzip member of its own, so members are unpacked in
//! parallel: all places that look like the start of a member are tried at once, and those that
//! turn out to lie between two members are dropped.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use anthill_heap::{Missing, MissingKind, Owner, Progress};
use flate2::bufread::GzDecoder;
use rayon::prelude::*;

use crate::mapping::map_file;
use crate::spool::Spool;
use crate::{Error, input};

/// A member that unpacks to more than this is unpacked straight into the output.
const MEMBER: u64 = 8 << 20;
const BATCH: usize = 32;
/// How many places are tried to go on after damage.
const TRIES: usize = 1000;

/// What dumps, packed ones and not, begin with.
pub(crate) const HPROF: &[u8] = b"JAVA PROFILE";
pub(crate) const GZIP: &[u8] = &[0x1f, 0x8b];
pub(crate) const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The unpacked bytes of a dump.
pub struct DumpBytes {
    owner: Owner,
    /// What the packed file lacks.
    pub missing: Vec<Missing>,
}

impl DumpBytes {
    /// Maps the file, and unpacks it to a temporary one if it is packed.
    pub fn open(path: &Path, progress: &dyn Progress) -> Result<Self, Error> {
        input::settle(path, progress)?;
        let mapped = map(path)?;
        let bytes = mapped.as_ref().as_ref();
        if bytes.starts_with(GZIP) {
            unpack(path, bytes, progress)
        } else if bytes.starts_with(ZSTD) {
            unpack_zstd(path, bytes, progress)
        } else {
            Ok(DumpBytes {
                owner: mapped,
                missing: Vec::new(),
            })
        }
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        self.owner.as_ref().as_ref()
    }
}

/// Maps a whole file for reading.
pub fn map(path: &Path) -> Result<Owner, Error> {
    let file = input::open(path)?;
    let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
    if metadata.len() == 0 {
        return Ok(Arc::new(Vec::new()));
    }
    map_file(&file, path).map_err(|e| Error::io(path, e))
}

/// One stream of frames. What comes after damage cannot be found again.
fn unpack_zstd(path: &Path, packed: &[u8], progress: &dyn Progress) -> Result<DumpBytes, Error> {
    progress.stage("decompressing", packed.len() as u64);
    let mut out = Spool::unpacking(path, packed.len() as u64)?;
    let mut rest = Progressing {
        bytes: packed,
        progress,
    };
    let decoder = zstd::stream::read::Decoder::new(&mut rest);
    let mut decoder = decoder.map_err(|error| Error::io(path, error))?;
    let problem = out.take(&mut decoder, progress, &[HPROF])?;
    progress.check()?;
    drop(decoder);
    let missing = problem.map(|problem| {
        let position = packed.len() - rest.bytes.len();
        damage(problem, position, packed.len())
    });
    content(path, out, missing.into_iter().collect(), "zstd")
}

/// Packed bytes that tell how far they were read.
struct Progressing<'a> {
    bytes: &'a [u8],
    progress: &'a dyn Progress,
}

impl Read for Progressing<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.bytes.read(out)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

fn damage(problem: String, from: usize, to: usize) -> Missing {
    Missing {
        kind: MissingKind::Truncated,
        offset: Some(from as u64),
        amount: (to - from) as u64,
        what: format!(
            "the compressed file is damaged or truncated here ({problem}); everything that could \
            be decompressed was read"
        ),
    }
}

/// What was unpacked, if it can be a dump.
fn content(
    path: &Path,
    mut out: Spool,
    missing: Vec<Missing>,
    packing: &str,
) -> Result<DumpBytes, Error> {
    let reason = if out.written == 0 {
        format!("the file is {packing}-compressed, but nothing in it can be decompressed")
    } else if !out.starts_like(&[HPROF]) {
        format!("the file is {packing}-compressed, but does not contain an HPROF heap dump")
    } else {
        let owner = out.finish()?;
        return Ok(DumpBytes { owner, missing });
    };
    Err(Error::unusable(path, 0, reason))
}

fn unpack(path: &Path, packed: &[u8], progress: &dyn Progress) -> Result<DumpBytes, Error> {
    progress.stage("decompressing", packed.len() as u64);
    let mut out = Spool::unpacking(path, packed.len() as u64)?;
    let mut missing = Vec::new();
    let starts = member_starts(packed);
    let mut position = 0;
    // Members of a moderate size are unpacked in batches; the first larger one ends that.
    let mut in_batches = true;
    while position < packed.len() {
        progress.check()?;
        let before = position;
        if in_batches {
            position += batch(&mut out, &packed[position..], &starts, position)?;
        }
        if position == before {
            in_batches = false;
            let (used, problem) = member(&mut out, &packed[position..], progress)?;
            progress.check()?;
            position += used;
            if let Some(problem) = problem {
                let next = next_member(packed, &starts, position);
                missing.push(damage(problem, position, next));
                position = next;
                in_batches = true;
            }
        }
        if !out.starts_like(&[HPROF]) {
            break;
        }
        progress.advance((position - before) as u64);
    }
    content(path, out, missing, "gzip")
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

/// Unpacks the members of moderate size that follow each other from `position` on, up to
/// a batch of them, and tells how long they were.
fn batch(
    out: &mut Spool,
    packed: &[u8],
    starts: &[usize],
    position: usize,
) -> Result<usize, Error> {
    let next = starts.partition_point(|&start| start < position);
    let batch = &starts[next..(next + BATCH).min(starts.len())];
    let tried: Vec<(usize, Option<Member>)> = batch
        .par_iter()
        .map(|&start| (start - position, unpack_small(&packed[start - position..])))
        .collect();
    let mut used = 0;
    for (start, member) in tried {
        if let (true, Some(member)) = (start == used, member) {
            out.write(&member.bytes)?;
            used += member.packed;
        }
    }
    Ok(used)
}

/// Unpacks one member of any size. Tells how long it was and what went wrong.
fn member(
    out: &mut Spool,
    packed: &[u8],
    progress: &dyn Progress,
) -> Result<(usize, Option<String>), Error> {
    let mut decoder = GzDecoder::new(Cursor::new(packed));
    let problem = out.take(&mut decoder, progress, &[HPROF])?;
    // At least one byte, so that damage is passed.
    let used = decoder.get_ref().position() as usize;
    Ok((used.clamp(1, packed.len()), problem))
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
