//! Results of equal steps.

use executor::{Recorded, run::RunEvent};
use planner::StepState;
use serde_json::json;
use store::AccountId;

use crate::{
    agent::{Asked, Reply, Scripted, done, task},
    scene::{Scene, is_completed, new_run, plan, workflow},
};

/// Completes each Message as a Task of its own; fails what it is told to.
async fn counting() -> Scripted {
    Scripted::start(false, |asked, before| match asked {
        Asked::Send(message) if message.text() == "fail" => {
            Reply::Task(task("t", protocol::v1::TaskState::Failed))
        }
        Asked::Send(message) => {
            Reply::Task(done(&format!("t{before}"), &format!("{} {before}", message.text())))
        }
        _ => Reply::Silence,
    })
    .await
}

fn is_reused(recorded: &Recorded, step: &str) -> bool {
    let is_it = |event: &RunEvent| matches!(event, RunEvent::StepReused { step: it, .. } if it.as_str() == step);
    recorded.events.iter().any(is_it)
}

fn steps(agent: &Scripted, steps: &str) -> String {
    workflow(&[("x", &agent.url)], &format!("steps:\n{steps}"))
}

#[tokio::test]
async fn an_equal_step_has_the_result_and_makes_no_call() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let file = steps(
        &agent,
        "  a: {agent: x, message: hi, cache: {ttl: 1h}, outputs: {loud: \"${{ this.text | upper }}\"}}\n  \
         b: {agent: x, message: \"${{ steps.a.outputs.loud }} ${{ steps.a.task.id }}\"}\n",
    );
    let first = scene.run(&file).await;
    let scene = scene.restarted().await;
    let second = scene.run(&file).await;
    assert!(is_completed(&second) && !is_reused(&first, "a") && is_reused(&second, "a"));
    let texts: Vec<String> = agent.sent().iter().map(protocol::v1::Message::text).collect();
    assert_eq!(texts, ["hi", "HI 0 t0", "HI 0 null"], "its Task is that of another run");
    let step = second.run.steps().next().expect("a step").1;
    let from = step.reused.as_ref().expect("it says from where");
    assert_eq!((&from.run, from.agent.as_deref()), (&first.id, Some("x")));
    assert_eq!((step.attempts, second.run.calls()), (0, 1));
    assert_eq!(agent.sent()[2].reference_task_ids, Vec::<String>::new());
}

#[tokio::test]
async fn what_differs_in_anything_is_done() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let with = |fields: &str| steps(&agent, &format!("  a: {{agent: x, {fields}}}\n"));
    let by_run = with("message: hi, cache: {ttl: 1h, key: run.id}");
    let whole = with("message: hi, cache: {ttl: 1h}");
    for file in [&by_run, &by_run, &whole, &format!("{whole}# another version\n")] {
        assert!(!is_reused(&scene.run(file).await, "a"), "{file}");
    }
    let other = scene.executor.of(&AccountId::new("eve"));
    let id = other.start(new_run(plan(&whole).await)).await.expect("the run starts");
    let foreign = Scene { executor: other, ..scene };
    assert!(!is_reused(&foreign.ended(&id).await, "a"), "results are an account's own");
    assert_eq!(agent.count("send"), 5);
}

#[tokio::test]
async fn another_card_of_the_agent_makes_another_step() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let file = steps(&agent, "  a: {agent: x, message: hi, cache: {ttl: 1h}}\n");
    scene.run(&file).await;
    let mut changed = planner::Plan::clone(&*plan(&file).await);
    let binding = changed.bindings[0].as_mut().expect("an agent");
    binding.digest = registry::CardDigest::of(&json!("another"));
    let id = scene.executor.start(new_run(changed.into())).await.expect("the run starts");
    assert!(!is_reused(&scene.ended(&id).await, "a"));
}

#[tokio::test]
async fn a_result_whose_time_is_over_is_not_reused_and_neither_is_a_failure() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let short = steps(&agent, "  a: {agent: x, message: hi, cache: {ttl: 1ms}}\n");
    let failing = steps(&agent, "  a: {agent: x, message: fail, cache: {ttl: 1h}}\n");
    for file in [&short, &short, &failing, &failing] {
        assert!(!is_reused(&scene.run(file).await, "a"), "{file}");
    }
}

#[tokio::test]
async fn a_step_with_items_is_reused_as_a_whole_and_one_that_does_not_run_is_not_looked_for() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let file = steps(
        &agent,
        "  a: {agent: x, message: \"${{ item }}\", for_each: [x, y], concurrency: 1, cache: {ttl: 1h}}\n  \
         b: {agent: x, message: \"${{ steps.a.items[1].text }}\"}\n",
    );
    scene.run(&file).await;
    let second = scene.run(&file).await;
    assert!(is_reused(&second, "a"));
    let texts: Vec<String> = agent.sent().iter().map(protocol::v1::Message::text).collect();
    assert_eq!(texts, ["x", "y", "y 1", "y 1"]);
    assert_eq!(second.run.steps().count(), 2, "it has no items of its own");
    let skipped = steps(
        &agent,
        "  a: {agent: x, message: hi, when: run.id == 'x', cache: {ttl: 1h, key: steps.b.text}, needs: [b]}\n  \
         b: {set: {n: 1}}\n",
    );
    let skipped = scene.run(&skipped).await;
    assert_eq!(skipped.run.steps().next().expect("a").1.state(), StepState::Skipped);
}
