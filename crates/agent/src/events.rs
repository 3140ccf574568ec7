//! The JVM's events. They arrive on the program's threads and on the JVM's own: each only copies a few words into the
//! outbox. None may panic into the JVM.

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anthill_wire::{
    Exhausted, Follow, FromAgent, Goodbye, GoodbyeReason, ProgramOver, Sample, ThreadEnd,
};

use crate::clock;
use crate::jni::{Handle, Jni};
use crate::jvmti::{EventCallbacks, FrameInfo, Jvmti, event};
use crate::regions;
use crate::session::{Session, Work, current, locked, visit};
use crate::symbols::Met;

/// How long the end of the JVM may wait for the recorder to take the last messages.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Events that are on while recording; each may be missing.
pub(crate) const RECORDED: [(i32, &str); 6] = [
    (event::GC_START, "garbage collections"),
    (event::GC_FINISH, "garbage collections"),
    (event::RESOURCE_EXHAUSTED, "OutOfMemoryErrors"),
    // Before the starts, so that whoever is seen to start is seen to end.
    (event::THREAD_END, "ends of threads"),
    (event::THREAD_START, "starts of threads"),
    (event::SAMPLED_ALLOCATION, "allocation samples"),
];

thread_local! {
    /// What the agent's own thread allocates is not the program's.
    static OWN_THREAD: Cell<bool> = const { Cell::new(false) };
    /// The interval at this thread's last sample, by which the JVM has chosen when the next one comes.
    static CHOSEN_BY: Cell<u32> = const { Cell::new(0) };
}

/// From now on events of the calling thread are left out.
pub(crate) fn leave_out_this_thread() {
    OWN_THREAD.set(true);
}

pub(crate) fn callbacks() -> EventCallbacks {
    EventCallbacks {
        vm_init: Some(crate::vm_init),
        vm_death: Some(vm_death),
        thread_start: Some(thread_start),
        thread_end: Some(thread_end),
        resource_exhausted: Some(resource_exhausted),
        gc_start: Some(gc_start),
        gc_finish: Some(gc_finish),
        sampled_allocation: Some(sampled_allocation),
        ..EventCallbacks::default()
    }
}

/// Runs an event's work for the current recording and adds it to the cost.
fn counted(work: impl FnOnce(&Session)) {
    if OWN_THREAD.get() {
        return;
    }
    let start = clock::now();
    // A panic is a bug of ours; the program must not notice more than a missing event.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(session) = visit() {
            work(&session);
            session.count_event(start);
        }
    }));
}

extern "C" fn gc_start(_: Jvmti) {
    counted(|session| session.pauses.begin());
}

extern "C" fn gc_finish(_: Jvmti) {
    counted(|session| {
        let gc = session.pauses.end();
        match session.perf {
            Some(_) => session.outbox.gc(gc),
            None => session.give(Work::Gc(gc)),
        }
    });
}

/// After the JVM has written the dump that it may have been told to write. Only the first error counts, since the JVM does not write
/// another one.
extern "C" fn resource_exhausted(_: Jvmti, _: Jni, what: i32, _: *const c_void, _: *const c_char) {
    const JAVA_HEAP: i32 = 2;
    counted(|session| {
        if what & JAVA_HEAP != 0 && !session.exhausted.swap(true, Ordering::Relaxed) {
            let time_ns = clock::now();
            let exhausted = FromAgent::Exhausted(Exhausted { time_ns });
            session.outbox.say_now(&exhausted);
        }
    });
}

extern "C" fn thread_start(_: Jvmti, jni: Jni, thread: Handle) {
    counted(|session| {
        thread_number(session, jni, thread, Met::Started);
    });
}

extern "C" fn thread_end(_: Jvmti, jni: Jni, thread: Handle) {
    counted(|session| {
        let java_id = java_id(session, jni, thread);
        if let Some(number) = java_id.and_then(|id| session.symbols.forget_thread(id)) {
            let time_ns = clock::now();
            let end = ThreadEnd { number, time_ns };
            session.outbox.event(&FromAgent::ThreadEnd(end));
        }
    });
}

/// Nothing while a thread of native code becomes one of the JVM's: its object is not there yet or has no id.
fn java_id(session: &Session, jni: Jni, thread: Handle) -> Option<u64> {
    let fields = session.thread_fields.get()?;
    if thread.is_null() {
        return None;
    }
    let id = jni.long_field(thread, fields.id);
    (id != 0).then_some(id as u64)
}

/// The number of a thread, reported if it is new; 0 if it is not known which one it is.
pub(crate) fn thread_number(session: &Session, jni: Jni, thread: Handle, met: Met) -> u32 {
    let fields = session.thread_fields.get();
    let Some((fields, java_id)) = fields.zip(java_id(session, jni, thread)) else {
        return 0;
    };
    // Not by JVMTI, which expects threads whose constructor has run.
    let name = || jni.text_field(thread, fields.name);
    session.symbols.thread(&session.outbox, java_id, met, name)
}

extern "C" fn sampled_allocation(
    jvmti: Jvmti,
    jni: Jni,
    thread: Handle,
    object: Handle,
    class: Handle,
    size: i64,
) {
    if !OWN_THREAD.get() && regions::are_open() {
        regions::note(object);
    }
    let size = size as u64;
    counted(|session| {
        let interval = session.sampling.load(Ordering::Relaxed);
        if interval == 0 || !regions::is_sample(size, interval) {
            return;
        }
        let time_ns = clock::now();
        let outbox = &session.outbox;
        let sample = Sample {
            time_ns,
            class: session.symbols.class(jvmti, outbox, class),
            size,
            weight: weight(size, chosen_by(interval)),
            thread: thread_number(session, jni, thread, Met::Allocating),
            stack: stack_number(session, jvmti, jni, thread),
            id: follow(session, jni, object),
        };
        outbox.event(&FromAgent::Sample(sample));
    });
}

fn stack_number(session: &Session, jvmti: Jvmti, jni: Jni, thread: Handle) -> u32 {
    const USUAL: usize = 64;
    let mut usual = [FrameInfo::EMPTY; USUAL];
    let mut deep = Vec::new();
    let frames = if session.stacks <= USUAL {
        &mut usual[..session.stacks]
    } else {
        deep.resize(session.stacks, FrameInfo::EMPTY);
        &mut deep[..]
    };
    let count = jvmti.stack(thread, frames);
    match count {
        0 => 0,
        _ => session
            .symbols
            .stack(jvmti, jni, &session.outbox, &frames[..count]),
    }
}

/// The id of a sampled object, if sampled objects are followed.
fn follow(session: &Session, jni: Jni, object: Handle) -> u64 {
    match session.follow() {
        Follow::Nothing => 0,
        Follow::Handle => {
            let mut followed = locked(&session.followed);
            if followed.needs_room(session.pauses.count()) {
                session.give(Work::ForgetDead);
            }
            followed.add_sampled(jni, &session.symbols, object)
        }
        Follow::Tag => {
            let tags = *locked(&session.tags);
            let Some(tags) = tags else { return 0 };
            // A walk that came between the allocation and this event has given it an id.
            match tags.tag(object) {
                0 => {
                    let id = session.symbols.next_id();
                    tags.set_tag(object, id).map_or(0, |()| id)
                }
                id => id,
            }
        }
    }
}

/// The interval by which this thread's sample was chosen; the present one is for the next.
fn chosen_by(interval: u32) -> u32 {
    match CHOSEN_BY.replace(interval) {
        0 => interval,
        former => former,
    }
}

/// The allocated bytes a sample stands for. The JVM lets a number of bytes pass that is distributed exponentially, so an
/// object is met with the probability 1 - e^(-size / interval).
fn weight(size: u64, interval: u32) -> u64 {
    if interval <= 1 {
        return size;
    }
    let size = size as f64;
    let probability = -(-size / f64::from(interval)).exp_m1();
    (size / probability).round() as u64
}

extern "C" fn vm_death(_: Jvmti, _: Jni) {
    let _ = catch_unwind(|| {
        let Some(session) = current() else { return };
        session.outbox.wait_until_open(LAST_WORDS);
        if !session.last_state.is_zero() {
            let over = FromAgent::ProgramOver(ProgramOver {});
            session.outbox.say_now(&over);
            session.wait_until_let_go(session.last_state);
        }
        session.outbox.say(&session.cost());
        session.outbox.say_last(&FromAgent::Goodbye(Goodbye {
            time_ns: clock::now(),
            reason: GoodbyeReason::JvmEnds,
        }));
        session.outbox.close(LAST_WORDS);
        // The JVM waits 0.3 s for a thread that it finds outside of its code.
        session.dismiss_thread(LAST_WORDS);
    });
}

#[cfg(test)]
mod tests {
    use super::weight;

    #[test]
    fn a_sample_stands_for_the_interval_or_for_itself() {
        assert_eq!(weight(24, 1), 24);
        let small = weight(16, 524_288);
        assert!((524_280..=524_300).contains(&small), "{small}");
        assert_eq!(weight(100 << 20, 524_288), 100 << 20);
    }
}
