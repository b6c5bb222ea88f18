//! The six operations, and what goes over the wire for them.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::StreamExt;

use super::{Canned, Client, End, Interface, SOON, client, client_with, interface, is_untaken};
use crate::{
    card::Binding,
    client::{Delivery, FailureClass},
    echo::{self, Echo, TASK, says},
    error::ErrorKind,
    limits::{ClientLimits, ServerLimits},
    outbound::{Outbound, Policy},
    v1::{
        AgentInterface, CancelTaskRequest, GetTaskRequest, ListTasksRequest,
        SubscribeToTaskRequest, TaskState, send_message_response::Payload,
    },
};

const TASK_REPLY: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"id":"task-1","status":{"state":"TASK_STATE_WORKING"}}}"#;

fn get_task() -> GetTaskRequest {
    GetTaskRequest { id: TASK.to_owned(), ..GetTaskRequest::default() }
}

#[tokio::test]
async fn the_six_operations_reach_the_service_and_come_back() {
    let agent = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let client = client(&agent.url);
    let sent = client.send_message(says("hi"), SOON).await.expect("a task");
    let Some(Payload::Task(task)) = sent.payload else { panic!("no task") };
    assert_eq!(task.artifacts[0].text(), "hi");
    let sent = client.send_message(says("message"), SOON).await.expect("a message");
    assert!(matches!(sent.payload, Some(Payload::Message(message)) if message.text() == "hello"));
    let task = client.get_task(get_task(), SOON).await.expect("a task");
    assert_eq!(task, echo::task(TaskState::Working));
    let listed = client
        .list_tasks(ListTasksRequest { page_size: Some(7), ..ListTasksRequest::default() }, SOON)
        .await
        .expect("a page");
    assert_eq!(listed.page_size, 7);
    let cancel = CancelTaskRequest { id: TASK.to_owned(), ..CancelTaskRequest::default() };
    assert_eq!(
        client.cancel_task(cancel, SOON).await.expect("a task").state(),
        TaskState::Canceled
    );
    let events = client.send_streaming_message(says("hi"), SOON).await.expect("a stream");
    let states: Vec<_> = events.map(|event| event.expect("an event").state()).collect().await;
    assert_eq!(states, [Some(TaskState::Working), None, Some(TaskState::Completed)]);
    let subscribe =
        SubscribeToTaskRequest { id: TASK.to_owned(), ..SubscribeToTaskRequest::default() };
    let events = client.subscribe_to_task(subscribe, SOON).await.expect("a stream");
    let states: Vec<_> = events.map(|event| event.expect("an event").state()).collect().await;
    assert_eq!(states, [Some(TaskState::Working), Some(TaskState::InputRequired)]);
}

#[tokio::test]
async fn a_request_goes_out_as_the_specification_has_it() {
    let agent = Canned::json(TASK_REPLY).await;
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    let tenant = Interface { tenant: "blue/1".to_owned(), ..interface(&agent.url) };
    let client = Client::new(outbound, tenant)
        .expect("spoken")
        .with_extensions(["urn:a", "not, one", "urn:b"]);
    client
        .get_task(
            GetTaskRequest { tenant: "red".to_owned(), history_length: Some(0), ..get_task() },
            SOON,
        )
        .await
        .expect("a task");
    let request = agent
        .last_request()
        .replace(agent.url.trim_start_matches("http://").trim_end_matches('/'), "AGENT");
    insta::assert_snapshot!(request, @r#"
    POST / HTTP/1.1
    content-type: application/json
    accept: application/json
    a2a-version: 1.0
    a2a-extensions: urn:a,urn:b
    user-agent: convoke/0.1.0
    accept-encoding: gzip
    host: AGENT
    content-length: 104

    {"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"tenant":"blue/1","id":"task-1","historyLength":0}}
    "#);
}

#[tokio::test]
async fn without_tenant_and_extensions_the_request_is_left_as_it_is() {
    let agent = Canned::json(TASK_REPLY).await;
    client(&agent.url)
        .get_task(GetTaskRequest { tenant: "red".to_owned(), ..get_task() }, SOON)
        .await
        .expect("a task");
    let request = agent.last_request();
    assert!(request.contains(r#""params":{"tenant":"red","id":"task-1"}"#), "{request}");
    assert!(!request.contains("a2a-extensions"), "{request}");
}

#[tokio::test]
async fn what_only_reads_is_asked_once_more_when_its_connection_breaks() {
    let reply = TASK_REPLY;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let answer = format!("{head}Content-Length: {}\r\n\r\n{reply}", reply.len());
    let agent = Canned::in_turn(&["", &answer]).await;
    client(&agent.url).get_task(get_task(), SOON).await.expect("a task");
    let agent = Canned::in_turn(&["", "", &answer]).await;
    let error = client(&agent.url).get_task(get_task(), SOON).await.expect_err("broken twice");
    assert_eq!(error.class, FailureClass::Unavailable);
    let agent = Canned::in_turn(&["", &answer]).await;
    let error = client(&agent.url).send_message(says("hi"), SOON).await.expect_err("sent once");
    assert_eq!(error.delivery, Delivery::Unknown);
    assert_eq!(agent.requests.lock().expect("no test panics in here").len(), 1);
}

#[tokio::test]
async fn calls_one_after_the_other_share_a_connection_and_count_their_ids() {
    let agent = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let client = client(&agent.url);
    for _ in 0..5 {
        client.clone().get_task(get_task(), SOON).await.expect("a task");
    }
    let canned = Canned::json(TASK_REPLY).await;
    let client = super::client(&canned.url);
    client.get_task(get_task(), SOON).await.expect("a task");
    let second = client.get_task(get_task(), SOON).await.expect_err("the answer is to call 1");
    assert!(second.message.contains("carries the id 1 instead of 2"), "{second}");
    assert_eq!(canned.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn nothing_is_sent_where_nobody_listens() {
    let listener =
        tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let url = format!("http://{}/", listener.local_addr().expect("a bound socket has an address"));
    drop(listener);
    let error = client(&url).get_task(get_task(), SOON).await.expect_err("nobody there");
    assert_eq!(
        (error.class, error.delivery, error.is_retryable()),
        (FailureClass::Unavailable, Delivery::NotSent, true)
    );
    assert_eq!(
        error.to_string(),
        format!(
            "GetTask failed: {url} cannot be reached: Connection refused (os error 111); is it running, and is the address right?"
        )
    );
}

#[tokio::test]
async fn an_agent_that_never_answers_costs_the_deadline_and_may_have_acted() {
    let agent = Canned::new(&["", "never"], End::Open).await;
    for error in [
        client(&agent.url)
            .send_message(says("hi"), Duration::from_millis(50))
            .await
            .expect_err("too late"),
        client(&agent.url)
            .send_streaming_message(says("hi"), Duration::from_millis(50))
            .await
            .expect_err("too late"),
    ] {
        assert_eq!(
            (error.class, error.delivery, error.is_retryable()),
            (FailureClass::Timeout, Delivery::Unknown, true)
        );
        assert!(error.message.contains("did not answer within 50ms"), "{error}");
    }
}

#[tokio::test]
async fn a_connection_cut_before_the_answer_leaves_open_whether_the_agent_acted() {
    for pieces in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"",
    ] {
        let agent = Canned::new(&[pieces], End::Closed).await;
        let error = client(&agent.url).send_message(says("hi"), SOON).await.expect_err("cut");
        assert_eq!(
            (error.class, error.delivery),
            (FailureClass::Unavailable, Delivery::Unknown),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_given_up() {
    let agent = Canned::json(TASK_REPLY).await;
    let limits =
        |max_response_bytes| ClientLimits { max_response_bytes, ..ClientLimits::default() };
    client_with(&agent.url, limits(TASK_REPLY.len()))
        .get_task(get_task(), SOON)
        .await
        .expect("at the limit");
    let error = client_with(&agent.url, limits(TASK_REPLY.len() - 1))
        .get_task(get_task(), SOON)
        .await
        .expect_err("over it");
    assert_eq!((error.class, error.delivery), (FailureClass::InvalidResponse, Delivery::Answered));
    assert!(error.message.ends_with("is larger than 88 bytes"), "{error}");
}

#[test]
fn an_interface_that_cannot_be_called_says_why() {
    let outbound = Outbound::new(Policy::default()).expect("a client can be built");
    let said =
        |interface| Client::new(outbound.clone(), interface).expect_err("not callable").to_string();
    let grpc = Interface { binding: Binding::Grpc, ..interface("127.0.0.1:80") };
    let old = Interface { version: "0.3".to_owned(), ..grpc.clone() };
    let odd = Interface { version: "latest".to_owned(), ..interface("http://a.example/") };
    insta::assert_snapshot!([said(grpc), said(old), said(odd), said(interface("http://127.0.0.1/")), said(interface("a.example:443"))].join("\n"), @r#"
    http://127.0.0.1:80 leads to 127.0.0.1, which is a loopback address and not allowed; if it is meant, allow its network in the configuration
    127.0.0.1:80 speaks version "0.3" of A2A by GRPC, which is not spoken here; choose another interface of the agent, such as one of 1.0
    http://a.example/ speaks version "latest" of A2A by JSONRPC, which is not spoken here; choose another interface of the agent, such as one of 1.0
    http://127.0.0.1/ leads to 127.0.0.1, which is a loopback address and not allowed; if it is meant, allow its network in the configuration
    a.example:443 is not a URL that can be called: its scheme is a.example, not http or https
    "#);
    let patch = Interface { version: "1.0.1".to_owned(), ..interface("http://a.example/") };
    assert_eq!(
        Client::new(outbound, patch).expect("patches do not count").url(),
        "http://a.example/"
    );
}

#[test]
fn an_interface_is_taken_from_a_card_and_kept_as_json() {
    let of_card = AgentInterface {
        url: "http://a.example/".to_owned(),
        protocol_binding: "JSONRPC".to_owned(),
        tenant: "t".to_owned(),
        protocol_version: "1.0".to_owned(),
    };
    let interface = Interface::of(&of_card).expect("a known binding");
    let json = serde_json::to_string(&interface).expect("JSON");
    insta::assert_snapshot!(json, @r#"{"url":"http://a.example/","binding":"JSONRPC","tenant":"t","version":"1.0"}"#);
    assert_eq!(serde_json::from_str::<Interface>(&json).expect("read back"), interface);
    assert_eq!(
        Interface::of(&AgentInterface { protocol_binding: "urn:own".to_owned(), ..of_card }),
        None
    );
}

#[tokio::test]
async fn a_name_that_leads_inside_is_never_called() {
    let outbound = Outbound::new(Policy::default()).expect("a client can be built");
    let client = Client::new(outbound, interface("http://localhost:1/"))
        .expect("a name is judged when it is used");
    let error = client.get_task(get_task(), SOON).await.expect_err("refused");
    assert_eq!(
        (error.class, error.delivery, error.is_retryable()),
        (FailureClass::Invalid, Delivery::NotSent, false),
        "{error}"
    );
}

#[tokio::test]
async fn every_error_of_a_service_keeps_its_kind_and_its_delay() {
    let agent = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let client = client(&agent.url);
    for row in ErrorKind::table() {
        let unary = client.send_message(says(row.reason), SOON).await.expect_err("an error");
        let stream =
            client.send_streaming_message(says(row.reason), SOON).await.expect_err("an error");
        for error in [unary, stream] {
            assert_eq!(error.kind, Some(row.kind), "{error}");
            assert_eq!(error.is_untaken(), is_untaken(row.kind), "{error}");
            let delay = matches!(row.kind, ErrorKind::ResourceExhausted | ErrorKind::Unavailable)
                .then_some(Duration::from_secs(2));
            assert_eq!(error.retry_after, delay, "{error}");
        }
    }
    let error = client.send_message(says("TASK_NOT_FOUND"), SOON).await.expect_err("an error");
    assert_eq!(error.remote.expect("kept").metadata["taskId"], TASK);
}
