//! Messages that an agent must not get twice.

use axum::{Router, http::StatusCode, routing};
use executor::{
    Decision, ExecutorError, Recorded, ReplyError, RunId,
    run::{PauseKind, RunEvent},
};
use protocol::{
    card::Binding,
    error::{Error, ErrorKind},
    v1::{Message, Part, TaskState},
};

use crate::{
    agent::{Asked, Reply, Scripted, done, raw, task},
    scene::{Scene, at, attempts, failure, is_completed, workflow},
};

const CAREFUL: &str =
    "steps:\n  a: {agent: x, message: hi, effect: at_most_once, timeout: 300ms}\n";

/// An agent that never answers the first Message, and has made a Task of it all the same.
async fn silent_once() -> Scripted {
    Scripted::start(true, |asked, before| match (asked, before) {
        (Asked::Send(_), 0) => Reply::Silence,
        (Asked::Send(_) | Asked::Subscribe(_) | Asked::Get(_), _) => Reply::Task(done("t", "done")),
        (Asked::Cancel(_), _) => Reply::Silence,
    })
    .await
}

async fn in_doubt(scene: &Scene, id: &RunId) -> Recorded {
    scene.until(id, |event| matches!(event, RunEvent::OutcomeUnknown { .. })).await
}

async fn decide(scene: &Scene, id: &RunId, part: Part) -> Result<(), ExecutorError> {
    scene.executor.reply(id, None, Message::user(vec![part])).await.map(|_| ())
}

#[tokio::test]
async fn a_step_whose_message_may_have_been_received_asks_what_to_do() {
    let agent = silent_once().await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], CAREFUL)).await;
    let waiting = in_doubt(&scene, &id).await;
    let (step, pause) = waiting.run.pauses().next().expect("it waits");
    assert_eq!((step.as_str(), pause.kind), ("a", PauseKind::Outcome));
    insta::assert_snapshot!(pause.text().expect("what it asks"), @"it is not known whether agent `x` has received the Message: agent `x` did not finish within the step's timeout of 0.3 s; answer `resend` to send it once more, `failed` to have the attempt fail, or `task ID` to follow a Task that the agent has made of it");
    let unclear = decide(&scene, &id, Part::text("yes, please")).await;
    assert!(matches!(unclear, Err(ExecutorError::Reply(ReplyError::Undecided { .. }))));
    assert_eq!(agent.count("send"), 1, "nothing is sent unasked");
    decide(&scene, &id, Decision::Resend.part()).await.expect("it is taken");
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    assert_eq!(attempts(&run, "a"), 1);
    let ids: Vec<String> = agent.sent().into_iter().map(|message| message.message_id).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1], "it is the same Message");
}

#[tokio::test]
async fn an_attempt_that_is_said_to_have_failed_has() {
    let agent = silent_once().await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], CAREFUL)).await;
    in_doubt(&scene, &id).await;
    decide(&scene, &id, Part::text("failed")).await.expect("it is taken");
    let run = scene.ended(&id).await;
    insta::assert_snapshot!(failure(&run), @"step `a` failed (attempt 1): nobody knew what became of the Message, and somebody said that it has failed");
    assert_eq!(agent.count("send"), 1);
}

#[tokio::test]
async fn what_is_said_to_have_failed_is_tried_again_where_the_file_says_so() {
    let agent = silent_once().await;
    let rest = "steps:\n  a: {agent: x, message: hi, effect: at_most_once, timeout: 300ms, retry: {on: [outcome_unknown], backoff: {initial: 1ms}}}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    in_doubt(&scene, &id).await;
    decide(&scene, &id, Decision::Failed.part()).await.expect("it is taken");
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    assert_eq!((attempts(&run, "a"), agent.count("send")), (2, 2));
}

#[tokio::test]
async fn a_task_that_somebody_names_is_followed() {
    let agent = silent_once().await;
    let rest = format!(
        "{CAREFUL}outputs: {{all: {{value: \"${{{{ steps.a.text }}}} of ${{{{ steps.a.task.id }}}}\"}}}}\n"
    );
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], &rest)).await;
    in_doubt(&scene, &id).await;
    decide(&scene, &id, Decision::Task("t".to_owned()).part()).await.expect("it is taken");
    let run = scene.ended(&id).await;
    assert_eq!(scene.output(&run).await, "done of t");
    assert_eq!(agent.count("send"), 1);
}

#[tokio::test]
async fn after_a_restart_nothing_is_sent_again_unasked() {
    let agent = silent_once().await;
    let rest = "steps:\n  a: {agent: x, message: hi, effect: at_most_once}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    crate::scene::soon("the Message", async {
        while agent.count("send") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("it goes on");
    in_doubt(&scene, &id).await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("it goes on");
    decide(&scene, &id, Decision::Task("t".to_owned()).part()).await.expect("it is taken");
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    assert_eq!(agent.count("send"), 1);
}

#[tokio::test]
async fn what_nobody_says_within_the_longest_pause_fails_and_is_not_tried_again() {
    let agent = silent_once().await;
    let rest = "steps:\n  a: {agent: x, message: hi, effect: at_most_once, timeout: 300ms, pause_timeout: 200ms, retry: {on: [outcome_unknown]}}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    in_doubt(&scene, &id).await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("it goes on");
    let run = scene.ended(&id).await;
    insta::assert_snapshot!(failure(&run), @"step `a` failed (attempt 1): nobody knew what became of the Message, and nobody said so within its `pause_timeout` of 200ms");
    assert_eq!(agent.count("send"), 1);
}

#[tokio::test]
async fn a_run_that_is_canceled_in_doubt_sends_nothing() {
    let agent = silent_once().await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], CAREFUL)).await;
    in_doubt(&scene, &id).await;
    scene.executor.cancel(&id).await.expect("it is driven");
    scene.ended(&id).await;
    assert_eq!(agent.verbs(), ["send"]);
}

#[tokio::test]
async fn an_agent_that_has_certainly_not_got_it_is_tried_again() {
    let agent = Scripted::start(true, |_, before| match before {
        0 => Reply::Error(Error::new(ErrorKind::ResourceExhausted, "later")),
        _ => Reply::Task(done("t", "done")),
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: hi, effect: at_most_once, retry: {backoff: {initial: 1ms}}}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &agent.url)], rest)).await;
    assert!(is_completed(&run));
    assert_eq!(attempts(&run, "a"), 2);
}

#[tokio::test]
async fn a_task_that_failed_is_not_tried_again() {
    let agent = Scripted::start(true, |_, _| {
        Reply::Events(vec![
            task("t", TaskState::Working).into(),
            crate::agent::enters("t", TaskState::Failed, "no luck"),
        ])
    })
    .await;
    let retry = "retry: {on: [failed], backoff: {initial: 1ms}}";
    let rest = format!("steps:\n  a: {{agent: x, message: hi, effect: at_most_once, {retry}}}\n");
    let run = Scene::new().await.run(&workflow(&[("x", &agent.url)], &rest)).await;
    assert_eq!(failure(&run), "step `a` failed (attempt 1): the agent's Task failed: no luck");
}

#[tokio::test]
async fn only_what_does_no_harm_twice_goes_on_to_another_interface_when_it_may_have_arrived() {
    let busy = Router::new().route("/", routing::post(async || StatusCode::SERVICE_UNAVAILABLE));
    let (busy, agent) =
        (raw(busy).await, Scripted::start(true, |_, _| Reply::Task(done("t", "ok"))).await);
    let interfaces = [at(Binding::JsonRpc, &busy), agent.interface(Binding::JsonRpc)];
    for (effect, served) in
        [("at_least_once", false), ("at_most_once", false), ("idempotent", true)]
    {
        let scene = Scene::new().await;
        let policies = format!("effect: {effect}, retry: {{attempts: 1}}");
        let id = scene.start_over(&interfaces, true, &policies).await;
        let is_over = |event: &RunEvent| {
            matches!(event, RunEvent::RunFinished { .. } | RunEvent::OutcomeUnknown { .. })
        };
        let run = scene.until(&id, is_over).await;
        assert_eq!(is_completed(&run), served, "{effect}");
    }
    assert_eq!(agent.count("send"), 1);
}
