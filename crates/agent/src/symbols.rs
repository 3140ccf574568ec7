//! Classes, methods, stacks and threads that were reported already. The lock is never held during a call into the
//! JVM: a thread that waits there for a pause to end would hold up everybody else.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anthill_wire::{Class, Frame, FromAgent, Method, Stack, Thread};

use crate::clock;
use crate::jni::{Handle, Jni, Member};
use crate::jvmti::{FrameInfo, Jvmti};
use crate::outbox::Outbox;

/// When more are known, all are forgotten and reported again: memory stays bounded whatever the program does.
const MOST_STACKS: usize = 100_000;
const MOST_METHODS: usize = 500_000;

#[derive(Default)]
struct Known {
    methods: HashMap<Member, u32>,
    stacks: HashMap<Box<[Place]>, u32>,
    last_method: u32,
    last_stack: u32,
}

/// A frame as a key: the method's number and the place in it.
type Place = (u32, i32);

#[derive(Default)]
pub struct Symbols {
    known: Mutex<Known>,
    last_id: AtomicU64,
    last_thread: AtomicU32,
}

impl Symbols {
    /// The next id for an object or class.
    pub fn next_id(&self) -> u64 {
        self.next_ids(1)
    }

    /// The first of so many ids in a row.
    pub fn next_ids(&self, count: u64) -> u64 {
        self.last_id.fetch_add(count, Ordering::Relaxed) + 1
    }

    /// The id of a class, reported if it is new. Two threads may give a new class two ids; both are reported, and the
    /// later one stays.
    pub fn class(&self, jvmti: Jvmti, outbox: &Outbox, class: Handle) -> u64 {
        match jvmti.tag(class) {
            0 => self.new_class(jvmti, outbox, class),
            id => id,
        }
    }

    fn new_class(&self, jvmti: Jvmti, outbox: &Outbox, class: Handle) -> u64 {
        let id = self.next_id();
        let signature = jvmti.class_signature(class).unwrap_or_default();
        outbox.say(&FromAgent::Class(Class { id, signature }));
        // Without the tag it is reported again next time.
        let _ = jvmti.set_tag(class, id);
        id
    }

    /// The number of a thread, reported if it is new.
    pub fn thread(
        &self,
        jvmti: Jvmti,
        jni: Jni,
        outbox: &Outbox,
        thread: Handle,
        thread_id: Option<Member>,
        earlier: bool,
    ) -> u32 {
        let known = jvmti.thread_word(thread);
        if known != 0 {
            return known as u32;
        }
        let number = self.last_thread.fetch_add(1, Ordering::Relaxed) + 1;
        // A thread that is ending keeps nothing; it is reported again if it is met once more.
        let _ = jvmti.set_thread_word(thread, number as usize);
        outbox.say(&FromAgent::Thread(Thread {
            number,
            time_ns: clock::now(),
            java_id: thread_id.map_or(0, |field| jni.long_field(thread, field) as u64),
            name: jvmti.thread_name(jni, thread).unwrap_or_default(),
            earlier,
        }));
        number
    }

    /// The number of a stack, reported if it is new. The caller is the thread whose stack it is, so that no class of
    /// a method on it can be unloaded meanwhile.
    pub fn stack(&self, jvmti: Jvmti, jni: Jni, outbox: &Outbox, frames: &[FrameInfo]) -> u32 {
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
    pub fn method_number(&self, method: Member) -> (u32, bool) {
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
    pub fn report(&self, jvmti: Jvmti, jni: Jni, outbox: &Outbox, method: Member, number: u32) {
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
    /// Nothing if a method has no number yet.
    fn key(&self, frames: &[FrameInfo]) -> Option<Vec<Place>> {
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
