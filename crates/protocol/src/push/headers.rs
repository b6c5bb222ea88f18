//! What a configuration adds to the head of its notifications.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{PushError, SIGNATURE_HEADER, TOKEN_HEADER};
use crate::v1::TaskPushNotificationConfig;

/// A header, if the configuration asks for it.
type Header = Result<Option<(HeaderName, HeaderValue)>, PushError>;

/// Makes the headers of a configuration, and those of the JWT that signs a notification. It goes into
/// Authorization, where receivers look for it, unless the client wants credentials of its own there.
pub(super) fn of(
    config: &TaskPushNotificationConfig,
    jwt: Option<&str>,
) -> Result<HeaderMap, PushError> {
    let headers: Result<Vec<_>, PushError> = each(config).into_iter().collect();
    let mut headers: HeaderMap = headers?.into_iter().flatten().collect();
    if let Some(jwt) = jwt {
        headers.insert(SIGNATURE_HEADER, secret("url", jwt)?);
        if has_place_for_jwt(config) {
            headers.insert(header::AUTHORIZATION, secret("url", &format!("Bearer {jwt}"))?);
        }
    }
    Ok(headers)
}

fn has_place_for_jwt(config: &TaskPushNotificationConfig) -> bool {
    config.authentication.as_ref().is_none_or(|wanted| {
        wanted.scheme.eq_ignore_ascii_case("Bearer") && wanted.credentials.is_empty()
    })
}

/// Makes each header on its own, so that all that cannot be made are known.
pub(super) fn each(config: &TaskPushNotificationConfig) -> [Header; 2] {
    [authorization(config), token(config)]
}

fn authorization(config: &TaskPushNotificationConfig) -> Header {
    let Some(authentication) = &config.authentication else { return Ok(None) };
    let scheme = authentication.scheme.as_str();
    // A header's name is of the same characters as an authentication scheme (RFC 9110 §5.6.2).
    if HeaderName::from_bytes(scheme.as_bytes()).is_err() {
        let why = "a scheme is one word, such as Bearer or Basic";
        return Err(PushError::Header { field: "authentication.scheme", why });
    }
    let value = format!("{scheme} {}", authentication.credentials);
    Ok(Some((header::AUTHORIZATION, secret("authentication.credentials", value.trim_end())?)))
}

fn token(config: &TaskPushNotificationConfig) -> Header {
    if config.token.is_empty() {
        return Ok(None);
    }
    Ok(Some((TOKEN_HEADER, secret("token", &config.token)?)))
}

/// Makes a header whose value is not shown in logs.
fn secret(field: &'static str, text: &str) -> Result<HeaderValue, PushError> {
    let why = "it holds line breaks or other control characters";
    let mut value = HeaderValue::from_str(text).map_err(|_| PushError::Header { field, why })?;
    value.set_sensitive(true);
    Ok(value)
}
