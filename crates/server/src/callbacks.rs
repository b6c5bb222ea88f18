//! Where agents tell of their Tasks: `/callbacks/{id}`, for each attempt another.
//!
//! A notification is checked and thrown away. What it says is never used: whoever follows the Task is woken, and asks
//! the agent. So the worst that one can do that should not have been believed is a question too many.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest as _, Path, RawQuery, Request, State},
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};
use executor::{Awaited, Callbacks};
use jiff::Timestamp;
use protocol::{
    auth::Secret,
    limits::ServerLimits,
    outbound::{FetchLimits, Outbound},
    push::{PublicKeys, Rejection, Verifier, check_token},
    v1::StreamResponse,
};
use serde::de::IgnoredAny;

use crate::webhook::{Gate, KeySource, echo};

/// The path below which callbacks are, to be put behind the public URL.
pub const CALLBACKS: &str = "/callbacks";

/// What it may cost to fetch the keys of an agent, which stay with its own origin.
const KEYS: FetchLimits =
    FetchLimits { max_bytes: 64 * 1024, timeout: Duration::from_secs(5), max_redirects: 0 };

/// Takes notifications in.
struct Desk {
    callbacks: Callbacks,
    outbound: Outbound,
    /// What every notification has to be signed with besides.
    secret: Option<Secret>,
    body_timeout: Duration,
    /// One for each origin of agents: a JWT counts once, whichever callback it is shown at.
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

/// Why a request gets nothing else.
struct Refusal {
    status: StatusCode,
    why: String,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, format!("{}\n", self.why)).into_response()
    }
}

/// The routes of callbacks. They know their callers by what the attempts have given them, and by nothing else.
///
/// A GET or POST with a `validationToken` is answered with it. A notification is answered with 204 when it is
/// believed, 401 when its token, its HMAC or its JWT is not right, 404 where nobody ever waited for one, 410 after the
/// end of the attempt, 415, 413, 408 and 400 when it is no JSON object that fits.
pub(crate) fn router(
    callbacks: Callbacks,
    outbound: Outbound,
    secret: Option<Secret>,
    limits: ServerLimits,
) -> Router {
    let body_timeout = limits.body_timeout;
    let desk = Desk { callbacks, outbound, secret, body_timeout, gates: Mutex::default() };
    let route = get(challenged).post(notified).with_state(Arc::new(desk));
    Router::new()
        .route(&format!("{CALLBACKS}/{{id}}"), route)
        .layer(DefaultBodyLimit::max(limits.max_body_bytes))
}

async fn challenged(
    State(desk): State<Arc<Desk>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    going_on(&desk.known(&id)?)?;
    echo(query.as_deref())
        .ok_or_else(|| refusal(StatusCode::METHOD_NOT_ALLOWED, "notifications are POSTed here"))
}

async fn notified(
    State(desk): State<Arc<Desk>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Refusal> {
    if let Some(token) = echo(query.as_deref()) {
        going_on(&desk.known(&id)?)?;
        return Ok(token);
    }
    desk.take(&id, request).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl Desk {
    /// Takes a notification, and wakes whoever follows the Task.
    async fn take(&self, id: &str, request: Request) -> Result<(), Refusal> {
        let known = self.known(id)?;
        check_token(request.headers(), known.token()).map_err(|why| disbelieved(&why))?;
        going_on(&known)?;
        let headers = request.headers().clone();
        is_json(&headers)?;
        let body = self.body(request).await?;
        let task = named(&body)?;
        let gate = self.gate(known.agent_url());
        let now = Timestamp::now();
        match gate.check(|gate| gate.prove(&headers, &body, task.as_deref(), now)).await {
            // An agent that publishes no keys could as well not have signed; its token is right.
            Ok(_) | Err(Rejection::NoKeys(_)) => known.hint(),
            Err(why) => return Err(disbelieved(&why)),
        }
        Ok(())
    }

    fn known(&self, id: &str) -> Result<Awaited, Refusal> {
        self.callbacks
            .find(id)
            .ok_or_else(|| refusal(StatusCode::NOT_FOUND, "nobody waits for notifications here"))
    }

    async fn body(&self, request: Request) -> Result<Bytes, Refusal> {
        let read = tokio::time::timeout(self.body_timeout, Bytes::from_request(request, &()));
        match read.await {
            Ok(read) => read.map_err(|why| refusal(why.status(), &why.body_text())),
            Err(_) => Err(refusal(StatusCode::REQUEST_TIMEOUT, "the body takes too long")),
        }
    }

    /// What notifications of an agent have to pass besides their token.
    fn gate(&self, agent_url: &str) -> Arc<Gate> {
        let origin = origin(agent_url);
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let made = gates.entry(origin.clone().unwrap_or_default());
        Arc::clone(made.or_insert_with(|| Arc::new(self.new_gate(origin.as_deref()))))
    }

    fn new_gate(&self, origin: Option<&str>) -> Gate {
        let mut verifier = Verifier::default();
        if origin.is_some() {
            verifier = verifier.with_keys_for_signed(PublicKeys::default());
        }
        if let Some(secret) = &self.secret {
            verifier = verifier.with_secret(secret.expose().as_bytes());
        }
        let source = origin.map(|origin| KeySource {
            url: format!("{origin}/.well-known/jwks.json"),
            outbound: self.outbound.clone(),
            limits: KEYS,
        });
        Gate::new(verifier, source)
    }
}

/// Scheme and authority of a URL.
fn origin(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    Some(format!("{}://{}", url.scheme_str()?, url.authority()?))
}

fn going_on(known: &Awaited) -> Result<(), Refusal> {
    match known.is_over() {
        true => Err(refusal(StatusCode::GONE, "what this was about has ended; send nothing more")),
        false => Ok(()),
    }
}

fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_json = essence
        .to_ascii_lowercase()
        .strip_prefix("application/")
        .is_some_and(|kind| kind == "json" || kind.ends_with("+json"));
    if is_json {
        return Ok(());
    }
    let why = "a notification is application/a2a+json or application/json";
    Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
}

/// The Task that a body names, as far as it is an event of A2A 1.0; older versions have others. Anything but a JSON
/// object is an error.
fn named(body: &[u8]) -> Result<Option<String>, Refusal> {
    serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(body)
        .map_err(|_| refusal(StatusCode::BAD_REQUEST, "the body is no JSON object"))?;
    let event = serde_json::from_slice::<StreamResponse>(body).ok();
    let event = event.filter(|event| event.payload.is_some());
    Ok(event.map(|event| event.task_id().to_owned()))
}

fn disbelieved(why: &Rejection) -> Refusal {
    tracing::warn!(%why, "a notification of an agent is not believed");
    refusal(StatusCode::UNAUTHORIZED, &why.to_string())
}

fn refusal(status: StatusCode, why: &str) -> Refusal {
    Refusal { status, why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_looked_for_at_the_origin_where_the_agent_is_called() {
        for (url, expected) in [
            ("https://agent.example/a2a/v1", Some("https://agent.example")),
            ("http://127.0.0.1:9101", Some("http://127.0.0.1:9101")),
            ("https://[::1]:9101/?key=x", Some("https://[::1]:9101")),
            ("agent.example", None),
            ("", None),
        ] {
            assert_eq!(origin(url).as_deref(), expected, "{url}");
        }
    }
}
