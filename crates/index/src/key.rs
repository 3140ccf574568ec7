//! The secret that a directory of indexes is kept under: what others put there is not believed.
//!
//! Every checksum of an index is made with it. It is 0600 and belongs to whoever keeps indexes in the
//! folder, so that neither another user nor another machine can make an index that fits it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use tempfile::NamedTempFile;
use xxhash_rust::xxh3::xxh3_64_with_secret;

const NAME: &str = "key";
/// What the hash takes at its longest.
const LENGTH: usize = 192;

/// The secret itself.
pub struct Key([u8; LENGTH]);

impl Key {
    /// One that nobody else will ever know.
    pub fn random() -> io::Result<Self> {
        let mut secret = [0; LENGTH];
        getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Key(secret))
    }

    /// The key of a folder, made if there is none.
    pub fn of_folder(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        std::fs::create_dir_all(folder)?;
        let key = Key::random()?;
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(&key.0)?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(key),
            // Somebody else was quicker.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => read(&path),
            Err(error) => Err(error.error),
        }
    }

    pub(crate) fn checksum(&self, bytes: &[u8]) -> u64 {
        xxh3_64_with_secret(bytes, &self.0)
    }
}

fn read(path: &Path) -> io::Result<Key> {
    let mut file = open(path)?;
    if let Some(why) = distrust(&file.metadata()?) {
        let advice = format!(
            "{} {why}; remove the directory, or keep the index in another one",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, advice));
    }
    let mut secret = [0; LENGTH];
    file.read_exact(&mut secret)?;
    Ok(Key(secret))
}

/// A link could lead to a file that only looks like ours.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    OpenOptions::new()
        .read(true)
        .custom_flags(no_follow)
        .open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Why others may know the key or have made it.
#[cfg(unix)]
fn distrust(metadata: &std::fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let own = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
    if !metadata.is_file() {
        Some("is not a file")
    } else if !own {
        Some("belongs to another user")
    } else if metadata.mode() & 0o077 != 0 {
        Some("can be read or changed by other users")
    } else {
        None
    }
}

#[cfg(not(unix))]
fn distrust(_: &std::fs::Metadata) -> Option<&'static str> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_has_one_key_that_only_its_owner_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("deep/in");
        let made = Key::of_folder(&base).unwrap();
        assert_eq!(made.0, Key::of_folder(&base).unwrap().0);
        let file = base.join(NAME);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let other = Key::of_folder(folder.path()).unwrap();
        assert_ne!(made.checksum(b"bytes"), other.checksum(b"bytes"));
    }

    #[test]
    fn a_key_that_others_could_know_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(NAME);
        Key::of_folder(folder.path()).unwrap();
        for mode in [0o644, 0o660, 0o602] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let error = Key::of_folder(folder.path()).err().unwrap().to_string();
            assert!(error.contains("by other users"), "{error}");
        }
        fs::remove_file(&file).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        Key::of_folder(&elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere.join(NAME), &file).unwrap();
        assert!(Key::of_folder(folder.path()).is_err(), "a link");
        fs::remove_file(&file).unwrap();
        fs::write(&file, "short").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(Key::of_folder(folder.path()).is_err(), "cut off");
    }

    #[test]
    fn a_key_of_another_user_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        Key::of_folder(folder.path()).unwrap();
        let file = folder.path().join(NAME);
        if std::os::unix::fs::chown(&file, Some(12345), None).is_err() {
            return eprintln!("SKIPPED keys of other users: only root can make them");
        }
        let error = Key::of_folder(folder.path()).err().unwrap().to_string();
        assert!(error.contains("belongs to another user"), "{error}");
    }
}
