//! The HTTP+JSON binding as a client (A2A §11).

use std::time::Duration;

use ::http::{HeaderValue, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use reqwest::Method;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Map, Value};
use url::Url;

use super::{
    ClientError, Delivery,
    call::Call,
    http::{Outgoing, parse},
    older,
};
use crate::{
    error::{Error, ErrorKind, GrpcCode, parse_json_details},
    operation::{Operation, Route, Verb},
    request::Request,
};

const A2A_JSON: &str = "application/a2a+json";
const ANY_JSON: &str = "application/a2a+json, application/json";

/// How far into an answer a look goes for signs that it is no result.
const PEEK_BYTES: usize = 512;

/// What a segment of a path cannot hold as it is.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// Why a request cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritable {
    #[error("the request cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "{0:?} cannot stand in a path, where it means another place; call the agent by another binding"
    )]
    Segment(String),
}

/// What can stand in an answer that is not the result.
#[derive(Deserialize)]
struct Aside {
    jsonrpc: Option<IgnoredAny>,
    error: Option<StatusObject>,
}

#[derive(Deserialize)]
#[serde(expecting = "an error object")]
struct StatusObject {
    #[serde(default)]
    code: i64,
    status: Option<String>,
    #[serde(default)]
    message: String,
    details: Option<Value>,
}

/// Writes a request for one of the operation's routes: tenant and ids into the path, the rest into
/// the body or the query.
pub(super) fn outgoing<R: Request>(
    call: &Call,
    route: &Route,
    request: R,
) -> Result<Outgoing, ClientError> {
    if let Some(dialect) = call.client.dialect {
        return older::outgoing(call, dialect, route, &request);
    }
    let (method, url, body) =
        written(&call.client.url, route, request).map_err(|error| call.unwritable(error))?;
    let content_type = HeaderValue::from_static(A2A_JSON);
    Ok(Outgoing { method, url, body, content_type, accept: ANY_JSON })
}

/// Writes verb, address and body of a request, given the URL of the interface.
///
/// # Errors
/// [`Unwritable`].
pub(crate) fn written<R: Request>(
    base: &Url,
    route: &Route,
    mut request: R,
) -> Result<(Method, Url, Option<Vec<u8>>), Unwritable> {
    let tenant = std::mem::take(request.tenant_mut());
    let (mut url, names) = place(base, &tenant, route, &mut request)?;
    let fields = || -> Result<_, serde_json::Error> {
        let mut fields = match serde_json::to_value(&request)? {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        fields.retain(|name, _| !names.contains(&name.as_str()));
        Ok(fields)
    };
    let body = match route.verb {
        Verb::Post if names.is_empty() => Some(serde_json::to_vec(&request)?),
        Verb::Post => Some(serde_json::to_vec(&fields()?)?),
        Verb::Get | Verb::Delete => {
            put_query(&mut url, &fields()?);
            None
        }
    };
    let method = match route.verb {
        Verb::Get => Method::GET,
        Verb::Post => Method::POST,
        Verb::Delete => Method::DELETE,
    };
    Ok((method, url, body))
}

/// Fills a route's path in, and returns the JSON names of the fields that are in it.
///
/// # Errors
/// [`Unwritable::Segment`] when a value cannot stand in a path.
pub(super) fn place<R: Request>(
    base: &Url,
    tenant: &str,
    route: &Route,
    request: &mut R,
) -> Result<(Url, Vec<&'static str>), Unwritable> {
    let mut path = base.path().trim_end_matches('/').to_owned();
    let mut names = Vec::new();
    if !tenant.is_empty() {
        push(&mut path, tenant, "")?;
    }
    for pattern in route.path.trim_start_matches('/').split('/') {
        match pattern.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((name, suffix)) => {
                let value = request.path_field(name).map(std::mem::take).unwrap_or_default();
                push(&mut path, &value, suffix)?;
                names.push(if name == "task_id" { "taskId" } else { "id" });
            }
            None => path.extend(["/", pattern]),
        }
    }
    let mut url = base.clone();
    url.set_path(&path);
    Ok((url, names))
}

/// Appends a segment of a value and what follows it.
fn push(path: &mut String, value: &str, suffix: &str) -> Result<(), Unwritable> {
    // Nobody reads these as they are, however they are written.
    if suffix.is_empty() && [".", ".."].contains(&value) {
        return Err(Unwritable::Segment(value.to_owned()));
    }
    let written = utf8_percent_encode(value, SEGMENT).to_string();
    // An id that ends like `{id}:cancel` is no verb.
    let written = if ends_in_verb(value) { written.replace(':', "%3A") } else { written };
    path.extend(["/", &written, suffix]);
    Ok(())
}

fn ends_in_verb(value: &str) -> bool {
    let routes = Operation::table().iter().flat_map(|row| row.routes);
    let mut verbs = routes.filter_map(|route| Some(route.path.split_once("}:")?.1));
    verbs.any(|verb| value.strip_suffix(verb).is_some_and(|rest| rest.ends_with(':')))
}

pub(super) fn put_query(url: &mut Url, fields: &Map<String, Value>) {
    if fields.is_empty() {
        return;
    }
    let mut pairs = url.query_pairs_mut();
    for (name, value) in fields {
        match value {
            Value::String(text) => pairs.append_pair(name, text),
            other => pairs.append_pair(name, &other.to_string()),
        };
    }
}

/// Tells whether a failure means that the agent does not have this route, so that another may do.
pub(super) fn is_not_there(error: &ClientError) -> bool {
    match error.kind {
        Some(kind) => kind == ErrorKind::MethodNotFound,
        None => error.remote.is_none() && error.is_missing(),
    }
}

/// Reads a result.
pub(super) fn read<T: DeserializeOwned>(
    call: &Call,
    body: &[u8],
    content_type: &str,
) -> Result<T, ClientError> {
    let is_deletion = call.operation == Operation::DeleteTaskPushNotificationConfig;
    let body = if is_deletion && body.is_empty() { b"{}" } else { body };
    if may_be_aside(body)
        && let Ok(aside) = parse::<Aside>(body)
    {
        match aside {
            Aside { jsonrpc: Some(_), error: Some(_) } => {
                return Err(call.misdirected("it speaks JSON-RPC"));
            }
            // Whatever it did, it may have done it.
            Aside { jsonrpc: Some(_), error: None } => {
                let error = call.misdirected("it speaks JSON-RPC");
                return Err(ClientError { delivery: Delivery::Answered, ..error });
            }
            Aside { error: Some(object), .. } => return Err(remote(call, object, None, None)),
            Aside { .. } => {}
        }
    }
    parse(body).map_err(|error| call.unreadable::<T>(body, content_type, &error))
}

/// A look at the start spares most answers a second reading.
fn may_be_aside(body: &[u8]) -> bool {
    let start = &body[..body.len().min(PEEK_BYTES)];
    let has = |name: &str| memchr::memmem::find(start, name.as_bytes()).is_some();
    has("\"jsonrpc\"") || has("\"error\"")
}

/// Reads the error that came with a status of failure; nothing when there is none.
pub(super) fn failure(
    call: &Call,
    status: StatusCode,
    body: &[u8],
    retry_after: Option<Duration>,
) -> Option<ClientError> {
    let older = call.client.dialect.and_then(|_| older::failure(call, status, body, retry_after));
    if older.is_some() {
        return older;
    }
    let aside: Aside = parse(body).ok()?;
    if aside.jsonrpc.is_some() {
        return Some(call.misdirected("it speaks JSON-RPC"));
    }
    Some(remote(call, aside.error?, Some(status), retry_after))
}

/// An error the agent answered. The reason in its details decides, then the name of its status where
/// that says more than HTTP's 400, then the HTTP status.
fn remote(
    call: &Call,
    object: StatusObject,
    status: Option<StatusCode>,
    retry_after: Option<Duration>,
) -> ClientError {
    let operation = call.operation;
    let http = status.map(|status| status.as_u16()).or(u16::try_from(object.code).ok());
    let named = [GrpcCode::FailedPrecondition, GrpcCode::Unimplemented]
        .into_iter()
        .filter(|_| http == Some(400))
        .find(|code| object.status.as_deref() == Some(code.name()));
    let of_code = named
        .and_then(|code| ErrorKind::from_grpc(code as i32, operation))
        .or_else(|| ErrorKind::from_rest(http?, operation));
    let mut error = Error::new(of_code.unwrap_or(ErrorKind::Internal), object.message);
    let mut is_known = of_code.is_some();
    if let Some(details) = &object.details {
        is_known |= parse_json_details(&mut error, details);
    }
    error.retry_after = retry_after.or(error.retry_after);
    ClientError::remote(operation, call.url(), object.code, is_known, error)
}
