//! Error details as gRPC carries them: `google.rpc.Status` in binary form, in the trailer
//! `grpc-status-details-bin` (A2A §10.6).

use std::{collections::BTreeMap, time::Duration};

use prost::Message;

use super::{Error, ErrorKind, FieldViolation};

const TYPE_ROOT: &str = "type.googleapis.com/";
const ERROR_INFO: &str = "google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "google.rpc.BadRequest";
const RETRY_INFO: &str = "google.rpc.RetryInfo";

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: BTreeMap<String, String>,
}

/// `google.rpc.BadRequest`.
#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<Violation>,
}

/// `google.rpc.BadRequest.FieldViolation`.
#[derive(Clone, PartialEq, Message)]
struct Violation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

impl Any {
    fn of(name: &str, message: &impl Message) -> Any {
        Any { type_url: format!("{TYPE_ROOT}{name}"), value: message.encode_to_vec() }
    }
}

/// Writes an error as an encoded `google.rpc.Status`. The reason is always there: most kinds share
/// their gRPC code with others.
pub(crate) fn to_binary(error: &Error) -> Vec<u8> {
    let row = error.kind.row();
    let info = ErrorInfo {
        reason: row.reason.to_owned(),
        domain: error.kind.domain().to_owned(),
        metadata: error.metadata.clone(),
    };
    let mut details = vec![Any::of(ERROR_INFO, &info)];
    if !error.violations.is_empty() {
        let violation = |one: &FieldViolation| Violation {
            field: one.field.clone(),
            description: one.description.clone(),
        };
        let field_violations = error.violations.iter().map(violation).collect();
        details.push(Any::of(BAD_REQUEST, &BadRequest { field_violations }));
    }
    if let Some(after) = error.retry_after {
        let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
        let nanos = i32::try_from(after.subsec_nanos()).unwrap_or_default();
        let retry_delay = Some(Delay { seconds, nanos });
        details.push(Any::of(RETRY_INFO, &RetryInfo { retry_delay }));
    }
    Status { code: row.grpc as i32, message: error.message.clone(), details }.encode_to_vec()
}

/// Reads an encoded `google.rpc.Status` into an error that already has kind and message, and tells
/// whether a known reason was in it. What is not understood is passed over; a known reason decides
/// the kind over the code.
pub(crate) fn parse_binary(error: &mut Error, status: &[u8]) -> bool {
    let Ok(status) = Status::decode(status) else { return false };
    // All of them are read, also those after the first reason.
    status.details.iter().filter(|detail| read_one(error, detail)).count() > 0
}

fn read_one(error: &mut Error, detail: &Any) -> bool {
    let value = detail.value.as_slice();
    match detail.type_url.rsplit('/').next().unwrap_or_default() {
        ERROR_INFO => return ErrorInfo::decode(value).is_ok_and(|info| read_info(error, info)),
        BAD_REQUEST => read_violations(error, BadRequest::decode(value).unwrap_or_default()),
        RETRY_INFO => {
            let delay = RetryInfo::decode(value).ok().and_then(|info| info.retry_delay);
            error.retry_after = delay.and_then(read_delay).or(error.retry_after);
        }
        _ => {}
    }
    false
}

fn read_info(error: &mut Error, info: ErrorInfo) -> bool {
    let kind = ErrorKind::from_reason(&info.reason);
    error.kind = kind.unwrap_or(error.kind);
    error.metadata.extend(info.metadata);
    kind.is_some()
}

fn read_violations(error: &mut Error, request: BadRequest) {
    error.violations.extend(
        request
            .field_violations
            .into_iter()
            .map(|one| FieldViolation { field: one.field, description: one.description }),
    );
}

fn read_delay(Delay { seconds, nanos }: Delay) -> Option<Duration> {
    Some(Duration::new(seconds.try_into().ok()?, nanos.try_into().ok()?))
}
