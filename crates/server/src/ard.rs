//! What others may learn of the directory: the catalog at its well-known address, and Agentic Resource Discovery's
//! search and list.
//!
//! Everything here is for everybody, so that nobody is asked who they are; what is not public is not in
//! [`Published`] at all.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{
        DefaultBodyLimit, FromRequest as _, Path, Query, Request, State,
        rejection::{PathRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use protocol::{
    service::{A2aService as _, Call},
    v1::AgentCard,
    version::Version,
};
use registry::{Index, ListRequest, Published, QueryError, REGISTRY, SearchRequest, WELL_KNOWN};
use serde_json::json;

use crate::{Orchestrator, Publish};

/// The largest body of a search, in bytes.
const MAX_BODY_BYTES: usize = 64 << 10;

const CATALOG_TYPE: &str = "application/ai-catalog+json";

/// Answers what others ask.
struct Desk {
    orchestrator: Arc<Orchestrator>,
    /// Whether agents of the directory are among what is published.
    has_agents: bool,
    /// What was published last, and of what it was made.
    last: Mutex<Option<Made>>,
}

struct Made {
    directory: Arc<Index>,
    card: Arc<AgentCard>,
    published: Arc<Published>,
}

/// Why a question is not answered, in the form of the specification.
struct Refusal {
    status: StatusCode,
    code: &'static str,
    why: String,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "errorCode": self.code, "message": self.why });
        (self.status, Json(body)).into_response()
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        invalid(error.to_string())
    }
}

fn invalid(why: String) -> Refusal {
    Refusal { status: StatusCode::BAD_REQUEST, code: "INVALID_ARGUMENT", why }
}

/// The routes of discovery; none when nothing is published.
pub(crate) fn router(orchestrator: &Arc<Orchestrator>) -> Router {
    let publish = orchestrator.settings().publish;
    if publish == Publish::Off {
        return Router::new();
    }
    let desk = Arc::new(Desk {
        orchestrator: Arc::clone(orchestrator),
        has_agents: publish == Publish::Public,
        last: Mutex::default(),
    });
    let parts = format!("{}/{{part}}", WELL_KNOWN.trim_end_matches(".json"));
    Router::new()
        .route(WELL_KNOWN, get(catalog))
        .route(&parts, get(part))
        .route(&format!("{REGISTRY}/agents"), get(list))
        .route(&format!("{REGISTRY}/search"), post(search))
        .route(&format!("{REGISTRY}/explore"), post(explore))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(desk)
}

async fn catalog(State(desk): State<Arc<Desk>>, headers: HeaderMap) -> Result<Response, Refusal> {
    desk.document(&headers, None).await
}

async fn part(
    State(desk): State<Arc<Desk>>,
    part: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let part = part.map(|Path(part)| part).unwrap_or_default();
    let part = part.strip_suffix(".json").and_then(|part| part.parse().ok());
    desk.document(&headers, Some(part.unwrap_or_default())).await
}

async fn search(State(desk): State<Arc<Desk>>, request: Request) -> Result<Response, Refusal> {
    let patience = desk.orchestrator.settings().limits.body_timeout;
    let request: SearchRequest = read(request, patience).await?;
    let answer = desk.answer(move |published| published.search(&request)).await?;
    Ok(Json(answer).into_response())
}

async fn list(
    State(desk): State<Arc<Desk>>,
    request: Result<Query<ListRequest>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(request) = request.map_err(|rejection| invalid(rejection.body_text()))?;
    let answer = desk.answer(move |published| published.list(&request)).await?;
    Ok(Json(answer).into_response())
}

/// Counting is optional in the specification.
async fn explore() -> Refusal {
    let why = "this directory counts nothing for others; ask /search or /agents".to_owned();
    Refusal { status: StatusCode::NOT_IMPLEMENTED, code: "NOT_IMPLEMENTED", why }
}

/// Reads the JSON of a body, whatever media type it is given.
async fn read(request: Request, patience: Duration) -> Result<SearchRequest, Refusal> {
    let body = tokio::time::timeout(patience, Bytes::from_request(request, &())).await;
    let body = body.map_err(|_| Refusal {
        status: StatusCode::REQUEST_TIMEOUT,
        code: "INVALID_ARGUMENT",
        why: format!("the body did not arrive within {patience:?}"),
    })?;
    let body = body.map_err(|rejection| Refusal {
        status: rejection.status(),
        ..invalid(rejection.body_text())
    })?;
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(invalid("the body is no search: it has to be a JSON object".to_owned()));
    }
    serde_json::from_slice(&body)
        .map_err(|error| invalid(format!("the body is no search: {error}")))
}

impl Desk {
    async fn document(
        &self,
        headers: &HeaderMap,
        part: Option<usize>,
    ) -> Result<Response, Refusal> {
        let document = self.answer(move |published| Ok(published.catalog(part))).await?;
        let max_age = self.orchestrator.settings().limits.card_max_age;
        match document {
            Some(document) => {
                let body = Bytes::from(document.to_string());
                Ok(protocol::server::document(headers, CATALOG_TYPE, max_age, body))
            }
            None => Err(Refusal {
                status: StatusCode::NOT_FOUND,
                code: "NOT_FOUND",
                why: "the catalog has no such part".to_owned(),
            }),
        }
    }

    /// Does what may take a while in a large directory apart from everything else.
    async fn answer<T: Send + 'static>(
        &self,
        of: impl FnOnce(&Published) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let made = self.published();
        match tokio::task::spawn_blocking(move || of(&made)).await {
            Ok(answer) => Ok(answer?),
            Err(broken) => {
                tracing::error!(%broken, "a question to the directory broke down");
                let why = "this question broke down; the log of this server says why".to_owned();
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Err(Refusal { status, code: "INTERNAL_ERROR", why })
            }
        }
    }

    /// What is published now; made anew when the directory or the own card has changed.
    fn published(&self) -> Arc<Published> {
        let directory = self.orchestrator.registry().index();
        let card = self.orchestrator.card(&anybody());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &mut *last
            && Arc::ptr_eq(&made.card, &card)
            && (!self.has_agents || Published::is_the_same(&made.directory, &directory))
        {
            // What comes next differs from this one in less.
            made.directory = directory;
            return Arc::clone(&made.published);
        }
        let agents = self.has_agents.then_some(&*directory);
        let url = self.orchestrator.offer().public_url();
        let published = Arc::new(Published::new(url, (*card).clone(), agents));
        *last = Some(Made { directory, card, published: Arc::clone(&published) });
        published
    }
}

/// A call of somebody unknown.
fn anybody() -> Call {
    Call {
        version: Version::V1_0,
        extensions: Vec::new(),
        tenant: String::new(),
        headers: HeaderMap::new(),
        context: axum::http::Extensions::new(),
    }
}
