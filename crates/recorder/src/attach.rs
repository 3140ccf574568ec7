//! HotSpot's attach mechanism on Linux: asks a running JVM to load an agent or to write a dump.
//!
//! The JVM listens on a Unix socket in its own `/tmp`; it opens it when it finds a file
//! `.attach_pid<N>` and gets SIGQUIT. A process that does not catch SIGQUIT would die of it, so
//! that is looked at first.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::Error;

/// How long a JVM may take to open its socket: it does so at its next safepoint.
const PATIENCE: Duration = Duration::from_secs(20);
const SIGQUIT: u32 = 3;

/// A running JVM, as far as `/proc` tells.
pub struct Jvm {
    pid: u32,
    /// Its number in its own namespace, which is in the names of its files.
    own_pid: u32,
}

impl Jvm {
    /// The JVM that has this process number, if it is one that can be attached to.
    pub fn find(pid: u32) -> Result<Self, Error> {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let refused = |reason: String| Error::Attach { pid, reason };
        let metadata = fs::metadata(&process)
            .map_err(|_| refused("no such process; `jps` lists the JVMs".to_owned()))?;
        let me = geteuid().as_raw();
        if metadata.uid() != me {
            return Err(refused(format!(
                "belongs to user {}, and a JVM responds only to its own user; run this command \
                as that user",
                metadata.uid()
            )));
        }
        let status = fs::read_to_string(process.join("status"))
            .map_err(|error| refused(format!("cannot read its state: {error}")))?;
        if !is_jvm(&process) {
            return Err(refused("not a JVM; `jps` lists the JVMs".to_owned()));
        }
        if !catches_quit(&status) {
            let reason = "does not handle SIGQUIT: it is still starting or was started with \
            -Xrs; start it with `anthill record` instead";
            return Err(refused(reason.to_owned()));
        }
        if has_flag(&process, "-XX:+DisableAttachMechanism") {
            let reason = "was started with -XX:+DisableAttachMechanism; start it with \
                          `anthill record` instead";
            return Err(refused(reason.to_owned()));
        }
        Ok(Jvm {
            pid,
            own_pid: own_pid(&status).unwrap_or(pid),
        })
    }

    /// Its process number, as we see it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it sees the same files as this process.
    pub fn shares_files(&self) -> bool {
        let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        namespace(&self.pid.to_string()) == namespace("self")
    }

    /// Loads a native agent.
    pub fn load_agent(&self, library: &Path, options: &str) -> Result<(), Error> {
        let library = library.display().to_string();
        let answer = self.ask(&["load", &library, "true", options])?;
        match answer.trim() {
            "0" | "return code: 0" | "" => Ok(()),
            said => Err(self.refused(format!("refuses to load the agent: {said}"))),
        }
    }

    /// Asks for a dump of all objects without a collection before it. A dump that is not whole is none.
    pub fn dump(&self, path: &Path) -> Result<(), Error> {
        let command = format!("GC.heap_dump -all {}", path.display());
        let answer = self.ask(&["jcmd", &command, "", ""])?;
        if answer.contains("Heap dump file created") {
            Ok(())
        } else {
            Err(self.refused(format!("did not write a dump: {}", answer.trim())))
        }
    }

    fn refused(&self, reason: String) -> Error {
        Error::Attach {
            pid: self.pid,
            reason,
        }
    }

    /// Sends a command with its three arguments and returns the answer.
    fn ask(&self, words: &[&str; 4]) -> Result<String, Error> {
        let mut socket = self.connect()?;
        let mut request = b"1\0".to_vec();
        for word in words {
            request.extend(word.as_bytes());
            request.push(0);
        }
        let mut answer = String::new();
        let asked = socket
            .write_all(&request)
            .and_then(|()| socket.read_to_string(&mut answer));
        asked.map_err(|error| self.refused(format!("the connection broke: {error}")))?;
        match answer.split_once('\n').unwrap_or((&answer, "")) {
            ("0", said) => Ok(said.to_owned()),
            (code, said) => Err(self.refused(format!("refused with code {code}: {}", said.trim()))),
        }
    }

    fn connect(&self) -> Result<UnixStream, Error> {
        let path = PathBuf::from(format!(
            "/proc/{}/root/tmp/.java_pid{}",
            self.pid, self.own_pid
        ));
        if !is_socket(&path) {
            self.wake(&path)?;
        }
        UnixStream::connect(&path)
            .map_err(|error| self.refused(format!("{}: {error}", path.display())))
    }

    /// Makes the JVM open its socket.
    fn wake(&self, socket: &Path) -> Result<(), Error> {
        let name = format!(".attach_pid{}", self.own_pid);
        let mut request = None;
        for folder in ["cwd", "root/tmp"] {
            let folder = PathBuf::from(format!("/proc/{}/{folder}", self.pid));
            // The link is gone when the process is; the folder is not.
            let folder = folder.canonicalize().unwrap_or(folder);
            let path = folder.join(&name);
            if File::create(&path).is_ok() {
                request = Some(path);
                break;
            }
        }
        let Some(request) = request else {
            let reason = "cannot create a file in its working directory or its /tmp".to_owned();
            return Err(self.refused(reason));
        };
        let woken = self.wait_for(socket);
        // Gone already if the JVM took it away.
        let _ = fs::remove_file(request);
        woken
    }

    fn wait_for(&self, socket: &Path) -> Result<(), Error> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(5);
        // Once: a JVM that does not see the request prints the stacks of its threads.
        let sent = pid.map(|pid| kill_process(pid, Signal::QUIT));
        if !matches!(sent, Some(Ok(()))) {
            return Err(self.refused("the process has ended".to_owned()));
        }
        while Instant::now() < deadline {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(200));
            if is_socket(socket) {
                return Ok(());
            }
        }
        let reason = format!(
            "did not respond within {} s; it may have been started with \
            -XX:+DisableAttachMechanism",
            PATIENCE.as_secs()
        );
        Err(self.refused(reason))
    }
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

fn is_jvm(process: &Path) -> bool {
    fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains("libjvm.so"))
}

fn has_flag(process: &Path, flag: &str) -> bool {
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    arguments
        .split(|&byte| byte == 0)
        .any(|argument| argument == flag.as_bytes())
}

/// The process number in the innermost namespace.
fn own_pid(status: &str) -> Option<u32> {
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().next_back()?.parse().ok()
}

fn catches_quit(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGQUIT - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_would_die_of_the_signal_is_left_alone() {
        let mut sleeper = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let refused = Jvm::find(sleeper.id()).err().unwrap().to_string();
        assert!(refused.contains("not a JVM"), "{refused}");
        assert!(sleeper.try_wait().unwrap().is_none(), "it was killed");
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[test]
    fn the_state_of_a_process_is_read() {
        let status = "Name:\tjava\nNSpid:\t4711\t17\nSigCgt:\t2000000181005ccf\n";
        assert_eq!(own_pid(status), Some(17));
        assert!(catches_quit(status));
        assert!(!catches_quit("SigCgt:\t0000000000000000\n"));
    }
}
