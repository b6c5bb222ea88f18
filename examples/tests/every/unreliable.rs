//! The ways in which flaky fails.

use examples::{CallOutcome, Failure, Kind, Options};
use protocol::{
    client::FailureClass,
    v1::{Message, Part, SendMessageRequest, TaskState},
};

use crate::asking::{Asked, artifact_text, start, text};

async fn flaky(failure: Failure, failures: u32) -> Asked {
    let options = Options { failure, failures, ..Options::default() };
    start(Kind::Flaky, options).await
}

fn outcomes(flaky: &Asked) -> Vec<CallOutcome> {
    let calls = flaky.agent.calls.all();
    calls.iter().map(|call| call.outcome).collect()
}

#[tokio::test]
async fn tasks_fail_as_often_as_set_for_each_text_on_its_own() {
    let flaky = flaky(Failure::Failed, 2).await;
    for words in ["one", "two"] {
        let mut states = Vec::new();
        for _ in 0..4 {
            states.push(flaky.task(text(words)).await.state());
        }
        use TaskState::{Completed, Failed};
        assert_eq!(states, [Failed, Failed, Completed, Completed], "{words}");
    }
}

#[tokio::test]
async fn an_unavailable_agent_refuses_and_then_takes_the_message() {
    let flaky = flaky(Failure::Unavailable, 1).await;
    let error = flaky.try_task(text("hello")).await.expect_err("refused");
    assert_eq!(error.class, FailureClass::Unavailable);
    let task = flaky.task(text("hello")).await;
    assert_eq!(artifact_text(&task, "echo"), "hello");
    use CallOutcome::{Accepted, Refused};
    assert_eq!(outcomes(&flaky), [Refused, Accepted]);
}

#[tokio::test]
async fn a_dropped_connection_leaves_no_task_behind() {
    let flaky = flaky(Failure::Drop, 1).await;
    let message = Message::user(vec![Part::text("hello")]);
    let error = flaky.try_task(message.clone()).await.expect_err("dropped");
    assert_eq!(error.class, FailureClass::Unavailable);
    let task = flaky.task(message).await;
    assert_eq!(artifact_text(&task, "echo"), "hello");
    use CallOutcome::{Accepted, Refused};
    assert_eq!(outcomes(&flaky), [Refused, Accepted]);
}

#[tokio::test]
async fn a_lost_answer_is_found_again_under_the_same_message_id() {
    let flaky = flaky(Failure::Lost, 1).await;
    let request: SendMessageRequest = Message::user(vec![Part::text("hello")]).into();
    let error = flaky.try_task(request.clone()).await.expect_err("lost");
    assert!(error.is_retryable(), "{error}");
    let task = flaky.task(request).await;
    assert_eq!(task.state(), TaskState::Completed);
    use CallOutcome::{Accepted, Repeated};
    assert_eq!(outcomes(&flaky), [Accepted, Repeated]);
}

#[tokio::test]
async fn without_failures_every_kind_works_at_once() {
    for failure in [Failure::Failed, Failure::Unavailable, Failure::Drop, Failure::Lost] {
        let flaky = flaky(failure, 0).await;
        assert_eq!(flaky.task(text("hello")).await.state(), TaskState::Completed);
    }
}
