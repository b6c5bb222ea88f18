//! Following a stream of events.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use reqwest::Response;
use tokio_util::codec::Decoder as _;
use tonic::Streaming;

use super::{ClientError, call::Call, checks::StreamCheck, grpc};
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

/// Follows a streaming answer. `left` is how long the first event may take, if
/// that is longer than any other.
pub(super) fn follow(
    call: Call,
    source: Source,
    check: StreamCheck,
    left: Duration,
) -> ClientStream {
    let silence = left.max(call.client.limits.stream_idle);
    let events = Events { call, source, check, silence };
    let events = stream::unfold(Some(events), |events| async {
        let mut events = events?;
        let item = events.next().await.map_err(|error| events.call.hiding(error)).transpose()?;
        // After an error there is nothing to go on with.
        let rest = item.is_ok().then_some(events);
        Some((item, rest))
    });
    ClientStream { events: events.boxed() }
}

/// Where the events of an answer come from.
pub(super) enum Source {
    /// A body of Server-Sent Events.
    Sse(Box<Sse>),
    /// A gRPC stream.
    Grpc(Box<Streaming<StreamResponse>>),
}

pub(super) struct Sse {
    response: Response,
    decoder: Decoder,
    buffer: BytesMut,
}

impl Source {
    pub(super) fn sse(response: Response, limit_bytes: usize) -> Source {
        let (decoder, buffer) = (Decoder::new(limit_bytes), BytesMut::new());
        Source::Sse(Box::new(Sse { response, decoder, buffer }))
    }
}

struct Events {
    call: Call,
    source: Source,
    check: StreamCheck,
    /// How long the stream may be silent. Before the first event of a new Task an agent has the call's
    /// deadline for it: a Message that it may be at work on must not be given up sooner because it
    /// streams.
    silence: Duration,
}

impl Events {
    async fn next(&mut self) -> Result<Option<StreamResponse>, ClientError> {
        let (call, silence) = (&self.call, self.silence);
        let event = match &mut self.source {
            Source::Sse(sse) => match sse.data(call, silence).await? {
                Some(data) => {
                    let data = call.hidden().answer(data).map_err(|it| call.repeated(&it))?;
                    Some(call.read_event(&data)?)
                }
                None => None,
            },
            Source::Grpc(events) => {
                let event = alive(call, silence, grpc::next(call, events)).await??;
                let hidden = event.map(|event| call.hidden().message(event));
                hidden.transpose().map_err(|it| call.repeated(&it))?
            }
        };
        self.silence = call.client.limits.stream_idle;
        if let Some(event) = &event {
            self.check.event(event).map_err(|why| call.invalid(&why))?;
        }
        Ok(event)
    }
}

/// Waits as long as a stream may be silent.
async fn alive<T>(
    call: &Call,
    silence: Duration,
    next: impl Future<Output = T>,
) -> Result<T, ClientError> {
    let waited = tokio::time::timeout(silence, next).await;
    waited.map_err(|_| ClientError::idle(call.operation, call.url(), silence))
}

impl Sse {
    /// Waits for the data of the next event. Every chunk counts as a sign of life, so that an
    /// agent's comments keep a silent stream open.
    async fn data(&mut self, call: &Call, silence: Duration) -> Result<Option<Bytes>, ClientError> {
        loop {
            if let Some(data) =
                self.decoder.decode(&mut self.buffer).map_err(|error| broken(call, &error))?
            {
                return Ok(Some(data));
            }
            match alive(call, silence, self.response.chunk()).await? {
                Err(error) => return Err(cut(call, deepest(&error))),
                Ok(None) => return Ok(None),
                Ok(Some(chunk)) if self.buffer.is_empty() => {
                    self.buffer = BytesMut::from(chunk);
                }
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
            }
        }
    }
}

fn broken(call: &Call, error: &SseError) -> ClientError {
    match error {
        SseError::TooLarge { .. } => call.invalid(&error.to_string()),
        SseError::Io(error) => cut(call, error.to_string()),
    }
}

fn cut(call: &Call, why: String) -> ClientError {
    let broken = OutboundError::Broken { url: call.url().to_owned(), why };
    ClientError::transport(call.operation, &broken, true)
}
