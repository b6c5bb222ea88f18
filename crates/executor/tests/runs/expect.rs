//! What a step expects of its agent's data.

use examples::{Kind, Options};
use executor::run::{Outcome, RunEvent, projection::RunState};
use planner::ErrorClass;
use protocol::v1::{Artifact, Message, Part, Task, TaskState};
use serde_json::json;

use crate::{
    agent::{Asked, CONTEXT, Reply, Scripted, task},
    scene::{Scene, example, is_completed, workflow},
};

const PRICE: &str =
    "expect: {type: object, required: [price], properties: {price: {type: number}}}";

fn one(fields: &str) -> String {
    format!("steps:\n  a: {{agent: x, message: hi, {PRICE}, {fields}}}\n")
}

fn priced(id: &str, price: &serde_json::Value) -> Task {
    let artifact = Artifact::new("offer", "offer", vec![Part::data(json!({ "price": price }))]);
    Task { artifacts: vec![artifact], ..task(id, TaskState::Completed) }
}

fn said(parts: Vec<Part>) -> Reply {
    Reply::Message(Message::agent(parts).with_id("m").with_context(CONTEXT))
}

/// Asks for the day, then offers what it has.
async fn asks_back() -> Scripted {
    Scripted::start(false, |asked, before| match (asked, before) {
        (Asked::Send(_), 0) => said(vec![Part::text("Which day?")]),
        (Asked::Send(_), _) => said(vec![Part::data(json!({"price": 7}))]),
        _ => Reply::Silence,
    })
    .await
}

fn is_asking(event: &RunEvent) -> bool {
    matches!(event, RunEvent::AttemptPaused { .. })
}

#[tokio::test]
async fn a_task_whose_data_does_not_fit_is_a_failed_attempt_that_names_the_place() {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new().await;
    let with = |price: &str| {
        let message = format!("[{{text: hi}}, {{data: {{price: {price}}}}}]");
        let steps = format!("steps:\n  a: {{agent: x, message: {message}, {PRICE}}}\n");
        workflow(&[("x", &agent.url)], &steps)
    };
    assert!(is_completed(&scene.run(&with("12.5")).await));
    let ended = scene.run(&with("much")).await;
    let Some(Outcome::Failed(error)) = ended.run.outcome() else { panic!("it must fail") };
    assert_eq!(error.error.class, ErrorClass::ExpectMismatch);
    assert_eq!(
        error.to_string(),
        "step `a` failed (attempt 1): the answer of agent `x` is not what the step expects: \
         `/price` must be a number, not the string \"much\""
    );
}

#[tokio::test]
async fn a_mismatch_is_tried_again_only_where_the_step_says_so() {
    let agent = Scripted::start(false, |asked, before| match asked {
        Asked::Send(_) if before % 2 == 0 => Reply::Task(priced("t1", &json!("12"))),
        _ => Reply::Task(priced("t2", &json!(12))),
    })
    .await;
    let scene = Scene::new().await;
    let run = async |fields: &str| scene.run(&workflow(&[("x", &agent.url)], &one(fields))).await;
    let again = run("retry: {on: [expect_mismatch], backoff: {initial: 1ms}}").await;
    assert!(is_completed(&again), "{:?}", again.run.outcome());
    assert_eq!(agent.count("send"), 2);
    let once = run("retry: {backoff: {initial: 1ms}}").await;
    assert!(!is_completed(&once));
    assert_eq!(agent.count("send"), 3, "no class that is tried again by default");
}

#[tokio::test]
async fn a_direct_message_that_does_not_fit_is_a_question_whose_answer_stays_in_its_context() {
    let agent = asks_back().await;
    let scene = Scene::new().await;
    let run = scene.start(&workflow(&[("x", &agent.url)], &one("timeout: 1m"))).await;
    let paused = scene.until(&run, is_asking).await;
    assert_eq!(RunState::of(&paused.run), RunState::InputRequired);
    let (step, pause) = paused.run.pauses().next().expect("a question");
    assert_eq!((step.as_str(), pause.text().as_deref()), ("a", Some("Which day?")));
    assert_eq!(pause.mismatch.as_deref(), Some("it has no data Part"));
    // The process goes down and comes again; the question is still there.
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("the store works");
    let answer = Message::user(vec![Part::text("Monday")]);
    scene.executor.reply(&run, None, answer).await.expect("it waits for that");
    let ended = scene.ended(&run).await;
    assert!(is_completed(&ended), "{:?}", ended.run.outcome());
    assert_eq!(scene.result(&ended, "a").await.data(), Some(&json!({"price": 7})));
    let sent = agent.sent();
    let [first, second] = &sent[..] else { panic!("two Messages: {sent:?}") };
    assert_eq!((second.text().as_str(), second.context_id.as_str()), ("Monday", CONTEXT));
    assert_eq!(second.task_id, "", "there is no Task");
    assert_ne!(second.message_id, first.message_id);
    let asks = |message: &Message| {
        message.parts[0].metadata.as_ref().map(|it| it.0["schema"]["required"].clone())
    };
    assert_eq!((asks(first), asks(second)), (Some(json!(["price"])), Some(json!(["price"]))));
    assert_eq!(ended.run.calls(), 2);
}

#[tokio::test]
async fn an_answer_in_a_context_that_nobody_answered_is_sent_again_as_it_was() {
    let agent = Scripted::start(false, |asked, before| match (asked, before) {
        (Asked::Send(_), 0) => said(vec![Part::text("Which day?")]),
        (Asked::Send(_), 1) => Reply::Silence,
        (Asked::Send(_), _) => Reply::Task(priced("t", &json!(7))),
        _ => Reply::Silence,
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.start(&workflow(&[("x", &agent.url)], &one("timeout: 1m"))).await;
    scene.until(&run, is_asking).await;
    let answer = Message::user(vec![Part::text("Monday")]);
    scene.executor.reply(&run, None, answer).await.expect("it waits for that");
    crate::scene::soon("the answer", async {
        while agent.count("send") < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let scene = scene.restarted().await;
    scene.executor.resume_all().await.expect("the store works");
    let ended = scene.ended(&run).await;
    assert!(is_completed(&ended), "{:?}", ended.run.outcome());
    let sent = agent.sent();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[2], sent[1]);
    let step = ended.run.steps().next().expect("one step").1;
    assert_eq!(step.task.as_ref().map(|task| task.task_id.as_str()), Some("t"));
}

#[tokio::test]
async fn a_run_whose_agent_asks_back_is_canceled_at_once() {
    let agent = asks_back().await;
    let scene = Scene::new().await;
    let run = scene.start(&workflow(&[("x", &agent.url)], &one("timeout: 1m"))).await;
    scene.until(&run, is_asking).await;
    scene.executor.cancel(&run).await.expect("it goes on");
    let ended = scene.ended(&run).await;
    assert_eq!(ended.run.outcome(), Some(&Outcome::Canceled));
    assert_eq!(agent.verbs(), ["send"], "nothing is under way there");
}

#[tokio::test]
async fn each_item_is_held_against_what_is_expected_by_itself() {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new().await;
    let steps = format!(
        "steps:\n  a:\n    agent: x\n    for_each: [1, two, 3]\n    on_error: continue\n    \
         message: [{{data: {{price: \"${{{{ item }}}}\"}}}}]\n    {PRICE}\n"
    );
    let ended = scene.run(&workflow(&[("x", &agent.url)], &steps)).await;
    let result = scene.result(&ended, "a").await;
    let items = result.items.expect("items");
    let classes: Vec<_> = items.iter().map(|it| it.error.as_ref().map(|it| it.class)).collect();
    assert_eq!(classes, [None, Some(ErrorClass::ExpectMismatch), None]);
}
