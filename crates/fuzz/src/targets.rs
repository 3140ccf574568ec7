//! What is fuzzed: where the seeds of each target are, how they are changed, what is run on them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anthill_assertions::rules;
use anthill_checks::check_rule_groups;
use anthill_classify::Definitions;
use anthill_graph::Convention;
use anthill_heap::{BitSet, Quiet};
use anthill_history::{History, structures_by_name};
use anthill_hprof::Dump;
use anthill_index::{Identity, Index, IndexWriter, Key};
use anthill_session::{IndexFolder, Options, Session};
use anthill_trace::{
    Event, Facts, Gc, Identities, Moment, Point, Sample, StateKind, StateToWrite, ThreadName,
    TraceWriter,
};
use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use xxhash_rust::xxh3::xxh3_64;

use crate::{mutation, questions};

pub struct Target {
    pub name: &'static str,
    /// Changes a seed; the other one is to take from.
    pub mutate: fn(&mut Rng, &mut Vec<u8>, &[u8]),
    /// Runs the target; files may be made in the folder.
    pub run: fn(&Path, &[u8]),
    /// How many runs the tests make.
    pub runs_in_tests: u64,
}

pub const TARGETS: [Target; 9] = [
    Target {
        name: "hprof",
        mutate: mutation::dump,
        run: hprof,
        runs_in_tests: 300,
    },
    Target {
        name: "mat",
        mutate: mutation::dump,
        run: mat,
        runs_in_tests: 300,
    },
    Target {
        name: "trace",
        mutate: mutation::trace,
        run: trace,
        runs_in_tests: 300,
    },
    Target {
        name: "index",
        mutate: mutation::index,
        run: index,
        runs_in_tests: 300,
    },
    Target {
        name: "packed",
        mutate: mutation::bytes,
        run: packed,
        runs_in_tests: 2000,
    },
    Target {
        name: "classifiers",
        mutate: mutation::text,
        run: classifiers,
        runs_in_tests: 2000,
    },
    Target {
        name: "groups",
        mutate: mutation::text,
        run: groups,
        runs_in_tests: 2000,
    },
    Target {
        name: "rules",
        mutate: mutation::text,
        run: check_rules,
        runs_in_tests: 2000,
    },
    Target {
        name: "structures",
        mutate: mutation::text,
        run: structures,
        runs_in_tests: 2000,
    },
];

/// The folder of all seeds.
pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

impl Target {
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Its seeds, always in the same order. Those of dumps serve as indexes, too.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let own = seeds_in(&corpus().join(self.name));
        let dumps = || seeds_in(&corpus().join("hprof"));
        let of_dumps = |seed: fn(&Path, &[u8]) -> Option<Vec<u8>>| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let dumps = dumps().into_iter();
            dumps
                .filter_map(|dump| seed(folder.path(), &dump))
                .collect::<Vec<_>>()
        };
        let made = match self.name {
            "mat" => dumps(),
            "trace" => of_dumps(recorded),
            "index" => of_dumps(saved),
            "packed" => [of_dumps(gzipped), of_dumps(zstd_packed)].concat(),
            _ => Vec::new(),
        };
        [own, made].concat()
    }
}

/// A dump as gzip members, like `jcmd -gz` writes it.
fn gzipped(_: &Path, dump: &[u8]) -> Option<Vec<u8>> {
    let members = dump.chunks(dump.len() / 3 + 1).map(|part| {
        let mut member = GzEncoder::new(Vec::new(), Compression::fast());
        member.write_all(part).and_then(|()| member.finish())
    });
    Some(members.collect::<Result<Vec<_>, _>>().ok()?.concat())
}

fn zstd_packed(_: &Path, dump: &[u8]) -> Option<Vec<u8>> {
    let frames = dump.chunks(dump.len() / 2 + 1);
    let frames = frames.map(|part| zstd::bulk::compress(part, 1));
    Some(frames.collect::<Result<Vec<_>, _>>().ok()?.concat())
}

/// A dump as two states of a recording, with events between.
fn recorded(folder: &Path, dump: &[u8]) -> Option<Vec<u8>> {
    let dump = Dump::open(&file(folder, dump), None, &Quiet).ok()?;
    let path = folder.join("trace");
    let mut writer = TraceWriter::create(&path, &Facts::default()).ok()?;
    let frame = dump.state.tables.frames.first().cloned();
    let frame = frame.map(|frame| writer.frame(&frame));
    let stack = writer.stack(&frame.into_iter().collect::<Vec<_>>());
    let thread = writer.thread(&ThreadName {
        id: 1,
        name: "main".to_owned(),
    });
    for state in 1..=2 {
        let sample = Sample {
            time: state,
            stack: Some(stack),
            thread: Some(thread),
            tracked: Some(state),
            ..Sample::default()
        };
        writer.add(Event::Sample(sample)).ok()?;
        writer.add(Event::Gc(Gc::default())).ok()?;
        let moment = Moment {
            gc: Some(state),
            time: state * 10,
            timestamp: state,
            kind: StateKind::Dump,
            mark: None,
            pause: 1,
            source_bytes: None,
        };
        let mut to_write = StateToWrite::from_dump(&dump, moment, state == 2);
        to_write.identities = Identities::Tracked(vec![(0, 1), (1, 2)]);
        writer.state(&to_write).ok()?;
    }
    writer.finish().ok()?;
    fs::read(path).ok()
}

fn seeds_in(folder: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.sort_unstable();
    paths
        .iter()
        .filter_map(|path| fs::read(path).ok())
        .collect()
}

/// Random numbers that are the same whenever a target runs on these bytes.
fn chosen_by(bytes: &[u8]) -> Rng {
    Rng::with_seed(xxh3_64(bytes))
}

/// The bytes as a file.
fn file(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("input");
    fs::write(&path, bytes).expect("the folder of a run can be written");
    path
}

fn options(convention: Convention) -> Options {
    Options {
        convention,
        index: IndexFolder::None,
        ..Options::default()
    }
}

fn open_and_ask(folder: &Path, bytes: &[u8], convention: Convention) {
    let path = file(folder, bytes);
    if let Ok(session) = Session::open(&path, options(convention), Box::new(Quiet)) {
        questions::ask(&session, &mut chosen_by(bytes));
    }
}

fn hprof(folder: &Path, bytes: &[u8]) {
    open_and_ask(folder, bytes, Convention::DEFAULT);
}

/// Eclipse MAT's view of a heap has a node more and other roots.
fn mat(folder: &Path, bytes: &[u8]) {
    open_and_ask(folder, bytes, Convention::MAT);
}

fn trace(folder: &Path, bytes: &[u8]) {
    let path = file(folder, bytes);
    let Ok(history) = History::of_trace(&path) else {
        return;
    };
    let _ = history.types(5, |_| true);
    let _ = history.structures(5);
    let _ = history.allocation_rates();
    for at in [Point::First, Point::Last] {
        let options = Options {
            at: Some(at),
            ..options(Convention::DEFAULT)
        };
        if let Ok(session) = Session::open(&path, options, Box::new(Quiet)) {
            questions::ask(&session, &mut chosen_by(bytes));
        }
    }
}

/// The sections of an index of a heap.
const SECTIONS: [&str; 19] = [
    "info",
    "tables",
    "classes",
    "details",
    "offset-bases",
    "offset-distances",
    "references",
    "referrers-by-referent",
    "referents",
    "address-shape",
    "address-directory",
    "address-pages",
    "address-blocks",
    "address-sorted",
    "anchor-objects",
    "anchor-positions",
    "present",
    "contents",
    "recorded",
];

/// An index of a dump, as a seed.
fn saved(folder: &Path, dump: &[u8]) -> Option<Vec<u8>> {
    let dump = Dump::open(&file(folder, dump), None, &Quiet).ok()?;
    let (path, key) = (folder.join("heap"), Key::random().ok()?);
    let mut writer = IndexWriter::new(&path, Identity(0), &key).ok()?;
    anthill_index::save(&dump, &mut writer).ok()?;
    writer.finish(&path).ok()?;
    let index = Index::open(&path, Identity(0), &key)?;
    let sections = SECTIONS.iter().filter_map(|&name| {
        let bytes = index.column::<u8>(name)?;
        Some((name.to_owned(), bytes.to_vec()))
    });
    Some(mutation::joined(&sections.collect::<Vec<_>>()))
}

/// An index that somebody made who has the key.
fn index(folder: &Path, bytes: &[u8]) {
    let (path, key) = (folder.join("heap"), Key::random().expect("random bytes"));
    let written = IndexWriter::new(&path, Identity(0), &key).and_then(|mut writer| {
        for (name, bytes) in mutation::sections(bytes) {
            writer.add(&name, &bytes)?;
        }
        writer.finish(&path)
    });
    let Some(index) = written
        .ok()
        .and_then(|()| Index::open(&path, Identity(0), &key))
    else {
        return;
    };
    // The dump itself is another one: values that cannot be found are no reason to panic.
    if let Some(dump) = anthill_index::restore(&folder.join("input"), &index) {
        questions::ask_heap(&dump);
    }
}

fn packed(folder: &Path, bytes: &[u8]) {
    let _ = Dump::open(&file(folder, bytes), None, &Quiet);
}

/// A small heap that texts are tried on.
fn heap() -> &'static Session {
    static HEAP: OnceLock<Session> = OnceLock::new();
    HEAP.get_or_init(|| {
        let path = corpus().join("hprof/collections.hprof");
        Session::open(&path, options(Convention::DEFAULT), Box::new(Quiet))
            .expect("the seed is a dump")
    })
}

fn all() -> &'static BitSet {
    static ALL: OnceLock<BitSet> = OnceLock::new();
    ALL.get_or_init(|| {
        let all = heap().objects_of(|_| true, true);
        all.expect("the heap can be analysed")
    })
}

/// Definitions in the first part of a text, steps after a line of dashes.
fn classifiers(_: &Path, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (defined, steps) = text.split_once("\n---\n").unwrap_or(("", &text));
    let mut definitions = Definitions::default();
    let _ = definitions.add("fuzzed", defined);
    for definition in definitions.all() {
        let _ = definition.usage();
    }
    for steps in steps.lines() {
        if let Ok(steps) = definitions.steps(steps) {
            let _ = heap().classify(all(), &steps);
        }
        if let Ok(filter) = definitions.filter(steps) {
            let _ = heap().classify(all(), &[filter]);
        }
    }
}

fn groups(_: &Path, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(group) = heap().group(&text, &Definitions::default()) {
        let _ = heap().measure(&group);
    }
}

fn check_rules(_: &Path, bytes: &[u8]) {
    let definitions = Definitions::default();
    let Ok(rules) = rules::parse(&String::from_utf8_lossy(bytes), &definitions) else {
        return;
    };
    if check_rule_groups(&rules, &definitions).is_ok() {
        let _ = anthill_checks::check_rules(heap(), &rules, &definitions);
    }
}

fn structures(folder: &Path, bytes: &[u8]) {
    let mut definitions = anthill_structures::Definitions::none();
    if definitions
        .add("fuzzed", &String::from_utf8_lossy(bytes))
        .is_err()
    {
        return;
    }
    let path = corpus().join("hprof/collections.hprof");
    let opened = Session::open(&path, options(Convention::DEFAULT), Box::new(Quiet));
    let Ok(session) = opened else {
        panic!("{} is a dump", folder.display());
    };
    let session = session.with_definitions(definitions);
    let _ = session.structures();
    let _ = session.structure_warnings();
    let _ = structures_by_name(&session);
}
