//! Steps that run once for each item of a list.

use examples::{Kind, Options};
use executor::{
    Recorded,
    run::{RunEvent, StepId},
};
use planner::StepState;
use protocol::v1::TaskState;
use serde_json::json;

use crate::{
    agent::{Asked, Reply, Scripted, done, enters, task},
    scene::{Scene, example, failure, is_completed, most_at_once, state, workflow},
};

/// A run whose agent echoes.
async fn echoed(rest: &str) -> (Scene, Recorded, Vec<String>) {
    let echo = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &echo.url)], rest)).await;
    let mut texts: Vec<String> = echo.calls.all().into_iter().map(|call| call.text).collect();
    texts.sort();
    (scene, run, texts)
}

#[tokio::test]
async fn a_step_runs_once_for_each_item() {
    let rest = "steps:\n  a: {agent: x, message: 'b c'}\n  each:\n    agent: x\n    for_each: steps.a.text | split\n    message: ${{ index }} ${{ item }}\n  all: {agent: x, message: \"${{ steps.each.text | upper }}\"}\n";
    let (scene, run, texts) = echoed(rest).await;
    assert!(is_completed(&run));
    assert_eq!(texts, ["0 B\n1 C", "0 b", "1 c", "b c"]);
    let steps: Vec<&str> = run.run.steps().map(|(id, _)| id.as_str()).collect();
    assert_eq!(steps, ["a", "each", "each[0]", "each[1]", "all"]);
    let whole = scene.result(&run, "each").await;
    assert_eq!((whole.state, whole.text().as_deref()), (StepState::Completed, Some("0 b\n1 c")));
    assert_eq!(scene.result(&run, "each[1]").await.text().as_deref(), Some("1 c"));
}

#[tokio::test]
async fn an_empty_list_completes_its_step_and_sends_nothing() {
    let rest = "steps:\n  each: {agent: x, for_each: [], message: never}\n  all: {agent: x, message: \"${{ steps.each.state }}\", needs: [each]}\n";
    let (_, run, texts) = echoed(rest).await;
    assert!(is_completed(&run));
    assert_eq!(texts, ["completed"]);
}

#[tokio::test]
async fn a_condition_is_asked_once_and_before_the_list() {
    let rest = "steps:\n  a: {agent: x, message: hi}\n  each: {agent: x, when: steps.a.text == 'no', for_each: steps.a.data, message: never}\n";
    let (_, run, texts) = echoed(rest).await;
    assert!(is_completed(&run), "the list, which is none, is not asked for");
    assert_eq!((state(&run, "each"), texts.len()), (StepState::Skipped, 1));
}

#[tokio::test]
async fn a_list_that_cannot_be_had_fails_its_step_and_says_where() {
    let rest = "steps:\n  a: {agent: x, message: hi}\n  each: {agent: x, for_each: steps.a.text, message: never}\n";
    let (_, run, _) = echoed(rest).await;
    let said = failure(&run);
    assert!(said.starts_with("step `each` failed: test.yaml:"), "{said}");
    assert!(said.contains("`for_each` must give a list, not a text"), "{said}");
}

#[tokio::test]
async fn no_more_items_are_under_way_than_concurrency_and_parallel_allow() {
    let slow = example(Kind::Slow, Options::default()).await;
    for (parallel, concurrency, expected) in
        [(16, ", concurrency: 2", 2), (3, "", 3), (16, "", 6), (2, ", concurrency: 5", 2)]
    {
        let rest = format!(
            "parallel: {parallel}\nsteps:\n  each: {{agent: x, message: '50ms ${{{{ item }}}}', for_each: [1, 2, 3, 4, 5, 6]{concurrency}}}\n"
        );
        let run = Scene::new().await.run(&workflow(&[("x", &slow.url)], &rest)).await;
        assert!(is_completed(&run));
        assert_eq!(most_at_once(&run.events), expected, "parallel {parallel}{concurrency}");
    }
}

/// Items of which those called `bad` fail; then a step that reads them.
async fn with_failing_item(on_error: &str) -> (Recorded, Scripted) {
    let agent = Scripted::start(true, |asked, _| match asked {
        Asked::Send(message) if message.text() == "bad" => Reply::Events(vec![
            task("bad", TaskState::Working).into(),
            enters("bad", TaskState::Failed, "no luck"),
        ]),
        Asked::Send(message) => Reply::Task(done("good", &message.text())),
        _ => Reply::Silence,
    })
    .await;
    let rest = format!(
        "steps:\n  each:\n    agent: x\n    for_each: [one, bad, two]\n    concurrency: 1\n    message: ${{{{ item }}}}\n    on_error: {on_error}\n  after: {{agent: x, message: \"${{{{ steps.each.items | map(attribute='state') | join(' ') }}}} ${{{{ steps.each.error.step }}}}\"}}\n"
    );
    (Scene::new().await.run(&workflow(&[("x", &agent.url)], &rest)).await, agent)
}

fn texts(agent: &Scripted) -> Vec<String> {
    agent.sent().iter().map(protocol::v1::Message::text).collect()
}

#[tokio::test]
async fn an_item_that_fails_fails_the_run() {
    let (run, agent) = with_failing_item("fail").await;
    assert_eq!(
        failure(&run),
        "step `each[1]` failed (attempt 1): the agent's Task failed: no luck"
    );
    assert_eq!(texts(&agent), ["one", "bad"], "nothing is begun any more");
    assert_eq!(
        (state(&run, "each"), state(&run, "each[2]")),
        (StepState::Failed, StepState::Canceled)
    );
}

#[tokio::test]
async fn the_other_items_go_on_after_a_failure_that_is_continued() {
    let (run, agent) = with_failing_item("continue").await;
    assert!(is_completed(&run));
    assert_eq!(state(&run, "each"), StepState::Failed);
    let seen = "completed failed completed each[1]";
    assert_eq!(texts(&agent), ["one", "bad", "two", seen]);
}

#[tokio::test]
async fn the_other_items_go_on_after_a_failure_that_skips_dependents() {
    let (run, agent) = with_failing_item("skip_dependents").await;
    assert!(is_completed(&run));
    assert_eq!(
        (state(&run, "each"), state(&run, "after")),
        (StepState::Failed, StepState::Skipped)
    );
    assert_eq!(texts(&agent), ["one", "bad", "two"]);
}

#[tokio::test]
async fn an_item_is_tried_again_by_itself() {
    let options =
        Options { failures: 1, failure: examples::Failure::Unavailable, ..Options::default() };
    let flaky = example(Kind::Flaky, options).await;
    let rest = "steps:\n  each: {agent: x, for_each: [a, b], message: \"${{ item }}\", retry: {attempts: 2, backoff: {initial: 10ms, jitter: none}}}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &flaky.url)], rest)).await;
    assert!(is_completed(&run));
    let attempts = |step| crate::scene::attempts(&run, step);
    assert_eq!((attempts("each[0]"), attempts("each[1]"), attempts("each")), (2, 2, 0));
    let mut ids: Vec<String> = flaky.calls.all().into_iter().map(|call| call.message_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "each attempt of each item is a Message of its own");
}

#[tokio::test]
async fn an_item_that_asks_is_answered_under_its_address() {
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let rest = "steps:\n  each: {agent: x, for_each: [a, b], message: \"${{ item }}\"}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &asks.url)], rest)).await;
    let is_asking = |step: &'static str| move |event: &RunEvent| matches!(event, RunEvent::AttemptPaused { step: asking, .. } if asking.as_str() == step);
    scene.until(&id, is_asking("each[0]")).await;
    scene.until(&id, is_asking("each[1]")).await;
    for (step, answer) in [("each[1]", "for b"), ("each[0]", "for a")] {
        let message = protocol::v1::Message::user(vec![protocol::v1::Part::text(answer)]);
        let answered = scene.executor.reply(&id, Some(StepId::new(step)), message).await;
        assert_eq!(answered.expect("it is taken").as_str(), step);
    }
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    let text = scene.result(&run, "each").await.text().unwrap_or_default();
    assert_eq!(text, "a [for a]\nb [for b]");
}

#[tokio::test]
async fn a_later_step_on_the_same_agent_refers_to_the_tasks_of_all_items() {
    let agent = Scripted::start(true, |asked, _| match asked {
        Asked::Send(message) => {
            let text = message.text();
            Reply::Task(done(&format!("task of {text}"), &text))
        }
        _ => Reply::Silence,
    })
    .await;
    let rest = "steps:\n  first: {agent: x, message: first}\n  each: {agent: x, for_each: [a, b], message: \"${{ item }}\", needs: [first]}\n  after: {agent: x, message: after, needs: [each]}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &agent.url)], rest)).await;
    assert!(is_completed(&run));
    let refers = |text: &str| {
        let sent = agent.sent();
        let message = sent.iter().find(|message| message.text() == text).expect("it was sent");
        message.reference_task_ids.clone()
    };
    assert_eq!(refers("a"), ["task of first"]);
    assert_eq!(refers("after"), ["task of a", "task of b"]);
}

#[tokio::test]
async fn a_run_that_is_taken_up_again_goes_on_with_the_items_it_had() {
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    let closed = std::sync::Arc::clone(&gate);
    let agent = Scripted::start(true, move |asked, _| match asked {
        Asked::Send(message) if message.text() == "b" => {
            Reply::Open(vec![task("b", TaskState::Working).into()])
        }
        Asked::Send(message) => Reply::Task(done("t", &message.text())),
        Asked::Subscribe(_) => {
            Reply::Late(std::sync::Arc::clone(&closed), vec![done("b", "B").into()])
        }
        _ => Reply::Silence,
    })
    .await;
    let rest = "steps:\n  each: {agent: x, for_each: [a, b, c], concurrency: 1, message: \"${{ item }}\"}\noutputs: {all: {value: \"${{ steps.each.text }}\"}}\n";
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    scene.until(&id, |event| matches!(event, RunEvent::AttemptBound { .. })).await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("it goes on");
    gate.notify_one();
    let run = scene.ended(&id).await;
    assert_eq!(scene.output(&run).await, "a\nB\nc");
    assert_eq!(texts(&agent), ["a", "b", "c"], "nothing is sent twice");
    let items = run.events.iter().filter(|event| matches!(event, RunEvent::StepExpanded { .. }));
    assert_eq!(items.count(), 1);
    assert_eq!(json!(run.run.settled()), json!(4));
}
