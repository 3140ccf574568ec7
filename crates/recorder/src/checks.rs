//! GC assertions of the program: when they are checked and where the results go. How they are checked is the business of the
//! [`Checker`] that the caller brings.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anthill_wire::{self as wire, GcKind, MAX_FRAME};

pub use wire::Violation;

use crate::schedule::is_good_moment;

/// Finds the assertions that do not hold in a heap dump.
pub trait Checker: Send + Sync {
    /// Local variables of the thread with the id `forgiven` do not keep what should be dead alive.
    fn check(&self, dump: &Path, forgiven: Option<u64>) -> Result<Vec<FoundViolation>, String>;
}

/// What a checker found.
#[derive(Clone, Debug)]
pub struct FoundViolation {
    /// What the program is told.
    pub violation: Violation,
    /// A variable of a running method leads to it: it may be about to go, as while a method still runs that has just asserted something
    /// of its variable. Believed when a second check finds it again.
    pub fleeting: bool,
}

/// Who checks, and what is done with the results besides telling the program.
#[derive(Clone)]
pub struct Checking {
    /// Who looks at dumps.
    pub checker: Arc<dyn Checker>,
    /// Violations are appended here as lines of JSON.
    pub violations: Option<PathBuf>,
}

/// Checks that nobody asked for are at least this part of the recording's age apart, except after full collections.
const PART_OF_AGE: u32 = 60;
/// A program that does not collect is checked all the same after this time.
const WITHOUT_COLLECTION: Duration = Duration::from_secs(60);
/// Of violations that are told in one message, which may take twice as much; the first ones are enough to work with.
const MOST_BYTES: usize = MAX_FRAME / 2;
const MOST_ASSERTIONS: usize = 20_000;

/// Equal violations are told again when there are so many times more.
const MUCH_MORE: u64 = 10;
const MOST_KEYS: usize = 10_000;

const INSTANCES: &str = "INSTANCES";

/// How far a check has come.
pub(crate) enum Stage {
    Idle,
    /// The agent counts assertions.
    Counting(Run),
    /// The JVM writes its dump.
    Dumping(Run, PathBuf),
    /// The dump is being looked at.
    Checking(Run, Duration),
}

/// One check.
pub(crate) struct Run {
    pub order: u32,
    /// The requests it answers; none if nobody asked.
    pub asked: Vec<u64>,
    pub forgiven: Option<u64>,
    /// Whether it was made before, for the same requests.
    pub again: bool,
}

pub(crate) struct Checks {
    checking: Option<Checking>,
    /// The program uses the API.
    possible: bool,
    asked: Vec<wire::CheckAsked>,
    pub stage: Stage,
    full: bool,
    collected: Option<Duration>,
    last: Option<Duration>,
    /// Assertions that did not hold in the check before, fleeting or not: which path is the shortest to an object may change.
    seen: HashSet<u64>,
    /// By key of equal violations: how many there were when they were told.
    told: HashMap<String, u64>,
    /// Checks that were made, and violations that were found.
    pub made: u32,
    pub found: u64,
}

impl Checks {
    pub(crate) fn new(checking: Option<Checking>) -> Self {
        Checks {
            checking,
            possible: false,
            asked: Vec::new(),
            stage: Stage::Idle,
            full: false,
            collected: None,
            last: None,
            seen: HashSet::new(),
            told: HashMap::new(),
            made: 0,
            found: 0,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle)
    }

    pub(crate) fn checker(&self) -> Option<Arc<dyn Checker>> {
        let checking = self.checking.as_ref();
        checking.map(|checking| checking.checker.clone())
    }

    pub(crate) fn program_asserts(&mut self) {
        self.possible = true;
    }

    pub(crate) fn ask(&mut self, asked: wire::CheckAsked) {
        self.asked.push(asked);
    }

    pub(crate) fn collected(&mut self, now: Duration, kind: GcKind) {
        self.collected = Some(now);
        self.full |= kind == GcKind::Full;
    }

    /// The check that is to be made now, if any. Requests are answered together as far as they forgive the same.
    pub(crate) fn next(&mut self, now: Duration, affordable: bool) -> Option<Run> {
        if !self.is_idle() || self.checking.is_none() {
            return None;
        }
        if let Some(first) = self.asked.first() {
            let forgiven = first.forgiven;
            let (together, later) = self
                .asked
                .drain(..)
                .partition(|one| one.forgiven == forgiven);
            self.asked = later;
            let together: Vec<wire::CheckAsked> = together;
            return Some(Run {
                order: 0,
                asked: together.iter().map(|one| one.number).collect(),
                forgiven: (forgiven > 0).then_some(forgiven),
                again: false,
            });
        }
        let due = self.possible && affordable && self.is_due(now);
        due.then(|| Run {
            order: 0,
            asked: Vec::new(),
            forgiven: None,
            again: false,
        })
    }

    fn is_due(&self, now: Duration) -> bool {
        let since = now.saturating_sub(self.last.unwrap_or_default());
        let spaced = self.last.is_none() || since >= now / PART_OF_AGE;
        let good = self.collected.map(|at| is_good_moment(now, at));
        self.full || spaced && good.unwrap_or(since >= WITHOUT_COLLECTION)
    }

    /// A check begins.
    pub(crate) fn begin(&mut self, now: Duration, run: Run) {
        self.last = Some(now);
        self.full = false;
        self.collected = None;
        self.stage = Stage::Counting(run);
    }

    /// The check with this order, if it is in that stage.
    pub(crate) fn counting(&mut self, order: u32) -> Option<Run> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Counting(run) if run.order == order => Some(run),
            other => {
                self.stage = other;
                None
            }
        }
    }

    pub(crate) fn dumping(&mut self, order: u32) -> Option<(Run, PathBuf)> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Dumping(run, path) if run.order == order => Some((run, path)),
            other => {
                self.stage = other;
                None
            }
        }
    }

    pub(crate) fn checking(&mut self) -> Option<(Run, Duration)> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Checking(run, pause) => Some((run, pause)),
            other => {
                self.stage = other;
                None
            }
        }
    }

    /// What is to be believed. True if there are fleeting violations that somebody should look for again.
    pub(crate) fn believed(&mut self, found: Vec<FoundViolation>) -> (Vec<Violation>, bool) {
        let (mut seen, mut look_again) = (HashSet::new(), false);
        let mut believed = Vec::new();
        for FoundViolation {
            mut violation,
            fleeting,
        } in found
        {
            seen.extend(violation.assertions.iter().copied());
            if fleeting {
                let all = violation.assertions.len();
                violation.assertions.retain(|id| self.seen.contains(id));
                look_again |= violation.assertions.len() < all;
            }
            if !violation.assertions.is_empty() {
                violation.count = match violation.kind.as_str() {
                    // Of one assertion there are many instances.
                    INSTANCES => violation.count,
                    _ if fleeting => violation.assertions.len() as u64,
                    _ => violation.count,
                };
                believed.push(violation);
            }
        }
        self.seen = seen;
        (believed, look_again)
    }

    /// Those that nobody has heard of: equal ones again only when there are many more.
    pub(crate) fn new_ones(&mut self, violations: &[Violation]) -> Vec<Violation> {
        if self.told.len() > MOST_KEYS {
            self.told.clear();
        }
        let told = &mut self.told;
        let is_new = |violation: &&Violation| {
            let before = told.entry(violation.key.clone()).or_insert(0);
            let new = *before == 0 || violation.count >= *before * MUCH_MORE;
            if new {
                *before = violation.count.max(1);
            }
            new
        };
        let new: Vec<Violation> = violations.iter().filter(is_new).cloned().collect();
        self.found += new.len() as u64;
        new
    }

    /// Appends violations to the file they are wanted in, with the moment in milliseconds since 1970 and the JVM's number.
    pub(crate) fn write(
        &self,
        violations: &[Violation],
        time: u64,
        pid: u32,
    ) -> Result<(), String> {
        let file = self
            .checking
            .as_ref()
            .and_then(|one| one.violations.as_ref());
        let Some(path) = file.filter(|_| !violations.is_empty()) else {
            return Ok(());
        };
        // The JSON is an object, which gets two fields more.
        let line = |one: &Violation| {
            let rest = one.json.strip_prefix('{').unwrap_or("}");
            format!("{{\"time_ms\":{time},\"pid\":{pid},{rest}\n")
        };
        let lines: String = violations.iter().map(line).collect();
        let written = File::options()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(lines.as_bytes()));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        if let Stage::Dumping(_, path) = &self.stage {
            let _ = fs::remove_file(path);
        }
    }
}

/// Leaves out what does not fit into a message.
pub(crate) fn shortened(violations: &mut Vec<Violation>) {
    let mut bytes = 0;
    violations.retain_mut(|violation| {
        violation.assertions.truncate(MOST_ASSERTIONS);
        let lines = violation.paths.iter().flatten().chain(&violation.made_at);
        bytes += lines.map(String::len).sum::<usize>()
            + violation.text.len()
            + violation.json.len()
            + violation.key.len()
            + violation.assertions.len() * 8;
        bytes < MOST_BYTES
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Checker for Nothing {
        fn check(&self, _: &Path, _: Option<u64>) -> Result<Vec<FoundViolation>, String> {
            Ok(Vec::new())
        }
    }

    fn checks() -> Checks {
        Checks::new(Some(Checking {
            checker: Arc::new(Nothing),
            violations: None,
        }))
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn held_by_variable(assertions: &[u64]) -> Vec<FoundViolation> {
        vec![FoundViolation {
            violation: Violation {
                kind: "DEAD".to_owned(),
                message: None,
                class: "Order".to_owned(),
                bytes: 16,
                count: assertions.len() as u64,
                made_at: Vec::new(),
                paths: Vec::new(),
                text: String::new(),
                json: String::new(),
                assertions: assertions.to_vec(),
                key: String::new(),
            },
            fleeting: true,
        }]
    }

    #[test]
    fn what_a_variable_holds_is_believed_the_second_time() {
        let mut checks = checks();
        let (believed, look_again) = checks.believed(held_by_variable(&[1, 2]));
        assert!(believed.is_empty() && look_again);
        let (believed, look_again) = checks.believed(held_by_variable(&[2]));
        assert_eq!((believed[0].count, look_again), (1, false));
        assert!(checks.believed(held_by_variable(&[3])).0.is_empty());

        // A path that is not fleeting, and then one that is.
        let mut held = held_by_variable(&[4]);
        held[0].fleeting = false;
        assert_eq!(checks.believed(held).0.len(), 1);
        assert_eq!(checks.believed(held_by_variable(&[4])).0.len(), 1);
    }

    #[test]
    fn without_assertions_nothing_is_checked_and_with_them_what_is_affordable() {
        let mut checks = checks();
        checks.collected(SECOND, GcKind::Full);
        assert!(checks.next(SECOND, true).is_none());
        checks.program_asserts();
        assert!(checks.next(SECOND, false).is_none());
        let run = checks.next(SECOND, true).expect("a full collection");
        checks.begin(SECOND, run);
        assert!(checks.next(SECOND, true).is_none(), "one at a time");
        checks.stage = Stage::Idle;
        assert!(
            checks.next(SECOND, true).is_none(),
            "nothing happened since"
        );
        checks.collected(SECOND, GcKind::Young);
        assert!(checks.next(SECOND, true).is_none(), "too soon");
        assert!(checks.next(2 * SECOND, true).is_none(), "too late");
        checks.collected(2 * SECOND, GcKind::Young);
        assert!(checks.next(2 * SECOND, true).is_some());
    }

    #[test]
    fn requests_that_forgive_the_same_are_answered_together() {
        let mut checks = checks();
        for (number, forgiven) in [(1, 0), (2, 7), (3, 0)] {
            checks.ask(wire::CheckAsked { number, forgiven });
        }
        let first = checks.next(SECOND, false).expect("asked for");
        assert_eq!((first.asked, first.forgiven), (vec![1, 3], None));
        let second = checks.next(SECOND, false).expect("asked for");
        assert_eq!((second.asked, second.forgiven), (vec![2], Some(7)));
        assert!(checks.next(SECOND, false).is_none());
    }
}
