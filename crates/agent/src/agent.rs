//! The agent's own thread in the JVM: says hello, then carries out one order after the other until the recorder is gone
//! or says stop, and then takes everything away that the agent brought.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anthill_wire::{
    Assertions, CountAssertions, DumpWhenExhausted, ExhaustionPrepared, Follow, FromAgent, Gc,
    Goodbye, GoodbyeReason, SetSampling, StateDone, TakeWalk, ToAgent,
};

use crate::assertions::{self, State};
use crate::clock;
use crate::dump::{Dumper, Management, Stopwatch};
use crate::environments::{self, Purpose};
use crate::events::{self, RECORDED};
use crate::exhaustion::Exhaustion;
use crate::follow::{self, Reading, handles_hold_addresses};
use crate::headroom::Headroom;
use crate::hello::{heap_sizes, hello};
use crate::jni::{Argument, Jni, Vm};
use crate::jvmti::{self, AgentFunction, Jvmti, event};
use crate::session::{Session, Slot, ThreadFields, Work, locked};
use crate::symbols::Met;
use crate::walk::Walker;
use crate::{plain, regions};

const GOODBYE: Duration = Duration::from_secs(5);
/// How long the end of a recording waits for events that are being worked on.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// Starts the recording: the agent's thread in the JVM and the events.
pub(crate) fn start(session: &Arc<Session>, vm: Vm, jni: Jni) -> Result<(), String> {
    connect(session, jni)?;
    let start = Start {
        session: Arc::clone(session),
        vm,
    };
    run_thread(session.jvmti, jni, run, start)
}

/// Records on the calling thread, which is one of the agent's, until the recorder is gone.
pub(crate) fn serve(session: &Arc<Session>, vm: Vm, jni: Jni) {
    match connect(session, jni) {
        Ok(()) => run_session(session, vm, jni),
        Err(_) => drop(abandon(session, jni)),
    }
}

/// Ends a recording that cannot go on; another one can begin once the slot is dropped.
pub(crate) fn abandon(session: &Session, jni: Jni) -> Option<Slot> {
    session.disconnect();
    take_away(session, jni)
}

/// Takes everything away that the agent brought; another recording can begin once the slot is dropped. The environments
/// stay ([`environments`]).
fn take_away(session: &Session, jni: Jni) -> Option<Slot> {
    stop_events(session);
    // Taking it back cannot fail.
    let _ = dump_when_exhausted(session, jni, None);
    session.uninstall(LAST_EVENTS);
    locked(&session.followed).close(jni);
    let tags = locked(&session.tags).take();
    if let Some(tags) = tags {
        // A tag that stays means nothing to others and goes with its object.
        let _ = environments::clear_tags(tags);
    }
    untag_classes(session.jvmti, jni);
    session.give_slot()
}

/// Has the JVM write a dump to this path at its first OutOfMemoryError, or do what it did before.
fn dump_when_exhausted(session: &Session, jni: Jni, path: Option<&str>) -> Result<(), String> {
    let mut exhaustion = locked(&session.exhaustion);
    if let Some(former) = exhaustion.take() {
        former.take_back(jni);
    }
    *exhaustion = path
        .map(|path| Exhaustion::prepare(jni, path))
        .transpose()?;
    Ok(())
}

fn stop_events(session: &Session) {
    match plain::state() {
        // Nobody else sees what regions allocate.
        State::Alone => regions::keep(session.jvmti),
        _ => {
            regions::withdraw(session.jvmti);
            environments::give_up_sampling(session.jvmti);
        }
    }
    let recorded = RECORDED.iter().map(|&(event, _)| event);
    let others = recorded.filter(|&event| event != event::SAMPLED_ALLOCATION);
    for event in others.chain([event::VM_DEATH]) {
        // It may have been refused.
        let _ = session.jvmti.enable(event, false);
    }
}

fn untag_classes(jvmti: Jvmti, jni: Jni) {
    let untagged = jni.in_large_frame(|| {
        let classes = jvmti.loaded_classes().map_err(jvmti::meaning)?;
        classes.into_iter().for_each(|class| {
            let _ = jvmti.set_tag(class, 0);
        });
        Ok(())
    });
    // A class keeps its id then, which the next recording reports.
    drop(untagged);
}

fn connect(session: &Arc<Session>, jni: Jni) -> Result<(), String> {
    let fields = jni.in_frame(|| {
        let class = jni.find_class(c"java/lang/Thread")?;
        Ok(ThreadFields {
            id: jni.field(class, c"tid", c"J")?,
            name: jni.field(class, c"name", c"Ljava/lang/String;")?,
        })
    });
    match fields {
        Ok(fields) => drop(session.thread_fields.set(fields)),
        Err(why) => locked(&session.missing).push(format!("threads: {why}")),
    }
    session
        .connect()
        .map_err(|e| format!("cannot start threads for the connection: {e}"))?;
    enable_events(session);
    Ok(())
}

/// Runs the function on a new thread of the JVM, with the argument in a box.
pub(crate) fn run_thread<T>(
    jvmti: Jvmti,
    jni: Jni,
    function: AgentFunction,
    argument: T,
) -> Result<(), String> {
    let thread = jni.in_frame(|| {
        let class = jni.find_class(c"java/lang/Thread")?;
        let constructor = jni.method(class, c"<init>", c"(Ljava/lang/String;)V")?;
        let name = jni.new_string("anthill agent")?;
        let thread = jni.new_object(class, constructor, &[Argument::object(name)])?;
        Ok(jni.new_global(thread))
    })?;
    let argument = Box::into_raw(Box::new(argument));
    let started = jvmti.run_agent_thread(thread, function, argument.cast::<c_void>());
    jni.delete_global(thread);
    started.map_err(|code| {
        // SAFETY: the thread was not started, so the box is still ours.
        drop(unsafe { Box::from_raw(argument) });
        format!(
            "cannot start a thread for the agent: {}",
            jvmti::meaning(code)
        )
    })
}

struct Start {
    session: Arc<Session>,
    vm: Vm,
}

fn enable_events(session: &Session) {
    for (number, what) in RECORDED {
        let enabled = match number {
            event::SAMPLED_ALLOCATION => regions::sample(session.sampling.load(Ordering::Relaxed)),
            _ => session.jvmti.enable(number, true),
        };
        if let Err(code) = enabled {
            let mut missing = locked(&session.missing);
            // A capability that was refused has been named already.
            if !missing.iter().any(|sentence| sentence.starts_with(what)) {
                missing.push(format!("{what}: {}", jvmti::meaning(code)));
            }
        }
    }
}

extern "C" fn run(_: Jvmti, jni: Jni, argument: *mut c_void) {
    // SAFETY: `start` gave this box to exactly one thread.
    let start = unsafe { Box::from_raw(argument.cast::<Start>()) };
    events::leave_out_this_thread();
    run_session(&start.session, start.vm, jni);
}

fn run_session(session: &Session, vm: Vm, jni: Jni) {
    let recorded = catch_unwind(AssertUnwindSafe(|| record(session, vm, jni)));
    if recorded.is_err() {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _slot = abandon(session, jni);
            assertions::disconnected(jni);
        }));
    }
    session.thread_leaves();
}

fn record(session: &Session, vm: Vm, jni: Jni) {
    let management = Management::new(jni);
    let mut hello = hello(session, jni, &management);
    let reading = reading(session, jni, &hello.collector);
    if let Err(why) = &reading {
        let sentence = format!("identities of objects in dumps: {why}");
        hello.missing.push(sentence);
    }
    let (collector, specification) = (&hello.collector, &hello.specification);
    let searching = follow::searching(collector, specification)
        .map_err(str::to_owned)
        .and_then(|()| Headroom::new(jni, collector, specification));
    hello.searchable = searching.is_ok();
    if let Err(why) = &searching {
        let sentence = format!("identities of data structures: {why}");
        hello.missing.push(sentence);
    }
    session.outbox.open(&FromAgent::Hello(hello));
    session.symbols.list_threads(|| {
        // Without memory for them threads are reported when they allocate.
        let _ = jni.in_large_frame(|| {
            for thread in session.jvmti.all_threads() {
                events::thread_number(session, jni, thread, Met::Listed);
            }
            Ok(())
        });
    });
    assertions::connected(session, jni);

    let mut agent = Agent {
        session,
        vm,
        jni,
        dumper: Dumper {
            management,
            reading,
            searching,
        },
        walker: Walker::default(),
        counted_at: 0,
    };
    loop {
        match agent.work(session.next_work()) {
            Next::GoOn => {}
            Next::TakeAway => return agent.end(),
            Next::Leave => return,
        }
        let cpu = clock::thread_cpu();
        session.spent.agent_cpu_ns.store(cpu, Ordering::Relaxed);
    }
}

fn reading(session: &Session, jni: Jni, collector: &str) -> Result<Reading, String> {
    let reading = Reading::of(collector)
        .ok_or_else(|| format!("the collector {collector:?} is not known"))?;
    if reading != Reading::Direct {
        return Ok(reading);
    }
    let holds = jni.in_large_frame(|| {
        let threads = session.jvmti.all_threads();
        let one = threads.first();
        Ok(one.is_some_and(|&thread| handles_hold_addresses(jni, thread)))
    })?;
    match holds {
        true => Ok(reading),
        false => Err("weak handles of this JVM do not hold addresses".to_owned()),
    }
}

struct Agent<'a> {
    session: &'a Session,
    vm: Vm,
    jni: Jni,
    dumper: Dumper,
    walker: Walker,
    /// The last collection before assertions were counted.
    counted_at: u32,
}

/// What comes after a piece of work.
enum Next {
    GoOn,
    /// The recording is over, the program goes on.
    TakeAway,
    /// The JVM ends.
    Leave,
}

impl Agent<'_> {
    fn work(&mut self, work: Work) -> Next {
        let session = self.session;
        match work {
            Work::JvmEnds => return Next::Leave,
            Work::Disconnected | Work::Order(ToAgent::Stop(_)) => return Next::TakeAway,
            Work::ForgetDead => self.dumper.forget_dead(session, self.jni),
            Work::Gc(gc) => session.outbox.gc(self.with_sizes(gc)),
            Work::Order(ToAgent::TakeDump(order)) => {
                let done = self.dumper.take(session, self.vm, self.jni, &order);
                self.report(done);
            }
            Work::Order(ToAgent::TakeWalk(order)) => {
                let done = self.walk(&order);
                self.report(done);
            }
            Work::Order(ToAgent::Collect(order)) => {
                let done = self.collect(order);
                self.report(done);
            }
            Work::Order(ToAgent::SetSampling(sampling)) => self.set_sampling(&sampling),
            Work::Order(ToAgent::HeadClasses(heads)) => {
                locked(&session.followed).set_heads(self.jni, heads);
            }
            Work::Order(ToAgent::CountAssertions(order)) => self.count_assertions(&order),
            Work::Order(ToAgent::CheckDone(done)) => assertions::deliver(self.jni, &done),
            // Whoever waits for it has heard it already.
            Work::Order(ToAgent::LetGo(_)) => {}
            Work::Order(ToAgent::DumpWhenExhausted(order)) => self.prepare_for_exhaustion(&order),
            Work::Order(ToAgent::Flush(number)) => {
                session.outbox.say_now(&FromAgent::Flushed(number));
            }
        }
        Next::GoOn
    }

    fn report(&self, done: StateDone) {
        let cpu = clock::thread_cpu();
        let spent = &self.session.spent;
        spent.agent_cpu_ns.store(cpu, Ordering::Relaxed);
        let followed = locked(&self.session.followed).count() as u64;
        spent.followed.store(followed, Ordering::Relaxed);
        self.session.outbox.say(&self.session.cost());
        self.session.outbox.say_now(&FromAgent::StateDone(done));
    }

    fn collect(&self, order: u32) -> StateDone {
        let stopwatch = Stopwatch::start(self.session);
        let collected = self.session.jvmti.force_gc();
        let mut done = stopwatch.done(self.session, order);
        done.failure = collected.err().map(jvmti::meaning);
        done
    }

    fn count_assertions(&mut self, order: &CountAssertions) {
        if order.collect {
            // What cannot be collected is simply still there.
            let _ = self.session.jvmti.force_gc();
        }
        let gc = self.session.pauses.count();
        let collected = order.collect || gc != self.counted_at;
        self.counted_at = gc;
        let counts = assertions::count(self.jni, collected, order.reported);
        let [dead, survivors, instances, unshared, owned] = counts;
        self.session
            .outbox
            .say_now(&FromAgent::Assertions(Assertions {
                order: order.order,
                dead,
                survivors,
                instances,
                unshared,
                owned,
                gc,
            }));
    }

    fn prepare_for_exhaustion(&self, order: &DumpWhenExhausted) {
        let prepared = dump_when_exhausted(self.session, self.jni, order.path.as_deref());
        let prepared = ExhaustionPrepared {
            failure: prepared.err(),
        };
        let answer = FromAgent::ExhaustionPrepared(prepared);
        self.session.outbox.say_now(&answer);
    }

    fn walk(&mut self, order: &TakeWalk) -> StateDone {
        let searching = self.dumper.searching.as_ref().map_err(Clone::clone);
        let prepared = searching.and_then(|headroom| Ok((headroom, self.walk_tags()?)));
        match prepared {
            Ok((headroom, tags)) => {
                let room = || headroom.wait(self.session, self.jni);
                self.walker.take(self.session, tags, self.jni, order, &room)
            }
            Err(why) => {
                let mut done = Stopwatch::start(self.session).done(self.session, order.order);
                done.failure = Some(why);
                done
            }
        }
    }

    /// The environment of the walks' tags, made when it is first wanted.
    fn walk_tags(&self) -> Result<Jvmti, String> {
        self.dumper.searching.as_ref().map_err(Clone::clone)?;
        let tags = environments::tags(self.vm, Purpose::Walks)?;
        *locked(&self.session.tags) = Some(tags);
        Ok(tags)
    }

    fn set_sampling(&self, sampling: &SetSampling) {
        let session = self.session;
        if sampling.follow == Follow::Tag {
            // Without tags samples have no ids, which is said when a walk is asked for.
            let _ = self.walk_tags();
        }
        session.set_follow(sampling.follow);
        session.sampling.store(sampling.bytes, Ordering::Relaxed);
        // Without the capability it was said in the hello.
        let _ = regions::sample(sampling.bytes);
    }

    /// With heap sizes, where there are no counters.
    fn with_sizes(&self, mut gc: Gc) -> Gc {
        if let Some(sizes) = heap_sizes(self.jni) {
            gc.committed = sizes.committed;
            gc.used_after = sizes.used;
        }
        gc
    }

    /// Takes away everything the agent brought.
    fn end(self) {
        let session = self.session;
        stop_events(session);
        if let Ok(management) = self.dumper.management {
            management.close(self.jni);
        }
        if let Ok(headroom) = self.dumper.searching {
            headroom.close(self.jni);
        }
        session.outbox.say(&session.cost());
        session.outbox.say_last(&FromAgent::Goodbye(Goodbye {
            time_ns: clock::now(),
            reason: GoodbyeReason::Stopped,
        }));
        session.outbox.close(GOODBYE);
        session.disconnect();
        // The next recorder must be told of after this one, so it has to wait for the slot.
        let _slot = take_away(session, self.jni);
        assertions::disconnected(self.jni);
    }
}

impl Session {
    /// How long all threads stood still since the JVM started, in nanoseconds.
    pub(crate) fn stopped_ns(&self) -> Option<u64> {
        let ticks = self.counter("sun.rt.safepointTime")?.get();
        let frequency = self.counter("sun.os.hrt.frequency")?.get();
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(frequency.max(1));
        u64::try_from(ns).ok()
    }

    /// Classes that were ever loaded.
    pub(crate) fn classes_loaded(&self) -> Option<u64> {
        let counted = |name| Some(self.counter(name)?.get());
        Some(counted("java.cls.loadedClasses")? + counted("java.cls.sharedLoadedClasses")?)
    }

    /// Puts the followed objects back, with those that were added meanwhile.
    pub(crate) fn put_back(&self, followed: crate::follow::Followed) {
        let mut current = locked(&self.followed);
        let added = std::mem::replace(&mut *current, followed);
        current.join(added);
    }
}
