//! Names that events refer to by number: classes, stacks and threads.
//!
//! Numbers count through the whole file. Each block of symbols says which numbers it begins
//! with, so that a lost block costs its own names only.

use anthill_heap::Frame;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A thread of the recorded JVM.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThreadName {
    /// The recorder's own number for it; threads of the same name differ here.
    pub id: u64,
    /// Its Java name.
    pub name: String,
}

/// All symbols of a trace; `None` where their block is lost.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    classes: Vec<Option<String>>,
    frames: Vec<Option<Frame>>,
    stacks: Vec<Option<Vec<u32>>>,
    threads: Vec<Option<ThreadName>>,
}

impl Symbols {
    /// The name of a class in Java notation.
    pub fn class(&self, number: u32) -> Option<&str> {
        self.classes.get(number as usize)?.as_deref()
    }

    /// A call on a stack.
    pub fn frame(&self, number: u32) -> Option<&Frame> {
        self.frames.get(number as usize)?.as_ref()
    }

    /// The numbers of the frames of a stack, innermost first.
    pub fn stack(&self, number: u32) -> Option<&[u32]> {
        self.stacks.get(number as usize)?.as_deref()
    }

    /// The frames of a stack that are known, innermost first.
    pub fn frames_of(&self, stack: u32) -> impl Iterator<Item = &Frame> {
        let numbers = self.stack(stack).unwrap_or_default();
        numbers.iter().filter_map(|&number| self.frame(number))
    }

    /// A thread.
    pub fn thread(&self, number: u32) -> Option<&ThreadName> {
        self.threads.get(number as usize)?.as_ref()
    }

    /// How many stacks have numbers.
    pub fn stacks(&self) -> usize {
        self.stacks.len()
    }

    /// How many frames have numbers.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Takes in a block; `false` if it leaves a gap that no file of this size can have.
    pub(crate) fn add(&mut self, block: SymbolBlock, most: usize) -> bool {
        let SymbolBlock {
            first,
            classes,
            frames,
            stacks,
            threads,
        } = block;
        place(&mut self.classes, first[0], classes, most)
            && place(&mut self.frames, first[1], frames, most)
            && place(&mut self.stacks, first[2], stacks, most)
            && place(&mut self.threads, first[3], threads, most)
    }
}

fn place<T: Clone>(all: &mut Vec<Option<T>>, first: u32, new: Vec<T>, most: usize) -> bool {
    let first = first as usize;
    if first > most {
        return false;
    }
    if all.len() < first + new.len() {
        all.resize(first + new.len(), None);
    }
    for (slot, value) in all[first..].iter_mut().zip(new) {
        *slot = Some(value);
    }
    true
}

/// The symbols between two blocks of events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SymbolBlock {
    /// The numbers of the first class, frame, stack and thread.
    first: [u32; 4],
    classes: Vec<String>,
    frames: Vec<Frame>,
    stacks: Vec<Vec<u32>>,
    threads: Vec<ThreadName>,
}

impl SymbolBlock {
    fn is_empty(&self) -> bool {
        self.classes.is_empty()
            && self.frames.is_empty()
            && self.stacks.is_empty()
            && self.threads.is_empty()
    }
}

/// Gives names their numbers and collects those that are not written yet.
#[derive(Default)]
pub(crate) struct Interner {
    classes: FxHashMap<String, u32>,
    frames: FxHashMap<Frame, u32>,
    stacks: FxHashMap<Vec<u32>, u32>,
    threads: FxHashMap<ThreadName, u32>,
    new: SymbolBlock,
}

impl Interner {
    pub(crate) fn class(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.classes.get(name) {
            return number;
        }
        self.new.classes.push(name.to_owned());
        number_of(&mut self.classes, name.to_owned())
    }

    pub(crate) fn frame(&mut self, frame: &Frame) -> u32 {
        if let Some(&number) = self.frames.get(frame) {
            return number;
        }
        self.new.frames.push(frame.clone());
        number_of(&mut self.frames, frame.clone())
    }

    pub(crate) fn stack(&mut self, frames: &[u32]) -> u32 {
        if let Some(&number) = self.stacks.get(frames) {
            return number;
        }
        self.new.stacks.push(frames.to_owned());
        number_of(&mut self.stacks, frames.to_owned())
    }

    pub(crate) fn thread(&mut self, thread: &ThreadName) -> u32 {
        if let Some(&number) = self.threads.get(thread) {
            return number;
        }
        self.new.threads.push(thread.clone());
        number_of(&mut self.threads, thread.clone())
    }

    /// Takes back symbols that could not be written.
    pub(crate) fn put_back(&mut self, mut block: SymbolBlock) {
        block.classes.append(&mut self.new.classes);
        block.frames.append(&mut self.new.frames);
        block.stacks.append(&mut self.new.stacks);
        block.threads.append(&mut self.new.threads);
        self.new = block;
    }

    /// The symbols that are new, if there are any.
    pub(crate) fn take(&mut self) -> Option<SymbolBlock> {
        if self.new.is_empty() {
            return None;
        }
        let next = SymbolBlock {
            first: [
                self.classes.len() as u32,
                self.frames.len() as u32,
                self.stacks.len() as u32,
                self.threads.len() as u32,
            ],
            ..SymbolBlock::default()
        };
        Some(std::mem::replace(&mut self.new, next))
    }
}

fn number_of<K: std::hash::Hash + Eq>(known: &mut FxHashMap<K, u32>, key: K) -> u32 {
    let number = known.len() as u32;
    known.insert(key, number);
    number
}
