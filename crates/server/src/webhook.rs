//! A webhook for push notifications of any agent: it answers challenges, checks what comes, and passes it on.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use jiff::Timestamp;
use protocol::{
    outbound::{FetchLimits, Outbound},
    push::{Proof, PublicKeys, Rejection, Verifier, challenge_answer},
    v1::StreamResponse,
};
use tokio::sync::mpsc;

/// The largest notification, in bytes.
const LARGEST: usize = 32 << 20;

/// How soon the public keys of a sender are fetched again, when a notification names one that is not among them.
const FETCH_AGAIN: Duration = Duration::from_secs(10);

/// What came.
#[derive(Debug)]
pub struct Notification {
    /// When.
    pub at: Timestamp,
    /// The event and what was checked of it, or why it is not believed.
    pub checked: Checked,
}

/// What a check finds.
pub type Checked = Result<(StreamResponse, Vec<Proof>), Rejection>;

/// Where the public keys of the sender are published.
pub struct KeySource {
    /// The URL of a JWK set.
    pub url: String,
    /// The client that fetches it.
    pub outbound: Outbound,
}

struct Webhook {
    verifier: Mutex<Verifier>,
    source: Option<KeySource>,
    /// When keys were fetched last. One fetch at a time: whoever waits for it finds what it brought.
    fetching: tokio::sync::Mutex<Option<Instant>>,
    tell: mpsc::Sender<Notification>,
}

/// A webhook on every path. A GET with a `validationToken` is answered with it. A POST is answered with 204 when it
/// passes the verifier, 400 when it is no event, 401 when it is not believed, and 503 when the sender's keys cannot be had;
/// either way `tell` gets it, and while nobody takes it from there, senders wait. With a source, notifications have to be
/// signed; keys are fetched from there at first use and when a notification names another one.
pub fn router(
    verifier: Verifier,
    source: Option<KeySource>,
    tell: mpsc::Sender<Notification>,
) -> Router {
    let verifier = match &source {
        Some(_) => verifier.with_keys(PublicKeys::default()),
        None => verifier,
    };
    let (verifier, fetching) = (Mutex::new(verifier), tokio::sync::Mutex::default());
    let webhook = Arc::new(Webhook { verifier, source, fetching, tell });
    Router::new()
        .fallback_service(get(challenged).post(notified).with_state(webhook))
        .layer(DefaultBodyLimit::max(LARGEST))
}

async fn challenged(RawQuery(query): RawQuery) -> Response {
    match challenge_answer(&query.unwrap_or_default()) {
        Some(token) => {
            let headers =
                [(header::CONTENT_TYPE, "text/plain"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
            (headers, token).into_response()
        }
        None => (StatusCode::METHOD_NOT_ALLOWED, "notifications are POSTed here\n").into_response(),
    }
}

async fn notified(
    State(webhook): State<Arc<Webhook>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let at = Timestamp::now();
    let checked = webhook.check(&headers, &body, at).await;
    let refused = |status: StatusCode, why: &Rejection| (status, format!("{why}\n"));
    let answer = match &checked {
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(why @ Rejection::Body(_)) => refused(StatusCode::BAD_REQUEST, why).into_response(),
        Err(why @ Rejection::NoKeys(_)) => {
            refused(StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
        Err(why) => refused(StatusCode::UNAUTHORIZED, why).into_response(),
    };
    if webhook.tell.send(Notification { at, checked }).await.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "this webhook is closing\n").into_response();
    }
    answer
}

impl Webhook {
    async fn check(&self, headers: &HeaderMap, body: &[u8], at: Timestamp) -> Checked {
        let check = || self.verifier().check(headers, body, at);
        let checked = check();
        let (Some(source), Err(Rejection::UnknownKey(_))) = (&self.source, &checked) else {
            return checked;
        };
        let mut fetched_at = self.fetching.lock().await;
        // Others may have fetched keys meanwhile.
        let checked = check();
        let is_due = fetched_at.is_none_or(|at| at.elapsed() >= FETCH_AGAIN);
        if !is_due || !matches!(checked, Err(Rejection::UnknownKey(_))) {
            return checked;
        }
        let keys = source.fetch().await.map_err(Rejection::NoKeys)?;
        *fetched_at = Some(Instant::now());
        self.verifier().replace_keys(keys);
        check()
    }

    fn verifier(&self) -> MutexGuard<'_, Verifier> {
        self.verifier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeySource {
    async fn fetch(&self) -> Result<PublicKeys, String> {
        let fetched = self.outbound.fetch(&self.url, FetchLimits::default()).await;
        let fetched = fetched.map_err(|error| error.to_string())?;
        if !fetched.status.is_success() {
            return Err(format!("{} answers {}", self.url, fetched.status));
        }
        PublicKeys::read(&fetched.body).map_err(|why| format!("{} holds none: {why}", self.url))
    }
}
