//! Runs that wait for a person, and what the person can do.

use examples::{Kind, Options, Running};
use insta::assert_snapshot;
use serde_json::Value;
use tests::{agent::example, convoke::Convoke};

use crate::steady;

async fn asks(turns: u32) -> Running {
    example(Kind::Asks, Options { turns, ..Options::default() }).await
}

/// Two steps that ask, and one that waits for both.
fn two_questions(url: &str) -> String {
    format!(
        "convoke: 1\nname: two\nagents: {{it: {{url: \"{url}\"}}}}\nsteps:\n  \
         a: {{agent: it, message: one}}\n  b: {{agent: it, message: two}}\n\
         outputs:\n  both: {{value: \"${{{{ steps.a.text }}}} ${{{{ steps.b.text }}}}\"}}\n"
    )
}

async fn only_run(convoke: &Convoke) -> Value {
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    runs[0].clone()
}

#[tokio::test]
async fn two_answers_out_of_order_each_reach_their_task() {
    let agent = asks(1).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", two_questions(&agent.url));
    convoke.run(["run", "w.yaml"]).await.exits(4);
    let run = only_run(&convoke).await;
    assert_eq!(run["state"], "input_required");
    let id = run["id"].as_str().unwrap();
    let unnamed = convoke.run(["runs", "reply", id, "x"]).await.exits(2);
    assert!(unnamed.stderr.contains("name one of: a, b"), "{}", unnamed.stderr);
    // Each reply is a process of its own: the first one dies while the other question is open.
    convoke.run(["runs", "reply", id, "b", "for b"]).await.exits(4);
    let done = convoke.run(["--json", "runs", "reply", id, "a", "for a"]).await.exits(0);
    let outputs = &done.json()["outputs"];
    assert_eq!(outputs[0]["parts"][0]["text"], "one [for a] two [for b]");
    let late = convoke.run(["runs", "reply", id, "late"]).await.exits(2);
    let _steady = steady();
    assert_snapshot!(late.complaint(), @r"
    exit 2
    error: run ID has ended and waits for no answer
    ");
}

#[tokio::test]
async fn a_reply_that_is_killed_is_delivered_once() {
    let agent = asks(2).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", tests::agent::one_step(&agent.url, ""));
    convoke.run(["run", "w.yaml"]).await.exits(4);
    let run = only_run(&convoke).await;
    let id = run["id"].as_str().unwrap();
    let mut process = convoke.start(["runs", "reply", id, "water"]);
    process.until("answered").await;
    process.kill().await;
    convoke.run(["run", "--resume", id]).await.exits(4);
    let done = convoke.run(["--json", "runs", "reply", id, "wine"]).await.exits(0);
    let text = done.json()["outputs"][0]["parts"][0]["text"].clone();
    assert!(text.as_str().unwrap().ends_with("[water | wine]"), "{text}");
}

#[tokio::test]
async fn a_run_that_waits_can_be_canceled() {
    let agent = asks(1).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", tests::agent::one_step(&agent.url, ""));
    convoke.run(["run", "w.yaml"]).await.exits(4);
    let run = only_run(&convoke).await;
    convoke.run(["runs", "cancel", run["id"].as_str().unwrap()]).await.exits(0);
    assert_eq!(only_run(&convoke).await["state"], "canceled");
}
