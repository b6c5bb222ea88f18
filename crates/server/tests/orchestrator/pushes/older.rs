//! Webhooks that are registered in a version before 1.0.

use axum::http::Method;
use examples::{Kind, Options};
use executor::RunLimits;
use protocol::push::Verifier;
use serde_json::{Value, json};
use server::Settings;

use super::{Hook, STEPS, begin, config, is_end};
use crate::scene::{Scene, example, outbound, soon, workflow};

async fn ask(scene: &Scene, method: &str, params: Value) -> Value {
    let outbound = outbound();
    let url = outbound.check(&scene.url).expect("a URL");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = outbound.request(Method::POST, &url).expect("a request");
    let request = request.header("content-type", "application/json");
    let answer = outbound.send(&url, request.body(body.to_string())).await.expect("an answer");
    let answer = serde_json::from_slice(&answer.bytes().await.expect("a body")).expect("JSON");
    match answer {
        Value::Object(mut answer) if answer.contains_key("result") => answer["result"].take(),
        refused => panic!("{method}: {refused}"),
    }
}

/// What a webhook was sent, once its Task has ended.
async fn sent_to_the_end(hook: &Hook) -> Vec<(String, Value)> {
    let is_over = || {
        hook.calls().last().is_some_and(|(head, body)| {
            let read = Verifier::default().check(head, body, jiff::Timestamp::now());
            is_end(&read.expect("a notification").0)
        })
    };
    soon("the end", async {
        while !is_over() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let read = |(head, body): super::hook::Call| {
        let media_type = head["content-type"].to_str().expect("text").to_owned();
        (media_type, serde_json::from_slice(&body).expect("JSON"))
    };
    hook.calls().into_iter().map(read).collect()
}

#[tokio::test]
async fn a_webhook_is_told_in_the_version_in_which_it_was_registered_over_a_restart() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let settings = Settings { older_versions: true, ..Settings::default() };
    let scene =
        Scene::with(&[workflow("w", &[("x", &agent)], STEPS)], settings, RunLimits::NONE).await;
    let (first, later, newer) = (Hook::new().await, Hook::new().await, Hook::new().await);
    let message = |text: &str, task: Option<&Value>| {
        let parts = json!([{ "kind": "text", "text": text }]);
        let mut message =
            json!({ "kind": "message", "messageId": text, "role": "user", "parts": parts });
        if let Some(task) = task {
            message["taskId"] = task.clone();
        }
        message
    };
    let configuration = json!({ "pushNotificationConfig": { "id": "first", "url": first.url } });
    let params = json!({ "message": message("go", None), "configuration": configuration });
    let task = ask(&scene, "message/send", params).await;
    assert_eq!(task["status"]["state"], "input-required", "{task}");
    let set = json!({ "id": "later", "url": later.url });
    let set = json!({ "taskId": task["id"], "pushNotificationConfig": set });
    ask(&scene, "tasks/pushNotificationConfig/set", set).await;
    let scene = scene.restarted().await;
    for answer in ["one", "two", "three"] {
        ask(&scene, "message/send", json!({ "message": message(answer, Some(&task["id"])) })).await;
    }
    for hook in [&first, &later] {
        let sent = sent_to_the_end(hook).await;
        for (media_type, body) in &sent {
            assert_eq!((media_type.as_str(), &body["kind"]), ("application/json", &json!("task")));
            assert_eq!(body["id"], task["id"]);
        }
        let last = sent.last().map(|(_, body)| body).expect("it was called");
        assert_eq!(last["status"]["state"], "completed");
        assert_ne!(last["artifacts"], Value::Null, "{last}");
    }
    // Beside them, a webhook of 1.0 gets events.
    let task = begin(&scene, config(&newer.url)).await;
    newer.until(|events| events.iter().any(|event| event.task_id() == task.id)).await;
}
