//! How often states are taken and how densely allocations are sampled, so that the cost stays
//! within the share of the program's time that the user gave.
//!
//! Three quarters of it are for states and checks of assertions, a quarter for samples. Before a state that will cost
//! `c` there must be a time of `c / share`: the long-run cost stays within the share, and it never comes in
//! bursts, however long nothing happened. A state that tells much comes earlier, on credit, and the states after it
//! wait until what it cost is paid back. Checks that nobody asked for come more rarely: what leaked does not go
//! away.

use std::time::Duration;

const FOR_STATES: f64 = 0.75;
const FOR_CHECKS: f64 = 0.25;
const FOR_SAMPLES: f64 = 0.25;
/// What a byte of heap costs before a state has been measured, in seconds, as in most programs. A compiler, whose heap has
/// many small objects and as much garbage, takes three times as much: then the difference is paid back.
const FIRST_GUESS_PER_BYTE: f64 = 5e-9;
/// The part of that in which the program stands still.
const FIRST_GUESS_PAUSE: f64 = 0.5;
/// What may be owed: as much as is allowed in this time.
const CREDIT: Duration = Duration::from_secs(600);
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
    /// Seconds of these that were not yet allowed when the last state was done.
    debt: f64,
}

struct Taken {
    at: Duration,
    seconds: f64,
    /// Of the seconds.
    pause: f64,
    heap: u64,
}

impl Taken {
    /// How many times larger a heap is; a smaller one costs hardly less.
    fn times(&self, heap: u64) -> f64 {
        (heap as f64 / self.heap.max(1) as f64).max(1.0)
    }
}

impl Budget {
    /// `share` from 0 to 1; from 1 on there is no limit.
    pub(crate) fn new(share: f64, cores: u32) -> Self {
        Budget {
            share: (share < 1.0).then_some(share),
            cores: f64::from(cores.max(1)),
            last: None,
            spent: 0.0,
            debt: 0.0,
        }
    }

    /// What a state of that heap will take, in seconds of the program's time.
    pub(crate) fn expected(&self, heap: u64) -> f64 {
        let seconds = match &self.last {
            Some(last) => last.seconds * last.times(heap),
            None => (heap as f64 * FIRST_GUESS_PER_BYTE).max(SMALLEST_FIRST),
        };
        seconds.max(SMALLEST_STATE)
    }

    /// How long the program will stand still for a state of that heap.
    pub(crate) fn expected_pause(&self, heap: u64) -> Duration {
        let seconds = match &self.last {
            Some(last) => last.pause * last.times(heap),
            None => self.expected(heap) * FIRST_GUESS_PAUSE,
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// From when on a state of that heap is affordable.
    pub(crate) fn earliest(&self, heap: u64) -> Duration {
        self.earliest_within(FOR_STATES, self.debt + self.expected(heap))
    }

    /// The same, if it need not be paid for in advance.
    pub(crate) fn earliest_on_credit(&self, heap: u64) -> Duration {
        let credit = self.allowed_in(CREDIT).unwrap_or_default();
        let needed = (self.debt + self.expected(heap) - credit).max(0.0);
        self.earliest_within(FOR_STATES, needed)
    }

    /// From when on a check of the assertions in that heap is affordable.
    pub(crate) fn earliest_check(&self, heap: u64) -> Duration {
        self.earliest_within(FOR_CHECKS, self.debt + self.expected(heap))
    }

    fn earliest_within(&self, part: f64, needed: f64) -> Duration {
        let Some(share) = self.share else {
            return Duration::ZERO;
        };
        let wait = needed / (share * part).max(1e-6);
        self.last_at() + Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX / 2)
    }

    fn last_at(&self) -> Duration {
        self.last.as_ref().map_or(Duration::ZERO, |last| last.at)
    }

    /// Seconds that states may take in that time; nothing if there is no limit.
    fn allowed_in(&self, time: Duration) -> Option<f64> {
        Some(time.as_secs_f64() * self.share? * FOR_STATES)
    }

    pub(crate) fn taken(&mut self, at: Duration, heap: u64, cost: Cost) {
        let seconds = self.seconds(cost);
        self.owe(at, seconds);
        self.last = Some(Taken {
            at,
            seconds,
            pause: cost.pause.as_secs_f64(),
            heap,
        });
    }

    /// A state that came to nothing: it is tried again no sooner than after a whole one.
    pub(crate) fn failed(&mut self, at: Duration, heap: u64, cost: Cost) {
        let spent = self.seconds(cost);
        let (expected, pause) = (self.expected(heap), self.expected_pause(heap));
        self.owe(at, spent);
        self.last = Some(Taken {
            at,
            seconds: spent.max(expected),
            pause: pause.max(cost.pause).as_secs_f64(),
            heap,
        });
    }

    fn owe(&mut self, at: Duration, spent: f64) {
        self.spent += spent;
        let allowed = self.allowed_in(at.saturating_sub(self.last_at()));
        let owed = allowed.map_or(0.0, |allowed| self.debt + spent - allowed);
        self.debt = owed.max(0.0);
    }

    /// What the last state cost, in seconds of the program's time.
    pub(crate) fn last_cost(&self) -> Option<f64> {
        self.last.as_ref().map(|last| last.seconds)
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
    fn what_is_taken_on_credit_is_paid_back() {
        let mut budget = Budget::new(0.03, 2);
        let gigabyte = 1 << 30;
        assert_eq!(budget.earliest_on_credit(gigabyte), Duration::ZERO);
        let (mut now, mut on_credit, mut states) = (Duration::from_secs(3), 0, 0);
        // 3 s each: 1 s standing still, 4 s beside on two cores.
        while now < Duration::from_secs(7200) {
            // A program whose heap seems to double all the time.
            if now >= budget.earliest_on_credit(gigabyte) && now < Duration::from_secs(600) {
                budget.taken(now, gigabyte, cost(1000, 4000));
                on_credit += 1;
            } else if now >= budget.earliest(gigabyte) {
                budget.taken(now, gigabyte, cost(1000, 4000));
                states += 1;
            }
            now += Duration::from_secs(1);
            let owed = budget.spent() - now.as_secs_f64() * 0.03 * FOR_STATES;
            assert!(owed <= 600.0 * 0.03 * FOR_STATES, "{owed} s at {now:?}");
        }
        // 13.5 s on credit, and as much again while they are paid back in the first ten minutes.
        assert!((5..=9).contains(&on_credit), "{on_credit}");
        assert!(states >= 40, "{states}");
        let share = budget.spent() / now.as_secs_f64();
        assert!(share <= 0.03 * FOR_STATES, "{share}");
    }

    #[test]
    fn a_heap_that_costs_more_than_the_credit_waits_for_the_difference() {
        let budget = Budget::new(0.03, 2);
        // 50 s, of which 13.5 s are credit: the rest takes 27 minutes.
        let wait = budget.earliest_on_credit(10_000_000_000).as_secs_f64();
        assert!((wait - (50.0 - 13.5) / 0.0225).abs() < 1.0, "{wait}");
        assert!(budget.expected_pause(10_000_000_000) > Duration::from_secs(20));
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
