//! What the JVM's counters say about garbage collections. Everything here runs on the JVM's own threads
//! between two events of a pause, so it only reads words.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anthill_wire::{Gc, GcKind};

use crate::clock;
use crate::perf::{Counter, PerfData, Text};

/// The JVM numbers its collectors: young, full, pauses of a concurrent one.
const COLLECTORS: usize = 3;
const NO_GC: &str = "No GC";
const NO_ROOM: &str = "Allocation Failure";

/// How far the counters can be trusted at the start of a pause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Upkeep {
    /// They are kept up while the program allocates.
    Always,
    /// Only at the end of a pause, but a collection for want of room finds eden full.
    AtEnd,
    /// At times of the collector's choice.
    Sometimes,
}

/// The counters that matter, found once.
pub(crate) struct GcCounters {
    collectors: Vec<(GcKind, String, Counter)>,
    upkeep: Upkeep,
    used: Vec<Counter>,
    committed: Vec<Counter>,
    eden_used: Option<Counter>,
    eden_capacity: Option<Counter>,
    cause: Option<Text>,
    last_cause: Option<Text>,
}

impl GcCounters {
    pub(crate) fn new(perf: &PerfData) -> GcCounters {
        let mut counters = GcCounters {
            collectors: collectors(perf),
            upkeep: Upkeep::Sometimes,
            used: Vec::new(),
            committed: Vec::new(),
            eden_used: perf.counter("sun.gc.generation.0.space.0.used"),
            eden_capacity: perf.counter("sun.gc.generation.0.space.0.capacity"),
            cause: perf.text("sun.gc.cause"),
            last_cause: perf.text("sun.gc.lastCause"),
        };
        counters.upkeep = match counters.collectors.first() {
            Some((_, name, _)) if name.starts_with("G1") => Upkeep::Always,
            Some((kind, ..)) if *kind != GcKind::ConcurrentPause => Upkeep::AtEnd,
            _ => Upkeep::Sometimes,
        };
        for generation in 0..2 {
            let prefix = format!("sun.gc.generation.{generation}");
            let spaces = 0..8;
            counters
                .used
                .extend(spaces.map_while(|s| perf.counter(&format!("{prefix}.space.{s}.used"))));
            counters
                .committed
                .extend(perf.counter(&format!("{prefix}.capacity")));
        }
        counters
    }

    /// Full collections so far, where the collector has such.
    pub(crate) fn full(&self) -> Option<u64> {
        let full = self.collectors.iter().find(|one| one.0 == GcKind::Full);
        full.map(|(_, _, count)| count.get())
    }

    /// How much was in use when a pause began, if the counters told so then; 0 if that is not known.
    fn used_before(&self, at_start: &AtStart, cause: &str) -> u64 {
        match self.upkeep {
            Upkeep::Always => at_start.used.load(Ordering::Relaxed),
            Upkeep::AtEnd if cause == NO_ROOM => at_start.with_full_eden.load(Ordering::Relaxed),
            _ => 0,
        }
    }

    fn cause(&self) -> String {
        [self.cause, self.last_cause]
            .into_iter()
            .flatten()
            .map(Text::get)
            .find(|cause| cause != NO_GC)
            .unwrap_or_default()
    }
}

fn collectors(perf: &PerfData) -> Vec<(GcKind, String, Counter)> {
    (0..COLLECTORS)
        .filter_map(|number| {
            let prefix = format!("sun.gc.collector.{number}");
            let name = perf.text(&format!("{prefix}.name"))?.get();
            let count = perf.counter(&format!("{prefix}.invocations"))?;
            Some((kind(number, &name), name, count))
        })
        .collect()
}

fn kind(collector: usize, name: &str) -> GcKind {
    match collector {
        // These stop the program for moments only, whatever they call it.
        _ if name.starts_with("Shenandoah") || name.starts_with('Z') => GcKind::ConcurrentPause,
        0 => GcKind::Young,
        1 => GcKind::Full,
        _ => GcKind::ConcurrentPause,
    }
}

fn sum(counters: &[Counter]) -> u64 {
    counters.iter().map(|counter| counter.get()).sum()
}

/// What the counters said when a pause began.
#[derive(Default)]
struct AtStart {
    used: AtomicU64,
    with_full_eden: AtomicU64,
}

impl AtStart {
    fn read(&self, counters: &GcCounters) {
        let used = sum(&counters.used);
        let eden = |counter: Option<Counter>| counter.map_or(0, Counter::get);
        let full = (used + eden(counters.eden_capacity)).saturating_sub(eden(counters.eden_used));
        self.used.store(used, Ordering::Relaxed);
        self.with_full_eden.store(full, Ordering::Relaxed);
    }
}

/// Puts the two events of a pause together. Pauses never overlap, so plain atomic words will do.
pub(crate) struct Pauses {
    counters: Option<GcCounters>,
    number: AtomicU32,
    start: AtomicU64,
    at_start: AtStart,
    /// Invocations of the collectors when the last pause ended.
    seen: [AtomicU64; COLLECTORS],
}

impl Pauses {
    pub(crate) fn new(counters: Option<GcCounters>) -> Pauses {
        let pauses = Pauses {
            counters,
            number: AtomicU32::new(0),
            start: AtomicU64::new(0),
            at_start: AtStart::default(),
            seen: Default::default(),
        };
        pauses.newest_collector();
        pauses
    }

    /// Why heap sizes before or after pauses may be missing or old.
    pub(crate) fn caveat(&self) -> Option<&'static str> {
        match self.counters.as_ref()?.upkeep {
            Upkeep::Always => None,
            Upkeep::AtEnd => Some(
                "heap in use before a collection, unless it was caused by lack of space: this \
                collector does not report it",
            ),
            Upkeep::Sometimes => Some(
                "heap in use before a pause; after it, the figure is as old as the collector's last update",
            ),
        }
    }

    /// Pauses that are over.
    pub(crate) fn count(&self) -> u32 {
        self.number.load(Ordering::Acquire)
    }

    pub(crate) fn begin(&self) {
        self.start.store(clock::now(), Ordering::Relaxed);
        if let Some(counters) = &self.counters {
            self.at_start.read(counters);
        }
    }

    pub(crate) fn end(&self) -> Gc {
        let number = self.number.fetch_add(1, Ordering::AcqRel) + 1;
        let end_ns = clock::now();
        let mut gc = Gc {
            number,
            // An agent that comes during a pause sees only its end.
            start_ns: match self.start.swap(0, Ordering::Relaxed) {
                0 => end_ns,
                start => start,
            },
            end_ns,
            kind: GcKind::Unknown,
            collector: String::new(),
            cause: String::new(),
            used_before: 0,
            used_after: 0,
            committed: 0,
            process_cpu_ns: 0,
        };
        if let Some(counters) = &self.counters {
            match self.newest_collector() {
                Some(newest) => {
                    gc.kind = counters.collectors[newest].0;
                    gc.collector = counters.collectors[newest].1.clone();
                }
                // The first ZGC counted nothing.
                None if counters.collectors.is_empty() => gc.kind = GcKind::ConcurrentPause,
                None => {}
            }
            gc.cause = counters.cause();
            gc.used_before = counters.used_before(&self.at_start, &gc.cause);
            gc.used_after = sum(&counters.used);
            gc.committed = sum(&counters.committed);
        }
        gc
    }

    /// Which collector ran since the last time this was asked. A full collection may contain a young one.
    fn newest_collector(&self) -> Option<usize> {
        let mut newest = None;
        let counters = self.counters.as_ref()?;
        for (number, (kind, _, count)) in counters.collectors.iter().enumerate() {
            let count = count.get();
            let ran = self.seen[number].swap(count, Ordering::Relaxed) != count;
            let heavier = newest.is_none() || *kind == GcKind::Full;
            if ran && heavier {
                newest = Some(number);
            }
        }
        newest
    }
}
