use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;

use super::{Attempt, PushSender, Verifier, body, older_body};
use crate::{
    outbound::{Outbound, Policy},
    v1::{
        Artifact, AuthenticationInfo, Message, Part, StreamResponse, Task,
        TaskPushNotificationConfig, TaskState, TaskStatus,
    },
    version::Version,
    wkt::Timestamp,
};

/// How long a test waits for what must come.
const SOON: Duration = Duration::from_secs(10);

/// A webhook that answers as it is told, and shows what it was sent.
struct Webhook {
    url: String,
    got: Arc<Mutex<Vec<(HeaderMap, String)>>>,
}

impl Webhook {
    async fn answering(status: u16, answer: &[(&'static str, &'static str)]) -> Webhook {
        let status = StatusCode::from_u16(status).expect("the tests name statuses");
        let answer: Vec<_> = answer.to_vec();
        let got: Arc<Mutex<Vec<_>>> = Arc::default();
        let take =
            async move |State(got): State<Arc<Mutex<Vec<_>>>>, head: HeaderMap, body: Bytes| {
                let body = String::from_utf8(body.to_vec()).expect("bodies are UTF-8");
                got.lock().expect("no test panics in here").push((head, body));
                (status, axum::response::AppendHeaders(answer.clone()))
            };
        let router = Router::new().route("/hook", post(take)).with_state(got.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Webhook { url: format!("http://{address}/hook"), got }
    }

    /// Takes what it was sent last: the head, less what differs from run to run, and the body.
    fn last(&self) -> String {
        let mut got = self.got.lock().expect("no test panics in here");
        let (head, body) = got.pop().expect("it was called");
        let mut lines: Vec<String> = head
            .iter()
            .filter(|(name, _)| *name != "host")
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        lines.push(format!("\n{body}"));
        lines.join("\n")
    }
}

fn sender(policy: Policy) -> PushSender {
    PushSender::new(Outbound::new(policy).expect("a client can be built")).with_timeout(SOON)
}

fn config(url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig { url: url.to_owned(), ..TaskPushNotificationConfig::default() }
}

fn authentication(scheme: &str, credentials: &str) -> Option<AuthenticationInfo> {
    Some(AuthenticationInfo { scheme: scheme.to_owned(), credentials: credentials.to_owned() })
}

fn event() -> StreamResponse {
    let since = Timestamp { seconds: 1_767_323_045, nanos: 678_000_000 };
    Task::new("task-1", "context-1", TaskStatus::new(TaskState::Working, since)).into()
}

async fn send(config: &TaskPushNotificationConfig) -> Attempt {
    let body = body(&event()).expect("events are JSON");
    sender(Policy::loopback()).send(config, body).await
}

/// An outcome in one line, without the address of the webhook.
fn shown(attempt: &Attempt, url: &str) -> String {
    let line = match attempt {
        Attempt::Delivered => "delivered".to_owned(),
        Attempt::Failed { error, after: None } => format!("again: {error}"),
        Attempt::Failed { error, after: Some(after) } => format!("again in {after:?}: {error}"),
        Attempt::Refused(error) => format!("never: {error}"),
        Attempt::Gone(error) => format!("nothing more: {error}"),
    };
    line.replace(url, "WEBHOOK")
}

#[tokio::test]
async fn a_notification_is_a_post_of_one_event_with_authorization_and_token() {
    let webhook = Webhook::answering(204, &[]).await;
    let config = TaskPushNotificationConfig {
        token: "for-this-task".to_owned(),
        authentication: authentication("Bearer", "secret"),
        ..config(&webhook.url)
    };
    assert!(matches!(send(&config).await, Attempt::Delivered));
    insta::assert_snapshot!(webhook.last(), @r#"
    content-type: application/a2a+json
    authorization: Bearer secret
    x-a2a-notification-token: for-this-task
    accept: */*
    user-agent: convoke/0.1.0
    accept-encoding: gzip
    content-length: 127

    {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}}
    "#);
}

#[tokio::test]
async fn without_authentication_and_token_there_are_no_such_headers() {
    let webhook = Webhook::answering(200, &[]).await;
    assert!(matches!(send(&config(&webhook.url)).await, Attempt::Delivered));
    let sent = webhook.last();
    assert!(!sent.contains("authorization") && !sent.contains("token"), "{sent}");
    let scheme_alone = TaskPushNotificationConfig {
        authentication: authentication("Negotiate", ""),
        ..config(&webhook.url)
    };
    assert!(matches!(send(&scheme_alone).await, Attempt::Delivered));
    assert!(webhook.last().contains("authorization: Negotiate\n"));
}

#[tokio::test]
async fn the_answer_decides_whether_the_event_is_sent_again() {
    let mut lines = Vec::new();
    for status in [200, 202, 302, 400, 401, 404, 408, 410, 425, 429, 500, 503] {
        let webhook = Webhook::answering(status, &[]).await;
        let attempt = send(&config(&webhook.url)).await;
        lines.push(format!("{status} {}", shown(&attempt, &webhook.url)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    200 delivered
    202 delivered
    302 never: the webhook WEBHOOK answered 302 Found; a notification is taken with a 2xx status
    400 never: the webhook WEBHOOK answered 400 Bad Request; a notification is taken with a 2xx status
    401 never: the webhook WEBHOOK answered 401 Unauthorized; a notification is taken with a 2xx status
    404 never: the webhook WEBHOOK answered 404 Not Found; a notification is taken with a 2xx status
    408 again: the webhook WEBHOOK answered 408 Request Timeout; a notification is taken with a 2xx status
    410 nothing more: the webhook WEBHOOK answered 410 Gone; a notification is taken with a 2xx status
    425 again: the webhook WEBHOOK answered 425 Too Early; a notification is taken with a 2xx status
    429 again: the webhook WEBHOOK answered 429 Too Many Requests; a notification is taken with a 2xx status
    500 again: the webhook WEBHOOK answered 500 Internal Server Error; a notification is taken with a 2xx status
    503 again: the webhook WEBHOOK answered 503 Service Unavailable; a notification is taken with a 2xx status
    ");
}

#[tokio::test]
async fn a_webhook_may_say_when_to_come_again() {
    for status in [429, 503] {
        let webhook = Webhook::answering(status, &[("retry-after", "7")]).await;
        let Attempt::Failed { after, .. } = send(&config(&webhook.url)).await else {
            panic!("{status} may pass");
        };
        assert_eq!(after, Some(Duration::from_secs(7)), "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_credentials() {
    let other = Webhook::answering(200, &[]).await;
    let location: &'static str = other.url.clone().leak();
    let webhook = Webhook::answering(307, &[("location", location)]).await;
    let config = TaskPushNotificationConfig {
        authentication: authentication("Bearer", "secret"),
        ..config(&webhook.url)
    };
    assert!(matches!(send(&config).await, Attempt::Refused(_)));
    assert!(other.got.lock().expect("no test panics in here").is_empty());
}

#[tokio::test]
async fn a_webhook_that_cannot_be_reached_is_tried_again_and_one_inside_is_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    drop(listener);
    let url = format!("http://{address}/hook");
    let body = body(&event()).expect("events are JSON");
    let attempt = sender(Policy::loopback()).send(&config(&url), body.clone()).await;
    assert!(shown(&attempt, &url).starts_with("again: WEBHOOK cannot be reached"), "{attempt:?}");
    let attempt = sender(Policy::default()).send(&config(&url), body.clone()).await;
    insta::assert_snapshot!(shown(&attempt, &url), @"never: WEBHOOK leads to 127.0.0.1, which is a loopback address and not allowed; if it is meant, allow its network in the configuration");
    let attempt = sender(Policy::default()).send(&config("http://localhost:9/"), body).await;
    assert!(matches!(attempt, Attempt::Refused(_)), "a name that leads inside: {attempt:?}");
}

#[tokio::test]
async fn a_webhook_that_does_not_answer_in_time_is_tried_again() {
    // Accepts connections by its backlog alone, and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let url = format!("http://{address}/hook");
    let sender = sender(Policy::loopback()).with_timeout(Duration::from_millis(50));
    let body = body(&event()).expect("events are JSON");
    let attempt = sender.send(&config(&url), body).await;
    insta::assert_snapshot!(shown(&attempt, &url), @"again: WEBHOOK did not answer within 50ms");
}

#[tokio::test]
async fn a_configuration_is_judged_with_all_that_is_wrong_with_it() {
    let sender = sender(Policy::default());
    let bad = TaskPushNotificationConfig {
        token: "two\nlines".to_owned(),
        authentication: authentication("Bearer token", "secret"),
        ..config("http://10.0.0.1/hook")
    };
    let other = TaskPushNotificationConfig {
        authentication: authentication("Bearer", "two\r\nlines"),
        ..config("ftp://example.com/")
    };
    let lines: Vec<String> = [&bad, &other]
        .into_iter()
        .flat_map(|config| sender.violations(config))
        .map(|one| format!("{}: {}", one.field, one.description))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    url: http://10.0.0.1/hook leads to 10.0.0.1, which is a private address and not allowed; if it is meant, allow its network in the configuration
    authentication.scheme: it cannot stand in an HTTP header: a scheme is one word, such as Bearer or Basic
    token: it cannot stand in an HTTP header: it holds line breaks or other control characters
    url: ftp://example.com/ is not a URL that can be called: its scheme is ftp, not http or https
    authentication.credentials: it cannot stand in an HTTP header: it holds line breaks or other control characters
    ");
    // A name is looked up at each attempt, not here.
    assert_eq!(sender.violations(&config("https://no.such.name.example/hook")), []);
    let body = body(&event()).expect("events are JSON");
    assert!(matches!(sender.send(&bad, body).await, Attempt::Refused(_)));
}

/// A Task with something in each place.
fn told(context: &str) -> Task {
    let since = Timestamp { seconds: 1_767_323_045, nanos: 678_000_000 };
    let mut task = Task::new("task-1", context, TaskStatus::new(TaskState::Completed, since));
    task.artifacts = vec![Artifact::new("a", "a", vec![Part::text("x")])];
    task.history = vec![Message::user(vec![Part::text("y")]).with_id("m")];
    task
}

#[tokio::test]
async fn before_1_0_a_webhook_is_told_the_task_by_itself_as_plain_json() {
    let webhook = Webhook::answering(200, &[]).await;
    let mut lines = Vec::new();
    let named = "urn:convoke:task:v0.1:theirs";
    for (version, context) in [(Version::V0_3, "c"), (Version::V0_2, "c"), (Version::V0_1, named)] {
        let body = older_body(version, told(context)).expect("Tasks are JSON");
        let attempt = sender(Policy::loopback()).send(&config(&webhook.url), body).await;
        assert!(matches!(attempt, Attempt::Delivered), "{attempt:?}");
        let last = webhook.last();
        let (head, body) = last.split_once("\n\n").expect("a head and a body");
        assert!(head.contains("content-type: application/json"), "{head}");
        lines.push(format!("{version}: {body}"));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    0.3: {"artifacts":[{"artifactId":"a","name":"a","parts":[{"kind":"text","text":"x"}]}],"contextId":"c","history":[{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"y"}],"role":"user"}],"id":"task-1","kind":"task","status":{"state":"completed","timestamp":"2026-01-02T03:04:05.678Z"}}
    0.2: {"artifacts":[{"artifactId":"a","name":"a","parts":[{"kind":"text","text":"x"}]}],"contextId":"c","history":[{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"y"}],"role":"user"}],"id":"task-1","kind":"task","status":{"state":"completed","timestamp":"2026-01-02T03:04:05.678Z"}}
    0.1: {"artifacts":[{"index":0,"name":"a","parts":[{"text":"x","type":"text"}]}],"history":[{"parts":[{"text":"y","type":"text"}],"role":"user"}],"id":"theirs","status":{"state":"completed","timestamp":"2026-01-02T03:04:05.678Z"}}
    "#);
}

#[test]
fn a_receiver_reads_the_notifications_of_older_agents() {
    let now = jiff::Timestamp::now();
    let check = |body: &str| {
        Verifier::default().check(&HeaderMap::new(), body.as_bytes(), now).map(|(event, _)| event)
    };
    let older = older_body(Version::V0_3, told("c")).expect("Tasks are JSON");
    let written = String::from_utf8(older.bytes.to_vec()).expect("JSON is text");
    assert_eq!(check(&written), Ok(StreamResponse::from(told("c"))));
    // As agents of 0.1 write it, who name no kinds.
    let oldest = r#"{"id":"t","sessionId":"s","status":{"state":"completed"}}"#;
    let event = check(oldest).expect("it is a Task");
    assert_eq!((event.task_id(), event.state()), ("t", Some(TaskState::Completed)));
    let update = r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false}"#;
    assert_eq!(check(update).expect("it is an update").state(), Some(TaskState::Working));
    for nothing in ["{}", "[]", "null", r#"{"hello":1}"#] {
        let refused = check(nothing).expect_err("it is no event").to_string();
        assert!(refused.starts_with("the body is no A2A event"), "{nothing}: {refused}");
    }
}
