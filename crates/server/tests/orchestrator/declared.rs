//! What an operator lets the cards declare, and what follows for clients.

use examples::{Kind, Options, Running};
use protocol::{
    card::{self, Binding},
    client::{Client, ClientError},
    error::ErrorKind,
    v1::{
        AgentCapabilities, Message, SendMessageConfiguration, SendMessageRequest,
        TaskPushNotificationConfig, TaskState,
    },
};
use server::{Declared, Settings};

use crate::scene::{PATIENCE, Scene, client_of, example, kind, outbound, said, send, workflow};

const ECHO: &str = "steps:\n  a: {agent: x}\n";

async fn scene(declared: Declared) -> (Running, Scene) {
    let agent = example(Kind::Echo, Options::default()).await;
    let settings = Settings { declared, ..Settings::default() };
    let scene = Scene::relaying(&[workflow("w", &[("x", &agent)], ECHO)], &[], settings).await;
    (agent, scene)
}

/// What the cards of the server and of its workflow declare; it has to be the same.
async fn declared(scene: &Scene) -> AgentCapabilities {
    let all = card::fetch(&outbound(), &scene.url).await.expect("a card").card;
    let one = format!("{}/agents/w", scene.url);
    let one = card::fetch(&outbound(), &one).await.expect("a card").card;
    let [all, one] = [all, one].map(|card| card.capabilities.expect("capabilities"));
    let required = |it: &AgentCapabilities| {
        let required = it.extensions.iter().filter(|extension| extension.required);
        required.map(|extension| extension.uri.clone()).collect::<Vec<_>>()
    };
    let flags = |it: &AgentCapabilities| (it.streaming, it.push_notifications, required(it));
    assert_eq!(flags(&all), flags(&one));
    all
}

/// A client of each binding, of the server and of its workflow.
fn clients(scene: &Scene) -> Vec<Client> {
    let both = |binding| ["", "w"].map(|tenant| client_of(&scene.url, binding, tenant));
    Binding::ALL.into_iter().flat_map(both).collect()
}

async fn stream(client: &Client, message: Message) -> Result<(), ClientError> {
    client.send_streaming_message(message.into(), PATIENCE).await.map(drop)
}

fn webhook(task: &str) -> TaskPushNotificationConfig {
    let url = "http://127.0.0.1:9/hook".to_owned();
    TaskPushNotificationConfig { task_id: task.to_owned(), url, ..Default::default() }
}

/// Sends a Message that brings a webhook.
async fn with_webhook(client: &Client) -> Result<(), ClientError> {
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(webhook("")),
        ..Default::default()
    };
    let request = SendMessageRequest { configuration: Some(configuration), ..said("x").into() };
    send(client, request).await.map(drop)
}

#[tokio::test]
async fn by_default_everything_is_there_and_no_extension_is_asked_for() {
    let (_agent, scene) = scene(Declared::default()).await;
    let shown = declared(&scene).await;
    assert_eq!((shown.streaming, shown.push_notifications), (Some(true), Some(true)));
    assert!(shown.extensions.iter().all(|extension| !extension.required));
    for client in clients(&scene) {
        stream(&client, said("Hello")).await.expect("a stream");
        with_webhook(&client).await.expect("a Task");
    }
}

#[tokio::test]
async fn without_streaming_no_stream_is_opened_on_any_binding() {
    let (_agent, scene) = scene(Declared { streaming: false, ..Declared::default() }).await;
    let shown = declared(&scene).await;
    assert_eq!((shown.streaming, shown.push_notifications), (Some(false), Some(true)));
    let task = scene.send(said("Hello")).await;
    assert_eq!(task.state(), TaskState::Completed, "it is answered all the same");
    for client in clients(&scene) {
        let refused = stream(&client, said("Hello")).await;
        assert_eq!(kind(refused), ErrorKind::UnsupportedOperation);
        let request =
            protocol::v1::SubscribeToTaskRequest { id: task.id.clone(), ..Default::default() };
        let refused = client.subscribe_to_task(request, PATIENCE).await.map(drop);
        assert_eq!(kind(refused), ErrorKind::UnsupportedOperation);
    }
}

#[tokio::test]
async fn without_push_notifications_no_webhook_is_taken_on_any_binding() {
    let (agent, scene) = scene(Declared { push_notifications: false, ..Declared::default() }).await;
    let shown = declared(&scene).await;
    assert_eq!((shown.streaming, shown.push_notifications), (Some(true), Some(false)));
    let task = scene.send(said("Hello")).await;
    for client in clients(&scene) {
        let created = client.create_push_config(webhook(&task.id), PATIENCE).await;
        assert_eq!(kind(created), ErrorKind::PushNotificationNotSupported);
        assert_eq!(kind(with_webhook(&client).await), ErrorKind::PushNotificationNotSupported);
    }
    assert_eq!(agent.calls.count(), 1, "nothing is begun with a webhook that is refused");
}

#[tokio::test]
async fn an_extension_that_is_required_has_to_be_asked_for_on_every_binding() {
    let required_extensions = vec!["urn:one".to_owned(), "urn:two".to_owned()];
    let (agent, scene) = scene(Declared { required_extensions, ..Declared::default() }).await;
    let shown = declared(&scene).await.extensions.into_iter().filter(|it| it.required);
    assert_eq!(shown.map(|it| it.uri).collect::<Vec<_>>(), ["urn:one", "urn:two"]);
    for client in clients(&scene) {
        for asked in [&[][..], &["urn:one"]] {
            let asking = client.clone().with_extensions(asked.iter().copied());
            let refused = send(&asking, said("Hello").into()).await;
            assert_eq!(kind(refused), ErrorKind::ExtensionSupportRequired);
        }
        assert_eq!(agent.calls.count(), 0);
    }
    for client in clients(&scene) {
        let asking = client.with_extensions(["urn:two", "urn:one"]);
        let task = send(&asking, said("Hello").into()).await.expect("a Task");
        assert_eq!(task.state(), TaskState::Completed);
    }
}
