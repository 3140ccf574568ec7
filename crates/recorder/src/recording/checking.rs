//! Checks of the program's assertions within a recording: the agent counts them, the JVM writes a dump if there is something to
//! check, the checker looks at it beside everything else, and the program, the trace and the file hear of it.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anthill_trace::{self as trace, Event};
use anthill_wire::{self as wire, ToAgent};

use super::{Input, Recording};
use crate::budget::Cost;
use crate::checks::{FoundViolation, Run, Stage, Violation, shortened};
use crate::clock::own_cpu;
use crate::convert::in_background;

/// How long the end of a recording waits for a check.
const LAST_CHECK: Duration = Duration::from_secs(60);

impl Recording {
    /// Begins a check that was asked for, or that is due and affordable.
    pub(super) fn check_if_due(&mut self) {
        if self.has_pending_state() || self.stopping.is_some() {
            return;
        }
        let now = self.clock.now();
        let affordable = now >= self.budget.earliest_check(self.used_heap);
        if let Some(run) = self.checks.next(now, affordable) {
            self.begin_check(run);
        }
    }

    fn begin_check(&mut self, mut run: Run) {
        self.orders += 1;
        run.order = self.orders;
        let order = wire::CountAssertions {
            order: run.order,
            // Whoever asks wants to know about now; otherwise the program collects when it needs to.
            collect: !run.asked.is_empty(),
            reported: !run.asked.is_empty(),
        };
        self.checks.begin(self.clock.now(), run);
        self.send(&ToAgent::CountAssertions(order));
    }

    /// Takes a dump if there is anything to check.
    pub(super) fn counted(&mut self, counts: &wire::Assertions) {
        let Some(mut run) = self.checks.counting(counts.order) else {
            return;
        };
        let lifetime = counts.dead + counts.survivors;
        if lifetime + counts.instances + counts.unshared + counts.owned == 0 {
            return self.answer_check(&run, Ok(Vec::new()));
        }
        self.orders += 1;
        run.order = self.orders;
        let name = format!("{}.check", run.order);
        match self.spool.place(&name, self.used_heap) {
            Err(reason) => self.answer_check(&run, Err(reason)),
            Ok(path) => {
                self.send(&ToAgent::TakeDump(wire::TakeDump {
                    order: run.order,
                    path: path.display().to_string(),
                    collect: false,
                    find_heads: false,
                    limit: 0,
                }));
                self.checks.stage = Stage::Dumping(run, path);
            }
        }
    }

    /// Has a dump checked, beside everything else.
    pub(super) fn look_at(&mut self, run: Run, path: PathBuf, done: &wire::StateDone) {
        let pause = match self.dump_pause(done, &path) {
            Ok(pause) => pause,
            Err(reason) => {
                self.count_failure(done, self.used_heap);
                let _ = std::fs::remove_file(&path);
                return self.answer_check(&run, Err(reason));
            }
        };
        let Some(checker) = self.checks.checker() else {
            return;
        };
        let (forgiven, urgent) = (run.forgiven, !run.asked.is_empty());
        let sender = self.sender.clone();
        self.checks.stage = Stage::Checking(run, pause);
        thread::spawn(move || {
            let before = own_cpu();
            let result = in_background(urgent, || checker.check(&path, forgiven));
            let _ = std::fs::remove_file(&path);
            // Nobody waits for it any more if the recording is over.
            let _ = sender.send(Input::Checked(result, own_cpu().saturating_sub(before)));
        });
    }

    pub(super) fn checked(&mut self, result: Result<Vec<FoundViolation>, String>, cpu: Duration) {
        self.sampling.interrupt();
        let Some((mut run, pause)) = self.checks.checking() else {
            return;
        };
        let now = self.clock.now();
        let cost = Cost { pause, beside: cpu };
        self.budget.taken(now, self.used_heap, cost);
        self.tell_cost("check of assertions".to_owned(), cost);
        let result = result.map(|found| self.checks.believed(found));
        match result {
            Ok((_, true)) if !run.asked.is_empty() && !run.again => {
                run.again = true;
                self.begin_check(run);
            }
            Ok((violations, _)) => self.answer_check(&run, Ok(violations)),
            Err(reason) => self.answer_check(&run, Err(reason)),
        }
    }

    /// What a check finds that is going on when the JVM ends still belongs into the trace.
    pub(super) fn finish_check(&mut self) {
        let deadline = Instant::now() + LAST_CHECK;
        while matches!(self.checks.stage, Stage::Checking(..)) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.inputs.recv_timeout(left) {
                Ok(Input::Checked(result, cpu)) => self.checked(result, cpu),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Tells the program, the file and the trace what was found.
    fn answer_check(&mut self, run: &Run, result: Result<Vec<Violation>, String>) {
        self.checks.made += 1;
        let (failure, mut violations) = match result {
            Ok(violations) => (None, violations),
            Err(reason) => {
                self.events
                    .dropped(self.clock.now_ns(), "check", 1, &reason);
                (Some(reason), Vec::new())
            }
        };
        shortened(&mut violations);
        self.keep(&violations);
        // Whatever nobody asked for is news for the program too.
        let numbers = if run.asked.is_empty() {
            &[0][..]
        } else {
            &run.asked
        };
        for &number in numbers {
            self.send(&ToAgent::CheckDone(wire::CheckDone {
                number,
                failure: failure.clone(),
                violations: violations.clone(),
            }));
        }
    }

    /// Writes what is new to the trace and to the file of violations.
    fn keep(&mut self, violations: &[Violation]) {
        let time = self.clock.now_ns();
        let new = self.checks.new_ones(violations);
        for violation in &new {
            self.events.push(Event::Violation(trace::Violation {
                time,
                kind: violation.kind.to_lowercase().replace('_', "-"),
                message: violation.message.clone(),
                made_at: violation.made_at.clone(),
                class: violation.class.clone(),
                count: violation.count,
                bytes: violation.bytes,
                text: violation.text.clone(),
                json: violation.json.clone(),
            }));
        }
        let moment = (self.hello.wall_ns + time) / 1_000_000;
        if let Err(reason) = self.checks.write(&new, moment, self.hello.pid) {
            let amount = new.len() as u64;
            self.events.dropped(time, "violations", amount, &reason);
        }
    }
}
