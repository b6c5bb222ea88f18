//! Agents that ask, people who answer, and what happens in between.

use std::time::Duration;

use examples::{Kind, Options, Running};
use executor::{
    ExecutorError, Limits, Recorded, ReplyError, RunId, RunState,
    run::{PauseKind, RunEvent, StepId},
};
use planner::StepState;
use protocol::{
    card::Binding,
    limits::ClientLimits,
    v1::{Message, Part, TaskState},
};

use crate::{
    agent::{Asked, Reply, Scripted, done, task},
    scene::{Scene, confirmations, example, is_completed, state, workflow},
};

const ONE: &str = "steps:\n  a: {agent: x, message: hi}\n";
const TWO: &str = "steps:\n  a: {agent: x, message: one}\n  b: {agent: x, message: two}\n  \
                   c: {agent: y, message: three}\n  d: {agent: y, message: four, needs: [a, b]}\n";

async fn asking(turns: u32, streaming: bool) -> Running {
    example(Kind::Asks, Options { turns, streaming, ..Options::default() }).await
}

fn said(text: &str) -> Message {
    Message::user(vec![Part::text(text)])
}

fn step(id: &str) -> Option<StepId> {
    Some(StepId::new(id))
}

/// Waits until so many pauses have been journaled.
async fn paused(scene: &Scene, id: &RunId, times: usize) -> Recorded {
    let seen = std::cell::Cell::new(0);
    scene
        .until(id, |event| {
            // Called over all events again after each that comes: counts from the first.
            if matches!(event, RunEvent::RunStarted { .. }) {
                seen.set(0);
            }
            if matches!(event, RunEvent::AttemptPaused { .. }) {
                seen.set(seen.get() + 1);
            }
            seen.get() == times
        })
        .await
}

fn refusal(result: Result<StepId, ExecutorError>) -> ReplyError {
    match result {
        Err(ExecutorError::Reply(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn every_answer_reaches_the_task_that_asked() {
    for streaming in [true, false] {
        let agent = asking(2, streaming).await;
        let scene = Scene::new().await;
        let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
        let first = paused(&scene, &id, 1).await;
        assert_eq!(state(&first, "a"), StepState::Paused);
        assert_eq!(RunState::of(&first.run), RunState::InputRequired);
        assert_eq!(first.run.task_state(), TaskState::InputRequired);
        let questions: Vec<_> = first.run.pauses().map(|(_, pause)| pause.text()).collect();
        assert_eq!(questions, [Some("What should it say?".to_owned())]);
        scene.executor.reply(&id, None, said("water")).await.unwrap();
        paused(&scene, &id, 2).await;
        scene.executor.reply(&id, step("a"), said("wine")).await.unwrap();
        let run = scene.ended(&id).await;
        assert!(is_completed(&run), "{streaming}");
        assert_eq!(scene.output(&run).await, "hi [water | wine]");
        let calls = agent.calls.all();
        let texts: Vec<&str> = calls.iter().map(|call| call.text.as_str()).collect();
        assert_eq!(texts, ["hi", "water", "wine"]);
        assert!(calls[1..].iter().all(|call| !call.task_id.is_empty()));
    }
}

#[tokio::test]
async fn two_steps_pause_at_once_and_their_answers_come_in_any_order() {
    let (asks, echo) = (asking(1, true).await, example(Kind::Echo, Options::default()).await);
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &asks.url), ("y", &echo.url)], TWO)).await;
    paused(&scene, &id, 2).await;
    let other = |event: &RunEvent| matches!(event, RunEvent::StepCompleted { step, .. } if step.as_str() == "c");
    let both = scene.until(&id, other).await;
    assert_eq!(state(&both, "c"), StepState::Completed, "other branches go on");
    let open = vec![StepId::new("a"), StepId::new("b")];
    let reply = |step, text| scene.executor.reply(&id, step, said(text));
    assert_eq!(refusal(reply(None, "x").await), ReplyError::Ambiguous { open: open.clone() });
    let named = ReplyError::StepNotPaused { step: StepId::new("c"), open };
    assert_eq!(refusal(reply(step("c"), "x").await), named);
    assert_eq!(reply(step("b"), "for b").await.unwrap(), StepId::new("b"));
    assert_eq!(reply(step("a"), "for a").await.unwrap(), StepId::new("a"));
    let run = scene.ended(&id).await;
    let text = async |step| scene.result(&run, step).await.text().unwrap();
    assert_eq!(text("a").await, "one [for a]");
    assert_eq!(text("b").await, "two [for b]");
    assert!(is_completed(&run));
}

#[tokio::test]
async fn a_pause_outlives_its_process_and_each_answer_is_sent_once() {
    for streaming in [true, false] {
        let agent = asking(2, streaming).await;
        let scene = Scene::new().await;
        let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
        paused(&scene, &id, 1).await;
        let scene = scene.restarted().await;
        scene.executor.resume(&id).await.unwrap();
        scene.executor.reply(&id, None, said("water")).await.unwrap();
        // The answer is durable, and may or may not have been sent.
        let scene = scene.restarted().await;
        scene.executor.resume(&id).await.unwrap();
        paused(&scene, &id, 2).await;
        scene.executor.reply(&id, None, said("wine")).await.unwrap();
        let run = scene.ended(&id).await;
        assert_eq!(scene.output(&run).await, "hi [water | wine]", "{streaming}");
    }
}

#[tokio::test]
async fn an_agent_that_was_authorized_elsewhere_goes_on_by_itself() {
    for streaming in [true, false] {
        let gate = example(Kind::Gate, Options { streaming, ..Options::default() }).await;
        let scene = Scene::new().await;
        let id = scene.start(&workflow(&[("x", &gate.url)], ONE)).await;
        let waiting = paused(&scene, &id, 1).await;
        assert_eq!(waiting.run.pause_kind(), Some(PauseKind::Auth));
        assert_eq!(waiting.run.task_state(), TaskState::AuthRequired);
        let scene = scene.restarted().await;
        scene.executor.resume(&id).await.unwrap();
        let task = waiting.run.steps().next().and_then(|(_, step)| step.task.clone()).unwrap();
        let url = format!("{}/authorize/{}", gate.url, task.task_id);
        let outbound = crate::scene::outbound();
        let url = outbound.check(&url).unwrap();
        let request = outbound.request("POST".parse().unwrap(), &url).unwrap();
        assert_eq!(outbound.send(&url, request).await.unwrap().status(), 204);
        let run = scene.ended(&id).await;
        assert_eq!(scene.output(&run).await, "The vault is open.", "{streaming}");
        assert_eq!(gate.calls.count(), 1);
    }
}

#[tokio::test]
async fn a_run_that_is_canceled_while_it_waits_tells_the_agent() {
    let agent = asking(1, true).await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
    paused(&scene, &id, 1).await;
    scene.executor.cancel(&id).await.unwrap();
    let run = scene.ended(&id).await;
    assert_eq!(state(&run, "a"), StepState::Canceled);
    assert_eq!(confirmations(&run), [true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_at_once_one_is_taken_and_the_other_hears_so() {
    let agent = asking(1, true).await;
    let scene = Scene::new().await;
    for _ in 0..20 {
        let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
        paused(&scene, &id, 1).await;
        let reply = || scene.executor.reply(&id, None, said("water"));
        let both = async { tokio::join!(reply(), reply()) };
        let (one, other) = crate::scene::soon("both", both).await;
        let taken = [&one, &other].into_iter().filter(|reply| reply.is_ok()).count();
        assert_eq!(taken, 1, "{one:?} {other:?}");
        assert!(is_completed(&scene.ended(&id).await));
    }
}

#[tokio::test]
async fn what_waits_for_nothing_takes_no_answer() {
    let slow = example(Kind::Slow, Options::default()).await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &slow.url)], ONE)).await;
    let refused = refusal(scene.executor.reply(&id, None, said("x")).await);
    assert_eq!(refused, ReplyError::NotPaused);
    let recorded = scene.executor.runs().read(&id).await.unwrap();
    assert!(!recorded.events.iter().any(|event| matches!(event, RunEvent::AttemptAnswered { .. })));
}

#[tokio::test]
async fn an_answer_that_the_agent_refuses_fails_the_attempt_and_cancels_its_task() {
    let agent = Scripted::start(true, |asked, before| match asked {
        Asked::Send(_) if before == 0 => Reply::Task(task("t", TaskState::InputRequired)),
        Asked::Send(_) => {
            Reply::Error(protocol::error::Error::invalid_field("message", "is no answer"))
        }
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Task(task("t", TaskState::InputRequired)),
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
    paused(&scene, &id, 1).await;
    scene.executor.reply(&id, None, said("x")).await.unwrap();
    let run = scene.ended(&id).await;
    let failure = crate::scene::failure(&run);
    assert!(failure.contains("is no answer"), "{failure}");
    assert_eq!(agent.count("cancel"), 1);
}

#[tokio::test]
async fn an_answer_whose_stream_is_silent_is_looked_for_and_not_sent_again() {
    let quiet = Scripted::start(true, |asked, before| match (asked, before) {
        (Asked::Send(_), 0) => Reply::Task(task("t", TaskState::InputRequired)),
        (Asked::Send(_), _) => Reply::Open(Vec::new()),
        (Asked::Get(_), 0) => Reply::Task(task("t", TaskState::Working)),
        _ => Reply::Task(done("t", "ok")),
    })
    .await;
    let stream_idle = Duration::from_millis(100);
    let client = ClientLimits { stream_idle, ..ClientLimits::default() };
    let scene = Scene::with_limits(Limits { client, ..Limits::default() }).await;
    let id = scene.start_over(&[quiet.interface(Binding::Grpc)], true, "on_error: fail").await;
    paused(&scene, &id, 1).await;
    scene.executor.reply(&id, None, said("water")).await.unwrap();
    let run = scene.ended(&id).await;
    assert_eq!(scene.output(&run).await, "ok");
    assert_eq!(quiet.count("send"), 2, "{:?}", quiet.verbs());
}
