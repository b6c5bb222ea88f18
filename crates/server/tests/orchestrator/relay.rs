//! Messages that are passed on: what a client sees is what the agent itself would have shown.

use examples::{Kind, Options, Running};
use protocol::{
    client::Client,
    error::ErrorKind,
    model::metadata,
    v1::{
        Artifact, ListTasksRequest, Message, SendMessageRequest, StreamResponse, Task, TaskState,
        TaskStatus, send_message_response, stream_response::Payload,
    },
};
use serde_json::json;
use server::Delegation;

use crate::scene::{PATIENCE, Scene, client, example, kind, rest, said, send, soon};

async fn conformance(options: Options) -> Running {
    example(Kind::Conformance, options).await
}

async fn to(agent: &Running) -> Scene {
    let delegation = Delegation::To("agent-0".to_owned());
    Scene::delegating(&[agent], delegation).await
}

/// A Message that chooses what the agent does, by its id and by its text.
fn chosen(script: &str) -> Message {
    said(script).with_id(format!("{script}-{}", uuid::Uuid::new_v4()))
}

fn words(status: Option<&TaskStatus>) -> String {
    let text = status.and_then(TaskStatus::text).unwrap_or_default();
    format!("{} {text:?}", status.map(TaskStatus::state).unwrap_or_default().word())
}

fn artifact(artifact: &Artifact) -> String {
    let Artifact { name, parts, .. } = artifact;
    format!("{name} {}", json!(parts))
}

fn task(task: &Task) -> String {
    let artifacts: Vec<String> = task.artifacts.iter().map(artifact).collect();
    format!("{} {artifacts:?}", words(task.status.as_ref()))
}

/// What a Message is answered with, without what differs from run to run.
async fn answer(client: &Client, message: Message) -> String {
    let response = client.send_message(message.into(), PATIENCE).await;
    match response.unwrap_or_else(|error| panic!("{error}")).payload {
        Some(send_message_response::Payload::Task(it)) => task(&it),
        Some(send_message_response::Payload::Message(it)) => format!("message {:?}", it.text()),
        None => panic!("no answer"),
    }
}

/// The events of a stream after its first one, in the same way.
fn told(events: &[StreamResponse]) -> Vec<String> {
    let line = |event: &StreamResponse| match event.payload.as_ref().expect("an event") {
        Payload::Task(it) => format!("task {}", task(it)),
        Payload::Message(it) => format!("message {:?}", it.text()),
        Payload::StatusUpdate(it) => words(it.status.as_ref()),
        Payload::ArtifactUpdate(it) => {
            let piece = it.artifact.as_ref().map(artifact).unwrap_or_default();
            format!("{piece} append {} last {}", it.append, it.last_chunk)
        }
    };
    events.iter().map(line).collect()
}

async fn tasks(client: &Client) -> Vec<Task> {
    let listed = client.list_tasks(ListTasksRequest::default(), PATIENCE).await;
    listed.unwrap_or_else(|error| panic!("{error}")).tasks
}

const ENDINGS: [&str; 10] = [
    "tck-complete-task",
    "tck-input-required",
    "tck-message-response",
    "tck-artifact-text",
    "tck-artifact-file",
    "tck-artifact-file-url",
    "tck-artifact-data",
    "tck-reject-task",
    "tck-task-failure",
    "tck-auth-required",
];

#[tokio::test]
async fn an_answer_is_that_of_the_agent() {
    for streaming in [true, false] {
        let agent = conformance(Options { streaming, ..Options::default() }).await;
        let (scene, direct) = (to(&agent).await, client(&agent.url, ""));
        for prefix in ENDINGS {
            let expected = answer(&direct, chosen(prefix)).await;
            assert_eq!(answer(&scene.client, chosen(prefix)).await, expected, "{prefix}");
        }
    }
}

#[tokio::test]
async fn a_stream_is_that_of_the_agent() {
    let agent = conformance(Options::default()).await;
    let (scene, direct) = (to(&agent).await, client(&agent.url, ""));
    for prefix in ["tck-stream-001", "tck-stream-artifact-chunked", "tck-stream-artifact-file"] {
        let mut stream = direct.send_streaming_message(chosen(prefix).into(), PATIENCE).await;
        let expected = told(&rest(stream.as_mut().expect("a stream")).await);
        let events = told(&rest(&mut scene.stream(chosen(prefix)).await).await);
        // Where the Task stands when it is first seen depends on who is faster.
        let end = |events: &[String]| events.last().cloned();
        assert_eq!(end(&events), end(&expected), "{prefix}");
        let artifacts = |events: &[String]| -> Vec<String> {
            events.iter().filter(|line| line.contains(" append ")).cloned().collect()
        };
        assert_eq!(artifacts(&events), artifacts(&expected), "{prefix}");
        assert!(events[0].starts_with("task "), "{events:?}");
    }
    let events = told(&rest(&mut scene.stream(chosen("tck-message-response")).await).await);
    assert_eq!(events, ["message \"Direct message response\""]);
}

#[tokio::test]
async fn only_what_an_agent_makes_a_task_of_is_listed() {
    let agent = conformance(Options::default()).await;
    let scene = to(&agent).await;
    assert!(answer(&scene.client, chosen("tck-message-response")).await.starts_with("message"));
    assert!(tasks(&scene.client).await.is_empty());
    let rejected = scene.send(chosen("tck-reject-task")).await;
    let listed = tasks(&scene.client).await;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].state(), &listed[0].id), (TaskState::Rejected, &rejected.id));
    assert_eq!(listed[0].status, rejected.status, "one status, whoever asks");
}

#[tokio::test]
async fn turns_reach_the_task_that_asked_across_a_restart() {
    let agent = conformance(Options::default()).await;
    let scene = to(&agent).await;
    let asked = scene.send(chosen("tck-multi-turn")).await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    let scene = scene.restarted().await;
    assert_eq!(scene.get(&asked.id).await.status, asked.status);
    let turn = |text: &str| said(text).with_task(asked.id.as_str());
    let again = scene.send(turn("more")).await;
    assert_eq!((again.state(), &again.id), (TaskState::InputRequired, &asked.id));
    let done = scene.send(turn("done")).await;
    assert_eq!((done.state(), done.history.len()), (TaskState::Completed, 3));
    assert_eq!(agent.calls.count(), 3, "one Message for each turn");
}

#[tokio::test]
async fn a_follow_up_reaches_its_task_whatever_it_repeats() {
    let agent = conformance(Options::default()).await;
    let scene = Scene::delegating(&[&agent], Delegation::Offered).await;
    let first = chosen("tck-multi-turn").with_metadata(metadata::AGENT, "agent-0");
    let asked = scene.send(first).await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    // No agent of the directory has anything to do with these words, and none is called nobody.
    let turn = || said("qwertz").with_task(asked.id.as_str());
    let by_skill = turn().with_metadata(metadata::WORKFLOW, "delegate");
    let by_name = turn().with_metadata(metadata::AGENT, "nobody");
    for repeated in [by_skill, by_name] {
        let again = scene.send(repeated).await;
        assert_eq!((again.state(), &again.id), (TaskState::InputRequired, &asked.id));
    }
    let by_tenant = send(&client(&scene.url, "delegate"), turn().into()).await.expect("its Task");
    assert_eq!((by_tenant.id, by_tenant.history.len()), (asked.id, 4));
    assert_eq!(agent.calls.count(), 4, "one Message for each turn");
}

#[tokio::test]
async fn a_cancel_reaches_the_agent() {
    let agent = conformance(Options::default()).await;
    let scene = to(&agent).await;
    let begun = scene.send_off(chosen("tck-cancel")).await;
    let canceled = scene.cancel(&begun.id).await.expect("it can be canceled");
    assert_eq!(canceled.state(), TaskState::Canceled);
    let theirs = tasks(&client(&agent.url, "")).await;
    assert_eq!((theirs.len(), theirs[0].state()), (1, TaskState::Canceled));
}

#[tokio::test]
async fn a_message_finds_its_agent_by_name_by_selector_or_by_its_words() {
    let (echo, painter) = (
        example(Kind::Echo, Options::default()).await,
        example(Kind::Painter, Options::default()).await,
    );
    let scene = Scene::delegating(&[&echo, &painter], Delegation::Offered).await;
    let by_name = said("Hello").with_metadata(metadata::AGENT, "agent-0");
    assert!(answer(&scene.client, by_name).await.contains("Hello"));
    let by_tag = said("A boat").with_metadata(metadata::AGENT, json!({ "tags": ["painting"] }));
    assert!(answer(&scene.client, by_tag).await.starts_with("completed"));
    let by_words = said("paint a sailboat").with_metadata(metadata::WORKFLOW, "delegate");
    assert!(answer(&scene.client, by_words).await.starts_with("completed"));
    assert_eq!([&echo, &painter].map(|agent| agent.calls.count()), [1, 2]);
    let nobody = said("Hello").with_metadata(metadata::AGENT, "nobody");
    assert_eq!(kind(scene.try_send(nobody).await), ErrorKind::UnsupportedOperation);
    let url = said("Hello").with_metadata(metadata::AGENT, json!({ "url": echo.url }));
    assert_eq!(kind(scene.try_send(url).await), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn the_agent_is_told_what_the_client_said_of_its_message() {
    let agent = conformance(Options::default()).await;
    let scene = to(&agent).await;
    let message = chosen("tck-complete-task").with_metadata("urn:test:key", "value");
    let message = message.with_metadata(metadata::AGENT, "agent-0");
    let message_id = message.message_id.clone();
    let request = SendMessageRequest::from(message);
    soon("an answer", scene.client.send_message(request, PATIENCE)).await.expect("an answer");
    let theirs = tasks(&client(&agent.url, "")).await;
    let received = &theirs[0].history[0];
    assert_eq!(received.metadata("urn:test:key"), Some(&json!("value")));
    assert_eq!(received.metadata(metadata::ORIGIN), Some(&json!(message_id)));
    assert_eq!(received.metadata(metadata::AGENT), None, "that was meant for us");
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_an_error_and_no_task() {
    let agent = conformance(Options::default()).await;
    let scene = to(&agent).await;
    agent.shutdown().await.expect("it ends well");
    assert_eq!(kind(scene.try_send(said("Hello")).await), ErrorKind::Unavailable);
    assert!(tasks(&scene.client).await.is_empty());
}
