//! Callers whose Messages are passed on to agents.

use std::sync::atomic::{AtomicBool, Ordering};

use server::Delegation;

use super::*;
use crate::{
    references::{counting, referred, referring},
    telling::{Telling, task},
};

/// Passes on what names no workflow, and has a workflow `w`; both go to this agent.
async fn scene(agent: &Telling) -> Scene {
    let url = &agent.url;
    let file = format!("name: w\nagents:\n  x: {{url: \"{url}\"}}\nsteps:\n  a: {{agent: x}}\n");
    let delegation = Delegation::To("agent-0".to_owned());
    let settings = Settings { delegation, ..Settings::default() };
    Scene::guarded_relaying(&[file], &[url], settings).await
}

#[tokio::test]
async fn an_agent_is_told_of_no_task_of_another_account() {
    let agent = counting("one").await;
    let scene = scene(&agent).await;
    let ada = of(&scene, &scene.key("ada", &["runs:start:*"]).await);
    let eve = of(&scene, &scene.key("eve", &["admin"]).await);
    let first = send(&ada, said("first").into()).await.expect("a Task").id;
    send(&eve, referring("next", &[&first]).into()).await.expect("a Task");
    assert_eq!(referred(&agent), [""; 0], "in a first Message");
    let asked = send(&eve, said("ask me").into()).await.expect("a Task");
    let answer = referring("that", &[&first]).with_task(&asked.id);
    send(&eve, answer.into()).await.expect("it is taken");
    assert_eq!(referred(&agent), [""; 0], "in an answer");
    send(&ada, referring("next", &[&first]).into()).await.expect("a Task");
    assert_eq!(referred(&agent), ["one-1"], "it is hers");
}

#[tokio::test]
async fn passing_on_is_a_scope_of_its_own() {
    let agent = counting("one").await;
    let scene = scene(&agent).await;
    let passing = of(&scene, &scene.key("ada", &["runs:start:delegate"]).await);
    let running = of(&scene, &scene.key("ada", &["runs:start:w"]).await);
    let naming = |key: &str, name: &str| said("ask me").with_metadata(key, name).into();
    let nothing_fits = naming(metadata::WORKFLOW, "delegate");
    for request in [said("ask me").into(), naming(metadata::AGENT, "agent-0"), nothing_fits] {
        assert_eq!(kind(send(&running, request).await), ErrorKind::PermissionDenied);
    }
    let workflow: SendMessageRequest = naming(metadata::WORKFLOW, "w");
    assert_eq!(kind(send(&passing, workflow).await), ErrorKind::PermissionDenied);
    assert_eq!(agent.heard().len(), 0);
    let asked = send(&passing, said("ask me").into()).await.expect("a Task");
    assert_eq!(asked.state(), TaskState::InputRequired);
    let answer = || SendMessageRequest::from(said("that").with_task(&asked.id));
    assert_eq!(kind(send(&running, answer()).await), ErrorKind::PermissionDenied);
    let done = send(&passing, answer()).await.expect("it is taken");
    assert_eq!(done.state(), TaskState::Completed);
}

#[tokio::test]
async fn a_message_of_any_account_is_passed_on_again_after_an_error_that_passes() {
    let is_open = std::sync::Arc::new(AtomicBool::new(false));
    let opened = std::sync::Arc::clone(&is_open);
    let agent = Telling::start(move |_, _| match opened.load(Ordering::Relaxed) {
        true => Ok(task("t", TaskState::Completed, "done").into()),
        false => Err(protocol::error::Error::unavailable("not now", None)),
    })
    .await;
    let scene = scene(&agent).await;
    let ada = of(&scene, &scene.key("ada", &["runs:start:*"]).await);
    let message = said("go");
    assert_eq!(kind(send(&ada, message.clone().into()).await), ErrorKind::Unavailable);
    is_open.store(true, Ordering::Relaxed);
    let done = send(&ada, message.into()).await.expect("a Task");
    assert_eq!(done.state(), TaskState::Completed);
}

#[tokio::test]
async fn why_no_agent_fits_is_told_to_the_account_of_the_directory_alone() {
    let agent = counting("one").await;
    let scene = scene(&agent).await;
    let eve = of(&scene, &scene.key("eve", &["admin"]).await);
    let operator = of(&scene, &scene.key("local", &["admin"]).await);
    let naming = |name: &str| said("go").with_metadata(metadata::AGENT, name).into();
    let near = send(&eve, naming("agent-1")).await.expect_err("there is none").to_string();
    let far = send(&eve, naming("zzz")).await.expect_err("there is none").to_string();
    assert_eq!(near, far);
    assert!(!near.contains("agent-0") && near.contains("its operator"), "{near}");
    let said = send(&operator, naming("agent-1")).await.expect_err("there is none").to_string();
    assert!(said.contains("did you mean `agent-0`?"), "{said}");
}
