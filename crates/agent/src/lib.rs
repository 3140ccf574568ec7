//! The agent inside a JVM, a library the JVM loads with `-agentpath` or on attach. It reports facts and carries out the
//! recorder's orders (crate `anthill-wire`); it decides nothing and writes nothing but what it was told to. It knows
//! neither traces nor analyses, and the program must not notice it: whatever fails, the agent goes silent.

#![warn(missing_docs)]

mod agent;
mod assertions;
mod clock;
mod dump;
mod environments;
mod events;
mod exhaustion;
mod follow;
mod gc;
mod headroom;
mod hello;
mod jni;
mod jvmti;
mod options;
mod outbox;
mod perf;
mod plain;
mod regions;
mod session;
mod symbols;
mod walk;

use std::ffi::{CStr, c_char, c_void};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use anthill_wire::attach_result;

use jni::{Handle, Jni, Vm};
use jvmti::{Jvmti, event};
use options::Options;
use session::{Session, Slot, locked};

/// What was prepared before the JVM could run Java code.
struct Prepared {
    slot: Slot,
    jvmti: Jvmti,
    stream: UnixStream,
    options: Options,
    missing: Vec<String>,
}

static PREPARED: Mutex<Option<(Vm, Prepared)>> = Mutex::new(None);

/// Called by the JVM at its start. Never fails: that would keep the program from starting.
#[unsafe(no_mangle)]
pub extern "C" fn Agent_OnLoad(vm: Vm, options: *const c_char, _: *mut c_void) -> i32 {
    assertions::know(vm);
    let prepared = catch_unwind(AssertUnwindSafe(|| {
        let options = parsed(options)?;
        if options.socket.is_none() {
            plain::prepare(options);
            return Ok(());
        }
        // Nobody leaves before the JVM has started, so there is nothing to wait for.
        let slot = Slot::take_if_free().ok_or(ALREADY)?;
        let prepared = prepare(vm, options, slot)?;
        let begins = prepared.jvmti.enable(event::VM_INIT, true);
        begins.map_err(jvmti::meaning)?;
        *locked(&PREPARED) = Some((vm, prepared));
        Ok::<(), String>(())
    }));
    if let Ok(Err(why)) = prepared {
        say_not_recording(&why);
    }
    attach_result::RECORDING
}

/// Called by the JVM when the agent is loaded into a running program, also when it had been loaded before.
#[unsafe(no_mangle)]
pub extern "C" fn Agent_OnAttach(vm: Vm, options: *const c_char, _: *mut c_void) -> i32 {
    let attached = catch_unwind(AssertUnwindSafe(|| {
        let jni = vm.environment(jni::VERSION);
        if jni.is_null() {
            return Err((attach_result::FAILED, "no JNI on this thread".to_owned()));
        }
        let slot = Slot::take().ok_or_else(|| (attach_result::BUSY, ALREADY.to_owned()))?;
        assertions::know(vm);
        // SAFETY: the JVM just gave this interface to this thread.
        let jni = unsafe { Jni::from_raw(jni) };
        parsed(options)
            .and_then(|options| prepare(vm, options, slot))
            .and_then(|prepared| begin(vm, jni, prepared, true))
            .map_err(|why| (attach_result::FAILED, why))
    }));
    match attached {
        Ok(Ok(())) => attach_result::RECORDING,
        Ok(Err((code, why))) => {
            say_not_recording(&why);
            code
        }
        Err(_) => attach_result::FAILED,
    }
}

const ALREADY: &str = "the program is already being recorded";

/// The JVM runs Java code from here on.
extern "C" fn vm_init(_: Jvmti, jni: Jni, _: Handle) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let Some((vm, prepared)) = locked(&PREPARED).take() else {
            return;
        };
        let _ = prepared.jvmti.enable(event::VM_INIT, false);
        if let Err(why) = begin(vm, jni, prepared, false) {
            say_not_recording(&why);
        }
    }));
}

fn parsed(options: *const c_char) -> Result<Options, String> {
    let options = match options.is_null() {
        true => String::new(),
        // SAFETY: the JVM passes a text that ends with a zero byte.
        false => unsafe { CStr::from_ptr(options) }
            .to_string_lossy()
            .into_owned(),
    };
    Options::parse(&options)
}

/// Connects to the recorder and asks the JVM for everything it may give.
fn prepare(vm: Vm, options: Options, slot: Slot) -> Result<Prepared, String> {
    let socket = options
        .socket
        .as_ref()
        .ok_or("load the agent with `anthill attach PID` or `anthill attach PID --assertions`")?;
    let stream = UnixStream::connect(socket)
        .map_err(|e| format!("no recorder at {}: {e}", socket.display()))?;
    let (jvmti, missing) = environments::recording(vm)?;
    Ok(Prepared {
        slot,
        jvmti,
        stream,
        options,
        missing,
    })
}

fn begin(vm: Vm, jni: Jni, prepared: Prepared, attached: bool) -> Result<(), String> {
    regions::offer(prepared.jvmti);
    let session = open_session(prepared, attached);
    agent::start(&session, vm, jni).inspect_err(|_| drop(agent::abandon(&session, jni)))
}

/// Makes the connection the current one.
fn open_session(prepared: Prepared, attached: bool) -> Arc<Session> {
    let Prepared {
        slot,
        jvmti,
        stream,
        options,
        missing,
    } = prepared;
    let session = Session::new(slot, jvmti, stream, &options, attached, missing);
    let session = Arc::new(session);
    session.install();
    // Without it the last messages may be lost when the JVM ends, nothing else.
    let _ = jvmti.enable(event::VM_DEATH, true);
    session
}

fn say_not_recording(why: &str) {
    say(&format!("not recording: {why}"));
}

/// Tells whoever started the program. The program goes on if nobody can be told.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "anthill: {words}");
}
