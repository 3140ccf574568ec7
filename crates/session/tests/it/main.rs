//! Whole sessions on real dumps: the numbers come from JVMs and from other analyzers.

mod classification;
mod corpus;
mod groups;
mod index;
mod jvms;
mod recorded;

use std::collections::BTreeMap;
use std::path::Path;

use anthill_graph::Convention;
use anthill_heap::Quiet;
use anthill_session::{Error, Grouping, IndexFolder, Options, Session};
use anthill_testkit::Histogram;

/// Opens a dump without an index.
fn open(path: &Path, convention: Convention) -> Result<Session, Error> {
    let options = Options {
        convention,
        index: IndexFolder::None,
        ..Options::default()
    };
    Session::open(path, options, Box::new(Quiet))
}

/// Compares the bytes of every class with the JVM's own histogram and tells how many classes
/// could be compared: a few objects come and go between the histogram and the dump.
fn compare(session: &Session, jvm: &Histogram, what: &str) -> usize {
    let mut ours: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let rows = session.analysis().unwrap().rows(Grouping::Class);
    for (class, row) in session.state().classes().iter().zip(rows) {
        let total = ours.entry(&class.name).or_default();
        *total = (total.0 + row.objects, total.1 + row.shallow);
    }
    let mut compared = 0;
    for (name, total) in jvm.iter().filter(|(name, _)| *name != "java.lang.Class") {
        let Some(&(objects, shallow)) = ours.get(name.as_str()) else {
            continue;
        };
        if objects == total.instances {
            assert_eq!(shallow, total.bytes, "{name} in {what}");
            compared += 1;
        }
    }
    compared
}
