//! Bursts: so many runs at once, a queue behind them, and Messages that come twice.

use std::{sync::Arc, time::Duration};

use examples::{Kind, Options, Running};
use executor::{
    ExecutorError, NewRun, Once, Recorded, ReplyError, RunId, RunLimits, RunState, Said,
    run::{Outcome, RunEvent},
};
use planner::Plan;
use protocol::v1::{Message, Part};

use crate::{
    failing_store::Fails,
    scene::{Scene, example, is_completed, new_run, plan, workflow},
    store_failures,
};

const HOUR: Duration = Duration::from_hours(1);

/// A scene that drives so many runs at once, and queues so many.
fn limited(scene: Scene, max_active: usize, queue: usize) -> Scene {
    let limits = RunLimits { max_active, queue };
    Scene { executor: scene.executor.with_run_limits(limits), ..scene }
}

/// A plan of one step that says this to the agent.
async fn saying(agent: &Running, text: &str) -> Arc<Plan> {
    let step = format!("steps:\n  a: {{agent: x, message: {text}}}\n");
    plan(&workflow(&[("x", &agent.url)], &step)).await
}

async fn slow() -> Running {
    example(Kind::Slow, Options::default()).await
}

async fn read(scene: &Scene, id: &RunId) -> Recorded {
    scene.executor.runs().read(id).await.expect("the run exists")
}

async fn standing(scene: &Scene, id: &RunId) -> RunState {
    RunState::of(&read(scene, id).await.run)
}

fn is_admitted(event: &RunEvent) -> bool {
    matches!(event, RunEvent::RunAdmitted { .. })
}

#[tokio::test]
async fn runs_wait_for_their_turn_and_what_does_not_fit_leaves_no_trace() {
    let agent = slow().await;
    let scene = limited(Scene::new().await, 1, 2);
    let start = async |text: &str| scene.executor.start(new_run(saying(&agent, text).await)).await;
    let first = start("60m").await.unwrap();
    let second = start("60m").await.unwrap();
    let third = start("1ms").await.unwrap();
    assert!(matches!(start("1ms").await, Err(ExecutorError::Busy)));
    assert_eq!(standing(&scene, &first).await, RunState::Working);
    for queued in [&second, &third] {
        let queued = read(&scene, queued).await;
        assert_eq!(RunState::of(&queued.run), RunState::Submitted);
        assert_eq!(queued.run.started_at(), None);
    }
    let submitted = executor::RunQuery {
        state: Some(RunState::Submitted),
        limit: 10,
        ..executor::RunQuery::default()
    };
    assert_eq!(scene.executor.runs().list(submitted).await.unwrap().total, 2);
    let all = executor::RunQuery { limit: 10, ..executor::RunQuery::default() };
    assert_eq!(scene.executor.runs().list(all).await.unwrap().total, 3);
    assert!(agent.calls.count() <= 1, "a queued run sends nothing");
    scene.executor.cancel(&first).await.unwrap();
    let second = scene.until(&second, is_admitted).await;
    assert_eq!(standing(&scene, &third).await, RunState::Submitted, "nobody overtakes");
    scene.executor.cancel(&second.id).await.unwrap();
    assert!(is_completed(&scene.ended(&third).await));
}

#[tokio::test]
async fn a_queued_run_can_be_canceled_and_is_never_begun() {
    let agent = slow().await;
    let scene = limited(Scene::new().await, 1, 1);
    let driven = scene.executor.start(new_run(saying(&agent, "60m").await)).await.unwrap();
    let queued = scene.executor.start(new_run(saying(&agent, "1ms").await)).await.unwrap();
    scene.executor.cancel(&queued).await.unwrap();
    let ended = scene.ended(&queued).await;
    assert!(matches!(ended.run.outcome(), Some(Outcome::Canceled)));
    assert!(!ended.events.iter().any(|it| matches!(it, RunEvent::AttemptStarted { .. })));
    let next = scene.executor.start(new_run(saying(&agent, "1ms").await)).await.unwrap();
    assert_eq!(standing(&scene, &next).await, RunState::Submitted, "its place is free");
    scene.executor.cancel(&driven).await.unwrap();
    assert!(is_completed(&scene.ended(&next).await));
}

#[tokio::test]
async fn a_run_that_waits_for_people_holds_nobody_up() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let scene = limited(Scene::new().await, 1, 1);
    let asking = scene.executor.start(new_run(saying(&agent, "hi").await)).await.unwrap();
    scene.until(&asking, |event| matches!(event, RunEvent::AttemptPaused { .. })).await;
    let next = scene.executor.start(new_run(saying(&agent, "ho").await)).await.unwrap();
    scene.until(&next, |event| matches!(event, RunEvent::AttemptPaused { .. })).await;
    let answer = Message::user(vec![Part::text("water")]);
    scene.executor.reply(&asking, None, answer).await.unwrap();
    assert!(is_completed(&scene.ended(&asking).await));
}

#[tokio::test]
async fn the_queue_goes_on_in_its_order_after_a_restart() {
    let agent = slow().await;
    let scene = limited(Scene::new().await, 1, 9);
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(scene.executor.start(new_run(saying(&agent, "60m").await)).await.unwrap());
    }
    let scene = limited(scene.restarted().await, 1, 9);
    let resumed = scene.executor.resume_all().await.unwrap();
    assert_eq!(resumed.len(), 4);
    for (at, id) in ids.iter().enumerate() {
        scene.until(id, |event| matches!(event, RunEvent::AttemptStarted { .. })).await;
        for later in &ids[at + 1..] {
            assert_eq!(standing(&scene, later).await, RunState::Submitted);
        }
        scene.executor.cancel(id).await.unwrap();
    }
}

#[tokio::test]
async fn a_queued_run_is_driven_by_whoever_resumes_it() {
    let agent = slow().await;
    let scene = limited(Scene::new().await, 1, 1);
    scene.executor.start(new_run(saying(&agent, "60m").await)).await.unwrap();
    let queued = scene.executor.start(new_run(saying(&agent, "1ms").await)).await.unwrap();
    let scene = scene.restarted().await;
    scene.executor.resume(&queued).await.unwrap();
    assert!(is_completed(&scene.ended(&queued).await));
}

#[tokio::test]
async fn the_time_of_a_run_counts_from_its_start_and_not_from_the_queue() {
    let agent = slow().await;
    let scene = limited(Scene::new().await, 1, 1);
    let first = scene.executor.start(new_run(saying(&agent, "60m").await)).await.unwrap();
    let yaml =
        workflow(&[("x", &agent.url)], "timeout: 1h\nsteps:\n  a: {agent: x, message: 1ms}\n");
    let queued = scene.executor.start(new_run(plan(&yaml).await)).await.unwrap();
    assert_eq!(read(&scene, &queued).await.run.deadline(), None);
    scene.executor.cancel(&first).await.unwrap();
    let run = scene.ended(&queued).await.run;
    assert_eq!(run.deadline(), run.started_at().map(|at| at + HOUR));
    assert!(run.started_at() > run.queued_at());
}

#[tokio::test]
async fn an_equal_message_starts_no_second_run() {
    let agent = slow().await;
    let scene = Scene::new().await;
    let plan = saying(&agent, "1ms").await;
    let once = || Once::of(&"message", HOUR).unwrap();
    let new = || NewRun { once: Some(once()), ..new_run(Arc::clone(&plan)) };
    let (one, other) = tokio::join!(scene.executor.start(new()), scene.executor.start(new()));
    let (started, refused) = match (one, other) {
        (Ok(id), Err(error)) | (Err(error), Ok(id)) => (id, error),
        both => panic!("one of them starts: {both:?}"),
    };
    assert!(refused.is_conflict(), "{refused}");
    let runs = scene.executor.runs();
    assert_eq!(runs.taken(&mut once()).await.unwrap(), Some(started.clone()));
    assert!(is_completed(&scene.ended(&started).await));
    let all = executor::RunQuery { limit: 10, ..executor::RunQuery::default() };
    assert_eq!(runs.list(all).await.unwrap().total, 1);
    assert_eq!(agent.calls.count(), 1);
}

#[tokio::test]
async fn an_equal_answer_is_not_delivered_to_the_next_question() {
    let agent = example(Kind::Asks, Options { turns: 2, ..Options::default() }).await;
    let scene = Scene::new().await;
    let id = scene.executor.start(new_run(saying(&agent, "hi").await)).await.unwrap();
    let is_paused = |event: &RunEvent| matches!(event, RunEvent::AttemptPaused { .. });
    scene.until(&id, is_paused).await;
    let answer = Message::user(vec![Part::text("water")]);
    let once = || Some(Once::of(&"answer", HOUR).unwrap());
    scene.executor.reply(&id, None, Said { once: once(), ..answer.clone().into() }).await.unwrap();
    let again =
        scene.executor.reply(&id, None, Said { once: once(), ..answer.clone().into() }).await;
    assert!(matches!(again, Err(ExecutorError::Reply(ReplyError::Repeated))), "{again:?}");
    let mut taken = once().unwrap();
    assert_eq!(scene.executor.runs().taken(&mut taken).await.unwrap(), Some(id.clone()));
    // Two questions, and the second one is still open.
    let asked = std::cell::Cell::new(0);
    scene
        .until(&id, |event| {
            asked.set(if matches!(event, RunEvent::RunStarted { .. }) { 0 } else { asked.get() });
            asked.set(asked.get() + usize::from(is_paused(event)));
            asked.get() == 2
        })
        .await;
    assert_eq!(standing(&scene, &id).await, RunState::InputRequired);
    let other = Some(Once::of(&"another answer", HOUR).unwrap());
    scene.executor.reply(&id, None, Said { once: other, ..answer.into() }).await.unwrap();
    assert_eq!(scene.output(&scene.ended(&id).await).await, "hi [water | water]");
}

#[tokio::test]
async fn outputs_come_in_a_form_that_the_client_accepts() {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new().await;
    let accepts = vec!["application/json".to_owned()];
    let new = NewRun { accepts, ..new_run(saying(&agent, "'7'").await) };
    let run = scene.ended(&scene.executor.start(new).await.unwrap()).await;
    let outputs = scene.executor.runs().outputs(&run).await.unwrap();
    assert_eq!(outputs[0].parts[0].as_data(), Some(&serde_json::json!(7)));
}

#[tokio::test]
async fn a_run_that_was_kept_unheard_is_found_by_the_message_that_comes_again() {
    let agent = slow().await;
    let (scene, _store) = store_failures::scene(0..1, Fails::Unheard).await;
    let once = || Once::of(&"message", HOUR).unwrap();
    let new = NewRun { once: Some(once()), ..new_run(saying(&agent, "1ms").await) };
    let unheard = scene.executor.start(new).await.unwrap_err();
    assert!(unheard.is_retryable(), "{unheard}");
    let id = scene.executor.runs().taken(&mut once()).await.unwrap().expect("it was kept");
    scene.executor.resume(&id).await.unwrap();
    assert!(is_completed(&scene.ended(&id).await));
}
