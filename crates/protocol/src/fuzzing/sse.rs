//! Server-Sent Events.

use bytes::{Bytes, BytesMut};
use tokio_util::codec::Decoder as _;

use super::assert_same_by_json;
use crate::{
    sse::{Decoder, SseError},
    v1::StreamResponse,
};

/// The cap of the second reading.
const SMALL: usize = 48;

/// Reads a stream in chunks, whose size the first byte says. The events are those that a plain reading
/// of the format finds, however the stream is cut; with a small cap they are the first of them, and no
/// more than the cap and a chunk is ever kept. It is taken when it holds an A2A event.
pub fn sse(data: &[u8]) -> bool {
    let Some((&size, stream)) = data.split_first() else { return false };
    let size = usize::from(size % 32) + 1;
    let expected = plainly(stream);
    let (events, ended) = decoded(stream, size, stream.len());
    assert!(ended.is_ok(), "no event is larger than all of the stream");
    assert_eq!(events, expected);
    let (small, _) = decoded(stream, size, SMALL);
    assert_eq!(small, events[..small.len()]);
    assert!(small.iter().all(|event| event.len() <= SMALL));
    let read = |event: &Bytes| serde_json::from_slice::<StreamResponse>(event).ok();
    let read: Vec<StreamResponse> = events.iter().filter_map(read).collect();
    read.iter().for_each(check_frame);
    !read.is_empty()
}

/// What a server writes of an event is one event.
fn check_frame(event: &StreamResponse) {
    let json = assert_same_by_json(event);
    let frame = [b"data: ", &json[..], b"\n\n"].concat();
    assert_eq!(decoded(&frame, 7, frame.len()).0, [json]);
}

/// The events of a stream that comes in chunks, and how it ended.
fn decoded(stream: &[u8], size: usize, limit: usize) -> (Vec<Bytes>, Result<(), SseError>) {
    let (mut decoder, mut buffer, mut events) = (Decoder::new(limit), BytesMut::new(), Vec::new());
    for chunk in stream.chunks(size) {
        buffer.extend_from_slice(chunk);
        loop {
            match decoder.decode(&mut buffer) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => return (events, Err(error)),
            }
        }
        assert!(buffer.len() <= limit, "{} bytes are kept", buffer.len());
    }
    let end = decoder.decode_eof(&mut buffer);
    assert!(matches!(end, Ok(None)), "an event that is cut off is none");
    (events, Ok(()))
}

/// The same as simply as it can be said.
fn plainly(stream: &[u8]) -> Vec<Vec<u8>> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let (mut events, mut lines, mut line) = (Vec::new(), Vec::<Vec<u8>>::new(), Vec::new());
    for (at, &byte) in stream.iter().enumerate() {
        match byte {
            b'\n' if at > 0 && stream[at - 1] == b'\r' => {}
            b'\n' | b'\r' if line.is_empty() => {
                let data = std::mem::take(&mut lines).join(&b'\n');
                events.extend(Some(data).filter(|data| !data.is_empty()));
            }
            b'\n' | b'\r' => {
                let whole = std::mem::take(&mut line);
                let colon = whole.iter().position(|&byte| byte == b':').unwrap_or(whole.len());
                let (name, value) = whole.split_at(colon);
                let value = value.strip_prefix(b":").unwrap_or(value);
                if name == b"data" {
                    lines.push(value.strip_prefix(b" ").unwrap_or(value).to_vec());
                }
            }
            other => line.push(other),
        }
    }
    events
}
