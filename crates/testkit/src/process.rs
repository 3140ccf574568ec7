//! Child processes that cannot hang a test, and ends of processes.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

const POLL: Duration = Duration::from_millis(5);

pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command to its end and returns what it printed; a command that takes longer is killed.
pub fn run(command: &mut Command, timeout: Duration) -> Result<Finished, String> {
    let name = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start {name}: {e}"))?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());

    let deadline = Instant::now() + timeout;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name} took longer than {timeout:?}"));
            }
            Err(e) => return Err(format!("cannot wait for {name}: {e}")),
        }
    };
    Ok(Finished {
        status,
        stdout: stdout.join().expect("the reader does not panic"),
        stderr: stderr.join().expect("the reader does not panic"),
    })
}

/// Like [`run`], and a failed command is an error that carries its output.
pub fn run_successfully(command: &mut Command, timeout: Duration) -> Result<Finished, String> {
    let name = format!("{command:?}");
    let finished = run(command, timeout)?;
    if finished.status.success() {
        Ok(finished)
    } else {
        Err(format!(
            "{name} ended with {}\n{}{}",
            finished.status, finished.stdout, finished.stderr
        ))
    }
}

/// Ends a process at once, without a chance to clean up.
///
/// # Panics
/// When there is no such process, or it is not ours.
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Sends a signal to a process.
///
/// # Panics
/// When there is no such process, or it is not ours.
pub fn signal(pid: u32, signal: Signal) {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = process.expect("a process number");
    kill_process(process, signal).unwrap_or_else(|e| panic!("no {signal:?} to process {pid}: {e}"));
}

fn collect<R: Read + Send + 'static>(stream: Option<R>) -> thread::JoinHandle<String> {
    let mut stream = stream.expect("the stream is piped");
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is all there is to show.
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
