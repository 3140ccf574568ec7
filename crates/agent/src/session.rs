//! One recording: the connection to the recorder, what is followed, and the threads that work for it. There is at most
//! one at a time, which has the [`Slot`]; the JVM's events find it through [`visit`].

use std::collections::VecDeque;
use std::ops::Deref;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use anthill_wire::{Cost, Follow, Frames, FromAgent, Gc, ToAgent};

use crate::clock;
use crate::exhaustion::Exhaustion;
use crate::follow::Followed;
use crate::gc::{GcCounters, Pauses};
use crate::jni::Member;
use crate::jvmti::Jvmti;
use crate::options::Options;
use crate::outbox::Outbox;
use crate::perf::{Counter, PerfData};
use crate::say;
use crate::symbols::Symbols;

static CURRENT: RwLock<Option<Arc<Session>>> = RwLock::new(None);
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Longer than the end of a recording waits for its recorder and the last events, and than it takes to clear the tags of a large
/// heap.
const SLOT_PATIENCE: Duration = Duration::from_secs(30);
/// How long a killed recorder may go unnoticed, also on a busy machine.
const UNNOTICED: Duration = Duration::from_millis(500);
const COST_EVERY: Duration = Duration::from_secs(1);

/// What the agent thread does next.
pub(crate) enum Work {
    Order(ToAgent),
    /// A pause whose heap sizes only a call into the JVM tells.
    Gc(Gc),
    /// So many objects are followed that the dead ones must make room.
    ForgetDead,
    /// The recorder is gone.
    Disconnected,
    /// The JVM ends; nothing needs to be taken away.
    JvmEnds,
}

/// The right to record, from before the first event until nothing of the recording is left.
pub(crate) struct Slot(());

impl Slot {
    /// Waits for a recording that ends; nothing if it does not end soon, or there is one that goes on.
    pub(crate) fn take() -> Option<Slot> {
        let start = Instant::now();
        loop {
            if let Some(slot) = Slot::take_if_free() {
                return Some(slot);
            }
            let goes_on = current().is_some_and(|other| !other.is_ending());
            let patience = if goes_on { UNNOTICED } else { SLOT_PATIENCE };
            if start.elapsed() > patience {
                return None;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn take_if_free() -> Option<Slot> {
        let free = !TAKEN.swap(true, Ordering::AcqRel);
        // Made only if it is free: dropping one would free it.
        free.then(|| Slot(()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

#[derive(Default)]
struct Inbox {
    work: VecDeque<Work>,
}

/// Fields of `java.lang.Thread`.
pub(crate) struct ThreadFields {
    pub id: Member,
    pub name: Member,
}

pub(crate) struct Session {
    /// Events and the ids of classes.
    pub jvmti: Jvmti,
    /// Tags for walks, once one was asked for or sampled objects are followed by tags.
    pub tags: Mutex<Option<Jvmti>>,
    pub attached: bool,
    pub stacks: usize,
    pub outbox: Outbox,
    pub symbols: Symbols,
    pub followed: Mutex<Followed>,
    pub pauses: Pauses,
    pub perf: Option<PerfData>,
    pub sampling: AtomicU32,
    follow: AtomicU8,
    pub thread_fields: OnceLock<ThreadFields>,
    pub missing: Mutex<Vec<String>>,
    /// How long the end of the JVM may wait for the recorder's last orders.
    pub last_state: Duration,
    /// What the JVM does by itself at its first OutOfMemoryError, if anything.
    pub exhaustion: Mutex<Option<Exhaustion>>,
    /// The heap was exhausted at least once.
    pub exhausted: AtomicBool,
    pub spent: Spent,
    stream: UnixStream,
    inbox: Mutex<Inbox>,
    wake: Condvar,
    ending: AtomicBool,
    let_go: AtomicBool,
    thread_left: AtomicBool,
    slot: Mutex<Option<Slot>>,
    /// Events that are being worked on.
    visits: AtomicU32,
}

/// What the agent cost.
#[derive(Default)]
pub(crate) struct Spent {
    pub events: AtomicU64,
    pub event_ns: AtomicU64,
    pub agent_cpu_ns: AtomicU64,
    writer_cpu_ns: AtomicU64,
    pub followed: AtomicU64,
}

impl Session {
    pub(crate) fn new(
        slot: Slot,
        jvmti: Jvmti,
        stream: UnixStream,
        options: &Options,
        attached: bool,
        mut missing: Vec<String>,
    ) -> Session {
        let perf = match PerfData::find() {
            Ok(perf) => Some(perf),
            Err(why) => {
                missing.push(format!(
                    "kinds, causes and pauses of garbage collections: {why}"
                ));
                None
            }
        };
        let pauses = Pauses::new(perf.as_ref().map(GcCounters::new));
        missing.extend(pauses.caveat().map(str::to_owned));
        Session {
            jvmti,
            tags: Mutex::new(None),
            attached,
            stacks: options.stacks,
            outbox: Outbox::new(),
            symbols: Symbols::default(),
            followed: Mutex::new(Followed::default()),
            pauses,
            perf,
            sampling: AtomicU32::new(options.sample),
            follow: AtomicU8::new(Follow::Nothing as u8),
            thread_fields: OnceLock::new(),
            missing: Mutex::new(missing),
            last_state: options.last_state,
            exhaustion: Mutex::new(None),
            exhausted: AtomicBool::new(false),
            spent: Spent::default(),
            stream,
            inbox: Mutex::new(Inbox::default()),
            wake: Condvar::new(),
            ending: AtomicBool::new(false),
            let_go: AtomicBool::new(false),
            thread_left: AtomicBool::new(false),
            slot: Mutex::new(Some(slot)),
            visits: AtomicU32::new(0),
        }
    }

    /// Makes it the current one; it has the slot, so there is no other.
    pub(crate) fn install(self: &Arc<Session>) {
        *CURRENT.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(self));
    }

    /// From now on events find nothing. Waits some time for those that are being worked on.
    pub(crate) fn uninstall(&self, patience: Duration) {
        *CURRENT.write().unwrap_or_else(PoisonError::into_inner) = None;
        wait_until(patience, || self.visits.load(Ordering::Acquire) == 0);
    }

    /// Another recording can begin once the slot is dropped.
    pub(crate) fn give_slot(&self) -> Option<Slot> {
        locked(&self.slot).take()
    }

    /// Starts the threads that talk to the recorder. They are not the JVM's: it does not stop or count them.
    pub(crate) fn connect(self: &Arc<Session>) -> std::io::Result<()> {
        let reading = Arc::clone(self);
        let orders = self.stream.try_clone()?;
        let stack = 256 << 10;
        spawn("anthill-orders", stack, move || {
            reading.read_orders(orders);
        })?;
        let writing = Arc::clone(self);
        spawn("anthill-events", stack, move || writing.write_events())
    }

    /// Ends the connection; the threads that talk to the recorder end with it.
    pub(crate) fn disconnect(&self) {
        self.ending.store(true, Ordering::Release);
        // It may be closed already.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        // Whoever sends may still wait for a hello that does not come.
        self.outbox.end();
    }

    /// Whether the recorder is gone or said stop, so that long work should end.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    pub(crate) fn follow(&self) -> Follow {
        Follow::from_number(self.follow.load(Ordering::Relaxed)).unwrap_or(Follow::Nothing)
    }

    pub(crate) fn set_follow(&self, follow: Follow) {
        self.follow.store(follow as u8, Ordering::Relaxed);
    }

    pub(crate) fn give(&self, work: Work) {
        locked(&self.inbox).work.push_back(work);
        self.wake.notify_one();
    }

    /// Sends the agent's thread away before everything else it has to do, and waits until it leaves or the time is over.
    pub(crate) fn dismiss_thread(&self, patience: Duration) {
        locked(&self.inbox).work.push_front(Work::JvmEnds);
        self.wake.notify_one();
        wait_until(patience, || self.thread_left.load(Ordering::Acquire));
    }

    /// Waits until the recorder has no more orders, is gone, or the time is over.
    pub(crate) fn wait_until_let_go(&self, patience: Duration) {
        wait_until(patience, || {
            self.let_go.load(Ordering::Acquire) || self.is_ending()
        });
    }

    pub(crate) fn thread_leaves(&self) {
        self.thread_left.store(true, Ordering::Release);
    }

    /// Waits for something to do.
    pub(crate) fn next_work(&self) -> Work {
        let mut inbox = locked(&self.inbox);
        loop {
            if let Some(work) = inbox.work.pop_front() {
                return work;
            }
            inbox = self
                .wake
                .wait(inbox)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A counter of the JVM, if it keeps counters.
    pub(crate) fn counter(&self, name: &str) -> Option<Counter> {
        self.perf.as_ref()?.counter(name)
    }

    /// Adds an event that took since `start` to the cost.
    pub(crate) fn count_event(&self, start: u64) {
        if self.outbox.is_given_up() && !self.is_ending() {
            self.disconnect();
        }
        self.spent.events.fetch_add(1, Ordering::Relaxed);
        let took = clock::now().saturating_sub(start);
        self.spent.event_ns.fetch_add(took, Ordering::Relaxed);
    }

    pub(crate) fn cost(&self) -> FromAgent {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FromAgent::Cost(Cost {
            time_ns: clock::now(),
            agent_cpu_ns: read(&self.spent.agent_cpu_ns) + read(&self.spent.writer_cpu_ns),
            events: read(&self.spent.events),
            event_ns: read(&self.spent.event_ns),
            followed: read(&self.spent.followed),
        })
    }

    fn read_orders(&self, stream: UnixStream) {
        let mut frames = Frames::new(stream);
        while let Ok(Some(frame)) = frames.next_frame() {
            match ToAgent::decode(frame) {
                Ok(order) => {
                    match order {
                        ToAgent::Stop(_) => self.ending.store(true, Ordering::Release),
                        ToAgent::LetGo(_) => self.let_go.store(true, Ordering::Release),
                        _ => {}
                    }
                    self.give(Work::Order(order));
                }
                Err(why) => {
                    say(&format!(
                        "cannot decode an order, ending the recording: {why}"
                    ));
                    break;
                }
            }
        }
        self.ending.store(true, Ordering::Release);
        self.give(Work::Disconnected);
    }

    fn write_events(&self) {
        let mut last_cost = None;
        let broken = self.outbox.send_to(&self.stream, || {
            let cpu = clock::thread_cpu();
            self.spent.writer_cpu_ns.store(cpu, Ordering::Relaxed);
            if last_cost.is_none_or(|last: Instant| last.elapsed() > COST_EVERY) {
                last_cost = Some(Instant::now());
                self.outbox.say(&self.cost());
            }
        });
        if broken.is_err() {
            self.disconnect();
        }
    }
}

fn wait_until(patience: Duration, is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + patience;
    while !is_done() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}

/// An event that is being worked on for a recording, whose end waits for it.
pub(crate) struct Visit(Arc<Session>);

impl Deref for Visit {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.visits.fetch_sub(1, Ordering::Release);
    }
}

/// For an event: the recording that is going on, if any.
pub(crate) fn visit() -> Option<Visit> {
    let current = CURRENT.read().unwrap_or_else(PoisonError::into_inner);
    let session = current.as_ref()?;
    // Under the lock, so that whoever uninstalls the session sees it.
    session.visits.fetch_add(1, Ordering::Relaxed);
    Some(Visit(Arc::clone(session)))
}

/// The recording that is going on, if any.
pub(crate) fn current() -> Option<Arc<Session>> {
    CURRENT
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that gets no signals: they are for the program.
pub(crate) fn spawn(
    name: &str,
    stack: usize,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(stack)
        .spawn(move || {
            block_signals();
            work();
        })?;
    Ok(())
}

fn block_signals() {
    // SAFETY: the set is initialised by sigfillset before it is used, and only this thread's mask changes.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}
