//! When a state is due, apart from what it costs.

use std::time::Duration;

use anthill_wire::GcKind;

use crate::When;

/// Without being told otherwise, states come further and further apart, so that a recording of
/// days has hundreds of them and not tens of thousands: at least this part of its age apart.
const PART_OF_AGE: u32 = 60;
/// A program that does not collect is looked at all the same after this time.
const WITHOUT_COLLECTION: Duration = Duration::from_secs(60);

pub struct Schedule {
    when: When,
    last: Option<Duration>,
    /// A collection that was waited for came since the last state.
    collected: bool,
}

impl Schedule {
    pub fn new(when: When) -> Self {
        Schedule {
            when,
            last: None,
            collected: false,
        }
    }

    pub fn collected(&mut self, kind: GcKind, number: u64) {
        self.collected |= match self.when {
            When::Affordable => true,
            When::Every(_) => false,
            When::FullGc => kind == GcKind::Full,
            When::EveryGc(every) => number % every == 0,
        };
    }

    /// Whether a state should be taken now. What is due but not affordable waits, except after a
    /// chosen collection: then the moment is over.
    pub fn due(&mut self, now: Duration, affordable: bool) -> bool {
        let since = now.saturating_sub(self.last.unwrap_or_default());
        let collected = self.collected;
        let chosen = matches!(self.when, When::FullGc | When::EveryGc(_));
        if chosen || affordable {
            self.collected = false;
        }
        affordable
            && match self.when {
                When::Every(time) => since >= time,
                When::Affordable => {
                    let spaced = self.last.is_none() || since >= now / PART_OF_AGE;
                    spaced && (collected || since >= WITHOUT_COLLECTION)
                }
                When::FullGc | When::EveryGc(_) => collected,
            }
    }

    pub fn taken(&mut self, now: Duration) {
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_chosen_collections_make_a_state_due() {
        let mut full = Schedule::new(When::FullGc);
        full.collected(GcKind::Young, 1);
        assert!(!full.due(SECOND, true));
        full.collected(GcKind::Full, 2);
        assert!(full.due(SECOND, true));
        assert!(!full.due(SECOND, true), "once for each");
        full.collected(GcKind::Full, 3);
        assert!(!full.due(SECOND, false));
        assert!(!full.due(SECOND, true), "that moment is over");
        let mut third = Schedule::new(When::EveryGc(3));
        let due: Vec<bool> = (1..=6)
            .map(|number| {
                third.collected(GcKind::Young, number);
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
    fn three_days_give_hundreds_of_states() {
        let mut schedule = Schedule::new(When::Affordable);
        let mut states = 0;
        for second in 0..3 * 86_400 {
            let now = SECOND * second;
            schedule.collected(GcKind::Young, second.into());
            if schedule.due(now, second % 20 == 0) {
                states += 1;
                schedule.taken(now);
            }
        }
        assert!((200..1000).contains(&states), "{states}");
    }
}
