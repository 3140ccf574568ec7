//! Files as users name them: what can be read only once, a pipe or a device, is copied to a temporary
//! file first, and that copy is opened whenever the same name is opened again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anthill_heap::{Progress, Quiet};

use crate::Error;
use crate::dump_bytes::{GZIP, HPROF, ZSTD};
use crate::spool::Spool;

/// What a trace begins with.
pub const TRACE: [u8; 12] = *b"ANTHILLTRACE";

const USABLE: [&[u8]; 4] = [HPROF, GZIP, ZSTD, &TRACE];
/// This much is read of what is something else, for those who know what.
const OTHERS: u64 = 16 << 20;

/// What is in a name that can be read only once, by that name.
static COPIES: Mutex<BTreeMap<PathBuf, Arc<Mutex<Option<File>>>>> = Mutex::new(BTreeMap::new());

/// Whether something that begins like this is a heap dump, packed or not, or a recording.
pub fn is_usable(head: &[u8]) -> bool {
    USABLE.iter().any(|start| head.starts_with(start))
}

/// Reads a pipe or a device to its end, once; a file is left alone.
pub fn settle(path: &Path, progress: &dyn Progress) -> Result<(), Error> {
    open_reporting(path, progress).map(drop)
}

/// Opens a file, or the copy of what can be read only once.
pub fn open(path: &Path) -> Result<File, Error> {
    open_reporting(path, &Quiet)
}

/// The first bytes of a file, fewer if it is shorter.
pub fn head(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = reader(path)?.take(16).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(path, error))?;
    Ok(bytes)
}

/// Reads a file from its start.
pub fn reader(path: &Path) -> Result<impl Read, Error> {
    let file = open(path)?;
    Ok(FromStart { file, at: 0 })
}

/// Does not depend on where others are who share a copy.
struct FromStart {
    file: File,
    at: u64,
}

impl Read for FromStart {
    #[cfg(unix)]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = std::os::unix::fs::FileExt::read_at(&self.file, out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }

    #[cfg(not(unix))]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = std::os::windows::fs::FileExt::seek_read(&self.file, out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn open_reporting(path: &Path, progress: &dyn Progress) -> Result<File, Error> {
    let failed = |error| Error::io(path, error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Error::unusable(path, 0, "is a directory, not a heap dump"));
    }
    if metadata.is_file() {
        return File::open(path).map_err(failed);
    }
    let copy = {
        let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        copies.entry(path.to_owned()).or_default().clone()
    };
    let mut copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match copy.take() {
        Some(file) => file,
        None => copied(path, progress)?,
    };
    let file = copy.insert(file);
    file.try_clone().map_err(failed)
}

/// All that a pipe or a device gives, if it begins like something that can be used.
fn copied(path: &Path, progress: &dyn Progress) -> Result<File, Error> {
    progress.stage("waiting for the first bytes", 0);
    let mut source = File::open(path).map_err(|error| Error::io(path, error))?;
    if source.is_terminal() {
        return Err(Error::unusable(
            path,
            0,
            "is a terminal; pipe a heap dump or a recording into it",
        ));
    }
    progress.stage("reading from the pipe", 0);
    let mut spool = Spool::reading(path);
    let mut reporting = Reporting {
        source: &mut source,
        progress,
    };
    let anything: &[&[u8]] = &[b""];
    let mut problem = spool.take(&mut (&mut reporting).take(OTHERS), progress, anything)?;
    if problem.is_none() {
        problem = spool.take(&mut reporting, progress, &USABLE)?;
    }
    progress.check()?;
    match problem {
        Some(problem) => Err(Error::io(path, io::Error::other(problem))),
        None => spool.into_file(),
    }
}

struct Reporting<'a> {
    source: &'a mut File,
    progress: &'a dyn Progress,
}

impl Read for Reporting<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(out)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}
