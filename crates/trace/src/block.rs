//! Blocks: what a trace is a sequence of. Each has a header that proves itself, so that a reader
//! finds its way through a file that is still being written, cut off or damaged.

use std::io;

use xxhash_rust::xxh3::xxh3_64;

/// What a trace begins with: these bytes, then the version of the file's structure.
pub(crate) use anthill_hprof::input::TRACE as FILE_MAGIC;
pub(crate) const FILE_VERSION: u32 = 1;
pub(crate) const FILE_HEADER: usize = 16;

const BLOCK_MAGIC: [u8; 4] = *b"\xA7BLK";
pub(crate) const BLOCK_HEADER: usize = 40;
/// No block is larger, packed or unpacked: what a reader allocates for one is bounded by this.
pub(crate) const LARGEST: usize = 64 << 20;
/// Fast, and with columns made for it nearly as small as slower levels.
const LEVEL: i32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Facts = 1,
    Symbols = 2,
    Events = 3,
    State = 4,
    Column = 5,
    End = 6,
    Violations = 7,
    /// Of a later version than this.
    Foreign = 0,
}

impl Kind {
    /// A byte that is no known kind's is a kind of a later version.
    fn of(byte: u8) -> Kind {
        let known = [
            Kind::Facts,
            Kind::Symbols,
            Kind::Events,
            Kind::State,
            Kind::Column,
            Kind::End,
            Kind::Violations,
        ];
        let known = known.into_iter().find(|&kind| kind as u8 == byte);
        known.unwrap_or(Kind::Foreign)
    }

    /// The version of what is in blocks of this kind.
    fn version(self) -> u8 {
        1
    }
}

/// What a block is: its kind, and for columns of states which one and which part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub kind: Kind,
    pub column: u8,
    pub state: u32,
    pub part: u32,
}

impl Label {
    pub(crate) fn of(kind: Kind) -> Self {
        Label {
            kind,
            column: 0,
            state: 0,
            part: 0,
        }
    }

    /// In words, for messages about damage.
    pub(crate) fn words(&self) -> String {
        match self.kind {
            Kind::Facts => "facts about the JVM".to_owned(),
            Kind::Symbols => "names".to_owned(),
            Kind::Events => "events".to_owned(),
            Kind::State => format!("the header of state {}", self.state),
            Kind::Column => format!("a part of state {}", self.state),
            Kind::End => "the directory".to_owned(),
            Kind::Violations => "violations of assertions".to_owned(),
            Kind::Foreign => "a block of an unknown kind".to_owned(),
        }
    }
}

/// A block in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub label: Label,
    pub offset: u64,
    packed: bool,
    version: u8,
    pub raw: u32,
    pub stored: u32,
    checksum: u64,
}

/// The bytes of a block, ready to be written.
pub(crate) fn pack(label: Label, payload: &[u8]) -> io::Result<Vec<u8>> {
    if payload.len() > LARGEST {
        return Err(io::Error::other("a block is too large"));
    }
    let bound = zstd::zstd_safe::compress_bound(payload.len());
    let mut out = vec![0; BLOCK_HEADER + bound];
    let packed = zstd::bulk::compress_to_buffer(payload, &mut out[BLOCK_HEADER..], LEVEL)?;
    let worth_it = packed < payload.len();
    let stored = if worth_it {
        packed
    } else {
        out[BLOCK_HEADER..BLOCK_HEADER + payload.len()].copy_from_slice(payload);
        payload.len()
    };
    out.truncate(BLOCK_HEADER + stored);
    let checksum = xxh3_64(&out[BLOCK_HEADER..]);
    out[..4].copy_from_slice(&BLOCK_MAGIC);
    out[4] = label.kind as u8;
    out[5] = label.column;
    out[6] = u8::from(worth_it);
    out[7] = label.kind.version();
    out[8..12].copy_from_slice(&label.state.to_le_bytes());
    out[12..16].copy_from_slice(&label.part.to_le_bytes());
    out[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    out[20..24].copy_from_slice(&(stored as u32).to_le_bytes());
    out[24..32].copy_from_slice(&checksum.to_le_bytes());
    let proof = xxh3_64(&out[..32]);
    out[32..40].copy_from_slice(&proof.to_le_bytes());
    Ok(out)
}

/// What stands where a block should begin.
pub(crate) enum BlockAt {
    Whole(Block),
    /// A block whose end is not there.
    Cut(Block),
    Nothing,
}

/// Looks at the header at `offset`.
pub(crate) fn look(bytes: &[u8], offset: usize) -> BlockAt {
    let header = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    let Some(block) = header.and_then(|header| Block::of(header, offset as u64)) else {
        return BlockAt::Nothing;
    };
    if block.end() > bytes.len() {
        BlockAt::Cut(block)
    } else {
        BlockAt::Whole(block)
    }
}

/// Where the next header that proves itself begins, from `offset` on.
pub(crate) fn search(bytes: &[u8], offset: usize) -> Option<usize> {
    let mut at = offset;
    loop {
        let rest = bytes.get(at..)?;
        at += rest
            .windows(BLOCK_MAGIC.len())
            .position(|window| window == BLOCK_MAGIC)?;
        if !matches!(look(bytes, at), BlockAt::Nothing) {
            return Some(at);
        }
        at += 1;
    }
}

impl Block {
    /// The block that a header describes; `None` if it does not prove itself.
    pub(crate) fn of(header: &[u8; BLOCK_HEADER], offset: u64) -> Option<Self> {
        let narrow =
            |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let wide = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
        let block = Block {
            label: Label {
                kind: Kind::of(header[4]),
                column: header[5],
                state: narrow(8),
                part: narrow(12),
            },
            offset,
            packed: header[6] != 0,
            version: header[7],
            raw: narrow(16),
            stored: narrow(20),
            checksum: wide(24),
        };
        let sane = header[..4] == BLOCK_MAGIC
            && xxh3_64(&header[..32]) == wide(32)
            && block.raw as usize <= LARGEST
            && block.stored as usize <= LARGEST
            // So that no end is beyond what numbers can say.
            && offset < 1 << 62;
        sane.then_some(block)
    }

    pub(crate) fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Where the next block begins.
    pub(crate) fn end(&self) -> usize {
        self.offset as usize + BLOCK_HEADER + self.stored as usize
    }

    /// The payload, unpacked; the reason if it is damaged.
    pub(crate) fn payload(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        if self.version != self.label.kind.version() {
            return Err(format!(
                "{} have version {}, this program reads version {}",
                self.label.words(),
                self.version,
                self.label.kind.version()
            ));
        }
        let stored = bytes
            .get(self.offset as usize + BLOCK_HEADER..self.end())
            .ok_or("the block extends beyond the end of the file")?;
        if xxh3_64(stored) != self.checksum {
            return Err("the checksum is wrong".to_owned());
        }
        if !self.packed {
            return Ok(stored.to_owned());
        }
        let unpacked = zstd::bulk::decompress(stored, self.raw as usize)
            .map_err(|error| format!("it cannot be decompressed: {error}"))?;
        if unpacked.len() != self.raw as usize {
            return Err("its decompressed length is wrong".to_owned());
        }
        Ok(unpacked)
    }
}
