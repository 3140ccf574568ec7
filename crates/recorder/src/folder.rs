//! Where recorders and those who talk to them meet: a folder of the user's with one folder for
//! each recorder, and a link from the number of each recorded JVM to it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, geteuid, test_kill_process};

use crate::Error;

/// Before the process number of a recorder.
const PREFIX: &str = "r";
/// Socket names are limited to 108 bytes.
const LONGEST_BASE: usize = 60;

/// The folder of one recorder; it is gone when this is dropped.
pub(crate) struct RecorderFolder {
    base: PathBuf,
    folder: PathBuf,
    links: Vec<PathBuf>,
}

impl RecorderFolder {
    pub(crate) fn new() -> Result<Self, Error> {
        let base = base()?;
        remove_leftovers(&base, PREFIX);
        remove_dead_links(&base);
        let folder = base.join(format!("{PREFIX}{}", std::process::id()));
        private_folder(&folder)?;
        Ok(RecorderFolder {
            base,
            folder,
            links: Vec::new(),
        })
    }

    /// Where the agent connects to.
    pub(crate) fn agent_socket(&self) -> PathBuf {
        self.folder.join("agent")
    }

    /// Where commands connect to.
    pub(crate) fn control_socket(&self, jvm: u32) -> PathBuf {
        self.folder.join(format!("control-{jvm}"))
    }

    /// Makes the recorder known as the one of that JVM.
    pub(crate) fn announce(&mut self, jvm: u32) -> Result<(), Error> {
        let link = self.base.join(jvm.to_string());
        let _ = fs::remove_file(&link);
        symlink(self.control_socket(jvm), &link).map_err(|source| Error::file(&link, source))?;
        self.links.push(link);
        Ok(())
    }
}

impl RecorderFolder {
    /// Nobody finds the recorder any more.
    pub(crate) fn remove(&mut self) {
        for link in &self.links {
            // Another recorder may have taken it over.
            let ours = fs::read_link(link).is_ok_and(|target| target.starts_with(&self.folder));
            if ours {
                let _ = fs::remove_file(link);
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Drop for RecorderFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The control socket of the recorder of a JVM.
pub(crate) fn control_of(jvm: u32) -> Result<PathBuf, Error> {
    let link = base()?.join(jvm.to_string());
    fs::read_link(&link).map_err(|_| Error::NotRecorded(jvm))
}

/// The JVMs that recorders say they record.
pub fn recorded() -> Vec<u32> {
    let Ok(entries) =
        base().and_then(|base| fs::read_dir(&base).map_err(|source| Error::file(&base, source)))
    else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut jvms: Vec<u32> = names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    jvms.sort_unstable();
    jvms
}

/// Removes the folders of recorders that are gone: whoever was killed could not do it.
pub(crate) fn remove_leftovers(base: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let recorder = name.to_str().and_then(|name| name.strip_prefix(prefix));
        // The number of a JVM may follow.
        let recorder = recorder.and_then(|name| name.split('-').next());
        let pid = recorder.and_then(|pid| Pid::from_raw(pid.parse().ok()?));
        if pid.is_some_and(|pid| test_kill_process(pid).is_err()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Removes the links of JVMs to recorders that are gone.
fn remove_dead_links(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_symlink() && !path.exists() {
            let _ = fs::remove_file(path);
        }
    }
}

fn base() -> Result<PathBuf, Error> {
    let run_time = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute() && folder.is_dir())
        .map(|folder| folder.join("anthill"))
        .filter(|folder| folder.as_os_str().len() <= LONGEST_BASE);
    let base =
        run_time.unwrap_or_else(|| PathBuf::from(format!("/tmp/anthill-{}", geteuid().as_raw())));
    private_folder(&base)?;
    Ok(base)
}

/// Makes a folder that only its owner can look into, or finds that it is one.
fn private_folder(folder: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| Error::file(folder, source))?;
    let metadata = fs::symlink_metadata(folder).map_err(|source| Error::file(folder, source))?;
    let ours =
        metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0;
    if ours {
        Ok(())
    } else {
        let reason = "it is not a directory that only you can access; remove it or change its \
        permissions";
        Err(Error::file(folder, io::Error::other(reason)))
    }
}
