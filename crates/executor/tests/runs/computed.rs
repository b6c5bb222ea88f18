//! Steps that compute values, and what steps make of their agents' answers.

use examples::{Kind, Options};
use executor::{Recorded, run::RunEvent};
use planner::{ErrorClass, StepState};
use protocol::v1::Message;
use serde_json::{Value, json};

use crate::{
    agent::{Asked, Reply, Scripted, done},
    scene::{Scene, attempts, example, failure, is_completed, state, workflow},
};

async fn echoed(rest: &str) -> (Scene, Recorded, Vec<String>) {
    let echo = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &echo.url)], rest)).await;
    let texts = echo.calls.all().into_iter().map(|call| call.text).collect();
    (scene, run, texts)
}

#[tokio::test]
async fn a_step_that_sets_values_sends_nothing_and_others_read_them() {
    let rest = "steps:\n  a: {agent: x, message: ice}\n  set:\n    set: {title: \"About ${{ steps.a.text }}\", size: \"${{ steps.a.text | length }}\", fixed: [1]}\n  b: {agent: x, message: \"${{ steps.set.data.title }}, ${{ steps.set.outputs.size + 1 }}\"}\n";
    let (scene, run, texts) = echoed(rest).await;
    assert!(is_completed(&run));
    assert_eq!(texts, ["ice", "About ice, 4"]);
    let computed = scene.result(&run, "set").await.computed;
    assert_eq!(computed, Some(json!({"title": "About ice", "size": 3, "fixed": [1]})));
    assert_eq!(attempts(&run, "set"), 0);
}

#[tokio::test]
async fn values_are_set_for_each_item() {
    let rest = "steps:\n  set: {for_each: [a, b], set: {name: \"${{ item | upper }}${{ index }}\"}}\n  b: {agent: x, message: \"${{ steps.set.data | map(attribute='name') | join(' ') }}\"}\n";
    let (_, run, texts) = echoed(rest).await;
    assert!(is_completed(&run));
    assert_eq!(texts, ["A0 B1"]);
}

#[tokio::test]
async fn values_that_cannot_be_computed_fail_their_step() {
    let rest =
        "steps:\n  a: {agent: x, message: hi}\n  set: {set: {n: \"${{ steps.a.data.none }}\"}}\n";
    let (_, run, _) = echoed(rest).await;
    let said = failure(&run);
    assert!(said.starts_with("step `set` failed: test.yaml:"), "{said}");
}

#[tokio::test]
async fn without_outputs_a_run_has_what_its_last_step_computed() {
    let rest =
        "steps:\n  a: {agent: x, message: hi}\n  set: {set: {said: \"${{ steps.a.text }}\"}}\n";
    let (scene, run, _) = echoed(rest).await;
    let outputs = scene.executor.runs().outputs(&run).await.expect("the store works");
    let output = serde_json::to_value(&outputs[0]).expect("JSON");
    assert_eq!(
        (&output["artifactId"], &output["parts"][0]["data"]),
        (&json!("set"), &json!({"said": "hi"}))
    );
}

#[tokio::test]
async fn a_step_makes_outputs_of_what_its_agent_answers() {
    let rest = "steps:\n  first: {agent: x, message: one}\n  a:\n    agent: x\n    message: two\n    outputs: {loud: \"${{ this.text | upper }}\", both: [\"${{ this.text }}\", \"${{ steps.first.text }}\"]}\n  b: {agent: x, message: \"${{ steps.a.outputs.loud }} ${{ steps.a.outputs.both | join('+') }} ${{ steps.a.text }}\"}\n";
    let (scene, run, texts) = echoed(rest).await;
    assert!(is_completed(&run));
    assert_eq!(texts, ["one", "two", "TWO two+one two"]);
    let outputs = Value::Object(scene.result(&run, "a").await.outputs);
    assert_eq!(outputs, json!({"loud": "TWO", "both": ["two", "one"]}));
}

#[tokio::test]
async fn an_answer_of_which_no_outputs_can_be_made_is_a_failed_attempt() {
    let agent = Scripted::start(true, |asked, before| match asked {
        Asked::Send(_) if before == 0 => Reply::Task(done("t1", "seven")),
        Asked::Send(_) => Reply::Task(done("t2", "7")),
        _ => Reply::Silence,
    })
    .await;
    let rest = "steps:\n  a:\n    agent: x\n    message: How many?\n    outputs: {count: \"${{ (this.text | int) + 1 }}\"}\n    retry: {attempts: 2, on: [invalid], backoff: {initial: 10ms, jitter: none}}\n";
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], rest)).await;
    assert!(is_completed(&run));
    assert_eq!(attempts(&run, "a"), 2);
    assert_eq!(scene.result(&run, "a").await.outputs["count"], json!(8));
    let class = run.events.iter().find_map(|event| match event {
        RunEvent::AttemptFailed { error, .. } => Some((error.class, error.message.clone())),
        _ => None,
    });
    let (class, said) = class.expect("the first attempt failed");
    assert_eq!(class, ErrorClass::Invalid);
    assert!(said.contains("test.yaml:"), "{said}");
    assert_eq!(agent.count("cancel"), 0, "the agent is done");
    assert_eq!(state(&run, "a"), StepState::Completed);
    let said: Vec<String> = agent.sent().iter().map(Message::text).collect();
    assert_eq!(said, ["How many?", "How many?"]);
}

#[tokio::test]
async fn outputs_of_items_are_kept_for_each() {
    let rest = "steps:\n  each: {agent: x, for_each: [a, b], message: \"${{ item }}\", outputs: {is: \"${{ item }}=${{ this.text }}${{ index }}\"}}\n  b: {agent: x, message: \"${{ steps.each.items | map(attribute='outputs.is') | join(' ') }}\"}\n";
    let (_, run, texts) = echoed(rest).await;
    assert!(is_completed(&run));
    assert_eq!(texts.last().map(String::as_str), Some("a=a0 b=b1"));
}
