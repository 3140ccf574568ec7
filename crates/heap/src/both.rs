//! Two pieces of long work at the same time.

use std::{panic, thread};

/// Runs both, one of them on a thread of its own. Long work is not for the threads that short pieces of work
/// are spread over: whoever wants a quick answer meanwhile would have to wait for its end.
pub fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let second = scope.spawn(second);
        let first = first();
        match second.join() {
            Ok(second) => (first, second),
            Err(reason) => panic::resume_unwind(reason),
        }
    })
}
