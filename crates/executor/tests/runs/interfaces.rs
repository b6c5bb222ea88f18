//! Agents with several interfaces: which one a Message takes, and where its Task is followed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Json, Router, extract::State, routing};
use executor::{
    Limits, Recorded,
    run::{Intent, RemoteTask, RunEvent},
};
use protocol::{card::Binding, client::Interface, limits::ClientLimits, v1::TaskState};
use serde_json::json;
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use crate::{
    agent::{Asked, Reply, Scripted, done, raw, task},
    scene::{Scene, at, attempts, confirmations, failure, is_completed, new_run, plan_over, soon},
};

const ONCE: &str = "retry: {attempts: 1}";

/// An interface where nobody listens.
async fn dead(binding: Binding) -> Interface {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    at(binding, &format!("http://{}", listener.local_addr().expect("a bound port")))
}

/// A JSON-RPC interface that answers everything with an error, and counts.
async fn refusing(code: i32) -> (Interface, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let answer = async move |State(asked): State<Arc<AtomicUsize>>| {
        asked.fetch_add(1, Ordering::SeqCst);
        Json(json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": "no"}}))
    };
    let router = Router::new().route("/", routing::post(answer)).with_state(Arc::clone(&asked));
    (at(Binding::JsonRpc, &raw(router).await), asked)
}

/// An agent whose Task works until somebody lets it finish.
async fn patient(streaming: bool) -> (Scripted, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    let signal = Arc::clone(&go);
    let agent = Scripted::start(streaming, move |asked, _| match asked {
        Asked::Send(_) => Reply::Task(task("t", TaskState::Working)),
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Later(Arc::clone(&signal), Box::new(Reply::Task(done("t", "ok")))),
    })
    .await;
    (agent, go)
}

/// An agent that answers at once.
async fn prompt() -> Scripted {
    Scripted::start(true, |_, _| Reply::Task(done("t", "ok"))).await
}

fn intents(run: &Recorded) -> Vec<&Intent> {
    let events = run.events.iter();
    let intents = events.filter_map(|event| match event {
        RunEvent::AttemptStarted { intent, .. } => Some(&**intent),
        _ => None,
    });
    intents.collect()
}

fn bound(run: &Recorded) -> &RemoteTask {
    let bound = run.events.iter().find_map(|event| match event {
        RunEvent::AttemptBound { task, .. } => Some(task),
        _ => None,
    });
    bound.expect("the attempt was bound")
}

fn is_bound(event: &RunEvent) -> bool {
    matches!(event, RunEvent::AttemptBound { .. })
}

#[tokio::test]
async fn where_nobody_listens_the_next_interface_takes_the_message() {
    for streaming in [true, false] {
        for binding in Binding::ALL {
            let agent = prompt().await;
            let interfaces = [dead(Binding::JsonRpc).await, agent.interface(binding)];
            let scene = Scene::new().await;
            let id = scene.start_over(&interfaces, streaming, ONCE).await;
            let run = scene.ended(&id).await;
            assert_eq!(scene.output(&run).await, "ok", "{binding} {streaming}");
            assert_eq!(agent.verbs(), ["send"]);
            assert_eq!(attempts(&run, "a"), 1);
        }
    }
}

#[tokio::test]
async fn what_does_not_speak_as_the_card_says_is_passed_over() {
    let agent = prompt().await;
    let nothing = raw(Router::new()).await;
    let firsts = [
        refusing(-32009).await.0,
        refusing(-32601).await.0,
        at(Binding::JsonRpc, &nothing),
        at(Binding::HttpJson, &nothing),
        at(Binding::Grpc, &nothing),
        at(Binding::JsonRpc, &agent.interface(Binding::HttpJson).url),
        at(Binding::HttpJson, &agent.interface(Binding::JsonRpc).url),
    ];
    for (before, first) in firsts.into_iter().enumerate() {
        let scene = Scene::new().await;
        let interfaces = [first.clone(), agent.interface(Binding::Grpc)];
        let id = scene.start_over(&interfaces, true, ONCE).await;
        assert!(is_completed(&scene.ended(&id).await), "{first:?}");
        assert_eq!(agent.count("send"), before + 1, "{first:?}");
    }
}

#[tokio::test]
async fn an_agent_with_no_other_interface_fails_its_step_and_says_what_is_wrong_with_this_one() {
    let agent = prompt().await;
    let (old, _) = refusing(-32009).await;
    let firsts = [
        old,
        at(Binding::JsonRpc, &agent.interface(Binding::HttpJson).url),
        at(Binding::HttpJson, &agent.interface(Binding::JsonRpc).url),
        at(Binding::Grpc, &raw(Router::new()).await),
        dead(Binding::Grpc).await,
    ];
    let mut lines = Vec::new();
    for first in firsts {
        let scene = Scene::new().await;
        let id = scene.start_over(std::slice::from_ref(&first), false, ONCE).await;
        let said = failure(&scene.ended(&id).await);
        let address = first.url.trim_end_matches("/a2a").to_owned();
        lines.push(said.replace(&address, "URL"));
    }
    assert!(agent.verbs().is_empty(), "{:?}", agent.verbs());
    insta::assert_snapshot!(lines.join("\n"), @r"
    step `a` failed (attempt 1): SendMessage failed: URL/ answered: no (VERSION_NOT_SUPPORTED); see its card for what it does
    step `a` failed (attempt 1): SendMessage failed: the answer of URL/a2a is not usable: it speaks HTTP+JSON, and was called by JSONRPC; check in the agent's card which binding this address is of
    step `a` failed (attempt 1): SendMessage failed: URL/ answered HTTP 404 Not Found; check in the agent's card that this is an address of HTTP+JSON
    step `a` failed (attempt 1): SendMessage failed: the answer of URL/ is not usable: it answered HTTP 404 Not Found, without a content type, and not gRPC, and was called by GRPC; check in the agent's card which binding this address is of
    step `a` failed (attempt 1): SendMessage failed: URL/ cannot be reached: Connection refused (os error 111); is it running, and is the address right?
    ");
}

#[tokio::test]
async fn when_no_interface_takes_the_message_the_failure_names_them_all_and_may_pass() {
    let (old, _) = refusing(-32009).await;
    let gone = dead(Binding::HttpJson).await;
    let scene = Scene::new().await;
    let policies = "retry: {attempts: 2, backoff: {initial: 10ms}}";
    let id = scene.start_over(&[gone.clone(), old.clone()], false, policies).await;
    let run = scene.ended(&id).await;
    let said = failure(&run).replace(&gone.url, "GONE").replace(&old.url, "OLD");
    insta::assert_snapshot!(said, @"step `a` failed (attempt 2): SendMessage failed: GONE/ cannot be reached: Connection refused (os error 111); is it running, and is the address right?; over JSONRPC, OLD/ answered: no (VERSION_NOT_SUPPORTED); see its card for what it does");
    assert_eq!(attempts(&run, "a"), 2, "who is away may come back");
}

#[tokio::test]
async fn what_worked_is_called_first_from_then_on_and_the_journal_says_so() {
    let agent = prompt().await;
    let (old, asked) = refusing(-32009).await;
    let second = agent.interface(Binding::HttpJson);
    let interfaces = [old.clone(), second.clone()];
    let rest = "steps:\n  a: {agent: x, message: hi}\n  b: {agent: x, message: hi, needs: [a]}\n";
    let scene = Scene::new().await;
    for _ in 0..2 {
        let plan = plan_over(&interfaces, true, rest).await;
        let id = scene.executor.start(new_run(plan)).await.expect("the run starts");
        let run = scene.ended(&id).await;
        assert!(is_completed(&run));
        let last = intents(&run)[1];
        assert_eq!((&last.interface, &last.fallbacks[..]), (&second, &[old.clone()][..]));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!(agent.count("send"), 4);
}

#[tokio::test]
async fn a_message_that_may_have_been_received_is_not_sent_to_the_next_interface() {
    for streaming in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound port"));
        let lossy = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            let mut read = [0; 4096];
            assert!(socket.read(&mut read).await.expect("a request") > 0);
        });
        let agent = prompt().await;
        let interfaces = [at(Binding::JsonRpc, &url), agent.interface(Binding::JsonRpc)];
        let scene = Scene::new().await;
        let id = scene.start_over(&interfaces, streaming, ONCE).await;
        let said = failure(&scene.ended(&id).await);
        assert!(said.contains("connection") && said.contains(&url), "{said}");
        assert!(agent.verbs().is_empty(), "{:?}", agent.verbs());
        soon("the request", lossy).await.expect("it got the request");
    }
}

#[tokio::test]
async fn a_task_whose_interface_goes_away_is_followed_over_another() {
    let is_done = Arc::new(AtomicBool::new(false));
    let signal = Arc::clone(&is_done);
    let agent = Scripted::start(false, move |_, _| match signal.load(Ordering::SeqCst) {
        true => Reply::Task(done("t", "ok")),
        false => Reply::Task(task("t", TaskState::Working)),
    })
    .await;
    let (door, shut) = agent.door(Binding::JsonRpc).await;
    let address = door.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let scene = Scene::new().await;
    let interfaces = [door, agent.interface(Binding::Grpc)];
    let id = scene.start_over(&interfaces, false, ONCE).await;
    let run = scene.until(&id, is_bound).await;
    assert_eq!(bound(&run).interface, None, "the intent names it");
    shut.cancel();
    soon("the end of the door", async {
        while TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    is_done.store(true, Ordering::SeqCst);
    let run = scene.ended(&id).await;
    assert_eq!(scene.output(&run).await, "ok");
    assert_eq!(agent.count("send"), 1);
}

#[tokio::test]
async fn after_a_restart_a_task_is_followed_where_the_journal_says_it_was_bound() {
    for streaming in [true, false] {
        let (agent, go) = patient(streaming).await;
        let (old, asked) = refusing(-32009).await;
        let second = agent.interface(Binding::HttpJson);
        let scene = Scene::new().await;
        let id = scene.start_over(&[old, second.clone()], streaming, ONCE).await;
        let run = scene.until(&id, is_bound).await;
        assert_eq!(bound(&run).interface.as_deref(), Some(&second));
        let scene = scene.restarted().await;
        scene.executor.resume(&id).await.expect("it can be resumed");
        go.notify_one();
        let run = scene.ended(&id).await;
        assert_eq!(scene.output(&run).await, "ok");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "only the Message went there");
        assert_eq!(agent.count("send"), 1);
    }
}

#[tokio::test]
async fn a_task_whose_interface_goes_away_is_canceled_over_another() {
    let (agent, _go) = patient(false).await;
    let (door, shut) = agent.door(Binding::HttpJson).await;
    let scene = Scene::new().await;
    let id = scene.start_over(&[door, agent.interface(Binding::JsonRpc)], false, ONCE).await;
    scene.until(&id, is_bound).await;
    shut.cancel();
    scene.executor.cancel(&id).await.expect("it is driven here");
    let run = scene.ended(&id).await;
    assert_eq!(confirmations(&run), [true]);
    assert_eq!(agent.count("cancel"), 1);
}

/// Silence is soon too long.
fn impatient() -> Limits {
    let stream_idle = Duration::from_millis(100);
    Limits { client: ClientLimits { stream_idle, ..ClientLimits::default() }, ..Limits::default() }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_followed_otherwise_and_fails_nothing() {
    let quiet = Scripted::start(true, |asked, before| match asked {
        Asked::Send(_) | Asked::Subscribe(_) => {
            Reply::Open(vec![task("t", TaskState::Working).into()])
        }
        Asked::Get(_) if before == 0 => Reply::Task(task("t", TaskState::Working)),
        _ => Reply::Task(done("t", "ok")),
    })
    .await;
    let scene = Scene::with_limits(impatient()).await;
    let id = scene.start_over(&[quiet.interface(Binding::Grpc)], true, ONCE).await;
    let run = scene.ended(&id).await;
    assert_eq!(quiet.verbs(), ["send", "subscribe", "get", "get"]);
    assert_eq!(scene.output(&run).await, "ok");
}

#[tokio::test]
async fn a_subscription_without_a_word_is_no_reason_to_wait() {
    for binding in Binding::ALL {
        let mute = Scripted::start(true, |asked, _| match asked {
            Asked::Send(_) => Reply::Events(vec![task("t", TaskState::Working).into()]),
            Asked::Subscribe(_) => Reply::Silence,
            _ => Reply::Task(done("t", "ok")),
        })
        .await;
        let scene = Scene::with_limits(impatient()).await;
        let id = scene.start_over(&[mute.interface(binding)], true, ONCE).await;
        assert!(is_completed(&scene.ended(&id).await));
        assert_eq!(mute.verbs(), ["send", "subscribe", "get"], "{binding}");
    }
}

#[tokio::test]
async fn a_message_whose_stream_is_silent_is_waited_for_and_never_sent_again() {
    let mute = Scripted::start(true, |_, _| Reply::Open(Vec::new())).await;
    let scene = Scene::with_limits(impatient()).await;
    let policies = "timeout: 1s, retry: {attempts: 1}";
    let id = scene.start_over(&[mute.interface(Binding::Grpc)], true, policies).await;
    let said = failure(&scene.ended(&id).await);
    insta::assert_snapshot!(said, @"step `a` failed (attempt 1): agent `x` did not finish within the step's timeout of 1 s");
    assert_eq!(mute.verbs(), ["send"]);
}

#[tokio::test]
async fn the_first_word_of_a_stream_may_take_as_long_as_the_step() {
    let late = Arc::new(Notify::new());
    let signal = Arc::clone(&late);
    let slow = Scripted::start(true, move |_, _| {
        Reply::Late(Arc::clone(&signal), vec![done("t", "ok").into()])
    })
    .await;
    let scene = Scene::with_limits(impatient()).await;
    let id = scene.start_over(&[slow.interface(Binding::Grpc)], true, ONCE).await;
    soon("the Message", async {
        while slow.count("send") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // Several times as long as a stream may be silent that has begun.
    let ended = tokio::time::timeout(Duration::from_millis(500), scene.ended(&id)).await;
    assert!(ended.is_err(), "it is still waited for");
    late.notify_one();
    let run = scene.ended(&id).await;
    assert_eq!(scene.output(&run).await, "ok");
    assert_eq!(slow.verbs(), ["send"]);
}
