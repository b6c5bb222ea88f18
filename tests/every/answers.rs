//! Agents that answer wrongly, or not at all. Each test shows all that a person sees.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{
    agent::{Answer, Request, Scripted, completed, one_step, task},
    convoke::{Convoke, Done},
};

use crate::steady;

/// Runs a workflow of one step against a scripted agent.
async fn ask(
    fields: &str,
    script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> (Done, Scripted) {
    let agent = Scripted::start(script).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, fields));
    (convoke.run(["run", "w.yaml"]).await, agent)
}

const ONCE: &str = ", retry: {attempts: 1}";

fn says(text: &str) -> Value {
    json!({"task": completed("t", text)})
}

#[tokio::test]
async fn a_stream_that_ends_before_its_first_event_fails_the_step() {
    let (done, agent) = ask(ONCE, |request| request.events(&[])).await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   failed: agent `it` at http://127.0.0.1:PORT closed the connection before it answered with a Task or a Message
    TIME run   failed: step `ask` failed (attempt 1): agent `it` at http://127.0.0.1:PORT closed the connection before it answered with a Task or a Message
    error: run ID failed: step `ask` failed (attempt 1): agent `it` at http://127.0.0.1:PORT closed the connection before it answered with a Task or a Message
    ");
    assert_eq!(done.stdout, "");
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_first_event_fails_the_step() {
    let (done, _agent) = ask(ONCE, |request| request.events_then_cut(&[])).await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   failed: SendStreamingMessage failed: the connection to http://127.0.0.1:PORT/ broke: unexpected EOF during chunk size line
    TIME run   failed: step `ask` failed (attempt 1): SendStreamingMessage failed: the connection to http://127.0.0.1:PORT/ broke: unexpected EOF during chunk size line
    error: run ID failed: step `ask` failed (attempt 1): SendStreamingMessage failed: the connection to http://127.0.0.1:PORT/ broke: unexpected EOF during chunk size line
    ");
}

#[tokio::test]
async fn an_agent_that_broke_off_once_is_tried_again_under_a_new_message_id() {
    let retry = ", retry: {attempts: 2, backoff: {initial: 10ms, jitter: none}}";
    let (done, agent) = ask(retry, |request| match request.before {
        0 => request.events_then_cut(&[]),
        _ => request.events(&[says("done")]),
    })
    .await;
    let done = done.exits(0);
    let sent = agent.received("SendStreamingMessage");
    assert_ne!(sent[0].message_id(), sent[1].message_id());
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 0
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   failed: SendStreamingMessage failed: the connection to http://127.0.0.1:PORT/ broke: unexpected EOF during chunk size line; tries again at TIME
    TIME ask   sent to it (attempt 2)
    TIME ask   completed by it in N s (attempt 2)
    TIME run   completed
    artifact came from
      answer  ← step ask, agent it, Task t
    ");
    assert_snapshot!(done.stdout, @r"
    answer
      done
    ");
}

#[tokio::test]
async fn a_stream_that_is_cut_after_the_task_goes_on_as_a_subscription() {
    let (done, agent) = ask("", |request| match request.method.as_str() {
        "SendStreamingMessage" => request.events_then_cut(&[json!({"task": task("t", "WORKING")})]),
        "SubscribeToTask" => {
            request.events(&[json!({"task": task("t", "WORKING")}), says("from the subscription")])
        }
        _ => request.error(-32601, "not here"),
    })
    .await;
    let done = done.exits(0);
    assert_eq!(done.stdout, "answer\n  from the subscription\n\n");
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
    assert_eq!(agent.received("SubscribeToTask").len(), 1);
    assert_eq!(agent.received("GetTask").len(), 0);
    let _steady = steady();
    assert_snapshot!(done.stderr, @r"
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   working on Task t
    TIME ask   completed by it in N s
    TIME run   completed
    artifact came from
      answer  ← step ask, agent it, Task t
    ");
}

#[tokio::test]
async fn a_task_whose_subscription_is_cut_too_is_asked_for() {
    let (done, agent) = ask("", |request| match (request.method.as_str(), request.before) {
        ("SendStreamingMessage" | "SubscribeToTask", _) => {
            request.events_then_cut(&[json!({"task": task("t", "WORKING")})])
        }
        ("GetTask", 0) => request.result(&task("t", "WORKING")),
        _ => request.result(&completed("t", "from the Task")),
    })
    .await;
    assert_eq!(done.exits(0).stdout, "answer\n  from the Task\n\n");
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
    assert_eq!(agent.received("GetTask").len(), 2);
}

#[tokio::test]
async fn what_is_no_json_rpc_fails_the_step_and_is_shown() {
    let (done, agent) = ask("", |_| {
        Answer::With(axum::response::IntoResponse::into_response("\u{1b}[31mwhatever\nit says"))
    })
    .await;
    assert_eq!(agent.received("SendStreamingMessage").len(), 1, "garbage is not asked for twice");
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   failed: SendStreamingMessage failed: the answer of http://127.0.0.1:PORT/ is not usable: it is not JSON-RPC: [31mwhatever it says; check that the address is an A2A interface, and tell its operator
    TIME run   failed: step `ask` failed (attempt 1): SendStreamingMessage failed: the answer of http://127.0.0.1:PORT/ is not usable: it is not JSON-RPC: [31mwhatever it says; check that the address is an A2A interface, and tell its operator
    error: run ID failed: step `ask` failed (attempt 1): SendStreamingMessage failed: the answer of http://127.0.0.1:PORT/ is not usable: it is not JSON-RPC: [31mwhatever it says; check that the address is an A2A interface, and tell its operator
    ");
}

#[tokio::test]
async fn an_event_that_is_no_json_fails_the_step_and_is_shown() {
    let (done, _agent) = ask("", |request| request.events(&[json!({"surprise": true})])).await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   failed: SendStreamingMessage failed: the answer of http://127.0.0.1:PORT/ is not usable: an event holds none of task, message, statusUpdate and artifactUpdate; check that the address is an A2A interface, and tell its operator
    TIME run   failed: step `ask` failed (attempt 1): SendStreamingMessage failed: the answer of http://127.0.0.1:PORT/ is not usable: an event holds none of task, message, statusUpdate and artifactUpdate; check that the address is an A2A interface, and tell its operator
    error: run ID failed: step `ask` failed (attempt 1): SendStreamingMessage failed: the answer of http://127.0.0.1:PORT/ is not usable: an event holds none of task, message, statusUpdate and artifactUpdate; check that the address is an A2A interface, and tell its operator
    ");
}

#[tokio::test]
async fn a_stream_that_turns_to_another_task_is_not_believed() {
    let (done, agent) = ask("", |request| match request.method.as_str() {
        "SendStreamingMessage" => {
            let other = completed("other", "not yours");
            request.events(&[json!({"task": task("t", "WORKING")}), json!({"task": other})])
        }
        "SubscribeToTask" => request.error(-32601, "not here"),
        _ => request.result(&completed("t", "the right one")),
    })
    .await;
    assert_eq!(done.exits(0).stdout, "answer\n  the right one\n\n");
    assert_eq!(agent.received("GetTask")[0].params["id"], "t");
}

/// As [`ask`], of an agent that does not stream.
async fn ask_polled(
    fields: &str,
    script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> (Done, Scripted) {
    let agent = Scripted::polled(script).await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, fields));
    (convoke.run(["run", "w.yaml"]).await, agent)
}

#[tokio::test]
async fn an_agent_that_does_not_stream_is_asked_until_its_task_is_over() {
    let (done, agent) =
        ask_polled(ONCE, |request| match (request.method.as_str(), request.before) {
            ("SendMessage", _) => request.result(&json!({"task": task("t", "SUBMITTED")})),
            ("GetTask", 0) => request.result(&task("t", "WORKING")),
            _ => request.result(&completed("t", "polled")),
        })
        .await;
    assert_eq!(done.exits(0).stdout, "answer\n  polled\n\n");
    let sent = agent.received("SendMessage");
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].params["configuration"]["returnImmediately"], true);
    assert_eq!(agent.received("GetTask").len(), 2);
    assert_eq!(agent.received("SendStreamingMessage").len(), 0);
}

#[tokio::test]
async fn an_agent_that_does_not_stream_and_answers_about_another_task_fails_the_step() {
    let (done, _agent) = ask_polled(ONCE, |request| match request.method.as_str() {
        "SendMessage" => request.result(&json!({"task": task("t", "WORKING")})),
        "CancelTask" => request.result(&task("t", "CANCELED")),
        _ => request.result(&completed("other", "not yours")),
    })
    .await;
    let done = done.exits(1);
    assert!(done.stderr.contains("it is about task \"other\" instead of \"t\""), "{done:?}");
}

#[tokio::test]
async fn an_agent_that_does_not_stream_and_never_answers_fails_the_step_at_its_timeout() {
    let (done, agent) = ask_polled(", timeout: 1s, retry: {attempts: 1}", |_| Answer::Never).await;
    let done = done.exits(1);
    assert!(done.stderr.contains("within the step's timeout of 1 s"), "{done:?}");
    assert_eq!(agent.received("SendMessage").len(), 1);
}

#[tokio::test]
async fn an_agent_that_answers_about_another_task_throughout_fails_the_step() {
    let (done, _agent) = ask(ONCE, |request| match request.method.as_str() {
        "SendStreamingMessage" => request.events(&[json!({"task": task("t", "WORKING")})]),
        "SubscribeToTask" => request.events(&[json!({"task": completed("other", "not yours")})]),
        "GetTask" => request.result(&completed("other", "not yours")),
        _ => request.error(-32001, "no such Task"),
    })
    .await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r#"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   working on Task t
    TIME ask   failed: GetTask failed: the answer of http://127.0.0.1:PORT/ is not usable: it is about task "other" instead of "t"; check that the address is an A2A interface, and tell its operator
    TIME ask   canceled
    TIME run   failed: step `ask` failed (attempt 1): GetTask failed: the answer of http://127.0.0.1:PORT/ is not usable: it is about task "other" instead of "t"; check that the address is an A2A interface, and tell its operator
    error: run ID failed: step `ask` failed (attempt 1): GetTask failed: the answer of http://127.0.0.1:PORT/ is not usable: it is about task "other" instead of "t"; check that the address is an A2A interface, and tell its operator
    "#);
    assert_eq!(done.stdout, "");
}

#[tokio::test]
async fn an_agent_that_never_answers_fails_the_step_at_its_timeout() {
    let (done, agent) = ask(", timeout: 1s, retry: {attempts: 1}", |_| Answer::Never).await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   failed: agent `it` did not finish within the step's timeout of 1 s
    TIME run   failed: step `ask` failed (attempt 1): agent `it` did not finish within the step's timeout of 1 s
    error: run ID failed: step `ask` failed (attempt 1): agent `it` did not finish within the step's timeout of 1 s
    ");
    assert_eq!(agent.received("SendStreamingMessage").len(), 1);
}

#[tokio::test]
async fn a_task_that_never_ends_is_canceled_at_the_timeout_of_its_step() {
    let (done, agent) =
        ask(", timeout: 1s, retry: {attempts: 1}", |request| match request.method.as_str() {
            "SendStreamingMessage" => {
                request.events_then_silence(&[json!({"task": task("t", "WORKING")})])
            }
            "CancelTask" => request.result(&task("t", "CANCELED")),
            _ => request.error(-32601, "not here"),
        })
        .await;
    assert_eq!(agent.received("CancelTask")[0].params["id"], "t");
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   working on Task t
    TIME ask   failed: agent `it` did not finish within the step's timeout of 1 s
    TIME ask   canceled
    TIME run   failed: step `ask` failed (attempt 1): agent `it` did not finish within the step's timeout of 1 s
    error: run ID failed: step `ask` failed (attempt 1): agent `it` did not finish within the step's timeout of 1 s
    ");
}

#[tokio::test]
async fn an_agent_that_asks_a_question_fails_the_step_with_its_question() {
    let (done, _agent) = ask(ONCE, |request| match request.method.as_str() {
        "SendStreamingMessage" => {
            let mut asking = task("t", "INPUT_REQUIRED");
            asking["status"]["message"] = json!({
                "messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Window or aisle?"}],
            });
            request.events(&[json!({"task": asking})])
        }
        "CancelTask" => request.result(&task("t", "CANCELED")),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @r"
    exit 1
    TIME run   ID of one-step
    TIME ask   sent to it
    TIME ask   working on Task t
    TIME ask   failed: the agent asks for input, and a run cannot pass questions on yet: Window or aisle?
    TIME ask   canceled
    TIME run   failed: step `ask` failed (attempt 1): the agent asks for input, and a run cannot pass questions on yet: Window or aisle?
    error: run ID failed: step `ask` failed (attempt 1): the agent asks for input, and a run cannot pass questions on yet: Window or aisle?
    ");
}
