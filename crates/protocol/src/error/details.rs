//! Error details as the JSON bindings carry them: an array of `google.rpc` messages, each an `Any`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Error, ErrorKind, FieldViolation};

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// Writes the details of an error (A2A §9.5, §11.6). JSON-RPC's own kinds carry no `ErrorInfo`
/// unless there is metadata: their code says everything.
pub(crate) fn to_json(error: &Error) -> Vec<Value> {
    let says_more = error.kind.is_a2a() || error.kind.is_transport() || !error.metadata.is_empty();
    let mut details = if says_more { vec![error_info(error)] } else { Vec::new() };
    push_rest(&mut details, error);
    details
}

/// Writes the details of an error with its reason in any case: an HTTP status says too little.
pub(crate) fn to_json_with_reason(error: &Error) -> Vec<Value> {
    let mut details = vec![error_info(error)];
    push_rest(&mut details, error);
    details
}

fn push_rest(details: &mut Vec<Value>, error: &Error) {
    if !error.violations.is_empty() {
        details.push(bad_request(&error.violations));
    }
    if let Some(after) = error.retry_after {
        details.push(
            json!({ "@type": RETRY_INFO, "retryDelay": format!("{}s", after.as_secs_f64()) }),
        );
    }
}

fn error_info(error: &Error) -> Value {
    let mut info = Map::new();
    info.insert("@type".to_owned(), ERROR_INFO.into());
    info.insert("reason".to_owned(), error.kind.row().reason.into());
    info.insert("domain".to_owned(), error.kind.domain().into());
    if !error.metadata.is_empty() {
        let metadata =
            error.metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
        info.insert("metadata".to_owned(), Value::Object(metadata.collect()));
    }
    Value::Object(info)
}

fn bad_request(violations: &[FieldViolation]) -> Value {
    let fields: Vec<Value> = violations
        .iter()
        .map(|one| json!({ "field": one.field, "description": one.description }))
        .collect();
    json!({ "@type": BAD_REQUEST, "fieldViolations": fields })
}

/// Reads what details say into an error that already has kind and message, and tells whether a
/// known reason was among them. Servers put an array here, a single object, a string, or nothing at
/// all: whatever is not understood is passed over. A known reason decides the kind over the code,
/// because the codes of A2A 1.0.0 and 1.0.1 differ.
pub(crate) fn parse_json(error: &mut Error, details: &Value) -> bool {
    match details {
        // All of them are read, also those after the first reason.
        Value::Array(all) => all.iter().filter(|one| read_one(error, one)).count() > 0,
        Value::Object(_) => read_one(error, details),
        _ => false,
    }
}

fn read_one(error: &mut Error, detail: &Value) -> bool {
    let type_url = detail.get("@type").and_then(Value::as_str).unwrap_or_default();
    match type_url.rsplit('/').next().unwrap_or_default() {
        // Some servers leave the type out; an object with a `reason` can be nothing else.
        "google.rpc.ErrorInfo" | "" => return read_info(error, detail),
        "google.rpc.BadRequest" => read_violations(error, detail),
        "google.rpc.RetryInfo" => {
            let delay = detail.get("retryDelay").and_then(Value::as_str);
            error.retry_after = delay.and_then(parse_delay).or(error.retry_after);
        }
        _ => {}
    }
    false
}

fn read_info(error: &mut Error, detail: &Value) -> bool {
    let Some(reason) = detail.get("reason").and_then(Value::as_str) else { return false };
    let kind = ErrorKind::from_reason(reason);
    error.kind = kind.unwrap_or(error.kind);
    for (key, value) in detail.get("metadata").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.as_str() {
            error.metadata.insert(key.clone(), value.to_owned());
        }
    }
    kind.is_some()
}

fn read_violations(error: &mut Error, detail: &Value) {
    let text = |one: &Value, key: &str| {
        one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let fields = detail
        .get("fieldViolations")
        .or_else(|| detail.get("field_violations"))
        .and_then(Value::as_array);
    error.violations.extend(fields.into_iter().flatten().map(|one| FieldViolation {
        field: text(one, "field"),
        description: text(one, "description"),
    }));
}

/// Reads a `google.protobuf.Duration` in its JSON form, such as `1.5s`.
fn parse_delay(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Shows what is wrong with a JSON text, less its line and column: they are of a body or a fragment
/// of one, which nobody sees as lines.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}
