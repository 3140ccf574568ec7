//! A recorded state has the same suspects as the dump it was made from.

use std::path::{Path, PathBuf};

use anthill_graph::Convention;
use anthill_heap::Quiet;
use anthill_hprof::Dump;
use anthill_leaks::{Thresholds, report};
use anthill_session::Session;
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};
use anthill_trace::{Facts, Moment, StateKind, StateToWrite, TraceWriter};

use crate::open;

/// A recording whose only state is this dump.
fn record(dump: &Path, contents: bool) -> PathBuf {
    let path = dump.with_extension(if contents { "full.trace" } else { "trace" });
    let mut writer = TraceWriter::create(&path, &Facts::default()).unwrap();
    let dump = Dump::open(dump, None, &Quiet).unwrap();
    let moment = Moment {
        gc: Some(1),
        time: 1_000_000_000,
        timestamp: 1_700_000_000_000,
        kind: StateKind::Dump,
        mark: None,
        pause: 1,
        source_bytes: None,
    };
    let to_write = StateToWrite::from_dump(&dump, moment, contents);
    writer.state(&to_write).unwrap();
    writer.finish().unwrap();
    path
}

/// The suspects of a heap: fingerprints, sizes, owners and contents.
fn suspects(session: &Session) -> Vec<(String, u64, Vec<u32>, Vec<String>)> {
    let report = report(session, &Thresholds::default()).unwrap();
    let suspects = report.suspects.iter().map(|suspect| {
        let owners = suspect.owner_paths.iter().map(|path| path.0).collect();
        let contents = suspect.contents.iter();
        let contents = contents.map(|content| format!("{content:?}")).collect();
        (
            suspect.fingerprint.clone(),
            suspect.retained,
            owners,
            contents,
        )
    });
    suspects.collect()
}

#[test]
fn a_recorded_state_has_the_suspects_of_its_dump() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("suspects of recorded states", "no JDK was found");
    };
    for (program, arguments, flags) in [
        ("MultiCache", &["3000"][..], &["-Xmx64m"][..]),
        ("Shapes", &[], &["-Xmx64m", "-XX:+UseZGC"]),
        (
            "NotKept",
            &[],
            &["-Xmx64m", "-XX:+UseSerialGC", "-XX:-UseCompressedOops"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let sample = Sample::start(jdk, program, arguments, flags);
        let path = folder.path().join("heap.hprof");
        sample.dump(&path, DumpOptions::default());
        let expected = suspects(&open(&path, Convention::DEFAULT));
        for contents in [false, true] {
            let recorded = open(&record(&path, contents), Convention::DEFAULT);
            assert!(recorded.recording().is_some());
            assert_eq!(suspects(&recorded), expected, "{program}");
        }
    }
}
