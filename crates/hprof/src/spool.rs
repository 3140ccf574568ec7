//! A temporary file that fills up while something is unpacked or read from a pipe. It has no name, so that
//! it is gone with the process, however that ends.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anthill_heap::{Owner, Progress};
use tempfile::{SpooledData, SpooledTempFile, spooled_tempfile_in};

use crate::mapping::map_file;
use crate::{Error, disk_space};

/// What goes beyond this is in a file instead of memory.
const IN_MEMORY: usize = 64 << 20;
/// How often the space on the disk is looked at.
const LOOK_EVERY: u64 = 64 << 20;

pub(crate) struct Spool<'a> {
    /// Where the bytes come from.
    path: &'a Path,
    file: SpooledTempFile,
    folder: PathBuf,
    pub written: u64,
    /// No more than this may be written, and why.
    limit: u64,
    next_look: u64,
}

impl<'a> Spool<'a> {
    /// For what a packed file of that length unpacks to.
    pub(crate) fn unpacking(path: &'a Path, packed: u64) -> Result<Self, Error> {
        let limit = disk_space::unpack_limit(packed).map_err(|reason| Error::Spool {
            path: path.to_owned(),
            reason,
            advice: "Correct or unset the variable.",
        })?;
        Ok(Spool::new(path, IN_MEMORY, limit))
    }

    /// For what comes out of a pipe.
    pub(crate) fn reading(path: &'a Path) -> Self {
        Spool::new(path, 0, u64::MAX)
    }

    fn new(path: &'a Path, in_memory: usize, limit: u64) -> Self {
        let folder = disk_space::directory();
        Spool {
            path,
            file: spooled_tempfile_in(in_memory, &folder),
            folder,
            written: 0,
            limit,
            next_look: in_memory as u64,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.written + bytes.len() as u64;
        if written > self.limit {
            return Err(self.failed(
                format!(
                    "it decompresses to more than {}, {}",
                    disk_space::in_words(self.limit),
                    "which is suspicious for its size: such files may be made to fill disks"
                ),
                "If you trust it, set ANTHILL_UNPACK_LIMIT to a larger size, for example 200G.",
            ));
        }
        if written > self.next_look {
            let free = disk_space::usable(&self.folder);
            if free < bytes.len() as u64 + LOOK_EVERY {
                return Err(self.no_space(&format!(
                    "only {} are available",
                    disk_space::in_words(free)
                )));
            }
            self.next_look = written + LOOK_EVERY;
        }
        self.written = written;
        let result = self.file.write_all(bytes);
        result.map_err(|error| self.no_space(&error.to_string()))
    }

    /// Takes all that a reader has; the reason if it ends badly. It is cut short when nobody waits any
    /// more, and when it is not what is `wanted`.
    pub(crate) fn take(
        &mut self,
        from: &mut impl Read,
        progress: &dyn Progress,
        wanted: &[&[u8]],
    ) -> Result<Option<String>, Error> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(read) => self.write(&buffer[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(problem) => return Ok(Some(problem.to_string())),
            }
            if progress.cancelled() || !self.starts_like(wanted) {
                return Ok(None);
            }
        }
    }

    /// Whether what is there begins, as far as can be seen, in one of these ways.
    pub(crate) fn starts_like(&mut self, wanted: &[&[u8]]) -> bool {
        let mut head = [0; 16];
        let read = self.file.rewind().and_then(|()| self.file.read(&mut head));
        let head = &head[..read.unwrap_or(0)];
        let back = self.file.seek(SeekFrom::End(0));
        let alike = |start: &&[u8]| {
            let length = start.len().min(head.len());
            start[..length] == head[..length]
        };
        back.is_ok() && wanted.iter().any(alike)
    }

    /// The bytes, from now on only to be read.
    pub(crate) fn finish(self) -> Result<Owner, Error> {
        let name = format!(
            "{} (its copy in {})",
            self.path.display(),
            self.folder.display()
        );
        let path = self.path;
        match self.file.into_inner() {
            SpooledData::InMemory(bytes) => Ok(Arc::new(bytes.into_inner())),
            SpooledData::OnDisk(file) => {
                map_file(&file, Path::new(&name)).map_err(|error| Error::io(path, error))
            }
        }
    }

    /// The file itself.
    pub(crate) fn into_file(mut self) -> Result<File, Error> {
        let path = self.path;
        let rolled = self
            .file
            .roll()
            .map_err(|error| self.no_space(&error.to_string()));
        rolled?;
        match self.file.into_inner() {
            SpooledData::OnDisk(file) => Ok(file),
            SpooledData::InMemory(_) => Err(Error::io(path, io::Error::other("no temporary file"))),
        }
    }

    fn no_space(&self, why: &str) -> Error {
        let reason = format!(
            "no space for a temporary copy in {}: {why}",
            self.folder.display()
        );
        let advice = "Set TMPDIR to a directory with more space, or decompress the file there \
        yourself.";
        self.failed(reason, advice)
    }

    fn failed(&self, reason: String, advice: &'static str) -> Error {
        Error::Spool {
            path: self.path.to_owned(),
            reason,
            advice,
        }
    }
}
