//! Events out: each one serialised once, as one frame of a Server-Sent Events body.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::{framing::Framing, socket::Shutdown};
use crate::{error::Error, service::EventStream, v1::StreamResponse};

/// What stands around the data of an event.
pub(super) const DATA: &[u8] = b"data: ";
pub(super) const END: &[u8] = b"\n\n";

const COMMENT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Makes the body of a streaming answer. It ends with the events, after an error, or when the
/// server shuts down; a silent stream carries a comment now and then.
pub(super) fn body(
    framing: Framing,
    first: Option<StreamResponse>,
    events: EventStream,
    keep_alive: Duration,
    shutdown: Option<Shutdown>,
) -> Body {
    let mut silence = interval(keep_alive);
    silence.set_missed_tick_behavior(MissedTickBehavior::Delay);
    silence.reset();
    Body::from_stream(Frames {
        framing,
        first,
        events: Some(events),
        silence,
        shutdown: shutdown.map(|shutdown| Box::pin(shutdown.0.cancelled_owned())),
    })
}

struct Frames {
    framing: Framing,
    first: Option<StreamResponse>,
    /// Gone once the stream has ended.
    events: Option<EventStream>,
    silence: Interval,
    shutdown: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Stream for Frames {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(self.frame(Ok(first)))));
        }
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        match events.poll_next_unpin(context) {
            Poll::Ready(Some(event)) => return Poll::Ready(Some(Ok(self.frame(event)))),
            Poll::Ready(None) => {
                self.events = None;
                return Poll::Ready(None);
            }
            Poll::Pending => {}
        }
        if self.shutdown.as_mut().is_some_and(|shutdown| shutdown.as_mut().poll(context).is_ready())
        {
            self.events = None;
            return Poll::Ready(None);
        }
        self.silence.poll_tick(context).map(|_| Some(Ok(COMMENT)))
    }
}

impl Frames {
    /// Writes an event; an error is the last one.
    fn frame(&mut self, event: Result<StreamResponse, Error>) -> Bytes {
        self.silence.reset();
        let mut frame = Vec::with_capacity(512);
        let written = event.and_then(|event| self.write(&mut frame, &event));
        if let Err(error) = written {
            self.events = None;
            frame.clear();
            frame.extend_from_slice(DATA);
            self.framing.write_failure(&mut frame, &error);
            frame.extend_from_slice(END);
        }
        escape_lines(frame).into()
    }

    /// Writes the frame of an event; of a translated one there may be several, or the last.
    fn write(&mut self, frame: &mut Vec<u8>, event: &StreamResponse) -> Result<(), Error> {
        if let Framing::Translated(translated) = &mut self.framing {
            if translated.write_events(frame, event)? {
                self.events = None;
            }
            return Ok(());
        }
        frame.extend_from_slice(DATA);
        self.framing.write_success(frame, event)?;
        frame.extend_from_slice(END);
        Ok(())
    }
}

/// Line ends of Unicode, and how JSON can write them. Those of ASCII it always escapes.
const LINE_ENDS: [(&str, &[u8]); 3] =
    [("\u{85}", b"\\u0085"), ("\u{2028}", b"\\u2028"), ("\u{2029}", b"\\u2029")];

/// Escapes the line ends of Unicode within the data of a frame. To an event stream they are text, but
/// many clients take them for ends of lines, and so for half an event.
fn escape_lines(frame: Vec<u8>) -> Vec<u8> {
    // The first byte of each; rare in most texts.
    if !frame.contains(&0xC2) && !frame.contains(&0xE2) {
        return frame;
    }
    let mut escaped = Vec::with_capacity(frame.len());
    let mut rest = frame.as_slice();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, 0xC2 | 0xE2)) {
        escaped.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match LINE_ENDS.iter().find(|(end, _)| rest.starts_with(end.as_bytes())) {
            Some((end, written)) => {
                escaped.extend_from_slice(written);
                rest = &rest[end.len()..];
            }
            None => {
                escaped.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    escaped.extend_from_slice(rest);
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_data_of_a_frame_is_one_line_to_those_who_know_unicode_too() {
        let any = json!({"\u{2028}": "a\u{85}\u{2029}\n\u{b}\0 \u{201c}é\u{201d} \u{a0}你好\u{e000}\u{2028}"});
        let escaped = escape_lines(any.to_string().into_bytes());
        let escaped = String::from_utf8(escaped).expect("it is still text");
        let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
        assert!(!escaped.contains(ends), "{escaped}");
        let read: serde_json::Value = serde_json::from_str(&escaped).expect("it is still JSON");
        assert_eq!(read, any);
        let plain = b"data: {\"a\":1}\n\n".to_vec();
        assert_eq!(escape_lines(plain.clone()), plain);
    }
}
