//! Agents that ask, through the orchestrator.

use examples::{Kind, Options};
use protocol::{
    error::ErrorKind,
    model::metadata,
    v1::{Message, Task, TaskState},
};
use serde_json::json;

use crate::scene::{Scene, example, kind, next, output, rest, said, workflow};

const ONE: &str = "steps:\n  a: {agent: x, message: hi}\n";
const TWO: &str = "steps:\n  a: {agent: x, message: one}\n  b: {agent: x, message: two}\n  \
                   c: {agent: y, message: three}\noutputs:\n  \
                   all: {value: \"${{ steps.a.text }}, ${{ steps.b.text }}\"}\n";

async fn asking(turns: u32, steps: &str) -> (Vec<examples::Running>, Scene) {
    let asks = example(Kind::Asks, Options { turns, ..Options::default() }).await;
    let echo = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new(&[workflow("w", &[("x", &asks), ("y", &echo)], steps)]).await;
    (vec![asks, echo], scene)
}

/// The addresses of the steps that wait.
fn addresses(task: &Task) -> Vec<String> {
    let message = task.status.as_ref().and_then(|status| status.message.as_ref());
    let parts = message.map(|message| message.parts.as_slice()).unwrap_or_default();
    let address =
        |part: &protocol::v1::Part| part.metadata(metadata::STEP)?.as_str().map(str::to_owned);
    parts.iter().filter_map(address).collect()
}

fn answer(task: &Task, step: &str, text: &str) -> Message {
    said(text).with_task(&task.id).with_metadata(metadata::STEP, step)
}

#[tokio::test]
async fn a_question_is_passed_on_and_the_answer_goes_back() {
    let (_agents, scene) = asking(2, ONE).await;
    let asked = scene.send(said("go")).await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    assert_eq!(asked.status_text().as_deref(), Some("What should it say?"));
    assert_eq!(addresses(&asked), ["a"]);
    assert_eq!(scene.get(&asked.id).await, asked);
    let again = scene.send(said("water").with_task(&asked.id)).await;
    assert_eq!(again.status_text().as_deref(), Some("To whom?"));
    let last = answer(&asked, "a", "wine");
    let done = scene.send(last.clone().with_context(&asked.context_id)).await;
    assert_eq!(output(&done), "hi [water | wine]");
    let history: Vec<String> = done.history.iter().map(Message::text).collect();
    assert_eq!(history, ["go", "water", "wine"]);
    assert_eq!(done.history[2], last.with_context(&asked.context_id));
}

#[tokio::test]
async fn two_pauses_are_answered_in_any_order_and_an_answer_to_neither_lists_them() {
    let (_agents, scene) = asking(1, TWO).await;
    let task = scene.send_off(said("go")).await;
    let both = scene.until(&task.id, |task| addresses(task).len() == 2).await;
    assert_eq!(addresses(&both), ["a", "b"]);
    let unclear = scene.send(said("for somebody").with_task(&task.id)).await;
    assert_eq!(
        (unclear.state(), addresses(&unclear)),
        (TaskState::InputRequired, addresses(&both))
    );
    assert_eq!(unclear.history.len(), 1, "nothing of it is kept");
    let nobody = scene.try_send(answer(&task, "c", "x")).await;
    assert_eq!(kind(nobody), ErrorKind::InvalidParams);
    let no_text = said("x").with_task(&task.id).with_metadata(metadata::STEP, json!(1));
    assert_eq!(kind(scene.try_send(no_text).await), ErrorKind::InvalidParams);
    let one = scene.send(answer(&task, "b", "for b")).await;
    assert_eq!((one.state(), addresses(&one)), (TaskState::InputRequired, vec!["a".to_owned()]));
    let done = scene.send(said("for a").with_task(&task.id)).await;
    assert_eq!(output(&done), "one [for a], two [for b]");
}

#[tokio::test]
async fn a_stream_stays_open_over_a_pause_and_the_answer_can_be_streamed() {
    let (_agents, scene) = asking(1, ONE).await;
    let mut first = scene.stream(said("go")).await;
    let id = next(&mut first).await.expect("the Task").task_id().to_owned();
    let asked = scene.until(&id, |task| task.state() == TaskState::InputRequired).await;
    let water = answer(&asked, "a", "water");
    let mut second = scene.stream(water.clone()).await;
    let snapshot = next(&mut second).await.expect("the Task");
    assert_eq!(snapshot.state(), Some(TaskState::Working));
    let (first, second) = (rest(&mut first).await, rest(&mut second).await);
    let states: Vec<_> = first.iter().filter_map(protocol::v1::StreamResponse::state).collect();
    assert!(states.contains(&TaskState::InputRequired), "{states:?}");
    assert_eq!(states.last(), Some(&TaskState::Completed));
    assert!(first.ends_with(&second));
    let late = rest(&mut scene.stream(water).await).await;
    assert_eq!((&late[0], &late[1..]), (&snapshot, second.as_slice()));
}

#[tokio::test]
async fn authorization_elsewhere_is_passed_on_as_such_and_the_run_goes_on_by_itself() {
    let gate = example(Kind::Gate, Options::default()).await;
    let scene = Scene::new(&[workflow("w", &[("x", &gate)], ONE)]).await;
    let task = scene.send(said("go")).await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    let words = task.status_text().expect("words");
    let path =
        words.split_whitespace().find(|word| word.starts_with("/authorize/")).expect("a path");
    let outbound = crate::scene::outbound();
    let url = outbound.check(&format!("{}{path}", gate.url)).expect("a URL");
    let request = outbound.request("POST".parse().expect("a method"), &url).expect("a request");
    assert_eq!(outbound.send(&url, request).await.expect("an answer").status(), 204);
    let done = scene.until(&task.id, |task| task.state().is_terminal()).await;
    assert_eq!(output(&done), "The vault is open.");
}

#[tokio::test]
async fn a_message_to_a_task_that_waits_for_nothing_is_refused_and_not_kept() {
    let slow = example(Kind::Slow, Options::default()).await;
    let scene =
        Scene::new(&[workflow("w", &[("x", &slow)], "steps:\n  a: {agent: x, message: 60s}\n")])
            .await;
    let task = scene.send_off(said("go")).await;
    let refused = scene.try_send(said("more").with_task(&task.id)).await;
    assert_eq!(kind(refused), ErrorKind::UnsupportedOperation);
    assert_eq!(scene.get(&task.id).await.history.len(), 1);
}
