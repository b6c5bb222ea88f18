//! The JSON-RPC binding as a client (A2A §9).

use std::time::Duration;

use ::http::{HeaderValue, StatusCode};
use reqwest::Method;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use super::{
    ClientError,
    call::Call,
    http::{Outgoing, parse},
    older,
};
use crate::error::{Error, ErrorKind, parse_json_details};

const JSON: &str = "application/json";

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Reply<T> {
    jsonrpc: Option<IgnoredAny>,
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
    /// HTTP+JSON has it, JSON-RPC does not.
    status: Option<IgnoredAny>,
}

/// Writes a request.
pub(super) fn outgoing<P: Serialize>(call: &Call, params: &P) -> Result<Outgoing, ClientError> {
    match call.client.dialect {
        Some(dialect) => {
            let method = dialect.method(call.operation).ok_or_else(|| call.unspoken())?;
            written(call, method, &older::params(call, dialect, params)?)
        }
        None => written(call, call.operation.method(), params),
    }
}

fn written<P: Serialize>(call: &Call, method: &str, params: &P) -> Result<Outgoing, ClientError> {
    let request = Request { jsonrpc: "2.0", id: call.id, method, params };
    let body = serde_json::to_vec(&request).map_err(|error| call.unwritable(error))?;
    Ok(Outgoing {
        method: Method::POST,
        url: call.client.url.clone(),
        body: Some(body),
        content_type: HeaderValue::from_static(JSON),
        accept: JSON,
    })
}

/// Reads a response: its result, if it carries our id.
pub(super) fn read<T: DeserializeOwned>(
    call: &Call,
    body: &[u8],
    content_type: &str,
) -> Result<T, ClientError> {
    let reply: Reply<T> =
        parse(body).map_err(|error| call.unreadable::<Reply<T>>(body, content_type, &error))?;
    let is_ours = reply.id == Some(Value::from(call.id));
    match (reply.error, reply.result) {
        // An agent that could not read the id answers null.
        (Some(object), _) if is_ours || reply.id.is_none() => Err(remote(call, object, None, None)),
        (None, Some(result)) if is_ours => Ok(result),
        (None, None) if is_ours => Err(call.invalid("it holds neither a result nor an error")),
        _ => {
            let id = reply.id.unwrap_or_default();
            Err(call.invalid(&format!("it carries the id {id} instead of {}", call.id)))
        }
    }
}

/// Reads the error that came with a status of failure; nothing when there is none.
pub(super) fn failure(
    call: &Call,
    status: StatusCode,
    body: &[u8],
    retry_after: Option<Duration>,
) -> Option<ClientError> {
    let reply: Reply<Value> = parse(body).ok()?;
    let object = reply.error?;
    if reply.jsonrpc.is_none() && object.status.is_some() {
        return Some(call.misdirected("it speaks HTTP+JSON"));
    }
    Some(remote(call, object, ErrorKind::from_http(status.as_u16()), retry_after))
}

/// An error the agent answered. The reason in its details decides, then the code, then the HTTP
/// status.
fn remote(
    call: &Call,
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
    ClientError::remote(call.operation, call.url(), object.code, is_known, error)
}
