//! Answers that are being made. Whoever asks for one that somebody asked for before waits for it with
//! them: the work is done once, for as long as one of them wants it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anthill_server::Job;

use super::office::lock;
use super::reporter::{Reporter, Working};

/// Whoever waits looks that often whether it is cancelled.
const PAUSE: Duration = Duration::from_millis(20);

/// By question.
#[derive(Clone, Default)]
pub struct Makings(Arc<Mutex<HashMap<String, Arc<Making>>>>);

struct Making {
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

/// Who makes an answer.
pub enum Turn {
    Mine(MyMaking),
    Others(OthersMaking),
}

impl Makings {
    /// Begins to make an answer, or joins those who wait for it.
    pub fn begin(
        &self,
        key: &str,
        job: &Arc<Job>,
        unasked: bool,
        reporter: impl FnOnce() -> Arc<Reporter>,
    ) -> Turn {
        let mut all = lock(&self.0);
        if let Some(making) = all.get(key).cloned() {
            let working = making.reporter.work_for(job);
            // From now on somebody wants it, and may want it no more.
            if let Some(unasked) = &making.unasked {
                unasked.cancel();
            }
            return Turn::Others(OthersMaking {
                making,
                _working: working,
            });
        }
        let reporter = reporter();
        let working = reporter.work_for(job);
        let making = Arc::new(Making {
            reporter,
            unasked: unasked.then(|| job.clone()),
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        all.insert(key.to_owned(), making.clone());
        Turn::Mine(MyMaking {
            makings: self.clone(),
            key: key.to_owned(),
            making,
            _working: working,
        })
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

/// An answer that whoever holds this makes; over when it is dropped.
pub struct MyMaking {
    makings: Makings,
    key: String,
    making: Arc<Making>,
    _working: Working,
}

impl MyMaking {
    pub fn reporter(&self) -> &Arc<Reporter> {
        &self.making.reporter
    }

    /// The answer is there; nothing if it went wrong or is too long to be kept.
    pub fn end(self, answer: Option<Arc<Vec<u8>>>) {
        lock(&self.making.state).answer = answer;
    }
}

impl Drop for MyMaking {
    fn drop(&mut self) {
        lock(&self.makings.0).remove(&self.key);
        lock(&self.making.state).is_over = true;
        self.making.ended.notify_all();
    }
}

/// An answer that somebody else makes.
pub struct OthersMaking {
    making: Arc<Making>,
    _working: Working,
}

impl OthersMaking {
    /// The answer, unless the job is cancelled first or there is none to be had from others.
    pub fn wait_for(&self, job: &Job) -> Option<Arc<Vec<u8>>> {
        let mut state = lock(&self.making.state);
        while !state.is_over && !job.is_cancelled() {
            let waited = self.making.ended.wait_timeout(state, PAUSE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.answer.clone()
    }
}

#[cfg(test)]
mod tests {
    use anthill_heap::Progress;
    use anthill_server::Board;

    use super::*;
    use crate::web::reporter::Reporting;

    fn begin(makings: &Makings, job: &Arc<Job>, unasked: bool) -> Turn {
        makings.begin("question", job, unasked, || {
            Reporter::new(0, Board::default())
        })
    }

    #[test]
    fn the_same_question_is_answered_once() {
        let makings = Makings::default();
        let (first, second) = (Job::new("first"), Job::new("second"));
        let Turn::Mine(mine) = begin(&makings, &first, false) else {
            panic!("nobody asked before");
        };
        let Turn::Others(others) = begin(&makings, &second, false) else {
            panic!("it is being made");
        };
        let progress = Reporting(mine.reporter().clone());
        first.cancel();
        assert!(!progress.cancelled(), "the second still waits");
        let answer = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| others.wait_for(&second));
            mine.end(Some(Arc::new(b"answer".to_vec())));
            waiting.join().unwrap()
        });
        assert_eq!(*answer.unwrap(), b"answer");
        assert!(makings.is_empty());
    }

    #[test]
    fn work_nobody_asked_for_ends_when_nobody_wants_it_any_more() {
        let makings = Makings::default();
        let (unasked, person) = (Job::new(""), Job::new("person"));
        let Turn::Mine(mine) = begin(&makings, &unasked, true) else {
            panic!("nobody asked before");
        };
        let progress = Reporting(mine.reporter().clone());
        assert!(!progress.cancelled());
        let Turn::Others(others) = begin(&makings, &person, false) else {
            panic!("it is being made");
        };
        assert!(!progress.cancelled());
        person.cancel();
        assert!(progress.cancelled());
        assert!(others.wait_for(&person).is_none());
    }

    #[test]
    fn whoever_waits_in_vain_makes_it_themselves() {
        let makings = Makings::default();
        let (first, second) = (Job::new("first"), Job::new("second"));
        let mine = begin(&makings, &first, false);
        let Turn::Others(others) = begin(&makings, &second, false) else {
            panic!("it is being made");
        };
        drop(mine);
        assert!(others.wait_for(&second).is_none());
        assert!(matches!(begin(&makings, &second, false), Turn::Mine(_)));
    }
}
