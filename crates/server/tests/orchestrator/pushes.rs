//! Push notifications of the orchestrator's Tasks, at webhooks that take them, or do not.

pub(crate) mod hook;
mod older;
mod registering;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::http::{HeaderMap, StatusCode, header};
use examples::{Kind, Options, Running};
use executor::RunLimits;
use protocol::{
    push::{Proof, PublicKeys, Verifier},
    v1::{
        AuthenticationInfo, Message, SendMessageConfiguration, SendMessageRequest, StreamResponse,
        Task, TaskPushNotificationConfig, TaskState,
    },
};
use server::{DeliveryReport, DeliveryState, PushSettings, Settings, deliveries, retry_deliveries};
use store::AccountId;
use tokio::sync::Notify;

use self::hook::{Hook, is_end};
use crate::scene::{PATIENCE, Scene, example, outbound, rest, said, send, soon, workflow};

const STEPS: &str = "steps:\n  a: {agent: x, message: one}\n  b: {agent: x, message: two, needs: [a]}\n  \
                     c: {agent: x, message: three, needs: [b]}\n";

async fn scene(agent: &Running, push: PushSettings) -> Scene {
    let settings = Settings { push, ..Settings::default() };
    Scene::with(&[workflow("w", &[("x", agent)], STEPS)], settings, RunLimits::NONE).await
}

async fn echo() -> (Running, Scene) {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = scene(&agent, PushSettings::default()).await;
    (agent, scene)
}

/// An agent that asks once in each step.
async fn asking(push: PushSettings) -> (Running, Scene) {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let scene = scene(&agent, push).await;
    (agent, scene)
}

fn config(url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig { url: url.to_owned(), ..TaskPushNotificationConfig::default() }
}

/// A Message that brings a webhook.
fn with_hook(message: Message, config: TaskPushNotificationConfig) -> SendMessageRequest {
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(config),
        ..Default::default()
    };
    SendMessageRequest { configuration: Some(configuration), ..message.into() }
}

async fn begin(scene: &Scene, config: TaskPushNotificationConfig) -> Task {
    send(&scene.client, with_hook(said("go"), config)).await.expect("a Task")
}

/// Answers until the Task has ended.
async fn answer_all(scene: &Scene, id: &str) -> Task {
    loop {
        let task = scene.send(said("Yes").with_task(id)).await;
        if task.state().is_terminal() {
            return task;
        }
    }
}

async fn reports(scene: &Scene) -> Vec<DeliveryReport> {
    let store = Arc::clone(&scene.store);
    deliveries(store, false).await.expect("a list")
}

/// Waits until the only webhook is as it should be.
async fn report(scene: &Scene, is_so: impl Fn(&DeliveryReport) -> bool) -> DeliveryReport {
    soon("the delivery", async {
        loop {
            if let [only] = &reports(scene).await[..]
                && is_so(only)
            {
                return only.clone();
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

async fn retry(scene: &Scene, task: &str) -> Vec<String> {
    let store = Arc::clone(&scene.store);
    retry_deliveries(store, AccountId::new("local"), task, None).await.expect("it is written")
}

fn states(events: &[StreamResponse]) -> Vec<TaskState> {
    let mut states: Vec<_> = events.iter().filter_map(StreamResponse::state).collect();
    states.dedup();
    states
}

#[tokio::test]
async fn a_webhook_is_told_what_a_stream_tells() {
    let (_agent, scene) = echo().await;
    let hook = Hook::new().await;
    let request = with_hook(said("go"), config(&hook.url));
    let mut stream = scene.client.send_streaming_message(request, PATIENCE).await.unwrap();
    let told = rest(&mut stream).await;
    let pushed = hook.to_the_end().await;
    // A stream begins with the Task as it is then.
    assert!(told.len() > 3 && pushed.ends_with(&told[1..]), "{pushed:#?}\n{told:#?}");
    assert_eq!(states(&pushed), [TaskState::Working, TaskState::Completed]);
    assert!(pushed.iter().all(|event| event.task_id() == told[0].task_id()));
}

#[tokio::test]
async fn each_notification_is_signed_and_the_keys_are_published() {
    let (_agent, scene) = echo().await;
    let hook = Hook::new().await;
    let token = "for this task".to_owned();
    let task = begin(&scene, TaskPushNotificationConfig { token, ..config(&hook.url) }).await;
    hook.to_the_end().await;
    let keys = format!("{}/.well-known/jwks.json", scene.url);
    let published = outbound().fetch(&keys, Default::default()).await.unwrap();
    assert_eq!(published.headers[header::CACHE_CONTROL], "public, max-age=300");
    let keys = PublicKeys::read(&published.body).unwrap();
    let mut verifier = Verifier::default().with_keys(keys).with_token("for this task".to_owned());
    for (headers, body) in hook.calls() {
        let checked = verifier.check(&headers, &body, jiff::Timestamp::now());
        let (event, proofs) = checked.unwrap();
        assert_eq!(event.task_id(), task.id);
        assert_eq!(proofs, [Proof::Token, Proof::Jwt { issuer: scene.url.clone() }]);
    }
}

#[tokio::test]
async fn authorization_is_the_clients() {
    let (_agent, scene) = echo().await;
    let hook = Hook::new().await;
    let (scheme, credentials) = ("Bearer".to_owned(), "secret".to_owned());
    let authentication = Some(AuthenticationInfo { scheme, credentials });
    begin(&scene, TaskPushNotificationConfig { authentication, ..config(&hook.url) }).await;
    hook.to_the_end().await;
    let given = |(head, _): &(HeaderMap, _)| head[header::AUTHORIZATION] == "Bearer secret";
    assert!(hook.calls().iter().all(given));
}

#[tokio::test]
async fn a_webhook_that_hangs_holds_up_neither_the_task_nor_others() {
    let (_agent, scene) = asking(PushSettings::default()).await;
    let hangs = Hook::answering(|_| std::future::pending()).await;
    let asked = begin(&scene, config(&hangs.url)).await;
    let hook = Hook::new().await;
    let told = send(&scene.client, with_hook(said("Yes").with_task(&asked.id), config(&hook.url)));
    assert_eq!(told.await.unwrap().state(), TaskState::InputRequired);
    assert_eq!(answer_all(&scene, &asked.id).await.state(), TaskState::Completed);
    hook.to_the_end().await;
    assert_eq!(hangs.calls().len(), 1, "it has not answered the first one");
}

#[tokio::test]
async fn what_failed_is_sent_again_before_anything_else_also_after_a_restart() {
    let (_agent, scene) = echo().await;
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let hook = Hook::answering(move |_| {
        let is_up = up.load(Ordering::SeqCst);
        async move { if is_up { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE } }
    })
    .await;
    begin(&scene, config(&hook.url)).await;
    let failing = report(&scene, |it| it.failed_attempts >= 2).await;
    assert_eq!((failing.state, failing.at.seq.0), (DeliveryState::Open, 0));
    assert!(failing.next_attempt_at.is_some() && failing.error.unwrap().contains("503"));
    let before = hook.calls().len();
    let scene = scene.restarted().await;
    let kept = report(&scene, |_| true).await;
    assert!(kept.failed_attempts >= 2, "{kept:?}");
    is_up.store(true, Ordering::SeqCst);
    let events = hook.to_the_end().await;
    assert!(events[..before].iter().all(|event| *event == events[0]), "only the first was tried");
    report(&scene, |it| it.state == DeliveryState::Done && it.error.is_none()).await;
}

#[tokio::test]
async fn a_webhook_that_stays_away_is_parked_and_nothing_is_lost_for_it() {
    let (_agent, scene) = asking(PushSettings { attempts: 2, ..Default::default() }).await;
    let is_up = Arc::new(AtomicBool::new(true));
    let up = Arc::clone(&is_up);
    let hook = Hook::answering(move |_| {
        let is_up = up.load(Ordering::SeqCst);
        async move { if is_up { StatusCode::OK } else { StatusCode::BAD_GATEWAY } }
    })
    .await;
    let task = begin(&scene, config(&hook.url)).await;
    hook.until(|events| {
        events.last().is_some_and(|it| it.state() == Some(TaskState::InputRequired))
    })
    .await;
    let first = hook.events();
    is_up.store(false, Ordering::SeqCst);
    answer_all(&scene, &task.id).await;
    let parked = report(&scene, |it| it.state == DeliveryState::Parked).await;
    assert_eq!((parked.failed_attempts, parked.next_attempt_at), (2, None));
    assert_eq!(hook.calls().len(), first.len() + 2, "it is left alone");
    let scene = scene.restarted().await;
    report(&scene, |it| it.state == DeliveryState::Parked).await;
    is_up.store(true, Ordering::SeqCst);
    assert_eq!(retry(&scene, &task.id).await, [parked.id]);
    let events = hook.to_the_end().await;
    let failed = &events[first.len()..first.len() + 2];
    assert!(failed.iter().all(|event| *event == events[first.len() + 2]), "the same goes on");
    assert_eq!(retry(&scene, &task.id).await, [""; 0], "there is nothing more");
}

#[tokio::test]
async fn what_a_webhook_refuses_is_left_out_and_comes_again_when_asked_for() {
    let (_agent, scene) = asking(PushSettings::default()).await;
    let hook = Hook::answering(|number| async move {
        if number == 1 { StatusCode::BAD_REQUEST } else { StatusCode::OK }
    })
    .await;
    let query = format!("{}?key=hidden", hook.url);
    let task = begin(&scene, config(&query)).await;
    let refused = report(&scene, |it| it.refused == 1).await;
    assert_eq!((refused.state, refused.url.as_str()), (DeliveryState::Open, hook.url.as_str()));
    let why = refused.error.unwrap();
    assert!(why.contains("400") && !why.contains("hidden"), "{why}");
    hook.until(|events| {
        events.last().is_some_and(|it| it.state() == Some(TaskState::InputRequired))
    })
    .await;
    let first = hook.events();
    // Its delivery waits for the Task just now.
    assert_eq!(retry(&scene, &task.id).await, [refused.id]);
    hook.until(|events| events.len() == 2 * first.len() - 1).await;
    assert_eq!(hook.events()[first.len()..], first[1..], "from that one on");
    answer_all(&scene, &task.id).await;
    hook.to_the_end().await;
    let done = report(&scene, |it| it.state == DeliveryState::Done).await;
    assert_eq!((done.refused, done.error), (0, None));
}

#[tokio::test]
async fn no_webhook_is_tried_for_longer_than_that() {
    let agent = example(Kind::Echo, Options::default()).await;
    let push = PushSettings { give_up_after: Duration::ZERO, ..Default::default() };
    let scene = scene(&agent, push).await;
    let hook = Hook::answering(|_| async { StatusCode::INTERNAL_SERVER_ERROR }).await;
    begin(&scene, config(&hook.url)).await;
    let parked = report(&scene, |it| it.state == DeliveryState::Parked).await;
    assert_eq!((parked.failed_attempts, hook.calls().len()), (1, 1));
}

#[tokio::test]
async fn no_more_notifications_are_under_way_than_that() {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = scene(&agent, PushSettings { at_once: 1, ..Default::default() }).await;
    let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let second = Arc::new(Notify::new());
    let mut hooks = Vec::new();
    for _ in 0..2 {
        let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
        let second = Arc::clone(&second);
        let answer = move |_| {
            let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
            let second = Arc::clone(&second);
            async move {
                let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                if now == 2 {
                    second.notify_one();
                }
                // Gives another one the time to come.
                let _ = tokio::time::timeout(Duration::from_millis(100), second.notified()).await;
                under_way.fetch_sub(1, Ordering::SeqCst);
                StatusCode::OK
            }
        };
        hooks.push(Hook::answering(answer).await);
    }
    for hook in &hooks {
        begin(&scene, config(&hook.url)).await;
    }
    for hook in &hooks {
        hook.to_the_end().await;
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_key_that_has_had_its_time_is_replaced() {
    let agent = example(Kind::Echo, Options::default()).await;
    let push = PushSettings { key_max_age: Duration::ZERO, ..Default::default() };
    let scene = scene(&agent, push).await;
    let keys = format!("{}/.well-known/jwks.json", scene.url);
    let published = outbound().fetch(&keys, Default::default()).await.unwrap();
    let set: serde_json::Value = serde_json::from_slice(&published.body).unwrap();
    assert!(set["keys"].as_array().unwrap().len() > 1, "{set}");
}

#[tokio::test]
async fn webhooks_are_remembered_for_a_while_after_their_task_and_then_not() {
    let agent = example(Kind::Echo, Options::default()).await;
    for keep in [PushSettings::default().keep, Duration::ZERO] {
        let scene = scene(&agent, PushSettings { keep, ..Default::default() }).await;
        let hook = Hook::new().await;
        begin(&scene, config(&hook.url)).await;
        hook.to_the_end().await;
        report(&scene, |it| it.state == DeliveryState::Done).await;
        let scene = scene.restarted().await;
        if keep.is_zero() {
            let gone = async { while !reports(&scene).await.is_empty() {} };
            soon("the end of it", gone).await;
        } else {
            assert_eq!(reports(&scene).await.len(), 1);
        }
        assert!(hook.events().iter().filter(|event| is_end(event)).count() == 1);
    }
}

/// What `/readyz` says of deliveries.
pub(crate) async fn readiness(scene: &Scene) -> serde_json::Value {
    let (status, body) = crate::callbacks::asked_json(&format!("{}/readyz", scene.url)).await;
    assert_eq!(status, 200, "it takes nobody out of service: {body}");
    assert_eq!(body["ready"], true);
    body["deliveries"].clone()
}

#[tokio::test]
async fn webhooks_that_missed_something_are_counted_by_readyz_until_they_are_told_anew() {
    let (_agent, scene) = asking(PushSettings::default()).await;
    assert_eq!(readiness(&scene).await, serde_json::json!({"dead": 0, "advice": null}));
    let hook = Hook::answering(|number| async move {
        if number == 0 { StatusCode::BAD_REQUEST } else { StatusCode::OK }
    })
    .await;
    let task = begin(&scene, config(&hook.url)).await;
    report(&scene, |it| it.refused == 1).await;
    let told = readiness(&scene).await;
    assert_eq!(told["dead"], 1);
    let advice = told["advice"].as_str().unwrap();
    assert!(advice.contains("convoke deliveries list --dead"), "{advice}");
    retry(&scene, &task.id).await;
    assert_eq!(readiness(&scene).await["dead"], 0);
}

#[tokio::test]
async fn a_webhook_that_is_gone_is_told_nothing_more_and_missed_nothing() {
    let (_agent, scene) = echo().await;
    let hook = Hook::answering(|number| async move {
        if number == 1 { StatusCode::GONE } else { StatusCode::OK }
    })
    .await;
    begin(&scene, config(&hook.url)).await;
    let done = report(&scene, |it| it.state == DeliveryState::Done).await;
    assert_eq!((done.refused, done.failed_attempts, hook.calls().len()), (0, 0, 2));
    assert_eq!(readiness(&scene).await["dead"], 0);
}
