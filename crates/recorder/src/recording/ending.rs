//! The last states of a program: one when it exits, and the dump that the JVM writes by itself at its first `OutOfMemoryError`. Also
//! what there is to say about states that are still to come.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anthill_trace::{EXHAUSTION, EXIT};
use anthill_wire::{self as wire, ToAgent};

use super::{Converting, OnDisk, Recording};
use crate::Identity;
use crate::convert::Source;

/// A program whose last state would take longer ends without one.
const LONGEST_LAST_PAUSE: Duration = Duration::from_secs(5);
const DUMP_OF_EXHAUSTION: &str = "exhausted.hprof";
/// How often it is considered whether there is still space for that dump.
const SPACE_CHECK: Duration = Duration::from_secs(10);
/// With these flags somebody else has a use for the JVM's own dump.
const FLAGS: [&str; 2] = ["HeapDumpOnOutOfMemoryError", "HeapDumpPath"];

#[derive(Default)]
pub(super) struct Ending {
    /// The program is over, its JVM waits.
    pub is_over: bool,
    /// The state at exit was taken, or it is known that there will be none.
    is_exit_considered: bool,
    /// Where the JVM writes its dump when its memory is exhausted.
    dump: Option<PathBuf>,
    /// When that was last considered.
    considered: Option<Duration>,
    /// The trace has been told why there would be no such dump.
    is_refused: bool,
    /// The JVM does not do it.
    is_impossible: bool,
    /// The dump is in the trace; there is only one.
    is_exhausted: bool,
    /// How many states there were then.
    states: u32,
}

impl Recording {
    pub(super) fn program_over(&mut self) {
        self.ending.is_over = true;
        self.go_on_ending();
    }

    /// Takes the last state of a program that is over, and lets its JVM go when there is nothing more to take.
    pub(super) fn go_on_ending(&mut self) {
        if !self.ending.is_over || self.taking.is_some() {
            return;
        }
        if !std::mem::replace(&mut self.ending.is_exit_considered, true) {
            self.take_exit_state();
        }
        if self.taking.is_none() {
            self.send(&ToAgent::LetGo(wire::LetGo {}));
        }
    }

    /// If it can be had soon.
    fn take_exit_state(&mut self) {
        let is_exhausted = self.ending.is_exhausted && self.ending.states == self.states;
        if is_exhausted || !self.options.takes_exit() || self.stopping.is_some() {
            return;
        }
        let pause = self.budget.expected_pause(self.used_heap);
        if pause > LONGEST_LAST_PAUSE {
            let reason = format!(
                "the state at exit would have delayed the end of the program by about {:.0} s",
                pause.as_secs_f64()
            );
            return self.drop_state(&reason, None);
        }
        self.order_state(Some(EXIT.to_owned()), None, false);
    }

    /// Tells the JVM where to write its dump when its memory is exhausted, as long as there is space for the largest one.
    pub(super) fn prepare_for_exhaustion(&mut self) {
        let now = self.clock.now();
        let recently = |at: Duration| now.saturating_sub(at) < SPACE_CHECK;
        let wanted = self.options.last_state && self.writer.is_some();
        let over = self.ending.is_impossible || self.ending.is_exhausted || self.ending.is_over;
        if !wanted || over || self.ending.considered.is_some_and(recently) {
            return;
        }
        self.ending.considered = Some(now);
        let place = self.place_of_exhaustion();
        match &place {
            Ok(_) => self.ending.is_refused = false,
            Err(reason) => self.refuse_exhaustion(reason),
        }
        let place = place.ok();
        if place != self.ending.dump {
            self.ending.dump = place;
            let path = self.ending.dump.as_ref();
            let path = path.map(|path| path.display().to_string());
            self.send(&ToAgent::DumpWhenExhausted(wire::DumpWhenExhausted {
                path,
            }));
        }
    }

    fn place_of_exhaustion(&self) -> Result<PathBuf, String> {
        let is_used = |(name, value): &&(String, String)| {
            FLAGS.contains(&name.as_str()) && !["", "false"].contains(&value.as_str())
        };
        if let Some((name, value)) = self.hello.vm_flags.iter().find(is_used) {
            return Err(format!(
                "the JVM writes its own dump, as -XX:{name}={value} says"
            ));
        }
        let heap = self.hello.max_heap;
        if heap == 0 {
            return Err("the JVM does not tell how large its heap can become".to_owned());
        }
        let growth = heap.saturating_sub(self.used_heap);
        self.spool.place_later(DUMP_OF_EXHAUSTION, heap, growth)
    }

    pub(super) fn exhaustion_prepared(&mut self, prepared: wire::ExhaustionPrepared) {
        if let Some(reason) = prepared.failure {
            self.ending.is_impossible = true;
            self.ending.dump = None;
            self.refuse_exhaustion(&reason);
        }
    }

    fn refuse_exhaustion(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.ending.is_refused, true) {
            let time = self.clock.now_ns();
            let what = "the state at an OutOfMemoryError";
            self.events.dropped(time, what, 1, reason);
        }
    }

    /// Has the dump converted that the JVM wrote when its memory was exhausted, if there is one.
    pub(super) fn take_dump_of_exhaustion(&mut self, time: u64) {
        let dump = self.ending.dump.take().filter(|dump| dump.exists());
        let Some(path) = dump else {
            return;
        };
        self.ending.is_exhausted = true;
        self.ending.states = self.states + self.converting.len() as u32 + 1;
        if let Err(reason) = self.space_for_state(self.used_heap.max(self.hello.max_heap)) {
            let _ = fs::remove_file(&path);
            return self.drop_state(&reason, None);
        }
        let pause = written_in(&path).unwrap_or_default();
        self.convert(OnDisk {
            source: Source::Dump(Vec::new()),
            mark: Some(EXHAUSTION.to_owned()),
            time,
            gc: self.last_gc,
            waiting: Converting {
                reply: None,
                heap: self.hello.max_heap,
                pause,
            },
            urgent: true,
            path,
        });
    }

    /// When the next state comes, and why not earlier.
    pub(super) fn next_state(&self) -> String {
        if self.has_pending_state() {
            return "a state is being taken".to_owned();
        }
        let now = self.clock.now();
        let earliest = self.budget.earliest(self.used_heap).saturating_sub(now);
        let expected = self.budget.expected(self.used_heap);
        if earliest.is_zero() {
            return format!("the next state waits for {}", self.schedule.waits_for());
        }
        let last = match self.budget.last_cost() {
            Some(cost) => format!("the last one cost {cost:.1} s and the next one"),
            None => "it".to_owned(),
        };
        format!(
            "the next state in {:.0} s or when the heap has doubled: {last} will cost about {expected:.1} s, \
            at most {:.1} % of the time",
            earliest.as_secs_f64(),
            self.options.overhead * 100.0
        )
    }

    /// What to do if there are not enough states to compare.
    pub(super) fn too_few_states(&self) -> Option<String> {
        if self.writer.is_none() || self.states > 1 {
            return None;
        }
        let why = match (self.options.takes_exit(), self.options.identity) {
            (true, _) => "the program ended before a second state was due",
            (false, Identity::All) => "there is no state at exit if all objects are followed",
            (false, _) => "there was no state at exit",
        };
        Some(format!(
            "Growth needs two states, and {why}. Record longer, allow more overhead, or take \
            states with `anthill snapshot`."
        ))
    }
}

/// From when the file was made until it was last written.
fn written_in(path: &PathBuf) -> Option<Duration> {
    let file = fs::metadata(path).ok()?;
    let made = file.created().ok()?;
    file.modified().ok()?.duration_since(made).ok()
}
