//! Following a remote Task: streams that break, agents that forget, agents that are polled.

use axum::{
    Router,
    http::header,
    response::{Html, IntoResponse as _},
    routing,
};
use examples::{Failure, Kind, Options};
use executor::run::RunEvent;
use planner::ErrorClass;
use protocol::{
    error::{Error, ErrorKind},
    v1::TaskState,
};

use crate::{
    agent::{Asked, Reply, Scripted, chunk, done, enters, raw, task},
    scene::{Scene, attempts, example, failure, is_completed, workflow},
};

const ONE: &str = "steps:\n  a: {agent: x, message: hi}\n";

#[tokio::test]
async fn a_cut_stream_is_taken_up_by_subscribing_and_nothing_is_doubled() {
    let cut = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => {
            Reply::Events(vec![task("t", TaskState::Working).into(), chunk("t", "one ")])
        }
        Asked::Subscribe(_) => {
            let so_far = done("t", "one two ").artifacts;
            let snapshot =
                protocol::v1::Task { artifacts: so_far, ..task("t", TaskState::Working) };
            Reply::Events(vec![
                snapshot.into(),
                chunk("t", "three"),
                enters("t", TaskState::Completed, "done"),
            ])
        }
        _ => Reply::Silence,
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &cut.url)], ONE)).await;
    assert_eq!(cut.verbs(), ["send", "subscribe"]);
    assert_eq!(scene.output(&run).await, "one two three");
}

#[tokio::test]
async fn where_subscribing_is_refused_or_cut_the_task_is_asked_for() {
    for subscription_is_cut in [true, false] {
        let cut = Scripted::start(true, move |asked, _| match asked {
            Asked::Send(_) => Reply::Events(vec![task("t", TaskState::Working).into()]),
            Asked::Subscribe(_) if subscription_is_cut => {
                Reply::Events(vec![task("t", TaskState::Working).into(), chunk("t", "half of it")])
            }
            Asked::Subscribe(_) => Reply::Error(Error::unsupported("no")),
            _ => Reply::Task(done("t", "whole")),
        })
        .await;
        let scene = Scene::new().await;
        let run = scene.run(&workflow(&[("x", &cut.url)], ONE)).await;
        assert_eq!(cut.verbs(), ["send", "subscribe", "get"]);
        assert_eq!(scene.output(&run).await, "whole");
    }
}

#[tokio::test]
async fn a_subscription_that_does_not_begin_with_the_task_is_not_built_upon() {
    let cut = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => {
            Reply::Events(vec![task("t", TaskState::Working).into(), chunk("t", "one ")])
        }
        Asked::Subscribe(_) => {
            Reply::Events(vec![chunk("t", "three"), enters("t", TaskState::Completed, "done")])
        }
        _ => Reply::Task(done("t", "one two three")),
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &cut.url)], ONE)).await;
    assert_eq!(scene.output(&run).await, "one two three");
}

#[tokio::test]
async fn an_agent_that_does_not_stream_is_polled_and_sent_to_once() {
    let polled = Scripted::start(false, |asked, before| match asked {
        Asked::Get(_) if before == 2 => Reply::Task(done("t", "ok")),
        _ => Reply::Task(task("t", TaskState::Working)),
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &polled.url)], ONE)).await;
    assert_eq!(polled.verbs(), ["send", "get", "get", "get"]);
    assert_eq!(scene.output(&run).await, "ok");
}

#[tokio::test]
async fn an_agent_that_has_lost_its_task_is_believed_the_third_time_and_tried_again() {
    let forgetful = Scripted::start(true, |asked, before| match asked {
        Asked::Send(_) if before == 0 => Reply::Events(vec![task("t", TaskState::Working).into()]),
        Asked::Send(_) => Reply::Task(done("t2", "second")),
        Asked::Get(id) | Asked::Subscribe(id) | Asked::Cancel(id) => {
            Reply::Error(Error::task_not_found(id))
        }
    })
    .await;
    let rest =
        "steps:\n  a: {agent: x, message: hi, retry: {attempts: 2, backoff: {initial: 10ms}}}\n";
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &forgetful.url)], rest)).await;
    assert_eq!(forgetful.verbs(), ["send", "subscribe", "get", "get", "get", "send"]);
    assert_eq!(attempts(&run, "a"), 2);
    assert_eq!(scene.output(&run).await, "second");
    let class = run.events.iter().find_map(|event| match event {
        RunEvent::AttemptFailed { error, .. } => Some(error.class),
        _ => None,
    });
    assert_eq!(class, Some(ErrorClass::Unavailable));
}

#[tokio::test]
async fn one_answer_that_makes_no_sense_is_not_the_end_of_a_task() {
    let restarting = Scripted::start(true, |asked, before| match (asked, before) {
        (Asked::Send(_), _) => Reply::Events(vec![task("t", TaskState::Working).into()]),
        (Asked::Get(id), 0) => Reply::Error(Error::task_not_found(id)),
        (Asked::Get(_), 1) => Reply::Error(Error::new(ErrorKind::Internal, "starting up")),
        (Asked::Get(_), 2) => Reply::Error(Error::unavailable("not yet", None)),
        (Asked::Get(_), 3) => Reply::Task(task("t", TaskState::Working)),
        (Asked::Get(id), 4) => Reply::Error(Error::task_not_found(id)),
        (Asked::Get(_), _) => Reply::Task(done("t", "ok")),
        _ => Reply::Error(Error::unsupported("no")),
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &restarting.url)], ONE)).await;
    assert_eq!(restarting.count("send"), 1);
    assert_eq!(scene.output(&run).await, "ok");
}

#[tokio::test]
async fn a_direct_message_is_the_result() {
    for streaming in [true, false] {
        let options = Options { direct: true, streaming, ..Options::default() };
        let echo = example(Kind::Echo, options).await;
        let scene = Scene::new().await;
        let run = scene.run(&workflow(&[("x", &echo.url)], ONE)).await;
        assert!(is_completed(&run));
        let result = scene.result(&run, "a").await;
        assert_eq!((result.text().as_deref(), result.task_id), (Some("hi"), None));
        assert_eq!(scene.output(&run).await, "hi");
        assert!(!run.events.iter().any(|event| matches!(event, RunEvent::AttemptBound { .. })));
    }
}

#[tokio::test]
async fn every_end_that_is_no_success_fails_the_step() {
    let table = [
        (TaskState::Failed, "the agent's Task failed: because"),
        (TaskState::Rejected, "the agent rejected the Message: because"),
        (TaskState::Canceled, "the agent canceled its Task: because"),
    ];
    for (state, said) in table {
        let agent = Scripted::start(true, move |_, _| {
            Reply::Events(vec![task("t", TaskState::Working).into(), enters("t", state, "because")])
        })
        .await;
        let run = Scene::new().await.run(&workflow(&[("x", &agent.url)], ONE)).await;
        assert_eq!(failure(&run), format!("step `a` failed (attempt 1): {said}"));
        assert_eq!(agent.verbs(), ["send"], "what is over needs no cancel");
    }
}

#[tokio::test]
async fn a_message_whose_answer_is_lost_is_tried_again() {
    for failure in [Failure::Drop, Failure::Lost] {
        let options = Options { failures: 1, failure, ..Options::default() };
        let flaky = example(Kind::Flaky, options).await;
        let rest = "steps:\n  a: {agent: x, message: hi, retry: {backoff: {initial: 10ms}}}\n";
        let run = Scene::new().await.run(&workflow(&[("x", &flaky.url)], rest)).await;
        assert!(is_completed(&run));
        assert_eq!(attempts(&run, "a"), 2);
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_a_word_is_no_answer() {
    let empty = async || ([(header::CONTENT_TYPE, "text/event-stream")], "").into_response();
    let url = raw(Router::new().route("/", routing::post(empty))).await;
    let run = Scene::new().await.run_at(&url, true, "retry: {attempts: 1}").await;
    let said = failure(&run).replace(&url, "URL");
    insta::assert_snapshot!(said, @"step `a` failed (attempt 1): agent `x` at URL closed the connection before it answered with a Task or a Message");
}

#[tokio::test]
async fn an_agent_that_answers_garbage_fails_the_step() {
    for streaming in [true, false] {
        let page = async || Html("<html>hello</html>").into_response();
        let url = raw(Router::new().route("/", routing::post(page))).await;
        let run = Scene::new().await.run_at(&url, streaming, "timeout: 10s").await;
        let said = failure(&run);
        assert!(said.contains("it is a web page (HTML), not JSON-RPC"), "{said}");
        assert_eq!(attempts(&run, "a"), 1);
    }
}

#[tokio::test]
async fn an_agent_that_answers_about_another_task_fails_the_step() {
    let mixed_up = Scripted::start(false, |asked, _| match asked {
        Asked::Send(_) => Reply::Task(task("t", TaskState::Working)),
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Task(done("somebody-elses", "secret")),
    })
    .await;
    let run = Scene::new().await.run(&workflow(&[("x", &mixed_up.url)], ONE)).await;
    let said = failure(&run);
    assert!(said.contains(r#"about task "somebody-elses" instead of "t""#), "{said}");
    assert_eq!(mixed_up.count("cancel"), 1);
}
