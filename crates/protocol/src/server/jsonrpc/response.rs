//! Answers out, as JSON-RPC responses (A2A §9.5).

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::value::RawValue;

use super::JSON;
use crate::error::{Error, json_details};

const VERSION: &str = "2.0";

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

/// Writes a response with a result.
pub(super) fn success<T: Serialize>(id: &RawValue, result: &T) -> Result<Vec<u8>, Error> {
    let mut body = Vec::with_capacity(256);
    write_success(&mut body, id, result)?;
    Ok(body)
}

/// Appends a response with a result.
pub(in crate::server) fn write_success<T: Serialize>(
    body: &mut Vec<u8>,
    id: &RawValue,
    result: &T,
) -> Result<(), Error> {
    let response = Success { jsonrpc: VERSION, id, result };
    serde_json::to_writer(body, &response).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written as JSON");
        Error::internal(format!("the answer cannot be written as JSON: {error}"))
    })
}

/// Appends a response with an error.
pub(in crate::server) fn write_failure(body: &mut Vec<u8>, id: &RawValue, error: &Error) {
    let object = ErrorObject {
        code: error.kind.row().json_rpc,
        message: &error.message,
        data: json_details(error),
    };
    let response = Failure { jsonrpc: VERSION, id, error: object };
    serde_json::to_writer(body, &response)
        .expect("strings, numbers and JSON values are JSON, and a Vec takes all");
}

/// Answers with an error: HTTP 200, unless it is about the transport (credentials, limits).
pub(super) fn failure(id: &RawValue, error: &Error) -> Response {
    let mut body = Vec::with_capacity(256);
    write_failure(&mut body, id, error);
    let mut response = ([(header::CONTENT_TYPE, JSON)], body).into_response();
    if error.kind.is_transport() {
        *response.status_mut() =
            StatusCode::from_u16(error.kind.row().http).expect("the table holds HTTP statuses");
    }
    if let Some(after) = error.retry_after {
        // Whole seconds, and never too early.
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
