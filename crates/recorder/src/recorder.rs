//! Recording from its start to its end: a command that is started, or a JVM that is running.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::folder::RecorderFolder;
use crate::program::{agent_library, close_inherited, start};
use crate::recording::{Recording, Say};
use crate::{Error, Jvm, RecordingOptions};

/// How long an agent that was loaded may take to connect.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// Starts a command and records every JVM it starts; returns its exit code.
pub fn record(command: &[OsString], options: RecordingOptions, say: Say) -> Result<u8, Error> {
    let library = agent_library()?;
    let folder = RecorderFolder::new()?;
    let listener = bind(&folder.agent_socket())?;
    let agent_options = options.agent_options(&folder.agent_socket());
    options.reserve()?;
    let mut child = start(command, &library, &agent_options).inspect_err(|_| options.release())?;
    pass_on_signals(&child)?;
    let folder = Arc::new(Mutex::new(folder));
    let recordings = accept_all(listener, options.clone(), folder.clone(), say);
    let status = child
        .wait()
        .map_err(|source| Error::file(Path::new(&command[0]), source))?;
    let recorded = finish_all(&recordings);
    if recorded == 0 {
        say("no JVM was recorded: the command started no JVM, or one without the agent");
        options.release();
    }
    folder
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove();
    Ok(exit_code(status))
}

/// Records a JVM that is running until it ends or the recording is stopped.
pub fn attach(
    jvm: &Jvm,
    options: RecordingOptions,
    say: Say,
    ready: impl FnOnce(Option<&Path>),
) -> Result<(), Error> {
    if !jvm.shares_files() {
        return Err(Error::Attach {
            pid: jvm.pid(),
            reason: "runs in a container with its own file system; run Anthill inside the \
            container"
                .to_owned(),
        });
    }
    if crate::control::ask(jvm.pid(), &crate::Request::Status).is_ok() {
        let reason = "is already being recorded; end that recording with `anthill \
        detach`"
            .to_owned();
        let pid = jvm.pid();
        return Err(Error::Attach { pid, reason });
    }
    let library = agent_library()?;
    let mut folder = RecorderFolder::new()?;
    let listener = bind(&folder.agent_socket())?;
    options.reserve()?;
    let loaded = jvm
        .load_agent(&library, &options.agent_options(&folder.agent_socket()))
        .and_then(|()| wait_for_agent(&listener, jvm));
    let stream = loaded.inspect_err(|_| options.release())?;
    stop_on_signals(jvm.pid())?;
    let control = |pid| control_socket(&mut folder, pid);
    let recording =
        Recording::start(stream, options.clone(), 0, control).inspect_err(|_| options.release())?;
    if recording.trace().is_some() {
        for missing in recording.missing() {
            say(&format!("not available from this JVM: {missing}"));
        }
    }
    ready(recording.trace().as_deref());
    say(&recording.run(say));
    Ok(())
}

/// Checks the assertions of the JVM whose agent started this process, over the connection that is its standard input.
pub fn serve(jvm: u32, options: RecordingOptions, say: Say) -> Result<(), Error> {
    close_inherited();
    let connection = io::stdin().as_fd().try_clone_to_owned();
    let stream = connection
        .map(UnixStream::from)
        .map_err(|source| Error::file(Path::new("standard input"), source))?;
    let mut folder = RecorderFolder::new()?;
    stop_on_signals(jvm)?;
    let recording = Recording::start(stream, options, 0, |pid| control_socket(&mut folder, pid))?;
    say(&recording.run(say));
    Ok(())
}

fn bind(socket: &Path) -> Result<UnixListener, Error> {
    UnixListener::bind(socket).map_err(|source| Error::file(socket, source))
}

fn control_socket(folder: &mut RecorderFolder, jvm: u32) -> Result<UnixListener, Error> {
    let listener = bind(&folder.control_socket(jvm))?;
    folder.announce(jvm)?;
    Ok(listener)
}

fn wait_for_agent(listener: &UnixListener, jvm: &Jvm) -> Result<UnixStream, Error> {
    let failed = |error: io::Error| Error::Attach {
        pid: jvm.pid(),
        reason: format!("the agent did not connect: {error}"),
    };
    listener.set_nonblocking(true).map_err(failed)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(failed)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() > deadline {
                    return Err(failed(io::Error::from(io::ErrorKind::TimedOut)));
                }
                thread::sleep(POLL);
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

type Recordings = Arc<Mutex<Vec<JoinHandle<bool>>>>;

/// Records every JVM that connects, each in a thread of its own.
fn accept_all(
    listener: UnixListener,
    options: RecordingOptions,
    folder: Arc<Mutex<RecorderFolder>>,
    say: Say,
) -> Recordings {
    let recordings = Recordings::default();
    let started = recordings.clone();
    thread::spawn(move || {
        for (index, stream) in listener.incoming().flatten().enumerate() {
            let (options, folder) = (options.clone(), folder.clone());
            let thread = thread::spawn(move || record_one(stream, options, index, &folder, say));
            started
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(thread);
        }
    });
    recordings
}

fn record_one(
    stream: UnixStream,
    options: RecordingOptions,
    index: usize,
    folder: &Mutex<RecorderFolder>,
    say: Say,
) -> bool {
    let recording = Recording::start(stream, options, index, |pid| {
        let mut folder = folder.lock().unwrap_or_else(PoisonError::into_inner);
        control_socket(&mut folder, pid)
    });
    match recording {
        Ok(recording) => {
            let pid = recording.pid();
            if let Some(trace) = recording.trace() {
                say(&format!("recording JVM {pid} to {}", trace.display()));
            }
            for missing in recording.missing() {
                say(&format!("not available from this JVM: {missing}"));
            }
            say(&recording.run(say));
            true
        }
        Err(error) => {
            say(&error.to_string());
            false
        }
    }
}

/// Waits for the recordings that began; how many there were.
fn finish_all(recordings: &Recordings) -> usize {
    let mut recorded = 0;
    loop {
        let next = recordings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        match next {
            Some(thread) => recorded += usize::from(thread.join().unwrap_or(false)),
            None => return recorded,
        }
    }
}

/// Whoever ends this process wants to end the program, whose recording is then completed. What a
/// terminal sends reaches the program by itself.
fn pass_on_signals(child: &Child) -> Result<(), Error> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|source| Error::file(Path::new("signals"), source))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    thread::spawn(move || {
        for signal in signals.forever() {
            if let (SIGTERM, Some(pid)) = (signal, pid) {
                // It may have ended by itself.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    });
    Ok(())
}

/// Whoever ends the recorder wants the trace to be whole.
fn stop_on_signals(jvm: u32) -> Result<(), Error> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|source| Error::file(Path::new("signals"), source))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            // It may be over already.
            let _ = crate::control::ask(jvm, &crate::Request::Stop);
        }
    });
    Ok(())
}

/// As shells have it: 128 and the signal, if one ended the program.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.map_or(1, |code| code as u8)
}
