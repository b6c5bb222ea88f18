//! Results that are reused, and processes that are killed meanwhile.

use serde_json::{Value, json};
use tests::{
    agent::{Answer, Scripted, completed},
    convoke::{Convoke, Process},
    journal::Journal,
};

/// Completes `one` at once, and the second step only when it is asked again for the same run.
async fn agent() -> Scripted {
    Scripted::polled(|request| {
        let text = request.params["message"]["parts"][0]["text"].as_str().unwrap_or_default();
        let id = format!("t{}", request.before);
        match (request.method.as_str(), request.before) {
            ("SendMessage", _) if text == "one" => {
                request.result(&json!({"task": completed(&id, "ONE")}))
            }
            ("SendMessage", 1 | 2) => Answer::Never,
            ("SendMessage", _) => request.result(&json!({"task": completed(&id, "TWO")})),
            _ => request.error(-32601, "not here"),
        }
    })
    .await
}

async fn killed_at(process: Process, agent: &Scripted, sent: usize, convoke: &Convoke) -> Journal {
    agent.until("SendMessage", sent).await;
    process.kill().await;
    Journal::read(&convoke.data()).await.expect("a run")
}

fn texts(agent: &Scripted) -> Vec<Value> {
    let sent = agent.received("SendMessage").into_iter();
    sent.map(|it| it.params["message"]["parts"][0]["text"].clone()).collect()
}

#[tokio::test]
async fn what_one_run_completed_before_it_was_killed_the_next_one_has_and_keeps() {
    let agent = agent().await;
    let convoke = Convoke::default();
    let file = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  \
         a: {{agent: it, message: one, cache: {{ttl: 1h}}}}\n  \
         b: {{agent: it, message: \"${{{{ steps.a.text }}}} two\"}}\n",
        agent.url
    );
    convoke.write("w.yaml", file);
    let first = killed_at(convoke.start(["run", "w.yaml"]), &agent, 2, &convoke).await;
    let second = killed_at(convoke.start(["run", "w.yaml"]), &agent, 3, &convoke).await;
    assert_eq!((first.count("step_reused"), second.count("step_reused")), (0, 1));
    let done = convoke.run(["--json", "run", "--resume", &second.run]).await.exits(0).json();
    assert_eq!(texts(&agent), ["one", "ONE two", "ONE two", "ONE two"], "nobody is asked again");
    let sent = agent.received("SendMessage");
    assert_eq!(sent[3].params, sent[2].params);
    let none = json!(null);
    assert_eq!(sent[3].params["message"]["referenceTaskIds"], none, "the Task is of another run");
    let a = &done["steps"][0];
    assert_eq!((&a["reused_from"], &a["attempts"]), (&json!(first.run), &json!(0)));
    assert_eq!(a["task_id"], none);
    let shown = convoke.run(["runs", "show", &second.run]).await.exits(0);
    assert!(shown.stdout.contains(&format!("reused from run {}", first.run)), "{}", shown.stdout);
    let watched = convoke.run(["--json", "runs", "watch", &second.run]).await.exits(0);
    let is_told = |line: &str| {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|it| it["event"] == "step_reused" && it["reused_from"] == json!(first.run))
    };
    assert!(watched.stdout.lines().any(is_told), "{}", watched.stdout);
    convoke.run(["run", "--resume", &first.run]).await.exits(0);
    assert_eq!(agent.received("SendMessage").len(), 5, "the killed run goes on as well");
}
