//! Large content: out of the journal, into blobs, and back.

use std::sync::Arc;

use axum::{Router, http::header, response::IntoResponse as _, routing};
use examples::{Kind, Options};
use executor::{Body, run::RunEvent};
use protocol::v1::{Message, Part};
use tokio::sync::Notify;

use crate::{
    agent::{Asked, Reply, Scripted, done, raw},
    scene::{Scene, attempts, example, failure, is_completed, soon, workflow},
};

/// Where the events of a journal keep their Messages and results.
fn are_blobs(events: &[RunEvent]) -> Vec<bool> {
    let is_blob = |body: &Body| matches!(body, Body::Blob(_));
    events
        .iter()
        .filter_map(|event| match event {
            RunEvent::AttemptStarted { intent, .. } => Some(is_blob(&intent.message)),
            RunEvent::StepCompleted { result, .. } => Some(is_blob(result)),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn what_is_small_stands_in_the_journal_and_what_is_large_beside_it() {
    let echo = example(Kind::Echo, Options::default()).await;
    for (length, expected) in [(100, false), (10_000, true)] {
        let text = "x".repeat(length);
        let rest = format!("steps:\n  a: {{agent: x, message: {text}}}\n");
        let scene = Scene::new().await;
        let run = scene.run(&workflow(&[("x", &echo.url)], &rest)).await;
        assert_eq!(are_blobs(&run.events), [expected, expected]);
        assert_eq!(scene.output(&run).await, text);
    }
}

#[tokio::test]
async fn large_bodies_are_found_again_after_a_restart() {
    let text = "x".repeat(20_000);
    let received = Arc::new(Notify::new());
    let (told, answer) = (Arc::clone(&received), text.clone());
    let agent = Scripted::start(true, move |asked, before| match (asked, before) {
        (Asked::Send(_), 0) => Reply::Task(done("t0", &answer)),
        // Not answered before the restart, and asked again after it.
        (Asked::Send(_), 1) => {
            told.notify_one();
            Reply::Silence
        }
        _ => Reply::Task(done("t1", "ok")),
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: hi}\n  b:\n    agent: x\n    message: again ${{ steps.a.text }}\n  c:\n    agent: x\n    needs: [b]\n    message: and again ${{ steps.a.text }}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    soon("the Message", received.notified()).await;
    let scene = scene.restarted().await;
    scene.executor.resume(&id).await.expect("it can be resumed");
    assert!(is_completed(&scene.ended(&id).await));
    let sent = agent.sent();
    assert_eq!(sent.len(), 4);
    assert_eq!(sent[1].text(), format!("again {text}"));
    assert_eq!(sent[2], sent[1], "the same Message under the same id");
    assert_eq!(sent[3].text(), format!("and again {text}"));
}

#[tokio::test]
async fn a_large_direct_message_is_a_result_like_any_other() {
    let huge = "x".repeat(3 << 20);
    let text = huge.clone();
    let agent = Scripted::start(false, move |_, _| {
        Reply::Message(Message::agent(vec![Part::text(text.clone())]))
    })
    .await;
    let scene = Scene::new().await;
    let rest = "steps:\n  a: {agent: x, message: hi}\n";
    let run = scene.run(&workflow(&[("x", &agent.url)], rest)).await;
    assert!(is_completed(&run));
    assert!(scene.output(&run).await == huge);
}

#[tokio::test]
async fn an_answer_that_is_larger_than_the_client_takes_fails_the_step() {
    for (streaming, kind, mebibytes) in [(true, "text/event-stream", 32), (false, "text/json", 32)]
    {
        let limit = mebibytes << 20;
        let huge = async move || {
            ([(header::CONTENT_TYPE, kind)], format!("data: {}", "x".repeat(limit))).into_response()
        };
        let url = raw(Router::new().route("/", routing::post(huge))).await;
        let run = Scene::new().await.run_at(&url, streaming, "timeout: 50s").await;
        let said = failure(&run);
        assert!(said.contains(&limit.to_string()), "{said}");
        assert_eq!(attempts(&run, "a"), 1, "trying again would not make it smaller");
    }
}
