//! Push notifications between the real binaries: `convoke serve` sends, `convoke webhook listen` receives.

use std::net::TcpListener;

use examples::{Kind, Options, Running};
use protocol::v1::{
    SendMessageConfiguration, SendMessageRequest, Task, TaskPushNotificationConfig, TaskState,
    send_message_response::Payload,
};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::example,
    convoke::{Convoke, Process},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::served::{Served, said};

async fn chain() -> (Running, Convoke) {
    let agent = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    let steps = format!(
        "convoke: 1\nname: chain\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  a: {{agent: it, message: one}}\n  \
         b: {{agent: it, message: two, needs: [a]}}\n  c: {{agent: it, message: three, needs: [b]}}\n",
        agent.url
    );
    convoke.write("workflows/chain.yaml", steps);
    (agent, convoke)
}

/// Sends a Message with a webhook and waits for the end of its Task.
async fn sent(served: &Served, url: &str) -> Task {
    let token = "for this task".to_owned();
    let config = TaskPushNotificationConfig { url: url.to_owned(), token, ..Default::default() };
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(config),
        ..Default::default()
    };
    let request = SendMessageRequest { configuration: Some(configuration), ..said("go").into() };
    match served.client.send_message(request, PATIENCE).await.expect("an answer").payload {
        Some(Payload::Task(task)) if task.state() == TaskState::Completed => task,
        other => panic!("no Task that has completed: {other:?}"),
    }
}

/// A listening `convoke webhook listen --json`, in a folder of its own, and its URL.
pub(crate) async fn listen(convoke: &Convoke, address: &str, args: &[&str]) -> (Process, String) {
    let listen = ["--json", "webhook", "listen", "--listen", address];
    let mut process = convoke.start(listen.iter().chain(args));
    let line = process.until("takes notifications at ").await;
    let (_, rest) = line.split_once("takes notifications at ").expect("the line");
    let (url, _) = rest.split_once(';').expect("what is expected of them follows");
    (process, url.to_owned())
}

/// Stops a webhook and returns the lines that it printed.
pub(crate) async fn lines(webhook: Process) -> Vec<Value> {
    webhook.terminate();
    let done = webhook.end().await.exits(0);
    done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What was told: state and step of each notification, repeated ones once.
fn told(lines: &[Value]) -> Vec<String> {
    let mut events: Vec<&Value> = lines.iter().map(|line| &line["event"]).collect();
    events.dedup();
    let short = |event: &Value| {
        let update = &event["statusUpdate"];
        let step = &update["metadata"]["urn:convoke:step:v1"];
        format!("{} {} {}", update["status"]["state"], step["step"], step["state"])
    };
    events.into_iter().map(short).collect()
}

/// Waits until the webhooks of a folder are as they should be.
pub(crate) async fn deliveries(convoke: &Convoke, is_so: impl Fn(&Value) -> bool) -> Value {
    let listed = async {
        loop {
            let listed = convoke.run(["--json", "deliveries", "list"]).await.exits(0).json();
            if is_so(&listed) {
                return listed;
            }
        }
    };
    tokio::time::timeout(PATIENCE, listed).await.expect("it comes to that")
}

pub(crate) fn is_all_done(listed: &Value) -> bool {
    listed.as_array().is_some_and(|all| all.iter().all(|it| it["state"] == "done"))
}

#[tokio::test]
async fn a_server_that_is_killed_in_mid_delivery_loses_nothing_and_keeps_the_order() {
    let (_agent, convoke) = chain().await;
    let other = Convoke::default();
    // It takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = silent.local_addr().expect("it is bound").to_string();
    let served = Served::start(&convoke).await;
    let task = sent(&served, &format!("http://{address}/hook")).await;
    let taken = tokio::task::spawn_blocking(move || (silent.accept(), silent));
    let (taken, silent) = taken.await.expect("it is called");
    taken.expect("a call");
    served.process.kill().await;
    drop(silent);
    let (webhook, _) = listen(&other, &address, &[]).await;
    let served = Served::start(&convoke).await;
    deliveries(&convoke, is_all_done).await;
    let after_the_kill = lines(webhook).await;
    assert!(after_the_kill.iter().all(|line| line["event"]["statusUpdate"]["taskId"] == task.id
        || line["event"]["artifactUpdate"]["taskId"] == task.id));
    let (webhook, url) = listen(&other, "127.0.0.1:0", &[]).await;
    sent(&served, &url).await;
    deliveries(&convoke, is_all_done).await;
    let undisturbed = told(&lines(webhook).await);
    assert_eq!(told(&after_the_kill), undisturbed);
    assert!(undisturbed.len() > 6, "{undisturbed:?}");
}

#[tokio::test]
async fn a_webhook_checks_the_token_and_the_signature() {
    let (_agent, convoke) = chain().await;
    let other = Convoke::default();
    let served = Served::start(&convoke).await;
    let keys = format!("{}/.well-known/jwks.json", served.url);
    let expected = ["--token", "for this task", "--jwks", &keys];
    let (webhook, url) = listen(&other, "127.0.0.1:0", &expected).await;
    sent(&served, &url).await;
    deliveries(&convoke, is_all_done).await;
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let forged = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    assert!(posted(&address, forged).await.starts_with("HTTP/1.1 401 "));
    let nowhere = ["--jwks", "http://127.0.0.1:1/jwks.json"];
    let (helpless, url) = listen(&other, "127.0.0.1:0", &nowhere).await;
    let signed = "X-Convoke-JWT: eyJhbGciOiJFUzI1NiJ9.e30.AAAA\r\n";
    let answer = posted_with(url.trim_start_matches("http://"), signed, forged).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(helpless);
    let lines = lines(webhook).await;
    let (forged, sent) = lines.split_last().expect("lines");
    let issuer = json!({ "by": "jwt", "issuer": served.url });
    assert!(sent.iter().all(|line| line["verified"] == json!([{ "by": "token" }, issuer])));
    assert!(sent.last().is_some_and(
        |line| line["event"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    ));
    let why = "the token in x-a2a-notification-token is missing or another one";
    assert_eq!(forged["refused"], why);
}

#[tokio::test]
async fn a_webhook_prints_a_line_for_each_and_answers_challenges() {
    let convoke = Convoke::default();
    let mut command =
        convoke.command(["webhook", "listen", "--listen", "127.0.0.1:0", "--hmac-env", "SECRET"]);
    let missing =
        tests::convoke::finish(convoke.command(["webhook", "listen", "--hmac-env", "NO"]));
    assert!(missing.await.exits(2).stderr.contains("the environment variable NO of --hmac-env"));
    command.env("SECRET", "s");
    let mut process = tests::convoke::start(command);
    let line = process.until("each has to bring an HMAC").await;
    let address = line.split(['/', ';']).find(|it| it.starts_with("127.")).expect("its address");
    let challenged = exchanged(
        address,
        &format!(
            "GET /x?validationToken=abc HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        ),
    )
    .await;
    assert!(challenged.contains("content-type: text/plain") && challenged.ends_with("\r\n\r\nabc"));
    assert!(posted(address, "[]").await.starts_with("HTTP/1.1 400 "));
    assert!(
        posted(address, r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}"#)
            .await
            .starts_with("HTTP/1.1 401 ")
    );
    process.terminate();
    let printed = process.end().await.exits(0).stdout;
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(printed.len(), 2, "{printed:?}");
    assert!(printed[0].contains(" refused: the body is no A2A event"), "{printed:?}");
    assert!(
        printed[1].ends_with("the HMAC in x-hub-signature-256 is missing or does not fit the body")
    );
}

#[tokio::test]
async fn what_a_webhook_did_not_take_is_listed_and_sent_anew() {
    let (_agent, convoke) = chain().await;
    let other = Convoke::default();
    let closed = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("it is bound").to_string();
    drop(closed);
    let served = Served::with(&convoke, &["--set", "push.attempts=1"]).await;
    let task = sent(&served, &format!("http://{address}/?key=hidden")).await.id;
    let parked = deliveries(&convoke, |listed| listed[0]["state"] == "parked").await;
    assert_eq!((&parked[0]["task"], &parked[0]["failed_attempts"]), (&json!(task), &json!(1)));
    assert!(!parked.to_string().contains("hidden"), "{parked}");
    let dead = convoke.run(["deliveries", "list", "--dead"]).await.exits(0).stdout;
    assert!(dead.contains(&task) && dead.contains("parked") && dead.contains("cannot be reached"));
    let nothing = convoke.run(["deliveries", "retry", &task, "another"]).await.exits(2).stderr;
    assert!(nothing.contains("there is nothing to send anew"), "{nothing}");
    // Through the server, in vain; then without one.
    convoke.run(["deliveries", "retry", &task]).await.exits(0);
    deliveries(&convoke, |listed| listed[0]["state"] == "parked").await;
    served.process.terminate();
    served.process.end().await.exits(0);
    let retried = convoke.run(["--json", "deliveries", "retry", &task]).await.exits(0);
    assert_eq!(retried.json(), json!([parked[0]["id"]]));
    assert!(retried.stderr.contains("it is sent once `convoke serve` runs"));
    let (webhook, _) = listen(&other, &address, &[]).await;
    let _served = Served::start(&convoke).await;
    deliveries(&convoke, is_all_done).await;
    assert!(lines(webhook).await.len() > 6);
    let none = convoke.run(["deliveries", "list", "--dead"]).await.exits(0);
    assert_eq!(
        (none.stdout.as_str(), none.stderr.contains("nothing is left undelivered")),
        ("", true)
    );
}

async fn posted(address: &str, body: &str) -> String {
    posted_with(address, "", body).await
}

/// Posts a body with further headers, each with the end of its line.
async fn posted_with(address: &str, headers: &str, body: &str) -> String {
    let address = address.trim_end_matches('/');
    let length = body.len();
    let head = format!("POST / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}");
    exchanged(address, &format!("{head}Content-Length: {length}\r\n\r\n{body}")).await
}

/// Sends a request and returns the whole answer.
pub(crate) async fn exchanged(address: &str, request: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it is read");
    let mut answer = String::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    read.expect("it answers").expect("text");
    answer
}
