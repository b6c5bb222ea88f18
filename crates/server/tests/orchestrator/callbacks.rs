//! Callbacks: what agents tell of their Tasks is checked, has the Task looked at, and is believed in nothing.

mod agent;

use protocol::{
    auth::Secret,
    limits::ServerLimits,
    push::Attempt,
    v1::{
        GetTaskRequest, SendMessageConfiguration, SendMessageRequest, Task,
        TaskPushNotificationConfig, TaskState,
    },
};
use server::Settings;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use self::agent::{Teller, event};
use crate::{
    accounts::of,
    pushes::hook::Hook,
    scene::{PATIENCE, Scene, said, send, soon},
};

/// A body that says nothing, and its HMAC-SHA-256 under the key `shared`.
const NOTHING: &str = "{}";
const HMAC: &str = "sha256=4c053bf942c3ef31b83886f65ce5a58e1bc228427db9e9de6a2a4b9bddf9c69e";

fn file(agent: &Teller) -> String {
    let url = &agent.url;
    format!("name: w\nagents: {{x: {{url: \"{url}\"}}}}\nsteps:\n  a: {{agent: x, message: hi}}\n")
}

/// An orchestrator whose only agent is this one, a Task with it, and where it is told of.
async fn scene(agent: &Teller, settings: Settings) -> (Scene, Task, TaskPushNotificationConfig) {
    let scene = Scene::with_callbacks(&[file(agent)], settings).await;
    let task = scene.send_off(said("go")).await;
    let config = agent.looked_at(1).await;
    assert!(config.url.starts_with(&format!("{}/callbacks/", scene.url)), "{}", config.url);
    (scene, task, config)
}

async fn completed(scene: &Scene, task: &Task) {
    scene.until(&task.id, |task| task.state() == TaskState::Completed).await;
}

/// Sends a request, and returns the whole answer.
async fn exchanged(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> String {
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .expect("an address and a path");
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n\
         {body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it is read");
    let mut answer = String::new();
    soon("an answer", stream.read_to_string(&mut answer)).await.expect("text");
    answer
}

/// Sends a request, and returns the status and the body of the answer.
async fn asked(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let answer = exchanged(method, url, headers, body).await;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    (status.expect("a status"), body.to_owned())
}

/// Reads a document.
pub(crate) async fn asked_json(url: &str) -> (u16, serde_json::Value) {
    let (status, body) = asked("GET", url, &[], "").await;
    (status, serde_json::from_str(&body).expect("JSON"))
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Shows a notification at a callback, and returns the status.
async fn shown(
    config: &TaskPushNotificationConfig,
    token: &str,
    header: (&str, &str),
    body: &str,
) -> u16 {
    let headers = [("X-A2A-Notification-Token", token), header];
    asked("POST", &config.url, &headers, body).await.0
}

#[tokio::test]
async fn a_notification_wakes_the_step_and_a_lie_in_it_changes_nothing() {
    let agent = Teller::new(true).await;
    let (scene, task, config) = scene(&agent, Settings::default()).await;
    let lie = agent.tell(&config, TaskState::Completed).await;
    assert!(matches!(lie, Attempt::Delivered), "{lie:?}");
    agent.looked_at(2).await;
    assert_eq!(scene.get(&task.id).await.state(), TaskState::Working);
    agent.finish();
    let other_lie = agent.tell(&config, TaskState::Failed).await;
    assert!(matches!(other_lie, Attempt::Delivered), "{other_lie:?}");
    completed(&scene, &task).await;
    assert_eq!(agent.looks(), 3, "one for each, after the first");
    // The driver closes the callback right after the end is known.
    soon("the end of the callback", async {
        loop {
            let late = agent.tell(&config, TaskState::Completed).await;
            match late {
                Attempt::Gone(_) => return,
                Attempt::Delivered => tokio::task::yield_now().await,
                other => panic!("{other:?}"),
            }
        }
    })
    .await;
    assert_eq!(shown(&config, "another", JSON, NOTHING).await, 401, "also after the end");
}

#[tokio::test]
async fn agents_of_callers_with_credentials_tell_without_any_but_their_token() {
    let agent = Teller::new(true).await;
    let scene = Scene::guarded_with_callbacks(&[file(&agent)]).await;
    let key = scene.key("ada", &["runs:start:*", "runs:read"]).await;
    let client = of(&scene, &key);
    let configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    let request = SendMessageRequest { configuration, ..said("go").into() };
    let task = send(&client, request).await.expect("a Task");
    let config = agent.looked_at(1).await;
    let wrong = [JSON, ("X-A2A-Notification-Token", &config.token[1..])];
    let refused = exchanged("POST", &config.url, &wrong, NOTHING).await.to_lowercase();
    assert!(refused.starts_with("http/1.1 401"), "{refused}");
    assert!(!refused.contains("www-authenticate"), "no credentials would help: {refused}");
    agent.finish();
    let told = agent.tell(&config, TaskState::Completed).await;
    assert!(matches!(told, Attempt::Delivered), "{told:?}");
    soon("the end", async {
        loop {
            let request = GetTaskRequest { id: task.id.clone(), ..Default::default() };
            let task = client.get_task(request, PATIENCE).await.expect("it is hers");
            if task.state() == TaskState::Completed {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(agent.looks(), 2);
}

#[tokio::test]
async fn what_is_forged_or_no_notification_wakes_nobody() {
    let agent = Teller::new(true).await;
    let limits = ServerLimits { max_body_bytes: 1_000, ..ServerLimits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let (scene, task, config) = scene(&agent, settings).await;
    let token = config.token.clone();
    let unsigned = ("X-Convoke-JWT", "e30.e30.e30");
    assert_eq!(shown(&config, "", JSON, NOTHING).await, 401);
    assert_eq!(shown(&config, &token[1..], JSON, NOTHING).await, 401);
    assert_eq!(shown(&config, &token, ("Content-Type", "text/plain"), NOTHING).await, 415);
    assert_eq!(shown(&config, &token, JSON, "[]").await, 400);
    assert_eq!(shown(&config, &token, JSON, "{").await, 400);
    assert_eq!(
        shown(&config, &token, JSON, &format!("{{\"a\": \"{}\"}}", "a".repeat(1_000))).await,
        413
    );
    let both = [JSON, unsigned, ("X-A2A-Notification-Token", &token)];
    assert_eq!(asked("POST", &config.url, &both, NOTHING).await.0, 401);
    let nowhere = format!("{}/callbacks/{}", scene.url, "0".repeat(32));
    let nowhere = TaskPushNotificationConfig { url: nowhere, ..config.clone() };
    assert_eq!(shown(&nowhere, &token, JSON, NOTHING).await, 404);
    let stranger = Teller::new(true).await;
    let refused = stranger.tell(&config, TaskState::Completed).await;
    assert!(
        matches!(&refused, Attempt::Refused(why) if why.to_string().contains("401")),
        "{refused:?}"
    );
    assert_eq!(agent.looks(), 1);
    agent.finish();
    assert_eq!(
        shown(&config, &token, ("Content-Type", "application/a2a+json; v=1"), NOTHING).await,
        204
    );
    completed(&scene, &task).await;
    assert_eq!(agent.looks(), 2);
}

#[tokio::test]
async fn a_signed_notification_counts_once_and_over_its_own_body() {
    let agent = Teller::new(true).await;
    let (_scene, _task, config) = scene(&agent, Settings::default()).await;
    let tap = Hook::new().await;
    let tapped = TaskPushNotificationConfig { url: tap.url.clone(), ..config.clone() };
    assert!(matches!(agent.tell(&tapped, TaskState::Working).await, Attempt::Delivered));
    let (head, body) = tap.calls().pop().expect("it was told");
    let body = String::from_utf8(body.to_vec()).expect("JSON");
    let jwt = head["x-convoke-jwt"].to_str().expect("text");
    let headers =
        [JSON, ("X-Convoke-JWT", jwt), ("X-A2A-Notification-Token", config.token.as_str())];
    let changed = body.replace("WORKING", "COMPLETED");
    assert_ne!(changed, body);
    for (body, expected) in [(&changed, 401), (&body, 204), (&body, 401)] {
        assert_eq!(asked("POST", &config.url, &headers, body).await.0, expected);
    }
    agent.looked_at(2).await;
    let bearer = format!("Bearer {jwt}");
    let headers =
        [JSON, ("Authorization", &*bearer), ("X-A2A-Notification-Token", config.token.as_str())];
    assert_eq!(asked("POST", &config.url, &headers, &body).await.0, 401, "wherever it stands");
}

#[tokio::test]
async fn of_an_agent_that_publishes_no_keys_the_token_is_enough() {
    let agent = Teller::new(false).await;
    let (scene, task, config) = scene(&agent, Settings::default()).await;
    agent.finish();
    let told = agent.tell(&config, TaskState::Completed).await;
    assert!(matches!(told, Attempt::Delivered), "{told:?}");
    completed(&scene, &task).await;
}

#[tokio::test]
async fn with_a_shared_secret_every_notification_has_to_bring_an_hmac() {
    let agent = Teller::new(true).await;
    let secret = Some(Secret::new("shared"));
    let settings = Settings { callback_secret: secret, ..Settings::default() };
    let (scene, task, config) = scene(&agent, settings).await;
    agent.finish();
    assert_eq!(shown(&config, &config.token, JSON, NOTHING).await, 401);
    let refused = agent.tell(&config, TaskState::Completed).await;
    assert!(matches!(refused, Attempt::Refused(_)), "a JWT does not replace it: {refused:?}");
    let headers =
        [JSON, ("X-Hub-Signature-256", HMAC), ("X-A2A-Notification-Token", &config.token)];
    assert_eq!(asked("POST", &config.url, &headers, "{ }").await.0, 401);
    assert_eq!(asked("POST", &config.url, &headers, NOTHING).await.0, 204);
    completed(&scene, &task).await;
}

#[tokio::test]
async fn a_challenge_is_answered_where_somebody_waits() {
    let agent = Teller::new(true).await;
    let (scene, _task, config) = scene(&agent, Settings::default()).await;
    let challenge = format!("{}?validationToken=a-word", config.url);
    for method in ["GET", "POST"] {
        let whole = exchanged(method, &challenge, &[], "").await.to_lowercase();
        assert!(whole.contains("content-type: text/plain") && whole.contains("nosniff"), "{whole}");
        assert_eq!(asked(method, &challenge, &[], "").await, (200, "a-word".to_owned()));
        let nowhere = format!("{}/callbacks/x?validationToken=a-word", scene.url);
        assert_eq!(asked(method, &nowhere, &[], "").await.0, 404);
    }
    assert_eq!(asked("GET", &config.url, &[], "").await.0, 405);
    assert_eq!(agent.looks(), 1, "which is no hint");
}

#[tokio::test]
async fn where_agents_are_only_asked_there_are_no_callbacks() {
    let scene = Scene::new(&[]).await;
    let url = format!("{}/callbacks/x?validationToken=a-word", scene.url);
    assert_eq!(asked("GET", &url, &[], "").await.0, 404);
    let event = serde_json::to_string(&event(TaskState::Working)).expect("JSON");
    assert_eq!(asked("POST", &url, &[JSON], &event).await.0, 404);
}
