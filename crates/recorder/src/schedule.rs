//! When a state is due, apart from what it costs.

use std::time::Duration;

use anthill_wire::GcKind;

use crate::When;

/// Without being told otherwise, states come further and further apart, so that a recording of
/// days has hundreds of them and not tens of thousands: at least this part of its age apart.
const PART_OF_AGE: u32 = 60;
/// A program that does not collect is looked at all the same after this time.
const WITHOUT_COLLECTION: Duration = Duration::from_secs(60);

/// How long a collection is the moment: little garbage has come since, which would be dumped with the rest.
const MOMENT: Duration = Duration::from_millis(50);
/// A program that has not collected for so long may not do so soon.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether now is a good moment for a dump, given the last collection: soon after it, or when waiting for the next one
/// could take long.
pub(crate) fn is_good_moment(now: Duration, collection: Duration) -> bool {
    let since = now.saturating_sub(collection);
    since <= MOMENT || since >= PATIENCE
}

pub(crate) struct Schedule {
    when: When,
    last: Option<Duration>,
    /// A collection that was waited for came since the last state.
    collected: Option<Duration>,
}

impl Schedule {
    pub(crate) fn new(when: When) -> Self {
        Schedule {
            when,
            last: None,
            collected: None,
        }
    }

    pub(crate) fn collected(&mut self, now: Duration, kind: GcKind, number: u64) {
        let waited_for = match self.when {
            When::Affordable => true,
            When::Every(_) => false,
            When::FullGc => kind == GcKind::Full,
            When::EveryGc(every) => number % every == 0,
        };
        if waited_for {
            self.collected = Some(now);
        }
    }

    /// Whether a state should be taken now. What is due but not affordable waits, except after a
    /// chosen collection: then the moment is over.
    pub(crate) fn due(&mut self, now: Duration, affordable: bool) -> bool {
        let since = now.saturating_sub(self.last.unwrap_or_default());
        match self.when {
            When::Every(time) => affordable && since >= time,
            When::Affordable => {
                let spaced = self.last.is_none() || since >= now / PART_OF_AGE;
                let good = self.collected.map(|at| is_good_moment(now, at));
                affordable && spaced && good.unwrap_or(since >= WITHOUT_COLLECTION)
            }
            When::FullGc | When::EveryGc(_) => self.collected.take().is_some() && affordable,
        }
    }

    pub(crate) fn taken(&mut self, now: Duration) {
        self.last = Some(now);
        self.collected = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_chosen_collections_make_a_state_due() {
        let mut full = Schedule::new(When::FullGc);
        full.collected(SECOND, GcKind::Young, 1);
        assert!(!full.due(SECOND, true));
        full.collected(SECOND, GcKind::Full, 2);
        assert!(full.due(SECOND, true));
        assert!(!full.due(SECOND, true), "once for each");
        full.collected(SECOND, GcKind::Full, 3);
        assert!(!full.due(SECOND, false));
        assert!(!full.due(SECOND, true), "that moment is over");
        let mut third = Schedule::new(When::EveryGc(3));
        let due: Vec<bool> = (1..=6)
            .map(|number| {
                third.collected(SECOND, GcKind::Young, number);
                third.due(SECOND, true)
            })
            .collect();
        assert_eq!(due, [false, false, true, false, false, true]);
    }

    #[test]
    fn a_time_that_was_not_affordable_is_caught_up() {
        let mut every = Schedule::new(When::Every(10 * SECOND));
        assert!(!every.due(9 * SECOND, true));
        assert!(!every.due(10 * SECOND, false));
        assert!(every.due(13 * SECOND, true));
        every.taken(13 * SECOND);
        assert!(!every.due(20 * SECOND, true));
    }

    #[test]
    fn a_program_that_collects_often_is_looked_at_right_after_a_collection() {
        let mut schedule = Schedule::new(When::Affordable);
        schedule.collected(SECOND, GcKind::Young, 1);
        let later = SECOND * 3 / 2;
        assert!(!schedule.due(SECOND, false));
        assert!(!schedule.due(later, true), "the next one comes soon");
        assert!(schedule.due(3 * SECOND, true), "or it does not");
        schedule.collected(later, GcKind::Young, 2);
        assert!(schedule.due(later, true));
    }

    #[test]
    fn three_days_give_hundreds_of_states() {
        let mut schedule = Schedule::new(When::Affordable);
        let mut states = 0;
        for second in 0..3 * 86_400 {
            let now = SECOND * second;
            schedule.collected(now, GcKind::Young, second.into());
            if schedule.due(now, second % 20 == 0) {
                states += 1;
                schedule.taken(now);
            }
        }
        assert!((200..1000).contains(&states), "{states}");
    }
}
