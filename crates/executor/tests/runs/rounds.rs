//! Steps whose agent is asked again until its answer is good enough.

use examples::{Failure, Kind, Options};
use executor::run::{NextRound, RunEvent};
use planner::{ErrorClass, StepState};
use protocol::v1::Artifact;

use crate::{
    agent::{Asked, CONTEXT, Reply, Scripted, done, task},
    scene::{Scene, attempts, example, failure, is_completed, state, workflow},
};

/// An agent that makes a draft of each Message, each in a Task of its own.
async fn drafts() -> Scripted {
    Scripted::start(true, |asked, before| match asked {
        Asked::Send(_) => {
            let mut task = done(&format!("t{before}"), &format!("draft {before}"));
            if before == 0 {
                task.artifacts.push(Artifact::new(
                    "notes",
                    "notes",
                    vec![protocol::v1::Part::text("once")],
                ));
            }
            Reply::Task(task)
        }
        _ => Reply::Silence,
    })
    .await
}

const REFINED: &str = "steps:\n  a:\n    agent: x\n    message: \"${{ ('Refine ' ~ this.text) if this is defined else 'Write' }}\"\n    repeat: {until: \"'2' in this.text\", max: 5}\n  b: {agent: x, message: \"${{ steps.a.text }} of ${{ steps.a.artifacts['answer'].versions | map(attribute='text') | join(', ') }}; ${{ steps.a.artifacts['notes'].text }}\"}\n";

#[tokio::test]
async fn an_agent_is_asked_again_about_its_answer_until_it_is_good_enough() {
    let agent = drafts().await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], REFINED)).await;
    assert!(is_completed(&run));
    let sent = agent.sent();
    let texts: Vec<String> = sent.iter().map(protocol::v1::Message::text).collect();
    assert_eq!(
        texts,
        [
            "Write",
            "Refine draft 0\nonce",
            "Refine draft 1",
            "draft 2 of draft 0, draft 1, draft 2; once"
        ]
    );
    assert!(sent[0].reference_task_ids.is_empty());
    assert_eq!(sent[1].reference_task_ids, ["t0"]);
    assert_eq!(sent[2].reference_task_ids, ["t1"]);
    assert_eq!(sent[3].reference_task_ids, ["t2"], "the last round is what the step has made");
    assert_eq!((sent[1].context_id.as_str(), sent[2].context_id.as_str()), (CONTEXT, CONTEXT));
    assert!(sent.iter().all(|message| message.task_id.is_empty()));
    let rounds = run.events.iter().filter_map(|event| match event {
        RunEvent::RoundEnded { round, next: NextRound::Again, .. } => Some(*round),
        _ => None,
    });
    assert_eq!(rounds.collect::<Vec<_>>(), [1, 2]);
    let result = scene.result(&run, "a").await;
    let earlier: Vec<_> = result.earlier.iter().map(|it| (it.round, it.artifact.text())).collect();
    assert_eq!(
        earlier,
        [(1, "draft 0".to_owned()), (1, "once".to_owned()), (2, "draft 1".to_owned())]
    );
}

#[tokio::test]
async fn a_step_of_which_no_round_is_good_enough_fails_and_keeps_what_came_last() {
    let agent = drafts().await;
    let rest = "steps:\n  a: {agent: x, message: Write, repeat: {until: this.text == 'no', max: 2}, retry: {attempts: 5}, on_error: continue}\n  b: {agent: x, message: \"${{ steps.a.error.class }}: ${{ steps.a.text }}\", needs: [a]}\n";
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], rest)).await;
    assert!(is_completed(&run));
    assert_eq!((state(&run, "a"), attempts(&run, "a")), (StepState::Failed, 2));
    assert_eq!(
        agent.sent().last().map(protocol::v1::Message::text).as_deref(),
        Some("not_converged: draft 1")
    );
    let error = scene.result(&run, "a").await.error.expect("why it failed");
    assert_eq!(error.class, ErrorClass::NotConverged);
    insta::assert_snapshot!(error.message, @"`until: this.text == 'no'` was false in all of 2 rounds");
}

#[tokio::test]
async fn attempts_are_counted_in_each_round() {
    let options = Options { failures: 1, failure: Failure::Unavailable, ..Options::default() };
    let flaky = example(Kind::Flaky, options).await;
    let rest = "steps:\n  a: {agent: x, message: \"${{ 'two' if this is defined else 'one' }}\", repeat: {until: \"'two' in this.text\", max: 2}, retry: {attempts: 2, backoff: {initial: 10ms, jitter: none}}}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &flaky.url)], rest)).await;
    assert!(is_completed(&run), "{:?}", run.run.outcome());
    assert_eq!(attempts(&run, "a"), 4, "one of each round failed");
}

#[tokio::test]
async fn the_first_round_has_none_before_it() {
    let agent = drafts().await;
    let rest = "steps:\n  a: {agent: x, message: \"More of ${{ this.text }}\", repeat: {until: true, max: 2}}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &agent.url)], rest)).await;
    insta::assert_snapshot!(failure(&run), @"step `a` failed: test.yaml:6:39: `this.text` is undefined (`this` is the answer of the round before: in the first there is none, so ask `if this is defined`)");
    assert!(agent.sent().is_empty());
}

#[tokio::test]
async fn an_until_that_is_neither_true_nor_false_fails_the_attempt() {
    let agent = drafts().await;
    let rest = "steps:\n  a: {agent: x, message: Write, repeat: {until: this.text, max: 2}}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &agent.url)], rest)).await;
    insta::assert_snapshot!(failure(&run), @r#"step `a` failed (attempt 1): test.yaml:6:49: `until` must give true or false, not "draft 0\nonce" (compare it, as in `this.data.score > 7`, or test it, as in `"done" in this.text`)"#);
    assert_eq!(agent.sent().len(), 1);
}

#[tokio::test]
async fn a_run_that_is_taken_up_between_rounds_repeats_none() {
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    let closed = std::sync::Arc::clone(&gate);
    let agent = Scripted::start(true, move |asked, before| match (asked, before) {
        (Asked::Send(_), 0) => Reply::Task(done("t0", "draft 0")),
        (Asked::Send(_), _) => {
            Reply::Open(vec![task("t1", protocol::v1::TaskState::Working).into()])
        }
        (Asked::Subscribe(_), _) => {
            Reply::Late(std::sync::Arc::clone(&closed), vec![done("t1", "draft 1").into()])
        }
        _ => Reply::Silence,
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: \"${{ this.text if this is defined else 'Write' }}\", repeat: {until: \"'1' in this.text\", max: 3}}\noutputs: {all: {value: \"${{ steps.a.artifacts['answer'].versions | map(attribute='text') | join(', ') }}\"}}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    scene.until(&id, |event| matches!(event, RunEvent::AttemptBound { .. })).await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("it goes on");
    gate.notify_one();
    let run = scene.ended(&id).await;
    assert_eq!(scene.output(&run).await, "draft 0, draft 1");
    assert_eq!(agent.count("send"), 2, "nothing is sent twice");
}
