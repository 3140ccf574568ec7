//! Suspects, patterns and waste of real dumps: the numbers come from JVMs, from sample programs and from plain
//! searches.

mod patterns;
mod recorded;
mod waste;

use std::path::Path;

use anthill_graph::Convention;
use anthill_heap::Quiet;
use anthill_session::{IndexFolder, Options, Session};

/// Opens a source without an index.
fn open(path: &Path, convention: Convention) -> Session {
    let options = Options {
        convention,
        index: IndexFolder::None,
        ..Options::default()
    };
    Session::open(path, options, Box::new(Quiet)).unwrap()
}
