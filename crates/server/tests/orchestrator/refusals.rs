//! What an agent refuses in a relay, and how its client is told.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use protocol::{
    card::Binding,
    client::{Client, ClientError},
    error::{Error, ErrorKind, FieldViolation},
    v1::{ListTasksRequest, StreamResponse, Task, TaskState},
};
use server::Delegation;

use crate::{
    scene::{PATIENCE, Scene, client_of, kind, rest, said, send, soon},
    telling::{Telling, task},
};

/// The error of a kind, with all that its kind may bring.
fn refusal(kind: ErrorKind) -> Error {
    let error = Error::new(kind, format!("no, {kind}")).with_metadata("key", "value");
    match kind {
        ErrorKind::InvalidParams => Error {
            violations: vec![FieldViolation {
                field: "message.parts[0]".to_owned(),
                description: "is not to its taste".to_owned(),
            }],
            ..error
        },
        ErrorKind::ResourceExhausted | ErrorKind::Unavailable => {
            Error { retry_after: Some(Duration::from_secs(7)), ..error }
        }
        _ => error,
    }
}

/// An agent that refuses each Message with the error whose reason it says.
async fn refusing() -> Telling {
    Telling::start(|_, message| {
        let kind = ErrorKind::from_reason(&message.text()).expect("a reason");
        Err(refusal(kind))
    })
    .await
}

async fn to(agent: &Telling) -> Scene {
    let delegation = Delegation::To("agent-0".to_owned());
    Scene::delegating_to(&[&agent.url], delegation).await
}

/// What a client is told when the agent refuses with an error of a kind.
async fn told(client: &Client, kind: ErrorKind) -> ClientError {
    let answer = send(client, said(kind.row().reason).into());
    soon("an answer", answer).await.expect_err("it is refused")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_error_of_an_agent_is_told_as_it_is_on_every_binding() {
    let agent = refusing().await;
    let scene = to(&agent).await;
    for binding in Binding::ALL {
        let client = client_of(&scene.url, binding, "");
        for row in ErrorKind::table() {
            let error = told(&client, row.kind).await;
            let mut expected = refusal(row.kind);
            // It is us whom the agent does not let in.
            if matches!(row.kind, ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) {
                expected.kind = ErrorKind::Internal;
            }
            assert_eq!(error.kind, Some(expected.kind), "{binding:?}: {error}");
            assert_eq!(error.remote.as_deref(), Some(&expected), "{binding:?}");
        }
    }
    let listed = scene.client.list_tasks(Default::default(), PATIENCE).await;
    assert!(listed.expect("a page").tasks.is_empty(), "none of them is a Task");
}

#[tokio::test]
async fn a_message_that_comes_again_after_a_restart_is_refused_in_the_same_way() {
    let agent = refusing().await;
    let scene = to(&agent).await;
    let message = said("CONTENT_TYPE_NOT_SUPPORTED");
    let first = scene.try_send(message.clone()).await.expect_err("it is refused");
    let scene = scene.restarted().await;
    let again = scene.try_send(message).await.expect_err("it is refused");
    assert_eq!(again.remote, first.remote);
    assert_eq!(agent.heard().len(), 1, "it was asked once");
}

#[tokio::test]
async fn a_message_that_comes_again_after_an_error_that_passes_is_tried_again() {
    let is_open = Arc::new(AtomicBool::new(false));
    let opened = Arc::clone(&is_open);
    let agent = Telling::start(move |_, message| match opened.load(Ordering::Relaxed) {
        true => Ok(protocol::v1::Message::agent(message.parts.clone()).into()),
        false => Err(refusal(ErrorKind::from_reason(&message.text()).expect("a reason"))),
    })
    .await;
    let scene = to(&agent).await;
    let mut sent = 0;
    for (kind, passes) in [
        (ErrorKind::ResourceExhausted, true),
        (ErrorKind::Unavailable, true),
        (ErrorKind::DeadlineExceeded, true),
        (ErrorKind::UnsupportedOperation, false),
        (ErrorKind::Internal, false),
    ] {
        let message = said(kind.row().reason);
        is_open.store(false, Ordering::Relaxed);
        for _ in 0..2 {
            let refused = scene.client.send_message(message.clone().into(), PATIENCE).await;
            assert_eq!(refused.expect_err("it is refused").kind, Some(kind));
        }
        sent += if passes { 2 } else { 1 };
        assert_eq!(agent.heard().len(), sent, "{kind}: once for each time it is tried");
        is_open.store(true, Ordering::Relaxed);
        for _ in 0..2 {
            let answered = scene.client.send_message(message.clone().into(), PATIENCE).await;
            assert_eq!(answered.is_ok(), passes, "{kind}");
        }
        sent += usize::from(passes);
        assert_eq!(agent.heard().len(), sent, "{kind}: an answer counts once");
    }
}

/// An agent that asks, and takes but one answer.
async fn choosy() -> Telling {
    Telling::start(|_, message| match (message.task_id.as_str(), message.text().as_str()) {
        ("", _) => Ok(task("t1", TaskState::InputRequired, "which one?").into()),
        (_, "good") => Ok(task("t1", TaskState::Completed, "thanks").into()),
        _ => Err(refusal(ErrorKind::ContentTypeNotSupported)),
    })
    .await
}

#[tokio::test]
async fn an_answer_that_the_agent_does_not_take_is_refused_and_the_task_waits_as_before() {
    let agent = choosy().await;
    let scene = to(&agent).await;
    let asked = scene.send(said("Hello")).await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    let mut followed = scene.subscribe(&asked.id).await.expect("a stream");
    let expected = refusal(ErrorKind::ContentTypeNotSupported);
    let bad = said("bad").with_task(&asked.id);
    for _ in 0..2 {
        let refused = scene.try_send(bad.clone()).await.expect_err("it is refused");
        assert_eq!(refused.remote.as_deref(), Some(&expected));
        assert_eq!(agent.heard().len(), 2, "the same answer reaches it once");
    }
    let streamed = said("bad, too").with_task(&asked.id);
    let refused = scene.client.send_streaming_message(streamed.into(), PATIENCE).await;
    assert_eq!(refused.err().and_then(|error| error.remote).as_deref(), Some(&expected));
    let waits = |task: &Task| {
        assert_eq!(task.status_text(), asked.status_text());
        assert_eq!((task.state(), &task.history), (asked.state(), &asked.history));
    };
    waits(&scene.get(&asked.id).await);
    let listed = ListTasksRequest { status: TaskState::InputRequired.into(), ..Default::default() };
    let listed = scene.client.list_tasks(listed, PATIENCE).await.expect("a page");
    assert_eq!(listed.tasks.len(), 1, "and is listed as one that waits");
    let good = || said("good").with_task(&asked.id);
    let done = scene.send(good()).await;
    assert_eq!((done.state(), done.history.len()), (TaskState::Completed, 2));
    let told: Vec<_> = rest(&mut followed).await.iter().filter_map(StreamResponse::state).collect();
    assert_eq!(told, [TaskState::InputRequired, TaskState::Completed], "nobody else hears of it");
    let again = scene.send(said("Hello again")).await;
    scene.try_send(said("bad").with_task(&again.id)).await.expect_err("it is refused");
    let scene = scene.restarted().await;
    assert_eq!(scene.get(&again.id).await.status_text(), again.status_text());
    let done = scene.send(said("good").with_task(&again.id)).await;
    assert_eq!(done.state(), TaskState::Completed, "also after a restart");
}

#[tokio::test]
async fn an_answer_that_comes_too_late_finds_the_task_as_it_ended() {
    let agent = choosy().await;
    let scene = to(&agent).await;
    let asked = scene.send(said("Hello")).await;
    agent.put(task("t1", TaskState::Completed, "I have found out myself"));
    let done = scene.send(said("late").with_task(&asked.id)).await;
    assert_eq!(done.state(), TaskState::Completed);
    assert_eq!(done.status_text().as_deref(), Some("I have found out myself"));
}

#[tokio::test]
async fn an_answer_that_is_no_a2a_is_the_agents_fault() {
    // A Task that has no id.
    let agent = Telling::start(|_, _| Ok(Task::default().into())).await;
    let scene = to(&agent).await;
    let answered = scene.try_send(said("Hello")).await;
    assert_eq!(kind(answered), ErrorKind::InvalidAgentResponse);
}
