//! Rounds, further agents and effects through a `kill -9`.

use serde_json::json;
use tests::{
    agent::{Scripted, completed, task},
    convoke::Convoke,
    journal::Journal,
};

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
