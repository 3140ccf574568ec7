//! Where indexes are kept.

use std::hash::BuildHasher;
use std::path::{Path, PathBuf};

use rustc_hash::FxBuildHasher;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexFolder {
    /// The user's cache folder.
    Cache,
    Folder(PathBuf),
    /// No index is read or kept.
    None,
}

impl IndexFolder {
    /// The folder for the indexes of the dump at `path`. Another dump under the same path takes
    /// the place of the one before.
    pub(crate) fn for_dump(&self, path: &Path) -> Option<PathBuf> {
        let base = match self {
            IndexFolder::Cache => user_cache()?.join("anthill"),
            IndexFolder::Folder(folder) => folder.clone(),
            IndexFolder::None => return None,
        };
        let name = path.file_name()?.to_string_lossy();
        let place = std::fs::canonicalize(path).ok()?;
        let place = FxBuildHasher.hash_one(&place);
        Some(base.join(format!("{name}-{place:016x}")))
    }
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
