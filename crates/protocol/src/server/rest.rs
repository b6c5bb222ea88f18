//! The HTTP+JSON binding (A2A §11): the routes of the table, plain JSON, errors by status.

pub(super) mod fields;
pub(super) mod routes;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request as HttpRequest, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};

use super::{
    HTTP_JSON_PATH, admission,
    endpoint::{Endpoint, Refusal, check_json},
    exchange::Exchange,
    framing::{Framing, JSON},
    older,
};
use crate::error::{Error, ErrorKind};

use fields::RestFields;
use routes::{Miss, Place};

const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");

/// Answers one request.
pub(super) async fn answer(
    State(endpoint): State<Arc<Endpoint>>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    if older::is_http_json(&endpoint, &parts) {
        return older::http_json(&endpoint, parts, body).await;
    }
    let framing = Framing::Bare(media_type(&parts.headers));
    let path = parts.uri.path().strip_prefix(HTTP_JSON_PATH).unwrap_or_default();
    let (place, body) = match take(&endpoint, &parts, path, body).await {
        Ok(taken) => taken,
        Err(refusal) => return framing.refuse(&refusal),
    };
    let answered = dispatch(&endpoint, parts, &place, &body, &framing).await;
    answered.unwrap_or_else(|error| framing.failure(&error))
}

/// A2A's own media type, unless the request asks for plain JSON and not for ours.
fn media_type(headers: &HeaderMap) -> HeaderValue {
    let accepts = |name: &str| {
        let values = headers.get_all(header::ACCEPT).into_iter();
        let mut ranges =
            values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        ranges.any(|range| {
            range.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(name)
        })
    };
    if accepts("application/json") && !accepts("application/a2a+json") { JSON } else { A2A_JSON }
}

/// Finds the place a request is for, and reads its body. A POST may come without one, for there is
/// nothing to say to some operations.
pub(super) async fn take(
    endpoint: &Endpoint,
    parts: &Parts,
    path: &str,
    body: Body,
) -> Result<(Place, Bytes), Refusal> {
    let place = routes::find(&parts.method, path).map_err(|miss| refusal(parts, &miss))?;
    if parts.method != Method::POST {
        return Ok((place, Bytes::new()));
    }
    if parts.headers.contains_key(header::CONTENT_TYPE) {
        check_json(&parts.headers)?;
    }
    let body = endpoint.read(body).await?;
    if !body.is_empty() {
        check_json(&parts.headers)?;
    }
    Ok((place, body))
}

pub(super) fn refusal(parts: &Parts, miss: &Miss) -> Refusal {
    let (method, path) = (&parts.method, parts.uri.path());
    match miss {
        Miss::Path => {
            let message = format!(
                "there is nothing at {path}; A2A's paths are like {HTTP_JSON_PATH}/tasks/ID"
            );
            Refusal::new(StatusCode::NOT_FOUND, ErrorKind::MethodNotFound, message)
        }
        Miss::Verb(verbs) => {
            let message =
                format!("{path} does not take {method}; it takes {}", verbs.join(" and "));
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let refusal = Refusal::new(status, ErrorKind::MethodNotFound, message);
            Refusal { allow: HeaderValue::from_str(&verbs.join(", ")).ok(), ..refusal }
        }
    }
}

async fn dispatch(
    endpoint: &Endpoint,
    parts: Parts,
    place: &Place,
    body: &[u8],
    framing: &Framing,
) -> Result<Response, Error> {
    let version = admission::version(&parts.headers, parts.uri.query())?;
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let fields = RestFields::new(place, &query, body, parts.method == Method::POST);
    let operation = place.operation;
    Exchange { endpoint, operation, version, parts, fields, framing }.answer().await
}
