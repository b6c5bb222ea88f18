//! Rounds, further agents and effects through a `kill -9`.

use protocol::v1::{Part, TaskState};
use serde_json::json;
use tests::{
    agent::{Request, Scripted, completed, task},
    convoke::Convoke,
    journal::Journal,
};

use crate::served::{Served, said};

async fn journal_of(convoke: &Convoke) -> Journal {
    Journal::read(&convoke.data()).await.expect("the run is written down before anything is sent")
}

/// The first round is done, the second under way; then what is shown of both.
#[tokio::test]
async fn rounds_that_were_done_are_not_repeated() {
    let agent = Scripted::start(|request| match (request.method.as_str(), request.before) {
        ("SendStreamingMessage", 0) => request.events(&[json!({"task": completed("t1", "first")})]),
        ("SendStreamingMessage", _) => {
            request.events_then_silence(&[json!({"task": task("t2", "WORKING")})])
        }
        ("SubscribeToTask", _) => request.events(&[json!({"task": completed("t2", "second")})]),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    let file = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  a:\n    agent: it\n    \
         message: \"${{{{ 'Not ' ~ this.text if this is defined else 'Begin' }}}}\"\n    \
         repeat: {{until: this.text == 'second', max: 3}}\n",
        agent.url
    );
    convoke.write("w.yaml", file);
    let mut process = convoke.start(["run", "w.yaml"]);
    process.until("working on Task t2").await;
    process.kill().await;
    let journal = journal_of(&convoke).await;
    assert_eq!((journal.count("round_ended"), journal.count("attempt_started")), (1, 2));
    let done = convoke.run(["--json", "run", "--resume", &journal.run]).await.exits(0).json();
    let sent = agent.received("SendStreamingMessage");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].params["message"]["parts"][0]["text"], "Not first");
    assert_eq!(sent[1].params["message"]["referenceTaskIds"], json!(["t1"]));
    assert_eq!(agent.received("SubscribeToTask")[0].params["id"], "t2");
    let step = &done["steps"][0];
    assert_eq!((&step["rounds"], &step["attempts"]), (&json!(2), &json!(2)));
    assert_eq!(step["earlier"][0]["artifact"]["parts"][0]["text"], "first");
    let shown = convoke.run(["runs", "show", &journal.run]).await.exits(0).stdout;
    assert!(shown.contains("attempts 2  rounds 2"), "{shown}");
    assert!(shown.contains("round 1 "), "{shown}");
}

/// The first agent has rejected the Message, the second works on it.
#[tokio::test]
async fn an_agent_that_was_passed_over_is_not_asked_again() {
    let rejecting =
        Scripted::start(|request| request.events(&[json!({"task": task("r", "REJECTED")})])).await;
    let able = Scripted::start(|request| match request.method.as_str() {
        "SendStreamingMessage" => {
            request.events_then_silence(&[json!({"task": task("t", "WORKING")})])
        }
        "SubscribeToTask" => request.events(&[json!({"task": completed("t", "done")})]),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    let file = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}, other: {{url: \"{}\"}}}}\n\
         steps: {{a: {{agent: it, fallback: [other], message: hi}}}}\n",
        rejecting.url, able.url
    );
    convoke.write("w.yaml", file);
    let planned = convoke.run(["plan", "w.yaml"]).await.exits(0).stdout;
    assert!(planned.contains("  else       other (by name)"), "{planned}");
    let mut process = convoke.start(["run", "w.yaml"]);
    process.until("working on Task t").await;
    process.kill().await;
    let run = journal_of(&convoke).await.run;
    let done = convoke.run(["--json", "run", "--resume", &run]).await.exits(0).json();
    let step = &done["steps"][0];
    assert_eq!((&step["agent"], &step["fallback"]), (&json!("other"), &json!(1)));
    let sent = |agent: &Scripted| agent.received("SendStreamingMessage").len();
    assert_eq!((sent(&rejecting), sent(&able)), (1, 1));
    let shown = convoke.run(["runs", "show", &run]).await.exits(0).stdout;
    assert!(shown.contains("other (fallback 1)"), "{shown}");
}

/// Between two attempts, of which the second would come too late.
#[tokio::test]
async fn a_deadline_outlives_the_process() {
    let agent =
        Scripted::start(|request| request.events(&[json!({"task": task("t", "FAILED")})])).await;
    let convoke = Convoke::default();
    let file = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  a:\n    agent: it\n    message: hi\n    \
         deadline: 2s\n    retry: {{on: [failed], backoff: {{initial: 1h, max: 1h, jitter: none}}}}\n",
        agent.url
    );
    convoke.write("w.yaml", file);
    let mut process = convoke.start(["run", "w.yaml"]);
    process.until("tries again").await;
    process.kill().await;
    let run = journal_of(&convoke).await.run;
    let done = convoke.run(["--json", "run", "--resume", &run]).await.exits(1).json();
    let error = done["steps"][0]["error"].as_str().expect("an error");
    assert!(error.contains("its deadline of 2 s"), "{error}");
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
}

fn careful(url: &str) -> String {
    format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{url}\"}}}}\n\
         steps: {{a: {{agent: it, message: hi, effect: at_most_once}}}}\n"
    )
}

/// A Message that nobody answers the first time, and that has become a Task all the same.
fn unanswered(request: &Request) -> tests::agent::Answer {
    match (request.method.as_str(), request.before) {
        ("SendStreamingMessage", 0) => request.events_then_silence(&[]),
        ("SendStreamingMessage" | "SubscribeToTask", _) => {
            request.events(&[json!({"task": completed("t", "done")})])
        }
        _ => request.error(-32601, "not here"),
    }
}

/// A run that was killed before the agent answered, and was taken up again.
async fn in_doubt() -> (Scripted, Convoke, String) {
    let agent = Scripted::start(unanswered).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", careful(&agent.url));
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendStreamingMessage", 1).await;
    process.kill().await;
    let run = journal_of(&convoke).await.run;
    let asks = convoke.run(["run", "--resume", &run]).await.exits(4).stderr;
    assert!(asks.contains("it is not known whether agent `it` has received the Message"), "{asks}");
    assert!(asks.contains(&format!("runs reply {run} --step a --resend")), "{asks}");
    // Nor does it help to come again.
    convoke.run(["run", "--resume", &run]).await.exits(4);
    assert_eq!(agent.received("SendStreamingMessage").len(), 1, "the agent got it exactly once");
    (agent, convoke, run)
}

#[tokio::test]
async fn what_must_not_be_sent_twice_is_followed_when_somebody_names_its_task() {
    let (agent, convoke, run) = in_doubt().await;
    let unclear = convoke.run(["runs", "reply", &run, "yes"]).await.exits(2).stderr;
    assert!(unclear.contains("answer `resend`, `failed` or `task ID`"), "{unclear}");
    let reply = ["--json", "runs", "reply", &run, "--step", "a", "--task", "t"];
    let done = convoke.run(reply).await.exits(0).json();
    assert_eq!(done["outputs"][0]["parts"][0]["text"], "done");
    assert_eq!(agent.received("SubscribeToTask")[0].params["id"], "t");
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
}

#[tokio::test]
async fn what_must_not_be_sent_twice_is_sent_again_when_somebody_says_so() {
    let (agent, convoke, run) = in_doubt().await;
    convoke.run(["runs", "reply", &run, "--resend"]).await.exits(0);
    let sent = agent.received("SendStreamingMessage");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].params, sent[1].params);
}

#[tokio::test]
async fn what_must_not_be_sent_twice_has_failed_when_somebody_says_so() {
    let (agent, convoke, run) = in_doubt().await;
    let failed = convoke.run(["runs", "reply", &run, "--failed"]).await.exits(1).stderr;
    assert!(failed.contains("somebody said that it has failed"), "{failed}");
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
}

/// A serving process is killed; whoever asked is asked in turn, over A2A.
#[tokio::test]
async fn a_client_decides_about_a_message_that_may_have_been_received() {
    let agent = Scripted::start(unanswered).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", careful(&agent.url));
    let served = Served::start(&convoke).await;
    let id = served.send(said("go"), true).await.id;
    agent.until("SendStreamingMessage", 1).await;
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    served.until(&id, TaskState::InputRequired).await;
    let asked = served.task(&id).await.status.and_then(|status| status.message);
    let asked = asked.expect("a question").text();
    assert!(asked.contains("it is not known whether agent `it`"), "{asked}");
    let decision = Part::data(json!({"outcome": "resend"}));
    let answer = protocol::v1::Message::user(vec![decision]).with_task(&id);
    served.send(answer, true).await;
    served.until(&id, TaskState::Completed).await;
    assert_eq!(agent.received("SendStreamingMessage").len(), 2);
}
