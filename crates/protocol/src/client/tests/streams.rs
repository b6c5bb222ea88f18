//! Streams that do and do not go well.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;

use super::{Canned, End, SOON, client, client_with};
use crate::{
    client::{ClientError, ClientStream, Delivery, FailureClass},
    echo::{self, Echo, TASK, says},
    error::ErrorKind,
    limits::{ClientLimits, ServerLimits},
    v1::{StreamResponse, SubscribeToTaskRequest, TaskState},
};

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n";

fn event(id: u32, result: &str) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n\n")
}

fn working() -> String {
    event(1, r#"{"task":{"id":"task-1","status":{"state":"TASK_STATE_WORKING"}}}"#)
}

fn completed() -> String {
    event(1, r#"{"statusUpdate":{"taskId":"task-1","status":{"state":"TASK_STATE_COMPLETED"}}}"#)
}

async fn open(canned: &Canned, limits: ClientLimits) -> ClientStream {
    client_with(&canned.url, limits)
        .send_streaming_message(says("hi"), SOON)
        .await
        .expect("the stream opens")
}

/// Reads a canned stream to its end, which closes the connection.
async fn read(stream: &str) -> Vec<Result<StreamResponse, ClientError>> {
    let canned = Canned::new(&[&format!("{HEAD}{stream}")], End::Closed).await;
    let events = open(&canned, ClientLimits::default()).await.collect();
    tokio::time::timeout(SOON, events).await.expect("the stream ends in time")
}

/// Reads a canned stream whose second item must be an error and the last.
async fn second_is_an_error(stream: &str) -> ClientError {
    let mut items = read(stream).await;
    assert_eq!(items.len(), 2, "{items:?}");
    assert!(items[0].is_ok(), "{items:?}");
    items.remove(1).expect_err("the second item is an error")
}

#[tokio::test]
async fn events_come_in_order_whatever_lies_between_them() {
    let stream =
        format!(": hello\n\nevent: x\n{}: keep-alive\n\nid: 7\n{}", working(), completed());
    let states: Vec<_> =
        read(&stream).await.into_iter().map(|event| event.expect("an event").state()).collect();
    assert_eq!(states, [Some(TaskState::Working), Some(TaskState::Completed)]);
}

#[tokio::test]
async fn an_agent_that_answers_without_a_stream_is_a_stream_of_one_event() {
    for result in [
        r#"{"task":{"id":"task-1","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
        r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#,
    ] {
        let canned =
            Canned::json(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).await;
        let events: Vec<_> = open(&canned, ClientLimits::default()).await.collect().await;
        assert_eq!(events.len(), 1);
        assert!(events[0].as_ref().is_ok_and(|event| event.payload.is_some()));
    }
    let canned = Canned::json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    let error =
        client(&canned.url).send_streaming_message(says("hi"), SOON).await.expect_err("no event");
    assert_eq!(error.class, FailureClass::InvalidResponse);
}

#[tokio::test]
async fn an_error_before_the_first_event_fails_the_call() {
    let agent = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let error = client(&agent.url)
        .send_streaming_message(says("early error"), SOON)
        .await
        .expect_err("an error");
    assert_eq!(error.kind, Some(ErrorKind::TaskNotFound));
}

#[tokio::test]
async fn an_error_event_is_the_last_item() {
    let agent = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let events: Vec<_> = client(&agent.url)
        .send_streaming_message(says("late error"), SOON)
        .await
        .expect("opens")
        .collect()
        .await;
    assert_eq!(events.len(), 2);
    assert_eq!(events[1].as_ref().expect_err("an error").kind, Some(ErrorKind::Unavailable));
}

#[tokio::test]
async fn events_that_are_not_ours_end_the_stream_and_say_why() {
    let bad = [
        "data: nonsense\n\n".to_owned(),
        "data: <html>\n\n".to_owned(),
        event(2, r#"{"task":{"id":"task-1","status":{"state":"TASK_STATE_WORKING"}}}"#),
        event(1, r#"{"statusUpdate":{"taskId":"other","status":{"state":"TASK_STATE_WORKING"}}}"#),
        event(1, r#"{"artifactUpdate":{"taskId":"other","artifact":{"artifactId":"a"}}}"#),
        event(1, r#"{"task":{"id":"other","status":{"state":"TASK_STATE_WORKING"}}}"#),
        event(1, r#"{"statusUpdate":{"taskId":"task-1"}}"#),
        event(1, r#"{"artifactUpdate":{"taskId":"task-1"}}"#),
        event(1, r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}"#),
        event(1, "{}"),
        event(1, r#"{"kind":"status-update","final":true}"#),
    ];
    let mut lines = Vec::new();
    for bad in bad {
        let error = second_is_an_error(&format!("{}{bad}{}", working(), completed())).await;
        assert_eq!(
            (error.class, error.delivery),
            (FailureClass::InvalidResponse, Delivery::Answered)
        );
        let (_, why) = error.message.split_once("is not usable: ").expect("it says why");
        lines.push(why.split("; check that").next().expect("a text").to_owned());
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    it is not JSON-RPC: nonsense
    it is a web page (HTML), not JSON-RPC
    it carries the id 2 instead of 1
    it is about task "other" instead of "task-1"
    it is about task "other" instead of "task-1"
    it is about task "other" instead of "task-1"
    a status update has no status
    an artifact update has no artifact
    it is about a task without an id
    an event holds none of task, message, statusUpdate and artifactUpdate
    an event holds none of task, message, statusUpdate and artifactUpdate
    "#);
}

#[tokio::test]
async fn a_subscription_wants_the_events_of_its_task() {
    let other = event(1, r#"{"task":{"id":"other","status":{"state":"TASK_STATE_WORKING"}}}"#);
    let canned = Canned::new(&[&format!("{HEAD}{other}")], End::Closed).await;
    let subscribe =
        SubscribeToTaskRequest { id: TASK.to_owned(), ..SubscribeToTaskRequest::default() };
    let mut events = client(&canned.url).subscribe_to_task(subscribe, SOON).await.expect("opens");
    let error = events.next().await.expect("an item").expect_err("another task");
    assert!(error.message.contains(r#"about task "other" instead of "task-1""#), "{error}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_stream_that_ends_early_just_ends_and_half_an_event_is_dropped() {
    let items = read(&format!("{}data: {{\"jsonrpc\":\"2.0\"", working())).await;
    assert_eq!(items.len(), 1, "{items:?}");
}

#[tokio::test]
async fn a_connection_cut_inside_a_stream_is_an_error_that_says_so() {
    let chunked =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let canned = Canned::new(
        &[&format!("{chunked}{:x}\r\n{}\r\n", working().len(), working())],
        End::Closed,
    )
    .await;
    let items: Vec<_> = open(&canned, ClientLimits::default()).await.collect().await;
    let error = items[1].as_ref().expect_err("cut");
    assert_eq!(
        (items.len(), error.class, error.delivery),
        (2, FailureClass::Unavailable, Delivery::Answered)
    );
    assert!(
        error.message.starts_with(&format!("the connection to {} broke: ", canned.url)),
        "{error}"
    );
}

#[tokio::test]
async fn an_event_over_the_limit_ends_the_stream() {
    let limit = working().len() - "data: \n\n".len();
    let limits = |max_event_bytes| ClientLimits { max_event_bytes, ..ClientLimits::default() };
    let canned = Canned::new(&[&format!("{HEAD}{}", working())], End::Closed).await;
    let items: Vec<_> = open(&canned, limits(limit + 6)).await.collect().await;
    assert!(items[0].is_ok(), "{items:?}");
    let items: Vec<_> = open(&canned, limits(limit - 1)).await.collect().await;
    let error = items[0].as_ref().expect_err("too large");
    assert!(
        error.message.contains(&format!("an event is larger than {} bytes", limit - 1)),
        "{error}"
    );
}

#[tokio::test]
async fn a_stream_may_be_silent_only_so_long() {
    let canned = Canned::new(&[&format!("{HEAD}{}", working()), "never"], End::Open).await;
    let limits = ClientLimits { stream_idle: Duration::from_millis(50), ..ClientLimits::default() };
    let items: Vec<_> = open(&canned, limits).await.collect().await;
    let error = items[1].as_ref().expect_err("silent");
    assert_eq!(
        (items.len(), error.class, error.delivery),
        (2, FailureClass::Timeout, Delivery::Answered)
    );
    assert!(error.message.ends_with("was silent for 50ms; ask for the task instead"), "{error}");
}

#[tokio::test]
async fn the_first_event_may_take_as_long_as_the_call() {
    let canned = Canned::new(&[HEAD, &working(), "never"], End::Open).await;
    let idle = Duration::from_millis(50);
    let limits = ClientLimits { stream_idle: idle, ..ClientLimits::default() };
    let mut stream = open(&canned, limits).await;
    let nothing = tokio::time::timeout(idle * 6, stream.next()).await;
    assert!(nothing.is_err(), "the agent is still answering: {nothing:?}");
    canned.rest.notify_one();
    assert!(stream.next().await.expect("an item").is_ok());
    let error = stream.next().await.expect("an item").expect_err("silent");
    assert!(error.message.contains("was silent for 50ms"), "{error}");
}

#[tokio::test]
async fn a_task_that_is_known_is_not_waited_for_when_its_stream_begins_with_silence() {
    let canned = Canned::new(&[HEAD, "never"], End::Open).await;
    let limits = ClientLimits { stream_idle: Duration::from_millis(50), ..ClientLimits::default() };
    let client = client_with(&canned.url, limits);
    let mut answer = says("hi");
    answer.message.as_mut().expect("one").task_id = "task-1".to_owned();
    let request = SubscribeToTaskRequest { id: "task-1".to_owned(), ..Default::default() };
    let streams = [
        client.send_streaming_message(answer, SOON).await.expect("opens"),
        client.subscribe_to_task(request, SOON).await.expect("opens"),
    ];
    for mut stream in streams {
        let error = stream.next().await.expect("an item").expect_err("silent");
        assert!(error.message.contains("was silent for 50ms"), "{error}");
    }
}

#[tokio::test]
async fn a_stream_without_a_first_event_ends_with_the_call() {
    let canned = Canned::new(&[HEAD, "never"], End::Open).await;
    let limits = ClientLimits { stream_idle: Duration::from_millis(10), ..ClientLimits::default() };
    let client = client_with(&canned.url, limits);
    let deadline = Duration::from_millis(300);
    let stream = client.send_streaming_message(says("hi"), deadline).await.expect("opens");
    let items: Vec<_> = stream.collect().await;
    assert_eq!(items.len(), 1);
    let error = items[0].as_ref().expect_err("silent");
    assert_eq!(error.class, FailureClass::Timeout);
}

#[tokio::test]
async fn comments_keep_a_silent_stream_open() {
    // The agent's comments come every 40 ms: three idle times pass, and the stream is still there.
    let agent = echo::serve(Arc::new(Echo::default()), echo::quick()).await;
    let limits =
        ClientLimits { stream_idle: Duration::from_millis(400), ..ClientLimits::default() };
    let mut events = client_with(&agent.url, limits)
        .send_streaming_message(says("silent"), SOON)
        .await
        .expect("opens");
    assert!(events.next().await.expect("the task").is_ok());
    let nothing = tokio::time::timeout(Duration::from_millis(1200), events.next()).await;
    assert!(nothing.is_err(), "the stream gave up: {nothing:?}");
}

#[tokio::test]
async fn the_deadline_of_the_call_does_not_cut_the_stream() {
    let canned = Canned::new(&[&format!("{HEAD}{}", working()), &completed()], End::Closed).await;
    let deadline = Duration::from_millis(300);
    let mut events =
        client(&canned.url).send_streaming_message(says("hi"), deadline).await.expect("opens");
    assert!(events.next().await.expect("an item").is_ok());
    assert!(
        tokio::time::timeout(deadline * 2, events.next()).await.is_err(),
        "nothing comes until the rest is let go"
    );
    canned.rest.notify_one();
    assert!(events.next().await.expect("an item").is_ok());
}

#[tokio::test]
async fn dropping_a_stream_is_noticed_by_the_agent() {
    let service = Arc::new(Echo::default());
    let agent = echo::serve(service.clone(), echo::quick()).await;
    let mut events =
        client(&agent.url).send_streaming_message(says("silent"), SOON).await.expect("opens");
    assert!(events.next().await.expect("the task").is_ok());
    assert_eq!(Arc::strong_count(&service.streams), 2);
    drop(events);
    let gone = async {
        while Arc::strong_count(&service.streams) > 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, gone).await.expect("the agent notices");
}
