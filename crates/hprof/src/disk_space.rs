//! How much may be written to a disk: some of it is always left to others. Also where temporary files
//! go, and how much a packed file may unpack to.

use std::fmt;
use std::path::{Path, PathBuf};

/// Of the disk that something is written to, this much is left to others, or a twentieth if that is less.
const LEFT_TO_OTHERS: u64 = 1 << 30;
/// A packed file may unpack to as much as this in any case, and to so many times its own size.
const UNPACKED: u64 = 16 << 30;
const UNPACKED_TIMES: u64 = 32;
/// The variable that says how much instead.
pub(crate) const LIMIT: &str = "ANTHILL_UNPACK_LIMIT";

/// The disk a directory is on, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// What a user can still write.
    pub free: u64,
    /// How much of it must stay free.
    pub reserved: u64,
}

impl DiskSpace {
    /// Nothing is free where there is no such directory.
    #[cfg(unix)]
    pub fn of(directory: &Path) -> Self {
        let Ok(stat) = rustix::fs::statvfs(directory) else {
            return DiskSpace {
                free: 0,
                reserved: 0,
            };
        };
        let total = stat.f_blocks.saturating_mul(stat.f_frsize);
        DiskSpace {
            free: stat.f_bavail.saturating_mul(stat.f_frsize),
            reserved: LEFT_TO_OTHERS.min(total / 20),
        }
    }

    /// Not known here, so there is no limit.
    #[cfg(not(unix))]
    pub fn of(_: &Path) -> Self {
        DiskSpace {
            free: u64::MAX,
            reserved: 0,
        }
    }

    /// What may be written.
    pub fn usable(&self) -> u64 {
        self.free.saturating_sub(self.reserved)
    }
}

impl fmt::Display for DiskSpace {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (free, reserved) = (self.free >> 20, self.reserved >> 20);
        write!(f, "{free} MB are free, and {reserved} MB must stay free")
    }
}

/// The directory for temporary files: the user's choice, or the one with the most space.
pub(crate) fn directory() -> PathBuf {
    if std::env::var_os("TMPDIR").is_some_and(|directory| !directory.is_empty()) {
        return std::env::temp_dir();
    }
    let directories = [std::env::temp_dir(), PathBuf::from("/var/tmp")];
    let space = |directory: &PathBuf| usable(directory);
    let chosen = directories.into_iter().rev().max_by_key(space);
    chosen.unwrap_or_else(std::env::temp_dir)
}

/// Bytes that may be written to a directory; of memory that poses as a disk, no more than half of
/// what is available.
pub(crate) fn usable(directory: &Path) -> u64 {
    let usable = DiskSpace::of(directory).usable();
    match available_memory().filter(|_| is_memory(directory)) {
        Some(available) => usable.min(available / 2),
        None => usable,
    }
}

#[cfg(target_os = "linux")]
fn is_memory(directory: &Path) -> bool {
    const TMPFS: i128 = 0x0102_1994;
    rustix::fs::statfs(directory).is_ok_and(|stat| i128::from(stat.f_type) == TMPFS)
}

#[cfg(not(target_os = "linux"))]
fn is_memory(_: &Path) -> bool {
    false
}

/// Memory that programs can get without others being swapped out, if the system tells.
pub fn available_memory() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes = available.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(kilobytes << 10)
}

/// How much a file of `packed` bytes may unpack to; the reason if the user's limit is no size.
pub(crate) fn unpack_limit(packed: u64) -> Result<u64, String> {
    let Some(text) = std::env::var_os(LIMIT) else {
        return Ok(packed.saturating_mul(UNPACKED_TIMES).max(UNPACKED));
    };
    let text = text.to_string_lossy();
    size(&text).ok_or_else(|| format!("{LIMIT}={text}: not a size; use for example 200G"))
}

/// A number of bytes such as `500M`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Bytes as a person says them.
pub(crate) fn in_words(bytes: u64) -> String {
    match bytes {
        0..=0xf_ffff => format!("{} KB", bytes >> 10),
        0x10_0000..=0x3fff_ffff => format!("{} MB", bytes >> 20),
        _ => format!("{:.1} GB", bytes as f64 / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(size("123"), Some(123));
        assert_eq!(size(" 5g "), Some(5 << 30));
        assert_eq!(size("2TiB"), Some(2 << 40));
        for wrong in ["", "G", "many", "-1", "1.5G", "99999999T", "5X"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn some_space_is_left_to_others() {
        let directory = std::env::temp_dir();
        let space = DiskSpace::of(&directory);
        assert!(space.usable() < space.free && usable(&directory) <= space.usable());
        assert_eq!(usable(Path::new("/no/such/directory")), 0);
    }
}
