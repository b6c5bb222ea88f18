//! gRPC as a client, against agents that answer otherwise than ours.

use std::{io, sync::Arc};

use axum::{Router, body::Body, response::Response};
use futures_util::{StreamExt, stream};
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{SOON, interface};
use crate::{
    card::Binding,
    client::{Client, ClientError, Interface},
    echo::{TASK, says},
    outbound::{Outbound, Policy},
    server,
    v1::{CancelTaskRequest, GetTaskRequest, TaskState},
};

/// A server that answers everything alike.
pub(super) async fn answering(
    answer: impl Fn() -> Response + Clone + Send + Sync + 'static,
) -> (String, DropGuard) {
    let router = Router::new().fallback(async move || answer());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address").to_string();
    let stop = CancellationToken::new();
    tokio::spawn(server::serve(listener, router, stop.clone()));
    (address, stop.drop_guard())
}

fn client(address: &str) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    let interface = Interface { binding: Binding::Grpc, ..interface(address) };
    Client::new(outbound, interface).expect("it can be called")
}

fn line(error: &ClientError, address: &str) -> String {
    let kind = error.kind.map_or("-".to_owned(), |kind| kind.to_string());
    let message = error.message.replace(address, "agent");
    format!("{:?} {kind} {:?}: {message}", error.class, error.delivery)
}

fn status(code: &'static str) -> Response {
    Response::builder()
        .header("content-type", "application/grpc")
        .header("grpc-status", code)
        .header("grpc-message", "no%20way")
        .body(Body::empty())
        .expect("a response")
}

#[tokio::test]
async fn codes_without_a_reason_are_understood_by_the_operation() {
    let answers: [fn() -> Response; 10] = [
        || status("3"),
        || status("5"),
        || status("9"),
        // A2A 1.0.0 for what is unsupported.
        || status("12"),
        || status("1"),
        || status("2"),
        || status("8"),
        || status("13"),
        || status("14"),
        || status("16"),
    ];
    let mut lines = Vec::new();
    for answer in answers {
        let (address, _guard) = answering(answer).await;
        let client = client(&address);
        let cancel = CancelTaskRequest { id: TASK.to_owned(), ..CancelTaskRequest::default() };
        let error = client.cancel_task(cancel, SOON).await.expect_err("an error");
        lines.push(line(&error, &address));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    Invalid INVALID_PARAMS Answered: http://agent/ answered: no way (INVALID_PARAMS); change the request
    NotFound TASK_NOT_FOUND Answered: http://agent/ answered: no way (TASK_NOT_FOUND); check the address and the ids in the request
    Invalid TASK_NOT_CANCELABLE Answered: http://agent/ answered: no way (TASK_NOT_CANCELABLE); change the request
    Unsupported UNSUPPORTED_OPERATION NotTaken: http://agent/ answered: no way (UNSUPPORTED_OPERATION); see its card for what it does
    Unavailable UNAVAILABLE Answered: http://agent/ answered: no way (UNAVAILABLE); try again later
    Internal - Answered: http://agent/ answered: no way (unknown code 2); tell its operator, or try another agent
    RateLimited RESOURCE_EXHAUSTED Answered: http://agent/ answered: no way (RESOURCE_EXHAUSTED); call it less often
    Internal INTERNAL Answered: http://agent/ answered: no way (INTERNAL); tell its operator, or try another agent
    Unavailable UNAVAILABLE Answered: http://agent/ answered: no way (UNAVAILABLE); try again later
    Unauthorized UNAUTHENTICATED Answered: http://agent/ answered: no way (UNAUTHENTICATED); check the credentials for this agent
    ");
}

fn page(status: u16, content_type: &'static str, body: &'static str) -> Response {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(Body::from(body)).expect("a response")
}

fn grpc(body: &'static [u8]) -> Response {
    let response = Response::builder().header("content-type", "application/grpc");
    response.body(Body::from(body)).expect("a response")
}

#[tokio::test]
async fn answers_that_are_not_grpc_say_so() {
    let answers: [fn() -> Response; 7] = [
        || page(200, "text/html", "<html>"),
        || page(404, "application/json", "{}"),
        || page(503, "text/plain", "upstream connect error"),
        || page(401, "text/plain", "who are you?"),
        || grpc(b""),
        || grpc(b"\0\0\0\0\x02\x12\x7f"),
        || grpc(b"<html>"),
    ];
    let mut lines = Vec::new();
    for answer in answers {
        let (address, _guard) = answering(answer).await;
        let get = GetTaskRequest { id: TASK.to_owned(), ..GetTaskRequest::default() };
        let error = client(&address).get_task(get, SOON).await.expect_err("an error");
        lines.push(line(&error, &address));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    InvalidResponse - NotTaken: the answer of http://agent/ is not usable: it answered HTTP 200 OK, text/html, and not gRPC, and was called by GRPC; check in the agent's card which binding this address is of
    InvalidResponse - NotTaken: the answer of http://agent/ is not usable: it answered HTTP 404 Not Found, application/json, and not gRPC, and was called by GRPC; check in the agent's card which binding this address is of
    Unavailable UNAVAILABLE Answered: http://agent/ answered HTTP 503 Service Unavailable: upstream connect error; try again later
    Unauthorized UNAUTHENTICATED Answered: http://agent/ answered HTTP 401 Unauthorized: who are you?; check the credentials for this agent
    Unavailable - Unknown: the connection to http://agent/ broke: it ended without a status
    InvalidResponse - Answered: the answer of http://agent/ is not usable: failed to decode Protobuf message: Task.context_id: buffer underflow; check that the address is an A2A interface, and tell its operator
    InvalidResponse - Answered: the answer of http://agent/ is not usable: protocol error: received message with invalid compression flag: 60 (valid flags are 0 and 1) while receiving response with status: 200 OK; check that the address is an A2A interface, and tell its operator
    ");
}

/// One event (task `task-1`, working); then, when it is told to, the stream ends or breaks.
fn cut(go_on: Arc<Notify>, breaks: bool) -> Response {
    let event = Ok(&b"\0\0\0\0\x0e\x0a\x0c\x0a\x06task-1\x1a\x02\x08\x02"[..]);
    let rest = stream::once(async move {
        go_on.notified().await;
        breaks.then(|| Err(io::Error::other("gone")))
    });
    let body = stream::iter([Some(event)]).chain(rest).filter_map(async |item| item);
    let response = Response::builder().header("content-type", "application/grpc");
    response.body(Body::from_stream(body)).expect("a response")
}

#[tokio::test]
async fn a_stream_that_is_cut_is_an_error_after_its_events() {
    let mut lines = Vec::new();
    for breaks in [false, true] {
        let go_on = Arc::new(Notify::new());
        let signal = go_on.clone();
        let (address, _guard) = answering(move || cut(signal.clone(), breaks)).await;
        let stream = client(&address).send_streaming_message(says("hi"), SOON).await;
        let mut stream = stream.expect("a stream");
        let event = stream.next().await.expect("an item").expect("an event");
        assert_eq!(event.state(), Some(TaskState::Working));
        go_on.notify_one();
        let items: Vec<_> = stream.collect().await;
        assert_eq!(items.len(), 1, "{items:?}");
        lines.push(line(items[0].as_ref().expect_err("it was cut"), &address));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    Unavailable - Answered: the connection to http://agent/ broke: it ended without a status
    Unavailable - Answered: the connection to http://agent/ broke: stream error received: unexpected internal error encountered
    ");
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_unavailable_and_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address").to_string();
    drop(listener);
    let error = client(&address).send_message(says("hi"), SOON).await.expect_err("nobody listens");
    insta::assert_snapshot!(line(&error, &address), @r"Unavailable - NotSent: http://agent/ cannot be reached: Connection refused (os error 111); is it running, and is the address right?");
}

#[tokio::test]
async fn a_name_that_leads_inside_is_never_called() {
    let outbound = Outbound::new(Policy::default()).expect("a client can be built");
    let interface = Interface { binding: Binding::Grpc, ..interface("localhost:1") };
    let client = Client::new(outbound, interface).expect("a name is judged when it is used");
    let error = client.send_message(says("hi"), SOON).await.expect_err("refused");
    assert!(error.message.contains("loopback address and not allowed"), "{error}");
}
