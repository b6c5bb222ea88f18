//! Following a stream of events.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use reqwest::Response;
use tokio_util::codec::Decoder as _;

use super::{ClientError, checks::StreamCheck, jsonrpc::Call};
use crate::{
    outbound::{OutboundError, deepest},
    sse::{Decoder, SseError},
    v1::StreamResponse,
};

/// The events of a Task, or the one Message that is the answer.
///
/// An error is the last item. An end before a terminal or interrupted state means that the stream
/// was cut; what then is the caller's to decide. Dropping the stream closes it, which the agent
/// sees, and does the Task no harm.
pub struct ClientStream {
    events: BoxStream<'static, Result<StreamResponse, ClientError>>,
}

impl ClientStream {
    /// The stream of an agent that answered without one.
    pub(super) fn of_one(event: StreamResponse) -> ClientStream {
        ClientStream { events: stream::iter([Ok(event)]).boxed() }
    }
}

impl Stream for ClientStream {
    type Item = Result<StreamResponse, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(context)
    }
}

impl fmt::Debug for ClientStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ClientStream")
    }
}

/// Follows the body of a streaming answer.
pub(super) fn follow(call: Call, response: Response, check: StreamCheck) -> ClientStream {
    let decoder = Decoder::new(call.client.limits.max_event_bytes);
    let events = Events { call, response, check, decoder, buffer: BytesMut::new() };
    let events = stream::unfold(Some(events), |events| async {
        let mut events = events?;
        let item = events.next().await.transpose()?;
        // After an error there is nothing to go on with.
        let rest = item.is_ok().then_some(events);
        Some((item, rest))
    });
    ClientStream { events: events.boxed() }
}

struct Events {
    call: Call,
    response: Response,
    check: StreamCheck,
    decoder: Decoder,
    buffer: BytesMut,
}

impl Events {
    async fn next(&mut self) -> Result<Option<StreamResponse>, ClientError> {
        let Some(data) = self.data().await? else { return Ok(None) };
        let event = self.call.read_event(&data)?;
        self.check.event(&event).map_err(|why| self.call.invalid(&why))?;
        Ok(Some(event))
    }

    /// Waits for the data of the next event. Every chunk counts as a sign of life, so that an
    /// agent's comments keep a silent stream open.
    async fn data(&mut self) -> Result<Option<Bytes>, ClientError> {
        let idle = self.call.client.limits.stream_idle;
        loop {
            if let Some(data) =
                self.decoder.decode(&mut self.buffer).map_err(|error| self.broken(&error))?
            {
                return Ok(Some(data));
            }
            match tokio::time::timeout(idle, self.response.chunk()).await {
                Err(_) => {
                    let (operation, url) = (self.call.operation, self.call.client.url.as_str());
                    return Err(ClientError::idle(operation, url, idle));
                }
                Ok(Err(error)) => return Err(self.cut(deepest(&error))),
                Ok(Ok(None)) => return Ok(None),
                Ok(Ok(Some(chunk))) if self.buffer.is_empty() => {
                    self.buffer = BytesMut::from(chunk);
                }
                Ok(Ok(Some(chunk))) => self.buffer.extend_from_slice(&chunk),
            }
        }
    }

    fn broken(&self, error: &SseError) -> ClientError {
        match error {
            SseError::TooLarge { .. } => self.call.invalid(&error.to_string()),
            SseError::Io(error) => self.cut(error.to_string()),
        }
    }

    fn cut(&self, why: String) -> ClientError {
        let broken = OutboundError::Broken { url: self.call.client.url.to_string(), why };
        ClientError::transport(self.call.operation, &broken, true)
    }
}
