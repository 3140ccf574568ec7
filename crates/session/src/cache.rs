//! Where indexes are kept, and for how long.

use std::fs;
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anthill_index::Key;
use rustc_hash::FxBuildHasher;

use crate::groups::is_kept_group;
use crate::notes::is_notes;

/// In the folder of each dump: where the dump is. It is written again whenever its index is used.
const SOURCE: &str = "source";
/// The user's cache keeps the index of a dump that nobody opened for this long no more.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Where indexes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexFolder {
    /// The user's cache folder.
    Cache,
    /// A folder that a person chose.
    Folder(PathBuf),
    /// No index is read or kept.
    None,
}

impl IndexFolder {
    /// The folder for the indexes of all dumps.
    fn base(&self) -> Option<PathBuf> {
        match self {
            IndexFolder::Cache => Some(user_cache()?.join("anthill")),
            IndexFolder::Folder(folder) => Some(folder.clone()),
            IndexFolder::None => None,
        }
    }

    /// The secret that proves that an index was made here.
    pub(crate) fn key(&self) -> io::Result<Key> {
        Key::of_folder(&self.base().unwrap_or_default())
    }

    /// The folder for the indexes of the dump at `path`. Another dump under the same path takes
    /// the place of the one before.
    pub(crate) fn for_dump(&self, path: &Path) -> Option<PathBuf> {
        let base = self.base()?;
        if !path.is_file() {
            // What comes through a pipe never comes again.
            return None;
        }
        let name = path.file_name()?.to_string_lossy();
        let place = std::fs::canonicalize(path).ok()?;
        let place = FxBuildHasher.hash_one(&place);
        Some(base.join(format!("{name}-{place:016x}")))
    }

    /// Notes that the dump at `path` was opened, and, when its index is new, drops from the user's
    /// cache what is not needed any more. A cache that cannot be written is no reason to fail.
    pub(crate) fn opened(&self, path: &Path, is_new: bool) {
        let folder = match self {
            IndexFolder::Cache => self.for_dump(path),
            IndexFolder::Folder(_) | IndexFolder::None => None,
        };
        let source = fs::canonicalize(path).ok();
        let source = source.as_deref().and_then(Path::to_str);
        let Some((folder, source)) = folder.zip(source) else {
            return;
        };
        let noted = fs::write(folder.join(SOURCE), source);
        if let (Ok(()), true, Some(base)) = (noted, is_new, folder.parent()) {
            let _ = tidy(base, SystemTime::now());
        }
    }
}

/// Drops the indexes of dumps that are gone, and of those that nobody opened for long; for these,
/// groups and notes that somebody keeps stay.
fn tidy(base: &Path, now: SystemTime) -> io::Result<()> {
    for folder in fs::read_dir(base)? {
        let folder = folder?.path();
        let note = folder.join(SOURCE);
        let (Ok(source), Ok(used)) = (fs::read_to_string(&note), modified(&note)) else {
            continue;
        };
        let source = Path::new(&source);
        // Of a disk that is not there now, nobody knows whether the dump is.
        let is_gone = !source.exists() && source.parent().is_some_and(Path::exists);
        if is_gone {
            fs::remove_dir_all(&folder)?;
        } else if now.duration_since(used).is_ok_and(|unused| unused > UNUSED) {
            drop_indexes(&folder)?;
        }
    }
    Ok(())
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

fn drop_indexes(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            drop_indexes(&entry.path())?;
            continue;
        }
        let file = name.to_string_lossy();
        if !is_kept_group(&file) && !is_notes(&file) && name != SOURCE {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn user_cache() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = || set("HOME");
    if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Caches"))
    } else if cfg!(windows) {
        set("LOCALAPPDATA")
    } else {
        set("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| home().map(|home| home.join(".cache")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with one dump: its index, a group that is kept, a state of a recording.
    fn cache(base: &Path, name: &str, source: &Path) -> PathBuf {
        let folder = base.join(name);
        fs::create_dir_all(folder.join("state-1")).unwrap();
        for file in [
            "heap",
            "group-mine",
            "notes",
            "state-1/heap",
            "state-1/group-mine",
        ] {
            fs::write(folder.join(file), "content").unwrap();
        }
        fs::write(folder.join(SOURCE), source.to_str().unwrap()).unwrap();
        folder
    }

    fn there(folder: &Path) -> Vec<&'static str> {
        let files = [
            "heap",
            "group-mine",
            "notes",
            "state-1/heap",
            "state-1/group-mine",
        ];
        let there = files.into_iter();
        there.filter(|file| folder.join(file).exists()).collect()
    }

    #[test]
    fn only_what_is_not_needed_is_dropped() {
        let base = tempfile::tempdir().unwrap();
        let dumps = tempfile::tempdir().unwrap();
        let dump = dumps.path().join("app.hprof");
        fs::write(&dump, "a dump").unwrap();
        let used = cache(base.path(), "used", &dump);
        let gone = cache(base.path(), "gone", &dumps.path().join("deleted.hprof"));
        let away = cache(base.path(), "away", &dumps.path().join("no-disk/app.hprof"));
        let stranger = base.path().join("stranger");
        fs::create_dir(&stranger).unwrap();

        let all = there(&used);
        assert_eq!(all.len(), 5);
        tidy(base.path(), SystemTime::now()).unwrap();
        assert_eq!(there(&used), all);
        assert_eq!(there(&away), all);
        assert!(!gone.exists());
        assert!(stranger.exists());

        tidy(base.path(), SystemTime::now() + 2 * UNUSED).unwrap();
        for old in [used, away] {
            assert_eq!(there(&old), ["group-mine", "notes", "state-1/group-mine"]);
        }
        assert!(stranger.exists());
    }
}
