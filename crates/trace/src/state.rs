//! A heap state as blocks and back. Columns are cut into parts of fixed numbers of values, which
//! are packed and unpacked in parallel.

use std::io;

use anthill_heap::{
    AddressMap, BitSet, Block, Buffer, Column, HeapColumns, HeapState, ObjectId, Offsets,
    RecordedValues,
};
use anthill_hprof::Dump;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::block::{self, Block as Place, Kind, Label};
use crate::column;
use crate::header::Shape;
use crate::tables::StateTables;
use crate::{
    ClassTotals, Error, IdentityKind, StateHeader, StateKind, Totals,
    values::{loader_names, values_of},
};

/// Values in a part of a column.
pub(crate) const PART: usize = 1 << 18;
/// Bytes in a part of a column of bytes.
const BYTES_PART: usize = 1 << 22;

/// Which objects can be found again in other states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identities {
    /// No object.
    #[default]
    None,
    /// Objects with their identities, ascending by object.
    Tracked(Vec<(ObjectId, u64)>),
    /// The addresses of the state are identities.
    All,
}

impl Identities {
    /// From identities and the addresses they are at; addresses without an object are left out.
    pub fn tracked(state: &HeapState, at: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let finder = state.addresses.finder();
        let found = at
            .into_iter()
            .filter_map(|(id, address)| Some((finder.find(address)?, id)));
        let mut pairs: Vec<(ObjectId, u64)> = found.collect();
        pairs.sort_unstable();
        pairs.dedup_by_key(|pair| pair.0);
        Identities::Tracked(pairs)
    }

    /// What the header of a state says about them.
    pub fn kind(&self) -> IdentityKind {
        match self {
            Identities::None => IdentityKind::None,
            Identities::Tracked(_) => IdentityKind::Tracked,
            Identities::All => IdentityKind::All,
        }
    }

    /// The identity of an object, if it has one.
    pub fn of(&self, state: &HeapState, object: ObjectId) -> Option<u64> {
        match self {
            Identities::None => None,
            Identities::Tracked(pairs) => {
                let index = pairs.binary_search_by_key(&object, |pair| pair.0).ok()?;
                Some(pairs[index].1)
            }
            Identities::All => Some(state.addresses.address(object)),
        }
    }
}

/// When and how a state was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The collection after which it was taken.
    pub gc: Option<u64>,
    /// Nanoseconds since the recording's start.
    pub time: u64,
    /// Wall clock, milliseconds since 1970.
    pub timestamp: u64,
    /// How it was taken.
    pub kind: StateKind,
    /// The text it was asked for with.
    pub mark: Option<String>,
    /// Nanoseconds the program stood still for it.
    pub pause: u64,
    /// Bytes of the heap dump it was made from.
    pub source_bytes: Option<u64>,
}

/// A heap state that is to be recorded.
pub struct StateToWrite<'a> {
    /// The heap itself.
    pub state: &'a HeapState,
    /// When and how it was taken.
    pub moment: Moment,
    /// Which objects can be found again.
    pub identities: Identities,
    /// The objects that GC roots keep alive, if that was computed.
    pub reachable: Option<&'a BitSet>,
    /// What is recorded of fields and elements besides references.
    pub values: RecordedValues,
    /// Names of class loaders, ascending.
    pub loader_names: Vec<(ObjectId, String)>,
    /// Data structures that can be found again in other states.
    pub structures: Vec<FollowedStructure>,
}

/// Of so many data structures of a state a trace tells at most, the largest.
pub const MOST_STRUCTURES: usize = 10_000;

/// What a data structure has in a state; its class is that of the state, or in a trace a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedStructure {
    /// The identity of its head.
    pub identity: u64,
    /// Of its head.
    pub class: u32,
    /// How many it has, if that is known.
    pub elements: Option<u64>,
    /// Of head and inner parts.
    pub bytes: u64,
}

impl<'a> StateToWrite<'a> {
    /// The state of a dump, which references have the names of fields; with `contents` also
    /// with all values of primitive type.
    pub fn from_dump(dump: &'a Dump, moment: Moment, contents: bool) -> Self {
        StateToWrite {
            state: &dump.state,
            moment,
            identities: Identities::None,
            reachable: None,
            values: values_of(dump, contents),
            loader_names: loader_names(dump),
            structures: Vec::new(),
        }
    }

    /// A state that was put together otherwise. References have names if `values` say which
    /// fields are null.
    pub fn from_state(state: &'a HeapState, moment: Moment, values: RecordedValues) -> Self {
        StateToWrite {
            state,
            moment,
            identities: Identities::None,
            reachable: None,
            values,
            loader_names: Vec::new(),
            structures: Vec::new(),
        }
    }

    pub(crate) fn header(
        &self,
        number: u32,
        name: impl FnMut(&str) -> u32,
    ) -> Result<StateHeader, Error> {
        let state = self.state;
        let objects = state.len() as usize;
        if self.reachable.is_some_and(|set| set.capacity() < objects) {
            let reason = "the set of reachable objects is another heap's".to_owned();
            return Err(Error::Unwritable(reason));
        }
        let classes = class_totals(state, self.reachable, name);
        let mut all = Totals::default();
        let mut reachable = Totals::default();
        for class in &classes {
            all += class.all;
            reachable += class.reachable.unwrap_or_default();
        }
        Ok(StateHeader {
            number,
            gc: self.moment.gc,
            time: self.moment.time,
            kind: self.moment.kind,
            mark: self.moment.mark.clone(),
            pause: self.moment.pause,
            all,
            reachable: self.reachable.map(|_| reachable),
            classes,
            source_bytes: self.moment.source_bytes,
            identity: self.identities.kind(),
            names: self.values.present.is_some(),
            contents: self.values.contents.is_some(),
            shape: Shape {
                objects: state.len(),
                references: state.columns.references.len() as u64,
                referents: state.columns.referents.len() as u32,
                parts: Vec::new(),
                id_size: self.values.id_size,
                timestamp: self.moment.timestamp,
            },
        })
    }
}

fn class_totals(
    state: &HeapState,
    reachable: Option<&BitSet>,
    mut name: impl FnMut(&str) -> u32,
) -> Vec<ClassTotals> {
    let count = state.classes().len();
    let mut totals = vec![[Totals::default(); 2]; count];
    let columns = &state.columns;
    if let Some(sizes) = &state.tables.sizes {
        let sizer = sizes.sizer(state.classes());
        let (classes, details): (&[u32], &[u32]) = (&columns.classes, &columns.details);
        for (object, (&class, &detail)) in (0..).zip(classes.iter().zip(details)) {
            let one = Totals {
                objects: 1,
                bytes: sizer.size(class, detail),
            };
            let [all, kept] = &mut totals[class as usize];
            *all += one;
            if reachable.is_some_and(|set| set.contains(object)) {
                *kept += one;
            }
        }
    }
    let mut by_name: FxHashMap<u32, ClassTotals> = FxHashMap::default();
    for (class, [all, kept]) in state.classes().iter().zip(totals) {
        if all.objects == 0 {
            continue;
        }
        let class = name(&class.name);
        let sum = by_name.entry(class).or_insert(ClassTotals {
            class,
            all: Totals::default(),
            reachable: reachable.map(|_| Totals::default()),
        });
        sum.all += all;
        if let Some(reachable) = &mut sum.reachable {
            *reachable += kept;
        }
    }
    let mut sorted: Vec<ClassTotals> = by_name.into_values().collect();
    sorted.sort_unstable_by_key(|totals| totals.class);
    sorted
}

/// The columns of a state in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateColumn {
    Tables = 1,
    Classes = 2,
    Details = 3,
    Degrees = 4,
    References = 5,
    Referrers = 6,
    Referents = 7,
    AddressShape = 8,
    AddressPages = 9,
    AddressBits = 10,
    AddressSorted = 11,
    Present = 12,
    Contents = 13,
    TrackedObjects = 14,
    TrackedIds = 15,
    Structures = 16,
}

impl StateColumn {
    pub(crate) const ALL: [StateColumn; 16] = [
        StateColumn::Tables,
        StateColumn::Classes,
        StateColumn::Details,
        StateColumn::Degrees,
        StateColumn::References,
        StateColumn::Referrers,
        StateColumn::Referents,
        StateColumn::AddressShape,
        StateColumn::AddressPages,
        StateColumn::AddressBits,
        StateColumn::AddressSorted,
        StateColumn::Present,
        StateColumn::Contents,
        StateColumn::TrackedObjects,
        StateColumn::TrackedIds,
        StateColumn::Structures,
    ];
}

/// Takes a packed block.
type Write<'a> = dyn FnMut(Label, &[u8]) -> Result<(), Error> + 'a;

/// Gives all blocks of a state to `write`, packed.
pub(crate) fn encode(
    to_write: &StateToWrite,
    structures: &[FollowedStructure],
    number: u32,
    write: &mut Write,
) -> Result<(), Error> {
    let mut encoder = Encoder { number, write };
    let HeapState {
        tables,
        columns,
        addresses,
    } = to_write.state;
    let mut kept = StateTables::from(tables).with_loader_names(&to_write.loader_names);
    if to_write.values.contents.is_none() {
        kept = kept.without_contents();
    }
    let tables =
        postcard::to_stdvec(&kept).map_err(|error| Error::Unwritable(error.to_string()))?;
    encoder.bytes(StateColumn::Tables, &tables)?;
    encoder.numbers(StateColumn::Classes, &columns.classes, column::plain)?;
    encoder.numbers(StateColumn::Details, &columns.details, column::plain)?;
    let offsets = columns.offsets.view();
    let degrees: Vec<u32> = (0..offsets.len() as u32)
        .into_par_iter()
        .map(|object| offsets.range(object).len() as u32)
        .collect();
    encoder.numbers(StateColumn::Degrees, &degrees, column::plain)?;
    encoder.numbers(StateColumn::References, &columns.references, column::deltas)?;
    let referrers = &columns.referrers_by_referent;
    encoder.numbers(StateColumn::Referrers, referrers, column::deltas)?;
    encoder.numbers(StateColumn::Referents, &columns.referents, column::deltas)?;
    encoder.addresses(addresses)?;
    if let Some(present) = &to_write.values.present {
        encoder.bytes(StateColumn::Present, bytemuck::cast_slice(present))?;
    }
    if let Some(contents) = &to_write.values.contents {
        encoder.bytes(StateColumn::Contents, contents)?;
    }
    if let Identities::Tracked(pairs) = &to_write.identities {
        let objects: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
        encoder.numbers(StateColumn::TrackedObjects, &objects, column::deltas)?;
        let ids: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
        encoder.wide(StateColumn::TrackedIds, &ids)?;
    }
    if !structures.is_empty() {
        let packed = postcard::to_stdvec(structures)
            .map_err(|error| Error::Unwritable(error.to_string()))?;
        encoder.bytes(StateColumn::Structures, &packed)?;
    }
    Ok(())
}

struct Encoder<'a, 'w> {
    number: u32,
    write: &'a mut Write<'w>,
}

impl Encoder<'_, '_> {
    fn numbers(
        &mut self,
        column: StateColumn,
        values: &[u32],
        encode: fn(&[u32]) -> Vec<u8>,
    ) -> Result<(), Error> {
        let parts: Vec<&[u32]> = values.chunks(PART).collect();
        self.parts(column, &parts, |part| encode(part))
    }

    /// Wide numbers as two columns of narrow ones.
    fn wide(&mut self, column: StateColumn, values: &[u64]) -> Result<(), Error> {
        let parts: Vec<&[u64]> = values.chunks(PART).collect();
        self.parts(column, &parts, |part| column::wide_deltas(part))
    }

    fn bytes(&mut self, column: StateColumn, bytes: &[u8]) -> Result<(), Error> {
        let parts: Vec<&[u8]> = bytes.chunks(BYTES_PART).collect();
        self.parts(column, &parts, |part| part.to_vec())
    }

    fn addresses(&mut self, addresses: &AddressMap) -> Result<(), Error> {
        let parts = addresses.parts();
        self.bytes(
            StateColumn::AddressShape,
            bytemuck::cast_slice(&parts.shape),
        )?;
        let pages: Vec<u64> = parts.pages.iter().map(|&page| page.into()).collect();
        self.wide(StateColumn::AddressPages, &pages)?;
        let blocks: Vec<&[Block]> = parts.blocks.chunks(PART).collect();
        self.parts(StateColumn::AddressBits, &blocks, |part| {
            part.iter()
                .flat_map(|block| block.bits().to_le_bytes())
                .collect()
        })?;
        self.wide(StateColumn::AddressSorted, &parts.sorted)
    }

    /// Packs parts, a few for each thread at a time, and writes them in their order.
    fn parts<T: Sync>(
        &mut self,
        column: StateColumn,
        parts: &[T],
        encode: impl Fn(&T) -> Vec<u8> + Sync,
    ) -> Result<(), Error> {
        let at_a_time = 4 * rayon::current_num_threads();
        for (batch, first) in parts.chunks(at_a_time).zip((0..).step_by(at_a_time)) {
            let label = |index: usize| Label {
                kind: Kind::Column,
                column: column as u8,
                state: self.number,
                part: first + index as u32,
            };
            let packed: Vec<io::Result<Vec<u8>>> = batch
                .par_iter()
                .enumerate()
                .map(|(index, part)| block::pack(label(index), &encode(part)))
                .collect();
            for (index, packed) in packed.into_iter().enumerate() {
                let packed = packed.map_err(|error| Error::Unwritable(error.to_string()))?;
                (self.write)(label(index), &packed)?;
            }
        }
        Ok(())
    }
}

/// The blocks of a column in their order; the reason if some are lost.
pub(crate) type Blocks<'a> = &'a (dyn Fn(StateColumn) -> Result<Vec<Place>, String> + Sync);

/// Puts a state together; the reason if that is not possible.
pub(crate) fn decode(
    header: &StateHeader,
    bytes: &[u8],
    blocks: Blocks,
) -> Result<Decoded, String> {
    let decoder = Decoder { bytes, blocks };
    let shape = &header.shape;
    let objects = shape.objects as usize;
    let bytes = decoder.bytes(StateColumn::Tables)?;
    let tables: StateTables = postcard::from_bytes(&bytes)
        .map_err(|error| format!("its tables cannot be read: {error}"))?;
    let classes = decoder.numbers(StateColumn::Classes, objects, column::from_plain)?;
    let details = decoder.numbers(StateColumn::Details, objects, column::from_plain)?;
    let degrees = decoder.numbers(StateColumn::Degrees, objects, column::from_plain)?;
    let references = usize::try_from(shape.references).map_err(|error| error.to_string())?;
    let references = decoder.numbers(StateColumn::References, references, column::from_deltas)?;
    let offsets = Offsets::from_counts(Buffer::collect(objects + 1, degrees.iter().copied()))
        .ok_or("it has too many references")?;
    if offsets.view().get(objects) != references.len() {
        return Err("its references do not add up".to_owned());
    }
    let referents = shape.referents as usize;
    let columns = HeapColumns {
        classes: classes.into(),
        details: details.into(),
        offsets,
        references: references.into(),
        referrers_by_referent: decoder
            .numbers(StateColumn::Referrers, referents, column::from_deltas)?
            .into(),
        referents: decoder
            .numbers(StateColumn::Referents, referents, column::from_deltas)?
            .into(),
    };
    let mut state = HeapState {
        tables: tables.into(),
        columns,
        addresses: decoder.addresses(objects)?,
    };
    state
        .check()
        .map_err(|wrong| format!("it contradicts itself: {wrong}"))?;
    state.find_class_fields();
    let identities = decoder.identities(header)?;
    let values = RecordedValues {
        id_size: shape.id_size,
        present: header
            .names
            .then(|| decoder.words(StateColumn::Present))
            .transpose()?,
        contents: header
            .contents
            .then(|| decoder.bytes(StateColumn::Contents))
            .transpose()?
            .map(Column::from),
    };
    Ok(Decoded {
        state,
        identities,
        values,
    })
}

/// The structures alone; none in states that were recorded without them.
pub(crate) fn decode_structures(
    bytes: &[u8],
    blocks: Blocks,
) -> Result<Vec<FollowedStructure>, String> {
    let packed = Decoder { bytes, blocks }.bytes(StateColumn::Structures)?;
    if packed.is_empty() {
        return Ok(Vec::new());
    }
    postcard::from_bytes(&packed).map_err(|error| format!("its structures: {error}"))
}

/// The identities alone.
pub(crate) fn decode_identities(
    header: &StateHeader,
    bytes: &[u8],
    blocks: Blocks,
) -> Result<Identities, String> {
    Decoder { bytes, blocks }.identities(header)
}

pub(crate) struct Decoded {
    pub state: HeapState,
    pub identities: Identities,
    pub values: RecordedValues,
}

struct Decoder<'a> {
    bytes: &'a [u8],
    blocks: Blocks<'a>,
}

impl Decoder<'_> {
    fn unpack(&self, block: &Place) -> Result<Vec<u8>, String> {
        let payload = block.payload(self.bytes);
        payload.map_err(|why| format!("at offset {}: {why}", block.offset))
    }

    fn bytes(&self, column: StateColumn) -> Result<Vec<u8>, String> {
        let blocks = (self.blocks)(column)?;
        let unpacked: Result<Vec<Vec<u8>>, String> =
            blocks.par_iter().map(|block| self.unpack(block)).collect();
        Ok(unpacked?.concat())
    }

    fn words(&self, column: StateColumn) -> Result<Column<u64>, String> {
        let bytes = self.bytes(column)?;
        let words = bytes.chunks_exact(8);
        let words: Vec<u64> = words
            .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
            .collect();
        Ok(words.into())
    }

    fn numbers(
        &self,
        column: StateColumn,
        count: usize,
        decode: fn(&[u8], &mut [u32]) -> Option<()>,
    ) -> Result<Buffer<u32>, String> {
        let blocks = (self.blocks)(column)?;
        if blocks.len() != count.div_ceil(PART) {
            return Err(format!("it has {} blocks for {count} values", blocks.len()));
        }
        let mut values = Buffer::zeroed(count);
        values
            .par_chunks_mut(PART)
            .zip(&blocks)
            .try_for_each(|(out, block)| {
                decode(&self.unpack(block)?, out).ok_or("the length of a column is wrong")?;
                Ok::<(), String>(())
            })?;
        Ok(values)
    }

    fn wide(&self, column: StateColumn) -> Result<Vec<u64>, String> {
        let blocks = (self.blocks)(column)?;
        let unpacked: Result<Vec<Vec<u64>>, String> = blocks
            .par_iter()
            .map(|block| {
                column::from_wide_deltas(&self.unpack(block)?)
                    .ok_or_else(|| "the length of a column is wrong".to_owned())
            })
            .collect();
        Ok(unpacked?.concat())
    }

    fn identities(&self, header: &StateHeader) -> Result<Identities, String> {
        match header.identity {
            IdentityKind::None => Ok(Identities::None),
            IdentityKind::All => Ok(Identities::All),
            IdentityKind::Tracked => self.tracked(header.shape.objects as usize),
        }
    }

    fn tracked(&self, objects: usize) -> Result<Identities, String> {
        let ids = self.wide(StateColumn::TrackedIds)?;
        let of = self.numbers(StateColumn::TrackedObjects, ids.len(), column::from_deltas)?;
        let pairs: Vec<(ObjectId, u64)> = of.iter().copied().zip(ids).collect();
        let ascending = pairs.is_sorted_by(|a, b| a.0 < b.0);
        if !ascending || pairs.last().is_some_and(|last| last.0 as usize >= objects) {
            return Err("its identities refer to objects that it does not have".to_owned());
        }
        Ok(Identities::Tracked(pairs))
    }

    fn addresses(&self, objects: usize) -> Result<AddressMap, String> {
        let shape = self.words(StateColumn::AddressShape)?;
        let shape: [u64; 4] = shape[..]
            .try_into()
            .map_err(|_| "its addresses have no shape")?;
        let sorted = self.wide(StateColumn::AddressSorted)?;
        let bits = self.words(StateColumn::AddressBits)?;
        let pages = self.wide(StateColumn::AddressPages)?;
        AddressMap::from_bits(shape, pages, &bits, sorted)
            .filter(|map| map.len() as usize == objects)
            .ok_or_else(|| "its addresses do not fit its objects".to_owned())
    }
}
