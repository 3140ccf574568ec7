//! Several heaps that one question is about.

use std::path::PathBuf;
use std::sync::Arc;

use anthill_graph::Convention;
use anthill_heap::{Missing, Progress};
use anthill_history::Layers;
use anthill_session::Session;
use anthill_trace::Point;

use crate::{Definitions, Error, Heap};

/// Files that a face was asked about, which it opens as it sees fit: from disk, or from what it keeps open.
pub trait Series {
    /// The files, in the order in which they were named.
    fn files(&self) -> &[PathBuf];

    /// Which state of the first file is meant, if that was said.
    fn at(&self) -> Option<Point>;

    /// Which references keep objects alive.
    fn convention(&self) -> Result<Convention, Error>;

    /// Classifiers and groups of the user's own.
    fn definitions(&self) -> &Definitions;

    /// Opens one of the files, or a state of it.
    fn open(&self, file: usize, at: Option<Point>) -> Result<Heap, Error>;

    /// Opens one of the files, or a state of it, for a short look: it does not stay open, and no index of a state is kept.
    fn open_briefly(
        &self,
        file: usize,
        at: Option<Point>,
        progress: Box<dyn Progress + Send + Sync>,
    ) -> Result<Arc<Session>, Error>;

    /// Who follows the work on all of them.
    fn progress(&self) -> Arc<dyn Progress + Send + Sync>;

    /// Layers over time: those that were kept under this key, or new ones.
    fn layers(
        &self,
        key: &str,
        make: &mut dyn FnMut() -> Result<Layers, Error>,
    ) -> Result<Arc<Layers>, Error>;
}

/// What an answer about several heaps rests on, which its envelope tells.
pub enum Basis {
    /// The heap that matters most, whose convention is that of all.
    Heap(Heap),
    /// What is said in the files, of which this could not be read.
    Files(Vec<Missing>),
}

/// Opens heaps one after the other for a short look at each, which gets the place of the heap among them. None stays open: there may
/// be hundreds.
pub fn look_at_each(
    series: &dyn Series,
    what: &str,
    heaps: &[(usize, Option<Point>)],
    mut look: impl FnMut(usize, &Session) -> Result<(), Error>,
) -> Result<(), Error> {
    let progress = series.progress();
    progress.stage(what, heaps.len() as u64);
    for (place, (file, at)) in heaps.iter().enumerate() {
        progress.check()?;
        let part = Box::new(PartOf(progress.clone()));
        look(place, &*series.open_briefly(*file, at.clone(), part)?)?;
        progress.advance(1);
    }
    Ok(())
}

/// Whoever watches sees the progress of the whole and not of this part; but it can be cancelled.
struct PartOf(Arc<dyn Progress + Send + Sync>);

impl Progress for PartOf {
    fn stage(&self, _: &str, _: u64) {}

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
