//! The agent's JVMTI environments, one for each purpose. Each is made when it is first wanted and never disposed: once the last
//! environment of a JVM is gone, HotSpot does not free what it keeps for JVMTI about a thread when that thread ends
//! (`JavaThread::exit` asks `environments_might_exist`), and the next environment writes through it into freed memory
//! (`recompute_thread_enabled`). Between recordings, unless regions are watched without one, an environment has neither events nor
//! tags, nor the capability that only one agent can have.

use std::ffi::c_void;
use std::sync::Mutex;

use crate::events;
use crate::jni::Vm;
use crate::jvmti::{self, Code, Jvmti, capability};
use crate::session::locked;

/// Each has tags of its own.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Events; tags are ids of classes.
    Events,
    /// Tags are ids of all objects that walks have met.
    Walks,
    /// Tags are ids of objects of head classes.
    Heads,
    /// Tags are numbers of the regions in which objects were allocated.
    Regions,
    /// Stacks of those who make assertions.
    Sites,
}

const PURPOSES: usize = 5;

static MADE: Mutex<[Option<Jvmti>; PURPOSES]> = Mutex::new([None; PURPOSES]);

/// What is asked for while recording, one by one because one refusal refuses all; whether every JVM should have it.
const RECORDING: [(u32, &str, bool); 7] = [
    (capability::TAG_OBJECTS, "ids of classes", true),
    (capability::GC_EVENTS, "garbage collections", true),
    (capability::HEAP_EXHAUSTION, "OutOfMemoryErrors", true),
    (capability::SAMPLED_ALLOCATIONS, "allocation samples", true),
    (capability::SOURCE_FILE_NAME, "source files", true),
    (capability::LINE_NUMBERS, "line numbers", true),
    (capability::VIRTUAL_THREADS, "virtual threads", false),
];

/// The environment of the events with everything the JVM gives, and what it does not give.
pub(crate) fn recording(vm: Vm) -> Result<(Jvmti, Vec<String>), String> {
    let jvmti = of(vm, Purpose::Events)?;
    jvmti
        .set_callbacks(&events::callbacks())
        .map_err(jvmti::meaning)?;
    let mut missing = Vec::new();
    for (bit, what, always) in RECORDING {
        if let Err(code) = jvmti.add_capability(bit) {
            if always {
                missing.push(format!("{what}: {}", jvmti::meaning(code)));
            }
        }
    }
    Ok((jvmti, missing))
}

/// Another agent may sample allocations from now on.
pub(crate) fn give_up_sampling(jvmti: Jvmti) {
    // It may not have had the capability.
    let _ = jvmti.relinquish_capability(capability::SAMPLED_ALLOCATIONS);
}

/// An environment whose tags are for this purpose.
pub(crate) fn tags(vm: Vm, purpose: Purpose) -> Result<Jvmti, String> {
    let jvmti = of(vm, purpose)?;
    jvmti
        .add_capability(capability::TAG_OBJECTS)
        .map_err(|code| format!("objects cannot be tagged: {}", jvmti::meaning(code)))?;
    Ok(jvmti)
}

/// An environment that knows methods on stacks.
pub(crate) fn sites(vm: Vm) -> Result<Jvmti, String> {
    let jvmti = of(vm, Purpose::Sites)?;
    let useful = [
        capability::SOURCE_FILE_NAME,
        capability::LINE_NUMBERS,
        capability::VIRTUAL_THREADS,
    ];
    for bit in useful {
        // Without it places are less precise.
        let _ = jvmti.add_capability(bit);
    }
    Ok(jvmti)
}

fn of(vm: Vm, purpose: Purpose) -> Result<Jvmti, String> {
    let mut made = locked(&MADE);
    let place = &mut made[purpose as usize];
    if place.is_none() {
        *place = Jvmti::new(vm);
    }
    place.ok_or_else(|| "the JVM offers no further JVMTI environment".to_owned())
}

/// Takes the tags of all objects back, while everything stands still. Objects that are not reachable may keep theirs until they
/// are collected.
pub(crate) fn clear_tags(tags: Jvmti) -> Result<(), Code> {
    tags.iterate_tagged(untag, &mut ())
}

extern "C" fn untag(_: i64, _: i64, tag: *mut i64, _: i32, _: *mut c_void) -> i32 {
    // SAFETY: the JVM passes the place of the object's tag.
    unsafe { *tag = 0 };
    jvmti::VISIT_OBJECTS
}
