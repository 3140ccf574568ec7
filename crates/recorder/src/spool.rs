//! Where the JVM writes its dumps before they are converted: in memory if there is space, else
//! beside the trace. The dumps hold everything the program has, so only its user can read them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{self, Path, PathBuf};

use anthill_hprof::{DiskSpace, available_memory};
use rustix::process::geteuid;

use crate::Error;
use crate::folder::remove_leftovers;

const MEMORY: &str = "/dev/shm";
/// References take 8 bytes in a dump and 4 in most heaps, and every object has a header of its own.
const DUMP_PER_HEAP: f64 = 1.8;
const DUMP_AT_LEAST: u64 = 32 << 20;

const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// The folders of one JVM's dumps: a recorder may record several, whose dumps have the same names.
pub(crate) struct Spool {
    /// In the order in which they are tried.
    folders: Vec<PathBuf>,
    jvm: u32,
}

impl Spool {
    /// Makes the folders; `chosen` is the user's, `beside` the folder of the trace.
    pub(crate) fn new(chosen: Option<&Path>, beside: &Path, jvm: u32) -> Result<Self, Error> {
        let bases = match chosen {
            Some(chosen) => vec![chosen.to_owned()],
            None => vec![PathBuf::from(MEMORY), beside.to_owned()],
        };
        let prefix = format!("anthill-{}-r", geteuid().as_raw());
        let mut folders = Vec::new();
        let mut failure = None;
        for base in bases {
            remove_leftovers(&base, &prefix);
            // The JVM may have another working folder.
            let made = path::absolute(&base).and_then(|base| {
                let folder = base.join(format!("{prefix}{}-{jvm}", std::process::id()));
                private_folder(&folder).map(|()| folder)
            });
            match made {
                Ok(folder) => folders.push(folder),
                Err(source) => failure = Some(Error::file(&base, source)),
            }
        }
        match failure {
            Some(failure) if folders.is_empty() => Err(failure),
            _ => Ok(Spool { folders, jvm }),
        }
    }

    /// A path for the dump of a heap of that many bytes, or why there is none.
    pub(crate) fn place(&self, name: &str, heap: u64) -> Result<PathBuf, String> {
        self.place_later(name, heap, 0)
    }

    /// The same for a dump that is written when the heap has grown to so many bytes, which takes `growth` bytes of memory
    /// until then.
    pub(crate) fn place_later(
        &self,
        name: &str,
        heap: u64,
        growth: u64,
    ) -> Result<PathBuf, String> {
        let needed = (heap as f64 * DUMP_PER_HEAP) as u64 + DUMP_AT_LEAST;
        let mut spaces = Vec::new();
        for folder in &self.folders {
            let free = self.space_for_dump(folder, growth);
            if free >= needed {
                return Ok(folder.join(name));
            }
            spaces.push(format!("{} has {} MB", folder.display(), free >> 20));
        }
        let needed = needed >> 20;
        Err(format!(
            "no space for a dump of about {needed} MB: {}",
            spaces.join(", ")
        ))
    }

    /// Bytes that may be written there; of the memory that is free, for the machine and for the JVM, who is the one that
    /// writes, no more than half.
    fn space_for_dump(&self, folder: &Path, growth: u64) -> u64 {
        let space = DiskSpace::of(folder);
        if folder.starts_with(MEMORY) {
            let available = available_memory().unwrap_or(0);
            let available = available.min(left_in_groups(self.jvm));
            space.free.min(available.saturating_sub(growth) / 2)
        } else {
            space.usable()
        }
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

/// Bytes of memory that a process may still take before its control group, or one around it, has reached its limit.
fn left_in_groups(process: u32) -> u64 {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let group = Path::new(CONTROL_GROUPS).join(group.unwrap_or_default());
    let around = group
        .ancestors()
        .take_while(|group| group.starts_with(CONTROL_GROUPS));
    around.filter_map(left_in_group).min().unwrap_or(u64::MAX)
}

/// Nothing if the group has no limit. What it has of files in memory can be given back.
fn left_in_group(group: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let kinds = read("memory.stat").unwrap_or_default();
    let files = kinds
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file "));
    let files = files.and_then(|bytes| bytes.trim().parse().ok());
    Some(limit.saturating_sub(used.saturating_sub(files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_that_does_not_fit_is_refused_with_the_figures() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(Some(folder.path()), folder.path(), 1).unwrap();
        assert!(spool.place("a.hprof", 1 << 20).is_ok());
        let refused = spool.place("b.hprof", 1 << 60).unwrap_err();
        assert!(
            refused.contains("no space for a dump of about"),
            "{refused}"
        );
    }

    #[test]
    fn what_a_killed_recorder_left_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let left = base.path().join(format!(
            "anthill-{}-r{}-4711",
            geteuid().as_raw(),
            gone.id()
        ));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("1.hprof"), "private").unwrap();
        let spool = Spool::new(Some(base.path()), base.path(), 1).unwrap();
        assert!(!left.exists());
        drop(spool);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn two_jvms_of_a_recorder_do_not_share_their_dumps() {
        let base = tempfile::tempdir().unwrap();
        let of = |jvm| Spool::new(Some(base.path()), base.path(), jvm).unwrap();
        let (one, other) = (of(1), of(2));
        let place = |spool: &Spool| spool.place("1.state", 0).unwrap();
        fs::write(place(&one), "of the one").unwrap();
        fs::write(place(&other), "of the other").unwrap();
        assert_eq!(fs::read_to_string(place(&one)).unwrap(), "of the one");
        drop(one);
        assert_eq!(fs::read_to_string(place(&other)).unwrap(), "of the other");
    }

    #[test]
    fn a_jvm_with_another_working_folder_finds_the_place() {
        let spool = Spool::new(Some(Path::new(".")), Path::new("."), 1).unwrap();
        assert!(spool.place("1.state", 0).unwrap().is_absolute());
    }

    #[test]
    fn the_limit_of_a_control_group_counts() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        assert_eq!(left_in_group(group.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        assert_eq!(left_in_group(group.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(left_in_group(group.path()), Some(300));
        write(
            "memory.stat",
            "anon 400\ninactive_file 200\nactive_file 100\n",
        );
        assert_eq!(left_in_group(group.path()), Some(500));
    }
}
