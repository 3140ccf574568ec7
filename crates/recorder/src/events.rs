//! What happened since the trace was last written: kept here while a state is being written, and
//! translated when its turn comes.

use anthill_trace::{self as trace, Event, TraceWriter};
use anthill_wire::{self as wire, FromAgent, GcKind};

use crate::clock::Clock;
use crate::names::Names;

/// More are not kept while the trace cannot be written.
const MOST_WAITING: usize = 1 << 20;

pub(crate) struct Events {
    clock: Clock,
    names: Names,
    waiting: Vec<Waiting>,
    /// Lost while the trace could not be written.
    lost: u64,
    agent_cpu: u64,
}

enum Waiting {
    Said(FromAgent),
    Ready(Event),
}

impl Events {
    /// `start` is the recording's start on the monotonic clock.
    pub(crate) fn new(start: u64) -> Self {
        Events {
            clock: Clock::new(start),
            names: Names::default(),
            waiting: Vec::new(),
            lost: 0,
            agent_cpu: 0,
        }
    }

    /// Something the agent said that belongs into the trace. Names are never lost, because later
    /// events need them.
    pub(crate) fn add(&mut self, message: FromAgent) {
        let name = matches!(
            message,
            FromAgent::Class(_) | FromAgent::Method(_) | FromAgent::Stack(_) | FromAgent::Thread(_)
        );
        if name || self.waiting.len() < MOST_WAITING {
            self.waiting.push(Waiting::Said(message));
        } else {
            self.lost += 1;
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.waiting.push(Waiting::Ready(event));
    }

    /// There is no trace that anything could be written to.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Something that should have been recorded was not.
    pub(crate) fn dropped(&mut self, time: u64, what: &str, amount: u64, reason: &str) {
        self.push(Event::Dropped(trace::Dropped {
            time,
            what: what.to_owned(),
            amount,
            reason: reason.to_owned(),
        }));
    }

    /// What the agent says it has cost so far.
    pub(crate) fn agent_cost(&mut self, cost: &wire::Cost) {
        self.agent_cpu = cost.agent_cpu_ns + cost.event_ns;
    }

    /// Processor time inside the JVM, in nanoseconds.
    pub(crate) fn agent_cpu(&self) -> u64 {
        self.agent_cpu
    }

    /// Hands everything to the trace; if it cannot be written, what was not handed over goes on waiting.
    pub(crate) fn write(&mut self, writer: &mut TraceWriter) -> Result<(), trace::Error> {
        if self.lost > 0 {
            let lost = std::mem::take(&mut self.lost);
            let reason = "the trace could not be written for a while";
            self.dropped(self.clock.now_ns(), "events", lost, reason);
        }
        let mut waiting = std::mem::take(&mut self.waiting).into_iter();
        let handed_over = waiting.try_for_each(|one| match one {
            Waiting::Ready(event) => writer.add(event),
            Waiting::Said(message) => self.translate(message, writer),
        });
        self.waiting = waiting.collect();
        handed_over?;
        writer.flush()
    }

    fn translate(
        &mut self,
        message: FromAgent,
        writer: &mut TraceWriter,
    ) -> Result<(), trace::Error> {
        match message {
            FromAgent::Class(class) => self.names.add_class(&class, writer),
            FromAgent::Method(method) => self.names.add_method(method),
            FromAgent::Stack(stack) => self.names.add_stack(&stack, writer),
            FromAgent::Thread(thread) => {
                let number = self.names.add_thread(&thread, writer);
                writer.add(self.thread_event(thread.time_ns, number, true))?;
            }
            FromAgent::ThreadEnd(end) => {
                if let Some(number) = self.names.thread(end.number) {
                    writer.add(self.thread_event(end.time_ns, number, false))?;
                }
            }
            FromAgent::Gc(gc) => writer.add(Event::Gc(self.gc(gc)))?,
            FromAgent::Sample(sample) => {
                if let Some(class) = self.names.class(sample.class) {
                    writer.add(Event::Sample(self.sample(&sample, class)))?;
                }
            }
            FromAgent::Dropped(dropped) => self.not_sent(&dropped, writer)?,
            _ => {}
        }
        Ok(())
    }

    fn thread_event(&self, moment: u64, thread: u32, started: bool) -> Event {
        Event::Thread(trace::ThreadEvent {
            time: self.clock.since_start(moment),
            thread,
            started,
        })
    }

    fn gc(&self, gc: wire::Gc) -> trace::Gc {
        let known = |bytes: u64| (bytes > 0).then_some(bytes);
        trace::Gc {
            number: gc.number.into(),
            full: gc.kind == GcKind::Full,
            collector: gc.collector,
            cause: gc.cause,
            start: self.clock.since_start(gc.start_ns),
            end: self.clock.since_start(gc.end_ns),
            used_before: known(gc.used_before),
            used_after: known(gc.used_after),
            committed: known(gc.committed),
        }
    }

    fn sample(&self, sample: &wire::Sample, class: u32) -> trace::Sample {
        trace::Sample {
            time: self.clock.since_start(sample.time_ns),
            class,
            size: sample.size,
            weight: sample.weight,
            thread: self.names.thread(sample.thread),
            stack: self.names.stack(sample.stack),
            tracked: (sample.id > 0).then_some(sample.id),
        }
    }

    fn not_sent(
        &self,
        dropped: &wire::Dropped,
        writer: &mut TraceWriter,
    ) -> Result<(), trace::Error> {
        let kinds = [
            ("samples", dropped.samples),
            ("collections", dropped.gcs),
            ("threads", dropped.threads),
        ];
        for (what, amount) in kinds.into_iter().filter(|(_, amount)| *amount > 0) {
            writer.add(Event::Dropped(trace::Dropped {
                time: self.clock.now_ns(),
                what: what.to_owned(),
                amount,
                reason: "they arrived faster than the agent could send them".to_owned(),
            }))?;
        }
        Ok(())
    }
}
