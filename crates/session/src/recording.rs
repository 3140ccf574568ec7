//! A recording that is open, and which of its states a session is about.

use std::path::Path;

use anthill_hprof::Dump;
use anthill_hprof::index::Identity;
use anthill_trace::{Point, StateHeader, Trace};

use crate::{Error, Options};

pub struct Recording {
    trace: Trace,
    /// The place of the state among those of the trace.
    state: usize,
}

impl Recording {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        if options.dump.is_some() {
            return Err(Error::Point(format!(
                "{}: this is a recording: its heap states are chosen by points, not by the number of a dump",
                path.display()
            )));
        }
        let trace = Trace::open(path)?;
        let point = options.at.clone().unwrap_or(Point::Last);
        let chosen = trace
            .at(&point)
            .map_err(|why| Error::Point(format!("{}: {why}", path.display())))?;
        let number = chosen.number;
        let state = trace
            .states()
            .iter()
            .position(|state| state.number == number);
        Ok(Recording {
            state: state.unwrap_or_default(),
            trace,
        })
    }

    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What is said about the state that is open.
    pub fn state(&self) -> &StateHeader {
        &self.trace.states()[self.state]
    }

    /// States do not change while others are added to the file.
    pub(crate) fn identity(&self) -> Identity {
        let fingerprint = self.trace.fingerprint(self.state().number);
        Identity(u128::from(fingerprint)).with(&format!("{:?}", self.state()))
    }

    pub(crate) fn load(&self) -> Result<Dump, Error> {
        Ok(self.trace.load(self.state().number)?.dump)
    }
}
