//! Every error as it stands on the wire of each binding, byte for byte, kept in golden files that our
//! client reads as well.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde_json::{Value, json};

use super::{grpc, post_with};
use crate::{
    card::Binding,
    echo::{self, Echo, Running, says},
    error::ErrorKind,
    golden,
    limits::ServerLimits,
    v1::SendMessageRequest,
};

/// What is asked for an entry: the text of a Message, or no Message at all.
type Ask = Option<&'static str>;

/// An entry for every kind of error, and for what is special in its place or content.
fn entries() -> Vec<(&'static str, Ask)> {
    let kinds = ErrorKind::table().iter().map(|row| (row.reason, Some(row.reason)));
    let special = [
        ("of a field", None),
        ("before the first event", Some("early error")),
        ("after the first event", Some("late error")),
    ];
    kinds.chain(special).collect()
}

fn is_stream(ask: Ask) -> bool {
    ask.is_some_and(|text| text.ends_with(" error"))
}

/// Parts an answer of HTTP/1.1 into what an entry holds. Of a stream, its last event counts.
fn of_http(answer: &str) -> Value {
    let (head, body) = answer.split_once("\n\n").expect("a head and a body");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
    let headers: BTreeMap<&str, &str> = lines.filter_map(|line| line.split_once(": ")).collect();
    let last = body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
    let body: Value = serde_json::from_str(last.unwrap_or(body)).expect("errors are JSON");
    json!({
        "http": status.parse::<u16>().expect("a number"),
        "content-type": headers["content-type"],
        "retry-after": headers.get("retry-after"),
        "body": body,
    })
}

async fn over_json_rpc(agent: &Running, ask: Ask) -> Value {
    let method = if is_stream(ask) { "SendStreamingMessage" } else { "SendMessage" };
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": message(ask) });
    let headers = "A2A-Version: 1.0\r\nContent-Type: application/json\r\n";
    of_http(&post_with(agent, "/", headers, &request.to_string()).await)
}

async fn over_http_json(agent: &Running, ask: Ask) -> Value {
    let verb = if is_stream(ask) { "stream" } else { "send" };
    let headers = "A2A-Version: 1.0\r\nContent-Type: application/a2a+json\r\n";
    let path = format!("/a2a/message:{verb}");
    of_http(&post_with(agent, &path, headers, &message(ask).to_string()).await)
}

async fn over_grpc(agent: &Running, ask: Ask) -> Value {
    let method = if is_stream(ask) { "SendStreamingMessage" } else { "SendMessage" };
    let request: SendMessageRequest = ask.map(says).unwrap_or_default();
    let body: Bytes = grpc::framed(&request);
    let answer = grpc::call(agent, method, Some("1.0"), body).await;
    let find = |name: &str| answer.trailers.get(name).or_else(|| answer.headers.get(name));
    let said = |name| find(name).map(|value| value.to_str().expect("ASCII").to_owned());
    json!({
        "grpc-status": said("grpc-status"),
        "grpc-message": said("grpc-message"),
        "grpc-status-details-bin":
            find("grpc-status-details-bin").map(|it| golden::decoded(it.as_bytes())),
    })
}

fn message(ask: Ask) -> Value {
    match ask {
        Some(text) => serde_json::to_value(says(text)).expect("requests are JSON"),
        None => json!({}),
    }
}

#[tokio::test]
async fn every_error_has_its_shape_on_every_binding() {
    let agent = echo::serve(Arc::new(Echo::whole()), ServerLimits::default()).await;
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(golden::FOLDER);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for binding in Binding::ALL {
        let mut found = BTreeMap::new();
        for (name, ask) in entries() {
            let entry = match binding {
                Binding::JsonRpc => over_json_rpc(&agent, ask).await,
                Binding::HttpJson => over_http_json(&agent, ask).await,
                Binding::Grpc => over_grpc(&agent, ask).await,
            };
            found.insert(name, entry);
        }
        settings.bind(|| insta::assert_json_snapshot!(golden::name(binding), found));
    }
}
