//! Where the JVM writes its dumps before they are converted: in memory if there is room, else
//! beside the trace. The dumps hold everything the program has, so only its user can read them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::Error;
use crate::folder::remove_leftovers;

const MEMORY: &str = "/dev/shm";
/// References take 8 bytes in a dump and 4 in most heaps, and every object has a header of its own.
const DUMP_PER_HEAP: f64 = 1.8;
const DUMP_AT_LEAST: u64 = 32 << 20;

pub struct Spool {
    /// In the order in which they are tried.
    folders: Vec<PathBuf>,
}

impl Spool {
    /// Makes the folders; `chosen` is the user's, `beside` the folder of the trace.
    pub fn new(chosen: Option<&Path>, beside: &Path) -> Result<Self, Error> {
        let bases = match chosen {
            Some(chosen) => vec![chosen.to_owned()],
            None => vec![PathBuf::from(MEMORY), beside.to_owned()],
        };
        let prefix = format!("anthill-{}-r", geteuid().as_raw());
        let mut folders = Vec::new();
        let mut failure = None;
        for base in bases {
            remove_leftovers(&base, &prefix);
            let folder = base.join(format!("{prefix}{}", std::process::id()));
            match private_folder(&folder) {
                Ok(()) => folders.push(folder),
                Err(source) => failure = Some(Error::file(&base, source)),
            }
        }
        match failure {
            Some(failure) if folders.is_empty() => Err(failure),
            _ => Ok(Spool { folders }),
        }
    }

    /// A path for the dump of a heap of that many bytes, or why there is none.
    pub fn place(&self, name: &str, heap: u64) -> Result<PathBuf, String> {
        let needed = (heap as f64 * DUMP_PER_HEAP) as u64 + DUMP_AT_LEAST;
        let mut rooms = Vec::new();
        for folder in &self.folders {
            let free = room_for_dump(folder);
            if free >= needed {
                return Ok(folder.join(name));
            }
            rooms.push(format!("{} has {} MB", folder.display(), free >> 20));
        }
        let needed = needed >> 20;
        Err(format!(
            "no room for a dump of about {needed} MB: {}",
            rooms.join(", ")
        ))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Makes the folder if the one it is to be in exists.
fn private_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Free bytes and all bytes of the disk a folder is on.
pub fn room(folder: &Path) -> (u64, u64) {
    rustix::fs::statvfs(folder).map_or((0, 0), |stat| {
        (stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize)
    })
}

/// Bytes that may be written there; of the machine's free memory no more than half.
fn room_for_dump(folder: &Path) -> u64 {
    let (on_disk, _) = room(folder);
    if folder.starts_with(MEMORY) {
        on_disk.min(free_memory() / 2)
    } else {
        on_disk
    }
}

fn free_memory() -> u64 {
    let Ok(memory) = fs::read_to_string("/proc/meminfo") else {
        return 0;
    };
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = available.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_that_does_not_fit_is_refused_with_the_figures() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(Some(folder.path()), folder.path()).unwrap();
        assert!(spool.place("a.hprof", 1 << 20).is_ok());
        let refused = spool.place("b.hprof", 1 << 60).unwrap_err();
        assert!(refused.contains("no room for a dump of about"), "{refused}");
    }

    #[test]
    fn what_a_killed_recorder_left_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let left = base
            .path()
            .join(format!("anthill-{}-r{}", geteuid().as_raw(), gone.id()));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("1.hprof"), "private").unwrap();
        let spool = Spool::new(Some(base.path()), base.path()).unwrap();
        assert!(!left.exists());
        drop(spool);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }
}
