//! Requests of A2A before 1.0: which dialect they are in, and the same exchange as for 1.0 with its
//! request and answers translated.

mod named;
mod translated;

use axum::{body::Body, response::Response};
use http::{Method, request::Parts};
use serde_json::{Value, value::to_raw_value};

use super::{
    HTTP_JSON_PATH, admission,
    endpoint::{Endpoint, NamedEndpoint, Refusal},
    exchange::Exchange,
    framing::{Framing, unwritable},
    jsonrpc::{Envelope, Params},
    rest::{self, fields::RestFields, routes::Miss},
};
use crate::{
    dialect::{self, Dialect},
    error::{Error, ErrorKind, without_position},
    operation::Operation,
    version::{EXTENSIONS_HEADER, VERSION_HEADER, Version},
};

pub(super) use named::Named;
pub(crate) use named::as_named;
pub(super) use translated::{Translated, http_status};

const SERVED: [Version; 4] = [Version::V1_0, Version::V0_3, Version::V0_2, Version::V0_1];

/// Reads the version of a request, among those that the endpoint speaks.
pub(super) fn version(endpoint: &Endpoint, parts: &Parts) -> Result<Version, Error> {
    let (headers, query) = (&parts.headers, parts.uri.query());
    match endpoint.named {
        None => admission::version(headers, query),
        Some(_) => admission::version_among(headers, query, &SERVED),
    }
}

/// A request of an older version.
pub(super) struct Asked<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) named: &'a NamedEndpoint,
    pub(super) parts: Parts,
    pub(super) version: Version,
}

impl Asked<'_> {
    /// Answers a request by JSON-RPC.
    pub(super) async fn json_rpc(
        self,
        envelope: &Envelope<'_>,
        framing: &Framing,
    ) -> Result<Response, Error> {
        let params: Value = serde_json::from_str(envelope.params.get())
            .map_err(|error| Error::invalid_field("params", without_position(&error)))?;
        let dialect = self.dialect(&envelope.method, &params).await?;
        let operation =
            dialect.operation(&envelope.method).ok_or_else(|| unknown_method(&envelope.method))?;
        let continues = names_task(&params);
        let params = dialect::read_params(dialect, operation, params);
        let params = to_raw_value(&params).map_err(|error| unwritable(&error))?;
        let framing = Translated::framing(dialect, operation, framing.clone(), continues);
        let endpoint = match dialect {
            Dialect::V0_1 => &self.named.endpoint,
            Dialect::V0_3 | Dialect::V0_3Proto => self.endpoint,
        };
        let (version, parts, fields) = (self.version, aged_in(self.parts), Params(&params));
        let exchange = Exchange { endpoint, operation, version, parts, fields, framing: &framing };
        exchange.answer().await.map(aged_out)
    }

    /// Some methods are those of 0.1 and of 0.3. Who names no version, which neither asks for, is
    /// known by the id: in 0.1 it is one that a client made.
    async fn dialect(&self, method: &str, params: &Value) -> Result<Dialect, Error> {
        if self.version == Version::V0_1 {
            return Ok(Dialect::V0_1);
        }
        match (Dialect::V0_1.operation(method), Dialect::V0_3.operation(method)) {
            (Some(_), None) => Ok(Dialect::V0_1),
            (Some(operation), Some(_)) if !self.parts.headers.contains_key(VERSION_HEADER) => {
                let id = params["id"].as_str().unwrap_or_default();
                let tasks = &self.named.tasks;
                let is_named = tasks.knows(&self.parts, self.version, operation, id).await?;
                Ok(if is_named { Dialect::V0_1 } else { Dialect::V0_3 })
            }
            _ => Ok(Dialect::V0_3),
        }
    }
}

/// Tells whether the Message of a request continues a Task.
fn names_task(params: &Value) -> bool {
    params["message"]["taskId"].as_str().is_some_and(|task| !task.is_empty())
}

/// Tells whether a request is one of 0.3's HTTP+JSON.
pub(super) fn is_http_json(endpoint: &Endpoint, parts: &Parts) -> bool {
    let is_older = || version(endpoint, parts).is_ok_and(|version| version != Version::V1_0);
    endpoint.named.is_some() && path(parts).is_some() && is_older()
}

/// The path below 0.3's prefix.
fn path(parts: &Parts) -> Option<&str> {
    let below = parts.uri.path().strip_prefix(HTTP_JSON_PATH)?;
    below.strip_prefix(dialect::HTTP_JSON_PREFIX).filter(|path| path.starts_with('/'))
}

/// Answers a request of 0.3's HTTP+JSON.
pub(super) async fn http_json(endpoint: &Endpoint, parts: Parts, body: Body) -> Response {
    match answer_http_json(endpoint, parts, body).await {
        Ok(response) => aged_out(response),
        Err(refusal) => Framing::BareOlder.refuse(&refusal),
    }
}

async fn answer_http_json(
    endpoint: &Endpoint,
    parts: Parts,
    body: Body,
) -> Result<Response, Refusal> {
    let path = match path(&parts).unwrap_or_default() {
        dialect::HTTP_JSON_CARD => "/extendedAgentCard",
        "/extendedAgentCard" => "",
        path => path,
    };
    let (place, body) = rest::take(endpoint, &parts, path, body).await?;
    let (dialect, operation) = (Dialect::V0_3Proto, place.operation);
    // Tenants are newer, and so is listing.
    if place.tenant.is_some() || dialect.method(operation).is_none() {
        return Err(rest::refusal(&parts, &Miss::Path));
    }
    let read = translate(operation, &body).and_then(|(body, continues)| {
        version(endpoint, &parts).map(|version| (body, continues, version))
    });
    let (body, continues, version) = match read {
        Ok(read) => read,
        Err(error) => return Ok(Framing::BareOlder.failure(&error)),
    };
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let fields = RestFields::new(&place, &query, &body, parts.method == Method::POST);
    let framing = Translated::framing(dialect, operation, Framing::BareOlder, continues);
    let parts = aged_in(parts);
    let exchange = Exchange { endpoint, operation, version, parts, fields, framing: &framing };
    Ok(exchange.answer().await.unwrap_or_else(|error| framing.failure(&error)))
}

/// Turns a body into that of 1.0, and tells whether its Message continues a Task. Both JSONs of 0.3
/// are taken: that of the text, and that of the protobuf definition.
fn translate(operation: Operation, body: &[u8]) -> Result<(Vec<u8>, bool), Error> {
    if body.trim_ascii().is_empty() {
        return Ok((Vec::new(), false));
    }
    let body: Value = serde_json::from_slice(body).map_err(|error| {
        let message = format!("the request is not JSON: {}", without_position(&error));
        Error::new(ErrorKind::Parse, message)
    })?;
    let dialect = match body["message"]["role"].as_str() {
        Some("user" | "agent") => Dialect::V0_3,
        _ => Dialect::V0_3Proto,
    };
    let continues = names_task(&body);
    let body = dialect::read_params(dialect, operation, body);
    Ok((body.to_string().into_bytes(), continues))
}

/// Gives the header of extensions the name of 1.0.
fn aged_in(mut parts: Parts) -> Parts {
    let older: Vec<_> = parts.headers.get_all(dialect::EXTENSIONS_HEADER).iter().cloned().collect();
    for value in older {
        parts.headers.append(EXTENSIONS_HEADER, value);
    }
    parts
}

/// Gives the header of extensions the older name.
fn aged_out(mut response: Response) -> Response {
    if let Some(granted) = response.headers_mut().remove(EXTENSIONS_HEADER) {
        response.headers_mut().insert(dialect::EXTENSIONS_HEADER, granted);
    }
    response
}

fn unknown_method(method: &str) -> Error {
    let message = format!(
        "there is no method {method:?}; A2A 0.3 names them like message/send or tasks/get, 0.1 like \
         tasks/send; for those of 1.0 send \"A2A-Version: {}\"",
        Version::V1_0
    );
    Error::new(ErrorKind::MethodNotFound, message)
}
