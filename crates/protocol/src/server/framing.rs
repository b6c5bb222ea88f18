//! How the two JSON bindings put a result, an event or an error into words.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    endpoint::Refusal,
    older::{self, Translated},
};
use crate::error::{Error, json_details, json_details_with_reason};

const VERSION: &str = "2.0";

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What stands around a result.
#[derive(Clone, Debug)]
pub(super) enum Framing {
    /// A JSON-RPC response under the request's id (A2A §9.5).
    JsonRpc(Box<RawValue>),
    /// Nothing: HTTP+JSON says the rest by status and this media type (A2A §11.4, §11.6).
    Bare(HeaderValue),
    /// The same before 1.0, whose errors have JSON-RPC's codes and no details of their own.
    BareOlder,
    /// One of these, around what has been translated into an older version.
    Translated(Box<Translated>),
}

/// Says that a result cannot be written, and why.
pub(super) fn unwritable(error: &serde_json::Error) -> Error {
    tracing::error!(%error, "an answer cannot be written as JSON");
    Error::internal(format!("the answer cannot be written as JSON: {error}"))
}

#[derive(Serialize)]
struct Success<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: &'a T,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    error: ErrorObject<'a>,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    data: Vec<serde_json::Value>,
}

#[derive(Serialize)]
struct BareFailure<'a> {
    error: StatusObject<'a>,
}

/// `google.rpc.Status`, with the HTTP status as its code.
#[derive(Serialize)]
struct StatusObject<'a> {
    code: u16,
    status: &'static str,
    message: &'a str,
    details: Vec<serde_json::Value>,
}

impl Framing {
    /// JSON-RPC before an id is known.
    pub(super) fn nameless() -> Framing {
        Framing::JsonRpc(RawValue::NULL.to_owned())
    }

    pub(super) fn content_type(&self) -> HeaderValue {
        match self {
            Framing::JsonRpc(_) | Framing::BareOlder => JSON,
            Framing::Translated(translated) => translated.around.content_type(),
            Framing::Bare(media_type) => media_type.clone(),
        }
    }

    /// Appends a result.
    pub(super) fn write_success<T: Serialize>(
        &self,
        body: &mut Vec<u8>,
        result: &T,
    ) -> Result<(), Error> {
        let written = match self {
            Framing::JsonRpc(id) => {
                serde_json::to_writer(body, &Success { jsonrpc: VERSION, id, result })
            }
            Framing::Bare(_) | Framing::BareOlder => serde_json::to_writer(body, result),
            Framing::Translated(translated) => return translated.write_success(body, result),
        };
        written.map_err(|error| unwritable(&error))
    }

    /// Appends an error.
    pub(super) fn write_failure(&self, body: &mut Vec<u8>, error: &Error) {
        self.write_failure_as(body, self.http(error), error);
    }

    /// The HTTP status that says what an error is about.
    fn http(&self, error: &Error) -> u16 {
        match self {
            Framing::BareOlder => older::http_status(error.kind),
            Framing::Translated(translated) => translated.around.http(error),
            Framing::JsonRpc(_) | Framing::Bare(_) => error.kind.row().http,
        }
    }

    fn is_json_rpc(&self) -> bool {
        match self {
            Framing::JsonRpc(_) => true,
            Framing::Bare(_) | Framing::BareOlder => false,
            Framing::Translated(translated) => translated.around.is_json_rpc(),
        }
    }

    fn write_failure_as(&self, body: &mut Vec<u8>, http: u16, error: &Error) {
        let (row, message) = (error.kind.row(), error.message.as_str());
        let written = match self {
            Framing::JsonRpc(id) => {
                let data = json_details(error);
                let error = ErrorObject { code: row.json_rpc, message, data };
                serde_json::to_writer(body, &Failure { jsonrpc: VERSION, id, error })
            }
            Framing::Translated(translated) => {
                return translated.around.write_failure_as(body, http, error);
            }
            Framing::BareOlder => {
                let data = json_details(error);
                serde_json::to_writer(body, &ErrorObject { code: row.json_rpc, message, data })
            }
            Framing::Bare(_) => {
                let details = json_details_with_reason(error);
                let status = row.grpc.name();
                let error = StatusObject { code: http, status, message, details };
                serde_json::to_writer(body, &BareFailure { error })
            }
        };
        written.expect("strings, numbers and JSON values are JSON, and a Vec takes all");
    }

    /// Answers with an error. HTTP+JSON has a status for each kind; JSON-RPC says HTTP 200, unless
    /// it is about the transport (credentials, limits).
    pub(super) fn failure(&self, error: &Error) -> Response {
        let status = match self.is_json_rpc() {
            true if !error.kind.is_transport() => 200,
            _ => self.http(error),
        };
        let status = StatusCode::from_u16(status).expect("the table holds HTTP statuses");
        self.failure_as(status, error)
    }

    /// Answers with an error that brings its own HTTP status.
    pub(super) fn refuse(&self, refusal: &Refusal) -> Response {
        let mut response = self.failure_as(refusal.status, &refusal.error);
        if let Some(verbs) = &refusal.allow {
            response.headers_mut().insert(header::ALLOW, verbs.clone());
        }
        response
    }

    fn failure_as(&self, status: StatusCode, error: &Error) -> Response {
        let mut body = Vec::with_capacity(256);
        self.write_failure_as(&mut body, status.as_u16(), error);
        let content_type = [(header::CONTENT_TYPE, self.content_type())];
        let mut response = (status, content_type, body).into_response();
        if let Some(after) = error.retry_after {
            // Whole seconds, and never too early.
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
