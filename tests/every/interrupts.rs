//! Ctrl-C, once and twice.

use insta::assert_snapshot;
use serde_json::json;
use tests::{
    agent::{Answer, Scripted, one_step, task},
    convoke::Convoke,
    journal::Journal,
};

use crate::steady;

#[tokio::test]
async fn ctrl_c_cancels_the_remote_task_and_then_the_run_ends() {
    let agent = Scripted::start(|request| match request.method.as_str() {
        "SendStreamingMessage" => {
            request.events_then_silence(&[json!({"task": task("t", "WORKING")})])
        }
        "CancelTask" => request.result(&task("t", "CANCELED")),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let mut process = convoke.start(["run", "w.yaml"]);
    process.until("working on Task t").await;
    process.interrupt();
    let done = process.end().await;
    let canceled = agent.received("CancelTask");
    assert_eq!(canceled.len(), 1);
    assert_eq!(canceled[0].params["id"], "t");
    assert_eq!(done.stdout, "");
    {
        let _steady = steady();
        assert_snapshot!(done.complaint(), @r"
        exit 130
        TIME run   canceling: the agents are being told; Ctrl-C again leaves at once
        TIME run   canceling
        TIME ask   canceled
        TIME run   canceled
        ");
    }
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    assert_eq!(runs[0]["state"], "canceled");
}

#[tokio::test]
async fn a_second_ctrl_c_leaves_at_once_and_the_run_can_be_taken_up_again() {
    let agent = Scripted::start(|request| match (request.method.as_str(), request.before) {
        ("SendStreamingMessage", _) => {
            request.events_then_silence(&[json!({"task": task("t", "WORKING")})])
        }
        // The first one is not answered: the agent is slow to stop.
        ("CancelTask", 0) => Answer::Never,
        ("CancelTask", _) => request.result(&task("t", "CANCELED")),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let mut process = convoke.start(["run", "w.yaml"]);
    process.until("working on Task t").await;
    process.interrupt();
    process.until("canceling: the agents are being told").await;
    process.until("canceling").await;
    agent.until("CancelTask", 1).await;
    process.interrupt();
    let done = process.end().await;
    {
        let _steady = steady();
        assert_snapshot!(done.complaint(), @r"
        exit 130
        left; `convoke run --resume ID` goes on from here
        ");
    }
    let journal = Journal::read(&convoke.data()).await.expect("a run");
    assert_eq!(journal.count("cancel_requested"), 1);
    assert_eq!(journal.count("run_finished"), 0);
    let resumed = convoke.run(["run", "--resume", &journal.run]).await;
    {
        let _steady = steady();
        assert_snapshot!(resumed.complaint(), @r"
        exit 130
        TIME run   ID of one-step
        TIME ask   sent to it
        TIME ask   working on Task t
        TIME run   canceling
        TIME run   resumed
        TIME ask   canceled
        TIME run   canceled
        ");
    }
    assert_eq!(agent.received("CancelTask").len(), 2);
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
}
