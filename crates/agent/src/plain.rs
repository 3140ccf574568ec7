//! The agent on its own, without a recorder that brought it: with the first assertion it starts the program `anthill`, which
//! checks. Without that program assertions are still kept, and the JVM's word about them is what there is.

use std::env;
use std::ffi::c_void;
use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use crate::assertions::{self, State};
use crate::jni::{Handle, Jni, Vm};
use crate::jvmti::Jvmti;
use crate::options::Options;
use crate::session::{Slot, locked, spawn};
use crate::{Prepared, agent, environments, events, regions};

const PROGRAM: &str = "anthill";
/// Names the program if it is nowhere else.
const PROGRAM_VARIABLE: &str = "ANTHILL_PROGRAM";

/// As much as the JVM gives its own threads.
const STARTING_STACK: usize = 1 << 20;

struct Plain {
    options: Options,
    state: State,
}

static PLAIN: Mutex<Option<Plain>> = Mutex::new(None);

/// The agent was loaded without a recorder.
pub(crate) fn prepare(options: Options) {
    *locked(&PLAIN) = Some(Plain {
        options,
        state: State::Idle,
    });
}

/// What the program can count on while nobody records it.
pub(crate) fn state() -> State {
    locked(&PLAIN)
        .as_ref()
        .map_or(State::Off, |plain| plain.state)
}

fn set_state(state: State) {
    if let Some(plain) = &mut *locked(&PLAIN) {
        plain.state = state;
    }
}

/// A start that comes to nothing leaves regions to themselves before somebody else can get the slot.
struct Start {
    slot: Option<Slot>,
    vm: Vm,
    jvmti: Jvmti,
    options: Options,
    missing: Vec<String>,
}

impl Drop for Start {
    fn drop(&mut self) {
        if self.slot.is_some() {
            regions::keep(self.jvmti);
        }
    }
}

/// The first assertion of a copy of the API was made. What takes time is done by a thread of the agent's.
pub(crate) fn begin(jni: Jni, copy: Handle) {
    match leave_idle() {
        Ok((slot, options)) => {
            if let Err(why) = try_begin(slot, options) {
                alone(jni, &why);
            }
        }
        // Another copy has begun, and all are told what comes of it.
        Err(State::Starting) => {}
        Err(state) => assertions::tell_one(jni, copy, state),
    }
}

/// The right to begin, for one copy; the state otherwise. While somebody else is coming or leaving it stays idle, and the next
/// assertion tries again.
fn leave_idle() -> Result<(Slot, Options), State> {
    let mut plain = locked(&PLAIN);
    let Some(plain) = &mut *plain else {
        return Err(State::Off);
    };
    if plain.state != State::Idle {
        return Err(plain.state);
    }
    let slot = Slot::take_if_free().ok_or(State::Idle)?;
    plain.state = State::Starting;
    Ok((slot, plain.options.clone()))
}

fn try_begin(slot: Slot, options: Options) -> Result<(), String> {
    let vm = assertions::vm().ok_or("the JVM is not known")?;
    let (jvmti, missing) = environments::recording(vm)?;
    regions::offer(jvmti);
    let start = Start {
        slot: Some(slot),
        vm,
        jvmti,
        options,
        missing,
    };
    // A Java thread inherits class loaders and thread locals from the one that makes it. The program's would be kept alive.
    spawn("anthill-start", STARTING_STACK, move || run_apart(start))
        .map_err(|error| format!("cannot start a thread: {error}"))
}

fn run_apart(start: Start) {
    events::leave_out_this_thread();
    let (vm, jvmti) = (start.vm, start.jvmti);
    let attached = vm.with_this_thread(c"anthill start", |jni| {
        if let Err(why) = agent::run_thread(jvmti, jni, run, start) {
            alone(jni, &why);
        }
    });
    if attached.is_none() {
        // The JVM ends or has no memory: nobody can be told.
        set_state(State::Alone);
    }
}

extern "C" fn run(_: Jvmti, jni: Jni, argument: *mut c_void) {
    // SAFETY: `agent::run_thread` gave this box to exactly one thread.
    let start = unsafe { Box::from_raw(argument.cast::<Start>()) };
    events::leave_out_this_thread();
    let ran = catch_unwind(AssertUnwindSafe(|| check(*start, jni)));
    let why = match ran {
        Ok(Ok(())) => "the program `anthill` that checked assertions has ended".to_owned(),
        Ok(Err(why)) => why,
        Err(_) => "the agent failed".to_owned(),
    };
    let _ = catch_unwind(AssertUnwindSafe(|| alone(jni, &why)));
}

/// From now on there is nobody who checks, unless a recorder has come meanwhile, which tells when it goes.
fn alone(jni: Jni, why: &str) {
    set_state(State::Alone);
    if let Some(slot) = Slot::take() {
        if let Some(vm) = assertions::vm() {
            regions::keep_own(vm, &slot);
        }
        assertions::tell(jni, State::Alone, Some(why));
    }
}

/// Works for the program until that ends.
fn check(mut start: Start, jni: Jni) -> Result<(), String> {
    let (mut child, stream) = started(&start.options)?;
    let slot = start.slot.take().ok_or("the start is over")?;
    let prepared = Prepared {
        slot,
        jvmti: start.jvmti,
        stream,
        options: start.options.clone(),
        missing: mem::take(&mut start.missing),
    };
    agent::serve(&crate::open_session(prepared, true), start.vm, jni);
    // It ends with the connection; whoever ended otherwise must not stay as a zombie.
    let _ = child.wait();
    Ok(())
}

fn started(options: &Options) -> Result<(Child, UnixStream), String> {
    let program = program()?;
    let failed = |error: io::Error| format!("cannot start {}: {error}", program.display());
    let (near, far) = UnixStream::pair().map_err(failed)?;
    let mut command = Command::new(&program);
    command.args(["attach", &std::process::id().to_string()]);
    command.args(["--assertions", "--connected"]);
    if let Some(file) = &options.violations {
        command.arg("--violations").arg(file);
    }
    if let Some(overhead) = &options.overhead {
        command.arg("--overhead").arg(overhead);
    }
    // What ends the program by its terminal must not end the checks before.
    command.process_group(0).env_remove("JAVA_TOOL_OPTIONS");
    command
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn().map_err(failed)?;
    Ok((child, near))
}

/// The program: named by the environment, beside the library, where packages put it, or on the path.
fn program() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(PROGRAM_VARIABLE) {
        let named = PathBuf::from(named);
        return match named.is_file() {
            true => Ok(named),
            false => Err(format!(
                "no program at {} ({PROGRAM_VARIABLE})",
                named.display()
            )),
        };
    }
    let library = library();
    let beside = library.as_deref().and_then(Path::parent);
    let near = beside.into_iter().flat_map(|folder| {
        ["", "../bin", "../../bin"].map(|place| folder.join(place).join(PROGRAM))
    });
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    let found = near.chain(on_path).find(|place| place.is_file());
    found.ok_or_else(|| {
        format!(
            "cannot find the program `anthill`; put it beside {}, on the PATH, or set \
            {PROGRAM_VARIABLE}",
            library
                .as_deref()
                .unwrap_or(Path::new("libanthill_agent.so"))
                .display()
        )
    })
}

/// Where this library was loaded from.
fn library() -> Option<PathBuf> {
    // SAFETY: the structure is filled by the call before it is read, and the name it points to stays while the library is
    // loaded.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(library as *const c_void, &mut info);
        if known == 0 || info.dli_fname.is_null() {
            return None;
        }
        std::ffi::CStr::from_ptr(info.dli_fname)
            .to_string_lossy()
            .into_owned()
    };
    Path::new(&name).canonicalize().ok()
}
