//! Agents that contradict themselves, or are away: what is believed, and for how long.

use std::time::Duration;

use executor::{Limits, run::RunEvent};
use protocol::{
    card::Binding,
    error::{Error, ErrorKind},
    v1::{StreamResponse, Task, TaskState, TaskStatusUpdateEvent},
};

use crate::{
    agent::{Asked, CONTEXT, Reply, Scripted, chunk, done, enters, status, task},
    scene::{Scene, attempts, failure, is_completed, workflow},
};

const ONE: &str = "steps:\n  a: {agent: x, message: hi}\n";

/// No patience at all with an agent that is away.
fn impatient() -> Limits {
    Limits { patience: Duration::ZERO, ..Limits::default() }
}

/// Says so and no more, then the stream is cut.
async fn saying(events: Vec<StreamResponse>) -> Scripted {
    Scripted::start(true, move |asked, _| match asked {
        Asked::Send(_) => Reply::Events(events.clone()),
        Asked::Subscribe(_) => Reply::Error(Error::unsupported("no")),
        _ => Reply::Task(done("t", "ok")),
    })
    .await
}

#[tokio::test]
async fn nothing_that_follows_an_end_changes_it() {
    let undecided = saying(vec![
        task("t", TaskState::Working).into(),
        chunk("t", "first"),
        enters("t", TaskState::Completed, "done"),
        chunk("t", " and more"),
        enters("t", TaskState::Working, "or not"),
        enters("t", TaskState::Failed, "no"),
    ])
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &undecided.url)], ONE)).await;
    assert_eq!(scene.output(&run).await, "first");
    assert_eq!(undecided.verbs(), ["send"]);
}

#[tokio::test]
async fn an_event_about_another_task_cuts_the_stream_and_our_task_is_asked_for() {
    for binding in Binding::ALL {
        let mixed_up = saying(vec![
            task("t", TaskState::Working).into(),
            chunk("somebody-elses", "secret"),
            enters("somebody-elses", TaskState::Completed, "secret"),
        ])
        .await;
        let scene = Scene::new().await;
        let id = scene.start_over(&[mixed_up.interface(binding)], true, "on_error: fail").await;
        let run = scene.ended(&id).await;
        assert_eq!(scene.output(&run).await, "ok", "{binding}");
        assert_eq!(mixed_up.verbs(), ["send", "subscribe", "get"]);
    }
}

#[tokio::test]
async fn a_task_stays_in_the_context_that_its_first_event_names() {
    let wandering = TaskStatusUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "elsewhere".to_owned(),
        status: Some(status(TaskState::Completed)),
        metadata: None,
    };
    let agent = saying(vec![task("t", TaskState::Working).into(), wandering.into()]).await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], ONE)).await;
    assert_eq!(scene.result(&run, "a").await.context_id.as_deref(), Some(CONTEXT));
}

#[tokio::test]
async fn a_snapshot_that_holds_less_than_the_events_before_it_is_believed() {
    let shrinking = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => Reply::Events(vec![
            task("t", TaskState::Working).into(),
            chunk("t", "a draft that the agent takes back"),
        ]),
        Asked::Subscribe(_) => Reply::Events(vec![
            task("t", TaskState::Working).into(),
            chunk("t", "the answer"),
            enters("t", TaskState::Completed, "done"),
        ]),
        _ => Reply::Silence,
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &shrinking.url)], ONE)).await;
    assert_eq!(scene.output(&run).await, "the answer");
}

#[tokio::test]
async fn a_task_that_goes_back_to_an_earlier_state_is_followed_on() {
    let back_and_forth = Scripted::start(false, |asked, before| match (asked, before) {
        (Asked::Get(_), 0) => Reply::Task(task("t", TaskState::Submitted)),
        (Asked::Get(_), 1) => Reply::Task(Task { status: None, ..task("t", TaskState::Working) }),
        (Asked::Get(_), _) => Reply::Task(done("t", "ok")),
        _ => Reply::Task(task("t", TaskState::Working)),
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &back_and_forth.url)], ONE)).await;
    assert_eq!(scene.output(&run).await, "ok");
    assert_eq!(back_and_forth.verbs(), ["send", "get", "get", "get"]);
}

/// Works or waits, and is away for some questions before it is done.
async fn away(state: TaskState, absences: usize) -> Scripted {
    Scripted::start(false, move |asked, before| match asked {
        Asked::Get(_) if before + 1 == absences => {
            Reply::Error(Error::new(ErrorKind::Internal, "a proxy speaks"))
        }
        Asked::Get(_) if before < absences => Reply::Error(Error::unavailable("gone", None)),
        Asked::Get(_) => Reply::Task(done("t", "ok")),
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Task(task("t", state)),
    })
    .await
}

#[tokio::test]
async fn an_agent_that_is_away_is_waited_for_only_so_long() {
    let away = away(TaskState::Working, 9).await;
    let scene = Scene::with_limits(impatient()).await;
    let id = scene
        .start(&workflow(
            &[("x", &away.url)],
            "steps:\n  a: {agent: x, message: hi, retry: {attempts: 1}}\n",
        ))
        .await;
    let said = failure(&scene.ended(&id).await).replace(&away.url, "URL");
    insta::assert_snapshot!(said, @"step `a` failed (attempt 1): GetTask failed: URL/ answered: gone (UNAVAILABLE); try again later");
    assert_eq!(away.count("get"), 1);
}

#[tokio::test]
async fn an_agent_may_be_away_for_as_long_as_its_task_waits_for_authorization() {
    let away = away(TaskState::AuthRequired, 3).await;
    let scene = Scene::with_limits(impatient()).await;
    let run = scene.run(&workflow(&[("x", &away.url)], ONE)).await;
    assert!(is_completed(&run));
    assert_eq!(attempts(&run, "a"), 1);
    assert_eq!(away.verbs(), ["send", "get", "get", "get", "get"]);
    assert!(run.events.iter().any(|event| matches!(event, RunEvent::AttemptPaused { .. })));
}
