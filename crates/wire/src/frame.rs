//! Frames on a stream: a length and so many bytes.

use std::io::{self, Read};

/// The longest frame content that is believed; longer lists are sent in several messages.
pub const MAX_FRAME: usize = 16 << 20;

const LENGTH_BYTES: usize = 4;

/// Appends a frame whose content `write` appends.
pub(crate) fn append(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    write(out);
    let length = out.len() - start - LENGTH_BYTES;
    // A length that does not fit is refused by the reader, like every other above the limit.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
}

/// Reads frames from a stream, one after the other.
pub struct Frames<R> {
    stream: R,
    content: Vec<u8>,
}

impl<R: Read> Frames<R> {
    /// The frames that a stream will bring.
    pub fn new(stream: R) -> Frames<R> {
        Frames {
            stream,
            content: Vec::new(),
        }
    }

    /// The content of the next frame; none when the stream ended after a whole one.
    pub fn next_frame(&mut self) -> io::Result<Option<&[u8]>> {
        let mut length = [0; LENGTH_BYTES];
        if !self.fill_or_end(&mut length)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_FRAME {
            let why = format!("a message of {length} bytes, at most {MAX_FRAME} are allowed");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        self.content.resize(length, 0);
        self.stream.read_exact(&mut self.content)?;
        Ok(Some(&self.content))
    }

    /// Where the frames come from.
    pub fn stream(&self) -> &R {
        &self.stream
    }

    /// Whether the buffer was filled; false when the stream ended before its first byte.
    fn fill_or_end(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let first = loop {
            match self.stream.read(buffer) {
                Ok(read) => break read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        };
        if first == 0 {
            return Ok(false);
        }
        self.stream.read_exact(&mut buffer[first..])?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_in_order_and_the_end_is_seen() {
        let mut bytes = Vec::new();
        append(&mut bytes, |out| out.extend_from_slice(b"first"));
        append(&mut bytes, |_| {});
        let mut frames = Frames::new(&bytes[..]);
        assert_eq!(frames.next_frame().unwrap(), Some(&b"first"[..]));
        assert_eq!(frames.next_frame().unwrap(), Some(&b""[..]));
        assert_eq!(frames.next_frame().unwrap(), None);
    }

    #[test]
    fn a_stream_that_ends_within_a_frame_is_an_error_at_every_byte() {
        let mut bytes = Vec::new();
        append(&mut bytes, |out| out.extend_from_slice(b"content"));
        for end in 1..bytes.len() {
            let error = Frames::new(&bytes[..end]).next_frame().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "at {end}");
        }
    }

    #[test]
    fn a_length_above_the_limit_is_refused_before_memory_is_taken() {
        let error = Frames::new(&[0xff; 8][..]).next_frame().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
