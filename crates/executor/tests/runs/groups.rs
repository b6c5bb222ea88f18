//! Runs that are counted by a key: so many at once, and what becomes of one more.

use std::sync::Arc;

use examples::{Kind, Options, Running};
use executor::{
    ExecutorError, NewRun, RunId, RunLimits, RunState,
    run::{Outcome, RunEvent},
};
use protocol::v1::{Message, Part};
use serde_json::{Map, json};

use crate::scene::{Scene, example, is_completed, plan, workflow};

async fn slow() -> Running {
    example(Kind::Slow, Options::default()).await
}

/// A run for a customer that says to the agent how long it shall take.
async fn of(agent: &Running, policy: &str, customer: &str, text: &str) -> NewRun {
    let rest = format!(
        "inputs: {{customer: {{type: string}}}}\n\
         concurrency: {{{policy}}}\n\
         steps:\n  a: {{agent: x, message: {text}}}\n"
    );
    let plan = plan(&workflow(&[("x", &agent.url)], &rest)).await;
    let inputs = Map::from_iter([("customer".to_owned(), json!(customer))]);
    NewRun::of(plan, inputs, Vec::new())
}

impl Scene {
    async fn begin(&self, new: NewRun) -> RunId {
        self.executor.start(new).await.expect("the run exists")
    }

    async fn standing(&self, id: &RunId) -> RunState {
        RunState::of(&self.executor.runs().read(id).await.expect("the run exists").run)
    }

    async fn is_canceled(&self, id: &RunId) -> bool {
        matches!(self.ended(id).await.run.outcome(), Some(Outcome::Canceled))
    }

    async fn cancel(&self, id: &RunId) {
        self.executor.cancel(id).await.expect("it is driven");
        assert!(self.is_canceled(id).await);
    }
}

fn is_admitted(event: &RunEvent) -> bool {
    matches!(event, RunEvent::RunAdmitted { .. })
}

#[tokio::test]
async fn runs_of_one_key_wait_for_each_other_and_for_no_other() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let policy = "key: inputs.customer";
    let first = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let second = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let third = scene.begin(of(&agent, policy, "anna", "1ms").await).await;
    let other = scene.begin(of(&agent, policy, "ben", "1ms").await).await;
    assert!(is_completed(&scene.ended(&other).await), "another key has its own room");
    for waiting in [&second, &third] {
        assert_eq!(scene.standing(waiting).await, RunState::Submitted);
    }
    scene.cancel(&first).await;
    scene.until(&second, is_admitted).await;
    assert_eq!(scene.standing(&third).await, RunState::Submitted, "one at a time");
    scene.cancel(&second).await;
    assert!(is_completed(&scene.ended(&third).await));
}

#[tokio::test]
async fn a_limit_lets_so_many_go_on_and_without_a_key_all_are_counted() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let mut ids = Vec::new();
    for customer in ["anna", "ben", "cara"] {
        ids.push(scene.begin(of(&agent, "limit: 2", customer, "60m").await).await);
    }
    let mut states = Vec::new();
    for id in &ids {
        states.push(scene.standing(id).await);
    }
    assert_eq!(states, [RunState::Working, RunState::Working, RunState::Submitted]);
    scene.cancel(&ids[1]).await;
    scene.until(&ids[2], is_admitted).await;
}

#[tokio::test]
async fn one_more_is_turned_away_and_leaves_no_trace() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let policy = "key: inputs.customer, on_conflict: reject";
    let first = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let refused = scene.executor.start(of(&agent, policy, "anna", "1ms").await).await;
    let error = refused.expect_err("there is one already");
    assert!(matches!(&error, ExecutorError::Crowded { key, limit: 1, .. } if key == "anna"));
    assert_eq!(
        error.to_string(),
        "workflow `test` takes 1 run at once for `anna`; try again when one has ended"
    );
    let all = executor::RunQuery { limit: 10, ..executor::RunQuery::default() };
    assert_eq!(scene.executor.runs().list(all).await.unwrap().total, 1);
    scene.cancel(&first).await;
    let next = scene.begin(of(&agent, policy, "anna", "1ms").await).await;
    assert!(is_completed(&scene.ended(&next).await));
}

#[tokio::test]
async fn the_oldest_makes_room_also_when_it_still_waits() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let policy = "key: inputs.customer, on_conflict: cancel_oldest";
    let first = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let second = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    assert!(scene.is_canceled(&first).await);
    scene.until(&second, is_admitted).await;
    let third = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let fourth = scene.begin(of(&agent, policy, "anna", "1ms").await).await;
    assert!(scene.is_canceled(&second).await);
    assert!(scene.is_canceled(&third).await);
    assert!(is_completed(&scene.ended(&fourth).await));
}

#[tokio::test]
async fn the_newest_is_canceled_before_it_has_begun() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let policy = "key: inputs.customer, on_conflict: cancel_newest";
    let first = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let second = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let ended = scene.ended(&second).await;
    assert!(matches!(ended.run.outcome(), Some(Outcome::Canceled)));
    assert!(!ended.events.iter().any(|it| matches!(it, RunEvent::AttemptStarted { .. })));
    assert_eq!(scene.standing(&first).await, RunState::Working);
}

#[tokio::test]
async fn a_paused_run_keeps_its_key() {
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let scene = Scene::new().await;
    let policy = "key: inputs.customer";
    let asking = scene.begin(of(&asks, policy, "anna", "hi").await).await;
    scene.until(&asking, |event| matches!(event, RunEvent::AttemptPaused { .. })).await;
    let next = scene.begin(of(&asks, policy, "anna", "ho").await).await;
    assert_eq!(scene.standing(&next).await, RunState::Submitted);
    let answer = Message::user(vec![Part::text("water")]);
    scene.executor.reply(&asking, None, answer).await.unwrap();
    assert!(is_completed(&scene.ended(&asking).await));
    scene.until(&next, is_admitted).await;
}

#[tokio::test]
async fn keys_are_kept_across_a_restart() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let policy = "key: inputs.customer";
    let mut ids = Vec::new();
    for text in ["60m", "60m", "1ms"] {
        ids.push(scene.begin(of(&agent, policy, "anna", text).await).await);
    }
    let scene = scene.restarted().await;
    assert_eq!(scene.executor.resume_all().await.unwrap().len(), 3);
    assert_eq!(scene.standing(&ids[1]).await, RunState::Submitted);
    let one_more = scene.begin(of(&agent, policy, "anna", "1ms").await).await;
    scene.cancel(&ids[0]).await;
    scene.until(&ids[1], is_admitted).await;
    assert_eq!(scene.standing(&one_more).await, RunState::Submitted);
    scene.cancel(&ids[1]).await;
    assert!(is_completed(&scene.ended(&ids[2]).await));
    assert!(is_completed(&scene.ended(&one_more).await));
}

#[tokio::test]
async fn keys_and_the_limit_of_the_process_both_hold() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let limits = RunLimits { max_active: 1, queue: 1 };
    let scene = Scene { executor: scene.executor.with_run_limits(limits), ..scene };
    let policy = "key: inputs.customer";
    let anna = scene.begin(of(&agent, policy, "anna", "60m").await).await;
    let ben = scene.begin(of(&agent, policy, "ben", "1ms").await).await;
    let full = scene.executor.start(of(&agent, policy, "anna", "1ms").await).await;
    assert!(matches!(full, Err(ExecutorError::Busy)), "who waits for a key is in the queue, too");
    scene.cancel(&anna).await;
    assert!(is_completed(&scene.ended(&ben).await));
}

#[tokio::test]
async fn a_key_that_cannot_be_evaluated_starts_nothing() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let new = of(&agent, "key: inputs.customer.name", "anna", "1ms").await;
    let refused = scene.executor.start(new).await.expect_err("a text has no name");
    assert!(matches!(refused, ExecutorError::Key(_)), "{refused}");
    let long = Arc::<str>::from("x".repeat(planner::MAX_KEY_BYTES + 1));
    let refused =
        scene.executor.start(of(&agent, "key: inputs.customer", &long, "1ms").await).await;
    assert!(refused.expect_err("it is too long").to_string().contains("the key has 1025 bytes"));
}
