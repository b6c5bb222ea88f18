//! Time that is up: of a step, bound or not, and of the run.

use examples::{Kind, Options};
use planner::{ErrorClass, StepState};
use protocol::v1::TaskState;

use crate::{
    agent::{Asked, Reply, Scripted, done, task},
    scene::{Scene, attempts, confirmations, example, failure, is_completed, state, workflow},
};

const ONCE: &str = "retry: {attempts: 1}";

#[tokio::test]
async fn a_step_that_is_out_of_time_cancels_its_remote_task() {
    let slow = Scripted::start(true, |asked, _| match asked {
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Open(vec![task("t", TaskState::Working).into()]),
    })
    .await;
    let rest = format!(
        "steps:\n  a: {{agent: x, message: hi, timeout: 300ms, on_error: continue, {ONCE}}}\n"
    );
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &slow.url)], &rest)).await;
    assert_eq!(slow.verbs(), ["send", "cancel"]);
    assert_eq!(confirmations(&run), [true]);
    let error = scene.result(&run, "a").await.error.expect("the step failed");
    assert_eq!(error.class, ErrorClass::Timeout);
    assert_eq!(error.message, "agent `x` did not finish within the step's timeout of 0.3 s");
}

#[tokio::test]
async fn a_step_whose_agent_never_answers_is_out_of_time_too_and_there_is_nothing_to_cancel() {
    for streaming in [true, false] {
        let mute = Scripted::start(streaming, |_, _| Reply::Silence).await;
        let rest = format!("steps:\n  a: {{agent: x, message: hi, timeout: 300ms, {ONCE}}}\n");
        let run = Scene::new().await.run(&workflow(&[("x", &mute.url)], &rest)).await;
        assert_eq!(mute.verbs(), ["send"]);
        let said = failure(&run);
        assert!(said.contains("300ms") || said.contains("0.3 s"), "{said}");
    }
}

#[tokio::test]
async fn an_agent_that_is_polled_and_works_for_ever_ends_at_the_timeout() {
    let busy = Scripted::start(false, |asked, _| match asked {
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Task(task("t", TaskState::Working)),
    })
    .await;
    let rest = format!("steps:\n  a: {{agent: x, message: hi, timeout: 1s, {ONCE}}}\n");
    let run = Scene::new().await.run(&workflow(&[("x", &busy.url)], &rest)).await;
    assert!(busy.count("get") >= 3, "{:?}", busy.verbs());
    assert_eq!(busy.count("send"), 1);
    assert_eq!(busy.count("cancel"), 1);
    assert!(failure(&run).contains("did not finish within the step's timeout of 1 s"));
}

#[tokio::test]
async fn a_step_that_is_out_of_time_is_tried_again_while_the_old_task_is_canceled() {
    let slow_once = Scripted::start(true, |asked, before| match (asked, before) {
        (Asked::Cancel(id), _) => Reply::Task(task(id, TaskState::Canceled)),
        (Asked::Send(_), 0) => Reply::Open(vec![task("t1", TaskState::Working).into()]),
        _ => Reply::Task(done("t2", "second")),
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: hi, timeout: 500ms, retry: {attempts: 2, backoff: {initial: 10ms}}}\n";
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &slow_once.url)], rest)).await;
    assert!(is_completed(&run));
    assert_eq!(attempts(&run, "a"), 2);
    assert_eq!(scene.output(&run).await, "second");
    assert_eq!(confirmations(&run), [true], "the run waits for the first Task's end");
}

#[tokio::test]
async fn a_run_that_is_out_of_time_fails_and_cancels_what_is_under_way() {
    let slow = example(Kind::Slow, Options::default()).await;
    let rest = "timeout: 700ms\nsteps:\n  a: {agent: x, message: 30s}\n  b: {agent: x, message: then, needs: [a]}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &slow.url)], rest)).await;
    assert_eq!(failure(&run), "the run did not finish within its timeout of 0.7 s");
    assert_eq!(state(&run, "a"), StepState::Canceled);
    assert_eq!(state(&run, "b"), StepState::Canceled);
    assert_eq!(confirmations(&run), [true]);
    assert_eq!(slow.calls.count(), 1);
}

#[tokio::test]
async fn a_deadline_covers_a_step_with_all_its_attempts() {
    let slow = Scripted::start(true, |asked, _| match asked {
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Open(vec![task("t", TaskState::Working).into()]),
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: hi, deadline: 300ms, retry: {attempts: 9, backoff: {initial: 1ms}}}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &slow.url)], rest)).await;
    assert_eq!(slow.verbs(), ["send", "cancel"], "an attempt that is late is the last");
    let said = failure(&run);
    assert!(said.ends_with("did not finish within the step's deadline of 0.3 s"), "{said}");
}

#[tokio::test]
async fn a_deadline_does_not_wait_for_the_next_attempt() {
    let options =
        Options { failures: 9, failure: examples::Failure::Unavailable, ..Options::default() };
    let flaky = example(Kind::Flaky, options).await;
    let rest = "steps:\n  a: {agent: x, message: hi, deadline: 300ms, on_error: continue, retry: {attempts: 9, backoff: {initial: 1h, max: 1h, jitter: none}}}\n";
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &flaky.url)], rest)).await;
    let error = scene.result(&run, "a").await.error.expect("the step failed");
    assert_eq!((error.class, attempts(&run, "a")), (ErrorClass::Timeout, 1));
    insta::assert_snapshot!(error.message, @"the step was not done within its deadline of 0.3 s, and no attempt was under way");
}
