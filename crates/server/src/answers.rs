//! What the server needs of whoever knows the answers.

use std::io::{self, Write};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::jobs::Job;

/// Answers questions about open sources. Everything is JSON.
pub trait Answers: Send + Sync + 'static {
    /// The sources and how far they are.
    fn sources(&self) -> Vec<u8>;
    /// Cancels work that nobody asked for in a request; whether there was some of that name.
    fn cancel(&self, job: &str) -> bool;
    /// Which questions there are.
    fn description(&self) -> Vec<u8>;
    /// Writes the answer, piece by piece if it is large; called on a thread that may block.
    fn answer(
        self: Arc<Self>,
        question: &Question,
        job: &Arc<Job>,
        reply: Reply,
    ) -> Result<(), Refusal>;
}

/// A command with its options, as they were asked for.
pub struct Question {
    pub source: usize,
    pub command: String,
    pub options: Vec<(String, String)>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Refusal {
    /// The question cannot be understood.
    Unusable {
        message: String,
        advice: String,
    },
    NothingFound(String),
    Cancelled,
    Failed(String),
}

/// What travels from the thread that answers to the connection.
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Refused(Refusal),
}

const PIECE: usize = 64 << 10;

/// Where an answer is written to. It ends when this is dropped; writing fails when nobody listens
/// any more.
pub struct Reply {
    pieces: mpsc::Sender<Piece>,
    buffer: Vec<u8>,
}

impl Reply {
    pub(crate) fn new(pieces: mpsc::Sender<Piece>) -> Self {
        Reply {
            pieces,
            buffer: Vec::new(),
        }
    }

    fn send(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.buffer);
        match bytes.is_empty() {
            true => Ok(()),
            false => self
                .pieces
                .blocking_send(Piece::Bytes(bytes))
                .map_err(|_| io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Write for Reply {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // Whoever went away does not miss the rest.
        let _ = self.send();
    }
}
