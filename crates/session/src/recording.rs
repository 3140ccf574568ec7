//! A recording that is open, and which of its states a session is about.

use std::path::Path;

use anthill_heap::{ObjectId, StackTrace, Tables};
use anthill_hprof::Dump;
use anthill_index::Identity;
use anthill_trace::{Identities, Point, Recorded, Sample, StateHeader, Symbols, Trace};
use rustc_hash::FxHashMap;

use crate::{Error, Options};

/// A state of a recording, and the recording it is from.
pub struct Recording {
    trace: Trace,
    /// The place of the state among those of the trace.
    state: usize,
}

impl Recording {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        if options.dump.is_some() {
            return Err(Error::Point(format!(
                "{}: is a recording; choose its heap state by a point in time, not by a dump \
                number",
                path.display()
            )));
        }
        let trace = Trace::open(path)?;
        let point = options.at.clone().unwrap_or(Point::Last);
        let chosen = trace.at(&point).map_err(|why| {
            let why = format!("{}: {why}", path.display());
            match trace.states().is_empty() {
                true => Error::NoState(why),
                false => Error::Point(why),
            }
        })?;
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

    /// The recording.
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
        let mut recorded = self.trace.load(self.state().number)?;
        self.add_allocations(&mut recorded);
        Ok(recorded.dump)
    }

    /// Tells the state where its objects that were sampled were allocated, by whom and when.
    fn add_allocations(&self, recorded: &mut Recorded) {
        let samples = self.samples_in(recorded);
        let tables = &mut recorded.dump.state.tables;
        let mut stacks = Stacks::new(self.trace.symbols(), tables);
        for (object, sample) in samples {
            if sample.stack.is_some() || sample.thread.is_some() {
                let trace = stacks.trace(sample.stack, sample.thread);
                stacks.tables.allocations.push((object, trace));
            }
            let age = self.state().time.saturating_sub(sample.time);
            stacks.tables.ages.push((object, age));
            stacks.tables.weights.push((object, sample.weight));
        }
        let allocations = &mut tables.allocations;
        allocations.sort_unstable_by_key(|allocation| allocation.0);
        allocations.dedup_by_key(|allocation| allocation.0);
    }

    /// The objects of the state whose allocation was sampled, ascending.
    fn samples_in(&self, recorded: &Recorded) -> Vec<(ObjectId, &Sample)> {
        let until = self.state().time;
        let samples = self.trace.timeline().samples.iter();
        // An identity may be given again after an object died: the last one counts.
        let by_id: FxHashMap<u64, &Sample> = samples
            .take_while(|sample| sample.time <= until)
            .filter_map(|sample| Some((sample.tracked?, sample)))
            .collect();
        let addresses = &recorded.dump.state.addresses;
        let mut found: Vec<(ObjectId, &Sample)> = match &recorded.identities {
            Identities::None => Vec::new(),
            Identities::Tracked(pairs) => pairs
                .iter()
                .filter_map(|&(object, id)| Some((object, *by_id.get(&id)?)))
                .collect(),
            Identities::All => by_id
                .iter()
                .filter_map(|(&id, &sample)| Some((addresses.find(id)?, sample)))
                .collect(),
        };
        found.sort_unstable_by_key(|found| found.0);
        found
    }
}

/// Adds stacks of a recording to the tables of a state.
struct Stacks<'a> {
    symbols: &'a Symbols,
    tables: &'a mut Tables,
    /// By stack and thread of the recording.
    traces: FxHashMap<(Option<u32>, Option<u32>), u32>,
    frames: FxHashMap<u32, u32>,
    /// Serial numbers that the state itself does not use count down from here.
    serial: u32,
}

impl<'a> Stacks<'a> {
    fn new(symbols: &'a Symbols, tables: &'a mut Tables) -> Self {
        Stacks {
            symbols,
            tables,
            traces: FxHashMap::default(),
            frames: FxHashMap::default(),
            serial: u32::MAX,
        }
    }

    fn trace(&mut self, stack: Option<u32>, thread: Option<u32>) -> u32 {
        if let Some(&trace) = self.traces.get(&(stack, thread)) {
            return trace;
        }
        let symbols = self.symbols;
        let frames = stack.and_then(|stack| symbols.stack(stack));
        let frames = frames.unwrap_or_default().iter();
        let frames = frames.filter_map(|&frame| self.frame(frame)).collect();
        let thread_serial = thread.map_or(0, |thread| self.thread(thread));
        self.serial -= 1;
        self.tables.traces.push(StackTrace {
            serial: self.serial,
            thread_serial,
            frames,
        });
        let trace = self.tables.traces.len() as u32 - 1;
        self.traces.insert((stack, thread), trace);
        trace
    }

    fn frame(&mut self, number: u32) -> Option<u32> {
        if let Some(&frame) = self.frames.get(&number) {
            return Some(frame);
        }
        self.tables.frames.push(self.symbols.frame(number)?.clone());
        let frame = self.tables.frames.len() as u32 - 1;
        self.frames.insert(number, frame);
        Some(frame)
    }

    /// The serial number of a thread of the recording.
    fn thread(&mut self, number: u32) -> u32 {
        let serial = u32::MAX - number;
        let named = &mut self.tables.allocating_threads;
        if named.iter().all(|thread| thread.0 != serial) {
            let name = self
                .symbols
                .thread(number)
                .map(|thread| thread.name.clone());
            named.push((serial, name.unwrap_or_else(|| format!("thread {number}"))));
        }
        serial
    }
}
