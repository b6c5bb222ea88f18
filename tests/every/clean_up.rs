//! What is done when a run has ended: `undo`, `on_failure`, `finally`.

use serde_json::{Value, json};
use tests::{
    agent::{Answer, Request, Scripted, completed, task},
    convoke::Convoke,
    journal::Journal,
};

const TRIP: &str = "
steps:
  hotel: {agent: it, message: hotel, undo: \"cancel ${{ this.text }}\"}
  seats: {for_each: [one, two], concurrency: 1, needs: [hotel], agent: it, message: \"seat ${{ item }}\", undo: \"free ${{ item }}\"}
  pay: {needs: [seats], agent: it, message: fail, undo: never sent}
on_failure:
  tell: {agent: it, message: \"${{ run.error.step }}: ${{ run.error.class }}\"}
  more: {agent: it, message: \"told ${{ steps.tell.text }}\"}
finally:
  close: {agent: it, message: \"closed ${{ steps.hotel.text }}\"}
";

fn write(convoke: &Convoke, url: &str, rest: &str) {
    convoke.write(
        "w.yaml",
        format!("convoke: 1\nname: w\nagents: {{it: {{url: \"{url}\"}}}}\n{rest}"),
    );
}

fn text(request: &Request) -> String {
    request.params["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn echo(request: &Request) -> Answer {
    let (id, text) = (format!("t{}", request.before), text(request));
    match request.method.as_str() {
        "SendMessage" => request.result(&json!({"task": match text.as_str() {
            "fail" => task(&id, "FAILED"),
            "never" => task(&id, "WORKING"),
            text => completed(&id, text),
        }})),
        "GetTask" => {
            request.result(&task(request.params["id"].as_str().unwrap_or_default(), "WORKING"))
        }
        "CancelTask" => {
            request.result(&task(request.params["id"].as_str().unwrap_or_default(), "CANCELED"))
        }
        _ => request.error(-32601, "not here"),
    }
}

fn texts(agent: &Scripted) -> Vec<String> {
    agent.received("SendMessage").iter().map(text).collect()
}

#[tokio::test]
async fn what_was_done_is_undone_newest_first_then_steps_of_the_end_run() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    write(&convoke, &agent.url, TRIP);
    let failed = convoke.run(["run", "w.yaml"]).await.exits(1);
    assert!(failed.stderr.contains("step `pay` failed"), "{}", failed.stderr);
    let sent = texts(&agent);
    let wanted = [
        "hotel",
        "seat one",
        "seat two",
        "fail",
        "free two",
        "free one",
        "cancel hotel",
        "pay: failed",
        "told pay: failed",
        "closed hotel",
    ];
    assert_eq!(sent, wanted);
    let undo = &agent.received("SendMessage")[6].params["message"];
    assert_eq!(undo["referenceTaskIds"], json!(["t0"]));
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    assert_eq!(runs.as_array().map(Vec::len), Some(1));
    let id = runs[0]["id"].as_str().unwrap();
    let shown = convoke.run(["--json", "runs", "show", id]).await.exits(0).json();
    assert_eq!(shown["state"], "failed");
    let clean_up = &shown["clean_up"];
    assert_eq!(clean_up["state"], "completed");
    let mut steps: Vec<&str> = clean_up["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["step"].as_str().unwrap())
        .collect();
    steps.sort_unstable();
    assert_eq!(steps, ["close", "more", "tell", "undo.hotel", "undo.seats[0]", "undo.seats[1]"]);
    let own = convoke
        .run(["--json", "runs", "show", clean_up["run"].as_str().unwrap()])
        .await
        .exits(0)
        .json();
    assert_eq!(own["steps"], clean_up["steps"]);
    let text = convoke.run(["runs", "show", id]).await.exits(0).stdout;
    assert!(text.contains("cleaned up by"), "{text}");
}

#[tokio::test]
async fn after_a_run_that_completed_only_the_last_steps_run() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    write(&convoke, &agent.url, &TRIP.replace("message: fail,", "message: paid,"));
    convoke.run(["run", "w.yaml"]).await.exits(0);
    assert_eq!(texts(&agent), ["hotel", "seat one", "seat two", "paid", "closed hotel"]);
}

#[tokio::test]
async fn nothing_that_fails_in_the_end_changes_the_verdict_or_keeps_the_rest_from_being_done() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    let steps = "steps: {a: {agent: it, message: hi, undo: fail}, b: {needs: [a], agent: it, message: fail}}\n\
                 on_failure: {c: {agent: it, message: fail}}\nfinally: {d: {agent: it, message: bye}}\n";
    write(&convoke, &agent.url, steps);
    let failed = convoke.run(["--json", "run", "w.yaml"]).await.exits(1);
    assert!(failed.stderr.contains("step `b` failed"), "{}", failed.stderr);
    assert_eq!(texts(&agent), ["hi", "fail", "fail", "fail", "bye"]);
}

#[tokio::test]
async fn a_run_that_is_canceled_is_cleaned_up() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    let steps = "steps: {a: {agent: it, message: hi, undo: bye}, b: {needs: [a], agent: it, message: never}}\n\
                 on_failure: {c: {agent: it, message: \"error: ${{ run.error is defined and run.error is not none }}\"}}\n";
    write(&convoke, &agent.url, steps);
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendMessage", 2).await;
    process.interrupt();
    assert_eq!(process.end().await.code, 130);
    assert_eq!(texts(&agent), ["hi", "never", "bye", "error: false"]);
}

#[tokio::test]
async fn steps_of_the_end_refer_to_tasks_of_the_run_and_to_each_others() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    let steps = "
steps:
  hotel: {agent: it, message: hotel}
  seats: {for_each: [one, two], concurrency: 1, needs: [hotel], agent: it, message: \"seat ${{ item }}\"}
  pay: {needs: [seats], agent: it, message: fail}
on_failure:
  named: {agent: it, message: named, references: [seats]}
  read: {agent: it, message: \"read ${{ steps.hotel.text }}\", needs: [named]}
  none: {agent: it, message: none, needs: [read], references: []}
finally:
  alone: {agent: it, message: alone}
";
    write(&convoke, &agent.url, steps);
    convoke.run(["run", "w.yaml"]).await.exits(1);
    let sent: Vec<(String, Value)> = agent
        .received("SendMessage")
        .iter()
        .map(|request| (text(request), request.params["message"]["referenceTaskIds"].clone()))
        .collect();
    let of = |text: &str| {
        let of_text = sent.iter().find(|(sent, _)| sent == text);
        of_text.unwrap_or_else(|| panic!("no `{text}` in {sent:?}")).1.clone()
    };
    assert_eq!(of("named"), json!(["t1", "t2"]), "those of all items");
    assert_eq!(of("read hotel"), json!(["t0", "t4"]));
    assert_eq!((of("none"), of("alone")), (Value::Null, Value::Null));
}

#[tokio::test]
async fn a_reference_in_the_end_to_a_task_of_another_agent_is_a_warning() {
    let (agent, other) = (Scripted::polled(echo).await, Scripted::polled(echo).await);
    let convoke = Convoke::default();
    convoke.write(
        "w.yaml",
        format!(
            "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}, other: {{url: \"{}\"}}}}\n\
             steps: {{a: {{agent: it, message: fail}}}}\n\
             on_failure: {{b: {{agent: other, message: told, references: [a]}}}}\n",
            agent.url, other.url
        ),
    );
    let plan = convoke.run(["plan", "w.yaml"]).await.exits(0);
    let why = "step `b` does not refer to the Task of `a`, which another agent serves";
    assert!(plan.stderr.contains(why), "{}", plan.stderr);
    convoke.run(["run", "w.yaml"]).await.exits(1);
    assert_eq!(other.received("SendMessage")[0].params["message"]["referenceTaskIds"], Value::Null);
}

/// The process is killed when the first undo is with its agent, and again at the last step.
#[tokio::test]
async fn a_clean_up_that_is_killed_goes_on_and_repeats_nothing() {
    let agent = Scripted::start(|request| {
        let (id, text) = (format!("t{}", request.before), text(request));
        match (request.method.as_str(), text.as_str()) {
            ("SendStreamingMessage", "fail") => {
                request.events(&[json!({"task": task(&id, "FAILED")})])
            }
            // Nobody answers the first time.
            ("SendStreamingMessage", "free two") if request.before == 4 => {
                request.events_then_silence(&[])
            }
            ("SendStreamingMessage", "closed hotel") if request.before == 10 => {
                request.events_then_silence(&[])
            }
            ("SendStreamingMessage", text) => {
                request.events(&[json!({"task": completed(&id, text)})])
            }
            _ => request.error(-32601, "not here"),
        }
    })
    .await;
    let convoke = Convoke::default();
    write(&convoke, &agent.url, TRIP);
    let process = convoke.start(["run", "w.yaml"]);
    agent.until("SendStreamingMessage", 5).await;
    process.kill().await;
    let run = Journal::read(&convoke.data()).await.unwrap().run;
    let process = convoke.start(["run", "--resume", &run]);
    agent.until("SendStreamingMessage", 11).await;
    process.kill().await;
    convoke.run(["run", "--resume", &run]).await.exits(1);
    let sent: Vec<String> = agent.received("SendStreamingMessage").iter().map(text).collect();
    let wanted = [
        "hotel",
        "seat one",
        "seat two",
        "fail",
        "free two",
        "free two",
        "free one",
        "cancel hotel",
        "pay: failed",
        "told pay: failed",
        "closed hotel",
        "closed hotel",
    ];
    assert_eq!(sent, wanted);
    let all = agent.received("SendStreamingMessage");
    assert_eq!((&all[4].params, &all[10].params), (&all[5].params, &all[11].params));
    let again: Value = convoke.run(["--json", "runs", "show", &run]).await.exits(0).json();
    assert_eq!(again["clean_up"]["state"], "completed");
}
