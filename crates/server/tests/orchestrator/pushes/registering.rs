//! Registering webhooks: what is kept, shown, refused and forgotten.

use axum::http::{Method, StatusCode};
use examples::{Kind, Options};
use protocol::{
    error::ErrorKind,
    v1::{ListTasksRequest, TaskPushNotificationConfig, TaskState},
};
use serde_json::{Value, json};
use server::{DeliveryState, PushSettings};

use super::{Hook, answer_all, asking, begin, config, report, scene, with_hook};
use crate::scene::{PATIENCE, Scene, example, kind, outbound, said, send};

/// Calls a method over JSON-RPC; an error is its code.
async fn call(scene: &Scene, method: &str, params: Value) -> Result<Value, i64> {
    let outbound = outbound();
    let url = outbound.check(&scene.url).expect("a URL");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = outbound.request(Method::POST, &url).expect("a request");
    let request = request.header("content-type", "application/json").header("a2a-version", "1.0");
    let answer = outbound.send(&url, request.body(body.to_string())).await.expect("an answer");
    let answer: Value =
        serde_json::from_slice(&answer.bytes().await.expect("a body")).expect("JSON");
    match answer["error"]["code"].as_i64() {
        Some(code) => Err(code),
        None => Ok(answer["result"].clone()),
    }
}

async fn create(scene: &Scene, task: &str, id: &str, url: &str) -> Result<Value, i64> {
    let config = json!({ "taskId": task, "id": id, "url": url });
    call(scene, "CreateTaskPushNotificationConfig", config).await
}

async fn delete(scene: &Scene, task: &str, id: &str) -> Result<Value, i64> {
    let named = json!({ "taskId": task, "id": id });
    call(scene, "DeleteTaskPushNotificationConfig", named).await
}

async fn page(scene: &Scene, task: &str, size: i32, token: &str) -> (Vec<String>, String) {
    let asked = json!({ "taskId": task, "pageSize": size, "pageToken": token });
    let page = call(scene, "ListTaskPushNotificationConfigs", asked).await.expect("a page");
    let configs = page["configs"].as_array().cloned().unwrap_or_default();
    let ids = configs.iter().map(|it| it["id"].as_str().expect("an id").to_owned()).collect();
    (ids, page["nextPageToken"].as_str().unwrap_or_default().to_owned())
}

const NOT_FOUND: i64 = -32001;
const INVALID: i64 = -32602;

#[tokio::test]
async fn a_webhook_is_kept_shown_replaced_and_forgotten() {
    let (_agent, scene) = asking(PushSettings::default()).await;
    let hook = Hook::new().await;
    let task = scene.send(said("go")).await.id;
    let made = create(&scene, &task, "", &hook.url).await.unwrap();
    let id = made["id"].as_str().unwrap();
    assert!(!id.is_empty() && made["taskId"] == task && made["url"] == hook.url, "{made}");
    let scene = scene.restarted().await;
    let get = json!({ "taskId": task, "id": id });
    let get = async || call(&scene, "GetTaskPushNotificationConfig", get.clone()).await;
    assert_eq!(get().await, Ok(made.clone()));
    let other = format!("{}?other", hook.url);
    let replaced = create(&scene, &task, id, &other).await.unwrap();
    assert_eq!((&replaced["url"], get().await), (&json!(other), Ok(replaced.clone())));
    assert_eq!(page(&scene, &task, 0, "").await.0, [id]);
    for _ in 0..2 {
        assert!(delete(&scene, &task, id).await.is_ok());
        assert_eq!(get().await, Err(NOT_FOUND));
    }
    answer_all(&scene, &task).await;
    assert_eq!(hook.calls().len(), 0, "it was forgotten before anything happened");
}

#[tokio::test]
async fn webhooks_come_in_pages_and_a_task_can_have_so_many() {
    let (_agent, scene) = asking(PushSettings::default()).await;
    let hook = Hook::answering(|_| std::future::pending()).await;
    let task = scene.send(said("go")).await.id;
    let other = scene.send(said("go")).await.id;
    create(&scene, &other, "of another task", &hook.url).await.unwrap();
    for number in 0..32 {
        create(&scene, &task, &format!("n{number}"), &hook.url).await.unwrap();
    }
    assert!(create(&scene, &task, "n32", &hook.url).await.is_err(), "one too many");
    create(&scene, &task, "n31", &hook.url).await.expect("one that is there already");
    let (first, next) = page(&scene, &task, 30, "").await;
    let (second, last) = page(&scene, &task, 30, &next).await;
    let all: Vec<String> = (0..32).map(|number| format!("n{number}")).collect();
    assert_eq!(([first, second].concat(), last), (all, String::new()));
    let asked = json!({ "taskId": task, "pageToken": "mine" });
    assert_eq!(call(&scene, "ListTaskPushNotificationConfigs", asked).await, Err(INVALID));
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_before_anything_comes_of_it() {
    let (_agent, scene) = asking(PushSettings::default()).await;
    let unknown = "0198c0de-7a11-7000-8000-000000000000";
    assert_eq!(create(&scene, unknown, "", "http://127.0.0.1:9/").await, Err(NOT_FOUND));
    assert_eq!(delete(&scene, unknown, "x").await, Err(NOT_FOUND));
    for bad in ["", "ftp://client.example/", "http://10.0.0.1/hook", "http://169.254.169.254/"] {
        let sent = send(&scene.client, with_hook(said("go"), config(bad))).await;
        assert_eq!(kind(sent), ErrorKind::InvalidParams, "{bad}");
    }
    let line = TaskPushNotificationConfig { token: "a\nb".to_owned(), ..config("http://[::1]:9/") };
    let sent = send(&scene.client, with_hook(said("go"), line)).await;
    assert!(
        sent.unwrap_err().to_string().contains("configuration.taskPushNotificationConfig.token")
    );
    let tasks = scene.client.list_tasks(ListTasksRequest::default(), PATIENCE).await.unwrap();
    assert_eq!(tasks.total_size, 0);
}

#[tokio::test]
async fn a_message_that_comes_again_brings_no_second_webhook() {
    let (_agent, scene) = asking(PushSettings::default()).await;
    let hook = Hook::new().await;
    let request = with_hook(said("go").with_id("m"), config(&hook.url));
    let first = send(&scene.client, request.clone()).await.unwrap();
    let again = send(&scene.client, request).await.unwrap();
    assert_eq!((&again.id, page(&scene, &first.id, 0, "").await.0.len()), (&first.id, 1));
}

#[tokio::test]
async fn one_that_replaces_another_goes_on_where_that_one_was() {
    let (_agent, scene) = asking(PushSettings { attempts: 1, ..Default::default() }).await;
    let broken = Hook::answering(|_| async { StatusCode::SERVICE_UNAVAILABLE }).await;
    let named = TaskPushNotificationConfig { id: "it".to_owned(), ..config(&broken.url) };
    let task = begin(&scene, named).await.id;
    report(&scene, |it| it.state == DeliveryState::Parked).await;
    let hook = Hook::new().await;
    create(&scene, &task, "it", &hook.url).await.unwrap();
    hook.until(|events| {
        events.last().is_some_and(|it| it.state() == Some(TaskState::InputRequired))
    })
    .await;
    assert_eq!(hook.events()[0], broken.events()[0], "nothing is lost");
}

#[tokio::test]
async fn a_webhook_answers_a_challenge_where_that_is_wanted() {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = scene(&agent, PushSettings { verify_url: true, ..Default::default() }).await;
    let hook = Hook::new().await;
    let silent = hook.url.replace("/hook", "/other");
    let refused = send(&scene.client, with_hook(said("go"), config(&silent))).await.unwrap_err();
    assert!(refused.to_string().contains("did not answer the challenge"), "{refused}");
    begin(&scene, config(&hook.url)).await;
    hook.to_the_end().await;
}
