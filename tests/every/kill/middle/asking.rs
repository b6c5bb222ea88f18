//! `ask`, and `pause_timeout`.

use examples::Kind;
use protocol::v1::TaskState;

use super::{ALL, Middle, output};
use crate::served::{Served, said};

const APPROVAL: &str = "
steps:
  draft: {agent: writer, message: Draft it}
  approval:
    ask: \"Is it fine? ${{ steps.draft.text }}\"
    schema: {type: object, required: [fine], properties: {fine: {type: boolean}}}
  beside: {agent: slow, needs: [draft], message: For 1ms}
  told: {agent: echo, message: \"${{ steps.approval.data.fine }} ${{ steps.beside.text }}\"}
outputs: {o: {value: \"${{ steps.told.text }}\"}}
";

async fn approval(slow: usize, echo: usize) -> Middle {
    let cast =
        [("writer", Kind::Writer, ALL), ("slow", Kind::Slow, slow), ("echo", Kind::Echo, echo)];
    Middle::of(&cast, APPROVAL).await
}

#[tokio::test]
async fn a_question_that_was_asked_before_a_kill_is_answered_after_it() {
    let middle = approval(0, ALL).await;
    let mut process = middle.start();
    process.until("asks: Is it fine?").await;
    let killed = middle.killed_at(process, "slow").await;
    assert_eq!(killed.count("step_asked"), 1);
    let run = &killed.run;
    let misfit = middle.convoke.run(["runs", "reply", run, "approval", "perhaps"]).await.exits(2);
    assert!(misfit.stderr.contains("must be an object"), "{}", misfit.stderr);
    let answer = ["--json", "runs", "reply", run, "approval", r#"{"fine": true}"#];
    let done = middle.convoke.run(answer).await.exits(0).json();
    assert_eq!(output(&done), "true For 1ms");
    for (agent, texts) in
        [("writer", ["Draft it"]), ("slow", ["For 1ms"]), ("echo", ["true For 1ms"])]
    {
        assert_eq!(middle.texts(agent).await, texts);
    }
}

#[tokio::test]
async fn an_answer_that_was_taken_before_a_kill_is_not_asked_for_again() {
    let middle = approval(ALL, 0).await;
    let paused = middle.convoke.run(["run", "w"]).await.exits(4);
    assert!(paused.stderr.contains("approval asks: Is it fine? Draft 1: it"), "{}", paused.stderr);
    let run = middle.journal().await.run;
    let answer = ["runs", "reply", &run, r#"{"fine": false}"#];
    let killed = middle.killed_at(middle.convoke.start(answer), "echo").await;
    assert_eq!((killed.count("step_answered"), killed.count("attempt_started")), (1, 3));
    let done = middle.resumed(&run, 0).await;
    assert_eq!(output(&done), "false For 1ms");
    assert_eq!(middle.texts("echo").await, ["false For 1ms"]);
    let journal = middle.journal().await;
    assert_eq!((journal.count("step_asked"), journal.count("step_answered")), (1, 1));
}

#[tokio::test]
async fn an_agent_that_asks_over_a_kill_is_canceled_when_its_pause_has_lasted_too_long() {
    let file = "
inputs: {q: {from: text, default: it}}
steps:
  asking: {agent: asks, message: A notice, pause_timeout: 1s, on_error: continue}
  told: {agent: echo, message: \"${{ steps.asking.error.class }}\"}
";
    let middle = Middle::of(&[("asks", Kind::Asks, ALL), ("echo", Kind::Echo, ALL)], file).await;
    let served = Served::start(&middle.convoke).await;
    let task = served.send(said("go"), false).await;
    assert_eq!(task.state(), TaskState::InputRequired);
    served.process.kill().await;
    let served = Served::start(&middle.convoke).await;
    served.until(&task.id, TaskState::Completed).await;
    assert_eq!(middle.texts("echo").await, ["timeout"]);
    assert_eq!(middle.texts("asks").await, ["A notice"], "it is not tried again");
    assert_eq!(middle.tasks("asks").await[0].state(), TaskState::Canceled);
}
