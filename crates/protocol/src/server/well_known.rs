//! The card at its well-known address, with what caches need (A2A §8.6.1).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::{
    Timestamp,
    fmt::rfc2822::{DateTimeParser, DateTimePrinter},
};
use sha2::{Digest, Sha256};

use crate::{
    dialect,
    service::{A2aService, Call},
    v1::AgentCard,
    version::Version,
};

/// The card's route.
pub(super) struct Card {
    service: Arc<dyn A2aService>,
    cache_control: HeaderValue,
    /// The entity tag last served for each tenant, and since when: a change shows when it is first served.
    last: Mutex<HashMap<String, (String, Timestamp)>>,
    /// Whether readers of older versions are to find what they look for.
    is_for_older: bool,
}

impl Card {
    pub(super) fn new(service: Arc<dyn A2aService>, max_age: Duration) -> Card {
        let cache_control = kept_for(max_age);
        Card { service, cache_control, last: Mutex::default(), is_for_older: false }
    }

    /// Serves a card that readers of older versions can read too.
    pub(super) fn with_older_fields(self) -> Card {
        Card { is_for_older: true, ..self }
    }

    fn json(&self, card: &AgentCard) -> Result<Vec<u8>, serde_json::Error> {
        if !self.is_for_older {
            return serde_json::to_vec(card);
        }
        let mut card = serde_json::to_value(card)?;
        if let Some(fields) = card.as_object_mut() {
            dialect::card::add_older_fields(fields);
        }
        serde_json::to_vec(&card)
    }

    /// Says since when the content of this tag is served to a tenant, in whole seconds.
    fn modified(&self, tenant: &str, tag: &str) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.get(tenant) {
            Some((known, since)) if known == tag => *since,
            _ => {
                let now = Timestamp::from_second(Timestamp::now().as_second())
                    .unwrap_or(Timestamp::UNIX_EPOCH);
                last.insert(tenant.to_owned(), (tag.to_owned(), now));
                now
            }
        }
    }

    /// Remembers nothing of a tenant that there is not: names are the callers' to make up.
    fn forget(&self, tenant: &str) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).remove(tenant);
    }

    /// Answers with a card, or says that the caller has it.
    fn answer(&self, call: &Call, card: &AgentCard) -> Response {
        let body = match self.json(card) {
            Ok(body) => Bytes::from(body),
            Err(error) => {
                tracing::error!(%error, "the agent card cannot be written as JSON");
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
        };
        let tag = tag_of(&body);
        let modified = self.modified(&call.tenant, &tag);
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::CACHE_CONTROL, self.cache_control.clone()),
            (header::ETAG, header_value(&tag)),
            (header::LAST_MODIFIED, header_value(&http_date(modified))),
        ];
        if is_known(&call.headers, &tag, Some(modified)) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        (headers, body).into_response()
    }
}

/// Answers GET and HEAD. No version is asked for: a caller reads the card to learn the versions.
pub(super) async fn answer(State(card): State<Arc<Card>>, request: Request) -> Response {
    let call = call(request, String::new());
    card.answer(&call, &card.service.card(&call))
}

/// Answers as [`answer`], with the card of a tenant.
pub(super) async fn answer_tenant(
    State(card): State<Arc<Card>>,
    Path(tenant): Path<String>,
    request: Request,
) -> Response {
    let call = call(request, tenant);
    match card.service.tenant_card(&call) {
        Some(found) => card.answer(&call, &found),
        None => {
            card.forget(&call.tenant);
            let text = format!("there is no agent {:?} here\n", call.tenant);
            (StatusCode::NOT_FOUND, text).into_response()
        }
    }
}

fn call(request: Request, tenant: String) -> Call {
    let (parts, _) = request.into_parts();
    Call {
        version: Version::V1_0,
        extensions: Vec::new(),
        tenant,
        headers: parts.headers,
        context: parts.extensions,
    }
}

/// Answers a GET with a document that everybody may see and caches may keep, as cards are answered: with
/// its entity tag, and without the document for a caller that has it.
pub fn document(
    request: &HeaderMap,
    media_type: &'static str,
    max_age: Duration,
    body: Bytes,
) -> Response {
    let tag = tag_of(&body);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CACHE_CONTROL, kept_for(max_age)),
        (header::ETAG, header_value(&tag)),
    ];
    if is_known(request, &tag, None) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, body).into_response()
}

fn kept_for(max_age: Duration) -> HeaderValue {
    HeaderValue::try_from(format!("public, max-age={}", max_age.as_secs()))
        .expect("digits and letters make a header value")
}

fn tag_of(body: &[u8]) -> String {
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(Sha256::digest(body)))
}

/// Whether the caller has this content already (RFC 9110 §13): tags decide before dates.
fn is_known(headers: &HeaderMap, tag: &str, modified: Option<Timestamp>) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(tags) = text(header::IF_NONE_MATCH) {
        return tags
            .split(',')
            .map(str::trim)
            .any(|one| one == "*" || one.trim_start_matches("W/") == tag);
    }
    let since = text(header::IF_MODIFIED_SINCE)
        .and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
    since.zip(modified).is_some_and(|(since, modified)| modified <= since)
}

fn http_date(time: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&time).unwrap_or_default()
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("tags and dates are ASCII")
}
