//! Commands on a data folder that another process holds.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use examples::{Kind, Options, Running};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, completed, example, one_step, task},
    convoke::{Convoke, Done, Process},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::steady;

/// Longer than an answer takes, and shorter than the longest wait for news.
const SOON: Duration = Duration::from_secs(20);

/// Agents and a workflow `w.yaml`: one step asks a question, the other works until it is let go.
struct Scene {
    convoke: Convoke,
    slow: Scripted,
    is_let_go: Arc<AtomicBool>,
    _asks: Running,
}

impl Scene {
    async fn new() -> Self {
        let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
        let is_let_go = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&is_let_go);
        let slow = Scripted::polled(move |request| match request.method.as_str() {
            "SendMessage" => request.result(&json!({"task": task("t", "WORKING")})),
            "GetTask" if is_done.load(Ordering::SeqCst) => request.result(&completed("t", "done")),
            "GetTask" => request.result(&task("t", "WORKING")),
            "CancelTask" => request.result(&task("t", "CANCELED")),
            _ => request.error(-32601, "not here"),
        })
        .await;
        let convoke = Convoke::default();
        // Its plan is too large for the journal itself.
        let wait = format!("Wait. {}", "x".repeat(9_000));
        let workflow = format!(
            "convoke: 1\nname: two\nagents: {{asks: {{url: \"{}\"}}, slow: {{url: \"{}\"}}}}\nsteps:\n  \
             ask: {{agent: asks, message: Hello.}}\n  hold: {{agent: slow, message: {wait}}}\n\
             outputs: {{said: {{value: \"${{{{ steps.ask.text }}}}\"}}}}\n",
            asks.url, slow.url
        );
        convoke.write("w.yaml", workflow);
        Self { convoke, slow, is_let_go, _asks: asks }
    }

    /// Starts the run, and waits until the one agent has asked and the other works.
    async fn start(&self) -> (Process, String) {
        let mut process = self.convoke.start(["--json", "run", "w.yaml"]);
        process.until("asks: What should it say?").await;
        self.slow.until("GetTask", 1).await;
        (process, newest(&self.convoke).await)
    }

    /// Lets the second agent complete its Task.
    fn let_go(&self) {
        self.is_let_go.store(true, Ordering::SeqCst);
    }
}

/// The id of the newest run.
async fn newest(convoke: &Convoke) -> String {
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    runs[0]["id"].as_str().expect("an id").to_owned()
}

/// What the commands that only read say of a run, for people and as JSON.
async fn readings(convoke: &Convoke, run: &str) -> Vec<(String, String)> {
    let mut readings = Vec::new();
    let dry_run = ["agents", "apply", "catalog.yaml", "--dry-run"];
    for args in [
        &["runs", "list"][..],
        &["runs", "show", run],
        &["agents", "list"],
        &["agents", "search", "acting"],
        &["agents", "show", "slow"],
        &dry_run,
        &["plan", "w.yaml"],
    ] {
        for json in [&[][..], &["--json"]] {
            let done = convoke.run(args.iter().chain(json)).await.exits(0);
            readings.push((done.stdout, done.stderr));
        }
    }
    readings
}

/// The lines of a watcher.
fn lines(done: &Done) -> Vec<Value> {
    done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The names of events, but for BINDs: an agent that asks at once may not be bound before.
fn names(lines: &[Value]) -> Vec<&str> {
    let names = lines.iter().map(|line| line["event"].as_str().expect("a name"));
    names.filter(|name| *name != "attempt_bound").collect()
}

#[tokio::test]
async fn an_answer_beside_a_running_run_reaches_it_and_both_report_the_same() {
    let scene = Scene::new().await;
    let (run, id) = scene.start().await;
    let elsewhere = scene.convoke.run(["runs", "reply", &id, "hold", "x"]).await;
    let formless = scene.convoke.run(["runs", "reply", "yesterday", "x"]).await.exits(2);
    assert!(formless.stderr.contains("is not a run id"), "{}", formless.stderr);
    let mut watch = scene.convoke.start(["runs", "watch", &id]);
    watch.until("asks: What should it say?").await;
    let mut reply = scene.convoke.start(["--json", "runs", "reply", &id, "Yes"]);
    reply.until("completed by asks").await;
    watch.until("completed by asks").await;
    scene.let_go();
    let (replied, ran, watched) = (reply.end().await, run.end().await, watch.end().await);
    let (replied, ran, watched) = (replied.exits(0), ran.exits(0), watched.exits(0));
    assert_eq!(replied.json()["outputs"][0]["parts"][0]["text"], "Hello. [Yes]");
    assert_eq!(replied.stdout, ran.stdout);
    assert_eq!(watched.stdout, "said\n  Hello. [Yes]\n\n");
    let late = scene.convoke.run(["runs", "reply", &id, "late"]).await.exits(2);
    assert!(late.stderr.contains("has ended and waits for no answer"), "{}", late.stderr);
    let _steady = steady();
    assert_snapshot!(elsewhere.complaint(), @r"
    exit 2
    error: step `hold` waits for no answer; those that do: ask
    ");
}

#[tokio::test]
async fn what_is_read_through_the_holder_is_what_the_folder_holds() {
    let scene = Scene::new().await;
    let catalog = format!("agents:\n  - {{url: \"{}\", name: other}}\n", scene.slow.url);
    scene.convoke.write("catalog.yaml", catalog);
    let added = ["agents", "add", &scene.slow.url, "--name", "slow", "--approve"];
    scene.convoke.run(added).await.exits(0);
    let (run, id) = scene.start().await;
    let mut watch = scene.convoke.start(["--json", "runs", "watch", &id]);
    let beside = readings(&scene.convoke, &id).await;
    let unknown = ["runs", "show", "0198c0de-7a11-7000-8000-000000000000"];
    let unknown_beside = scene.convoke.run(unknown).await.exits(2);
    run.kill().await;
    assert!(scene.convoke.data().join("endpoint").exists(), "a crash leaves it behind");
    // The watcher has the folder only as long as it takes to see that nobody drives the run.
    let watched = watch.done().await.exits(3);
    let alone = readings(&scene.convoke, &id).await;
    assert_eq!(beside, alone);
    assert_eq!(unknown_beside.stderr, scene.convoke.run(unknown).await.exits(2).stderr);
    let late = scene.convoke.run(["--json", "runs", "watch", &id]).await.exits(3);
    assert_eq!(lines(&watched), lines(&late));
    let _steady = steady();
    insta::allow_duplicates! {
        for stands_still in [&watched, &late] {
            assert_snapshot!(stands_still.complaint(), @r"
            exit 3
            error: run ID stands still: no process drives it; `convoke run --resume ID` goes on with it
            ");
        }
    }
}

#[tokio::test]
async fn a_cancel_beside_a_running_run_ends_it_and_its_agents_are_told() {
    let scene = Scene::new().await;
    let (run, id) = scene.start().await;
    let canceled = scene.convoke.run(["runs", "cancel", &id]).await.exits(0);
    assert!(canceled.stderr.contains("hold  canceled"), "{}", canceled.stderr);
    let ran = run.end().await.exits(130);
    assert_eq!(ran.json()["state"], "canceled");
    assert_eq!(scene.slow.received("CancelTask").len(), 1);
    let watched = scene.convoke.run(["--json", "runs", "watch", &id]).await.exits(130);
    let lines = lines(&watched);
    assert_eq!(lines.last().expect("lines")["state"], "canceled");
    let again = scene.convoke.run(["runs", "cancel", &id]).await.exits(2);
    assert!(again.stderr.contains("has ended already"), "{}", again.stderr);
}

#[tokio::test]
async fn whoever_answers_drives_on_when_the_holder_is_killed() {
    let scene = Scene::new().await;
    let (run, id) = scene.start().await;
    let mut reply = scene.convoke.start(["--json", "runs", "reply", &id, "Yes"]);
    reply.until("completed by asks").await;
    run.kill().await;
    reply.until("resumed").await;
    scene.let_go();
    let replied = reply.end().await.exits(0);
    assert_eq!(replied.json()["outputs"][0]["parts"][0]["text"], "Hello. [Yes]");
    assert_eq!(scene.slow.received("SendMessage").len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_left_leaves_the_run_to_its_holder() {
    let scene = Scene::new().await;
    let (run, id) = scene.start().await;
    let mut reply = scene.convoke.start(["runs", "reply", &id, "Yes"]);
    reply.until("completed by asks").await;
    reply.interrupt();
    let left = reply.end().await.exits(130);
    scene.let_go();
    run.end().await.exits(0);
    let _steady = steady();
    assert_snapshot!(left.complaint(), @r"
    exit 130
    left; the run goes on in process PID (`convoke --json run w.yaml`), since TIME
    ");
}

#[tokio::test]
async fn a_run_that_waits_is_answered_beside_the_run_of_another() {
    let scene = Scene::new().await;
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    scene.convoke.write("other.yaml", one_step(&asks.url, ""));
    scene.convoke.run(["run", "other.yaml"]).await.exits(4);
    let other = newest(&scene.convoke).await;
    let (run, id) = scene.start().await;
    assert_ne!(id, other);
    let watched = scene.convoke.run(["runs", "watch", &other]).await.exits(4);
    assert!(watched.stderr.contains("convoke runs reply"), "{}", watched.stderr);
    let replied = scene.convoke.run(["--json", "runs", "reply", &other, "Yes"]).await.exits(0);
    assert_eq!(replied.json()["outputs"][0]["parts"][0]["text"], "Hello. [Yes]");
    run.kill().await;
}

#[tokio::test]
async fn every_command_works_beside_a_server() {
    let asks = example(Kind::Asks, Options { turns: 2, ..Options::default() }).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", one_step(&asks.url, ""));
    let mut serve = convoke.start(["serve", "--listen", "127.0.0.1:0"]);
    let line = serve.until("its card: ").await;
    let (_, card) = line.split_once("its card: ").expect("the line that was waited for");
    let asked = convoke.run(["--json", "send", card, "go"]).await.exits(4).json();
    let id = newest(&convoke).await;
    assert_eq!(asked["task"]["id"], json!(id));

    let mut left = convoke.start(["runs", "watch", &id]);
    left.until("asks: What should it say?").await;
    left.interrupt();
    left.end().await.exits(130);
    let watch = convoke.start(["--json", "runs", "watch", &id]);
    let again = convoke.run(["runs", "reply", &id, "Yes"]).await.exits(4);
    assert!(again.stderr.contains("ask asks: To whom?"), "{}", again.stderr);
    let done = convoke.run(["--json", "runs", "reply", &id, "ask", "You"]).await.exits(0);
    assert_eq!(done.json()["outputs"][0]["parts"][0]["text"], "Hello. [Yes | You]");
    let watched = watch.end().await.exits(0);
    let turn = ["attempt_paused", "attempt_answered", "answer_delivered"];
    let events = ["run_started", "attempt_started"].into_iter().chain(turn).chain(turn);
    let events: Vec<&str> =
        events.chain(["artifact_chunked", "step_completed", "run_finished"]).collect();
    assert_eq!(names(&lines(&watched)), events);
    let shown = convoke.run(["--json", "runs", "show", &id]).await.exits(0);
    assert_eq!(shown.stdout, done.stdout);

    let second = convoke.run(["--json", "send", card, "go"]).await.exits(4).json();
    let second = second["task"]["id"].as_str().expect("an id");
    convoke.run(["runs", "cancel", second]).await.exits(0);
    for write in [&["agents", "remove", "it"][..], &["run", "w"], &["run", "--resume", second]] {
        let refused = convoke.run(write).await.exits(3);
        assert!(refused.stderr.contains("serve --listen 127.0.0.1:0`), since"), "{refused:?}");
    }
    serve.terminate();
    serve.end().await.exits(0);
    assert!(!convoke.data().join("endpoint").exists());
}

#[tokio::test]
async fn an_event_is_one_line_of_json() {
    let scene = Scene::new().await;
    scene.let_go();
    scene.convoke.run(["run", "w.yaml"]).await.exits(4);
    let id = newest(&scene.convoke).await;
    let watched = scene.convoke.run(["--json", "runs", "watch", &id]).await.exits(4);
    let lines = lines(&watched);
    let shown = |is_wanted: &dyn Fn(&Value) -> bool| {
        let line = |line: &Value| format!("{line}\n");
        lines.iter().filter(|line| is_wanted(line)).map(line).collect::<String>()
    };
    let _steady = steady();
    assert_snapshot!(shown(&|line| line["event"] == "run_started"), @r#"{"at":"TIME","context_id":"ID","event":"run_started","workflow":"two"}"#);
    assert_snapshot!(shown(&|line| line["event"] == "attempt_paused"), @r#"{"at":"TIME","attempt":1,"event":"attempt_paused","question":"What should it say?","step":"ask","task_id":"ID","waits_for":"input"}"#);
    assert_snapshot!(shown(&|line| line["step"] == "hold"), @r#"
    {"agent":"slow","at":"TIME","attempt":1,"event":"attempt_started","step":"hold"}
    {"attempt":1,"event":"attempt_bound","step":"hold","task_id":"t"}
    {"at":"TIME","attempt":1,"event":"step_completed","step":"hold","task_id":"t"}
    "#);
    assert_snapshot!(watched.complaint(), @r"
    exit 4
    ask asks: What should it say?
      convoke runs reply ID ask TEXT
    ");
}

/// Sends a request by hand, and returns the status and what follows the head.
async fn post(stream: &mut TcpStream, key: Option<&str>, body: &str) -> (u16, String) {
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\n{key}Content-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("it is read");
    // Answers here are short, and come in one piece.
    let mut answer = vec![0; 4096];
    let read = tokio::time::timeout(SOON, stream.read(&mut answer)).await;
    let read = read.expect("in time").expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    (status.expect("a status"), body.to_owned())
}

async fn connect(url: &str) -> TcpStream {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    TcpStream::connect(address).await.expect("somebody listens")
}

async fn status(url: &str, key: Option<&str>, body: &str) -> u16 {
    post(&mut connect(url).await, key, body).await.0
}

/// Where and under which key the holder of a folder listens.
fn endpoint(convoke: &Convoke) -> (Value, String, String) {
    let file = fs::read(convoke.data().join("endpoint")).expect("a file");
    let address: Value = serde_json::from_slice(&file).expect("JSON");
    let text = |name: &str| address[name].as_str().expect("a text").to_owned();
    let (url, key) = (text("url"), text("key"));
    (address, url, key)
}

/// Asks for news of a journal in which nothing happens.
fn wait(at_most_ms: u64) -> String {
    let journal = "0198c0de-7a11-7000-8000-000000000000";
    let ask = json!({"account": "local", "journal": journal, "after": 0, "at_most_ms": at_most_ms});
    json!({"appended": ask}).to_string()
}

#[tokio::test]
async fn a_wait_for_news_ends_when_its_time_is_up_or_the_holder_leaves() {
    let scene = Scene::new().await;
    let (run, _) = scene.start().await;
    let (_, url, key) = endpoint(&scene.convoke);
    let mut stream = connect(&url).await;
    let nothing = (200, "0".to_owned());
    assert_eq!(post(&mut stream, Some(&key), &wait(1)).await, nothing);
    let waiting = tokio::spawn(async move { post(&mut stream, Some(&key), &wait(30_000)).await });
    scene.let_go();
    run.end().await.exits(4);
    assert_eq!(waiting.await.expect("it does not break down"), nothing);
}

#[tokio::test]
async fn without_the_key_of_the_folder_nothing_is_answered() {
    let scene = Scene::new().await;
    let (run, id) = scene.start().await;
    let file = scene.convoke.data().join("endpoint");
    let (address, url, key) = endpoint(&scene.convoke);
    let (url, key) = (url.as_str(), key.as_str());
    assert!(url.starts_with("http://127.0.0.1:") && key.len() == 64, "{address}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    }
    let cancel = json!({"cancel": {"run": id}}).to_string();
    for wrong in [None, Some(""), Some("x"), Some(&key[1..]), Some(&"0".repeat(64))] {
        assert_eq!(status(url, wrong, &cancel).await, 401, "{wrong:?}");
    }
    assert_eq!(status(url, Some(key), "\"hello\"").await, 200);
    let table = json!({"row": {"account": "local", "table": "contexts", "key": "x"}});
    assert_eq!(status(url, Some(key), &table.to_string()).await, 422);
    let listed = scene.convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    assert_eq!(listed[0]["state"], "input_required", "nothing of it was done");

    // A file that leads to somebody else is nobody's.
    fs::write(&file, json!({"version": 2, "url": url, "key": "0".repeat(64)}).to_string())
        .expect("it is written");
    let refused = scene.convoke.run(["runs", "list"]).await.exits(3);
    assert!(refused.stderr.contains("is in use by process"), "{}", refused.stderr);
    fs::write(&file, json!({"version": 3, "url": url, "key": key}).to_string())
        .expect("it is written");
    scene.convoke.run(["runs", "list"]).await.exits(3);
    fs::write(&file, address.to_string()).expect("it is written");
    scene.convoke.run(["runs", "list"]).await.exits(0);
    run.kill().await;
}

#[tokio::test]
async fn the_file_is_there_while_a_run_is_driven_and_gone_when_it_was_left_or_has_ended() {
    let scene = Scene::new().await;
    let file = scene.convoke.data().join("endpoint");
    let (run, _) = scene.start().await;
    assert!(file.exists());
    scene.let_go();
    run.end().await.exits(4);
    assert!(!file.exists(), "it waits for people");
    let id = newest(&scene.convoke).await;
    scene.convoke.run(["runs", "reply", &id, "Yes"]).await.exits(0);
    assert!(!file.exists(), "it has ended");
    let left = fs::read_dir(scene.convoke.data()).expect("the folder").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("endpoint")), "{left:?}");
}
