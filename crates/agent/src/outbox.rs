//! What waits to be sent. Events only append a few bytes under a lock that is never held during a system call or a call
//! into the JVM; a thread of its own sends them. When the recorder is slow, events are dropped and counted.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anthill_wire::{Dropped, FromAgent, Gc};

use crate::clock;

/// Events are dropped while so many bytes wait.
const MOST_BYTES: usize = 4 << 20;
const MOST_GCS: usize = 4096;
/// A recorder that lets so much wait, definitions included, is given up.
const GIVEN_UP: usize = 64 << 20;
/// So many bytes are sent at once rather than at the next tick.
const ENOUGH_BYTES: usize = 64 << 10;
const TICK: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Waiting {
    /// Goes before everything else.
    hello: Vec<u8>,
    bytes: Vec<u8>,
    /// Completed when they are sent, with what may not be asked for during a pause.
    gcs: Vec<Gc>,
    dropped_samples: u64,
    dropped_gcs: u64,
    dropped_threads: u64,
    /// Nothing is sent before the agent has said hello.
    open: bool,
    /// Send what is there, then end.
    closing: bool,
    closed: bool,
    prompt: bool,
    given_up: bool,
}

impl Waiting {
    fn append(&mut self, message: &FromAgent) {
        if !self.given_up && !self.closing {
            message.encode(&mut self.bytes);
        }
        if self.bytes.len() > GIVEN_UP {
            self.given_up = true;
            self.bytes = Vec::new();
        }
    }
}

pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    done: Condvar,
}

impl Outbox {
    pub(crate) fn new() -> Outbox {
        let waiting = Waiting {
            bytes: Vec::with_capacity(2 * ENOUGH_BYTES),
            gcs: Vec::with_capacity(64),
            ..Waiting::default()
        };
        Outbox {
            waiting: Mutex::new(waiting),
            wake: Condvar::new(),
            done: Condvar::new(),
        }
    }

    /// Says hello, before everything that waits already, and begins to send.
    pub(crate) fn open(&self, hello: &FromAgent) {
        let mut waiting = self.lock();
        hello.encode(&mut waiting.hello);
        waiting.open = true;
        self.hurry(waiting);
    }

    /// An answer or a definition: never dropped, sent at the next tick.
    pub(crate) fn say(&self, message: &FromAgent) {
        self.lock().append(message);
    }

    /// Whether so much waited that the recorder cannot be listening any more; nothing is kept then.
    pub(crate) fn is_given_up(&self) -> bool {
        self.lock().given_up
    }

    /// Like [`Outbox::say`], sent at once.
    pub(crate) fn say_now(&self, message: &FromAgent) {
        let mut waiting = self.lock();
        waiting.append(message);
        self.hurry(waiting);
    }

    /// Nothing is taken after this.
    pub(crate) fn say_last(&self, message: &FromAgent) {
        let mut waiting = self.lock();
        waiting.append(message);
        waiting.closing = true;
        self.hurry(waiting);
    }

    /// An event that is dropped when too much waits.
    pub(crate) fn event(&self, event: &FromAgent) {
        let mut waiting = self.lock();
        if waiting.closing {
            return;
        }
        if waiting.bytes.len() > MOST_BYTES {
            match event {
                FromAgent::Sample(_) => waiting.dropped_samples += 1,
                _ => waiting.dropped_threads += 1,
            }
            return;
        }
        event.encode(&mut waiting.bytes);
        if waiting.bytes.len() > ENOUGH_BYTES && !waiting.prompt {
            self.hurry(waiting);
        }
    }

    pub(crate) fn gc(&self, gc: Gc) {
        let mut waiting = self.lock();
        if waiting.closing {
            return;
        }
        if waiting.gcs.len() >= MOST_GCS {
            waiting.dropped_gcs += 1;
            return;
        }
        waiting.gcs.push(gc);
        self.hurry(waiting);
    }

    /// Waits until hello was said or the time is over.
    pub(crate) fn wait_until_open(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while !self.lock().open && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Nothing is taken after this. What waits is still sent if the recorder has heard hello.
    pub(crate) fn end(&self) {
        self.lock().closing = true;
        self.wake.notify_all();
    }

    /// Sends what waits and ends; waits until that is done or the time is over.
    pub(crate) fn close(&self, patience: Duration) {
        self.end();
        let mut waiting = self.lock();
        let deadline = Instant::now() + patience;
        while !waiting.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            waiting = match self.done.wait_timeout(waiting, left) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Sends until closed or the connection breaks; `every_tick` may add messages.
    pub(crate) fn send_to(
        &self,
        stream: &UnixStream,
        mut every_tick: impl FnMut(),
    ) -> io::Result<()> {
        let mut sending = Vec::with_capacity(2 * ENOUGH_BYTES);
        let result = loop {
            let closing = self.next_batch(&mut sending);
            if let Err(e) = send_all(stream, &sending) {
                break Err(e);
            }
            sending.clear();
            if closing {
                break Ok(());
            }
            every_tick();
        };
        let mut waiting = self.lock();
        waiting.closed = true;
        self.done.notify_all();
        result
    }

    /// Waits for a tick or until there is a reason to hurry, and takes what waits; whether it is the last.
    fn next_batch(&self, batch: &mut Vec<u8>) -> bool {
        let mut waiting = self.lock();
        while !(waiting.open && waiting.prompt || waiting.closing) {
            let (guard, timeout) = match self.wake.wait_timeout(waiting, TICK) {
                Ok(woken) => woken,
                Err(poisoned) => poisoned.into_inner(),
            };
            waiting = guard;
            if timeout.timed_out() && waiting.open {
                break;
            }
        }
        if !waiting.open {
            return waiting.closing;
        }
        waiting.prompt = false;
        batch.append(&mut waiting.hello);
        let gcs = std::mem::take(&mut waiting.gcs);
        let dropped = Dropped {
            samples: std::mem::take(&mut waiting.dropped_samples),
            gcs: std::mem::take(&mut waiting.dropped_gcs),
            threads: std::mem::take(&mut waiting.dropped_threads),
        };
        let bytes = std::mem::take(&mut waiting.bytes);
        let closing = waiting.closing || waiting.given_up;
        drop(waiting);

        for mut gc in gcs {
            gc.process_cpu_ns = clock::process_cpu();
            FromAgent::Gc(gc).encode(batch);
        }
        if dropped.samples + dropped.gcs + dropped.threads > 0 {
            FromAgent::Dropped(dropped).encode(batch);
        }
        // Last, since the last message of all is among them.
        batch.extend_from_slice(&bytes);
        self.give_back(bytes);
        closing
    }

    /// Memory for the next events, so that they need not ask for it.
    fn give_back(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        let mut waiting = self.lock();
        if waiting.bytes.is_empty() && bytes.capacity() <= MOST_BYTES {
            waiting.bytes = bytes;
        }
    }

    fn hurry(&self, mut waiting: MutexGuard<'_, Waiting>) {
        waiting.prompt = true;
        drop(waiting);
        self.wake.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // What a panicking thread left behind is a whole number of frames.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A closed connection is an error here, never a signal that could end the program.
fn send_all(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the pointer and length are of a slice, the descriptor is open as long as the stream is.
        let sent = unsafe {
            libc::send(
                stream.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        match usize::try_from(sent) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_wire::{Frames, ThreadEnd};
    use std::thread;

    fn event(number: u32) -> FromAgent {
        FromAgent::ThreadEnd(ThreadEnd { number, time_ns: 0 })
    }

    fn messages(stream: UnixStream) -> Vec<FromAgent> {
        let mut frames = Frames::new(stream);
        let mut all = Vec::new();
        while let Ok(Some(frame)) = frames.next_frame() {
            all.push(FromAgent::decode(frame).unwrap());
        }
        all
    }

    #[test]
    fn hello_comes_first_whatever_waited_before() {
        let (near, far) = UnixStream::pair().unwrap();
        let outbox = Outbox::new();
        outbox.event(&event(1));
        outbox.open(&FromAgent::Flushed(7));
        outbox.say(&FromAgent::Flushed(8));
        thread::scope(|scope| {
            scope.spawn(|| outbox.send_to(&near, || {}));
            outbox.close(Duration::from_secs(60));
        });
        drop(near);
        let expected = [FromAgent::Flushed(7), event(1), FromAgent::Flushed(8)];
        assert_eq!(messages(far), expected);
    }

    #[test]
    fn what_comes_after_the_last_message_is_not_sent() {
        let (near, far) = UnixStream::pair().unwrap();
        let outbox = Outbox::new();
        outbox.open(&FromAgent::Flushed(7));
        outbox.say_last(&FromAgent::Flushed(8));
        outbox.event(&event(1));
        outbox.say(&FromAgent::Flushed(9));
        thread::scope(|scope| {
            scope.spawn(|| outbox.send_to(&near, || {}));
            outbox.close(Duration::from_secs(60));
        });
        drop(near);
        assert_eq!(
            messages(far),
            [FromAgent::Flushed(7), FromAgent::Flushed(8)]
        );
    }

    #[test]
    fn whoever_waits_for_a_hello_that_does_not_come_goes() {
        let (near, far) = UnixStream::pair().unwrap();
        let outbox = Outbox::new();
        outbox.event(&event(1));
        thread::scope(|scope| {
            let sending = scope.spawn(|| outbox.send_to(&near, || {}));
            outbox.end();
            assert!(sending.join().unwrap().is_ok());
        });
        drop(near);
        assert_eq!(messages(far), []);
    }

    #[test]
    fn events_nobody_takes_are_dropped_and_counted() {
        let (near, far) = UnixStream::pair().unwrap();
        let outbox = Outbox::new();
        let sent = 1_000_000;
        for number in 0..sent {
            outbox.event(&event(number));
        }
        outbox.open(&FromAgent::Flushed(0));
        let received = thread::scope(|scope| {
            let receiving = scope.spawn(|| messages(far));
            scope.spawn(|| outbox.send_to(&near, || {}));
            outbox.close(Duration::from_secs(60));
            near.shutdown(std::net::Shutdown::Both).unwrap();
            receiving.join().unwrap()
        });
        let arrived = received
            .iter()
            .filter(|message| matches!(message, FromAgent::ThreadEnd(_)))
            .count();
        let dropped = received.iter().find_map(|message| match message {
            FromAgent::Dropped(dropped) => Some(dropped.threads),
            _ => None,
        });
        assert_eq!(arrived as u64 + dropped.unwrap_or(0), u64::from(sent));
        assert!(dropped.is_some(), "a million events do not fit");
    }

    #[test]
    fn a_recorder_that_never_listens_is_given_up_and_takes_no_memory() {
        let outbox = Outbox::new();
        let text = FromAgent::Class(anthill_wire::Class {
            id: 1,
            signature: "x".repeat(1 << 20),
        });
        for _ in 0..63 {
            outbox.say(&text);
        }
        assert!(!outbox.is_given_up());
        for _ in 0..1000 {
            outbox.say(&text);
        }
        assert!(outbox.is_given_up());
        assert!(outbox.lock().bytes.is_empty());
    }

    #[test]
    fn a_closed_connection_ends_the_sending() {
        let (near, far) = UnixStream::pair().unwrap();
        drop(far);
        let outbox = Outbox::new();
        outbox.open(&FromAgent::Flushed(0));
        assert!(outbox.send_to(&near, || {}).is_err());
        // Nobody is left to wait for.
        outbox.close(Duration::from_secs(600));
    }
}
