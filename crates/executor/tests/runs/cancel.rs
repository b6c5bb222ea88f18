//! A run that is canceled tells every agent that works for it.

use std::{sync::Arc, time::Duration};

use executor::run::{Outcome, RunEvent};
use planner::StepState;
use protocol::{error::Error, v1::TaskState};
use tokio::sync::Notify;

use crate::{
    agent::{Asked, Reply, Scripted, done, task},
    scene::{Scene, confirmations, soon, state, workflow},
};

const ONE: &str =
    "steps:\n  a: {agent: x, message: hi}\n  b: {agent: x, message: then, needs: [a]}\n";

fn is_bound(event: &RunEvent) -> bool {
    matches!(event, RunEvent::AttemptBound { .. })
}

#[tokio::test]
async fn a_cancel_reaches_the_remote_task() {
    let slow = Scripted::start(true, |asked, _| match asked {
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Open(vec![task("t", TaskState::Working).into()]),
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &slow.url)], ONE)).await;
    scene.until(&id, is_bound).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    assert_eq!(scene.executor.finished(&id).await.expect("it ends"), Outcome::Canceled);
    let run = scene.ended(&id).await;
    assert_eq!(slow.verbs(), ["send", "cancel"]);
    assert_eq!(confirmations(&run), [true]);
    assert_eq!((state(&run, "a"), state(&run, "b")), (StepState::Canceled, StepState::Canceled));
    assert!(scene.executor.cancel(&id).await.is_err(), "a run that has ended is not driven");
}

#[tokio::test]
async fn a_cancel_waits_for_a_task_id_that_is_not_known_yet() {
    let gate = Arc::new(Notify::new());
    let (opened, received) = (Arc::clone(&gate), Arc::new(Notify::new()));
    let told = Arc::clone(&received);
    let late = Scripted::start(true, move |asked, _| match asked {
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => {
            told.notify_one();
            let answer = Reply::Open(vec![task("late", TaskState::Working).into()]);
            Reply::Later(Arc::clone(&gate), Box::new(answer))
        }
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &late.url)], ONE)).await;
    soon("the Message", received.notified()).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    scene.until(&id, |event| matches!(event, RunEvent::CancelRequested { .. })).await;
    opened.notify_one();
    let run = scene.ended(&id).await;
    assert_eq!(run.run.outcome(), Some(&Outcome::Canceled));
    assert_eq!(late.verbs(), ["send", "cancel"]);
    assert_eq!(confirmations(&run), [true]);
}

#[tokio::test]
async fn a_question_that_comes_after_the_cancel_names_the_task_to_cancel() {
    let gate = Arc::new(Notify::new());
    let (opened, received) = (Arc::clone(&gate), Arc::new(Notify::new()));
    let told = Arc::clone(&received);
    let asks = Scripted::start(false, move |asked, _| match asked {
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => {
            told.notify_one();
            let question = Reply::Task(task("late", TaskState::InputRequired));
            Reply::Later(Arc::clone(&gate), Box::new(question))
        }
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &asks.url)], ONE)).await;
    soon("the Message", received.notified()).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    scene.until(&id, |event| matches!(event, RunEvent::CancelRequested { .. })).await;
    opened.notify_one();
    let run = scene.ended(&id).await;
    assert_eq!(run.run.outcome(), Some(&Outcome::Canceled));
    assert_eq!(asks.verbs(), ["send", "cancel"]);
    assert_eq!(confirmations(&run), [true]);
}

#[tokio::test]
async fn an_answer_that_comes_after_the_cancel_changes_nothing() {
    let gate = Arc::new(Notify::new());
    let (opened, received) = (Arc::clone(&gate), Arc::new(Notify::new()));
    let told = Arc::clone(&received);
    let late = Scripted::start(true, move |_, _| {
        told.notify_one();
        Reply::Later(Arc::clone(&gate), Box::new(Reply::Task(done("late", "too late"))))
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &late.url)], ONE)).await;
    soon("the Message", received.notified()).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    scene.until(&id, |event| matches!(event, RunEvent::CancelRequested { .. })).await;
    opened.notify_one();
    let run = scene.ended(&id).await;
    assert_eq!(run.run.outcome(), Some(&Outcome::Canceled));
    assert_eq!(late.verbs(), ["send"], "it is over: there is nothing to cancel");
    assert_eq!(state(&run, "a"), StepState::Canceled);
}

#[tokio::test]
async fn a_message_that_is_refused_for_its_context_is_not_sent_again_after_a_cancel() {
    let gate = Arc::new(Notify::new());
    let (opened, received) = (Arc::clone(&gate), Arc::new(Notify::new()));
    let told = Arc::clone(&received);
    let picky = Scripted::start(true, move |_, _| {
        told.notify_one();
        let error = Error::invalid_field("message.contextId", "is unknown");
        Reply::Later(Arc::clone(&gate), Box::new(Reply::Error(error)))
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &picky.url)], ONE)).await;
    soon("the Message", received.notified()).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    scene.until(&id, |event| matches!(event, RunEvent::CancelRequested { .. })).await;
    opened.notify_one();
    let run = scene.ended(&id).await;
    assert_eq!(run.run.outcome(), Some(&Outcome::Canceled));
    assert_eq!(picky.verbs(), ["send"]);
}

#[tokio::test]
async fn an_agent_that_never_confirms_holds_the_run_for_its_grace_only() {
    let stubborn = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => Reply::Open(vec![task("t", TaskState::Working).into()]),
        Asked::Cancel(id) | Asked::Get(id) | Asked::Subscribe(id) => {
            Reply::Task(task(id, TaskState::Working))
        }
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &stubborn.url)], ONE)).await;
    scene.until(&id, is_bound).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    let run = scene.ended(&id).await;
    assert_eq!(run.run.outcome(), Some(&Outcome::Canceled));
    assert_eq!(confirmations(&run), [false]);
    let asked = run.events.iter().find_map(|event| match event {
        RunEvent::CancelRequested { at } => Some(*at),
        _ => None,
    });
    let took = asked.zip(run.run.finished_at()).map(|(from, to)| to.duration_since(from));
    let took = Duration::try_from(took.expect("both are there")).expect("time goes forward");
    assert!(took >= executor::run::CANCEL_GRACE, "{took:?}");
    assert!(took < executor::run::CANCEL_GRACE + Duration::from_secs(5), "{took:?}");
    assert!(stubborn.count("get") > 3, "it is asked whether it has ended");
}

#[tokio::test]
async fn an_agent_that_never_answers_holds_a_canceled_run_for_its_grace_only() {
    let received = Arc::new(Notify::new());
    let told = Arc::clone(&received);
    let mute = Scripted::start(true, move |_, _| {
        told.notify_one();
        Reply::Silence
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &mute.url)], ONE)).await;
    soon("the Message", received.notified()).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    let run = scene.ended(&id).await;
    assert_eq!(run.run.outcome(), Some(&Outcome::Canceled));
    assert_eq!(confirmations(&run), [false]);
}

#[tokio::test]
async fn an_agent_that_cannot_cancel_is_believed() {
    let slow = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => Reply::Open(vec![task("t", TaskState::Working).into()]),
        Asked::Cancel(id) => Reply::Error(Error::task_not_cancelable(id, "TASK_STATE_WORKING")),
        Asked::Get(id) | Asked::Subscribe(id) => Reply::Task(task(id, TaskState::Working)),
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &slow.url)], ONE)).await;
    scene.until(&id, is_bound).await;
    scene.executor.cancel(&id).await.expect("the run is driven here");
    let run = scene.ended(&id).await;
    assert_eq!(slow.verbs(), ["send", "cancel", "get"]);
    assert_eq!(confirmations(&run), [false]);
}

#[tokio::test]
async fn an_agent_that_does_not_know_the_task_is_believed_the_third_time() {
    for (knows_it_later, expected) in [(true, 2), (false, 3)] {
        let restarting = Scripted::start(true, move |asked, before| match asked {
            Asked::Send(_) => Reply::Open(vec![task("t", TaskState::Working).into()]),
            Asked::Cancel(id) if knows_it_later && before > 0 => {
                Reply::Task(task(id, TaskState::Canceled))
            }
            Asked::Cancel(id) | Asked::Get(id) | Asked::Subscribe(id) => {
                Reply::Error(Error::task_not_found(id))
            }
        })
        .await;
        let scene = Scene::new().await;
        let id = scene.start(&workflow(&[("x", &restarting.url)], ONE)).await;
        scene.until(&id, is_bound).await;
        scene.executor.cancel(&id).await.expect("the run is driven here");
        let run = scene.ended(&id).await;
        assert_eq!(restarting.count("cancel"), expected);
        assert_eq!(confirmations(&run), [true]);
    }
}
