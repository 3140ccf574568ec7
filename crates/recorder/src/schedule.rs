//! When a state is due, apart from what it costs.

use std::time::Duration;

use anthill_wire::GcKind;

use crate::When;

/// Without being told otherwise, states come further and further apart, so that a recording of
/// days has hundreds of them and not tens of thousands: at least this part of its age apart.
const PART_OF_AGE: u32 = 60;
/// A program that does not collect is looked at all the same after this time, or when the recording is twice as old.
const WITHOUT_COLLECTION: Duration = Duration::from_secs(60);
/// The first state comes after a collection, but not while the program only starts, and after this time without one.
const FIRST_AT_EARLIEST: Duration = Duration::from_secs(1);
const FIRST_AT_LATEST: Duration = Duration::from_secs(5);
/// A heap that grew so many times since the last state is worth a state on credit.
const MUCH_LARGER: u64 = 2;

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

/// Whether a state could be paid for.
#[derive(Clone, Copy)]
pub(crate) struct Means {
    /// By what recording may cost so far.
    pub saved: bool,
    /// By what it may cost later.
    pub credit: bool,
}

pub(crate) struct Schedule {
    when: When,
    last: Option<Duration>,
    /// Bytes of heap in use at the last state.
    heap: u64,
    /// A collection that was waited for came since the last state.
    collected: Option<Duration>,
}

impl Schedule {
    pub(crate) fn new(when: When) -> Self {
        Schedule {
            when,
            last: None,
            heap: 0,
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

    /// Whether a state should be taken now, with so many bytes in use after the last collection. What is due but not
    /// affordable waits, except after a chosen collection: then the moment is over. The first state is worth credit,
    /// and so is one of a heap that is much larger than at the last one.
    pub(crate) fn due(&mut self, now: Duration, heap: u64, means: Means) -> bool {
        let since = now.saturating_sub(self.last.unwrap_or_default());
        let affordable = means.saved || means.credit && self.last.is_none();
        match self.when {
            When::Every(time) => affordable && since >= time,
            When::Affordable => {
                let good = self.collected.map(|at| is_good_moment(now, at));
                let Some(last) = self.last else {
                    let good = good.unwrap_or(false) && now >= FIRST_AT_EARLIEST;
                    return affordable && (good || now >= FIRST_AT_LATEST);
                };
                let spaced = since >= now / PART_OF_AGE;
                let good = good.unwrap_or(since >= WITHOUT_COLLECTION.min(last));
                let larger = heap >= self.heap.saturating_mul(MUCH_LARGER);
                good && (means.saved && spaced || means.credit && larger)
            }
            When::FullGc | When::EveryGc(_) => self.collected.take().is_some() && affordable,
        }
    }

    /// A state is taken of a heap with so many bytes in use after the last collection.
    pub(crate) fn taken(&mut self, now: Duration, heap: u64) {
        self.last = Some(now);
        self.heap = heap;
        self.collected = None;
    }

    /// So many bytes were reachable in the last state. They may be more than the last collection left.
    pub(crate) fn found(&mut self, reachable: u64) {
        self.heap = self.heap.max(reachable);
    }

    /// What a state waits for that could be paid for, in words.
    pub(crate) fn waits_for(&self) -> String {
        match self.when {
            When::Affordable => "a collection".to_owned(),
            When::Every(time) => format!("the next of {time:?} each"),
            When::FullGc => "a full collection".to_owned(),
            When::EveryGc(every) => format!("a collection whose number is a multiple of {every}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MB: u64 = 1 << 20;
    const RICH: Means = Means {
        saved: true,
        credit: true,
    };
    const ON_CREDIT: Means = Means {
        saved: false,
        credit: true,
    };
    const POOR: Means = Means {
        saved: false,
        credit: false,
    };

    /// A default schedule whose first state was taken of a heap of 10 MB.
    fn begun() -> Schedule {
        let mut schedule = Schedule::new(When::Affordable);
        schedule.taken(SECOND / 2, 10 * MB);
        schedule
    }

    #[test]
    fn only_chosen_collections_make_a_state_due() {
        let mut full = Schedule::new(When::FullGc);
        full.collected(SECOND, GcKind::Young, 1);
        assert!(!full.due(SECOND, MB, RICH));
        full.collected(SECOND, GcKind::Full, 2);
        assert!(full.due(SECOND, MB, RICH));
        assert!(!full.due(SECOND, MB, RICH), "once for each");
        full.collected(SECOND, GcKind::Full, 3);
        assert!(!full.due(SECOND, MB, POOR));
        assert!(!full.due(SECOND, MB, RICH), "that moment is over");
        let mut third = Schedule::new(When::EveryGc(3));
        let due: Vec<bool> = (1..=6)
            .map(|number| {
                third.collected(SECOND, GcKind::Young, number);
                third.due(SECOND, MB, RICH)
            })
            .collect();
        assert_eq!(due, [false, false, true, false, false, true]);
    }

    #[test]
    fn a_time_that_was_not_affordable_is_caught_up() {
        let mut every = Schedule::new(When::Every(10 * SECOND));
        assert!(!every.due(9 * SECOND, MB, RICH));
        assert!(!every.due(10 * SECOND, MB, POOR));
        assert!(every.due(13 * SECOND, MB, ON_CREDIT), "the first one");
        every.taken(13 * SECOND, MB);
        assert!(!every.due(20 * SECOND, MB, RICH));
        assert!(!every.due(23 * SECOND, MB, ON_CREDIT), "a later one");
        assert!(every.due(23 * SECOND, MB, RICH));
    }

    #[test]
    fn a_program_that_collects_often_is_looked_at_right_after_a_collection() {
        let mut schedule = begun();
        schedule.collected(SECOND, GcKind::Young, 1);
        let later = SECOND * 3 / 2;
        assert!(!schedule.due(SECOND, MB, POOR));
        assert!(!schedule.due(later, MB, RICH), "the next one comes soon");
        assert!(schedule.due(3 * SECOND, MB, RICH), "or it does not");
        schedule.collected(later, GcKind::Young, 2);
        assert!(schedule.due(later, MB, RICH));
    }

    #[test]
    fn the_first_state_comes_soon_and_on_credit() {
        let mut schedule = Schedule::new(When::Affordable);
        schedule.collected(SECOND / 2, GcKind::Young, 1);
        assert!(!schedule.due(SECOND / 2, MB, RICH), "it only starts");
        schedule.collected(2 * SECOND, GcKind::Young, 2);
        assert!(schedule.due(2 * SECOND, MB, ON_CREDIT));
        let mut idle = Schedule::new(When::Affordable);
        assert!(!idle.due(4 * SECOND, MB, ON_CREDIT));
        assert!(!idle.due(5 * SECOND, MB, POOR));
        assert!(idle.due(5 * SECOND, MB, ON_CREDIT), "without a collection");
    }

    #[test]
    fn a_heap_that_doubles_is_worth_credit() {
        let mut schedule = begun();
        schedule.collected(3 * SECOND, GcKind::Young, 1);
        assert!(!schedule.due(3 * SECOND, 19 * MB, ON_CREDIT));
        assert!(schedule.due(3 * SECOND, 20 * MB, ON_CREDIT));
        assert!(!schedule.due(3 * SECOND, 20 * MB, POOR));
        schedule.found(12 * MB);
        assert!(
            !schedule.due(3 * SECOND, 20 * MB, ON_CREDIT),
            "more was alive"
        );
        assert!(schedule.due(3 * SECOND, 24 * MB, ON_CREDIT));
        schedule.taken(3 * SECOND, 24 * MB);
        schedule.collected(4 * SECOND, GcKind::Young, 2);
        assert!(!schedule.due(4 * SECOND, 24 * MB, ON_CREDIT), "once");
    }

    #[test]
    fn a_program_that_never_collects_is_looked_at_more_and_more_rarely() {
        let mut schedule = Schedule::new(When::Affordable);
        let mut states = Vec::new();
        for second in 0..300 {
            if schedule.due(SECOND * second, MB, RICH) {
                schedule.taken(SECOND * second, MB);
                states.push(second);
            }
        }
        assert_eq!(states, [5, 10, 20, 40, 80, 140, 200, 260]);
    }

    #[test]
    fn three_days_give_hundreds_of_states() {
        let mut schedule = Schedule::new(When::Affordable);
        let mut states = 0;
        for second in 0..3 * 86_400 {
            let now = SECOND * second;
            schedule.collected(now, GcKind::Young, second.into());
            let means = if second % 20 == 0 { RICH } else { POOR };
            if schedule.due(now, 10 * MB, means) {
                states += 1;
                schedule.taken(now, 10 * MB);
            }
        }
        assert!((200..1000).contains(&states), "{states}");
    }
}
