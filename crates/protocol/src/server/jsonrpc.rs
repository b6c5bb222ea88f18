//! The JSON-RPC binding (A2A §9): one POST route, answers as JSON or as an event stream.

mod envelope;

use std::sync::Arc;

use axum::{
    extract::{Request as HttpRequest, State},
    response::Response,
};
use bytes::Bytes;
use http::request::Parts;
use serde_json::value::RawValue;

use super::{
    endpoint::{Endpoint, Refusal, check_json},
    exchange::{Exchange, Fields, decode},
    framing::Framing,
    older,
    validation::Judged,
};
use crate::{
    error::{Error, ErrorKind},
    operation::Operation,
    version::Version,
};

pub(super) use envelope::Envelope;

/// Answers one request.
pub(super) async fn answer(
    State(endpoint): State<Arc<Endpoint>>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = match read(&endpoint, &parts, body).await {
        Ok(body) => body,
        Err(refusal) => return Framing::nameless().refuse(&refusal),
    };
    match Envelope::read(&body) {
        Ok(envelope) => {
            let framing = Framing::JsonRpc(envelope.id.to_owned());
            let answered = dispatch(&endpoint, parts, &envelope, &framing).await;
            answered.unwrap_or_else(|error| framing.failure(&error))
        }
        Err((id, error)) => Framing::JsonRpc(id.to_owned()).failure(&error),
    }
}

async fn read(
    endpoint: &Endpoint,
    parts: &Parts,
    body: axum::body::Body,
) -> Result<Bytes, Refusal> {
    check_json(&parts.headers)?;
    endpoint.read(body).await
}

async fn dispatch(
    endpoint: &Endpoint,
    parts: Parts,
    envelope: &Envelope<'_>,
    framing: &Framing,
) -> Result<Response, Error> {
    let version = older::version(endpoint, &parts)?;
    if let Some(named) = endpoint.named.as_deref().filter(|_| version != Version::V1_0) {
        let asked = older::Asked { endpoint, named, parts, version };
        return asked.json_rpc(envelope, framing).await;
    }
    let operation =
        Operation::from_method(&envelope.method).ok_or_else(|| unknown_method(&envelope.method))?;
    let fields = Params(envelope.params);
    Exchange { endpoint, operation, version, parts, fields, framing }.answer().await
}

/// The member `params`.
pub(super) struct Params<'a>(pub(super) &'a RawValue);

impl Fields for Params<'_> {
    fn read<R: Judged>(&self) -> Result<R, Error> {
        decode(self.0.get().as_bytes(), "params")
    }
}

fn unknown_method(method: &str) -> Error {
    let message =
        format!("there is no method {method:?}; A2A 1.0 names them like SendMessage or GetTask");
    Error::new(ErrorKind::MethodNotFound, message)
}
