//! Who may call, in the profile `auth`: two fixed tokens, one of which may only read.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use protocol::{
    error::{Error, ErrorKind},
    operation::Operation,
};

/// The token that may call every operation.
pub const TOKEN: &str = "conformance-all";

/// The token that may only read.
pub const READ_TOKEN: &str = "conformance-read";

/// The scope that [`READ_TOKEN`] lacks.
pub(super) const WRITE: &str = "tasks:write";

/// Judges a caller by its bearer token.
///
/// # Errors
/// `Unauthenticated` without a token that is known, `PermissionDenied` for one with too few scopes.
pub(super) fn check(headers: &HeaderMap, operation: Operation) -> Result<(), Error> {
    match bearer(headers) {
        Some(TOKEN) => Ok(()),
        Some(READ_TOKEN) if reads(operation) => Ok(()),
        Some(READ_TOKEN) => {
            let message = format!("{operation} needs the scope {WRITE}, which this token lacks");
            Err(Error::new(ErrorKind::PermissionDenied, message))
        }
        Some(_) => {
            let message = "the bearer token is not one that this agent knows";
            Err(Error::new(ErrorKind::Unauthenticated, message))
        }
        None => {
            let message = "send a bearer token, as \"Authorization: Bearer TOKEN\"";
            Err(Error::new(ErrorKind::Unauthenticated, message))
        }
    }
}

/// Says on refusals over HTTP how to be let in, as RFC 9110 §11.6.1 and RFC 6750 §3 have it.
pub(super) async fn challenge(mut response: Response) -> Response {
    let challenge = match response.status() {
        StatusCode::UNAUTHORIZED => "Bearer".to_owned(),
        StatusCode::FORBIDDEN => format!("Bearer error=\"insufficient_scope\", scope=\"{WRITE}\""),
        _ => return response,
    };
    let value = HeaderValue::try_from(challenge).expect("the challenges are ASCII");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    response
}

/// The token of a request. Schemes are told apart without regard to case (RFC 9110 §11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}

fn reads(operation: Operation) -> bool {
    use Operation as O;
    match operation {
        O::GetTask
        | O::ListTasks
        | O::SubscribeToTask
        | O::GetTaskPushNotificationConfig
        | O::ListTaskPushNotificationConfigs
        | O::GetExtendedAgentCard => true,
        O::SendMessage
        | O::SendStreamingMessage
        | O::CancelTask
        | O::CreateTaskPushNotificationConfig
        | O::DeleteTaskPushNotificationConfig => false,
    }
}
