//! Streams of events, and the end of a server.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

use super::{SOON, agent, post};
use crate::{
    echo::{self, Echo, Running},
    limits::ServerLimits,
    server::{router, socket::serve_with_drain},
};

fn stream(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"s","method":"SendStreamingMessage","params":{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

fn request(body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: agent\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads from a stream until a text has come.
async fn read_until(socket: &mut TcpStream, text: &str) -> String {
    let mut read = Vec::new();
    let until = async {
        while !String::from_utf8_lossy(&read).contains(text) {
            let mut piece = [0; 1024];
            let length = socket.read(&mut piece).await.expect("the agent answers");
            assert!(length > 0, "the stream ended with {}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&piece[..length]);
        }
    };
    tokio::time::timeout(SOON, until).await.expect("in time");
    String::from_utf8(read).expect("UTF-8")
}

async fn open(agent: &Running, text: &str) -> TcpStream {
    let mut socket = TcpStream::connect(&agent.address).await.expect("the agent listens");
    socket.write_all(request(&stream(text)).as_bytes()).await.expect("the agent reads");
    socket
}

#[tokio::test]
async fn events_come_one_data_line_each_under_the_requests_id() {
    insta::assert_snapshot!(post(&agent().await, &stream("hi")).await, @r#"
    HTTP/1.1 200 OK
    content-type: text/event-stream
    cache-control: no-cache
    x-accel-buffering: no
    connection: close
    transfer-encoding: chunked

    AB
    data: {"jsonrpc":"2.0","id":"s","result":{"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}}}


    BA
    data: {"jsonrpc":"2.0","id":"s","result":{"artifactUpdate":{"taskId":"task-1","contextId":"context-1","artifact":{"artifactId":"artifact-1","parts":[{"text":"hi"}]},"lastChunk":true}}}


    B9
    data: {"jsonrpc":"2.0","id":"s","result":{"statusUpdate":{"taskId":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"}}}}


    0
    "#);
}

#[tokio::test]
async fn a_subscription_begins_with_the_task() {
    let body = r#"{"jsonrpc":"2.0","id":5,"method":"SubscribeToTask","params":{"id":"task-1"}}"#;
    let answer = post(&agent().await, body).await;
    let events: Vec<&str> = answer.lines().filter(|line| line.starts_with("data: ")).collect();
    insta::assert_snapshot!(events.join("\n"), @r#"
    data: {"jsonrpc":"2.0","id":5,"result":{"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}}}
    data: {"jsonrpc":"2.0","id":5,"result":{"statusUpdate":{"taskId":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-01-02T03:04:05.678Z"}}}}
    "#);
}

#[tokio::test]
async fn an_error_before_the_first_event_is_a_plain_answer() {
    let agent = agent().await;
    for text in ["early error", "TASK_NOT_FOUND"] {
        let answer = post(&agent, &stream(text)).await;
        assert!(answer.contains("content-type: application/json"), "{answer}");
        assert!(answer.contains(r#""id":"s","error":{"code":-32001"#), "{answer}");
    }
    let answer = post(&agent, &stream("nothing")).await;
    assert!(
        answer.contains("-32603") && answer.contains("ended the stream before its first event"),
        "{answer}"
    );
}

#[tokio::test]
async fn an_error_after_the_first_event_is_the_last_event() {
    let answer = post(&agent().await, &stream("late error")).await;
    let events: Vec<&str> = answer.lines().filter(|line| line.starts_with("data: ")).collect();
    assert_eq!(events.len(), 2, "{answer}");
    insta::assert_snapshot!(events[1], @r#"data: {"jsonrpc":"2.0","id":"s","error":{"code":-32094,"message":"gone","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"UNAVAILABLE"}]}}"#);
}

#[tokio::test]
async fn a_silent_stream_carries_comments_even_before_its_first_event() {
    let agent = echo::serve(Arc::new(Echo::default()), echo::quick()).await;
    let answer = read_until(&mut open(&agent, "silent").await, ": keep-alive").await;
    assert!(answer.contains("TASK_STATE_WORKING"), "{answer}");
    let answer = read_until(&mut open(&agent, "mute").await, ": keep-alive").await;
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_stream_at_the_agent() {
    let service = Arc::new(Echo::default());
    let agent = echo::serve(service.clone(), echo::quick()).await;
    let mut socket = open(&agent, "silent").await;
    read_until(&mut socket, "TASK_STATE_WORKING").await;
    assert_eq!(Arc::strong_count(&service.streams), 2);
    drop(socket);
    let gone = async {
        while Arc::strong_count(&service.streams) > 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, gone).await.expect("the agent notices");
}

#[tokio::test]
async fn a_shutdown_ends_open_streams_and_waits_for_calls_under_way() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let shutdown = CancellationToken::new();
    let ended = tokio::spawn(serve_with_drain(
        listener,
        router(Arc::new(Echo::default())),
        shutdown.clone(),
        SOON,
    ));
    let mut socket = TcpStream::connect(address).await.expect("the agent listens");
    socket.write_all(request(&stream("silent")).as_bytes()).await.expect("the agent reads");
    read_until(&mut socket, "TASK_STATE_WORKING").await;
    // An idle connection must not hold the end up either.
    let _idle = TcpStream::connect(address).await.expect("the agent listens");
    shutdown.cancel();
    let rest = read_until(&mut socket, "0\r\n\r\n").await;
    assert!(rest.ends_with("0\r\n\r\n"), "the stream is ended, not cut: {rest:?}");
    tokio::time::timeout(SOON, ended).await.expect("in time").expect("no panic").expect("no error");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_call_that_outlasts_the_drain_is_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let (shutdown, service) = (CancellationToken::new(), Arc::new(Echo::default()));
    let drain = Duration::from_millis(50);
    let ended =
        tokio::spawn(serve_with_drain(listener, router(service.clone()), shutdown.clone(), drain));
    let mut socket = TcpStream::connect(address).await.expect("the agent listens");
    let body = stream("pending").replace("SendStreamingMessage", "SendMessage");
    socket.write_all(request(&body).as_bytes()).await.expect("the agent reads");
    let called = async {
        while service.last.lock().expect("no panic").is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, called).await.expect("the call arrives");
    shutdown.cancel();
    tokio::time::timeout(SOON, ended).await.expect("in time").expect("no panic").expect("no error");
    let mut rest = Vec::new();
    assert_eq!(socket.read_to_end(&mut rest).await.unwrap_or(0), 0, "no answer came");
}

#[tokio::test]
async fn http_2_without_tls_is_spoken_on_the_same_port() {
    let agent = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let client =
        reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().expect("a client");
    let request = client
        .post(&agent.url)
        .header("a2a-version", "1.0")
        .header("content-type", "application/json");
    let answer = request.body(stream("hi")).send().await.expect("an answer");
    assert_eq!(answer.version(), http::Version::HTTP_2);
    assert_eq!(answer.text().await.expect("a body").matches("data: ").count(), 3);
}
