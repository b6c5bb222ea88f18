//! What a Message in a relay brings along: the Tasks it refers to, and the extensions it asks for.

use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::{
    model::metadata,
    v1::{Message, TaskState},
};
use server::{Delegation, Settings};

use crate::{
    scene::{Scene, client, said, send},
    telling::{Telling, task},
};

/// An agent whose Tasks have a name and a number. It asks once when it is told to.
pub(crate) async fn counting(name: &'static str) -> Telling {
    let count = AtomicUsize::new(0);
    Telling::start(move |_, message| {
        let id = format!("{name}-{}", count.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(match (message.task_id.as_str(), message.text().as_str()) {
            ("", "ask me") => task(&id, TaskState::InputRequired, "what?"),
            ("", _) => task(&id, TaskState::Completed, "done"),
            (known, _) => task(known, TaskState::Completed, "done"),
        }
        .into())
    })
    .await
}

pub(crate) fn referring(text: &str, to: &[&str]) -> Message {
    let reference_task_ids = to.iter().map(ToString::to_string).collect();
    Message { reference_task_ids, ..said(text) }
}

/// The Tasks that the newest Message of an agent refers to.
pub(crate) fn referred(agent: &Telling) -> Vec<String> {
    agent.heard().pop().expect("a Message").message.reference_task_ids
}

async fn scene(agent: &Telling, other: &Telling) -> Scene {
    let url = &agent.url;
    let file = format!("name: w\nagents:\n  x: {{url: \"{url}\"}}\nsteps:\n  a: {{agent: x}}\n");
    let delegation = Delegation::To("agent-0".to_owned());
    let settings = Settings { delegation, ..Settings::default() };
    Scene::relaying(&[file], &[url, &other.url], settings).await
}

#[tokio::test]
async fn an_agent_is_told_of_its_own_tasks_by_its_own_ids_and_of_no_others() {
    let (agent, other) = (counting("one").await, counting("other").await);
    let scene = scene(&agent, &other).await;
    let relayed = scene.send(said("first")).await.id;
    let of_other = scene.send(said("x").with_metadata(metadata::AGENT, "agent-1")).await.id;
    let by_workflow = scene.send(said("x").with_metadata(metadata::WORKFLOW, "w")).await.id;
    let unknown = uuid::Uuid::new_v4().to_string();
    let all = [&by_workflow, &of_other, "no-id-of-ours", &unknown, &relayed, &relayed];
    scene.send(referring("next", &all)).await;
    assert_eq!(referred(&agent), ["one-2", "one-1"]);
    let to_other = referring("next", &all).with_metadata(metadata::AGENT, "agent-1");
    scene.send(to_other).await;
    assert_eq!(referred(&other), ["other-1"]);
}

#[tokio::test]
async fn an_answer_refers_to_tasks_as_its_agent_knows_them_across_a_restart() {
    let (agent, other) = (counting("one").await, counting("other").await);
    let scene = scene(&agent, &other).await;
    let first = scene.send(said("first")).await.id;
    let asked = scene.send(said("ask me")).await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    let scene = scene.restarted().await;
    let answer = referring("that", &[&first]).with_task(&asked.id);
    assert_eq!(scene.send(answer).await.state(), TaskState::Completed);
    assert_eq!(referred(&agent), ["one-1"]);
    let heard = agent.heard().pop().expect("the answer").message;
    assert_eq!(heard.task_id, "one-2", "it goes to its Task");
}

#[tokio::test]
async fn an_agent_is_called_with_the_extensions_that_the_client_asks_for_but_ours() {
    let (agent, other) = (counting("one").await, counting("other").await);
    let scene = scene(&agent, &other).await;
    let uris = ["urn:a", metadata::WORKFLOW, "urn:b"];
    let asking = client(&scene.url, "").with_extensions(uris);
    let asked = send(&asking, said("ask me").into()).await.expect("a Task");
    let extensions = || agent.heard().pop().expect("a Message").extensions;
    assert_eq!(extensions(), ["urn:a", "urn:b"]);
    let scene = scene.restarted().await;
    scene.send(said("that").with_task(&asked.id)).await;
    assert_eq!(extensions(), ["urn:a", "urn:b"], "for as long as the Task lasts");
    scene.send(said("x")).await;
    assert!(extensions().is_empty());
}
