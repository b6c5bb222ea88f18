//! Reading the body of a request.

use std::sync::Arc;

use axum::{
    body::to_bytes,
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use serde::de::DeserializeOwned;

use super::{Directory, problem::Problem};

/// A body that is JSON.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Directory>> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, directory: &Arc<Directory>) -> Result<Self, Problem> {
        // A page in a browser can send every other type of content without asking.
        if !is_json(request.headers()) {
            let detail = "the body of this request has to be JSON: Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "no-json", detail));
        }
        let limits = &directory.limits;
        let read = to_bytes(request.into_body(), limits.max_body_bytes);
        let bytes = tokio::time::timeout(limits.body_timeout, read).await.map_err(|_| {
            let detail = format!("the body did not arrive within {:?}", limits.body_timeout);
            Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail)
        })?;
        let bytes = bytes.map_err(|_| {
            let detail = format!(
                "the body is larger than {} bytes (`limits.body_bytes`), or was cut off",
                limits.max_body_bytes
            );
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
        })?;
        // Where an object is asked, a list of its values in some order would do as well.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Problem::bad("the body cannot be read: it has to be a JSON object"));
        }
        let read = serde_json::from_slice(&bytes);
        read.map(Self).map_err(|error| Problem::bad(format!("the body cannot be read: {error}")))
    }
}

/// The name of an agent, and perhaps what is to be done, in the path of a request.
pub(super) struct Named(pub(super) String);

impl FromRequestParts<Arc<Directory>> for Named {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        directory: &Arc<Directory>,
    ) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, directory).await;
        let Path(name) = path.map_err(|_| {
            let detail = format!(
                "{} names no agent: names are UTF-8, with what URLs do not hold written as %XX",
                parts.uri.path()
            );
            Problem::bad(detail)
        })?;
        Ok(Self(name))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
