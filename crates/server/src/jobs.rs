//! Work that somebody waits for: it has a name that the page chose, and can be cancelled.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One piece of work.
pub(crate) struct Job {
    /// What the page calls it.
    pub(crate) name: String,
    cancelled: AtomicBool,
}

impl Job {
    /// Work that begins now.
    pub(crate) fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Job {
            name: name.into(),
            cancelled: AtomicBool::new(false),
        })
    }

    /// Lets the work end at the next occasion.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the work should end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// All jobs that are under way, by name.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<HashMap<String, Arc<Job>>>);

impl Jobs {
    /// Begins a job; it is cancelled when what this returns is dropped.
    pub(crate) fn begin(self: &Arc<Self>, name: &str) -> Watched {
        let job = Job::new(name);
        if !name.is_empty() {
            self.all().insert(name.to_owned(), job.clone());
        }
        Watched {
            jobs: self.clone(),
            job,
        }
    }

    /// Whether there was one of that name.
    pub(crate) fn cancel(&self, name: &str) -> bool {
        let job = self.all().remove(name);
        job.inspect(|job| job.cancel()).is_some()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Job>>> {
        // A panic elsewhere leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job as long as somebody waits for it.
pub(crate) struct Watched {
    jobs: Arc<Jobs>,
    pub(crate) job: Arc<Job>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.job.cancel();
        let mut all = self.jobs.all();
        if all
            .get(&self.job.name)
            .is_some_and(|other| Arc::ptr_eq(other, &self.job))
        {
            all.remove(&self.job.name);
        }
    }
}
