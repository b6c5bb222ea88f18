//! The card at its well-known address, with what caches need (A2A §8.6.1).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
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
    version::Version,
};

/// The card's route.
pub(super) struct Card {
    service: Arc<dyn A2aService>,
    cache_control: HeaderValue,
    /// The entity tag last served and since when: a change shows when it is first served.
    last: Mutex<(String, Timestamp)>,
    /// Whether readers of older versions are to find what they look for.
    is_for_older: bool,
}

impl Card {
    pub(super) fn new(service: Arc<dyn A2aService>, max_age: Duration) -> Card {
        let cache_control = HeaderValue::try_from(format!("public, max-age={}", max_age.as_secs()))
            .expect("digits and letters make a header value");
        let last = Mutex::new((String::new(), Timestamp::UNIX_EPOCH));
        Card { service, cache_control, last, is_for_older: false }
    }

    /// Serves a card that readers of older versions can read too.
    pub(super) fn with_older_fields(self) -> Card {
        Card { is_for_older: true, ..self }
    }

    fn json(&self, call: &Call) -> Result<Vec<u8>, serde_json::Error> {
        let card = self.service.card(call);
        if !self.is_for_older {
            return serde_json::to_vec(&*card);
        }
        let mut card = serde_json::to_value(&*card)?;
        if let Some(fields) = card.as_object_mut() {
            dialect::card::add_older_fields(fields);
        }
        serde_json::to_vec(&card)
    }

    /// Says since when the content of this tag is served, in whole seconds.
    fn modified(&self, tag: &str) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != tag {
            let now = Timestamp::from_second(Timestamp::now().as_second())
                .unwrap_or(Timestamp::UNIX_EPOCH);
            *last = (tag.to_owned(), now);
        }
        last.1
    }
}

/// Answers GET and HEAD. No version is asked for: a caller reads the card to learn the versions.
pub(super) async fn answer(State(card): State<Arc<Card>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let call = Call {
        version: Version::V1_0,
        extensions: Vec::new(),
        tenant: String::new(),
        headers: parts.headers,
        context: parts.extensions,
    };
    let body = match card.json(&call) {
        Ok(body) => Bytes::from(body),
        Err(error) => {
            tracing::error!(%error, "the agent card cannot be written as JSON");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(Sha256::digest(&body)));
    let modified = card.modified(&tag);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, card.cache_control.clone()),
        (header::ETAG, header_value(&tag)),
        (header::LAST_MODIFIED, header_value(&http_date(modified))),
    ];
    if is_known(&call.headers, &tag, modified) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, body).into_response()
}

/// Whether the caller has this content already (RFC 9110 §13): tags decide before dates.
fn is_known(headers: &HeaderMap, tag: &str, modified: Timestamp) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(tags) = text(header::IF_NONE_MATCH) {
        return tags
            .split(',')
            .map(str::trim)
            .any(|one| one == "*" || one.trim_start_matches("W/") == tag);
    }
    let since = text(header::IF_MODIFIED_SINCE)
        .and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
    since.is_some_and(|since| modified <= since)
}

fn http_date(time: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&time).unwrap_or_default()
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("tags and dates are ASCII")
}
