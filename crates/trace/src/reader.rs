//! Reads a trace: finds its blocks, takes in what is small, loads states when they are asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anthill_heap::phrases::count;
use anthill_heap::{HeapState, Missing, MissingKind, Owner};
use anthill_hprof::{Dump, DumpInfo, Records, input, map};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

use crate::block::{self, Block, BlockAt, FILE_HEADER, FILE_MAGIC, FILE_VERSION, Kind, Label};
use crate::events::{EventBlock, Violation};
use crate::state::{StateColumn, decode, decode_identities, decode_structures};
use crate::symbols::SymbolBlock;
use crate::writer::DIRECTORY_ENTRY;
use crate::{Error, Facts, FollowedStructure, Identities, StateHeader, Symbols, Timeline};

/// Damage that is named place by place; what goes beyond is counted.
const NAMED_DAMAGE: usize = 100;

/// Whether a file begins like a trace.
pub fn is_trace(path: &Path) -> bool {
    input::head(path).is_ok_and(|start| start.starts_with(&FILE_MAGIC))
}

/// A trace that was opened: names, events and headers of states in memory, states themselves in the file.
pub struct Trace {
    path: PathBuf,
    owner: Owner,
    facts: Facts,
    symbols: Symbols,
    timeline: Timeline,
    states: Vec<StateHeader>,
    /// By state, column and part.
    columns: FxHashMap<(u32, u8, u32), Block>,
    damage: Vec<Missing>,
    complete: bool,
}

/// A state that was loaded.
pub struct Recorded {
    /// What a dump of the same state would be opened as.
    pub dump: Dump,
    /// Which objects can be found in other states, and how.
    pub identities: Identities,
}

impl Recorded {
    /// The heap itself.
    pub fn state(&self) -> &HeapState {
        &self.dump.state
    }
}

impl Trace {
    /// Opens a trace, also one that is still being written, cut off or damaged in places.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let owner = map(path)?;
        let bytes = owner.as_ref().as_ref();
        if bytes.get(..FILE_MAGIC.len()) != Some(&FILE_MAGIC) {
            return Err(Error::unusable(path, 0, "not an Anthill trace"));
        }
        let version = bytes
            .get(FILE_MAGIC.len()..FILE_HEADER)
            .map(|version| u32::from_le_bytes(version.try_into().expect("4 bytes")));
        if let Some(version) = version.filter(|&version| version > FILE_VERSION) {
            let reason = format!(
                "the trace has version {version}, but this program reads up to version \
                {FILE_VERSION}; use a newer Anthill"
            );
            return Err(Error::unusable(path, 12, reason));
        }
        let mut trace = Trace {
            path: path.to_owned(),
            owner: owner.clone(),
            facts: Facts::default(),
            symbols: Symbols::default(),
            timeline: Timeline::default(),
            states: Vec::new(),
            columns: FxHashMap::default(),
            damage: Vec::new(),
            complete: false,
        };
        let blocks = match from_directory(bytes) {
            Some(blocks) => {
                trace.complete = true;
                blocks
            }
            None => trace.scan(bytes),
        };
        trace.take_in(bytes, &blocks);
        Ok(trace)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of the JVM and the recording.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The names that events refer to.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// All events.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The headers of all states that can be loaded, in the order of time.
    pub fn states(&self) -> &[StateHeader] {
        &self.states
    }

    /// Whether the recording was ended in good order.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// What is damaged or cut off.
    pub fn damage(&self) -> &[Missing] {
        &self.damage
    }

    /// Which objects of a state can be found again in others.
    pub fn identities(&self, number: u32) -> Result<Identities, Error> {
        let Some(header) = self.states.iter().find(|state| state.number == number) else {
            return Err(self.unloadable(number, "the trace has no such state"));
        };
        let blocks = |column| self.blocks(header, column);
        decode_identities(header, (*self.owner).as_ref(), &blocks)
            .map_err(|why| self.unloadable(number, &why))
    }

    /// The data structures of a state that are followed, without the rest of it.
    pub fn structures(&self, number: u32) -> Result<Vec<FollowedStructure>, Error> {
        let Some(header) = self.states.iter().find(|state| state.number == number) else {
            return Err(self.unloadable(number, "the trace has no such state"));
        };
        let blocks = |column| self.blocks(header, column);
        decode_structures((*self.owner).as_ref(), &blocks)
            .map_err(|why| self.unloadable(number, &why))
    }

    fn unloadable(&self, number: u32, why: &str) -> Error {
        let first = self.columns.get(&(number, StateColumn::Tables as u8, 0));
        let offset = first.map_or(0, |block| block.offset);
        let reason = format!("state {number} cannot be loaded: {why}");
        Error::unusable(&self.path, offset, reason)
    }

    /// The blocks of a column in their order; the reason if one is lost.
    fn blocks(&self, header: &StateHeader, column: StateColumn) -> Result<Vec<Block>, String> {
        let mut parts = header.shape.parts.iter();
        let count = parts.find(|part| part.0 == column as u8);
        let blocks = (0..count.map_or(0, |part| part.1)).map(|part| {
            let block = self.columns.get(&(header.number, column as u8, part));
            block.copied().ok_or("a part of it is lost".to_owned())
        });
        blocks.collect()
    }

    /// Loads the state with that number.
    pub fn load(&self, number: u32) -> Result<Recorded, Error> {
        let position = self.states.iter().position(|state| state.number == number);
        let Some(position) = position else {
            let reason = format!("the trace has no state {number}");
            return Err(Error::unusable(&self.path, 0, reason));
        };
        let header = &self.states[position];
        let bytes: &[u8] = (*self.owner).as_ref();
        let blocks = |column| self.blocks(header, column);
        let decoded =
            decode(header, bytes, &blocks).map_err(|why| self.unloadable(number, &why))?;
        let info = DumpInfo {
            format: "Anthill trace".to_owned(),
            id_size: header.shape.id_size,
            timestamp: header.shape.timestamp,
            dump: position + 1,
            dumps: self.states.len(),
            bytes: header.source_bytes.unwrap_or(0),
        };
        Ok(Recorded {
            dump: Dump {
                records: Records::recorded(&self.path, decoded.values),
                state: decoded.state,
                info,
            },
            identities: decoded.identities,
        })
    }

    /// What tells the content of a state from that of any other.
    pub fn fingerprint(&self, number: u32) -> u64 {
        let own = self.columns.iter().filter(|(key, _)| key.0 == number);
        let mut checksums: Vec<(u8, u32, u64)> = own
            .map(|(&(_, column, part), block)| (column, part, block.checksum()))
            .collect();
        checksums.sort_unstable();
        let mut hash = Xxh3::new();
        for (_, _, checksum) in checksums {
            hash.update(&checksum.to_le_bytes());
        }
        hash.digest()
    }

    /// The columns of a state with their bytes, unpacked and in the file.
    pub fn columns(&self, number: u32) -> Vec<(String, u64, u64)> {
        let mut sums: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
        let own = self.columns.iter().filter(|(key, _)| key.0 == number);
        for (&(_, column, _), block) in own {
            let sum = sums.entry(column).or_default();
            sum.0 += u64::from(block.raw);
            sum.1 += (block.end() as u64) - block.offset;
        }
        let named = sums.into_iter().map(|(column, (raw, stored))| {
            let known = StateColumn::ALL
                .iter()
                .find(|known| **known as u8 == column);
            let name = known.map_or("unknown".to_owned(), |known| format!("{known:?}"));
            (name, raw, stored)
        });
        named.collect()
    }

    /// All blocks, found one after the other.
    fn scan(&mut self, bytes: &[u8]) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut at = FILE_HEADER;
        while at < bytes.len() {
            match block::look(bytes, at) {
                BlockAt::Whole(block) => {
                    at = block.end();
                    if block.label.kind == Kind::End {
                        // The recording ended in good order; only its last bytes are lost.
                        break;
                    }
                    blocks.push(block);
                }
                BlockAt::Cut(block) => {
                    let what = format!("the file ends within {}", block.label.words());
                    self.lost(MissingKind::Truncated, at, bytes.len() - at, what);
                    break;
                }
                BlockAt::Nothing => match block::search(bytes, at + 1) {
                    Some(next) => {
                        let what =
                            format!("{} damaged bytes were skipped", count((next - at) as u64));
                        self.lost(MissingKind::Unreadable, at, next - at, what);
                        at = next;
                    }
                    None => {
                        let what = "the file ends within a block".to_owned();
                        self.lost(MissingKind::Truncated, at, bytes.len() - at, what);
                        break;
                    }
                },
            }
        }
        blocks
    }

    fn lost(&mut self, kind: MissingKind, offset: usize, amount: usize, what: String) {
        if self.damage.len() < NAMED_DAMAGE {
            self.damage.push(Missing {
                kind,
                offset: Some(offset as u64),
                amount: amount as u64,
                what,
            });
        } else if let Some(last) = self.damage.last_mut() {
            last.amount += amount as u64;
            last.what = "more damaged places after this one".to_owned();
        }
    }

    fn take_in(&mut self, bytes: &[u8], blocks: &[Block]) {
        let mut headers: Vec<StateHeader> = Vec::new();
        let mut begun: FxHashMap<u32, u64> = FxHashMap::default();
        for block in blocks {
            let Label {
                kind,
                column,
                state,
                part,
            } = block.label;
            let result = match kind {
                Kind::Facts => read(block, bytes).map(|facts| self.facts = facts),
                Kind::Symbols => read::<SymbolBlock>(block, bytes).and_then(|symbols| {
                    // Every name takes more than a byte of the file.
                    let fits = self.symbols.add(symbols, bytes.len());
                    fits.then_some(())
                        .ok_or("its numbers are invalid".to_owned())
                }),
                Kind::Events => read::<EventBlock>(block, bytes).and_then(|events| {
                    let events = events.events().ok_or("its columns do not fit together")?;
                    self.timeline.append(events);
                    Ok(())
                }),
                Kind::State => read::<StateHeader>(block, bytes).map(|header| {
                    begun.remove(&state);
                    headers.push(header);
                }),
                Kind::Column => {
                    begun.entry(state).or_insert(block.offset);
                    self.columns.insert((state, column, part), *block);
                    Ok(())
                }
                Kind::End => Ok(()),
                Kind::Violations => read::<Vec<Violation>>(block, bytes)
                    .map(|mut violations| self.timeline.violations.append(&mut violations)),
                Kind::Foreign => Err("it was written by a newer version of Anthill".to_owned()),
            };
            if let Err(why) = result {
                let what = format!("{} lost: {why}", block.label.words());
                let length = block.end() - block.offset as usize;
                self.lost(MissingKind::Unreadable, block.offset as usize, length, what);
            }
        }
        let mut begun: Vec<(u32, u64)> = begun.into_iter().collect();
        begun.sort_unstable();
        for (state, offset) in begun {
            let what = format!("state {state} is incomplete, or its header is lost");
            self.lost(MissingKind::Truncated, offset as usize, 0, what);
        }
        self.timeline.sort();
        headers.sort_by_key(|header| (header.time, header.number));
        self.states = headers;
    }
}

fn read<T: DeserializeOwned>(block: &Block, bytes: &[u8]) -> Result<T, String> {
    postcard::from_bytes(&block.payload(bytes)?).map_err(|error| error.to_string())
}

/// The blocks of a complete file; `None` if it does not end with a directory, or if that does
/// not tell the truth.
fn from_directory(bytes: &[u8]) -> Option<Vec<Block>> {
    let (rest, magic) = bytes.split_last_chunk::<8>()?;
    let (_, at) = rest.split_last_chunk::<8>()?;
    if magic[..] != FILE_MAGIC[..8] {
        return None;
    }
    let BlockAt::Whole(end) = block::look(bytes, usize::try_from(u64::from_le_bytes(*at)).ok()?)
    else {
        return None;
    };
    if end.label.kind != Kind::End || end.end() + 16 != bytes.len() {
        return None;
    }
    let directory: Vec<u8> = read(&end, bytes).ok()?;
    let blocks = directory.chunks(DIRECTORY_ENTRY).map(|entry| {
        let (offset, header) = entry.split_first_chunk()?;
        let block = Block::of(header.first_chunk()?, u64::from_le_bytes(*offset))?;
        (block.end() <= bytes.len()).then_some(block)
    });
    blocks.collect()
}
