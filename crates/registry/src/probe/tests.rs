use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use axum::{Json, Router};
use protocol::outbound::{Outbound, Policy};
use serde_json::{Value, json};

use super::*;

const NOT_FOUND: i32 = -32001;
const PUSH_NOT_SUPPORTED: i32 = -32003;
const UNSUPPORTED: i32 = -32004;
const NO_EXTENDED_CARD: i32 = -32007;
const OTHER_VERSION: i32 = -32009;

/// What an agent answers to a method, in a version: an error, or as if all were well.
type Script = fn(&str, &str) -> Option<i32>;

/// What an agent does that declares everything and lies about nothing.
fn honest(_: &str, version: &str) -> Option<i32> {
    Some(if version == "1.0" { NOT_FOUND } else { OTHER_VERSION })
}

/// Asks an agent, and returns what it falls short of and the methods that were called.
async fn asked(capabilities: Value, script: Script) -> (Vec<Shortfall>, Vec<String>) {
    let called = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::clone(&called);
    let answer = async move |headers: HeaderMap, Json(call): Json<Value>| {
        let method = call["method"].as_str().unwrap().to_owned();
        let version = headers["a2a-version"].to_str().unwrap();
        let reply = match script(&method, version) {
            Some(code) => json!({"error": {"code": code, "message": "so it is"}}),
            None => json!({"result": {"id": UNKNOWN, "status": {"state": "TASK_STATE_WORKING"}}}),
        };
        calls.lock().unwrap().push(method);
        let mut reply = reply;
        reply["jsonrpc"] = json!("2.0");
        reply["id"] = call["id"].clone();
        Json(reply)
    };
    let router = Router::new().route("/", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let found = ask(&client(&url), &card(&url, &capabilities)).await.shortfalls;
    server.abort();
    let called = called.lock().unwrap().clone();
    (found, called)
}

fn card(url: &str, capabilities: &Value) -> AgentCard {
    let card = json!({
        "name": "it", "description": "Works.", "version": "1", "capabilities": capabilities,
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    });
    serde_json::from_value(card).unwrap()
}

fn client(url: &str) -> Client {
    let card = card(url, &json!({}));
    let interface = Interface::of(&card.supported_interfaces[0]).unwrap();
    Client::new(Outbound::new(Policy::loopback()).unwrap(), interface).unwrap()
}

fn everything() -> Value {
    json!({"streaming": true, "pushNotifications": true, "extendedAgentCard": true})
}

#[tokio::test]
async fn an_honest_agent_is_asked_for_nothing_but_what_it_has_not() {
    let script: Script = |method, version| match method {
        "GetExtendedAgentCard" => None,
        _ => honest(method, version),
    };
    let (found, called) = asked(everything(), script).await;
    assert!(found.is_empty(), "{found:?}");
    let methods = [
        "GetTask",
        "GetTask",
        "SubscribeToTask",
        "GetTaskPushNotificationConfig",
        "GetExtendedAgentCard",
    ];
    assert_eq!(called, methods);
    let (found, called) = asked(json!({}), honest).await;
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(called, ["GetTask", "GetTask"], "what is not declared is not asked for");
}

#[tokio::test]
async fn each_wrong_answer_is_told_apart() {
    let cases: [(Script, &str); 7] = [
        (|m, v| if m == "GetTask" && v == "1.0" { None } else { honest(m, v) }, "GetTask of"),
        (
            |m, v| if m == "GetTask" && v == "1.0" { Some(UNSUPPORTED) } else { honest(m, v) },
            "GetTask of",
        ),
        (|m, v| if v == "99.9" { Some(NOT_FOUND) } else { honest(m, v) }, "a call in version 99.9"),
        (|m, v| if m == "SubscribeToTask" { Some(UNSUPPORTED) } else { honest(m, v) }, "streaming"),
        (|m, v| if m == "SubscribeToTask" { None } else { honest(m, v) }, "streaming"),
        (
            |m, v| if m.contains("Push") { Some(PUSH_NOT_SUPPORTED) } else { honest(m, v) },
            "push notifications",
        ),
        (
            |m, v| if m.contains("Card") { Some(NO_EXTENDED_CARD) } else { honest(m, v) },
            "the extended card",
        ),
    ];
    for (script, what) in cases {
        let (found, _) = asked(everything(), script).await;
        let others: Vec<_> = found.iter().filter(|it| !it.what.contains("extended")).collect();
        let short = if what.contains("extended") { &found[0] } else { others[0] };
        assert!(short.what.starts_with(what), "{what}: {found:?}");
        assert!(!short.is_silent && others.len() <= 1, "{what}: {found:?}");
        assert!(short.what.ends_with("over JSONRPC 1.0"), "{found:?}");
        let place = match what {
            "streaming" => Some("/capabilities/streaming"),
            "push notifications" => Some("/capabilities/pushNotifications"),
            "the extended card" => Some("/capabilities/extendedAgentCard"),
            _ => None,
        };
        assert_eq!(short.declared.as_deref(), place, "{found:?}");
    }
}

#[tokio::test]
async fn nobody_is_asked_twice_where_nobody_answers() {
    let url = "http://127.0.0.1:1/";
    let Answers { shortfalls: found, unasked } = ask(&client(url), &card(url, &everything())).await;
    assert_eq!(unasked, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].is_silent);
    assert!(found[0].why.contains("cannot be reached"), "{found:?}");
}

#[tokio::test]
async fn extensions_that_an_agent_requires_are_asked_for() {
    let extensions = json!([
        {"uri": "urn:one", "required": true}, {"uri": "urn:two"}, {"uri": "urn:three", "required": true}
    ]);
    let answer = async move |headers: HeaderMap, Json(call): Json<Value>| {
        let asked = headers.get("a2a-extensions").and_then(|it| it.to_str().ok());
        let is_first = headers["a2a-version"] == "1.0";
        let code = match asked {
            Some("urn:one,urn:three") => {
                if is_first {
                    NOT_FOUND
                } else {
                    OTHER_VERSION
                }
            }
            _ => -32008,
        };
        Json(json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": "no"}}))
    };
    let router = Router::new().route("/", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let found = ask(&client(&url), &card(&url, &json!({"extensions": extensions}))).await;
    assert!(found.shortfalls.is_empty(), "{:?}", found.shortfalls);
    server.abort();
}
