//! Which parts of the program ran: counters that the compiler puts on every edge when it is told to
//! (`./x fuzz` does). Without them nothing is ever new, and the fuzzer changes its seeds blindly.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of every part of the program that was compiled with them, eight at a time: most are zero.
static COUNTERS: Mutex<Vec<&'static [AtomicU64]>> = Mutex::new(Vec::new());

/// The compiler has this called for every part of the program, before `main`.
///
/// # Safety
/// From `start` to `stop` are counters of one byte that live as long as the program.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let skipped = start.align_offset(size_of::<u64>());
    let length = (stop as usize - start as usize).saturating_sub(skipped) / size_of::<u64>();
    // SAFETY: the caller's promise. A count that is lost because another thread counts at the same time
    // does not matter.
    let counters = unsafe {
        let first = start.add(skipped).cast::<AtomicU64>();
        std::slice::from_raw_parts(first, length)
    };
    if let Ok(mut all) = COUNTERS.lock() {
        // Every unit of compilation announces the counters of the whole program.
        if all.iter().all(|known| known.as_ptr() != counters.as_ptr()) {
            all.push(counters);
        }
    }
}

/// What has been seen of the program so far.
#[derive(Default)]
pub(crate) struct Coverage {
    /// By counter: which magnitudes it had.
    seen: Vec<u8>,
}

impl Coverage {
    /// Sets the counters back.
    pub(crate) fn reset(&self) {
        each(|counters| {
            if counters.load(Ordering::Relaxed) != 0 {
                counters.store(0, Ordering::Relaxed);
            }
        });
    }

    /// Takes the counters in; whether something ran that never did, or more often than ever.
    pub(crate) fn take_in(&mut self) -> bool {
        let seen = &mut self.seen;
        let (mut at, mut is_new) = (0, false);
        each(|counters| {
            if at == seen.len() {
                seen.resize(at + size_of::<u64>(), 0);
            }
            let counts = counters.load(Ordering::Relaxed);
            if counts != 0 {
                for (seen, count) in seen[at..].iter_mut().zip(counts.to_ne_bytes()) {
                    is_new |= magnitude(count) & !*seen != 0;
                    *seen |= magnitude(count);
                }
            }
            at += size_of::<u64>();
        });
        is_new
    }

    /// How many edges have ever been taken.
    pub(crate) fn edges(&self) -> usize {
        self.seen.iter().filter(|&&seen| seen != 0).count()
    }
}

fn each(mut look: impl FnMut(&AtomicU64)) {
    if let Ok(all) = COUNTERS.lock() {
        all.iter().copied().flatten().for_each(&mut look);
    }
}

/// One bit for each magnitude of a number.
fn magnitude(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..8 => 8,
        8..16 => 16,
        16..32 => 32,
        32..128 => 64,
        _ => 128,
    }
}
