//! Classes, methods, stacks and threads that were reported already. The lock is never held during a call into the
//! JVM: a thread that waits there for a pause to end would hold up everybody else.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anthill_wire::{Class, Frame, FromAgent, Method, Stack, Thread};

use crate::clock;
use crate::jni::{Handle, Jni, Member};
use crate::jvmti::{FrameInfo, Jvmti};
use crate::outbox::Outbox;

/// When more are known, all are forgotten and reported again: memory stays bounded whatever the program does.
const MOST_STACKS: usize = 100_000;
const MOST_METHODS: usize = 500_000;
const MOST_PASSING: usize = 100_000;
const MOST_CLASSES: usize = 500_000;

/// Ids of objects and classes are never given twice, so that a tag which an earlier recording left means nothing else.
static LAST_ID: AtomicU64 = AtomicU64::new(0);
/// Tells the recordings apart in what threads remember.
static LAST_RECORDING: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The recording, the Java id and the number of the thread that this one was last: a carrier is many virtual threads.
    static LAST_THREAD: Cell<(u64, u64, u32)> = const { Cell::new((0, 0, 0)) };
}

#[derive(Default)]
struct Known {
    methods: HashMap<Member, u32>,
    stacks: HashMap<Box<[FrameKey]>, u32>,
    /// By Java id: those whose end will be told.
    threads: HashMap<u64, u32>,
    /// Others that allocated: virtual ones.
    passing: HashMap<u64, u32>,
    /// Those that ended before all threads were listed.
    ended: HashSet<u64>,
    listed: bool,
    /// Classes that were reported in this recording.
    classes: HashSet<u64>,
    last_method: u32,
    last_stack: u32,
    last_thread: u32,
}

/// How the agent met a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// It has just started.
    Started,
    /// It is among the threads of the platform that were there when the recording began.
    Listed,
    /// It allocates, and nothing was told of it before.
    Allocating,
}

/// A frame as a key: the method's number and the place in it.
type FrameKey = (u32, i32);

pub(crate) struct Symbols {
    known: Mutex<Known>,
    recording: u64,
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols {
            known: Mutex::default(),
            recording: LAST_RECORDING.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }
}

impl Symbols {
    /// The next id for an object or class.
    pub(crate) fn next_id(&self) -> u64 {
        LAST_ID.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The id of a class, reported if it is new. Two threads may give a new class two ids; both are reported, and the
    /// later one stays.
    pub(crate) fn class(&self, jvmti: Jvmti, outbox: &Outbox, class: Handle) -> u64 {
        let id = match jvmti.tag(class) {
            0 => {
                let id = self.next_id();
                // Without the tag it is reported again next time.
                let _ = jvmti.set_tag(class, id);
                id
            }
            id => id,
        };
        self.report_class(jvmti, outbox, class, id);
        id
    }

    /// Reports a class under its id, once.
    pub(crate) fn report_class(&self, jvmti: Jvmti, outbox: &Outbox, class: Handle, id: u64) {
        if self.lock().classes.contains(&id) {
            return;
        }
        let signature = jvmti.class_signature(class).unwrap_or_default();
        let mut known = self.lock();
        if known.classes.len() >= MOST_CLASSES {
            known.classes.clear();
        }
        // While the lock is held, so that nobody takes it for reported before it is.
        if known.classes.insert(id) {
            outbox.say(&FromAgent::Class(Class { id, signature }));
        }
    }

    /// The number of a thread, reported if it is new; 0 if it has ended meanwhile. Threads are told apart by their Java ids: what
    /// JVMTI keeps for a thread is not safe to use for any thread but the calling one.
    pub(crate) fn thread(
        &self,
        outbox: &Outbox,
        java_id: u64,
        met: Met,
        name: impl FnOnce() -> String,
    ) -> u32 {
        if let Some(number) = self.last_thread(java_id) {
            return number;
        }
        let known = self.lock().thread(java_id);
        let number = known.unwrap_or_else(|| self.new_thread(outbox, java_id, met, name()));
        LAST_THREAD.set((self.recording, java_id, number));
        number
    }

    /// The number of the thread that the calling one was last, if it is this one.
    fn last_thread(&self, java_id: u64) -> Option<u32> {
        let (recording, last, number) = LAST_THREAD.get();
        ((recording, last) == (self.recording, java_id)).then_some(number)
    }

    fn new_thread(&self, outbox: &Outbox, java_id: u64, met: Met, name: String) -> u32 {
        let mut known = self.lock();
        if let Some(number) = known.thread(java_id) {
            return number;
        }
        if met == Met::Listed && known.ended.contains(&java_id) {
            return 0;
        }
        let number = known.add_thread(java_id, met);
        outbox.say(&FromAgent::Thread(Thread {
            number,
            time_ns: clock::now(),
            java_id,
            name,
            // A start that was not reported came before the agent.
            earlier: met != Met::Started,
        }));
        number
    }

    /// Lists the threads that are there, once. Those that ended before are remembered until then: the JVM may list one that has told
    /// its end.
    pub(crate) fn list_threads(&self, list: impl FnOnce()) {
        list();
        let mut known = self.lock();
        known.listed = true;
        known.ended = HashSet::new();
    }

    /// The number of the calling thread, which ends, if it was reported.
    pub(crate) fn forget_thread(&self, java_id: u64) -> Option<u32> {
        let mut known = self.lock();
        let number = known.forget_thread(java_id);
        if number.is_none() && !known.listed {
            known.ended.insert(java_id);
        }
        number.or_else(|| self.last_thread(java_id))
    }

    /// The number of a stack, reported if it is new. The caller is the thread whose stack it is, so that no class of
    /// a method on it can be unloaded meanwhile.
    pub(crate) fn stack(
        &self,
        jvmti: Jvmti,
        jni: Jni,
        outbox: &Outbox,
        frames: &[FrameInfo],
    ) -> u32 {
        if let Some(number) = self.known_stack(frames) {
            return number;
        }
        for method in self.unknown_methods(frames) {
            self.resolve(jvmti, jni, outbox, method);
        }
        self.new_stack(outbox, frames)
    }

    /// The number of a method that was reported, or a new number under which it will be, by [`Symbols::report`]; whether
    /// it is new. Nobody else can name it before that.
    pub(crate) fn method_number(&self, method: Member) -> (u32, bool) {
        let mut known = self.lock();
        match known.methods.get(&method) {
            Some(&number) => (number, false),
            None => {
                known.last_method += 1;
                (known.last_method, true)
            }
        }
    }

    /// Reports a method that got a number but no name.
    pub(crate) fn report(
        &self,
        jvmti: Jvmti,
        jni: Jni,
        outbox: &Outbox,
        method: Member,
        number: u32,
    ) {
        let message = described(jvmti, jni, method, number);
        let mut known = self.lock();
        outbox.say(&message);
        known.methods.entry(method).or_insert(number);
    }

    fn known_stack(&self, frames: &[FrameInfo]) -> Option<u32> {
        let known = self.lock();
        let key = known.key(frames)?;
        known.stacks.get(&key[..]).copied()
    }

    fn unknown_methods(&self, frames: &[FrameInfo]) -> Vec<Member> {
        let known = self.lock();
        frames
            .iter()
            .map(|frame| frame.method)
            .filter(|method| !known.methods.contains_key(method))
            .collect()
    }

    fn resolve(&self, jvmti: Jvmti, jni: Jni, outbox: &Outbox, method: Member) {
        let mut message = described(jvmti, jni, method, 0);
        let mut known = self.lock();
        if known.methods.contains_key(&method) {
            return;
        }
        let given = known.add_method(method);
        if let FromAgent::Method(method) = &mut message {
            method.number = given;
        }
        // While the lock is held, so that nobody names it before it is reported.
        outbox.say(&message);
    }

    fn new_stack(&self, outbox: &Outbox, frames: &[FrameInfo]) -> u32 {
        let mut known = self.lock();
        // Another thread may have made everything forgotten since the methods were resolved.
        let Some(key) = known.key(frames) else {
            return 0;
        };
        if let Some(&number) = known.stacks.get(&key[..]) {
            return number;
        }
        if known.stacks.len() >= MOST_STACKS {
            known.stacks.clear();
        }
        known.last_stack += 1;
        let number = known.last_stack;
        let frames = key
            .iter()
            .map(|&(method, location)| Frame { method, location });
        outbox.say(&FromAgent::Stack(Stack {
            number,
            frames: frames.collect(),
        }));
        known.stacks.insert(key.into(), number);
        number
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn thread(&self, java_id: u64) -> Option<u32> {
        let lasting = self.threads.get(&java_id);
        lasting.or_else(|| self.passing.get(&java_id)).copied()
    }

    fn add_thread(&mut self, java_id: u64, met: Met) -> u32 {
        self.last_thread += 1;
        let threads = match met {
            Met::Started | Met::Listed => &mut self.threads,
            Met::Allocating => &mut self.passing,
        };
        if met == Met::Allocating && threads.len() >= MOST_PASSING {
            threads.clear();
        }
        threads.insert(java_id, self.last_thread);
        self.last_thread
    }

    fn forget_thread(&mut self, java_id: u64) -> Option<u32> {
        let lasting = self.threads.remove(&java_id);
        lasting.or_else(|| self.passing.remove(&java_id))
    }

    /// Nothing if a method has no number yet.
    fn key(&self, frames: &[FrameInfo]) -> Option<Vec<FrameKey>> {
        frames
            .iter()
            .map(|frame| {
                let location = i32::try_from(frame.location).unwrap_or(-1);
                Some((*self.methods.get(&frame.method)?, location))
            })
            .collect()
    }

    fn add_method(&mut self, method: Member) -> u32 {
        if self.methods.len() >= MOST_METHODS {
            self.methods.clear();
            self.stacks.clear();
        }
        self.last_method += 1;
        self.methods.insert(method, self.last_method);
        self.last_method
    }
}

fn described(jvmti: Jvmti, jni: Jni, method: Member, number: u32) -> FromAgent {
    let message = match jvmti.method(jni, method) {
        Some(info) => Method {
            number,
            class: info.class,
            name: info.name,
            signature: info.signature,
            source: info.source,
            lines: info.lines,
        },
        None => Method {
            number,
            class: String::new(),
            name: "unloaded".to_owned(),
            signature: String::new(),
            source: None,
            lines: Vec::new(),
        },
    };
    FromAgent::Method(message)
}
