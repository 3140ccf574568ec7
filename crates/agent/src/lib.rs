//! The agent inside a JVM, a library the JVM loads with `-agentpath` or on attach. It reports facts and carries out the
//! recorder's orders (crate `anthill-wire`); it decides nothing and writes nothing but what it was told to. It knows
//! neither traces nor analyses, and the program must not notice it: whatever fails, the agent goes silent.

mod agent;
mod assertions;
mod clock;
mod dump;
mod events;
mod follow;
mod gc;
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
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use anthill_wire::attach_result;

use jni::{Handle, Jni, Vm};
use jvmti::{Jvmti, capability, event};
use options::Options;
use session::{Session, locked};

const JNI_VERSION: i32 = 0x0001_0006;

/// What was prepared before the JVM could run Java code.
struct Prepared {
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
        let prepared = prepare(vm, options)?;
        let jvmti = prepared.jvmti;
        *locked(&PREPARED) = Some((vm, prepared));
        jvmti.enable(event::VM_INIT, true).map_err(jvmti::meaning)
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
        let jni = vm.environment(JNI_VERSION);
        if jni.is_null() {
            return Err((attach_result::FAILED, "no JNI on this thread".to_owned()));
        }
        if session::current().is_some_and(|other| !other.is_ending()) {
            return Err((attach_result::BUSY, ALREADY.to_owned()));
        }
        assertions::know(vm);
        let prepared = parsed(options)
            .and_then(|options| prepare(vm, options))
            .map_err(|why| (attach_result::FAILED, why))?;
        // SAFETY: the JVM just gave this interface to this thread.
        let jni = unsafe { Jni::from_raw(jni) };
        begin(vm, jni, prepared, true)
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

const ALREADY: &str = "the program is being recorded already";

/// The JVM runs Java code from here on.
extern "C" fn vm_init(_: Jvmti, jni: Jni, _: Handle) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let Some((vm, prepared)) = locked(&PREPARED).take() else {
            return;
        };
        if let Err((_, why)) = begin(vm, jni, prepared, false) {
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
fn prepare(vm: Vm, options: Options) -> Result<Prepared, String> {
    let socket = options
        .socket
        .as_ref()
        .ok_or("the option socket=PATH is missing")?;
    let stream = UnixStream::connect(socket)
        .map_err(|e| format!("no recorder at {}: {e}", socket.display()))?;
    if plain::state() == assertions::State::Alone {
        regions::give_up_own();
    }
    let (jvmti, missing) = environment(vm)?;
    Ok(Prepared {
        jvmti,
        stream,
        options,
        missing,
    })
}

/// An environment with everything the JVM may give, and what it does not give.
fn environment(vm: Vm) -> Result<(Jvmti, Vec<String>), String> {
    let jvmti = Jvmti::new(vm).ok_or("the JVM has no tool interface")?;
    let mut missing = Vec::new();
    for (bit, what, always) in CAPABILITIES {
        if let Err(code) = jvmti.add_capability(bit) {
            if always {
                missing.push(format!("{what}: {}", jvmti::meaning(code)));
            }
        }
    }
    jvmti
        .set_callbacks(&events::callbacks())
        .map_err(jvmti::meaning)?;
    Ok((jvmti, missing))
}

/// What is asked for, one by one because one refusal refuses all; whether every JVM should have it.
const CAPABILITIES: [(u32, &str, bool); 6] = [
    (capability::TAG_OBJECTS, "ids of classes", true),
    (capability::GC_EVENTS, "garbage collections", true),
    (capability::SAMPLED_ALLOCATIONS, "allocation samples", true),
    (capability::SOURCE_FILE_NAME, "source files", true),
    (capability::LINE_NUMBERS, "line numbers", true),
    (capability::VIRTUAL_THREADS, "virtual threads", false),
];

fn begin(vm: Vm, jni: Jni, prepared: Prepared, attached: bool) -> Result<(), (i32, String)> {
    let jvmti = prepared.jvmti;
    let session = open_session(prepared, attached).map_err(|why| {
        jvmti.dispose();
        (attach_result::BUSY, why)
    })?;
    regions::offer(jvmti);
    agent::start(&session, vm, jni).map_err(|why| {
        session.disconnect();
        session.uninstall();
        regions::withdraw(jvmti);
        jvmti.dispose();
        (attach_result::FAILED, why)
    })
}

/// Makes the connection the current one; fails if there is another.
fn open_session(prepared: Prepared, attached: bool) -> Result<Arc<Session>, String> {
    let Prepared {
        jvmti,
        stream,
        options,
        missing,
    } = prepared;
    let session = Arc::new(Session::new(jvmti, stream, &options, attached, missing));
    session.install().map_err(|()| ALREADY.to_owned())?;
    // Without it the last messages may be lost when the JVM ends, nothing else.
    let _ = jvmti.enable(event::VM_DEATH, true);
    Ok(session)
}

fn say_not_recording(why: &str) {
    eprintln!("anthill: not recording: {why}");
}
