//! Steps that ask a person, and how long they wait.

use examples::{Kind, Options};
use protocol::v1::{Message, Part, Task, TaskState, part::Content};
use serde_json::{Value, json};
use tests::{
    agent::{Answer, Request, Scripted, completed, example},
    convoke::Convoke,
    journal::Journal,
};

use crate::served::{Served, said};

/// An approval of a number, and a step that tells an agent of it.
const APPROVAL: &str = "
inputs: {q: {from: text, default: it}}
steps:
  approval:
    ask: How much for ${{ inputs.q }}?
    schema: {type: object, required: [amount], properties: {amount: {type: integer, minimum: 10}}}
  told: {agent: it, message: \"${{ steps.approval.data.amount }} of ${{ steps.approval.text }}\"}
outputs: {o: {value: \"${{ steps.told.text }}\"}}
";

fn workflow(url: &str, steps: &str) -> String {
    format!("convoke: 1\nname: w\nagents: {{it: {{url: \"{url}\"}}}}\n{steps}")
}

/// Repeats what it is told.
fn echo(request: &Request) -> Answer {
    let text = request.params["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    let id = format!("t{}", request.before);
    match request.method.as_str() {
        "SendMessage" => request.result(&json!({"task": completed(&id, text)})),
        _ => request.error(-32601, "not here"),
    }
}

fn status_text(task: &Task) -> String {
    let message = task.status.as_ref().and_then(|status| status.message.as_ref());
    message.map(Message::text).unwrap_or_default()
}

fn data(value: Value) -> Message {
    let content = Some(Content::Data(protocol::wkt::Value(value)));
    Message::user(vec![Part { content, ..Part::default() }])
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_told_why_and_the_next_one_goes_on() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", workflow(&agent.url, APPROVAL));
    let paused = convoke.run(["run", "w.yaml"]).await.exits(4);
    assert!(paused.stderr.contains("approval asks: How much for it?"), "{}", paused.stderr);
    let run = Journal::read(&convoke.data()).await.expect("a run").run;
    let refused = convoke.run(["runs", "reply", &run, "approval", r#"{"amount": 3}"#]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("`/amount` does not fit: 3 is less than the minimum of 10"),
        "{}",
        refused.stderr
    );
    let waits = convoke.run(["runs", "show", &run]).await.exits(0);
    assert!(waits.stdout.contains("input_required"), "{}", waits.stdout);
    let done = convoke.run(["--json", "runs", "reply", &run, r#"{"amount": 30}"#]).await.exits(0);
    assert_eq!(done.json()["outputs"][0]["parts"][0]["text"], r#"30 of {"amount": 30}"#);
    let journal = Journal::read(&convoke.data()).await.expect("a run");
    assert_eq!((journal.count("step_asked"), journal.count("step_asked_again")), (1, 1));
}

#[tokio::test]
async fn a_client_sees_the_schema_and_why_its_answer_does_not_fit() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", workflow(&agent.url, APPROVAL));
    let served = Served::start(&convoke).await;
    let task = served.send(said("ice"), false).await;
    assert_eq!(task.state(), TaskState::InputRequired);
    let question = task.status.as_ref().and_then(|it| it.message.clone()).expect("a question");
    assert_eq!(question.text(), "How much for ice?");
    let about = question.parts[0].metadata.as_ref().expect("what fits").0.clone();
    assert_eq!(about["urn:convoke:step:v1"], "approval");
    assert_eq!(about["mimeType"], "application/json");
    assert_eq!(about["schema"]["required"], json!(["amount"]));
    let again = served.send(data(json!({"amount": "x"})).with_task(&task.id), false).await;
    assert_eq!(again.state(), TaskState::InputRequired);
    assert_eq!(
        status_text(&again),
        "How much for ice?\n(The last answer does not fit: `/amount` must be an integer, not the string \"x\")"
    );
    assert_eq!(again.history.len(), 2, "what did not fit was said all the same");
    let message =
        Message::user(vec![Part::text("as agreed"), data(json!({"amount": 12})).parts.remove(0)]);
    let done = served.send(message.with_task(&task.id), false).await;
    assert_eq!(done.state(), TaskState::Completed, "{done:?}");
    assert_eq!(Message::agent(done.artifacts[0].parts.clone()).text(), "12 of as agreed");
    assert_eq!(done.history.len(), 3);
}

#[tokio::test]
async fn a_question_outlives_the_process_and_is_answered_once() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", workflow(&agent.url, APPROVAL));
    let served = Served::start(&convoke).await;
    let task = served.send(said("ice"), false).await;
    let misfit = served.send(said("1").with_task(&task.id), false).await;
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    let standing = served.task(&task.id).await;
    assert_eq!(status_text(&standing), status_text(&misfit), "the question as it stood");
    let done = served.send(said(r#"{"amount": 11}"#).with_task(&task.id), false).await;
    assert_eq!(done.state(), TaskState::Completed);
    served.process.kill().await;
    let journal = Journal::read(&convoke.data()).await.expect("a run");
    assert_eq!((journal.count("step_asked"), journal.count("step_answered")), (1, 1));
    assert_eq!(agent.received("SendMessage").len(), 1);
}

#[tokio::test]
async fn each_item_asks_for_itself() {
    let convoke = Convoke::default();
    let steps = "steps:\n  q: {for_each: [ice, tea], ask: \"${{ item }}?\"}\n\
                 outputs: {o: {value: \"${{ steps.q.items[0].text }} ${{ steps.q.items[1].text }}\"}}\n";
    convoke.write("w.yaml", format!("convoke: 1\nname: w\n{steps}"));
    convoke.run(["run", "w.yaml"]).await.exits(4);
    let run = Journal::read(&convoke.data()).await.expect("a run").run;
    convoke.run(["runs", "reply", &run, "q[1]", "no"]).await.exits(4);
    let done = convoke.run(["--json", "runs", "reply", &run, "yes"]).await.exits(0);
    assert_eq!(done.json()["outputs"][0]["parts"][0]["text"], "yes no");
}

#[tokio::test]
async fn a_question_that_nobody_answers_fails_after_its_pause_timeout_even_after_a_crash() {
    let convoke = Convoke::default();
    let steps = "steps: {a: {ask: Really?, pause_timeout: 1s}}\n";
    convoke.write("workflows/w.yaml", format!("convoke: 1\nname: w\n{steps}"));
    let served = Served::start(&convoke).await;
    let task = served.send(said("go"), false).await;
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    served.until(&task.id, TaskState::Failed).await;
    let why = status_text(&served.task(&task.id).await);
    assert_eq!(why, "step `a` failed: it got no answer within its `pause_timeout` of 1s");
}

#[tokio::test]
async fn an_agent_that_nobody_answers_is_canceled_after_its_pause_timeout_and_not_tried_again() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let convoke = Convoke::default();
    let steps =
        "steps: {a: {agent: it, message: hi, pause_timeout: 300ms, retry: {on: [timeout]}}}\n";
    convoke.write("workflows/w.yaml", workflow(&agent.url, steps));
    let served = Served::start(&convoke).await;
    let task = served.send(said("go"), true).await;
    served.until(&task.id, TaskState::Failed).await;
    let why = status_text(&served.task(&task.id).await);
    assert!(why.ends_with("it got no answer within its `pause_timeout` of 300ms"), "{why}");
    served.process.kill().await;
    let journal = Journal::read(&convoke.data()).await.expect("a run");
    assert_eq!(journal.count("attempt_started"), 1);
    assert_eq!(journal.count("attempt_canceled"), 1);
}
