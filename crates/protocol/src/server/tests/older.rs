//! The versions before 1.0 on the wire, as clients that nobody here wrote send and read them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{exchange, post_with};
use crate::{
    echo::{self, Echo, Running, TASK},
    version::Version,
};

/// What a client sends that knows of no versions.
const JSON: &str = "Content-Type: application/json\r\n";

async fn agent() -> Running {
    echo::serve_older(Arc::new(Echo::whole())).await
}

/// The status, the content type and the body of an answer.
fn taken_apart(answer: &str) -> (String, String) {
    let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

fn body(answer: &str) -> Value {
    let (_, body) = taken_apart(answer);
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

async fn rpc(agent: &Running, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let mut answer = body(&post_with(agent, "/", JSON, &request.to_string()).await);
    assert_eq!(answer["id"], 7, "{answer}");
    match answer["error"].take() {
        Value::Null => answer["result"].take(),
        error => error,
    }
}

/// The events of a stream by JSON-RPC.
async fn stream(agent: &Running, method: &str, params: Value) -> Vec<Value> {
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = post_with(agent, "/", JSON, &request.to_string()).await;
    events(&answer).into_iter().map(|mut event| event["result"].take()).collect()
}

fn events(answer: &str) -> Vec<Value> {
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).expect("events are JSON")).collect()
}

fn says(text: &str) -> Value {
    json!({"message": {
        "kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": text}],
    }})
}

fn status(state: &str) -> Value {
    json!({"state": state, "timestamp": "2026-01-02T03:04:05.678Z"})
}

#[tokio::test]
async fn a_message_of_0_3_is_answered_in_its_words() {
    let agent = agent().await;
    let task = json!({
        "kind": "task", "id": "task-1", "contextId": "context-1", "status": status("completed"),
        "artifacts": [{"artifactId": "artifact-1", "parts": [{"kind": "text", "text": "hi"}]}],
    });
    assert_eq!(rpc(&agent, "message/send", says("hi")).await, task);
    let message = json!({
        "kind": "message", "messageId": "m-2", "role": "agent",
        "parts": [{"kind": "text", "text": "hello"}],
    });
    assert_eq!(rpc(&agent, "message/send", says("message")).await, message);
    let events = stream(&agent, "message/stream", says("hi")).await;
    assert_eq!(
        events,
        [
            json!({"kind": "task", "id": "task-1", "contextId": "context-1", "status": status("working")}),
            json!({
                "kind": "artifact-update", "taskId": "task-1", "contextId": "context-1", "lastChunk": true,
                "artifact": {"artifactId": "artifact-1", "parts": [{"kind": "text", "text": "hi"}]},
            }),
            json!({
                "kind": "status-update", "taskId": "task-1", "contextId": "context-1",
                "status": status("completed"), "final": true,
            }),
        ]
    );
}

#[tokio::test]
async fn errors_of_0_3_have_the_codes_of_1_0() {
    let agent = agent().await;
    let codes = [
        ("tasks/get", json!({"id": "other"}), -32001),
        ("tasks/cancel", json!({"id": "other"}), -32002),
        ("message/send", json!({}), -32602),
        ("message/send", says("CONTENT_TYPE_NOT_SUPPORTED"), -32005),
        ("tasks/list", json!({}), -32601),
        ("SendMessage", says("hi"), -32601),
    ];
    for (method, params, code) in codes {
        let error = rpc(&agent, method, params).await;
        assert_eq!(error["code"], code, "{method}: {error}");
    }
    let error = rpc(&agent, "SendMessage", says("hi")).await;
    let said = error["message"].as_str().unwrap_or_default();
    assert!(said.ends_with("for those of 1.0 send \"A2A-Version: 1.0\""), "{said}");
}

#[tokio::test]
async fn webhooks_without_an_id_are_found_without_one() {
    let echo = Arc::new(Echo::whole());
    let agent = echo::serve_older(echo.clone()).await;
    let set = json!({"taskId": TASK, "pushNotificationConfig": {"url": "http://x/"}});
    rpc(&agent, "tasks/pushNotificationConfig/set", set).await;
    assert_eq!(echo.take_request(), r#"{"id":"default","taskId":"task-1","url":"http://x/"}"#);
    rpc(&agent, "tasks/pushNotificationConfig/get", json!({"id": TASK})).await;
    assert_eq!(echo.take_request(), r#"{"taskId":"task-1","id":"default"}"#);
    let deletion = json!({"id": TASK, "pushNotificationConfigId": "hook"});
    let gone = rpc(&agent, "tasks/pushNotificationConfig/delete", deletion).await;
    assert_eq!(gone, Value::Null);
}

#[tokio::test]
async fn a_task_of_0_1_goes_by_the_id_that_its_client_made() {
    let echo = Arc::new(Echo::whole());
    let agent = echo::serve_older(echo.clone()).await;
    let send = |id: &str| {
        json!({
            "id": id, "sessionId": "s", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
        })
    };
    let task = json!({
        "id": "mine", "sessionId": "s", "status": status("completed"),
        "artifacts": [{"index": 0, "parts": [{"type": "text", "text": "hi"}]}],
    });
    assert_eq!(rpc(&agent, "tasks/send", send("mine")).await, task);
    let asked: Value = serde_json::from_str(&echo.take_request()).expect("JSON");
    assert_eq!(asked["message"]["contextId"], "urn:convoke:task:v0.1:mine");
    assert_eq!(asked["message"]["taskId"], Value::Null, "there was none that is open");

    // This one is open, so that the Message continues it.
    rpc(&agent, "tasks/send", send(TASK)).await;
    let asked: Value = serde_json::from_str(&echo.take_request()).expect("JSON");
    assert_eq!(asked["message"]["taskId"], TASK);

    let got = json!({"id": TASK, "status": status("working")});
    assert_eq!(rpc(&agent, "tasks/get", json!({"id": TASK})).await, got);
    let events = stream(&agent, "tasks/sendSubscribe", send("mine")).await;
    assert_eq!(
        events,
        [
            json!({"id": "mine", "status": status("working"), "final": false}),
            json!({"id": "mine", "artifact": {
                "index": 0, "lastChunk": true, "parts": [{"type": "text", "text": "hi"}],
            }}),
            json!({"id": "mine", "status": status("completed"), "final": true}),
        ]
    );
    let events = stream(&agent, "tasks/resubscribe", json!({"id": TASK})).await;
    assert_eq!(
        events.last(),
        Some(&json!({"id": TASK, "status": status("input-required"), "final": true}))
    );
    let nameless =
        rpc(&agent, "tasks/send", json!({"message": {"role": "user", "parts": [{"text": "x"}]}}))
            .await;
    assert_eq!(nameless["code"], -32602, "{nameless}");
    let said = rpc(&agent, "tasks/send", {
        let mut send = send("mine");
        send["message"]["parts"][0]["text"] = json!("message");
        send
    });
    assert_eq!(said.await["status"]["message"]["parts"][0]["text"], "hello");
}

#[tokio::test]
async fn a_task_asked_for_without_a_version_is_one_of_0_3_unless_a_client_named_it() {
    // The one Task of this agent has the same id under both.
    let agent = agent().await;
    let get = |headers: &'static str| {
        let request =
            json!({"jsonrpc": "2.0", "id": 7, "method": "tasks/get", "params": {"id": TASK}});
        let (agent, request) = (&agent, request.to_string());
        async move { body(&post_with(agent, "/", headers, &request).await)["result"].take() }
    };
    assert_eq!(get(JSON).await["kind"], Value::Null);
    let newer = "Content-Type: application/json\r\nA2A-Version: 0.3\r\n";
    assert_eq!(get(newer).await["kind"], "task");
}

#[tokio::test]
async fn http_json_of_0_3_takes_both_of_its_jsons_and_answers_in_that_of_the_sdks() {
    let agent = agent().await;
    let by_sdk = json!({"message": {
        "messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "hi"}],
    }});
    let task = json!({"task": {
        "id": "task-1", "contextId": "context-1", "status": status("TASK_STATE_COMPLETED"),
        "artifacts": [{"artifactId": "artifact-1", "parts": [{"text": "hi"}]}],
    }});
    for request in [by_sdk, says("hi")] {
        let answer = post_with(&agent, "/a2a/v1/message:send", JSON, &request.to_string()).await;
        assert_eq!(body(&answer), task);
        assert!(answer.contains("content-type: application/json\n"), "{answer}");
    }
    let answer = post_with(&agent, "/a2a/v1/message:stream", JSON, &says("hi").to_string()).await;
    let last = json!({"statusUpdate": {
        "taskId": "task-1", "contextId": "context-1", "status": status("TASK_STATE_COMPLETED"), "final": true,
    }});
    assert_eq!(events(&answer).last(), Some(&last));
    for verb in ["GET", "POST"] {
        let request = format!(
            "{verb} /a2a/v1/tasks/task-1:subscribe HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(events(&exchange(&agent, &request).await).len(), 2, "{verb}");
    }
}

async fn get(agent: &Running, path: &str) -> String {
    exchange(agent, &format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).await
}

#[tokio::test]
async fn errors_of_http_json_of_0_3_have_a_code_and_its_statuses() {
    let agent = agent().await;
    let refusals = [
        (get(&agent, "/a2a/v1/tasks/other").await, "404 Not Found", -32001),
        (post_with(&agent, "/a2a/v1/tasks/other:cancel", JSON, "{}").await, "409 Conflict", -32002),
        (post_with(&agent, "/a2a/v1/message:send", JSON, "{").await, "400 Bad Request", -32700),
        (post_with(&agent, "/a2a/v1/message:send", JSON, "{}").await, "400 Bad Request", -32602),
        (get(&agent, "/a2a/v1/nothing").await, "404 Not Found", -32601),
        (get(&agent, "/a2a/v1/tasks").await, "404 Not Found", -32601),
        (get(&agent, "/a2a/v1/acme/tasks/x").await, "404 Not Found", -32601),
        (get(&agent, "/a2a/v1/extendedAgentCard").await, "404 Not Found", -32601),
    ];
    for (answer, status, code) in refusals {
        let (head, _) = taken_apart(&answer);
        assert_eq!(head, format!("HTTP/1.1 {status}"), "{answer}");
        assert_eq!(body(&answer)["code"], code, "{answer}");
    }
    let unsupported = says("UNSUPPORTED_OPERATION").to_string();
    let answer = post_with(&agent, "/a2a/v1/message:send", JSON, &unsupported).await;
    assert_eq!(taken_apart(&answer).0, "HTTP/1.1 501 Not Implemented");
    let card = body(&get(&agent, "/a2a/v1/card").await);
    assert_eq!(card["url"], "http://127.0.0.1:1/");
}

#[tokio::test]
async fn a_tenant_may_be_called_like_the_prefix_of_0_3() {
    let echo = Arc::new(Echo::whole());
    let agent = echo::serve_older(echo.clone()).await;
    let request = "GET /a2a/v1/tasks/task-1 HTTP/1.1\r\nHost: a\r\nA2A-Version: 1.0\r\nConnection: close\r\n\r\n";
    body(&exchange(&agent, request).await);
    assert_eq!((echo.last().tenant.as_str(), echo.last().version), ("v1", Version::V1_0));
    body(&get(&agent, "/a2a/v1/tasks/task-1").await);
    assert_eq!((echo.last().tenant.as_str(), echo.last().version), ("", Version::V0_3));
}

#[tokio::test]
async fn the_card_is_found_where_older_clients_look_and_says_what_they_look_for() {
    let agent = agent().await;
    let card = get(&agent, "/.well-known/agent-card.json").await;
    assert_eq!(get(&agent, "/.well-known/agent.json").await, card);
    let card = body(&card);
    assert_eq!(
        (&card["url"], &card["protocolVersion"]),
        (&json!("http://127.0.0.1:1/"), &json!("0.3.0"))
    );
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
    assert_eq!(card["supportedInterfaces"][1]["protocolVersion"], "0.3");
}

#[tokio::test]
async fn without_being_asked_to_an_agent_speaks_1_0_alone() {
    let agent = super::agent().await;
    let request =
        json!({"jsonrpc": "2.0", "id": 7, "method": "message/send", "params": says("hi")});
    let answer = body(&post_with(&agent, "/", JSON, &request.to_string()).await);
    assert_eq!(answer["error"]["code"], -32009, "{answer}");
    let (head, _) = taken_apart(&get(&agent, "/.well-known/agent.json").await);
    assert_eq!(head, "HTTP/1.1 404 Not Found");
    let card = body(&get(&agent, "/.well-known/agent-card.json").await);
    assert_eq!(card["url"], Value::Null);
}

#[tokio::test]
async fn extensions_are_granted_under_the_older_name_of_their_header() {
    let agent = echo::serve_older(Arc::new(Echo::with_extension("urn:x", true))).await;
    let headers = format!("{JSON}X-A2A-Extensions: urn:x, urn:y\r\n");
    let rpc = json!({"jsonrpc": "2.0", "id": 7, "method": "message/send", "params": says("hi")});
    for (path, request) in [("/", rpc), ("/a2a/v1/message:send", says("hi"))] {
        let answer = post_with(&agent, path, &headers, &request.to_string()).await;
        assert!(answer.contains("\nx-a2a-extensions: urn:x\n"), "{answer}");
        assert!(!answer.contains("\na2a-extensions"), "{answer}");
    }
}

#[tokio::test]
async fn clients_of_older_versions_are_asked_who_they_are_before_anything_is_looked_up() {
    let agent = echo::serve_older(Arc::new(Echo::only_for("Bearer secret"))).await;
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "x"}]});
    for (method, params) in [
        ("tasks/send", json!({"id": "mine", "message": message})),
        ("tasks/get", json!({"id": TASK})),
        ("tasks/cancel", json!({"id": TASK})),
        ("message/send", says("x")),
    ] {
        let error = rpc(&agent, method, params).await;
        assert_eq!(error["code"], -32091, "{method}: {error}");
    }
}
