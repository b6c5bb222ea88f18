//! Streams and subscriptions: the Task first, then what changes, the same for everybody.

use examples::{Kind, Options, Running};
use protocol::{
    error::ErrorKind,
    model::metadata,
    v1::{StreamResponse, TaskState, stream_response::Payload},
};
use serde_json::{Value, json};

use crate::scene::{Scene, example, kind, next, rest, said, workflow};

const CHAIN: &str =
    "steps:\n  a: {agent: x, message: 1s}\n  b: {agent: x, message: 1s, needs: [a]}\n";

async fn slow() -> (Running, Scene) {
    let agent = example(Kind::Slow, Options::default()).await;
    let scene = Scene::new(&[workflow("chain", &[("x", &agent)], CHAIN)]).await;
    (agent, scene)
}

fn step(event: &StreamResponse) -> Option<&Value> {
    match &event.payload {
        Some(Payload::StatusUpdate(update)) => update.metadata.as_ref()?.0.get(metadata::STEP),
        _ => None,
    }
}

fn is_artifact(event: &StreamResponse) -> bool {
    matches!(event.payload, Some(Payload::ArtifactUpdate(_)))
}

#[tokio::test]
async fn a_stream_begins_with_the_task_tells_every_step_and_ends_with_the_outputs() {
    let (_agent, scene) = slow().await;
    let mut stream = scene.stream(said("go")).await;
    let events = rest(&mut stream).await;
    let Some(Payload::Task(first)) = &events[0].payload else { panic!("{:?}", events[0]) };
    assert_eq!((first.state(), first.history[0].text()), (TaskState::Working, "go".to_owned()));
    let steps: Vec<&Value> = events.iter().filter_map(step).collect();
    let about =
        |step: &str, state: &str| json!({"step": step, "state": state, "attempt": 1, "agent": "x"});
    let told = [
        about("a", "running"),
        about("a", "completed"),
        about("b", "running"),
        about("b", "completed"),
    ];
    assert_eq!(steps, told.iter().collect::<Vec<_>>());
    let artifacts: Vec<usize> = (0..events.len()).filter(|at| is_artifact(&events[*at])).collect();
    let completed = events.iter().position(|event| step(event) == Some(&told[3]));
    let [artifact] = artifacts.as_slice() else { panic!("one, and once: {events:?}") };
    assert!(Some(*artifact) < completed, "it comes before the step that made it ends");
    assert_eq!(events.last().and_then(StreamResponse::state), Some(TaskState::Completed));
    let same = |event: &StreamResponse| {
        event.task_id() == first.id && event.context_id() == first.context_id
    };
    assert!(events.iter().all(same));
}

#[tokio::test]
async fn who_streams_a_message_is_told_all_that_came_of_it_however_late() {
    let (agent, scene) = slow().await;
    let message = said("go");
    let told = rest(&mut scene.stream(message.clone()).await).await;
    assert_eq!(rest(&mut scene.stream(message).await).await, told);
    assert_eq!(agent.calls.count(), 2);
}

#[tokio::test]
async fn all_subscribers_see_the_same_and_a_late_one_sees_the_rest() {
    let (_agent, scene) = slow().await;
    let mut sender = scene.stream(said("go")).await;
    let id = next(&mut sender).await.expect("the Task").task_id().to_owned();
    let mut one = scene.subscribe(&id).await.expect("a stream");
    let mut other = scene.subscribe(&id).await.expect("a stream");
    let snapshot = next(&mut one).await.expect("the Task");
    assert_eq!(next(&mut other).await, Some(snapshot));
    let first = next(&mut one).await.expect("an event");
    let mut late = scene.subscribe(&id).await.expect("a stream");
    assert!(matches!(next(&mut late).await.expect("the Task").payload, Some(Payload::Task(_))));
    let all = [vec![first], rest(&mut one).await].concat();
    assert_eq!(rest(&mut other).await, all);
    assert!(rest(&mut sender).await.ends_with(&all));
    let rest_of_it = rest(&mut late).await;
    assert!(all.ends_with(&rest_of_it) && rest_of_it.len() < all.len(), "{rest_of_it:?}");
    assert_eq!(kind(scene.subscribe(&id).await.map(drop)), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn hanging_up_stops_nothing() {
    let (agent, scene) = slow().await;
    let mut stream = scene.stream(said("go")).await;
    let id = next(&mut stream).await.expect("the Task").task_id().to_owned();
    drop(stream);
    scene.until(&id, |task| task.state() == TaskState::Completed).await;
    assert_eq!(agent.calls.count(), 2);
}

#[tokio::test]
async fn a_message_that_does_not_wait_is_answered_at_once() {
    let (_agent, scene) = slow().await;
    let task = scene.send_off(said("go")).await;
    assert_eq!(task.state(), TaskState::Working);
    let done = scene.until(&task.id, |task| task.state().is_terminal()).await;
    assert_eq!(done.state(), TaskState::Completed);
}

#[tokio::test]
async fn a_cancel_reaches_the_agents() {
    let agent = example(Kind::Slow, Options::default()).await;
    let steps = "steps:\n  a: {agent: x, message: 60s}\n  b: {agent: x, message: 60s}\n";
    let scene = Scene::new(&[workflow("long", &[("x", &agent)], steps)]).await;
    let mut stream = scene.stream(said("go")).await;
    let id = next(&mut stream).await.expect("the Task").task_id().to_owned();
    let remote = crate::scene::client(&agent.url, "");
    let states = async || {
        let page = remote.list_tasks(Default::default(), crate::scene::PATIENCE).await;
        let tasks = page.expect("a page").tasks;
        tasks.iter().map(protocol::v1::Task::state).collect::<Vec<_>>()
    };
    crate::scene::soon("both", async {
        while states().await.len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let canceled = scene.cancel(&id).await.expect("a Task");
    assert_eq!(canceled.state(), TaskState::Canceled);
    assert_eq!(states().await, [TaskState::Canceled, TaskState::Canceled]);
    let last = rest(&mut stream).await.pop().expect("an event");
    assert_eq!(last.state(), Some(TaskState::Canceled));
    assert_eq!(kind(scene.cancel(&id).await), ErrorKind::TaskNotCancelable);
}

#[tokio::test]
async fn a_run_that_fails_says_why() {
    let agent = example(Kind::Flaky, Options { failures: 9, ..Options::default() }).await;
    let steps = "steps:\n  a: {agent: x, message: hi, retry: {attempts: 1}}\n";
    let scene = Scene::new(&[workflow("risky", &[("x", &agent)], steps)]).await;
    let task = scene.send(said("go")).await;
    assert_eq!(task.state(), TaskState::Failed);
    let why = task.status_text().expect("words");
    assert!(why.starts_with("step `a` failed (attempt 1)"), "{why}");
    assert_eq!(scene.get(&task.id).await, task, "the same words under the same messageId");
}
