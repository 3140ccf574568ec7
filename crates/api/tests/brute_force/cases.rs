//! Heaps opened from files, beside what brute force finds in them.

use std::io::Write;
use std::path::{Path, PathBuf};

use anthill_graph::Convention;
use anthill_heap::Quiet;
use anthill_hprof::Dump;
use anthill_session::{IndexFolder, Options, Session};
use anthill_testkit::heap::{Addresses, Item};
use anthill_trace::{Facts, Moment, StateKind, StateToWrite, TraceWriter};
use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use crate::built;

use anthill_testkit::brute_force::BruteForce;
use anthill_testkit::random::{self, Large, Made};

/// Where objects begin.
const START: u64 = 0x7_0000_0000;

/// A heap with the addresses that its objects have.
pub(crate) struct Case {
    pub seed: u64,
    pub made: Made,
    pub at: Addresses,
}

impl Case {
    pub(crate) fn new(seed: u64) -> Self {
        let made = random::heap(seed);
        let mut order: Vec<Item> = made.heap.items().collect();
        Rng::with_seed(seed).shuffle(&mut order);
        let at = made.heap.lay_out(&order, START);
        Case { seed, made, at }
    }

    pub(crate) fn brute_force(&self, convention: Convention) -> BruteForce<'_> {
        BruteForce::new(&self.made.heap, &self.at, convention.mat)
    }

    /// Writes the heap as HPROF.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        self.write_as(folder, self.made.heap.hprof(&self.at).file(usize::MAX))
    }

    fn write_as(&self, folder: &Path, bytes: Vec<u8>) -> PathBuf {
        let path = folder.join(format!("{}.hprof", self.seed));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The file with its records in any order and few of them in each segment.
    pub(crate) fn shuffled(&self) -> Vec<u8> {
        let mut random = Rng::with_seed(self.seed + 3);
        let mut records = self.made.heap.hprof(&self.at);
        random.shuffle(&mut records.outer);
        random.shuffle(&mut records.heap);
        records.file(1 + random.usize(..9))
    }

    pub(crate) fn packed(&self) -> Vec<u8> {
        let file = self.made.heap.hprof(&self.at).file(usize::MAX);
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&file).unwrap();
        packer.finish().unwrap()
    }

    /// Writes the heap in one of the forms that it can have, by turns.
    fn write_in_some_form(&self, folder: &Path, with: Needs) -> PathBuf {
        match self.seed / 16 % 16 {
            3 => {
                let records = self.made.heap.hprof(&self.at);
                self.write_as(folder, records.file(1 + self.seed as usize % 7))
            }
            4 => self.write_as(folder, self.shuffled()),
            5 => self.write_as(folder, self.packed()),
            6 if with == Needs::References => {
                let brute_force = self.brute_force(Convention::DEFAULT);
                let (state, values) = (built::state(&brute_force), built::values(&brute_force));
                let to_write = StateToWrite::from_state(&state, moment(), values);
                record(folder, &to_write)
            }
            6 | 7 => {
                let path = self.write(folder);
                let dump = Dump::open(&path, None, &Quiet).unwrap();
                let contents = with == Needs::Contents;
                let to_write = StateToWrite::from_dump(&dump, moment(), contents);
                std::fs::remove_file(path).unwrap();
                record(folder, &to_write)
            }
            _ => self.write(folder),
        }
    }
}

/// What a check asks of the source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    References,
    /// Values of primitive type as well.
    Contents,
}

pub(crate) fn moment() -> Moment {
    Moment {
        gc: Some(1),
        time: 1,
        timestamp: 1_700_000_000_000,
        kind: StateKind::Dump,
        mark: None,
        pause: 1,
        source_bytes: None,
    }
}

/// Writes a trace with one state into a folder.
pub(crate) fn record(folder: &Path, state: &StateToWrite) -> PathBuf {
    let path = folder.join("recorded.trace");
    let mut writer = TraceWriter::create(&path, &Facts::default()).unwrap();
    writer.state(state).unwrap();
    writer.finish().unwrap();
    path
}

pub(crate) fn open(path: &Path, convention: Convention) -> Session {
    let options = Options {
        convention,
        index: IndexFolder::None,
        ..Options::default()
    };
    Session::open(path, options, Box::new(Quiet)).unwrap()
}

fn number(variable: &str, usual: u64) -> u64 {
    match std::env::var(variable) {
        Ok(number) => number
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={number} is no number")),
        Err(_) => usual,
    }
}

/// The seeds of a check that looks at `usual` heaps by default. Every check has heaps of its own: they begin with the
/// seeds of its number.
fn seeds(check: u64, usual: u64) -> std::ops::Range<u64> {
    const APART: u64 = 1 << 32;
    let first = number("ANTHILL_BRUTE_FORCE_SEED", check * APART);
    first..first + number("ANTHILL_BRUTE_FORCE", usual)
}

/// Calls with random heaps, as dumps and traces in turn and under one convention after the other, and with brute force on them. A
/// panic says which heap it was.
pub(crate) fn on_heaps(
    number: u64,
    usual: u64,
    with: Needs,
    check: impl Fn(&Session, &BruteForce, &Case) + Sync,
) {
    let folder = folder();
    on_seeds(number, usual, |seed| {
        let case = Case::new(seed);
        let path = case.write_in_some_form(folder.path(), with);
        let convention = convention(seed);
        let _shown = Shown(&case, convention);
        let session = open(&path, convention);
        check(&session, &case.brute_force(convention), &case);
        std::fs::remove_file(&path).unwrap();
    });
}

/// Heaps take turns under the conventions.
pub(crate) fn convention(seed: u64) -> Convention {
    [Convention::DEFAULT, Convention::MAT][seed as usize / 8 % 2]
}

/// In memory where that can be had: the files live for a moment.
pub(crate) fn folder() -> TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// Calls with the seeds of a check. All is done on one thread: heaps are so small that sharing the work takes longer.
pub(crate) fn on_seeds(number: u64, usual: u64, check: impl Fn(u64) + Sync) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap()
        .install(|| seeds(number, usual).for_each(&check));
}

/// Calls with random larger heaps, opened under one convention after the other.
pub(crate) fn on_large_heaps(number: u64, usual: u64, check: impl Fn(&Session, &Large) + Sync) {
    let folder = folder();
    let path = folder.path().join("large.hprof");
    on_seeds(number, usual, |seed| {
        let large = random::large(seed);
        let order: Vec<Item> = large.heap.items().collect();
        let at = large.heap.lay_out(&order, START);
        std::fs::write(&path, large.heap.hprof(&at).file(usize::MAX)).unwrap();
        check(&open(&path, convention(seed)), &large);
    });
}

/// Shows the heap if the check panics.
pub(crate) struct Shown<'a>(pub &'a Case, pub Convention);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Shown(case, convention) = self;
            let heap = case.made.heap.show(&case.at);
            eprintln!("seed {} ({convention}):\n{heap}", case.seed);
        }
    }
}
