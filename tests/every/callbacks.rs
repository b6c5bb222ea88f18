//! Callbacks between real processes: `convoke serve` has its agents tell of their Tasks.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use examples::{Kind, Options};
use protocol::v1::{Task, TaskState};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{Scripted, completed, example, one_step, task},
    convoke::Convoke,
};

use crate::{
    pushes::{deliveries, exchanged, is_all_done},
    served::{SERVE, Served, port, said},
};

const CALLBACKS: [&str; 2] = ["--set", "push.callbacks=on"];

/// Waits until a Task has completed.
async fn ended(served: &Served, task: &Task) -> Task {
    let over = async {
        loop {
            let task = served.task(&task.id).await;
            if task.state().is_terminal() {
                return task;
            }
        }
    };
    let task = tokio::time::timeout(PATIENCE, over).await.expect("it ends");
    assert_eq!(task.state(), TaskState::Completed, "{task:?}");
    task
}

/// Sends a notification that says nothing, and returns the status line.
async fn told(config: &Value) -> String {
    let url = config["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let (address, path) = url.and_then(|url| url.split_once('/')).expect("an address and a path");
    let token = config["token"].as_str().expect("a token");
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         X-A2A-Notification-Token: {token}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    );
    let answer = exchanged(address, &request).await;
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_callback_holds_over_a_kill_between_the_message_and_the_hint() {
    let is_done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_done);
    let agent = Scripted::telling(move |request| match request.method.as_str() {
        "SendMessage" => request.result(&json!({"task": task("t", "WORKING")})),
        _ if flag.load(Ordering::SeqCst) => request.result(&completed("t", "done")),
        _ => request.result(&task("t", "WORKING")),
    });
    let agent = agent.await;
    let convoke = Convoke::default();
    convoke.write("workflows/one-step.yaml", one_step(&agent.url, ""));
    let address = format!("127.0.0.1:{}", port());
    let listen = ["--listen", &*address];
    let args: Vec<&str> = [&["serve"], &listen[..], &CALLBACKS].concat();
    let served = Served::of(convoke.start(&args)).await;
    let begun = served.send(said("go"), true).await;
    agent.until("GetTask", 1).await;
    let [sent] = &agent.received("SendMessage")[..] else { panic!("one Message is sent") };
    let config = sent.params["configuration"]["taskPushNotificationConfig"].clone();
    served.process.kill().await;

    let served = Served::of(convoke.start(&args)).await;
    is_done.store(true, Ordering::SeqCst);
    let other = json!({"url": config["url"], "token": "another"});
    assert!(told(&other).await.starts_with("HTTP/1.1 401 "));
    // The agent may be asked, and say that it is done, before it tells.
    let status = told(&config).await;
    assert!(["HTTP/1.1 204 ", "HTTP/1.1 410 "].iter().any(|it| status.starts_with(it)), "{status}");
    ended(&served, &begun).await;
    // It is sent again when the kill came before the Task was noted, and is the same then, byte for byte.
    let again = agent.received("SendMessage");
    assert!(again.iter().all(|it| it.params == sent.params), "{again:#?}");
    let token = config["token"].as_str().expect("a token");
    for verb in ["show", "watch"] {
        let shown = convoke.run(["--json", "runs", verb, &begun.id]).await.exits(0).stdout;
        assert!(shown.contains("one-step") && !shown.contains(token), "{verb} hides it: {shown}");
    }
}

#[tokio::test]
async fn one_server_tells_another_of_its_tasks() {
    // Both wait at its question, so that there is time to tell.
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let (near, far) = (Convoke::default(), Convoke::default());
    far.write("workflows/one-step.yaml", one_step(&asks.url, ""));
    let telling = Served::start(&far).await;
    let host = telling.url.strip_prefix("http://").expect("its URL");
    let answer = telling.get("/.well-known/agent-card.json", host).await;
    let (_, card) = answer.split_once("\r\n\r\n").expect("a head and a card");
    let mut card: Value = serde_json::from_str(card).expect("a card");
    assert_eq!(card["capabilities"]["pushNotifications"], true);
    card["capabilities"]["streaming"] = json!(false);
    card["name"] = json!("far");
    near.write("far.json", card.to_string());
    let added = near.run(["agents", "add", "far.json", "--approve"]).await;
    let _added = added.exits(0);
    near.write(
        "workflows/relay.yaml",
        "convoke: 1\nname: relay\nsteps: {a: {agent: far, message: Hello.}}\n",
    );
    let told = Served::with(&near, &CALLBACKS).await;
    let begun = told.send(said("go"), false).await;
    assert_eq!(begun.state(), TaskState::InputRequired);
    deliveries(&far, |listed| listed[0]["at"]["seq"].as_u64().is_some_and(|seq| seq > 0)).await;
    told.send(said("Yes").with_task(&begun.id), true).await;
    ended(&told, &begun).await;
    let listed = deliveries(&far, is_all_done).await;
    let [delivery] = &listed.as_array().expect("a list")[..] else { panic!("{listed}") };
    let url = delivery["url"].as_str().expect("a URL");
    assert!(url.starts_with(&format!("{}/callbacks/", told.url)), "{url}");
    assert_eq!(delivery["refused"], 0, "{delivery}");
}

#[tokio::test]
async fn a_shared_secret_is_asked_of_every_notification_and_has_to_be_there() {
    let agent = Scripted::telling(|request| match request.method.as_str() {
        "SendMessage" => request.result(&json!({"task": task("t", "WORKING")})),
        _ => request.result(&task("t", "WORKING")),
    });
    let agent = agent.await;
    let convoke = Convoke::default();
    convoke.write("workflows/one-step.yaml", one_step(&agent.url, ""));
    let secret = ["--set", "push.callback_secret_env=SHARED_SECRET"];
    let args = || SERVE.iter().chain(&CALLBACKS).chain(&secret);
    let missing = convoke.run(args()).await.exits(2).stderr;
    assert!(
        missing.contains(
            "the environment variable SHARED_SECRET of push.callback_secret_env holds no secret"
        ),
        "{missing}"
    );
    let mut command = convoke.command(args());
    command.env("SHARED_SECRET", "s");
    let served = Served::of(tests::convoke::start(command)).await;
    served.send(said("go"), true).await;
    agent.until("GetTask", 1).await;
    let [sent] = &agent.received("SendMessage")[..] else { panic!("one Message is sent") };
    let config = &sent.params["configuration"]["taskPushNotificationConfig"];
    assert!(told(config).await.starts_with("HTTP/1.1 401 "));
}
