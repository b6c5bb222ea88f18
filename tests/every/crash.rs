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

/// Three items, two of them at once: the first is done, the second under way, the third let go after the first.
#[tokio::test]
async fn items_that_were_done_are_not_run_again() {
    let agent = Scripted::start(|request| {
        let params = request.params.to_string();
        let of = |item: &str| params.contains(&format!("Do {item}."));
        match (request.method.as_str(), request.before) {
            ("SendStreamingMessage", _) if of("one") => {
                request.events(&[json!({"task": completed("t1", "ONE")})])
            }
            ("SendStreamingMessage", _) if of("two") => {
                request.events_then_silence(&[json!({"task": task("t2", "WORKING")})])
            }
            ("SendStreamingMessage", 2) => request.events_then_silence(&[]),
            ("SendStreamingMessage", _) => {
                request.events(&[json!({"task": completed("t3", "THREE")})])
            }
            ("SubscribeToTask", _) => request.events(&[json!({"task": completed("t2", "TWO")})]),
            _ => request.error(-32601, "not here"),
        }
    })
    .await;
    let convoke = Convoke::default();
    let file = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  a:\n    agent: it\n    \
         for_each: [one, two, three]\n    concurrency: 2\n    message: Do ${{{{ item }}}}.\n\
         outputs: {{all: {{value: \"${{{{ steps.a.text }}}}\"}}}}\n",
        agent.url
    );
    convoke.write("w.yaml", file);
    let mut process = convoke.start(["run", "w.yaml"]);
    process.until("working on Task t2").await;
    agent.until("SendStreamingMessage", 3).await;
    process.kill().await;
    let journal = run_of(&convoke).await;
    assert_eq!((journal.count("step_expanded"), journal.count("step_completed")), (1, 1));
    let done = convoke.run(["--json", "run", "--resume", &journal.run]).await.exits(0).json();
    assert_eq!(done["outputs"][0]["parts"][0]["text"], "ONE\nTWO\nTHREE");
    let sent = agent.received("SendStreamingMessage");
    assert_eq!(sent.len(), 4, "only the one that nobody answered is sent again");
    assert_eq!(sent[3].params, sent[2].params);
    assert_eq!(agent.received("SubscribeToTask")[0].params["id"], "t2");
    let steps: Vec<&str> = done["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|it| it["step"].as_str())
        .collect();
    assert_eq!(steps, ["a", "a[0]", "a[1]", "a[2]"]);
}

/// The quicker of two agents is enough; the other one is killed for, and its cancel gets no answer before the kill.
#[tokio::test]
async fn what_is_not_needed_any_more_is_canceled_after_a_crash_as_well() {
    let agent = Scripted::start(|request| {
        let text = request.params.to_string();
        match (request.method.as_str(), request.before) {
            ("SendStreamingMessage", _) if text.contains("Be slow.") => {
                request.events_then_silence(&[json!({"task": task("slow", "WORKING")})])
            }
            ("SendStreamingMessage", _) => {
                request.events(&[json!({"task": completed("quick", "done")})])
            }
            ("CancelTask", 0) => Answer::Never,
            ("CancelTask", _) => request.result(&task("slow", "CANCELED")),
            _ => request.error(-32601, "not here"),
        }
    })
    .await;
    let convoke = Convoke::default();
    let file = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  \
         slow: {{agent: it, message: Be slow.}}\n  \
         quick: {{agent: it, message: Be quick., needs: [before]}}\n  \
         before: {{agent: it, message: Wait.}}\n  \
         first: {{agent: it, message: Enough., needs: [slow, quick], join: any, cancel_rest: true}}\n",
        agent.url
    );
    convoke.write("w.yaml", file);
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("CancelTask", 1).await;
    process.kill().await;
    let journal = run_of(&convoke).await;
    assert_eq!((journal.count("step_canceled"), journal.count("attempt_canceled")), (1, 0));
    let done = convoke.run(["--json", "run", "--resume", &journal.run]).await.exits(0).json();
    let state = |step: usize| done["steps"][step]["state"].clone();
    assert_eq!((state(0), state(3)), (json!("canceled"), json!("completed")));
    assert_eq!(agent.received("CancelTask").len(), 2);
    let sent = agent.received("SendStreamingMessage");
    let slow = sent.iter().filter(|request| request.params.to_string().contains("Be slow."));
    assert_eq!(slow.count(), 1, "what is canceled is not sent again");
    assert_eq!(run_of(&convoke).await.count("step_canceled"), 1);
}

/// The step after what was computed is killed before its agent answers.
#[tokio::test]
async fn what_was_computed_is_computed_once() {
    let agent = Scripted::start(|request| match (request.method.as_str(), request.before) {
        ("SendStreamingMessage", 1) => request.events_then_silence(&[]),
        ("SendStreamingMessage", _) => {
            request.events(&[json!({"task": completed(&format!("t{}", request.before), "ice")})])
        }
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    let file = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  \
         a: {{agent: it, message: Say., outputs: {{loud: \"${{{{ this.text | upper }}}}\"}}}}\n  \
         set: {{set: {{title: \"About ${{{{ steps.a.outputs.loud }}}}\"}}}}\n  \
         b: {{agent: it, message: \"${{{{ steps.set.data.title }}}}\"}}\n",
        agent.url
    );
    convoke.write("w.yaml", file);
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendStreamingMessage", 2).await;
    process.kill().await;
    let journal = run_of(&convoke).await;
    assert_eq!(journal.count("step_computed"), 1);
    let done = convoke.run(["--json", "run", "--resume", &journal.run]).await.exits(0).json();
    assert_eq!(run_of(&convoke).await.count("step_computed"), 1);
    let sent = agent.received("SendStreamingMessage");
    assert_eq!(sent[1].params["message"]["parts"][0]["text"], "About ICE");
    assert_eq!(sent[2].params, sent[1].params);
    let outputs = |step: usize| done["steps"][step]["outputs"].clone();
    assert_eq!(outputs(0), json!({"loud": "ICE"}));
    assert_eq!(outputs(1), json!({"title": "About ICE"}));
}
