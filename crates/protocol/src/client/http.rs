//! What the two JSON bindings share as clients: requests, statuses, bodies.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use url::Url;

use super::{
    ClientError,
    call::{Call, Opened},
    events::Source,
    jsonrpc, older,
    rest::{self, Unwritable},
};
use crate::{
    auth::Proof,
    card::Binding,
    dialect,
    error::without_position,
    outbound::{OutboundError, read_capped},
    request::Request,
    v1::StreamResponse,
    version::{EXTENSIONS_HEADER, VERSION_HEADER},
};

const EVENT_STREAM: &str = "text/event-stream";

/// How much of an unusable answer is shown.
const EXCERPT_CHARS: usize = 120;

/// A request as it goes over HTTP.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Option<Vec<u8>>,
    pub(super) content_type: HeaderValue,
    /// What an answer may be, besides a stream of events.
    pub(super) accept: &'static str,
}

impl Call {
    pub(super) async fn unary_json<R: Request, T: DeserializeOwned>(
        &self,
        request: R,
    ) -> Result<T, ClientError> {
        let response = self.ask(request, false).await?;
        let kind = content_type(response.headers());
        let body = self.body(response).await?;
        self.read(&body, &kind)
    }

    pub(super) async fn stream_json<R: Request>(&self, request: R) -> Result<Opened, ClientError> {
        let response = self.ask(request, true).await?;
        let kind = content_type(response.headers());
        if kind == EVENT_STREAM {
            let limit = self.client.limits.max_event_bytes;
            return Ok(Opened::Events(Source::sse(response, limit)));
        }
        let body = self.body(response).await?;
        self.read(&body, &kind).map(|event| Opened::One(Box::new(event)))
    }

    /// Sends a request in the way of the binding, and turns a status that tells of failure into an
    /// error.
    async fn ask<R: Request>(&self, request: R, streams: bool) -> Result<Response, ClientError> {
        let is_rest = self.client.interface.binding == Binding::HttpJson;
        let routes = if is_rest { self.operation.row().routes } else { &[] };
        // A second route is for agents that know only one of the two.
        if let [first, second] = routes {
            let outgoing = rest::outgoing(self, first, request.clone())?;
            match self.successful(self.send(outgoing, streams).await?).await {
                Err(error) if rest::is_not_there(&error) => {
                    let outgoing = rest::outgoing(self, second, request)?;
                    return self.successful(self.send(outgoing, streams).await?).await;
                }
                answered => return answered,
            }
        }
        let outgoing = match routes.first() {
            Some(route) => rest::outgoing(self, route, request)?,
            None => jsonrpc::outgoing(self, &request)?,
        };
        self.successful(self.send(outgoing, streams).await?).await
    }

    /// Sends a request with what the call has to carry, and once more when that is refused and can
    /// be renewed: an agent that refuses has not acted on it.
    async fn send(&self, outgoing: Outgoing, streams: bool) -> Result<Response, ClientError> {
        let Some(proof) = self.proof().await? else {
            return self.send_with(outgoing, streams, None).await;
        };
        let response = self.send_with(outgoing.clone(), streams, Some(&proof)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        match self.other_proof(&proof).await? {
            Some(proof) => self.send_with(outgoing, streams, Some(&proof)).await,
            None => Ok(response),
        }
    }

    /// Sends a request, and one that only reads once more when the connection broke before its answer
    /// began: an agent may close a connection that was kept just as the request goes out.
    async fn send_with(
        &self,
        outgoing: Outgoing,
        streams: bool,
        proof: Option<&Proof>,
    ) -> Result<Response, ClientError> {
        if !self.operation.is_read() {
            return self.send_once(outgoing, streams, proof).await;
        }
        match self.send_once(outgoing.clone(), streams, proof).await {
            Err(error) if error.is_broken() => self.send_once(outgoing, streams, proof).await,
            answered => answered,
        }
    }

    async fn send_once(
        &self,
        outgoing: Outgoing,
        streams: bool,
        proof: Option<&Proof>,
    ) -> Result<Response, ClientError> {
        let client = &self.client;
        let outbound = proof.map_or(&client.outbound, |proof| proof.outbound(&client.outbound));
        let Outgoing { method, url, body, content_type, accept } = outgoing;
        let accept = if streams { format!("{EVENT_STREAM}, {accept}") } else { accept.to_owned() };
        let accept = HeaderValue::try_from(accept).expect("media types make a header");
        let builder = outbound.request(method, &url);
        let mut builder = builder.map_err(|error| self.transport(&error))?;
        let mut headers = client.headers.clone();
        if let Some(body) = body {
            headers.insert(header::CONTENT_TYPE, content_type);
            builder = builder.body(body);
        }
        headers.insert(header::ACCEPT, accept);
        headers.insert(VERSION_HEADER, client.version.clone());
        if let Some(extensions) = &client.extensions {
            let name = match client.dialect {
                Some(_) => dialect::EXTENSIONS_HEADER,
                None => EXTENSIONS_HEADER,
            };
            headers.insert(name, extensions.clone());
        }
        if let Some(authorization) = &client.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        if let Some(proof) = proof {
            proof.apply_headers(&mut headers);
            builder = proof.apply_query(builder);
        }
        let builder = builder.headers(headers);
        outbound.send(&client.url, builder).await.map_err(|error| self.transport(&error))
    }

    /// Turns a status that tells of failure into an error, by the A2A error in its body if there is
    /// one.
    async fn successful(&self, response: Response) -> Result<Response, ClientError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let (operation, url) = (self.operation, self.url());
        let retry_after = retry_after(response.headers());
        if let Some(target) =
            response.headers().get(header::LOCATION).filter(|_| status.is_redirection())
        {
            let target = self.hidden().body(Bytes::copy_from_slice(target.as_bytes()));
            return Err(ClientError::moved(operation, url, status, &excerpt(&target)));
        }
        let body = self.hidden().body(self.received(response).await?);
        let said = match self.client.interface.binding {
            Binding::HttpJson => rest::failure(self, status, &body, retry_after),
            Binding::JsonRpc | Binding::Grpc => jsonrpc::failure(self, status, &body, retry_after),
        };
        Err(said.unwrap_or_else(|| {
            ClientError::status(operation, self.place(), status, retry_after, &excerpt(&body))
        }))
    }

    async fn body(&self, response: Response) -> Result<Bytes, ClientError> {
        let body = self.received(response).await?;
        self.hidden().answer(body).map_err(|it| self.repeated(&it))
    }

    async fn received(&self, response: Response) -> Result<Bytes, ClientError> {
        let read =
            read_capped(&self.client.url, response, self.client.limits.max_response_bytes).await;
        read.map_err(|error| self.transport(&error))
    }

    fn read<T: DeserializeOwned>(&self, body: &[u8], content_type: &str) -> Result<T, ClientError> {
        if let Some(dialect) = self.client.dialect {
            return older::read(self, dialect, body, content_type);
        }
        match self.client.interface.binding {
            Binding::HttpJson => rest::read(self, body, content_type),
            Binding::JsonRpc | Binding::Grpc => jsonrpc::read(self, body, content_type),
        }
    }

    /// Reads the data of one event.
    pub(super) fn read_event(&self, data: &[u8]) -> Result<StreamResponse, ClientError> {
        self.read(data, "application/json")
    }

    /// Says why a body cannot be read. `W` is what it should have been.
    pub(super) fn unreadable<W: DeserializeOwned>(
        &self,
        body: &[u8],
        content_type: &str,
        error: &serde_json::Error,
    ) -> ClientError {
        let start = body.trim_ascii_start();
        let name = match self.client.interface.binding {
            Binding::HttpJson => "JSON of A2A",
            Binding::JsonRpc | Binding::Grpc => "JSON-RPC",
        };
        let why = if content_type == "text/html" || start.starts_with(b"<") {
            format!("it is a web page (HTML), not {name}")
        } else if start.is_empty() {
            "it is empty".to_owned()
        } else if error.is_data() && start.starts_with(b"{") {
            wrong_field::<W>(body, error)
        } else {
            format!("it is not {name}: {}", excerpt(body))
        };
        self.invalid(&why)
    }

    /// A request that cannot be written.
    pub(super) fn unwritable(&self, error: impl Into<Unwritable>) -> ClientError {
        let why = error.into().to_string();
        self.transport(&OutboundError::Url { url: self.url().to_owned(), why })
    }
}

/// Reads an object; serde would read an array as its fields in order.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    match body.trim_ascii_start().first() {
        Some(b'[') => Err(serde::de::Error::custom("an array")),
        _ => serde_json::from_slice(body),
    }
}

/// Finds the field that does not fit, in a second pass that only failures pay for.
fn wrong_field<T: DeserializeOwned>(body: &[u8], first: &serde_json::Error) -> String {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(error) => format!("{}: {}", error.path(), without_position(error.inner())),
        Ok(_) => without_position(first),
    }
}

pub(super) fn content_type(headers: &HeaderMap) -> String {
    let written =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    written.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads `Retry-After`, in seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO))
}

/// Shows the start of something unexpected on one line.
pub(super) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(EXCERPT_CHARS * 4)]);
    let words: Vec<&str> =
        text.split(|character: char| character.is_whitespace() || character.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
