//! The progress of the work on one question, published to the pages. Several requests may wait for the
//! same answer; the work is cancelled when none of them does any more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anthill_heap::Progress;

use crate::events::{Event, Events};
use crate::jobs::Job;

/// Pages are told no more often.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Reporter {
    source: usize,
    events: Events,
    now: Mutex<Now>,
}

struct Now {
    jobs: Vec<Arc<Job>>,
    phase: String,
    total: u64,
    done: u64,
    told: Instant,
}

impl Reporter {
    pub(crate) fn new(source: usize, events: Events) -> Arc<Self> {
        Arc::new(Reporter {
            source,
            events,
            now: Mutex::new(Now {
                jobs: Vec::new(),
                phase: String::new(),
                total: 0,
                done: 0,
                told: Instant::now(),
            }),
        })
    }

    /// What is done from now on is for this job, too, until the result is dropped.
    pub(crate) fn work_for(self: &Arc<Self>, job: &Arc<Job>) -> Waiting {
        let mut now = self.now();
        now.jobs.push(job.clone());
        if !now.phase.is_empty() {
            self.tell(&mut now);
        }
        drop(now);
        Waiting {
            reporter: self.clone(),
            job: job.clone(),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        // A panic elsewhere leaves the figures whole.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody still waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.now().jobs.iter().any(|job| !job.is_cancelled())
    }

    fn tell(&self, now: &mut Now) {
        now.told = Instant::now();
        let names = now.jobs.iter().map(|job| job.name.clone());
        let jobs: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        if jobs.is_empty() {
            return;
        }
        let share = (now.total > 0).then(|| (now.done as f64 / now.total as f64).min(1.0));
        self.events.publish(Event::Progress {
            source: self.source,
            jobs,
            phase: now.phase.clone(),
            share,
        });
    }
}

/// What a session reports to.
pub(crate) struct JobProgress(pub(crate) Arc<Reporter>);

impl Progress for JobProgress {
    fn stage(&self, name: &str, total: u64) {
        let mut now = self.0.now();
        name.clone_into(&mut now.phase);
        now.total = total;
        now.done = 0;
        self.0.tell(&mut now);
    }

    fn advance(&self, done: u64) {
        let mut now = self.0.now();
        now.done += done;
        if now.told.elapsed() >= PAUSE {
            self.0.tell(&mut now);
        }
    }

    fn cancelled(&self) -> bool {
        !self.0.is_wanted()
    }
}

/// A job that waits for the answer.
pub(crate) struct Waiting {
    reporter: Arc<Reporter>,
    job: Arc<Job>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut now = self.reporter.now();
        if let Some(place) = now.jobs.iter().position(|job| Arc::ptr_eq(job, &self.job)) {
            now.jobs.remove(place);
        }
    }
}
