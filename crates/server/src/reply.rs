//! What goes back to whoever asked: the answer piece by piece, or why there is none.

use std::io::{self, Write};

use anthill_api::{AnswerError, Error as QuestionError};
use tokio::sync::mpsc;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// The question cannot be understood.
    BadRequest {
        /// What is wrong with it.
        message: String,
        /// What to do about it.
        advice: String,
    },
    /// There is nothing of that kind.
    NotFound(String),
    /// Nobody waits for it any more.
    Cancelled,
    /// The answer could not be written.
    Internal(String),
}

impl Error {
    /// The question cannot be understood; the description of the API helps.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Error::BadRequest {
            message: message.into(),
            advice: "/api/v1/openapi.json describes all requests.".to_owned(),
        }
    }
}

impl From<QuestionError> for Error {
    fn from(error: QuestionError) -> Self {
        match error {
            QuestionError::NothingFound(what) => Error::NotFound(what),
            QuestionError::Unreachable { .. } => Error::NotFound(error.to_string()),
            QuestionError::Cancelled => Error::Cancelled,
            QuestionError::ClassInsteadOfObject { .. } => Error::BadRequest {
                message: error.to_string(),
                advice: "Name an object by its address; `objects` lists those of a class."
                    .to_owned(),
            },
            QuestionError::Unusable { reason, advice } => Error::BadRequest {
                message: reason,
                advice,
            },
        }
    }
}

impl From<AnswerError> for Error {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Question(error) => error.into(),
            AnswerError::Output(error) => Error::Internal(error.to_string()),
        }
    }
}

/// What travels from the thread that answers to the connection.
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Failed(Error),
}

const PIECE: usize = 64 << 10;

/// Where an answer is written to. It ends when this is dropped; writing fails when nobody listens
/// any more.
pub(crate) struct Reply {
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
