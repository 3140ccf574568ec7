//! Opening dumps: files that no JVM at hand writes, damage of every kind, and values.

#[cfg(unix)]
mod cut;
mod damage;
mod formats;
mod values;

use std::path::Path;

use anthill_heap::Quiet;
use anthill_hprof::{Dump, Error};

fn open(path: &Path) -> Result<Dump, Error> {
    Dump::open(path, None, &Quiet)
}
