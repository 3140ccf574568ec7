//! Writes a trace: append-only, a block at a time. What is in the file is readable at any moment.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anthill_heap::Frame;
use serde::Serialize;

use crate::block::{self, BLOCK_HEADER, FILE_MAGIC, FILE_VERSION, Kind, Label};
use crate::events::EventBlock;
use crate::state::encode;
use crate::symbols::Interner;
use crate::{
    Error, Event, Facts, FollowedStructure, StateHeader, StateToWrite, ThreadName, Timeline,
};

/// Events that are collected before they are written of their own accord.
const EVENTS_PER_BLOCK: usize = 64 << 10;

/// Characters of a mark.
const LONGEST_MARK: usize = 4096;

/// A trace that is being written, block by block.
pub struct TraceWriter {
    path: PathBuf,
    file: File,
    /// The end of the last whole block.
    position: u64,
    directory: Vec<u8>,
    symbols: Interner,
    events: Timeline,
    waiting: usize,
    states: u32,
}

/// A block in the directory: its offset and a copy of its header.
pub(crate) const DIRECTORY_ENTRY: usize = 8 + BLOCK_HEADER;

impl TraceWriter {
    /// Starts a trace; a file of that name is replaced.
    pub fn create(path: &Path, facts: &Facts) -> Result<Self, Error> {
        let file = File::create(path).map_err(|error| Error::io(path, error))?;
        let mut writer = TraceWriter {
            path: path.to_owned(),
            file,
            position: 0,
            directory: Vec::new(),
            symbols: Interner::default(),
            events: Timeline::default(),
            waiting: 0,
            states: 0,
        };
        let mut start = FILE_MAGIC.to_vec();
        start.extend(FILE_VERSION.to_le_bytes());
        writer.append(&start)?;
        writer.facts(facts)?;
        Ok(writer)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.position
    }

    /// Facts that were learnt later: they replace those before.
    pub fn facts(&mut self, facts: &Facts) -> Result<(), Error> {
        self.block(Label::of(Kind::Facts), facts)
    }

    /// The number of a class name, in Java notation.
    pub fn class(&mut self, name: &str) -> u32 {
        self.symbols.class(name)
    }

    /// The number of a frame.
    pub fn frame(&mut self, frame: &Frame) -> u32 {
        self.symbols.frame(frame)
    }

    /// The number of a stack of frames, innermost first.
    pub fn stack(&mut self, frames: &[u32]) -> u32 {
        self.symbols.stack(frames)
    }

    /// The number of a thread.
    pub fn thread(&mut self, thread: &ThreadName) -> u32 {
        self.symbols.thread(thread)
    }

    /// Adds an event. It is in the file after the next [`TraceWriter::flush`], or when many wait.
    /// Of a mark only the beginning is kept if it is longer than a name.
    pub fn add(&mut self, mut event: Event) -> Result<(), Error> {
        if let Event::Mark(mark) = &mut event {
            let mut kept = mark.text.char_indices().skip(LONGEST_MARK);
            if let Some((end, _)) = kept.next() {
                mark.text.truncate(end);
            }
        }
        self.events.add(event);
        self.waiting += 1;
        if self.waiting >= EVENTS_PER_BLOCK {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the events that wait. On failure they go on waiting.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_symbols()?;
        if self.waiting == 0 {
            return Ok(());
        }
        if !self.events.violations.is_empty() {
            let violations = std::mem::take(&mut self.events.violations);
            if let Err(error) = self.block(Label::of(Kind::Violations), &violations) {
                self.events.violations = violations;
                return Err(error);
            }
        }
        self.block(
            Label::of(Kind::Events),
            &EventBlock::from(self.events.clone()),
        )?;
        self.events = Timeline::default();
        self.waiting = 0;
        Ok(())
    }

    /// Forgets the events that wait, e.g. because the disk stays full. Returns how many.
    pub fn discard(&mut self) -> usize {
        self.events = Timeline::default();
        std::mem::take(&mut self.waiting)
    }

    /// Writes a heap state. Its header comes last: a state whose header is there is whole.
    pub fn state(&mut self, state: &StateToWrite) -> Result<StateHeader, Error> {
        let number = self.states + 1;
        let symbols = &mut self.symbols;
        let mut header = state.header(number, |name| symbols.class(name))?;
        let classes = state.state.classes();
        let structures: Vec<FollowedStructure> = state
            .structures
            .iter()
            .map(|one| FollowedStructure {
                class: symbols.class(&classes[one.class as usize].name),
                ..*one
            })
            .collect();
        self.flush()?;
        let (start, known) = (self.position, self.directory.len());
        let mut parts: Vec<(u8, u32)> = Vec::new();
        let result = encode(state, &structures, number, &mut |label, bytes| {
            match parts.last_mut() {
                Some((column, count)) if *column == label.column => *count += 1,
                _ => parts.push((label.column, 1)),
            }
            self.packed(bytes)
        });
        header.shape.parts = parts;
        let label = Label {
            state: number,
            ..Label::of(Kind::State)
        };
        if let Err(error) = result.and_then(|()| self.block(label, &header)) {
            // Without its header nobody could use what was written of it.
            self.directory.truncate(known);
            self.position = start;
            self.cut();
            return Err(error);
        }
        self.states = number;
        Ok(header)
    }

    /// Completes the trace with a directory of its blocks.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        let at = self.position;
        let directory = std::mem::take(&mut self.directory);
        self.block(Label::of(Kind::End), &directory)?;
        self.append(&at.to_le_bytes())?;
        self.append(&FILE_MAGIC[..8])?;
        self.file
            .sync_all()
            .map_err(|error| Error::io(&self.path, error))
    }

    fn write_symbols(&mut self) -> Result<(), Error> {
        let Some(new) = self.symbols.take() else {
            return Ok(());
        };
        let result = self.block(Label::of(Kind::Symbols), &new);
        if result.is_err() {
            self.symbols.put_back(new);
        }
        result
    }

    fn block(&mut self, label: Label, value: &impl Serialize) -> Result<(), Error> {
        let bytes = postcard::to_stdvec(value)
            .map_err(io::Error::other)
            .and_then(|payload| block::pack(label, &payload))
            .map_err(|error| Error::io(&self.path, error))?;
        self.packed(&bytes)
    }

    fn packed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let at = self.position;
        self.append(bytes)?;
        self.directory.extend(at.to_le_bytes());
        self.directory.extend(&bytes[..BLOCK_HEADER]);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.position += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.cut();
                Err(Error::io(&self.path, error))
            }
        }
    }

    /// Takes away what was written of a block that could not be completed, so that the next one
    /// begins where it should. Where that fails, the reader passes over the remains.
    fn cut(&mut self) {
        let _ = self.file.set_len(self.position);
        if let Ok(end) = self.file.seek(SeekFrom::End(0)) {
            self.position = end;
        }
    }
}
