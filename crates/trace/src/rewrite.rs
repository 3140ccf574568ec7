//! A trace with other contents whose checksums are right: what tests and fuzzers damage traces with.

use crate::block::{self, BlockAt, FILE_HEADER, Kind, pack};

/// Gives the payload of every block to `edit`, with its number, and puts the trace together again, without
/// its directory. Tells how many blocks there are.
pub fn rewritten(trace: &[u8], mut edit: impl FnMut(usize, &mut Vec<u8>)) -> (Vec<u8>, usize) {
    let mut out = trace[..FILE_HEADER.min(trace.len())].to_vec();
    let (mut at, mut blocks) = (FILE_HEADER, 0);
    while let BlockAt::Whole(block) = block::look(trace, at) {
        at = block.end();
        if block.label.kind == Kind::End {
            break;
        }
        let before = block.payload(trace).unwrap_or_default();
        let mut payload = before.clone();
        edit(blocks, &mut payload);
        if payload == before {
            out.extend(&trace[block.offset as usize..at]);
        } else {
            out.extend(pack(block.label, &payload).unwrap_or_default());
        }
        blocks += 1;
    }
    (out, blocks)
}
