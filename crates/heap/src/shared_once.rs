//! Something that is computed when it is first needed, and only once, however many ask for it at the
//! same time. Whoever is cancelled while computing leaves it to the next one.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::{Cancelled, Progress};

/// Whoever waits looks that often whether it is cancelled.
const PAUSE: Duration = Duration::from_millis(20);

/// A value that is made at most once.
pub struct SharedOnce<T> {
    value: OnceLock<T>,
    /// Whether somebody is computing it.
    busy: Mutex<bool>,
    free: Condvar,
}

impl<T> Default for SharedOnce<T> {
    fn default() -> Self {
        SharedOnce {
            value: OnceLock::new(),
            busy: Mutex::new(false),
            free: Condvar::new(),
        }
    }
}

impl<T> SharedOnce<T> {
    /// The value; `make` computes it if nobody did yet. Waits while somebody else computes it.
    pub fn get_or_make<E: From<Cancelled>>(
        &self,
        progress: &dyn Progress,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _turn = self.turn(progress)?;
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }

    /// Waits until nobody else computes it.
    fn turn(&self, progress: &dyn Progress) -> Result<Turn<'_, T>, Cancelled> {
        let mut busy = self.lock();
        if *busy {
            progress.stage("waiting for a shared computation", 0);
        }
        while *busy {
            progress.check()?;
            let waited = self.free.wait_timeout(busy, PAUSE);
            busy = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *busy = true;
        Ok(Turn(self))
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        // A flag is whole at any time.
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends with the computation, whatever came of it.
struct Turn<'a, T>(&'a SharedOnce<T>);

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        *self.0.lock() = false;
        self.0.free.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::Quiet;

    use super::*;

    #[test]
    fn many_ask_and_one_computes() {
        let shared = SharedOnce::default();
        let made = AtomicUsize::new(0);
        let make = || {
            std::thread::sleep(Duration::from_millis(50));
            Ok::<_, Cancelled>(made.fetch_add(1, Ordering::Relaxed) + 7)
        };
        let answers: Vec<usize> = std::thread::scope(|scope| {
            let ask = || *shared.get_or_make(&Quiet, make).unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(answers, [7; 8]);
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn what_was_cancelled_is_left_to_the_next() {
        let shared = SharedOnce::default();
        assert!(shared.get_or_make(&Quiet, || Err(Cancelled)).is_err());
        let next = shared.get_or_make(&Quiet, || Ok::<_, Cancelled>(1));
        assert_eq!(next, Ok(&1));
    }

    #[test]
    fn whoever_waits_can_be_cancelled() {
        struct Gone;
        impl Progress for Gone {
            fn stage(&self, _: &str, _: u64) {}
            fn advance(&self, _: u64) {}
            fn cancelled(&self) -> bool {
                true
            }
        }
        let shared = SharedOnce::<u32>::default();
        let inner = || shared.get_or_make(&Gone, || Ok(2)).copied();
        // Asked for while it is being computed.
        assert_eq!(shared.get_or_make(&Quiet, inner), Err(Cancelled));
    }
}
