//! Opening dumps: files that no JVM at hand writes, damage of every kind, and values.

mod damage;
mod formats;
mod values;
mod writer;

use std::path::Path;

use anthill_heap::Quiet;
use anthill_hprof::{Dump, Error};

fn open(path: &Path) -> Result<Dump, Error> {
    Dump::open(path, None, &Quiet)
}
