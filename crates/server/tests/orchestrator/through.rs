//! What goes through a relay, however much it is and whatever its agent waits for.

use examples::{Kind, Options};
use protocol::{
    error::ErrorKind,
    v1::{
        Message, Part, SendMessageConfiguration, SendMessageRequest, Task,
        TaskPushNotificationConfig, TaskState, send_message_response::Payload,
    },
};
use server::Delegation;

use crate::scene::{PATIENCE, Scene, example, said, send};

async fn task(scene: &Scene, message: Message) -> Task {
    let answer = scene.client.send_message(message.into(), PATIENCE).await;
    match answer.unwrap_or_else(|error| panic!("{error}")).payload {
        Some(Payload::Task(task)) => task,
        other => panic!("no Task: {other:?}"),
    }
}

/// A flight goes on looking whether the authorization was given elsewhere; an answer takes its place.
#[tokio::test]
async fn an_answer_reaches_an_agent_that_waits_for_authorization() {
    let agent = example(Kind::Conformance, Options::default()).await;
    let scene = Scene::delegating(&[&agent], Delegation::To("agent-0".to_owned())).await;
    let asked = task(&scene, said("tck-auth-required")).await;
    assert_eq!(asked.state(), TaskState::AuthRequired);
    let answer = said("tck-artifact-text").with_task(&asked.id).with_context(&asked.context_id);
    let done = task(&scene, answer).await;
    assert_eq!((&done.id, done.state()), (&asked.id, TaskState::Completed));
    assert_eq!(done.artifacts[0].parts, [Part::text("Generated text content")]);
}

#[tokio::test]
async fn a_relay_passes_on_a_message_that_is_too_long_to_stand_in_the_journal() {
    let agent = example(Kind::Conformance, Options::default()).await;
    let scene = Scene::delegating(&[&agent], Delegation::To("agent-0".to_owned())).await;
    for size in [100, 20_000] {
        let mut message = said("echo");
        let bytes: Vec<u8> = (0..=250).cycle().take(size).collect();
        message.parts.push(Part::raw(bytes).with_filename("a").with_media_type("text/plain"));
        let parts = message.parts.clone();
        let task = task(&scene, message).await;
        let came: Vec<&[Part]> = task.artifacts.iter().map(|it| it.parts.as_slice()).collect();
        assert!(came == [parts.as_slice()], "{size} bytes came back otherwise");
    }
}

#[tokio::test]
async fn a_context_or_a_webhook_whose_name_cannot_be_kept_is_refused_at_once() {
    let agent = example(Kind::Conformance, Options::default()).await;
    let scene = Scene::delegating(&[&agent], Delegation::To("agent-0".to_owned())).await;
    for (name, why) in [
        ("a\0b".to_owned(), "holds a NUL character"),
        ("a".repeat(513), "is 513 bytes long; 512 are the limit"),
    ] {
        let sent = scene.try_send(said("echo").with_context(&name)).await;
        let error = sent.expect_err("it cannot be kept");
        assert_eq!(error.kind, Some(ErrorKind::InvalidParams), "{error}");
        assert!(error.to_string().contains("message.contextId"), "{error}");
        assert!(error.to_string().contains(why), "{error}");
        let config = TaskPushNotificationConfig {
            id: name,
            url: "http://127.0.0.1:9/".to_owned(),
            ..TaskPushNotificationConfig::default()
        };
        let configuration = SendMessageConfiguration {
            task_push_notification_config: Some(config),
            ..SendMessageConfiguration::default()
        };
        let request =
            SendMessageRequest { configuration: Some(configuration), ..said("echo").into() };
        let error = send(&scene.client, request).await.expect_err("it cannot be kept");
        assert!(error.to_string().contains("taskPushNotificationConfig.id"), "{error}");
    }
    let kept = task(&scene, said("echo").with_context("a".repeat(512))).await;
    assert_eq!(kept.state(), TaskState::Completed);
}
