//! One `kill -9` at the very instant that matters.

use serde_json::json;
use tests::{
    agent::{Answer, Scripted, completed, one_step, task},
    convoke::Convoke,
    journal::Journal,
};

/// The run that the killed process was at.
async fn run_of(convoke: &Convoke) -> Journal {
    Journal::read(&convoke.data()).await.expect("the run is written down before anything is sent")
}

#[tokio::test]
async fn a_message_that_nobody_answered_is_sent_again_as_it_was() {
    let agent = Scripted::start(|request| match (request.method.as_str(), request.before) {
        ("SendStreamingMessage", 0) => request.events_then_silence(&[]),
        ("SendStreamingMessage", _) => request.events(&[json!({"task": completed("t", "done")})]),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendStreamingMessage", 1).await;
    process.kill().await;
    let run = run_of(&convoke).await.run;
    let done = convoke.run(["--json", "run", "--resume", &run]).await.exits(0);
    let sent = agent.received("SendStreamingMessage");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].params, sent[1].params, "the same bytes, and with them the same messageId");
    assert_eq!(sent[0].message_id().len(), 36);
    assert_eq!(done.json()["steps"][0]["attempts"], 1);
}

#[tokio::test]
async fn without_streams_a_message_that_nobody_answered_is_sent_again_as_it_was() {
    let agent = Scripted::polled(|request| match (request.method.as_str(), request.before) {
        ("SendMessage", 0) => Answer::Never,
        ("SendMessage", _) => request.result(&json!({"task": completed("t", "done")})),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendMessage", 1).await;
    process.kill().await;
    let run = run_of(&convoke).await.run;
    let done = convoke.run(["--json", "run", "--resume", &run]).await.exits(0);
    let sent = agent.received("SendMessage");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].params, sent[1].params);
    assert_eq!(done.json()["steps"][0]["attempts"], 1);
}

#[tokio::test]
async fn a_message_whose_task_is_known_is_never_sent_again() {
    let agent = Scripted::start(|request| match request.method.as_str() {
        "SendStreamingMessage" => {
            request.events_then_silence(&[json!({"task": task("t", "WORKING")})])
        }
        "SubscribeToTask" => request.events(&[json!({"task": completed("t", "done")})]),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let mut process = convoke.start(["run", "w.yaml"]);
    process.until("working on Task t").await;
    process.kill().await;
    let journal = run_of(&convoke).await;
    assert_eq!(journal.count("attempt_bound"), 1);
    let done = convoke.run(["--json", "run", "--resume", &journal.run]).await.exits(0);
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
    assert_eq!(agent.received("SubscribeToTask")[0].params["id"], "t");
    assert_eq!(done.json()["outputs"][0]["parts"][0]["text"], "done");
}

#[tokio::test]
async fn a_finished_run_that_is_resumed_shows_its_outputs_and_sends_nothing() {
    let agent =
        Scripted::start(|request| request.events(&[json!({"task": completed("t", "done")})])).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let first = convoke.run(["--json", "run", "w.yaml"]).await.exits(0);
    let run = first.json()["run"].as_str().expect("an id").to_owned();
    let again = convoke.run(["--json", "run", "--resume", &run]).await.exits(0);
    assert_eq!(again.json(), first.json());
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
    assert_eq!(run_of(&convoke).await.count("run_resumed"), 0);
}
