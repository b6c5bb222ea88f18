//! Reading the body of a request.

use std::sync::Arc;

use axum::{
    body::to_bytes,
    extract::{FromRequest, Request},
    http::{HeaderMap, StatusCode, header},
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
        let read = serde_json::from_slice(&bytes);
        read.map(Self).map_err(|error| Problem::bad(format!("the body cannot be read: {error}")))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
