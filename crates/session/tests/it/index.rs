//! The index: the second opening gives the same answers, and a bad index is never believed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anthill_heap::Quiet;
use anthill_session::{Grouping, IndexFolder, Options, Session};
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped, target};

/// A dump of the order table, made once.
fn dump() -> Option<&'static Path> {
    static DUMP: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = DUMP.get_or_init(|| {
        let jdk = Jdk::installed()?;
        let sample = Sample::start(jdk, "OrderTable", &["20", "50", "table"], &["-Xmx64m"]);
        let path = target().join(format!("order-table-{}.hprof", std::process::id()));
        sample.dump(&path, DumpOptions::default());
        Some(path)
    });
    if made.is_none() {
        skipped("the index", "no JDK with a compiler was found");
    }
    made.as_deref()
}

fn open(path: &Path, folder: &Path) -> Session {
    let options = Options {
        index: IndexFolder::Folder(folder.to_owned()),
        ..Options::default()
    };
    Session::open(path, options, Box::new(Quiet)).unwrap()
}

/// All that can be asked, in a form that can be compared.
fn answers(session: &Session) -> String {
    let analysis = session.analysis().unwrap();
    let state = session.state();
    let fields: Vec<_> = (0..state.len())
        .step_by(97)
        .map(|object| session.records().fields(state, object))
        .collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {fields:?}",
        session.info(),
        state.tables.threads,
        analysis.total(),
        analysis.rows(Grouping::Package),
        analysis.dominators.immediate.to_vec(),
        (0..state.len())
            .map(|node| analysis.dominators.retained(node))
            .collect::<Vec<_>>()
    )
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let inner = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    inner
        .filter(|path| path.is_dir())
        .flat_map(|dump| {
            std::fs::read_dir(dump)
                .unwrap()
                .map(|entry| entry.unwrap().path())
        })
        .collect()
}

#[test]
fn a_second_opening_gives_the_same_answers() {
    let Some(path) = dump() else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = open(path, folder.path());
    assert!(!first.from_index());
    let expected = answers(&first);
    let second = open(path, folder.path());
    assert!(second.from_index());
    assert_eq!(answers(&second), expected);
    assert_eq!(
        files(folder.path()).len(),
        2,
        "heap and analysis, and nothing left over"
    );
}

#[test]
fn damaged_and_foreign_indexes_are_rebuilt() {
    let Some(path) = dump() else { return };
    let folder = tempfile::tempdir().unwrap();
    let expected = answers(&open(path, folder.path()));
    for file in files(folder.path()) {
        let good = std::fs::read(&file).unwrap();
        let mut flipped = good.clone();
        flipped[good.len() / 2] ^= 1;
        for bad in [
            &good[..good.len() / 3],
            &flipped,
            b"something else entirely",
            b"",
        ] {
            std::fs::write(&file, bad).unwrap();
            assert_eq!(answers(&open(path, folder.path())), expected);
        }
    }
    // The index of another dump under this dump's name.
    let other = tempfile::tempdir().unwrap();
    let copy = other.path().join("copy.hprof");
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(bytes.len() - 9);
    std::fs::write(&copy, bytes).unwrap();
    open(&copy, other.path());
    let theirs = files(other.path())
        .into_iter()
        .find(|file| file.ends_with("heap"))
        .unwrap();
    let ours = files(folder.path())
        .into_iter()
        .find(|file| file.ends_with("heap"))
        .unwrap();
    std::fs::copy(theirs, ours).unwrap();
    assert!(!open(path, folder.path()).from_index());
}

#[test]
fn many_openings_at_once_agree() {
    let Some(path) = dump() else { return };
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| answers(&open(path, folder.path()))))
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(open(path, folder.path()).from_index());
}

#[test]
fn an_index_that_cannot_be_kept_is_no_error() {
    let Some(path) = dump() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file, not a folder");
    std::fs::write(&file, "x").unwrap();
    let session = open(path, &file);
    assert!(session.notes()[0].contains("cannot write the index"));
    assert!(session.analysis().unwrap().total().objects > 1000);
}
