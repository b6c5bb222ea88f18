//! Interfaces of A2A before 1.0 as a client: requests and answers through the translations of
//! [`crate::dialect`].

use std::time::Duration;

use ::http::{HeaderValue, StatusCode};
use reqwest::Method;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    ClientError,
    call::Call,
    http::{Outgoing, parse},
    jsonrpc, rest,
};
use crate::{
    card::Binding,
    dialect::{self, Dialect},
    error::{Error, ErrorKind, without_position},
    operation::{Operation, Route, Verb},
    request::Request,
};

const JSON: &str = "application/json";

/// An error as HTTP+JSON of 0.3 says it: the code is JSON-RPC's, and may be missing.
#[derive(Deserialize)]
struct BareError {
    code: Option<i64>,
    message: Option<String>,
}

impl Call {
    /// The version of the interface has no such operation.
    pub(super) fn unspoken(&self) -> ClientError {
        ClientError::unspoken(self.operation, self.url(), &self.client.interface.version)
    }
}

/// Translates the parameters of a request.
pub(super) fn params<P: Serialize>(
    call: &Call,
    dialect: Dialect,
    params: &P,
) -> Result<Value, ClientError> {
    let params = serde_json::to_value(params).map_err(|error| call.unwritable(error))?;
    Ok(dialect::write_params(dialect, call.operation, params))
}

/// Writes a request for one of the operation's routes of HTTP+JSON, which are those of 1.0 below a
/// prefix.
pub(super) fn outgoing<R: Request>(
    call: &Call,
    dialect: Dialect,
    route: &Route,
    request: &R,
) -> Result<Outgoing, ClientError> {
    if dialect.method(call.operation).is_none() {
        return Err(call.unspoken());
    }
    let mut base = call.client.url.clone();
    let path = format!("{}{}", base.path().trim_end_matches('/'), dialect::HTTP_JSON_PREFIX);
    base.set_path(&path);
    let route = match call.operation {
        Operation::GetExtendedAgentCard => Route { path: dialect::HTTP_JSON_CARD, ..*route },
        _ => *route,
    };
    let (mut url, _) = rest::place(&base, "", &route, &mut request.clone())
        .map_err(|error| call.unwritable(error))?;
    let fields = params(call, dialect, request)?;
    let (method, body) = match route.verb {
        Verb::Post => (Method::POST, Some(fields.to_string().into_bytes())),
        Verb::Get => {
            if let Some(length) = fields.get("historyLength") {
                rest::put_query(
                    &mut url,
                    &[("historyLength".to_owned(), length.clone())].into_iter().collect(),
                );
            }
            (Method::GET, None)
        }
        Verb::Delete => (Method::DELETE, None),
    };
    let content_type = HeaderValue::from_static(JSON);
    Ok(Outgoing { method, url, body, content_type, accept: JSON })
}

/// Reads a result, or an event of a stream.
pub(super) fn read<T: DeserializeOwned>(
    call: &Call,
    dialect: Dialect,
    body: &[u8],
    content_type: &str,
) -> Result<T, ClientError> {
    let is_deletion = call.operation == Operation::DeleteTaskPushNotificationConfig;
    let value = match call.client.interface.binding {
        // A deletion answers null, which looks as if there were no result.
        _ if is_deletion && is_empty(body) => json!({}),
        Binding::HttpJson => bare(call, body, content_type)?,
        Binding::JsonRpc | Binding::Grpc => jsonrpc::read(call, body, content_type)?,
    };
    let value = dialect.read_result(call.operation, value, &call.context);
    serde_path_to_error::deserialize(value).map_err(|error| {
        call.invalid(&format!("{}: {}", error.path(), without_position(error.inner())))
    })
}

/// Whether there is neither a result nor an error in a body.
fn is_empty(body: &[u8]) -> bool {
    let answered = serde_json::from_slice::<Value>(body).unwrap_or_default();
    answered["result"].is_null() && answered["error"].is_null()
}

/// Reads what HTTP+JSON answers; an error in the middle of a stream is an event like any other.
fn bare(call: &Call, body: &[u8], content_type: &str) -> Result<Value, ClientError> {
    let value: Value =
        parse_any(body).map_err(|error| call.unreadable::<Value>(body, content_type, &error))?;
    if value["jsonrpc"].is_string() && value["error"].is_object() {
        return Err(call.misdirected("it speaks JSON-RPC"));
    }
    match (value["code"].as_i64(), value["message"].as_str()) {
        (Some(code), Some(message)) => {
            let kind = ErrorKind::from_json_rpc(code);
            Err(remote(call, code, kind, message.to_owned(), None))
        }
        _ => Ok(value),
    }
}

/// Lists of 0.3 are arrays; every other answer is an object.
fn parse_any(body: &[u8]) -> Result<Value, serde_json::Error> {
    match serde_json::from_slice(body)? {
        value @ (Value::Object(_) | Value::Array(_)) => Ok(value),
        _ => Err(serde::de::Error::custom("neither an object nor an array")),
    }
}

/// Reads the error that came with a status of failure; nothing when there is none. The code decides,
/// then the status.
pub(super) fn failure(
    call: &Call,
    status: StatusCode,
    body: &[u8],
    retry_after: Option<Duration>,
) -> Option<ClientError> {
    let error: BareError = parse(body).ok()?;
    let message = error.message?;
    let status = match status.as_u16() {
        // What some servers answer to parameters that do not fit.
        422 => 400,
        status => status,
    };
    let of_code = error.code.and_then(ErrorKind::from_json_rpc);
    let kind = of_code.or_else(|| ErrorKind::from_rest(status, call.operation));
    Some(remote(call, error.code.unwrap_or_else(|| status.into()), kind, message, retry_after))
}

fn remote(
    call: &Call,
    code: i64,
    kind: Option<ErrorKind>,
    message: String,
    retry_after: Option<Duration>,
) -> ClientError {
    let mut error = Error::new(kind.unwrap_or(ErrorKind::Internal), message);
    error.retry_after = retry_after;
    ClientError::remote(call.operation, call.url(), code, kind.is_some(), error)
}
