//! How densely allocations are sampled: considered whenever the agent says what it has cost so far.

use std::time::Duration;

use anthill_wire as wire;

use crate::budget::{Budget, Cost};

/// Shorter times say too little.
const SHORTEST: Duration = Duration::from_millis(500);
/// What the JVM itself does for a sample before and after the agent's part.
const UNSEEN: Duration = Duration::from_micros(2);

pub(crate) struct Sampling {
    interval: u64,
    /// What had been spent when the present interval was last considered.
    before: Option<Spent>,
}

/// Sums since the start.
struct Spent {
    at: Duration,
    /// On the program's threads.
    within: Duration,
    /// On the agent's threads and in this process.
    beside: Duration,
}

impl Sampling {
    pub(crate) fn new(interval: u32) -> Self {
        Sampling {
            interval: interval.into(),
            before: None,
        }
    }

    /// Something else than samples costs now: the next sums are a new start.
    pub(crate) fn interrupt(&mut self) {
        self.before = None;
    }

    /// Another interval, if the present one costs too much or leaves room. `own_cpu` is that of this process.
    pub(crate) fn tune(
        &mut self,
        budget: &Budget,
        cost: &wire::Cost,
        own_cpu: Duration,
    ) -> Option<u32> {
        let events = u32::try_from(cost.events).unwrap_or(u32::MAX);
        let spent = Spent {
            at: Duration::from_nanos(cost.time_ns),
            within: Duration::from_nanos(cost.event_ns) + UNSEEN * events,
            beside: Duration::from_nanos(cost.agent_cpu_ns) + own_cpu,
        };
        let Some(before) = &self.before else {
            self.before = Some(spent);
            return None;
        };
        let time = spent.at.saturating_sub(before.at);
        if time < SHORTEST {
            return None;
        }
        let cost = Cost {
            pause: spent.within.saturating_sub(before.within),
            beside: spent.beside.saturating_sub(before.beside),
        };
        self.before = Some(spent);
        let interval = budget.sampling(self.interval, cost, time);
        if interval == self.interval {
            return None;
        }
        self.interval = interval;
        Some(u32::try_from(interval).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that allocates 1.5 GB/s, with samples that take 20 µs each and as much beside.
    fn costs(sampling: &mut Sampling, budget: &Budget, seconds: u64) -> f64 {
        let mut cost = wire::Cost {
            time_ns: 0,
            agent_cpu_ns: 0,
            events: 0,
            event_ns: 0,
            followed: 0,
        };
        let mut own = Duration::ZERO;
        for second in 0..seconds {
            cost.time_ns = second * 1_000_000_000;
            sampling.tune(budget, &cost, own);
            let samples = 1_500_000_000 / sampling.interval;
            cost.events += samples;
            cost.event_ns += samples * 20_000;
            own += Duration::from_micros(20) * samples as u32;
        }
        (cost.event_ns as f64 / 1e9 + own.as_secs_f64() / 2.0) / seconds as f64
    }

    #[test]
    fn samples_keep_to_their_share_from_the_start() {
        let budget = Budget::new(0.03, 2);
        let mut sampling = Sampling::new(crate::options::FIRST_SAMPLING);
        let first = costs(&mut sampling, &budget, 5);
        assert!(first < 0.01, "{first}");
    }

    #[test]
    fn what_a_state_costs_makes_samples_no_sparser() {
        let budget = Budget::new(0.03, 2);
        let mut sampling = Sampling::new(64 << 20);
        let cost = |seconds: u64| wire::Cost {
            time_ns: seconds * 1_000_000_000,
            agent_cpu_ns: seconds * 900_000_000,
            events: 0,
            event_ns: 0,
            followed: 0,
        };
        assert_eq!(sampling.tune(&budget, &cost(0), Duration::ZERO), None);
        sampling.interrupt();
        assert_eq!(sampling.tune(&budget, &cost(1), Duration::ZERO), None);
        let sparser = sampling.tune(&budget, &cost(2), Duration::ZERO);
        assert!(sparser.is_some_and(|bytes| bytes > 64 << 20));
    }
}
