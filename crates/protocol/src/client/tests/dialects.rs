//! Our client of an older version against our server that speaks it: every operation over a real
//! socket comes out as it does in 1.0.

use std::sync::Arc;

use futures_util::StreamExt;

use super::{
    Canned, SOON,
    bindings::{cases, client},
    interface,
};
use crate::{
    card::Binding,
    client::{Client, Delivery, FailureClass, Interface, Peer},
    echo::{self, Echo, Running, TASK, says},
    error::ErrorKind,
    limits::{ClientLimits, ServerLimits},
    outbound::{Outbound, Policy},
    server,
    v1::{
        GetExtendedAgentCardRequest, GetTaskRequest, ListTasksRequest, Message, Part,
        SendMessageRequest, TaskState,
    },
};

fn older(agent: &Running, version: &str, binding: Binding) -> Interface {
    let interface = Interface::of(&server::interface(binding, &agent.url));
    Interface { version: version.to_owned(), ..interface.expect("a known binding") }
}

fn outbound() -> Outbound {
    Outbound::new(Policy::loopback()).expect("a client can be built")
}

fn older_client(agent: &Running, version: &str, binding: Binding) -> Client {
    Client::new(outbound(), older(agent, version, binding)).expect("it can be called")
}

fn get_task() -> GetTaskRequest {
    GetTaskRequest { id: TASK.to_owned(), ..GetTaskRequest::default() }
}

/// Each case by its name, but those of these operations: what reached the agent, and what came back.
async fn table(client: &Client, echo: &Echo, without: &[&str]) -> Vec<[String; 3]> {
    let mut rows = Vec::new();
    for (name, shown) in cases(client) {
        if without.contains(&name.split(':').next().unwrap_or(name)) {
            continue;
        }
        echo.take_request();
        let shown = shown.await;
        rows.push([name.to_owned(), echo.take_request(), shown]);
    }
    rows
}

#[tokio::test]
async fn every_operation_of_0_3_answers_as_in_1_0_over_both_bindings() {
    for (version, binding) in
        [("0.3", Binding::JsonRpc), ("0.3.0", Binding::HttpJson), ("0.2.6", Binding::JsonRpc)]
    {
        let echo = Arc::new(Echo::whole());
        let agent = echo::serve_older(echo.clone()).await;
        let newer = table(&client(&agent, Binding::JsonRpc), &echo, &["list"]).await;
        let older = table(&older_client(&agent, version, binding), &echo, &["list"]).await;
        assert_eq!(newer.len(), older.len());
        for ([name, asked, shown], [_, older_asked, older_shown]) in newer.iter().zip(&older) {
            let place = format!("{version} {binding} {name}");
            // How long to wait is always said before 1.0, there are no pages, and a webhook may be
            // without a name.
            let asked = match name.split(':').next() {
                Some("send" | "stream") if !asked.is_empty() => {
                    asked.replace(r#"}]}}"#, r#"}]},"configuration":{}}"#)
                }
                Some("create push") => asked.replace(r#"{"taskId""#, r#"{"id":"default","taskId""#),
                Some("list push") => asked.replace(r#","pageSize":7,"pageToken":"a b&c""#, ""),
                _ => asked.clone(),
            };
            assert_eq!(*older_asked, asked, "{place}");
            // The words of errors are those of the binding.
            let class = |shown: &str| shown.split(" Answered ").next().map(str::to_owned);
            match name.as_str() {
                "card" => {
                    let twin = r#""protocolBinding":"JSONRPC","protocolVersion":"0.3""#;
                    assert!(older_shown.contains(twin), "{older_shown}");
                }
                "list push" => {
                    let shown =
                        shown.replace("7+a b&c", "0+").replace(r#","nextPageToken":"0+""#, "");
                    assert_eq!(older_shown.replace(r#","nextPageToken":"""#, ""), shown, "{place}");
                }
                "stream: late error" => {
                    let [first, second] = [older_shown, shown].map(|shown| shown.split_once(" | "));
                    assert_eq!(first.map(|one| one.0), second.map(|one| one.0), "{place}");
                    let classes = [first, second].map(|shown| class(shown.unwrap_or_default().1));
                    assert_eq!(classes[0], classes[1], "{place}");
                }
                _ if shown.contains(" Answered ") => {
                    assert_eq!(class(older_shown), class(shown), "{place}");
                }
                _ => assert_eq!(older_shown, shown, "{place}"),
            }
        }
    }
}

#[tokio::test]
async fn every_operation_of_0_1_answers_over_json_rpc() {
    let echo = Arc::new(Echo::whole());
    let agent = echo::serve_older(echo.clone()).await;
    let client = older_client(&agent, "0.1", Binding::JsonRpc);
    let rows = table(&client, &echo, &["list", "list push", "delete push", "card"]).await;
    let lines = rows.iter().filter(|row| row[0] != "send: too deep").map(|row| {
        // The server makes up the ids of Messages, which have none in 0.1.
        let asked: serde_json::Value = serde_json::from_str(&row[1]).unwrap_or_default();
        let message = &asked["message"];
        let asked = match message.is_object() {
            true => {
                format!("{} in {} of {}", message["parts"], message["contextId"], message["taskId"])
            }
            false => row[1].clone(),
        };
        format!("{}: {asked} => {}", row[0], row[2])
    });
    let lines: Vec<String> = lines.collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    send: [{"text":"hi"}] in "urn:convoke:task:v0.1:m-1" of null => {"task":{"id":"m-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"artifact-0","parts":[{"text":"hi"}]}]}}
    send: message: [{"text":"message"}] in "urn:convoke:task:v0.1:m-1" of null => {"task":{"id":"m-1","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"e337aa12-4eb0-5e04-8097-1ba3c89e3d07","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}}}
    send: error: [{"text":"UNSUPPORTED_OPERATION"}] in "urn:convoke:task:v0.1:m-1" of null => Unsupported UNSUPPORTED_OPERATION Answered "as you wish" {"taskId": "task-1"} []
    send: invalid:  => Invalid INVALID_PARAMS Answered "invalid parameters: message: is required" {} ["message: is required"]
    stream: [{"text":"hi"}] in "urn:convoke:task:v0.1:m-1" of null => {"statusUpdate":{"taskId":"m-1","contextId":"","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | {"artifactUpdate":{"taskId":"m-1","contextId":"","artifact":{"artifactId":"artifact-0","parts":[{"text":"hi"}]},"lastChunk":true}} | {"statusUpdate":{"taskId":"m-1","contextId":"","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"}}}
    stream: error: [{"text":"early error"}] in "urn:convoke:task:v0.1:m-1" of null => NotFound TASK_NOT_FOUND Answered "there is no task \"task-1\" here" {"taskId": "task-1"} []
    stream: late error: [{"text":"late error"}] in "urn:convoke:task:v0.1:m-1" of null => {"statusUpdate":{"taskId":"m-1","contextId":"","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | Unavailable UNAVAILABLE Answered "gone" {} []
    stream: invalid:  => Invalid INVALID_PARAMS Answered "invalid parameters: message: is required" {} ["message: is required"]
    get: {"id":"task-1","historyLength":0} => {"id":"task-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}
    get: odd id: {"contextId":"urn:convoke:task:v0.1:a/b?c:d %é","pageSize":1,"historyLength":0} => NotFound TASK_NOT_FOUND Answered "there is no task \"a/b?c:d %é\" here" {"taskId": "a/b?c:d %é"} []
    get: invalid:  => Invalid INVALID_PARAMS Answered "invalid parameters: historyLength: must not be negative; leave it out for no limit" {} ["historyLength: must not be negative; leave it out for no limit"]
    cancel: {"id":"task-1"} => {"id":"task-1","status":{"state":"TASK_STATE_CANCELED","timestamp":"2026-01-02T03:04:05.678Z"}}
    cancel: error: {"contextId":"urn:convoke:task:v0.1:done","pageSize":1,"historyLength":0} => NotFound TASK_NOT_FOUND Answered "there is no task \"done\" here" {"taskId": "done"} []
    subscribe: {"id":"task-1"} => {"statusUpdate":{"taskId":"task-1","contextId":"","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | {"statusUpdate":{"taskId":"task-1","contextId":"","status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-01-02T03:04:05.678Z"}}}
    subscribe: error: {"contextId":"urn:convoke:task:v0.1:other","pageSize":1,"historyLength":0} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    create push: {"id":"default","taskId":"task-1","url":"http://x/","token":"t"} => {"taskId":"task-1","url":"http://x/","token":"t"}
    create push: error: {"contextId":"urn:convoke:task:v0.1:other","pageSize":1,"historyLength":0} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    get push: {"taskId":"task-1","id":"default"} => NotFound TASK_NOT_FOUND Answered "there is no task \"default\" here" {"taskId": "default"} []
    get push: error: {"contextId":"urn:convoke:task:v0.1:other","pageSize":1,"historyLength":0} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    "#);
}

#[tokio::test]
async fn what_an_older_version_does_not_have_fails_without_a_call() {
    let agent = echo::serve_older(Arc::new(Echo::whole())).await;
    for (version, binding) in
        [("0.3", Binding::JsonRpc), ("0.3", Binding::HttpJson), ("0.1", Binding::JsonRpc)]
    {
        let client = older_client(&agent, version, binding);
        let error =
            client.list_tasks(ListTasksRequest::default(), SOON).await.expect_err("no list");
        let seen = (error.class, error.kind, error.delivery);
        let kind = Some(ErrorKind::UnsupportedOperation);
        assert_eq!(seen, (FailureClass::Unsupported, kind, Delivery::NotSent));
        let said = format!("speaks A2A {version}, which does not have this operation");
        assert!(error.message.contains(&said), "{error}");
        let card = client.get_extended_card(GetExtendedAgentCardRequest::default(), SOON).await;
        assert_eq!(card.is_ok(), version != "0.1", "{version} {binding}");
    }
}

#[tokio::test]
async fn every_error_keeps_its_kind_in_every_older_version() {
    let agent = echo::serve_older(Arc::new(Echo::default())).await;
    for (version, binding) in
        [("0.3", Binding::JsonRpc), ("0.3", Binding::HttpJson), ("0.1", Binding::JsonRpc)]
    {
        let client = older_client(&agent, version, binding);
        for row in ErrorKind::table() {
            let unary = client.send_message(says(row.reason), SOON).await.expect_err("an error");
            let stream = client.send_streaming_message(says(row.reason), SOON).await;
            for error in [unary, stream.expect_err("an error")] {
                assert_eq!(error.kind, Some(row.kind), "{version} {binding}: {error}");
                let delivery = match row.kind {
                    ErrorKind::VersionNotSupported | ErrorKind::MethodNotFound => {
                        Delivery::NotTaken
                    }
                    _ => Delivery::Answered,
                };
                assert_eq!(error.delivery, delivery, "{version} {binding}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn extensions_and_the_version_are_said_as_older_agents_look_for_them() {
    for (version, binding, said) in [
        ("0.3", Binding::JsonRpc, "0.3"),
        ("0.2", Binding::HttpJson, "0.3"),
        ("0.1", Binding::JsonRpc, "0.1"),
    ] {
        let echo = Arc::new(Echo::with_extension("urn:x", true));
        let agent = echo::serve_older(echo.clone()).await;
        let client = older_client(&agent, version, binding);
        let error = client.get_task(get_task(), SOON).await.expect_err("it is required");
        assert_eq!(error.kind, Some(ErrorKind::ExtensionSupportRequired), "{version} {binding}");
        client.with_extensions(["urn:x"]).get_task(get_task(), SOON).await.expect("a task");
        let call = echo.last();
        assert_eq!(call.extensions, ["urn:x"]);
        assert_eq!(call.headers["x-a2a-extensions"], "urn:x");
        assert_eq!(call.headers["a2a-version"], said);
        assert_eq!(call.version.to_string(), said);
    }
}

#[tokio::test]
async fn a_stream_of_an_older_version_ends_when_its_task_waits() {
    let agent = echo::serve_older(Arc::new(Echo::default())).await;
    for (version, binding) in
        [("0.3", Binding::JsonRpc), ("0.3", Binding::HttpJson), ("0.1", Binding::JsonRpc)]
    {
        let client = older_client(&agent, version, binding);
        let stream = client.send_streaming_message(says("asks"), SOON).await.expect("a stream");
        let events: Vec<_> =
            tokio::time::timeout(SOON, stream.collect()).await.expect("it ends by itself");
        let last = events.last().expect("an event").as_ref().expect("no error");
        assert!(last.state().is_some_and(TaskState::is_interrupted), "{version}: {last:?}");
    }
}

#[tokio::test]
async fn a_message_that_begins_a_task_of_0_1_gives_it_its_id_and_its_context_stays() {
    let echo = Arc::new(Echo::default());
    let agent = echo::serve_older(echo.clone()).await;
    let client = older_client(&agent, "0.1", Binding::JsonRpc);
    let message = Message::user(vec![Part::text("hi")]).with_id("m-7").with_context("session");
    let request = SendMessageRequest::from(message);
    let answer = client.send_message(request.clone(), SOON).await.expect("a task");
    let answer = serde_json::to_value(&answer).expect("JSON");
    assert_eq!(
        (&answer["task"]["id"], &answer["task"]["contextId"]),
        (&"m-7".into(), &"session".into())
    );
    let stream = client.send_streaming_message(request, SOON).await.expect("a stream");
    let ids: Vec<_> = stream
        .map(|event| {
            let event = event.expect("no error");
            (event.task_id().to_owned(), event.context_id().to_owned())
        })
        .collect()
        .await;
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|one| *one == ("m-7".to_owned(), "session".to_owned())), "{ids:?}");
}

#[tokio::test]
async fn a_peer_finds_the_version_that_an_agent_speaks_and_remembers_it() {
    let current = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let both = echo::serve_older(Arc::new(Echo::default())).await;
    for (agent, listed, binding) in [
        (&current, "0.3", Binding::JsonRpc),
        (&current, "0.1", Binding::JsonRpc),
        (&current, "0.2", Binding::HttpJson),
        (&both, "0.3", Binding::JsonRpc),
    ] {
        let interfaces = vec![older(agent, listed, binding)];
        let peer = Peer::new(&outbound(), interfaces, ClientLimits::default()).expect("one");
        peer.send_message(says("hi"), SOON).await.expect("an answer");
        let spoken = if std::ptr::eq(agent, &raw const both) { listed } else { "1.0" };
        assert_eq!(peer.preferred().interface().version, spoken, "{listed} {binding}");
        assert_eq!(peer.interfaces().count(), 1, "what is guessed is not listed");
        peer.get_task(get_task(), SOON).await.expect("a task");
    }
}

#[tokio::test]
async fn a_peer_tries_the_oldest_version_when_no_method_is_known() {
    let refusal = |id: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
        )
    };
    let task = r#"{"jsonrpc":"2.0","id":1,"result":{"id":"m-1","sessionId":null,"status":{"state":"completed"},"artifacts":[{"parts":[{"type":"text","text":"hi"}],"index":0}]}}"#;
    let answers = [refusal(1), refusal(1), task.to_owned()].map(|body| {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
    });
    let agent = Canned::in_turn(&answers.each_ref().map(String::as_str)).await;
    let interfaces = vec![interface(&agent.url)];
    let peer = Peer::new(&outbound(), interfaces, ClientLimits::default()).expect("one");
    peer.send_message(says("hi"), SOON).await.expect("an answer of 0.1");
    assert_eq!(peer.preferred().interface().version, "0.1");
}
