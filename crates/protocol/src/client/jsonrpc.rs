//! The JSON-RPC binding as a client (A2A §9).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use reqwest::{Method, Response};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{ClientError, ClientStream, Inner, checks::StreamCheck, events};
use crate::{
    error::{Error, ErrorKind, parse_json_details, without_position},
    operation::Operation,
    outbound::{OutboundError, read_capped},
    v1::StreamResponse,
    version::{EXTENSIONS_HEADER, VERSION_HEADER},
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream, application/json");

/// How much of an unusable answer is shown.
const EXCERPT_CHARS: usize = 120;

/// One call: an operation and the id its answer must carry.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) client: Arc<Inner>,
    pub(super) operation: Operation,
    pub(super) id: u64,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: &'a P,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Reply<T> {
    id: Option<Value>,
    result: Option<T>,
    error: Option<ErrorObject>,
}

#[derive(Deserialize)]
#[serde(expecting = "an error object")]
struct ErrorObject {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    data: Option<Value>,
}

impl Call {
    /// Calls and reads one JSON answer, within the deadline.
    pub(super) async fn unary<P: Serialize, T: DeserializeOwned>(
        &self,
        params: &P,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        let answer = async {
            let response = self.send(params, JSON).await?;
            let response = self.successful(response).await?;
            let kind = content_type(response.headers());
            let body = self.body(response).await?;
            self.read(&body, &kind)
        };
        tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| Err(self.timeout(timeout)))
    }

    /// Calls and opens the stream of events; only its beginning is under the deadline.
    pub(super) async fn stream<P: Serialize>(
        self,
        params: &P,
        asked: String,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        let mut check = StreamCheck::new(asked);
        let opened = async {
            let response = self.send(params, JSON_OR_EVENTS).await?;
            let response = self.successful(response).await?;
            let kind = content_type(response.headers());
            if kind == "text/event-stream" {
                return Ok(Err(response));
            }
            let body = self.body(response).await?;
            let event = self.read(&body, &kind)?;
            check.event(&event).map_err(|why| self.invalid(&why))?;
            Ok(Ok(event))
        };
        match tokio::time::timeout(timeout, opened).await {
            Err(_) => Err(self.timeout(timeout)),
            Ok(Err(error)) => Err(error),
            Ok(Ok(Ok(event))) => Ok(ClientStream::of_one(event)),
            Ok(Ok(Err(response))) => Ok(events::follow(self, response, check)),
        }
    }

    async fn send<P: Serialize>(
        &self,
        params: &P,
        accept: HeaderValue,
    ) -> Result<Response, ClientError> {
        let client = &self.client;
        let request =
            Request { jsonrpc: "2.0", id: self.id, method: self.operation.method(), params };
        let body = serde_json::to_vec(&request).map_err(|error| {
            let why = format!("the request cannot be written as JSON: {error}");
            self.transport(&OutboundError::Url { url: client.url.to_string(), why })
        })?;
        let mut builder = client
            .outbound
            .request(Method::POST, &client.url)
            .map_err(|error| self.transport(&error))?;
        builder = builder.header(header::CONTENT_TYPE, JSON).header(header::ACCEPT, accept);
        builder = builder.header(VERSION_HEADER, client.version.clone()).body(body);
        if let Some(extensions) = &client.extensions {
            builder = builder.header(EXTENSIONS_HEADER, extensions.clone());
        }
        client.outbound.send(&client.url, builder).await.map_err(|error| self.transport(&error))
    }

    /// Turns a status that tells of failure into an error, by the A2A error in its body if there is
    /// one.
    async fn successful(&self, response: Response) -> Result<Response, ClientError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let url = self.client.url.as_str();
        let retry_after = retry_after(response.headers());
        if let Some(target) =
            response.headers().get(header::LOCATION).filter(|_| status.is_redirection())
        {
            return Err(ClientError::moved(
                self.operation,
                url,
                status,
                &excerpt(target.as_bytes()),
            ));
        }
        let body = self.body(response).await?;
        if let Ok(Reply::<Value> { error: Some(object), .. }) = parse(&body) {
            return Err(self.remote(object, ErrorKind::from_http(status.as_u16()), retry_after));
        }
        Err(ClientError::status(self.operation, url, status, retry_after, &excerpt(&body)))
    }

    async fn body(&self, response: Response) -> Result<Bytes, ClientError> {
        let read =
            read_capped(&self.client.url, response, self.client.limits.max_response_bytes).await;
        read.map_err(|error| ClientError::transport(self.operation, &error, false))
    }

    /// Reads a response: its result, if it carries our id.
    fn read<T: DeserializeOwned>(&self, body: &[u8], content_type: &str) -> Result<T, ClientError> {
        let reply: Reply<T> =
            parse(body).map_err(|error| self.unreadable::<T>(body, content_type, &error))?;
        let is_ours = reply.id == Some(Value::from(self.id));
        match (reply.error, reply.result) {
            // An agent that could not read the id answers null.
            (Some(object), _) if is_ours || reply.id.is_none() => {
                Err(self.remote(object, None, None))
            }
            (None, Some(result)) if is_ours => Ok(result),
            (None, None) if is_ours => Err(self.invalid("it holds neither a result nor an error")),
            _ => {
                let id = reply.id.unwrap_or_default();
                Err(self.invalid(&format!("it carries the id {id} instead of {}", self.id)))
            }
        }
    }

    /// Reads the data of one event.
    pub(super) fn read_event(&self, data: &[u8]) -> Result<StreamResponse, ClientError> {
        self.read(data, "application/json")
    }

    fn unreadable<T: DeserializeOwned>(
        &self,
        body: &[u8],
        content_type: &str,
        error: &serde_json::Error,
    ) -> ClientError {
        let start = body.trim_ascii_start();
        let why = if content_type == "text/html" || start.starts_with(b"<") {
            "it is a web page (HTML), not JSON-RPC".to_owned()
        } else if start.is_empty() {
            "it is empty".to_owned()
        } else if error.is_data() && start.starts_with(b"{") {
            wrong_field::<T>(body, error)
        } else {
            format!("it is not JSON-RPC: {}", excerpt(body))
        };
        self.invalid(&why)
    }

    /// An error the agent answered. The reason in its details decides, then the code, then the HTTP
    /// status.
    fn remote(
        &self,
        object: ErrorObject,
        of_status: Option<ErrorKind>,
        retry_after: Option<Duration>,
    ) -> ClientError {
        let of_code = ErrorKind::from_json_rpc(object.code).or(of_status);
        let mut error = Error::new(of_code.unwrap_or(ErrorKind::Internal), object.message);
        let mut is_known = of_code.is_some();
        if let Some(data) = &object.data {
            is_known |= parse_json_details(&mut error, data);
        }
        error.retry_after = retry_after.or(error.retry_after);
        ClientError::remote(self.operation, self.client.url.as_str(), object.code, is_known, error)
    }

    pub(super) fn invalid(&self, why: &str) -> ClientError {
        ClientError::invalid(self.operation, self.client.url.as_str(), why)
    }

    pub(super) fn transport(&self, error: &OutboundError) -> ClientError {
        ClientError::transport(self.operation, error, false)
    }

    fn timeout(&self, after: Duration) -> ClientError {
        ClientError::timeout(self.operation, self.client.url.as_str(), after)
    }
}

/// Reads a response object; serde would read an array as its fields in order.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<Reply<T>, serde_json::Error> {
    match body.trim_ascii_start().first() {
        Some(b'[') => Err(serde::de::Error::custom("an array")),
        _ => serde_json::from_slice(body),
    }
}

/// Finds the field that does not fit, in a second pass that only failures pay for.
fn wrong_field<T: DeserializeOwned>(body: &[u8], first: &serde_json::Error) -> String {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, Reply<T>>(&mut deserializer) {
        Err(error) => format!("{}: {}", error.path(), without_position(error.inner())),
        Ok(_) => without_position(first),
    }
}

fn content_type(headers: &HeaderMap) -> String {
    let written =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    written.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads `Retry-After`, in seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO))
}

/// Shows the start of something unexpected on one line.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(EXCERPT_CHARS * 4)]);
    let words: Vec<&str> =
        text.split(|character: char| character.is_whitespace() || character.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
