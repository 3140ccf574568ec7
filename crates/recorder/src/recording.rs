//! The recording of one JVM: what the agent says goes to the trace, and states are ordered when
//! they are due and affordable.

mod checking;
mod ending;

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anthill_hprof::DiskSpace;
use anthill_trace::{self as trace, Event, Facts, Moment, StateKind, TraceWriter};
use anthill_wire::{self as wire, Frames, FromAgent, ToAgent};

use crate::budget::{Budget, Cost};
use crate::checks::{Checks, FoundViolation};
use crate::clock::{Clock, own_cpu};
use crate::control::{self, Reply, Request};
use crate::convert::{Converted, Converter, Job, Source, Written};
use crate::events::Events;
use crate::heap_walk::ClassTable;
use crate::options::FIRST_SAMPLING;
use crate::sampling::Sampling;
use crate::schedule::{Means, Schedule};
use crate::spool::Spool;
use crate::{Error, Identity, Jvm, RecordingOptions, When};
use ending::Ending;

/// How often the time is looked at.
const TICK: Duration = Duration::from_millis(250);
/// How often waiting events are written: each time makes a block. More rarely when the recording is long, so that one
/// of months has not too many of them.
const WRITE_TICK: Duration = Duration::from_secs(1);
const LONGEST_WRITE_TICK: Duration = Duration::from_secs(10);
const WRITE_TICKS: u32 = 1000;
/// Objects that are followed by weak handles at the same time: each makes the pause of a state about
/// 300 ns longer.
const MOST_FOLLOWED: u32 = 100_000;
/// Before the first state is written, space for this much per byte of heap is asked for: with contents it takes up to a fifth of
/// its dump, without them a small part of that.
const FIRST_STATE_PER_HEAP: f64 = 0.1;
const FIRST_STATE_WITH_CONTENTS: f64 = 0.4;

/// The releases with virtual threads whose dumps have only those that are running.
const HIDE_VIRTUAL_THREADS: [&str; 3] = ["19", "20", "21"];

enum Input {
    Agent(FromAgent),
    /// The connection ended; the reason, unless the agent said goodbye.
    AgentGone(Option<String>),
    Control(Request, Reply),
    Converted(Converted),
    /// What a check has found, and the processor time it took.
    Checked(Result<Vec<FoundViolation>, String>, Duration),
}

/// A state that was ordered.
struct Taking {
    order: u32,
    path: PathBuf,
    mark: Option<String>,
    reply: Option<Reply>,
    heap: u64,
    identities: Vec<(u64, u64)>,
}

/// A state that lies on disk and is not yet in the trace.
struct Converting {
    reply: Option<Reply>,
    heap: u64,
    /// How long the program stood still for it.
    pause: Duration,
}

/// What is known of a state when it lies on disk.
struct OnDisk {
    path: PathBuf,
    source: Source,
    mark: Option<String>,
    /// Nanoseconds since the start.
    time: u64,
    /// The last collection before it; 0 for none.
    gc: u32,
    waiting: Converting,
    /// Whether somebody waits for it.
    urgent: bool,
}

pub(crate) struct Recording {
    options: RecordingOptions,
    hello: wire::Hello,
    clock: Clock,
    agent: UnixStream,
    inputs: Receiver<Input>,
    /// For threads that report to this one.
    sender: Sender<Input>,
    /// Nothing if only assertions are checked.
    writer: Option<Arc<Mutex<TraceWriter>>>,
    converter: Option<Converter>,
    spool: Spool,
    events: Events,
    budget: Budget,
    schedule: Schedule,
    checks: Checks,
    classes: ClassTable,
    taking: Option<Taking>,
    /// In the order in which they are converted.
    converting: VecDeque<Converting>,
    ending: Ending,
    orders: u32,
    states: u32,
    dropped_states: u32,
    /// Bytes of the trace per byte of heap, of the last state.
    state_per_heap: f64,
    /// What a state has to expect, garbage included.
    used_heap: u64,
    /// Bytes in use after the last collection.
    live_heap: u64,
    last_gc: u32,
    sampling: Sampling,
    stopping: Option<Reply>,
    /// When events were last written.
    written: Duration,
    /// The last failure to write, told once.
    trouble: Option<String>,
    /// The recorder's processor time that the trace has been told of.
    told_cpu: Duration,
}

/// Says something to the person who started the recording.
pub(crate) type Say = fn(&str);

impl Recording {
    /// Greets the agent that connected and starts its trace.
    pub(crate) fn start(
        stream: UnixStream,
        mut options: RecordingOptions,
        index: usize,
        control: impl FnOnce(u32) -> Result<UnixListener, Error>,
    ) -> Result<Self, Error> {
        let reading = stream
            .try_clone()
            .map_err(|source| Error::file(Path::new("agent"), source))?;
        let mut frames = Frames::new(reading);
        let mut hello = greet(&mut frames)?;
        hello.missing.extend(unfit(&options, &hello));
        if options.identity == Identity::All && !hello.searchable {
            options.identity = Identity::Heads;
        }
        let trace = options.trace.then(|| options.trace_of(hello.pid, index));
        let (writer, beside) = match &trace {
            Some(trace) => {
                let writer = TraceWriter::create(trace, &facts(&hello, &options))?;
                (
                    Some(Arc::new(Mutex::new(writer))),
                    folder_of(trace).to_owned(),
                )
            }
            None => (None, std::env::temp_dir()),
        };
        let spool = Spool::new(options.spool.as_deref(), &beside, hello.pid)?;
        let (sender, inputs) = mpsc::channel();
        control::serve(control(hello.pid)?, sender.clone(), Input::Control);
        listen(frames, sender.clone());
        let converter = writer.clone().map(|writer| {
            let sender = sender.clone();
            Converter::start(writer, options.analysis, move |converted| {
                // Nobody waits for it any more if the recording is over.
                let _ = sender.send(Input::Converted(converted));
            })
        });
        let state_per_heap = match options.contents {
            true => FIRST_STATE_WITH_CONTENTS,
            false => FIRST_STATE_PER_HEAP,
        };
        let mut recording = Recording {
            clock: Clock::new(hello.now_ns),
            budget: Budget::new(options.overhead, hello.cores),
            schedule: Schedule::new(options.when),
            checks: Checks::new(options.checking.clone()),
            events: Events::new(hello.now_ns),
            options,
            agent: stream,
            inputs,
            sender,
            writer,
            converter,
            spool,
            classes: ClassTable::new(&hello),
            taking: None,
            converting: VecDeque::new(),
            ending: Ending::default(),
            orders: 0,
            states: 0,
            dropped_states: 0,
            state_per_heap,
            used_heap: hello.used_heap,
            live_heap: hello.used_heap,
            last_gc: 0,
            sampling: Sampling::new(FIRST_SAMPLING),
            stopping: None,
            written: Duration::ZERO,
            trouble: None,
            told_cpu: Duration::ZERO,
            hello,
        };
        recording.instruct();
        Ok(recording)
    }

    /// Where the recording goes to; nothing if only assertions are checked.
    pub(crate) fn trace(&self) -> Option<PathBuf> {
        let writer = self.writer.as_ref()?;
        Some(locked(writer).path().to_owned())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.hello.pid
    }

    /// What this JVM cannot deliver, a sentence each.
    pub(crate) fn missing(&self) -> &[String] {
        &self.hello.missing
    }

    /// How sampled objects are followed.
    fn follow(&self) -> wire::Follow {
        match self.options.identity {
            Identity::None => wire::Follow::Nothing,
            Identity::Heads => wire::Follow::Handle,
            Identity::All => wire::Follow::Tag,
        }
    }

    /// Tells the agent what to follow.
    fn instruct(&mut self) {
        if self.writer.is_none() {
            return;
        }
        let follow = self.follow();
        if self.options.identity == Identity::Heads {
            let heads = self.options.heads.iter().map(|name| wire::HeadClass {
                name: name.replace('.', "/"),
                subclasses: true,
            });
            let heads = heads.collect();
            self.send(&ToAgent::HeadClasses(heads));
        }
        self.send(&ToAgent::SetSampling(wire::SetSampling {
            bytes: FIRST_SAMPLING,
            follow,
        }));
        self.prepare_for_exhaustion();
    }

    /// A connection that is gone shows in the reading thread.
    fn send(&mut self, order: &ToAgent) {
        let mut bytes = Vec::new();
        order.encode(&mut bytes);
        let _ = self.agent.write_all(&bytes);
    }

    /// Records until the JVM ends or somebody says stop; returns how it went, for people.
    pub(crate) fn run(mut self, say: Say) -> String {
        loop {
            let ended = match self.inputs.recv_timeout(TICK) {
                Ok(Input::Agent(message)) => self.hear(message),
                Ok(Input::AgentGone(reason)) => {
                    self.agent_gone(reason);
                    true
                }
                Ok(Input::Control(request, reply)) => {
                    self.answer(request, reply);
                    false
                }
                Ok(Input::Converted(converted)) => {
                    self.state_written(converted);
                    false
                }
                Ok(Input::Checked(result, cpu)) => {
                    self.checked(result, cpu);
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if ended {
                break;
            }
            self.tick(say);
        }
        self.finish(say)
    }

    /// Takes in what the agent says; true after its last message.
    fn hear(&mut self, message: FromAgent) -> bool {
        match message {
            FromAgent::Gc(gc) => self.collected(gc),
            FromAgent::Identities(identities) => {
                let taking = self.taking.as_mut();
                if let Some(taking) = taking.filter(|one| one.order == identities.order) {
                    taking.identities.extend(identities.objects);
                }
            }
            FromAgent::StateDone(done) => match self.checks.dumping(done.order) {
                Some((run, path)) => self.look_at(run, path, &done),
                None => self.state_taken(done),
            },
            FromAgent::Asserts(_) => self.checks.program_asserts(),
            FromAgent::CheckAsked(asked) => {
                self.checks.ask(asked);
                self.check_if_due();
            }
            FromAgent::Assertions(counts) => self.counted(&counts),
            FromAgent::Shape(shape) => self.classes.add_shape(shape),
            FromAgent::Cost(cost) => {
                self.events.agent_cost(&cost);
                self.tune_sampling(&cost);
            }
            FromAgent::Class(class) => {
                self.classes.add_class(&class);
                self.events.add(FromAgent::Class(class));
            }
            FromAgent::Method(method) => {
                self.classes.add_method(&method);
                self.events.add(FromAgent::Method(method));
            }
            FromAgent::Thread(thread) => {
                self.classes.add_thread(&thread);
                self.events.add(FromAgent::Thread(thread));
            }
            FromAgent::ProgramOver(_) => self.program_over(),
            FromAgent::Exhausted(exhausted) => {
                let time = self.clock.since_start(exhausted.time_ns);
                self.take_dump_of_exhaustion(time);
            }
            FromAgent::ExhaustionPrepared(prepared) => self.exhaustion_prepared(prepared),
            FromAgent::Goodbye(_) => return true,
            FromAgent::Hello(_) | FromAgent::Flushed(_) => {}
            other => self.events.add(other),
        }
        false
    }

    /// Whether a state was ordered that is not yet in the trace.
    fn has_pending_state(&self) -> bool {
        self.taking.is_some() || !self.converting.is_empty()
    }

    fn collected(&mut self, gc: wire::Gc) {
        if gc.used_after > 0 {
            self.used_heap = gc.used_after;
            self.live_heap = gc.used_after;
        }
        self.last_gc = gc.number;
        let now = self.clock.now();
        self.schedule.collected(now, gc.kind, gc.number.into());
        self.checks.collected(now, gc.kind);
        self.events.add(FromAgent::Gc(gc));
        self.take_if_due();
        self.check_if_due();
    }

    fn take_if_due(&mut self) {
        let now = self.clock.now();
        let busy = self.has_pending_state() || !self.checks.is_idle();
        if busy || self.stopping.is_some() || self.ending.is_over || self.writer.is_none() {
            return;
        }
        let means = Means {
            saved: now >= self.budget.earliest(self.used_heap),
            credit: now >= self.budget.earliest_on_credit(self.used_heap),
        };
        if self.schedule.due(now, self.live_heap, means) {
            self.order_state(None, None, false);
        }
    }

    fn order_state(&mut self, mark: Option<String>, reply: Option<Reply>, collect: bool) {
        let now = self.clock.now();
        self.schedule.taken(now, self.live_heap);
        let heap = self.used_heap;
        let place = self.space_for_state(heap).and_then(|()| {
            self.spool
                .place(&format!("{}.state", self.orders + 1), heap)
        });
        let path = match place {
            Ok(path) => path,
            Err(reason) => return self.drop_state(&reason, reply),
        };
        self.orders += 1;
        let order = self.orders;
        let text = path.display().to_string();
        let message = match self.options.identity {
            Identity::All => ToAgent::TakeWalk(wire::TakeWalk {
                order,
                path: text,
                collect,
            }),
            identity => ToAgent::TakeDump(wire::TakeDump {
                order,
                path: text,
                collect,
                find_heads: identity == Identity::Heads && !self.ending.is_over,
                limit: if identity == Identity::Heads {
                    MOST_FOLLOWED
                } else {
                    0
                },
            }),
        };
        self.taking = Some(Taking {
            order,
            path,
            mark,
            reply,
            heap,
            identities: Vec::new(),
        });
        self.send(&message);
    }

    /// Whether a state would fit where the trace is; the disk is never filled up.
    fn space_for_state(&self, heap: u64) -> Result<(), String> {
        let trace = self.trace().ok_or("no trace is being written")?;
        let trace = folder_of(&trace).to_owned();
        let needed = (heap as f64 * self.state_per_heap * 1.5) as u64;
        let space = DiskSpace::of(&trace);
        if space.usable() < needed {
            return Err(format!(
                "no space for a state of about {} MB in {}: {space}",
                needed >> 20,
                trace.display(),
            ));
        }
        Ok(())
    }

    fn drop_state(&mut self, reason: &str, reply: Option<Reply>) {
        self.dropped_states += 1;
        self.events.dropped(self.clock.now_ns(), "state", 1, reason);
        if let Some(reply) = reply {
            reply.refused(reason);
        }
    }

    fn state_taken(&mut self, done: wire::StateDone) {
        if let Some(taking) = self.taking.take_if(|taking| taking.order == done.order) {
            self.put_on_disk(taking, &done);
            self.go_on_ending();
        }
    }

    /// Has a state converted that the agent is done with, unless it came to nothing.
    fn put_on_disk(&mut self, taking: Taking, done: &wire::StateDone) {
        let taken = match (&done.failure, self.options.identity) {
            (Some(reason), Identity::All) => Err(reason.clone()),
            _ => self.dump_pause(done, &taking.path),
        };
        let pause = match taken {
            Ok(pause) => pause,
            Err(reason) => {
                self.count_failure(done, taking.heap);
                let _ = std::fs::remove_file(&taking.path);
                return self.drop_state(&reason, taking.reply);
            }
        };
        if let Some(reason) = &done.identities_missing {
            let time = self.clock.since_start(done.end_ns);
            self.events.dropped(time, "identities", 1, reason);
        }
        let source = match self.options.identity {
            Identity::All => Source::Walk(Arc::new(self.classes.clone())),
            _ => Source::Dump(taking.identities),
        };
        self.convert(OnDisk {
            urgent: taking.reply.is_some() || self.ending.is_over,
            path: taking.path,
            source,
            mark: taking.mark,
            time: self.clock.since_start(done.start_ns),
            gc: done.gc,
            waiting: Converting {
                reply: taking.reply,
                heap: taking.heap,
                pause,
            },
        });
    }

    /// Has a state converted that lies on disk.
    fn convert(&mut self, state: OnDisk) {
        let job = Job {
            path: state.path,
            moment: Moment {
                gc: (state.gc > 0).then_some(state.gc.into()),
                time: state.time,
                timestamp: (self.hello.wall_ns + state.time) / 1_000_000,
                kind: match state.source {
                    Source::Dump(_) => StateKind::Dump,
                    Source::Walk(_) => StateKind::Walk,
                },
                mark: state.mark,
                pause: state.waiting.pause.as_nanos() as u64,
                source_bytes: None,
            },
            contents: self.options.contents,
            source: state.source,
            urgent: state.urgent,
            hides_virtual_threads: HIDE_VIRTUAL_THREADS
                .contains(&self.hello.specification.as_str()),
        };
        if let Some(converter) = &self.converter {
            self.converting.push_back(state.waiting);
            converter.convert(job);
        }
    }

    /// How long a dump stopped the program, or why there is none. A JVM without the management module still writes one
    /// when it is asked from outside; what it began and could not finish it is not asked for again.
    fn dump_pause(&self, done: &wire::StateDone, path: &Path) -> Result<Duration, String> {
        let Some(reason) = &done.failure else {
            return Ok(Duration::from_nanos(done.pause_ns));
        };
        if path.exists() {
            return Err(reason.clone());
        }
        let asked = Instant::now();
        let dumped = Jvm::find(self.hello.pid).and_then(|jvm| jvm.dump(path));
        dumped.map(|()| asked.elapsed()).map_err(|_| reason.clone())
    }

    /// What came to nothing has its price, too.
    fn count_failure(&mut self, done: &wire::StateDone, heap: u64) {
        let cost = Cost {
            pause: Duration::from_nanos(done.pause_ns),
            beside: Duration::ZERO,
        };
        self.budget.failed(self.clock.now(), heap, cost);
    }

    fn tell_cost(&mut self, what: String, cost: Cost) {
        self.told_cpu += cost.beside;
        self.events.push(Event::Cost(trace::Cost {
            time: self.clock.now_ns(),
            pause: cost.pause.as_nanos() as u64,
            agent: 0,
            recorder: cost.beside.as_nanos() as u64,
            what,
        }));
    }

    fn state_written(&mut self, converted: Converted) {
        self.sampling.interrupt();
        let Some(Converting { reply, heap, pause }) = self.converting.pop_front() else {
            return;
        };
        let now = self.clock.now();
        let cost = Cost {
            pause,
            beside: converted.cpu,
        };
        let found = converted.result.as_ref();
        let found = found.map_or(0, |written| written.header.all.bytes);
        self.used_heap = self.used_heap.max(found);
        self.budget.taken(now, heap.max(found), cost);
        if let Some(reason) = converted.lost_identities {
            let time = self.clock.now_ns();
            self.events.dropped(time, "identities", 1, &reason);
        }
        let Written { header, bytes } = match converted.result {
            Ok(written) => written,
            Err(reason) => return self.drop_state(&reason, reply),
        };
        self.states += 1;
        self.schedule
            .found(header.reachable.unwrap_or(header.all).bytes);
        self.tell_cost(format!("state {}", header.number), cost);
        self.state_per_heap = bytes as f64 / heap.max(header.all.bytes).max(1) as f64;
        if let Some(reply) = reply {
            reply.done(&format!(
                "state {}: {} objects, {} bytes; the program was paused for {:.0} ms",
                header.number,
                header.all.objects,
                header.all.bytes,
                pause.as_secs_f64() * 1e3
            ));
        }
    }

    fn answer(&mut self, request: Request, reply: Reply) {
        match request {
            Request::Mark(text) => {
                self.events.push(Event::Mark(trace::Mark {
                    time: self.clock.now_ns(),
                    text: text.clone(),
                }));
                reply.done(&format!("marked `{text}` at {:.1?}", self.clock.now()));
            }
            Request::Snapshot { .. } if self.writer.is_none() => {
                reply.refused("this recording only checks assertions and writes no trace");
            }
            Request::Snapshot { .. } if self.has_pending_state() => {
                reply.refused("another state is being taken; try again in a moment");
            }
            Request::Snapshot { collect, mark } => self.order_state(mark, Some(reply), collect),
            Request::Stop => {
                self.stopping = Some(reply);
                self.send(&ToAgent::Stop(wire::Stop {}));
            }
            Request::Status => reply.done(&self.status()),
        }
    }

    fn status(&self) -> String {
        match self.trace() {
            Some(trace) => format!(
                "{}: {}; {}",
                trace.display(),
                self.summary(),
                self.next_state()
            ),
            None => self.summary(),
        }
    }

    fn agent_gone(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            let time = self.clock.now_ns();
            self.events
                .dropped(time, "everything after this", 1, &reason);
        }
    }

    fn tick(&mut self, say: Say) {
        self.take_if_due();
        self.check_if_due();
        let now = self.clock.now();
        let tick = (now / WRITE_TICKS).clamp(WRITE_TICK, LONGEST_WRITE_TICK);
        if now.saturating_sub(self.written) >= tick {
            self.written = now;
            self.write_events(say);
            self.prepare_for_exhaustion();
        }
    }

    /// Unless a state is being written: then the events wait.
    fn write_events(&mut self, say: Say) {
        let Some(writer) = self.writer.clone() else {
            return self.events.forget();
        };
        let Ok(mut writer) = writer.try_lock() else {
            return;
        };
        match self.events.write(&mut writer) {
            Ok(()) => self.trouble = None,
            Err(error) => {
                let error = error.to_string();
                if self.trouble.as_ref() != Some(&error) {
                    say(&format!("{error}; the program continues"));
                    self.trouble = Some(error);
                }
            }
        }
    }

    /// States and checks have a budget of their own: what they cost says nothing about samples.
    fn tune_sampling(&mut self, cost: &wire::Cost) {
        if self.writer.is_none() {
            return;
        }
        if self.has_pending_state() || !self.checks.is_idle() {
            return self.sampling.interrupt();
        }
        if let Some(bytes) = self.sampling.tune(&self.budget, cost, own_cpu()) {
            let follow = self.follow();
            self.send(&ToAgent::SetSampling(wire::SetSampling { bytes, follow }));
        }
    }

    /// Completes the trace.
    fn finish(mut self, say: Say) -> String {
        // A JVM that ends at once when its memory is exhausted says nothing about it.
        self.take_dump_of_exhaustion(self.clock.now_ns());
        while !self.converting.is_empty() {
            match self.inputs.recv() {
                Ok(Input::Checked(result, cpu)) => self.checked(result, cpu),
                Ok(Input::Converted(converted)) => self.state_written(converted),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.finish_check();
        if let Some(taking) = self.taking.take() {
            let _ = std::fs::remove_file(&taking.path);
            self.drop_state("the JVM ended while the state was taken", taking.reply);
        }
        self.converter = None;
        self.events.push(Event::Cost(trace::Cost {
            time: self.clock.now_ns(),
            pause: 0,
            agent: self.events.agent_cpu(),
            recorder: own_cpu().saturating_sub(self.told_cpu).as_nanos() as u64,
            what: "everything else".to_owned(),
        }));
        self.write_events(say);
        let (trace, mut text) = (self.trace(), self.summary());
        if let Some(advice) = self.too_few_states() {
            text = format!("{text}. {advice}");
        }
        let reply = self.stopping.take();
        self.close(say);
        if let Some(trace) = trace {
            let bytes = std::fs::metadata(&trace).map_or(0, |metadata| metadata.len());
            text = format!("{}: {:.1} MB, {text}", trace.display(), bytes as f64 / 1e6);
        }
        if let Some(reply) = reply {
            reply.done(&text);
        }
        text
    }

    /// The converter is gone, so nobody else has the writer.
    fn close(self, say: Say) {
        let Some(writer) = self.writer.and_then(Arc::into_inner) else {
            return;
        };
        let writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writer.finish() {
            say(&format!(
                "{error}; the trace opens up to its last complete block"
            ));
        }
    }

    fn summary(&self) -> String {
        let seconds = self.clock.now().as_secs_f64();
        let mut parts = vec![format!("{seconds:.0} s")];
        if self.writer.is_some() {
            parts.push(match self.states {
                1 => "1 state".to_owned(),
                states => format!("{states} states"),
            });
        }
        if self.dropped_states > 0 {
            parts.push(format!("{} dropped", self.dropped_states));
        }
        let mut what = "states";
        if self.checks.made > 0 || self.writer.is_none() {
            what = "states and checks";
            let Checks { made, found, .. } = &self.checks;
            parts.push(format!(
                "assertions checked {made} times, {found} violations"
            ));
        }
        let share = self.budget.spent() / seconds.max(0.001) * 100.0;
        parts.push(format!("{share:.1} % of the time for {what}"));
        parts.join(", ")
    }
}

/// What was asked for and cannot be had from this JVM, a sentence each.
fn unfit(options: &RecordingOptions, hello: &wire::Hello) -> Vec<String> {
    let collector = &hello.collector;
    let mut sentences = Vec::new();
    if options.when == When::FullGc && matches!(collector.as_str(), "ZGC" | "Shenandoah") {
        sentences.push(format!(
            "states after full collections: {collector} reports only its pauses; take states \
            after every N-th collection or by time instead"
        ));
    }
    if options.identity == Identity::All && !hello.searchable {
        sentences.push(format!(
            "identities of all objects: {collector} of JDK {} cannot be walked safely; states are dumps in which only sampled objects keep their identity",
            hello.specification
        ));
    }
    if options.contents && options.identity == Identity::All && hello.searchable {
        let sentence = "values and strings: a recording with the identities of all objects walks the \
            heap without reading them";
        sentences.push(sentence.to_owned());
    }
    sentences
}

fn locked(writer: &Mutex<TraceWriter>) -> MutexGuard<'_, TraceWriter> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn folder_of(file: &Path) -> &Path {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The agent's first message.
fn greet(frames: &mut Frames<UnixStream>) -> Result<wire::Hello, Error> {
    let unknown = |reason: String| Error::Agent(reason);
    let frame = frames
        .next_frame()
        .map_err(|error| unknown(error.to_string()))?
        .ok_or_else(|| unknown("the agent ended before it introduced itself".to_owned()))?;
    match FromAgent::decode(frame).map_err(|error| unknown(error.to_string()))? {
        FromAgent::Hello(hello) if hello.protocol == wire::PROTOCOL => Ok(hello),
        FromAgent::Hello(hello) => Err(unknown(format!(
            "its agent has another version of Anthill, {} instead of {}; restart the JVM or use \
            that version",
            hello.protocol,
            wire::PROTOCOL
        ))),
        _ => Err(unknown("the agent did not introduce itself".to_owned())),
    }
}

fn facts(hello: &wire::Hello, options: &RecordingOptions) -> Facts {
    let known = |value: u64| (value > 0).then_some(value);
    Facts {
        started: hello.wall_ns,
        jvm_started: known(hello.jvm_start_wall_ns),
        pid: Some(hello.pid),
        version: hello.vm_version.clone(),
        vm: hello.vm_name.clone(),
        vendor: hello.vm_vendor.clone(),
        collector: hello.collector.clone(),
        command_line: hello.command.clone(),
        flags: hello.vm_flags.clone(),
        cores: Some(hello.cores),
        max_heap: known(hello.max_heap),
        options: options.facts(),
        missing: hello.missing.clone(),
    }
}

/// Passes on what the agent says, from a thread of its own.
fn listen(mut frames: Frames<UnixStream>, to: Sender<Input>) {
    thread::spawn(move || {
        let reason = loop {
            let message = match frames.next_frame() {
                Ok(Some(frame)) => FromAgent::decode(frame),
                Ok(None) => {
                    break Some("the JVM ended unexpectedly; it may have been killed".to_owned());
                }
                Err(error) => break Some(format!("the connection to the JVM broke: {error}")),
            };
            match message {
                Ok(message) => {
                    let last = matches!(message, FromAgent::Goodbye(_));
                    if to.send(Input::Agent(message)).is_err() || last {
                        break None;
                    }
                }
                Err(error) => break Some(format!("cannot decode a message of the agent: {error}")),
            }
        };
        // The recording may be over already.
        let _ = to.send(Input::AgentGone(reason));
    });
}
