//! An agent with several interfaces.

use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use tokio::net::TcpListener;

use super::{Canned, End, SOON, bindings, interface};
use crate::{
    card::Binding,
    client::{Delivery, FailureClass, Interface, Peer},
    echo::{Echo, TASK, says},
    error::ErrorKind,
    limits::ClientLimits,
    outbound::{Outbound, Policy},
    server,
    v1::{
        AgentCard, AgentInterface, CancelTaskRequest, GetTaskRequest, ListTasksRequest,
        SubscribeToTaskRequest,
    },
};

fn peer(interfaces: Vec<Interface>) -> Peer {
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    Peer::new(&outbound, interfaces, ClientLimits::default()).expect("an interface")
}

fn get_task() -> GetTaskRequest {
    GetTaskRequest { id: TASK.to_owned(), ..GetTaskRequest::default() }
}

/// An interface where nobody listens.
async fn dead(binding: Binding) -> Interface {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    Interface { binding, ..interface(&format!("http://{address}/")) }
}

#[tokio::test]
async fn every_operation_falls_back_to_the_interface_that_answers() {
    let agent = bindings::agent(Echo::default()).await;
    for [first, second] in [
        [Binding::JsonRpc, Binding::HttpJson],
        [Binding::HttpJson, Binding::Grpc],
        [Binding::Grpc, Binding::JsonRpc],
    ] {
        let interfaces = vec![dead(first).await, bindings::interface(&agent, second)];
        let fresh = || peer(interfaces.clone());
        // Spawned, because what a peer does must be possible on any thread.
        let sent = fresh();
        let send = tokio::spawn(async move { sent.send_message(says("hi"), SOON).await });
        send.await.expect("no panic").expect("an answer");
        fresh().get_task(get_task(), SOON).await.expect("a task");
        fresh().list_tasks(ListTasksRequest::default(), SOON).await.expect("a page");
        let cancel = CancelTaskRequest { id: TASK.to_owned(), ..CancelTaskRequest::default() };
        fresh().cancel_task(cancel, SOON).await.expect("a task");
        let stream = fresh().send_streaming_message(says("hi"), SOON).await.expect("a stream");
        assert_eq!(stream.count().await, 3);
        let request = SubscribeToTaskRequest { id: TASK.to_owned(), ..Default::default() };
        let peer = fresh();
        let stream = peer.subscribe_to_task(request, SOON).await.expect("a stream");
        assert_eq!(stream.count().await, 2);
        assert_eq!(peer.preferred().interface().binding, second);
    }
}

/// Answers every request that the version is not supported.
const REFUSAL: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32009,"message":"only 0.3"}}"#;

#[tokio::test]
async fn a_refused_version_falls_back_and_what_worked_is_remembered_by_all_clones() {
    let old = Canned::json(REFUSAL).await;
    let agent = bindings::agent(Echo::with_extension("urn:x", true)).await;
    let peer = peer(vec![interface(&old.url), bindings::interface(&agent, Binding::HttpJson)])
        .with_extensions(&["urn:x"]);
    assert_eq!(peer.preferred().url(), old.url);
    peer.clone().get_task(get_task(), SOON).await.expect("a task");
    peer.get_task(get_task(), SOON).await.expect("a task");
    assert_eq!(old.requests.lock().expect("no test panics in here").len(), 1);
    assert_eq!(peer.preferred().interface().binding, Binding::HttpJson);
}

#[tokio::test]
async fn an_interface_that_answers_an_error_is_the_one_that_works() {
    let agent = bindings::agent(Echo::default()).await;
    let interfaces = vec![dead(Binding::Grpc).await, bindings::interface(&agent, Binding::JsonRpc)];
    let peer = peer(interfaces);
    let missing = GetTaskRequest { id: "other".to_owned(), ..GetTaskRequest::default() };
    let error = peer.get_task(missing, SOON).await.expect_err("no such task");
    assert_eq!(error.kind, Some(ErrorKind::TaskNotFound));
    assert_eq!(peer.preferred().interface().binding, Binding::JsonRpc);
    assert!(error.message.contains("; before that, http://127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn a_message_that_may_have_arrived_is_not_sent_to_another_interface() {
    let lossy = Canned::new(&[""], End::Closed).await;
    let second = Canned::json("{}").await;
    let peer = peer(vec![interface(&lossy.url), interface(&second.url)]);
    let error = peer.send_message(says("hi"), SOON).await.expect_err("lost");
    assert_eq!(error.delivery, Delivery::Unknown);
    assert_eq!(second.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_question_goes_on_to_the_next_interface_when_the_first_cannot_answer_now() {
    let away = Canned::answer("503 Service Unavailable", "", "upstream").await;
    let agent = bindings::agent(Echo::default()).await;
    let peer = peer(vec![interface(&away.url), bindings::interface(&agent, Binding::Grpc)]);
    let error = peer.send_message(says("hi"), SOON).await.expect_err("it may be at work on it");
    assert_eq!((error.class, error.delivery), (FailureClass::Unavailable, Delivery::Answered));
    peer.get_task(get_task(), SOON).await.expect("a task");
    assert_eq!(peer.preferred().interface().binding, Binding::Grpc);
}

#[tokio::test]
async fn a_message_goes_on_to_the_next_interface_where_nobody_can_have_taken_it() {
    let agent = bindings::agent(Echo::default()).await;
    let rest_url = bindings::interface(&agent, Binding::HttpJson).url;
    let method = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
    let firsts = [
        interface(&Canned::json(REFUSAL).await.url),
        interface(&Canned::json(method).await.url),
        interface(&Canned::answer("404 Not Found", "", "").await.url),
        interface(&Canned::answer("405 Method Not Allowed", "", "").await.url),
        Interface { binding: Binding::HttpJson, ..interface(&Canned::json(method).await.url) },
        Interface {
            binding: Binding::HttpJson,
            version: "0.3".to_owned(),
            ..interface(&Canned::json(method).await.url)
        },
        Interface { binding: Binding::Grpc, ..interface(&Canned::json("{}").await.url) },
        interface(&rest_url),
        Interface { binding: Binding::HttpJson, ..interface(&agent.url) },
        Interface { binding: Binding::Grpc, ..interface(&format!("{}nothing", agent.url)) },
    ];
    for first in firsts {
        let peer = peer(vec![first.clone(), bindings::interface(&agent, Binding::Grpc)]);
        peer.send_message(says("hi"), SOON)
            .await
            .unwrap_or_else(|error| panic!("{first:?}: {error}"));
    }
}

#[tokio::test]
async fn an_answer_of_another_binding_that_may_be_a_result_is_the_end_of_the_call() {
    let strange = Canned::json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    let agent = bindings::agent(Echo::default()).await;
    let first = Interface { binding: Binding::HttpJson, ..interface(&strange.url) };
    let peer = peer(vec![first, bindings::interface(&agent, Binding::Grpc)]);
    let error = peer.send_message(says("hi"), SOON).await.expect_err("something was done");
    assert!(!error.is_untaken(), "{error}");
}

#[tokio::test]
async fn what_may_pass_decides_where_no_interface_takes_a_call() {
    let (old, gone) = (Canned::json(REFUSAL).await, dead(Binding::Grpc).await);
    let mut lines = Vec::new();
    for interfaces in [[interface(&old.url), gone.clone()], [gone.clone(), interface(&old.url)]] {
        let error = peer(interfaces.into()).get_task(get_task(), SOON).await.expect_err("none");
        assert_eq!((error.class, error.is_untaken()), (FailureClass::Unavailable, true));
        lines.push(error.message.replace(&gone.url, "GONE").replace(&old.url, "OLD"));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    GONE cannot be reached: Connection refused (os error 111); is it running, and is the address right?; over JSONRPC, OLD answered: only 0.3 (VERSION_NOT_SUPPORTED); see its card for what it does
    GONE cannot be reached: Connection refused (os error 111); is it running, and is the address right?; over JSONRPC, OLD answered: only 0.3 (VERSION_NOT_SUPPORTED); see its card for what it does
    ");
}

#[tokio::test]
async fn when_no_interface_answers_all_are_named() {
    let (first, second) = (dead(Binding::JsonRpc).await, dead(Binding::Grpc).await);
    let peer = peer(vec![first.clone(), second.clone()]);
    let error = peer.get_task(get_task(), SOON).await.expect_err("nobody listens");
    assert!(error.is_retryable());
    assert!(error.message.contains(&first.url) && error.message.contains(&second.url), "{error}");
}

#[test]
fn a_peer_takes_the_interfaces_of_a_card_that_can_be_called() {
    let outbound = Outbound::new(Policy::default()).expect("a client can be built");
    let of = |binding, url| AgentInterface { ..server::interface(binding, url) };
    let mut card = AgentCard {
        supported_interfaces: vec![
            of(Binding::JsonRpc, "http://127.0.0.1:1"),
            of(Binding::Grpc, "https://a.example"),
            of(Binding::HttpJson, "https://a.example/x/"),
        ],
        ..AgentCard::default()
    };
    let peer = Peer::of_card(&outbound, &card).expect("two can be called");
    let urls: Vec<_> = peer.interfaces().map(|interface| interface.url.as_str()).collect();
    assert_eq!(urls, ["a.example:443", "https://a.example/x/a2a"]);
    card.supported_interfaces.truncate(1);
    let none = Peer::of_card(&outbound, &card).expect_err("loopback is not allowed");
    card.supported_interfaces.clear();
    let nothing = Peer::of_card(&outbound, &card).expect_err("there is none");
    insta::assert_snapshot!(format!("{none}\n{nothing}"), @r"
    none of the agent's interfaces can be called: http://127.0.0.1:1 leads to 127.0.0.1, which is a loopback address and not allowed; if it is meant, allow its network in the configuration
    none of the agent's interfaces can be called: it lists none of A2A 1.0 by JSONRPC, HTTP+JSON or GRPC, nor an older one that is spoken
    ");
}
