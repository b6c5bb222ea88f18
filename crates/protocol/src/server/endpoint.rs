//! What the bindings share of taking a request in: the service, its limits, and reading a body.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::older::Named;
use crate::{
    error::{Error, ErrorKind},
    limits::ServerLimits,
    service::A2aService,
};

/// A service and the limits it is served under.
pub(super) struct Endpoint {
    pub(super) service: Arc<dyn A2aService>,
    pub(super) limits: ServerLimits,
    /// The same for clients of 0.1, when older versions are spoken.
    pub(super) named: Option<Box<NamedEndpoint>>,
}

/// A service whose Tasks go by the ids that clients of 0.1 make.
pub(super) struct NamedEndpoint {
    pub(super) tasks: Arc<Named>,
    pub(super) endpoint: Endpoint,
}

/// An error that came before the operation was known, and the HTTP status that says so.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) error: Box<Error>,
    /// The verbs that are taken instead.
    pub(super) allow: Option<HeaderValue>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, kind: ErrorKind, message: String) -> Refusal {
        Refusal { status, error: Box::new(Error::new(kind, message)), allow: None }
    }
}

impl Endpoint {
    pub(super) fn new(service: Arc<dyn A2aService>, limits: ServerLimits) -> Endpoint {
        Endpoint { service, limits, named: None }
    }

    /// Speaks the versions before 1.0 too.
    pub(super) fn with_older_versions(self) -> Endpoint {
        let tasks = Arc::new(Named::new(self.service.clone()));
        let endpoint = Endpoint::new(tasks.clone(), self.limits);
        Endpoint { named: Some(Box::new(NamedEndpoint { tasks, endpoint })), ..self }
    }

    /// Reads a body, within the limits.
    pub(super) async fn read(&self, body: Body) -> Result<Bytes, Refusal> {
        let limit = self.limits.max_body_bytes;
        let collected =
            tokio::time::timeout(self.limits.body_timeout, Limited::new(body, limit).collect())
                .await;
        match collected {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let message = format!("the request is larger than {limit} bytes (max_body_bytes)");
                let status = StatusCode::PAYLOAD_TOO_LARGE;
                Err(Refusal::new(status, ErrorKind::InvalidRequest, message))
            }
            Ok(Err(error)) => {
                let message = format!("the request could not be read: {error}");
                Err(Refusal::new(StatusCode::BAD_REQUEST, ErrorKind::InvalidRequest, message))
            }
            Err(_) => {
                let message = format!(
                    "the request did not arrive within {:?} (body_timeout)",
                    self.limits.body_timeout
                );
                let status = StatusCode::REQUEST_TIMEOUT;
                Err(Refusal::new(status, ErrorKind::DeadlineExceeded, message))
            }
        }
    }
}

/// Refuses bodies that are not declared as JSON: a page of another site can make a browser post
/// anything else to an agent on this machine, but not that.
pub(super) fn check_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let media_type = media_type(headers);
    let is_json = media_type == "application/json"
        || media_type.starts_with("application/") && media_type.ends_with("+json");
    if is_json {
        return Ok(());
    }
    let message = format!("the content type is {media_type}; send application/json");
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Err(Refusal::new(status, ErrorKind::ContentTypeNotSupported, message))
}

/// Returns the media type of a body in lower case, `none` when there is none.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let written = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    written.unwrap_or("none").split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
