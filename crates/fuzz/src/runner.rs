//! Runs a target on changed seeds, notices panics, hangs and memory without measure, and keeps what
//! caused them.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use fastrand::Rng;
use xxhash_rust::xxh3::xxh3_64;

use crate::Target;
use crate::coverage::Coverage;

/// Nothing that is fuzzed takes longer, by far.
const LONGEST_RUN: Duration = Duration::from_secs(30);
/// The seeds that led to something new, at most.
const MOST_SEEDS: usize = 4000;

/// When a fuzzer stops.
#[derive(Clone, Copy)]
pub struct Limits {
    pub runs: u64,
    pub time: Duration,
    /// The seed of the random numbers.
    pub random: u64,
}

/// What came out.
pub struct Outcome {
    pub runs: u64,
    /// Edges of the program that were taken, where they are counted.
    pub edges: usize,
    /// Where it panicked, with what it said and the first input that made it do so.
    pub panics: BTreeMap<String, (String, Vec<u8>)>,
}

/// The last panic of any thread: work is shared among several.
static LAST: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Remembers panics instead of printing them.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some((place, info.to_string()));
        }));
    });
}

/// Runs a target once; where and how it panicked, if it did.
pub fn replay(target: &Target, folder: &Path, bytes: &[u8]) -> Option<(String, String)> {
    watch_panics();
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = None;
    let run = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(folder, bytes)));
    run.err()?;
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    Some(last.take().unwrap_or_default())
}

/// Ends the process when a run takes too long, and says what input it was.
struct Watchdog {
    /// Milliseconds since the start at which the current run began; 0 if there is none.
    began: Arc<AtomicU64>,
    started: Instant,
}

impl Watchdog {
    fn new(target: &'static str, input: PathBuf) -> Self {
        let began = Arc::new(AtomicU64::new(0));
        let started = Instant::now();
        let watched = Arc::downgrade(&began);
        thread::spawn(move || {
            while let Some(began) = watched.upgrade() {
                let began = began.load(Ordering::Relaxed);
                let running = started.elapsed().as_millis() as u64 - began;
                if began != 0 && Duration::from_millis(running) > LONGEST_RUN {
                    eprintln!("{target}: HANG on {}", input.display());
                    process::abort();
                }
                thread::sleep(Duration::from_millis(200));
            }
        });
        Watchdog { began, started }
    }

    fn watch<T>(&self, run: impl FnOnce() -> T) -> T {
        let now = self.started.elapsed().as_millis() as u64;
        self.began.store(now.max(1), Ordering::Relaxed);
        let result = run();
        self.began.store(0, Ordering::Relaxed);
        result
    }
}

/// Fuzzes a target. What a run is made on lies in the folder as `current`, for when the process does not
/// survive it.
pub fn run(target: &'static Target, folder: &Path, limits: Limits) -> Outcome {
    let started = Instant::now();
    let current = folder.join("current");
    let watchdog = Watchdog::new(target.name, current.clone());
    let mut random = Rng::with_seed(limits.random);
    let mut coverage = Coverage::default();
    let mut seeds = target.seeds();
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    let mut outcome = Outcome {
        runs: 0,
        edges: 0,
        panics: BTreeMap::new(),
    };
    let mut unchanged = seeds.clone().into_iter();
    while outcome.runs < limits.runs && started.elapsed() < limits.time {
        let input = unchanged.next().unwrap_or_else(|| {
            let mut input = seeds[random.usize(..seeds.len())].clone();
            let other = &seeds[random.usize(..seeds.len())];
            (target.mutate)(&mut random, &mut input, other);
            input
        });
        fs::write(&current, &input).expect("the folder of the run can be written");
        coverage.reset();
        let panic = watchdog.watch(|| replay(target, folder, &input));
        outcome.runs += 1;
        if let Some((place, what)) = panic {
            outcome.panics.entry(place).or_insert((what, input));
        } else if coverage.take_in() && seeds.len() < MOST_SEEDS {
            seeds.push(input);
        }
    }
    outcome.edges = coverage.edges();
    outcome
}

impl Outcome {
    /// Keeps what caused panics in a folder; the paths with what was said.
    pub fn keep(&self, target: &Target, folder: &Path) -> Vec<(PathBuf, String)> {
        let kept = self.panics.values().map(|(what, input)| {
            let name = format!("{}-{:016x}", target.name, xxh3_64(input));
            let path = folder.join(name);
            let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&path, input));
            (path, what.clone())
        });
        kept.collect()
    }
}
