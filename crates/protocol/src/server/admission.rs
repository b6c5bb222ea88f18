//! What every binding asks of a call before the service sees it: version, capabilities, extensions.

use http::{Extensions, HeaderMap, HeaderValue};

use crate::{
    error::{Error, ErrorKind},
    operation::{Capability, Operation},
    server::validation::Judged,
    service::{A2aService, Call},
    v1::{AgentCapabilities, AgentCard},
    version::{EXTENSIONS_HEADER, VERSION_HEADER, Version},
};

/// A call that may be made.
pub(super) struct Admitted {
    pub(super) call: Call,
    /// The extensions that are both asked for and declared, as the answer's header.
    pub(super) granted: Option<HeaderValue>,
}

/// Reads the version from header or query and refuses those not served (A2A §3.6.2).
pub(super) fn version(headers: &HeaderMap, query: Option<&str>) -> Result<Version, Error> {
    version_among(headers, query, &[Version::V1_0])
}

/// Reads the version from header or query and refuses those that are not among these.
pub(super) fn version_among(
    headers: &HeaderMap,
    query: Option<&str>,
    served: &[Version],
) -> Result<Version, Error> {
    let header = headers.get(VERSION_HEADER).map(|value| value.to_str().unwrap_or("?"));
    let written = header.filter(|value| !value.trim().is_empty()).map(str::to_owned);
    let written = written.or_else(|| query_version(query?)).unwrap_or_default();
    match written.parse::<Version>() {
        Ok(version) if served.contains(&version) => Ok(version),
        Ok(other) if written.trim().is_empty() => Err(version_error(format!(
            "a request without the A2A-Version header means version {other}, which is not served here; send \"A2A-Version: {}\"",
            Version::V1_0
        ))),
        Ok(other) => Err(version_error(format!(
            "version {other} is not served here; this interface speaks {}",
            Version::V1_0
        ))),
        Err(error) => Err(version_error(format!("version {written:?} is not understood: {error}"))),
    }
}

fn version_error(message: String) -> Error {
    Error::new(ErrorKind::VersionNotSupported, message)
        .with_metadata("supportedVersions", Version::V1_0.to_string())
}

fn query_version(query: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs
        .into_iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(VERSION_HEADER.as_str()))
        .map(|(_, value)| value.into_owned())
}

/// Admits a call whose request has been decoded: the card decides what may be asked.
pub(super) fn admit(
    service: &dyn A2aService,
    operation: Operation,
    version: Version,
    request: &impl Judged,
    headers: HeaderMap,
    context: Extensions,
) -> Result<Admitted, Error> {
    let call = Call {
        version,
        extensions: requested_extensions(&headers),
        tenant: request.tenant().to_owned(),
        headers,
        context,
    };
    service.authorize(&call, operation)?;
    let card = service.card(&call);
    let capabilities = card.capabilities.as_ref();
    check_capability(operation, capabilities)?;
    if request.has_inline_push() {
        check_capability(Operation::CreateTaskPushNotificationConfig, capabilities)?;
    }
    check_required_extensions(&card, &call.extensions)?;
    let granted = granted(capabilities, &call.extensions);
    Ok(Admitted { call, granted })
}

/// Lists the extensions of all `A2A-Extensions` headers.
fn requested_extensions(headers: &HeaderMap) -> Vec<String> {
    let values =
        headers.get_all(EXTENSIONS_HEADER).into_iter().filter_map(|value| value.to_str().ok());
    let uris = values.flat_map(|value| value.split(',')).map(str::trim);
    uris.filter(|uri| !uri.is_empty()).map(str::to_owned).collect()
}

/// Refuses what the card does not declare (A2A §3.3.4).
fn check_capability(
    operation: Operation,
    declared: Option<&AgentCapabilities>,
) -> Result<(), Error> {
    let Some(needed) = operation.row().needs else { return Ok(()) };
    let is = |field: fn(&AgentCapabilities) -> Option<bool>| declared.and_then(field) == Some(true);
    let (is_declared, kind, what) = match needed {
        Capability::Streaming => {
            (is(|all| all.streaming), ErrorKind::UnsupportedOperation, "does not stream")
        }
        Capability::PushNotifications => (
            is(|all| all.push_notifications),
            ErrorKind::PushNotificationNotSupported,
            "sends no push notifications",
        ),
        Capability::ExtendedAgentCard => (
            is(|all| all.extended_agent_card),
            ErrorKind::UnsupportedOperation,
            "has no extended card",
        ),
    };
    if is_declared {
        Ok(())
    } else {
        Err(Error::new(kind, format!("{operation} is not supported: this agent {what}")))
    }
}

/// Refuses a caller that does not declare an extension the card requires (A2A §3.3.4).
fn check_required_extensions(card: &AgentCard, requested: &[String]) -> Result<(), Error> {
    let declared = card.capabilities.iter().flat_map(|all| &all.extensions);
    let missing: Vec<&str> = declared
        .filter(|one| one.required && !requested.contains(&one.uri))
        .map(|one| one.uri.as_str())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(",");
    let message = format!(
        "this agent requires extensions that the request does not declare; send \"A2A-Extensions: {list}\""
    );
    Err(Error::new(ErrorKind::ExtensionSupportRequired, message)
        .with_metadata("requiredExtensions", list))
}

fn granted(declared: Option<&AgentCapabilities>, requested: &[String]) -> Option<HeaderValue> {
    let is_declared = |uri: &&String| {
        declared.is_some_and(|all| all.extensions.iter().any(|one| one.uri == **uri))
    };
    let granted: Vec<&str> = requested.iter().filter(is_declared).map(String::as_str).collect();
    if granted.is_empty() { None } else { HeaderValue::from_str(&granted.join(",")).ok() }
}
