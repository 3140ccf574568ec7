//! Times as the trace counts them, and what this process itself has used.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Counts from the recording's start, on the clock that the agent uses too.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    start: u64,
}

impl Clock {
    /// `start` is a moment of the monotonic clock, in nanoseconds.
    pub(crate) fn new(start: u64) -> Self {
        Clock { start }
    }

    /// Nanoseconds since the recording's start of a moment the agent named.
    pub(crate) fn since_start(&self, moment: u64) -> u64 {
        moment.saturating_sub(self.start)
    }

    pub(crate) fn now(&self) -> Duration {
        time(ClockId::Monotonic).saturating_sub(Duration::from_nanos(self.start))
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.now().as_nanos() as u64
    }
}

/// Processor time of this process so far.
pub(crate) fn own_cpu() -> Duration {
    time(ClockId::ProcessCPUTime)
}

fn time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
