//! A webhook for push notifications of any agent: it answers challenges, checks what comes, and passes it on.

mod gate;

use std::sync::Arc;

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
    push::{Proof, PublicKeys, Rejection, Verifier, challenge_answer},
    v1::StreamResponse,
};
use tokio::sync::mpsc;

pub(crate) use self::gate::Gate;
pub use self::gate::KeySource;

/// The largest notification, in bytes.
const LARGEST: usize = 32 << 20;

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

struct Webhook {
    gate: Gate,
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
    let webhook = Arc::new(Webhook { gate: Gate::new(verifier, source), tell });
    Router::new()
        .fallback_service(get(challenged).post(notified).with_state(webhook))
        .layer(DefaultBodyLimit::max(LARGEST))
}

async fn challenged(RawQuery(query): RawQuery) -> Response {
    echo(query.as_deref()).unwrap_or_else(|| {
        (StatusCode::METHOD_NOT_ALLOWED, "notifications are POSTed here\n").into_response()
    })
}

/// The answer to a challenge; none for any other request.
pub(crate) fn echo(query: Option<&str>) -> Option<Response> {
    let token = challenge_answer(query.unwrap_or_default())?;
    let headers =
        [(header::CONTENT_TYPE, "text/plain"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Some((headers, token).into_response())
}

async fn notified(
    State(webhook): State<Arc<Webhook>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let at = Timestamp::now();
    let checked = webhook.gate.check(|verifier| verifier.check(&headers, &body, at)).await;
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
