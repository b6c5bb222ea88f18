//! The golden files of the server's tests, read by the client: both sides have one truth.

use std::{collections::BTreeMap, time::Duration};

use axum::{body::Body, response::Response};
use serde_json::{Value, json};

use super::{Canned, SOON, grpc::answering, interface, is_untaken};
use crate::{
    card::Binding,
    client::{Client, ClientError, Interface},
    echo::{TASK, says},
    error::ErrorKind,
    golden,
    outbound::{Outbound, Policy},
};

fn client(binding: Binding, url: &str) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    Client::new(outbound, Interface { binding, ..interface(url) }).expect("it can be called")
}

/// Calls an agent that answers with an entry.
async fn read(binding: Binding, entry: &Value) -> ClientError {
    let answered = if binding == Binding::Grpc {
        let entry = entry.clone();
        let (address, _guard) = answering(move || trailers(&entry)).await;
        client(binding, &address).send_message(says("hi"), SOON).await
    } else {
        let later = entry["retry-after"].as_str().map(|it| format!("Retry-After: {it}\r\n"));
        let kind = golden::text(&entry["content-type"]);
        // An event that is an error says what an answer would.
        let kind = if kind == "text/event-stream" { "application/json" } else { &kind };
        let headers = format!("Content-Type: {kind}\r\n{}", later.unwrap_or_default());
        let status = format!("{} X", entry["http"]);
        let canned = Canned::answer(&status, &headers, &entry["body"].to_string()).await;
        client(binding, &canned.url).send_message(says("hi"), SOON).await
    };
    answered.expect_err("an error")
}

fn trailers(entry: &Value) -> Response {
    Response::builder()
        .header("content-type", "application/grpc")
        .header("grpc-status", golden::text(&entry["grpc-status"]))
        .header("grpc-message", golden::text(&entry["grpc-message"]))
        .header("grpc-status-details-bin", golden::encoded(&entry["grpc-status-details-bin"]))
        .body(Body::empty())
        .expect("a response")
}

#[tokio::test]
async fn every_error_of_the_golden_files_is_understood_on_every_binding() {
    for binding in Binding::ALL {
        let mut entries = golden::read(binding);
        for row in ErrorKind::table() {
            let entry = entries.remove(row.reason).expect("every kind has its entry");
            let error = read(binding, &entry).await;
            assert_eq!(error.kind, Some(row.kind), "{binding}: {error}");
            assert_eq!(error.is_untaken(), is_untaken(row.kind), "{binding}: {error}");
            // HTTP's header counts whole seconds, rounded up.
            let delay = if binding == Binding::Grpc { 1500 } else { 2000 };
            let delay = matches!(row.kind, ErrorKind::ResourceExhausted | ErrorKind::Unavailable)
                .then_some(Duration::from_millis(delay));
            assert_eq!(error.retry_after, delay, "{binding}: {error}");
            let remote = error.remote.expect("the agent said it");
            assert_eq!(remote.message, "as you wish");
            assert_eq!(remote.metadata, BTreeMap::from([("taskId".to_owned(), TASK.to_owned())]));
        }
        let error = read(binding, &entries.remove("of a field").expect("an entry")).await;
        assert_eq!(error.kind, Some(ErrorKind::InvalidParams), "{binding}: {error}");
        let violations = error.remote.expect("the agent said it").violations;
        let violations: Vec<_> =
            violations.iter().map(|it| (it.field.as_str(), it.description.as_str())).collect();
        assert_eq!(violations, [("message", "is required")], "{binding}");
        let early = read(binding, &entries.remove("before the first event").expect("one")).await;
        assert_eq!(early.kind, Some(ErrorKind::TaskNotFound), "{binding}: {early}");
        let late = read(binding, &entries.remove("after the first event").expect("one")).await;
        assert_eq!(late.kind, Some(ErrorKind::Unavailable), "{binding}: {late}");
        assert!(entries.is_empty(), "nobody reads {entries:?}");
    }
}

/// What A2A 1.0.0 had in six lines of its table (§5.4): the gRPC status and the HTTP status.
const OF_1_0_0: [(ErrorKind, &str, i64, u16); 6] = [
    (ErrorKind::TaskNotCancelable, "FAILED_PRECONDITION", 9, 409),
    (ErrorKind::PushNotificationNotSupported, "UNIMPLEMENTED", 12, 400),
    (ErrorKind::UnsupportedOperation, "UNIMPLEMENTED", 12, 400),
    (ErrorKind::ContentTypeNotSupported, "INVALID_ARGUMENT", 3, 415),
    (ErrorKind::InvalidAgentResponse, "INTERNAL", 13, 502),
    (ErrorKind::VersionNotSupported, "UNIMPLEMENTED", 12, 400),
];

#[tokio::test]
async fn the_six_errors_that_1_0_0_said_otherwise_are_the_same_to_us_on_every_binding() {
    for (kind, name, code, http) in OF_1_0_0 {
        let old = |binding| {
            let mut entry = golden::read(binding).remove(kind.row().reason).expect("an entry");
            match binding {
                // Its codes were the same.
                Binding::JsonRpc => (),
                Binding::HttpJson => {
                    entry["http"] = json!(http);
                    entry["body"]["error"]["code"] = json!(http);
                    entry["body"]["error"]["status"] = json!(name);
                }
                Binding::Grpc => {
                    entry["grpc-status"] = json!(code.to_string());
                    entry["grpc-status-details-bin"]["code"] = json!(code);
                }
            }
            entry
        };
        for binding in Binding::ALL {
            let error = read(binding, &old(binding)).await;
            assert_eq!(error.kind, Some(kind), "{binding}: {error}");
            assert_eq!(error.is_untaken(), is_untaken(kind), "{binding}: {error}");
        }
    }
}
