//! When dependencies let a step run: `join`, `run_if`, `cancel_rest`.

use std::sync::Arc;

use executor::{
    Recorded,
    run::{RunEvent, SkipReason, StepId},
};
use planner::StepState;
use protocol::v1::{Message, TaskState};
use tokio::sync::Notify;

use crate::{
    agent::{Asked, Reply, Scripted, done, enters, task},
    scene::{Scene, confirmations, is_completed, state, workflow},
};

/// An agent that works on `slow` until the gate opens, fails at `bad`, and opens the gate at `open`.
async fn agent() -> Scripted {
    let gate = Arc::new(Notify::new());
    Scripted::start(true, move |asked, _| match asked {
        Asked::Send(message) => match message.text().as_str() {
            "bad" => Reply::Events(vec![
                task("bad", TaskState::Working).into(),
                enters("bad", TaskState::Failed, "no luck"),
            ]),
            text if text.starts_with("slow") => Reply::Late(
                Arc::clone(&gate),
                vec![task("slow", TaskState::Working).into(), done("slow", "late").into()],
            ),
            text => {
                if text.starts_with("open") {
                    gate.notify_one();
                }
                Reply::Task(done("quick", text))
            }
        },
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Silence,
    })
    .await
}

/// An agent whose `slow` never ends by itself.
async fn endless() -> Scripted {
    Scripted::start(true, |asked, _| match asked {
        Asked::Send(message) if message.text().starts_with("slow") => {
            Reply::Open(vec![task("slow", TaskState::Working).into()])
        }
        Asked::Send(message) => Reply::Task(done("quick", &message.text())),
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Silence,
    })
    .await
}

async fn run(agent: &Scripted, steps: &str) -> Recorded {
    let rest = format!("steps:\n{steps}");
    Scene::new().await.run(&workflow(&[("x", &agent.url)], &rest)).await
}

fn texts(agent: &Scripted) -> Vec<String> {
    agent.sent().iter().map(Message::text).collect()
}

/// Why a step was skipped.
fn reason(run: &Recorded, step: &str) -> Option<SkipReason> {
    run.run.at(run.run.find(&StepId::new(step))?).skip_reason().cloned()
}

#[tokio::test]
async fn a_step_runs_as_soon_as_one_of_its_dependencies_has_completed() {
    let agent = agent().await;
    let run = run(&agent, "  quick: {agent: x, message: quick}\n  slow: {agent: x, message: slow}\n  after: {agent: x, message: \"open ${{ steps.slow.state }}\", needs: [quick], join: any}\n").await;
    assert!(is_completed(&run), "else nobody opens the gate");
    assert_eq!(texts(&agent).last().map(String::as_str), Some("open running"));
    assert_eq!(state(&run, "slow"), StepState::Completed, "it went on");
}

#[tokio::test]
async fn a_number_of_dependencies_is_waited_for() {
    let agent = agent().await;
    let run = run(&agent, "  a: {agent: x, message: a}\n  b: {agent: x, message: b, needs: [a]}\n  slow: {agent: x, message: slow}\n  after: {agent: x, message: open, needs: [a, b, slow], join: 2}\n").await;
    assert!(is_completed(&run));
    let sent = texts(&agent);
    assert!(sent.iter().position(|it| it == "open") > sent.iter().position(|it| it == "b"));
}

#[tokio::test]
async fn a_number_that_can_no_longer_be_reached_skips_the_step_and_nothing_else() {
    let agent = agent().await;
    let run = run(&agent, "  a: {agent: x, message: a}\n  b: {agent: x, message: bad, on_error: continue}\n  c: {agent: x, message: never, when: 1 == 2}\n  two: {agent: x, message: two, needs: [a, b, c], join: 2}\n  after: {agent: x, message: after, needs: [two]}\n").await;
    assert!(is_completed(&run));
    assert_eq!(reason(&run, "two"), Some(SkipReason::Unreachable { completed: 1, needed: 2 }));
    assert_eq!(state(&run, "after"), StepState::Completed);
    let said = reason(&run, "two").map(|reason| reason.to_string());
    assert_eq!(said.as_deref(), Some("1 of its dependencies completed, 2 were needed"));
}

#[tokio::test]
async fn once_enough_have_completed_the_others_are_canceled() {
    let agent = endless().await;
    let run = run(&agent, "  quick: {agent: x, message: quick}\n  slow: {agent: x, message: slow}\n  later: {agent: x, message: later, needs: [slow]}\n  first: {agent: x, message: first, needs: [quick, slow, later], join: any, cancel_rest: true}\n  reads: {agent: x, message: reads, needs: [slow]}\n  sees: {agent: x, message: \"sees ${{ steps.slow.state }}\", run_if: settled}\n").await;
    assert!(is_completed(&run));
    assert_eq!(
        (state(&run, "slow"), state(&run, "later")),
        (StepState::Canceled, StepState::Canceled)
    );
    assert_eq!(confirmations(&run), [true], "the agent was told of the one that it had");
    let mut sent = texts(&agent);
    sent.sort();
    assert_eq!(sent, ["first", "quick", "sees canceled", "slow"]);
    let canceled = SkipReason::DependencyCanceled { step: StepId::new("slow") };
    assert_eq!(reason(&run, "reads"), Some(canceled));
    let told = run.events.iter().filter_map(|event| match event {
        RunEvent::StepCanceled { step, by, .. } => Some((step.as_str(), by.as_str())),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [("slow", "first"), ("later", "first")]);
}

#[tokio::test]
async fn the_items_of_a_step_that_is_not_needed_are_canceled() {
    let agent = endless().await;
    let run = run(&agent, "  quick: {agent: x, message: quick}\n  each: {agent: x, for_each: [a, b], concurrency: 1, message: \"slow ${{ item }}\"}\n  first: {agent: x, message: first, needs: [quick, each], join: any, cancel_rest: true}\n").await;
    assert!(is_completed(&run));
    for step in ["each", "each[0]", "each[1]"] {
        assert_eq!(state(&run, step), StepState::Canceled, "{step}");
    }
    assert!(!texts(&agent).contains(&"slow b".to_owned()));
}

#[tokio::test]
async fn a_step_may_run_however_its_dependencies_end() {
    for (run_if, expected) in [("succeeded", StepState::Skipped), ("settled", StepState::Completed)]
    {
        let agent = agent().await;
        let run = run(&agent, &format!("  bad: {{agent: x, message: bad, on_error: skip_dependents}}\n  after: {{agent: x, message: after, needs: [bad], run_if: {run_if}}}\n")).await;
        assert!(is_completed(&run));
        assert_eq!(state(&run, "after"), expected, "{run_if}");
    }
}

#[tokio::test]
async fn what_was_not_needed_has_no_result_and_the_error_says_so() {
    let agent = endless().await;
    let run = run(&agent, "  quick: {agent: x, message: quick}\n  slow: {agent: x, message: slow}\n  first: {agent: x, message: \"${{ steps.quick.text }} ${{ steps.slow.text }}\", join: any}\n").await;
    let said = crate::scene::failure(&run);
    assert!(
        said.contains(
            "`steps.slow.text` is undefined (step `slow` has not ended; say what to use then"
        ),
        "{said}"
    );
}
