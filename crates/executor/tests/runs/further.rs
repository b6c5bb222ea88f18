//! Steps that other agents are tried for when the first cannot do them.

use examples::{Failure, Kind, Options};
use executor::{
    Recorded,
    run::{Next, RunEvent, StepId},
};
use protocol::{
    error::{Error, ErrorKind},
    v1::TaskState,
};

use crate::{
    agent::{Asked, Reply, Scripted, done, task},
    scene::{Scene, attempts, example, failure, is_completed, workflow},
};

const ONCE: &str = "retry: {attempts: 1}";

/// An agent that makes a Task of each Message, named after its text.
async fn able() -> Scripted {
    Scripted::start(true, |asked, _| match asked {
        Asked::Send(message) => Reply::Task(done(&format!("of {}", message.text()), "done")),
        _ => Reply::Silence,
    })
    .await
}

/// An agent that answers every Message with an error.
async fn refusing(kind: ErrorKind) -> Scripted {
    Scripted::start(true, move |_, _| Reply::Error(Error::new(kind, "no"))).await
}

fn served_by(run: &Recorded, step: &str) -> String {
    let at = run.run.find(&StepId::new(step)).expect("the plan has the step");
    run.run.at(at).agent.clone().unwrap_or_default()
}

/// Which further agents were tried.
fn tried(run: &Recorded) -> Vec<u32> {
    let events = run.events.iter();
    let tried = events.filter_map(|event| match event {
        RunEvent::AttemptFailed { next: Next::FallBack { to }, .. } => Some(*to),
        _ => None,
    });
    tried.collect()
}

#[tokio::test]
async fn the_next_agent_is_tried_when_attempts_are_exhausted_and_has_attempts_of_its_own() {
    let flaky = |failures| {
        example(
            Kind::Flaky,
            Options { failures, failure: Failure::Unavailable, ..Options::default() },
        )
    };
    let (first, second) = (flaky(9).await, flaky(1).await);
    let rest = "steps:\n  a: {agent: x, fallback: [y], message: hi, retry: {attempts: 2, backoff: {initial: 10ms, jitter: none}}}\n";
    let run =
        Scene::new().await.run(&workflow(&[("x", &first.url), ("y", &second.url)], rest)).await;
    assert!(is_completed(&run));
    assert_eq!((first.calls.count(), second.calls.count()), (2, 2));
    assert_eq!(
        (attempts(&run, "a"), tried(&run), served_by(&run, "a")),
        (4, vec![1], "y".to_owned())
    );
    let calls = first.calls.all().into_iter().chain(second.calls.all());
    let ids: std::collections::BTreeSet<String> = calls.map(|call| call.message_id).collect();
    assert_eq!(ids.len(), 4, "each attempt is a Message of its own");
}

#[tokio::test]
async fn an_agent_that_rejects_or_wants_credentials_is_passed_over_at_once() {
    let rejecting = Scripted::start(true, |_, _| Reply::Task(task("t", TaskState::Rejected))).await;
    let closed = refusing(ErrorKind::Unauthenticated).await;
    let able = able().await;
    let agents = [("x", rejecting.url.as_str()), ("y", &closed.url), ("z", &able.url)];
    let rest = "steps:\n  a: {agent: x, fallback: [y, z], message: hi}\n";
    let run = Scene::new().await.run(&workflow(&agents, rest)).await;
    assert!(is_completed(&run), "{:?}", run.run.outcome());
    assert_eq!((tried(&run), served_by(&run, "a")), (vec![1, 2], "z".to_owned()));
    assert_eq!((rejecting.sent().len(), closed.sent().len(), able.sent().len()), (1, 1, 1));
}

#[tokio::test]
async fn nobody_else_is_tried_when_the_message_is_wrong_or_the_work_failed() {
    let invalid = refusing(ErrorKind::InvalidParams).await;
    let failing = Scripted::start(true, |_, _| Reply::Task(task("t", TaskState::Failed))).await;
    for first in [&invalid, &failing] {
        let able = able().await;
        let agents = [("x", first.url.as_str()), ("y", &able.url)];
        let rest = format!("steps:\n  a: {{agent: x, fallback: [y], message: hi, {ONCE}}}\n");
        let run = Scene::new().await.run(&workflow(&agents, &rest)).await;
        assert!(failure(&run).starts_with("step `a` failed (attempt 1)"));
        assert!(able.sent().is_empty());
    }
}

#[tokio::test]
async fn a_step_whose_agents_all_fail_fails_as_the_last_did() {
    let agents =
        [refusing(ErrorKind::Unauthenticated).await, refusing(ErrorKind::Unavailable).await];
    let urls = [("x", agents[0].url.as_str()), ("y", &agents[1].url)];
    let rest = format!("steps:\n  a: {{agent: x, fallback: [y], message: hi, {ONCE}}}\n");
    let run = Scene::new().await.run(&workflow(&urls, &rest)).await;
    let said = failure(&run);
    assert!(said.starts_with("step `a` failed (attempt 2)") && said.contains(urls[1].1), "{said}");
}

#[tokio::test]
async fn the_same_agent_and_references_are_those_of_whoever_served() {
    let (closed, able) = (refusing(ErrorKind::Unauthenticated).await, able().await);
    let urls = [("x", closed.url.as_str()), ("y", &able.url)];
    let rest = "steps:\n  a: {agent: x, fallback: [y], message: a}\n  b: {agent: {same_as: a}, message: b}\n  c: {agent: y, message: c, needs: [b]}\n  e: {agent: y, for_each: [e], message: '${{ item }}'}\n  f: {agent: {same_as: e}, message: f}\n";
    let run = Scene::new().await.run(&workflow(&urls, rest)).await;
    assert!(is_completed(&run), "{:?}", run.run.outcome());
    assert_eq!(closed.sent().len(), 1, "it is not asked for what follows");
    let sent = able.sent();
    let refers = |text: &str| {
        let message = sent.iter().find(|message| message.text() == text).expect("it was sent");
        message.reference_task_ids.clone()
    };
    assert!(refers("a").is_empty());
    assert_eq!(
        (refers("b"), refers("c"), refers("f")),
        (vec!["of a".to_owned()], vec!["of b".to_owned()], vec!["of e".to_owned()],)
    );
}

#[tokio::test]
async fn another_agent_begins_with_the_first_round() {
    let first = Scripted::start(true, |_, before| match before {
        0 => Reply::Task(done("t", "draft")),
        _ => Reply::Error(Error::new(ErrorKind::Unauthenticated, "no more")),
    })
    .await;
    let able = able().await;
    let urls = [("x", first.url.as_str()), ("y", &able.url)];
    let rest = "steps:\n  a: {agent: x, fallback: [y], message: \"${{ 'Refine' if this is defined else 'Write' }}\", repeat: {until: this.text == 'done', max: 2}}\n";
    let run = Scene::new().await.run(&workflow(&urls, rest)).await;
    assert!(is_completed(&run), "{:?}", run.run.outcome());
    let texts = |agent: &Scripted| -> Vec<String> {
        agent.sent().iter().map(protocol::v1::Message::text).collect()
    };
    assert_eq!(
        (texts(&first), texts(&able)),
        (vec!["Write".to_owned(), "Refine".to_owned()], vec!["Write".to_owned()],)
    );
    assert!(able.sent()[0].reference_task_ids.is_empty());
}

#[tokio::test]
async fn a_run_that_is_taken_up_again_goes_on_with_the_agent_it_had_come_to() {
    let closed = refusing(ErrorKind::Unauthenticated).await;
    let able = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => Reply::Open(vec![task("t", TaskState::Working).into()]),
        Asked::Subscribe(_) => Reply::Task(done("t", "done")),
        _ => Reply::Silence,
    })
    .await;
    let urls = [("x", closed.url.as_str()), ("y", &able.url)];
    let scene = Scene::new().await;
    let rest = "steps:\n  a: {agent: x, fallback: [y], message: hi}\n";
    let id = scene.start(&workflow(&urls, rest)).await;
    scene.until(&id, |event| matches!(event, RunEvent::AttemptBound { .. })).await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("it goes on");
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    assert_eq!((closed.sent().len(), able.sent().len()), (1, 1));
    assert_eq!(served_by(&run, "a"), "y");
}
