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
        frame.into()
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
