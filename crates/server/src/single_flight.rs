//! Each answer is computed once at a time. Whoever asks for one that is being computed waits for it with the others; the work goes on
//! for as long as one of them wants it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::jobs::Job;
use crate::progress::{Reporter, Waiting};
use crate::sources::lock;

/// Whoever waits looks that often whether it is cancelled.
const PAUSE: Duration = Duration::from_millis(20);

/// By question.
#[derive(Clone, Default)]
pub(crate) struct Flights(Arc<Mutex<HashMap<String, Arc<Flight>>>>);

struct Flight {
    reporter: Arc<Reporter>,
    /// The job of the work itself if nobody asked for it.
    unasked: Option<Arc<Job>>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    is_over: bool,
    answer: Option<Arc<Vec<u8>>>,
}

/// Who computes an answer.
pub(crate) enum Turn {
    Leader(Leader),
    Follower(Follower),
}

impl Flights {
    /// Begins to compute an answer, or joins those who wait for it.
    pub(crate) fn join(
        &self,
        key: &str,
        job: &Arc<Job>,
        unasked: bool,
        reporter: impl FnOnce() -> Arc<Reporter>,
    ) -> Turn {
        let mut all = lock(&self.0);
        if let Some(flight) = all.get(key).cloned() {
            let waiting = flight.reporter.work_for(job);
            // From now on somebody wants it, and may want it no more.
            if let Some(unasked) = &flight.unasked {
                unasked.cancel();
            }
            return Turn::Follower(Follower {
                flight,
                _waiting: waiting,
            });
        }
        let reporter = reporter();
        let waiting = reporter.work_for(job);
        let flight = Arc::new(Flight {
            reporter,
            unasked: unasked.then(|| job.clone()),
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        all.insert(key.to_owned(), flight.clone());
        Turn::Leader(Leader {
            flights: self.clone(),
            key: key.to_owned(),
            flight,
            _waiting: waiting,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

/// An answer that whoever holds this computes; over when it is dropped.
pub(crate) struct Leader {
    flights: Flights,
    key: String,
    flight: Arc<Flight>,
    _waiting: Waiting,
}

impl Leader {
    pub(crate) fn reporter(&self) -> &Arc<Reporter> {
        &self.flight.reporter
    }

    /// The answer is there; nothing if it went wrong or is too long to be kept.
    pub(crate) fn end(self, answer: Option<Arc<Vec<u8>>>) {
        lock(&self.flight.state).answer = answer;
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        lock(&self.flights.0).remove(&self.key);
        lock(&self.flight.state).is_over = true;
        self.flight.ended.notify_all();
    }
}

/// An answer that somebody else computes.
pub(crate) struct Follower {
    flight: Arc<Flight>,
    _waiting: Waiting,
}

impl Follower {
    /// The answer, unless the job is cancelled first or there is none to be had from others.
    pub(crate) fn wait_for(&self, job: &Job) -> Option<Arc<Vec<u8>>> {
        let mut state = lock(&self.flight.state);
        while !state.is_over && !job.is_cancelled() {
            let waited = self.flight.ended.wait_timeout(state, PAUSE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.answer.clone()
    }
}

#[cfg(test)]
mod tests {
    use anthill_heap::Progress;

    use super::*;
    use crate::events::Events;
    use crate::progress::JobProgress;

    fn begin(flights: &Flights, job: &Arc<Job>, unasked: bool) -> Turn {
        flights.join("question", job, unasked, || {
            Reporter::new(0, Events::default())
        })
    }

    #[test]
    fn the_same_question_is_answered_once() {
        let flights = Flights::default();
        let (first, second) = (Job::new("first"), Job::new("second"));
        let Turn::Leader(leader) = begin(&flights, &first, false) else {
            panic!("nobody asked before");
        };
        let Turn::Follower(follower) = begin(&flights, &second, false) else {
            panic!("it is being computed");
        };
        let progress = JobProgress(leader.reporter().clone());
        first.cancel();
        assert!(!progress.cancelled(), "the second still waits");
        let answer = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| follower.wait_for(&second));
            leader.end(Some(Arc::new(b"answer".to_vec())));
            waiting.join().unwrap()
        });
        assert_eq!(*answer.unwrap(), b"answer");
        assert!(flights.is_empty());
    }

    #[test]
    fn work_nobody_asked_for_ends_when_nobody_wants_it_any_more() {
        let flights = Flights::default();
        let (unasked, person) = (Job::new(""), Job::new("person"));
        let Turn::Leader(leader) = begin(&flights, &unasked, true) else {
            panic!("nobody asked before");
        };
        let progress = JobProgress(leader.reporter().clone());
        assert!(!progress.cancelled());
        let Turn::Follower(follower) = begin(&flights, &person, false) else {
            panic!("it is being computed");
        };
        assert!(!progress.cancelled());
        person.cancel();
        assert!(progress.cancelled());
        assert!(follower.wait_for(&person).is_none());
    }

    #[test]
    fn whoever_waits_in_vain_computes_it_themselves() {
        let flights = Flights::default();
        let (first, second) = (Job::new("first"), Job::new("second"));
        let leader = begin(&flights, &first, false);
        let Turn::Follower(follower) = begin(&flights, &second, false) else {
            panic!("it is being computed");
        };
        drop(leader);
        assert!(follower.wait_for(&second).is_none());
        assert!(matches!(begin(&flights, &second, false), Turn::Leader(_)));
    }
}
