//! What a step's policies make of its failures: `retry`, `on_error`, `when`, `parallel`.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    http::{StatusCode, header},
    response::IntoResponse as _,
    routing,
};
use examples::{Failure, Kind, Options};
use executor::{
    Recorded,
    run::{Next, Outcome, RunEvent},
};
use planner::{ErrorClass, StepState};
use protocol::{
    error::{Error, ErrorKind},
    v1::TaskState,
};

use crate::{
    agent::{Asked, Reply, Scripted, done, enters, raw, task},
    scene::{
        Scene, attempts, confirmations, example, failure, is_completed, most_at_once, state,
        workflow,
    },
};

const QUICK: &str = "backoff: {initial: 10ms, jitter: none}";

#[tokio::test]
async fn a_step_is_tried_again_under_a_new_message_id_until_it_succeeds() {
    let options = Options { failures: 2, failure: Failure::Unavailable, ..Options::default() };
    let flaky = example(Kind::Flaky, options).await;
    let rest = format!("steps:\n  a: {{agent: x, message: hi, retry: {{attempts: 3, {QUICK}}}}}\n");
    let run = Scene::new().await.run(&workflow(&[("x", &flaky.url)], &rest)).await;
    assert!(is_completed(&run));
    assert_eq!(attempts(&run, "a"), 3);
    let mut ids: Vec<String> = flaky.calls.all().into_iter().map(|call| call.message_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "a retry is a Message of its own");
}

#[tokio::test]
async fn a_step_fails_with_its_last_error_when_its_attempts_are_exhausted() {
    let options = Options { failures: 5, failure: Failure::Unavailable, ..Options::default() };
    let flaky = example(Kind::Flaky, options).await;
    let rest = format!("steps:\n  a: {{agent: x, message: hi, retry: {{attempts: 2, {QUICK}}}}}\n");
    let run = Scene::new().await.run(&workflow(&[("x", &flaky.url)], &rest)).await;
    assert_eq!(flaky.calls.count(), 2);
    let said = failure(&run).replace(&flaky.url, "URL");
    insta::assert_snapshot!(said, @"step `a` failed (attempt 2): SendStreamingMessage failed: URL/ answered HTTP 503 Service Unavailable; try again later");
}

#[tokio::test]
async fn only_the_classes_that_a_step_names_are_tried_again() {
    for (on, expected) in [("[unavailable]", 1), ("[failed]", 2)] {
        let flaky = example(Kind::Flaky, Options { failures: 1, ..Options::default() }).await;
        let rest = format!(
            "steps:\n  a: {{agent: x, message: hi, on_error: continue, retry: {{attempts: 3, on: {on}, {QUICK}}}}}\n"
        );
        let run = Scene::new().await.run(&workflow(&[("x", &flaky.url)], &rest)).await;
        assert_eq!(attempts(&run, "a"), expected, "{on}");
    }
}

/// How long after its failure the first attempt's successor may start, in seconds.
fn pause(run: &Recorded) -> f64 {
    let found = run.events.iter().find_map(|event| match event {
        RunEvent::AttemptFailed { at, next: Next::Retry { at: until }, .. } => {
            Some(until.duration_since(*at).as_secs_f64())
        }
        _ => None,
    });
    found.expect("an attempt failed and is tried again")
}

#[tokio::test]
async fn a_back_off_is_at_least_what_the_agent_asks_for() {
    let asked = std::time::Duration::from_secs(1);
    let busy = Scripted::start(true, move |_, before| match before {
        0 => Reply::Error(Error::resource_exhausted("not now", Some(asked))),
        _ => Reply::Task(done("t", "ok")),
    })
    .await;
    let rest = format!("steps:\n  a: {{agent: x, message: hi, retry: {{{QUICK}}}}}\n");
    let run = Scene::new().await.run(&workflow(&[("x", &busy.url)], &rest)).await;
    assert!(is_completed(&run));
    assert!(pause(&run) >= 1.0, "{}", pause(&run));
    let took =
        run.run.finished_at().zip(run.run.started_at()).map(|(to, from)| to.duration_since(from));
    assert!(took.is_some_and(|took| took.as_secs_f64() >= 1.0), "{took:?}");
}

#[tokio::test]
async fn a_retry_after_header_counts_as_well() {
    let refusals = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refusals);
    let busy = async move || {
        counted.fetch_add(1, Ordering::SeqCst);
        (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "2")]).into_response()
    };
    let url = raw(Router::new().route("/", routing::post(busy))).await;
    let policies = format!("retry: {{attempts: 2, {QUICK}}}");
    let run = Scene::new().await.run_at(&url, true, &policies).await;
    assert_eq!(refusals.load(Ordering::SeqCst), 2);
    assert!((2.0..3.0).contains(&pause(&run)), "{}", pause(&run));
    let class = run.events.iter().find_map(|event| match event {
        RunEvent::AttemptFailed { error, .. } => Some(error.class),
        _ => None,
    });
    assert_eq!(class, Some(ErrorClass::RateLimited));
}

#[tokio::test]
async fn an_agent_that_cannot_be_reached_fails_its_step_once_the_attempts_are_used_up() {
    let gone = example(Kind::Echo, Options::default()).await;
    let url = gone.url.clone();
    let rest = format!("steps:\n  a: {{agent: x, message: hi, retry: {{attempts: 3, {QUICK}}}}}\n");
    let plan = crate::scene::plan(&workflow(&[("x", &url)], &rest)).await;
    gone.shutdown().await.expect("the agent stops");
    let scene = Scene::new().await;
    let id = scene.executor.start(crate::scene::new_run(plan)).await.expect("it starts");
    let run = scene.ended(&id).await;
    assert_eq!(attempts(&run, "a"), 3);
    let said = failure(&run).replace(&url, "URL");
    insta::assert_snapshot!(said, @"step `a` failed (attempt 3): SendStreamingMessage failed: URL/ cannot be reached: Connection refused (os error 111); is it running, and is the address right?; nor can URL/a2a (HTTP+JSON) and URL/ (GRPC) be reached");
}

/// One step fails while another is under way; a third waits for the failing one.
async fn with_on_error(on_error: &str) -> (Recorded, Scripted) {
    let slow = Scripted::start(true, |asked, _| match asked {
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ if on_error_of(asked) => Reply::Task(done("t2", "after")),
        _ => Reply::Open(vec![task("t1", TaskState::Working).into()]),
    })
    .await;
    let failing = Scripted::start(true, |_, _| {
        Reply::Events(vec![
            task("t3", TaskState::Working).into(),
            enters("t3", TaskState::Failed, "no luck"),
        ])
    })
    .await;
    let rest = format!(
        "timeout: 2s\nsteps:\n  slow: {{agent: slow, message: wait}}\n  bad: {{agent: bad, message: hi, on_error: {on_error}}}\n  next:\n    needs: [bad]\n    agent: slow\n    message: after ${{{{ steps.bad.error.message | default(\"nothing\") }}}}\n"
    );
    let yaml = workflow(&[("slow", &slow.url), ("bad", &failing.url)], &rest);
    (Scene::new().await.run(&yaml).await, slow)
}

fn on_error_of(asked: &Asked) -> bool {
    matches!(asked, Asked::Send(message) if message.text().starts_with("after"))
}

#[tokio::test]
async fn a_failure_fails_the_run_and_cancels_what_is_under_way() {
    let (run, slow) = with_on_error("fail").await;
    assert_eq!(failure(&run), "step `bad` failed (attempt 1): the agent's Task failed: no luck");
    assert_eq!(state(&run, "slow"), StepState::Canceled);
    assert_eq!(state(&run, "next"), StepState::Canceled);
    assert_eq!(slow.verbs(), ["send", "cancel"]);
    assert_eq!(confirmations(&run), [true]);
}

#[tokio::test]
async fn after_a_failure_that_is_continued_the_dependents_see_it() {
    let (run, slow) = with_on_error("continue").await;
    assert_eq!(state(&run, "bad"), StepState::Failed);
    assert_eq!(state(&run, "next"), StepState::Completed);
    assert_eq!(slow.sent()[1].text(), "after the agent's Task failed: no luck");
}

#[tokio::test]
async fn a_failure_can_skip_its_dependents_instead() {
    let (run, slow) = with_on_error("skip_dependents").await;
    assert_eq!(state(&run, "next"), StepState::Skipped);
    assert_eq!(slow.count("send"), 1);
    // What does not depend on it went on until the run's own timeout.
    assert_eq!(failure(&run), "the run did not finish within its timeout of 2 s");
    assert_eq!(state(&run, "slow"), StepState::Canceled);
}

#[tokio::test]
async fn a_condition_that_is_false_skips_the_step_and_nothing_else() {
    let echo = example(Kind::Echo, Options::default()).await;
    let rest = "steps:\n  a: {agent: x, message: hi}\n  b: {agent: x, message: never, when: steps.a.text == 'no'}\n  c: {agent: x, message: then, needs: [b], when: steps.a.text == 'hi'}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &echo.url)], rest)).await;
    assert!(is_completed(&run));
    assert_eq!(state(&run, "b"), StepState::Skipped);
    assert_eq!(state(&run, "c"), StepState::Completed);
    let texts: Vec<String> = echo.calls.all().into_iter().map(|call| call.text).collect();
    assert_eq!(texts, ["hi", "then"]);
    let reason = run.events.iter().find_map(|event| match event {
        RunEvent::StepSkipped { reason, .. } => Some(reason.to_string()),
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("`when: steps.a.text == 'no'` is false"));
}

#[tokio::test]
async fn no_more_steps_are_in_flight_than_parallel_allows() {
    let slow = example(Kind::Slow, Options::default()).await;
    let steps: String =
        (0..6).map(|n| format!("  s{n}: {{agent: x, message: 50ms please}}\n")).collect();
    for (parallel, expected) in [(2, 2), (6, 6)] {
        let rest = format!("parallel: {parallel}\nsteps:\n{steps}");
        let run = Scene::new().await.run(&workflow(&[("x", &slow.url)], &rest)).await;
        assert!(is_completed(&run));
        assert_eq!(most_at_once(&run.events), expected);
    }
}

#[tokio::test]
async fn a_template_that_cannot_be_evaluated_fails_its_step_and_says_where() {
    let echo = example(Kind::Echo, Options::default()).await;
    let rest = "steps:\n  a: {agent: x, message: hi}\n  b:\n    agent: x\n    message: ${{ steps.a.data.missing }}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &echo.url)], rest)).await;
    let said = failure(&run);
    assert!(said.starts_with("step `b` failed: "), "{said}");
    assert!(said.contains("test.yaml:"), "{said}");
    assert_eq!(echo.calls.count(), 1);
}

#[tokio::test]
async fn an_error_nobody_would_read_to_its_end_is_cut() {
    let long = "x".repeat(100_000);
    let agent = Scripted::start(true, move |_, _| {
        Reply::Error(Error::new(ErrorKind::Internal, long.clone()))
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: hi}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &agent.url)], rest)).await;
    let said = failure(&run);
    assert!(said.len() < 3_000, "{} bytes", said.len());
    assert!(said.ends_with("bytes in all)"), "{}", &said[said.len() - 60..]);
}

#[tokio::test]
async fn a_run_in_which_nothing_runs_is_over_at_once() {
    let echo = example(Kind::Echo, Options::default()).await;
    let rest = "steps:\n  a: {agent: x, message: hi, when: 1 == 2}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &echo.url)], rest)).await;
    let outcome = scene.executor.finished(&id).await.expect("it has ended");
    assert!(matches!(outcome, Outcome::Completed(_)), "{outcome:?}");
    assert_eq!(state(&scene.ended(&id).await, "a"), StepState::Skipped);
    assert_eq!(echo.calls.count(), 0);
}

#[tokio::test]
async fn outputs_that_cannot_be_evaluated_fail_the_run_and_say_where() {
    let echo = example(Kind::Echo, Options::default()).await;
    let rest = "steps:\n  a: {agent: x, message: hi}\noutputs:\n  o: {value: \"${{ steps.a.data.missing }}\"}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &echo.url)], rest)).await;
    assert_eq!(state(&run, "a"), StepState::Completed);
    assert!(failure(&run).contains("test.yaml:"), "{}", failure(&run));
}
