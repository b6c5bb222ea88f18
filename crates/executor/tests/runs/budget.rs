//! How many calls a run may make.

use examples::{Kind, Options};
use executor::{
    ExecutorError, ReplyError,
    run::{Outcome, RunEvent},
};
use protocol::v1::{Message, Part};

use crate::scene::{Scene, example, is_completed, workflow};

#[tokio::test]
async fn the_call_beyond_the_budget_fails_the_run_and_is_not_made() {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new().await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n  b: {agent: x, message: ho, needs: [a]}\n";
    let with = |calls: u32| {
        workflow(&[("x", &agent.url)], &format!("budget: {{calls: {calls}}}\n{steps}"))
    };
    assert!(is_completed(&scene.run(&with(2)).await));
    let before = agent.calls.count();
    let ended = scene.run(&with(1)).await;
    assert_eq!(agent.calls.count() - before, 1);
    let Some(Outcome::Failed(error)) = ended.run.outcome() else { panic!("it must fail") };
    assert_eq!(
        error.to_string(),
        "the run has made the 1 calls of its budget, and step `b` needs one more: \
         raise `budget.calls`, or have fewer attempts"
    );
}

#[tokio::test]
async fn attempts_that_are_repeated_count() {
    let agent = example(Kind::Flaky, Options { failures: 5, ..Options::default() }).await;
    let scene = Scene::new().await;
    let retry = "{attempts: 5, backoff: {initial: 1ms}, on: [failed, unavailable]}";
    let rest =
        format!("budget: {{calls: 3}}\nsteps:\n  a: {{agent: x, message: hi, retry: {retry}}}\n");
    let ended = scene.run(&workflow(&[("x", &agent.url)], &rest)).await;
    let started = ended.events.iter().filter(|it| matches!(it, RunEvent::AttemptStarted { .. }));
    assert_eq!(started.count(), 3);
    assert!(ended.events.iter().any(|it| matches!(it, RunEvent::BudgetSpent { .. })));
}

#[tokio::test]
async fn an_answer_is_a_call_as_well_and_what_waits_is_canceled() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let scene = Scene::new().await;
    let rest = "budget: {calls: 1}\nsteps:\n  a: {agent: x, message: hi}\n";
    let run = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    scene.until(&run, |event| matches!(event, RunEvent::AttemptPaused { .. })).await;
    let answer = Message::user(vec![Part::text("water")]);
    let refused = scene.executor.reply(&run, None, answer).await;
    assert!(matches!(refused, Err(ExecutorError::Reply(ReplyError::NotPaused))), "{refused:?}");
    let ended = scene.ended(&run).await;
    assert!(matches!(ended.run.outcome(), Some(Outcome::Failed(_))));
    assert!(ended.events.iter().any(|it| matches!(it, RunEvent::AttemptCanceled { .. })));
}

#[tokio::test]
async fn what_was_spent_before_a_restart_is_spent() {
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let scene = Scene::new().await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n  b: {agent: x, message: ho, needs: [a]}\n";
    let rest = format!("budget: {{calls: 2}}\n{steps}");
    let run = scene.start(&workflow(&[("x", &asks.url)], &rest)).await;
    scene.until(&run, |event| matches!(event, RunEvent::AttemptPaused { .. })).await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("the store works");
    let answer = Message::user(vec![Part::text("water")]);
    scene.executor.reply(&run, None, answer).await.expect("the second call");
    let ended = scene.ended(&run).await;
    assert_eq!(ended.run.calls(), 2);
    assert!(ended.events.iter().any(|it| matches!(it, RunEvent::BudgetSpent { .. })));
}
