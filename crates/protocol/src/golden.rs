//! The golden files of the tests: how an error of each kind stands on each binding. Our server has to
//! write what they hold, and our client has to understand it.
//!
//! An entry of a JSON binding holds status, media type, `Retry-After` and body; one of gRPC its
//! trailers, with the details decoded by the messages below, which are written down a second time
//! on purpose.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use prost::Message;
use serde_json::{Value, json};

use crate::card::Binding;

/// Where they are.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/errors");

/// Returns the name of a binding's file, without its ending.
pub(crate) fn name(binding: Binding) -> &'static str {
    match binding {
        Binding::JsonRpc => "jsonrpc",
        Binding::HttpJson => "http-json",
        Binding::Grpc => "grpc",
    }
}

/// Reads a binding's file: entries by the reason of the error, or by what is special about them.
pub(crate) fn read(binding: Binding) -> BTreeMap<String, Value> {
    let path = format!("{FOLDER}/{}.snap", name(binding));
    let text = std::fs::read_to_string(&path).expect("the file is in the repository");
    let (_, entries) = text.split_once("\n---\n").expect("a snapshot has a head");
    serde_json::from_str(entries).expect("the entries are JSON")
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Detail>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Detail {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<Violation>,
}

#[derive(Clone, PartialEq, Message)]
struct Violation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

#[derive(Clone, PartialEq, Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

const INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD: &str = "type.googleapis.com/google.rpc.BadRequest";
const RETRY: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// Shows the value of `grpc-status-details-bin`.
pub(crate) fn decoded(base64: &[u8]) -> Value {
    let bytes = STANDARD_NO_PAD.decode(base64).expect("details are base64 without padding");
    let status = Status::decode(bytes.as_slice()).expect("details are a google.rpc.Status");
    let details: Vec<Value> = status.details.iter().map(shown).collect();
    json!({ "code": status.code, "message": status.message, "details": details })
}

fn shown(detail: &Detail) -> Value {
    let (kind, value) = (detail.type_url.as_str(), detail.value.as_slice());
    match kind {
        INFO => {
            let ErrorInfo { reason, domain, metadata } = ErrorInfo::decode(value).expect("one");
            json!({ "@type": kind, "reason": reason, "domain": domain, "metadata": metadata })
        }
        BAD => {
            let violations = BadRequest::decode(value).expect("one").field_violations.into_iter();
            let shown = violations.map(|it| json!([it.field, it.description]));
            json!({ "@type": kind, "fieldViolations": shown.collect::<Vec<_>>() })
        }
        RETRY => {
            let delay = RetryInfo::decode(value).expect("one").retry_delay.unwrap_or_default();
            json!({ "@type": kind, "seconds": delay.seconds, "nanos": delay.nanos })
        }
        other => panic!("{other} is not looked for here"),
    }
}

/// Makes the value of `grpc-status-details-bin` of what [`decoded`] shows.
pub(crate) fn encoded(status: &Value) -> String {
    let details = status["details"].as_array().expect("a list").iter().map(detail).collect();
    let code = number(&status["code"]).try_into().expect("a code");
    let status = Status { code, message: text(&status["message"]), details };
    STANDARD_NO_PAD.encode(status.encode_to_vec())
}

fn detail(shown: &Value) -> Detail {
    let type_url = text(&shown["@type"]);
    let value = match type_url.as_str() {
        INFO => {
            let (reason, domain) = (text(&shown["reason"]), text(&shown["domain"]));
            let metadata = serde_json::from_value(shown["metadata"].clone()).expect("a map");
            ErrorInfo { reason, domain, metadata }.encode_to_vec()
        }
        BAD => {
            let shown = shown["fieldViolations"].as_array().expect("a list");
            let violation =
                |it: &Value| Violation { field: text(&it[0]), description: text(&it[1]) };
            BadRequest { field_violations: shown.iter().map(violation).collect() }.encode_to_vec()
        }
        _ => {
            let nanos = number(&shown["nanos"]).try_into().expect("less than a second");
            let retry_delay = Some(Delay { seconds: number(&shown["seconds"]), nanos });
            RetryInfo { retry_delay }.encode_to_vec()
        }
    };
    Detail { type_url, value }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

pub(crate) fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}
