//! Whole sessions on real dumps: the numbers come from JVMs and from other analyzers.

mod corpus;
mod index;
mod jvms;

use std::path::Path;

use anthill_graph::Convention;
use anthill_heap::Quiet;
use anthill_hprof::Error;
use anthill_session::{IndexFolder, Options, Session};

/// Opens a dump without an index.
fn open(path: &Path, convention: Convention) -> Result<Session, Error> {
    let options = Options {
        convention,
        index: IndexFolder::None,
        ..Options::default()
    };
    Session::open(path, options, Box::new(Quiet))
}
