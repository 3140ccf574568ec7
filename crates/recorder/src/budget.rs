//! How often states are taken and how densely allocations are sampled, so that the cost stays
//! within the share of the program's time that the user gave.
//!
//! Three quarters of it are for states and checks of assertions, a quarter for samples. After a state that cost
//! `c`, the next one may come after `c / share`: the long-run cost stays within the share, and it never
//! comes in bursts, however long nothing happened. Checks that nobody asked for come more rarely: what leaked does
//! not go away.

use std::time::Duration;

const FOR_STATES: f64 = 0.75;
const FOR_CHECKS: f64 = 0.25;
const FOR_SAMPLES: f64 = 0.25;
/// What a byte of heap costs before a state has been measured, in seconds: that of a compiler, whose
/// heap has many small objects and as much garbage. Most programs take a third of it.
const FIRST_GUESS_PER_BYTE: f64 = 15e-9;
const SMALLEST_STATE: f64 = 0.02;
/// What the first state takes at least: nothing is warm yet.
const SMALLEST_FIRST: f64 = 0.08;

pub(crate) const DENSEST_SAMPLING: u64 = 64 << 10;
pub(crate) const SPARSEST_SAMPLING: u64 = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// The program stood still.
    pub pause: Duration,
    /// Processor time beside the program.
    pub beside: Duration,
}

pub(crate) struct Budget {
    /// Of the program's time, from 0 to 1; `None` is no limit.
    share: Option<f64>,
    cores: f64,
    /// When the last state was done, since the start of the recording.
    last: Option<Taken>,
    /// Seconds of the program's time that states took.
    spent: f64,
}

struct Taken {
    at: Duration,
    seconds: f64,
    heap: u64,
}

impl Budget {
    /// `share` from 0 to 1; from 1 on there is no limit.
    pub(crate) fn new(share: f64, cores: u32) -> Self {
        Budget {
            share: (share < 1.0).then_some(share),
            cores: f64::from(cores.max(1)),
            last: None,
            spent: 0.0,
        }
    }

    /// What a state of that heap will take, in seconds of the program's time.
    pub(crate) fn expected(&self, heap: u64) -> f64 {
        let bytes = heap as f64;
        let seconds = match &self.last {
            Some(last) => last.seconds * (bytes / last.heap.max(1) as f64).max(1.0),
            None => (bytes * FIRST_GUESS_PER_BYTE).max(SMALLEST_FIRST),
        };
        seconds.max(SMALLEST_STATE)
    }

    /// From when on a state of that heap is affordable.
    pub(crate) fn earliest(&self, heap: u64) -> Duration {
        self.earliest_within(FOR_STATES, heap)
    }

    /// From when on a check of the assertions in that heap is affordable.
    pub(crate) fn earliest_check(&self, heap: u64) -> Duration {
        self.earliest_within(FOR_CHECKS, heap)
    }

    fn earliest_within(&self, part: f64, heap: u64) -> Duration {
        let Some(share) = self.share else {
            return Duration::ZERO;
        };
        let since = self.last.as_ref().map_or(Duration::ZERO, |last| last.at);
        let wait = self.expected(heap) / (share * part).max(1e-6);
        since + Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX / 2)
    }

    pub(crate) fn taken(&mut self, at: Duration, heap: u64, cost: Cost) {
        let seconds = self.seconds(cost);
        self.spent += seconds;
        self.last = Some(Taken { at, seconds, heap });
    }

    /// A state that came to nothing: it is tried again no sooner than after a whole one.
    pub(crate) fn failed(&mut self, at: Duration, heap: u64, cost: Cost) {
        let spent = self.seconds(cost);
        let seconds = spent.max(self.expected(heap));
        self.spent += spent;
        self.last = Some(Taken { at, seconds, heap });
    }

    /// Seconds of the program's time that states took so far.
    pub(crate) fn spent(&self) -> f64 {
        self.spent
    }

    /// Work on another core slows the program only as far as it would have used that core.
    fn seconds(&self, cost: Cost) -> f64 {
        cost.pause.as_secs_f64() + cost.beside.as_secs_f64() / self.cores
    }

    /// How many bytes should lie between two samples, given what sampling cost in the last `time`
    /// at the present interval.
    pub(crate) fn sampling(&self, interval: u64, cost: Cost, time: Duration) -> u64 {
        let Some(share) = self.share else {
            return interval;
        };
        let allowed = time.as_secs_f64() * share * FOR_SAMPLES;
        let ratio = self.seconds(cost) / allowed.max(1e-9);
        // Half of what is allowed is near enough; otherwise the interval would change all the time.
        if (0.25..=1.0).contains(&ratio) {
            return interval;
        }
        let wanted = interval as f64 * (ratio * 2.0).clamp(0.25, 64.0);
        (wanted as u64).clamp(DENSEST_SAMPLING, SPARSEST_SAMPLING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(pause_ms: u64, beside_ms: u64) -> Cost {
        Cost {
            pause: Duration::from_millis(pause_ms),
            beside: Duration::from_millis(beside_ms),
        }
    }

    #[test]
    fn states_keep_to_their_share_while_the_heap_grows() {
        let mut budget = Budget::new(0.03, 2);
        let mut now = Duration::ZERO;
        let mut heap = 50_000_000u64;
        // What a state really costs here: 1 ns a byte standing still, 2 ns a byte beside.
        let real = |heap: u64| cost(heap / 1_000_000, heap * 2 / 1_000_000);
        while now < Duration::from_secs(3600) {
            now = now.max(budget.earliest(heap));
            budget.taken(now, heap, real(heap));
            now += Duration::from_secs(1);
            heap += heap / 50;
            heap = heap.min(4_000_000_000);
        }
        let share = budget.spent() / now.as_secs_f64();
        assert!(share <= 0.03 * FOR_STATES * 1.05, "{share}");
        assert!(share >= 0.01, "the budget is used: {share}");
    }

    #[test]
    fn an_idle_day_buys_no_burst() {
        let mut budget = Budget::new(0.03, 2);
        let day = Duration::from_secs(86_400);
        budget.taken(day, 1 << 30, cost(500, 1000));
        assert!(budget.earliest(1 << 30) >= day + Duration::from_secs(30));
    }

    #[test]
    fn what_failed_is_tried_again_no_sooner_than_after_a_whole_state() {
        let now = Duration::from_secs(100);
        let mut whole = Budget::new(0.03, 2);
        whole.taken(now, 1 << 30, cost(500, 1000));
        let mut budget = Budget::new(0.03, 2);
        budget.taken(Duration::ZERO, 1 << 30, cost(500, 1000));
        budget.failed(now, 1 << 30, cost(1, 0));
        assert_eq!(budget.earliest(1 << 30), whole.earliest(1 << 30));
        assert!((budget.spent() - 1.001).abs() < 1e-9, "{}", budget.spent());
    }

    #[test]
    fn without_a_limit_a_state_is_always_affordable() {
        let mut budget = Budget::new(1.0, 2);
        budget.taken(Duration::from_secs(9), 1 << 30, cost(500, 1000));
        assert_eq!(budget.earliest(1 << 40), Duration::ZERO);
    }

    #[test]
    fn sampling_gets_sparser_until_it_fits_and_denser_when_there_is_room() {
        let budget = Budget::new(0.03, 2);
        let second = Duration::from_secs(1);
        // 40 GB/s of allocation, 20 µs a sample.
        let cost_at = |interval: u64| Cost {
            pause: Duration::from_secs_f64(40e9 / interval as f64 * 20e-6),
            beside: Duration::ZERO,
        };
        let mut interval = 512 << 10;
        for _ in 0..20 {
            interval = budget.sampling(interval, cost_at(interval), second);
        }
        let share = cost_at(interval).pause.as_secs_f64();
        assert!(share <= 0.03 * FOR_SAMPLES, "{share}");
        assert!(share >= 0.03 * FOR_SAMPLES / 8.0, "{share}");
        assert_eq!(budget.sampling(512 << 10, cost(0, 0), second), 128 << 10);
    }
}
