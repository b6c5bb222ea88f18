//! Server-Sent Events in: a decoder with a hard cap per event.
//!
//! Only what A2A uses of the format is kept: the data of each event. Names, ids and retry hints are
//! read over, as are comments. An event that the stream's end cuts off is dropped, as the format asks.

#[cfg(test)]
mod tests;

use std::io;

use bytes::{Bytes, BytesMut};
use tokio_util::codec::Decoder as Codec;

/// Why a stream of events could not be read further.
#[derive(Debug, thiserror::Error)]
pub enum SseError {
    /// An event is larger than the cap.
    #[error("an event is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The cap, in bytes.
        limit_bytes: usize,
    },
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// Cuts a byte stream into the data of its events.
///
/// Memory is bounded by the cap: neither a line without end nor an event of endless lines is kept
/// beyond it. Each byte is looked at once, however small the chunks; an event of one `data` line,
/// which is all A2A sends, is handed out without a copy.
#[derive(Debug)]
pub struct Decoder {
    limit_bytes: usize,
    /// How much of the buffer is known to hold no line end.
    scanned: usize,
    /// The last line ended with CR: a LF that comes next belongs to it.
    is_after_cr: bool,
    /// The very first bytes may be a byte order mark.
    is_at_start: bool,
    data: Data,
}

/// The `data` lines of the event under way.
#[derive(Debug)]
enum Data {
    None,
    One(Bytes),
    Many(BytesMut),
}

impl Decoder {
    /// Creates a decoder that refuses events over `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Decoder {
        Decoder { limit_bytes, scanned: 0, is_after_cr: false, is_at_start: true, data: Data::None }
    }

    /// Takes the next whole line, without its end.
    fn line(&mut self, buffer: &mut BytesMut) -> Option<Bytes> {
        if self.is_after_cr && !buffer.is_empty() {
            self.is_after_cr = false;
            if buffer[0] == b'\n' {
                let _line_feed = buffer.split_to(1);
            }
        }
        let Some(end) = memchr::memchr2(b'\n', b'\r', &buffer[self.scanned..]) else {
            self.scanned = buffer.len();
            return None;
        };
        let line = buffer.split_to(self.scanned + end).freeze();
        let line_end = buffer.split_to(1);
        self.is_after_cr = line_end[0] == b'\r';
        self.scanned = 0;
        Some(self.without_mark(line))
    }

    fn without_mark(&mut self, line: Bytes) -> Bytes {
        let is_first = std::mem::take(&mut self.is_at_start);
        if is_first && line.starts_with(b"\xEF\xBB\xBF") { line.slice(3..) } else { line }
    }

    /// Takes a line into the event; an empty line ends it.
    fn take(&mut self, line: &Bytes) -> Option<Bytes> {
        if line.is_empty() {
            return std::mem::replace(&mut self.data, Data::None).into_bytes();
        }
        if let Some(value) = data_of(line) {
            self.data.push(value);
        }
        None
    }
}

/// Returns the value of a `data` line, less the one space that may follow the colon.
fn data_of(line: &Bytes) -> Option<Bytes> {
    let value = match line.strip_prefix(b"data")? {
        [] => line.slice(4..),
        [b':', b' ', ..] => line.slice(6..),
        [b':', ..] => line.slice(5..),
        _ => return None,
    };
    Some(value)
}

impl Data {
    fn push(&mut self, line: Bytes) {
        *self = match std::mem::replace(self, Data::None) {
            Data::None => Data::One(line),
            Data::One(first) => Data::joined(BytesMut::from(first), &line),
            Data::Many(lines) => Data::joined(lines, &line),
        };
    }

    fn joined(mut lines: BytesMut, line: &Bytes) -> Data {
        lines.extend_from_slice(b"\n");
        lines.extend_from_slice(line);
        Data::Many(lines)
    }

    fn len(&self) -> usize {
        match self {
            Data::None => 0,
            Data::One(line) => line.len(),
            Data::Many(lines) => lines.len(),
        }
    }

    /// An event without data is no event.
    fn into_bytes(self) -> Option<Bytes> {
        match self {
            Data::None => None,
            Data::One(line) => Some(line),
            Data::Many(lines) => Some(lines.freeze()),
        }
        .filter(|data| !data.is_empty())
    }
}

impl Codec for Decoder {
    type Item = Bytes;
    type Error = SseError;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, SseError> {
        while let Some(line) = self.line(buffer) {
            if line.len() + self.data.len() > self.limit_bytes {
                return Err(SseError::TooLarge { limit_bytes: self.limit_bytes });
            }
            if let Some(event) = self.take(&line) {
                return Ok(Some(event));
            }
        }
        if buffer.len() + self.data.len() > self.limit_bytes {
            return Err(SseError::TooLarge { limit_bytes: self.limit_bytes });
        }
        Ok(None)
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, SseError> {
        let event = self.decode(buffer)?;
        if event.is_none() {
            buffer.clear();
        }
        Ok(event)
    }
}
