//! Why something was not done, for programs and people (RFC 9457).

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use document::Problems;
use registry::RegistryError;
use serde_json::Value;

use super::wire::ProblemOut;
use crate::access::{AccessError, Scope};

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// When to try again what cannot be done just now, in seconds.
const RETRY: HeaderValue = HeaderValue::from_static("5");

/// Why something was not done.
#[derive(Debug)]
pub(super) struct Problem(Box<ProblemOut>);

impl Problem {
    pub(super) fn new(status: StatusCode, word: &str, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemOut {
            kind: format!("urn:convoke:problem:{word}"),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            problems: Vec::new(),
            scope: None,
        }))
    }

    /// What was sent is wrong.
    pub(super) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// Several things that were sent are wrong.
    pub(super) fn all_bad(
        detail: impl Into<String>,
        problems: impl IntoIterator<Item: Into<Value>>,
    ) -> Self {
        let mut problem = Self::bad(detail);
        problem.0.problems = problems.into_iter().map(Into::into).collect();
        problem
    }

    /// The agent is one of the operator, and not the caller's to change.
    pub(super) fn not_yours(name: &str) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "not-yours",
            format!(
                "`{name}` is an entry of the operator of this server: it can be seen, not changed"
            ),
        )
    }

    /// The caller's credentials do not reach so far.
    pub(super) fn lacks(what: &str, scope: Scope) -> Self {
        Self::from(&AccessError::lacks(what, scope))
    }

    fn of_file(problems: &Problems) -> Self {
        let detail = format!("{} cannot be used as it is", problems.source_file.name());
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-file", detail);
        let all = document::to_json(&problems.source_file, &problems.diagnostics);
        problem.0.problems = all.as_array().cloned().unwrap_or_default();
        problem
    }
}

impl From<RegistryError> for Problem {
    fn from(error: RegistryError) -> Self {
        use RegistryError as E;
        let (status, word) = match &error {
            E::File(problems) => return Self::of_file(problems),
            E::UnknownAgent { .. } | E::Gone { .. } => (StatusCode::NOT_FOUND, "unknown-agent"),
            E::NoVersion { .. } => (StatusCode::NOT_FOUND, "no-version"),
            E::Name { .. } => (StatusCode::BAD_REQUEST, "bad-name"),
            E::Transition { .. } => (StatusCode::CONFLICT, "transition"),
            E::Withheld { .. } => (StatusCode::CONFLICT, "withheld"),
            E::Card(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad-card"),
            E::AiCatalog { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad-listing"),
            E::Unanswered { .. } => (StatusCode::BAD_GATEWAY, "unanswered"),
            E::Contended => (StatusCode::SERVICE_UNAVAILABLE, "contended"),
            E::Damaged { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "damaged"),
            E::Store(_) => {
                tracing::warn!(%error, "a request about the directory could not be served");
                let detail = "this cannot be done just now; try again";
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail);
            }
        };
        Self::new(status, word, error.to_string())
    }
}

impl From<&AccessError> for Problem {
    fn from(why: &AccessError) -> Self {
        let (status, word) = match why {
            AccessError::NoCredentials(_) | AccessError::BadCredentials(_) => {
                (StatusCode::UNAUTHORIZED, "unauthenticated")
            }
            AccessError::Unknown(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            AccessError::Scope { .. } => (StatusCode::FORBIDDEN, "scope"),
        };
        let mut problem = Self::new(status, word, why.to_string());
        if let AccessError::Scope { scope, .. } = why {
            problem.0.scope = Some(scope.to_string());
        }
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(&*self.0)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, PROBLEM);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY);
        }
        response
    }
}
