//! What goes along with a Message: metadata, and the Tasks that it refers to.

use planner::StepState;
use serde_json::json;

use crate::{
    agent::{Asked, Reply, Scripted, done},
    scene::{Scene, failure, is_completed, workflow},
};

/// Completes each Message as a Task of its own, `t0`, `t1` and so on.
async fn counting() -> Scripted {
    Scripted::start(false, |asked, before| match asked {
        Asked::Send(_) => Reply::Task(done(&format!("t{before}"), "ok")),
        _ => Reply::Silence,
    })
    .await
}

#[tokio::test]
async fn metadata_is_rendered_for_each_item_and_what_is_ours_stays() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let steps = "steps:\n  a: {agent: x, message: hi, for_each: [x, y], concurrency: 1, \
                 metadata: {nr: \"${{ index }}\", of: {name: \"${{ item }}!\"}}}\n";
    let ended = scene.run(&workflow(&[("x", &agent.url)], steps)).await;
    assert!(is_completed(&ended));
    let told: Vec<_> = agent
        .sent()
        .into_iter()
        .map(|message| {
            let mut metadata = message.metadata.unwrap_or_default().0;
            let ours = metadata.remove("urn:convoke:attempt:v1");
            assert_eq!(ours, Some(json!(message.message_id)));
            json!(metadata)
        })
        .collect();
    assert_eq!(
        told,
        [json!({"nr": 0, "of": {"name": "x!"}}), json!({"nr": 1, "of": {"name": "y!"}})]
    );
}

#[tokio::test]
async fn metadata_that_is_no_mapping_fails_the_step_before_anything_is_sent() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let steps = "steps:\n  a: {agent: x, message: hi, metadata: \"${{ run.id }}\"}\n";
    let ended = scene.run(&workflow(&[("x", &agent.url)], steps)).await;
    assert!(failure(&ended).contains("`metadata` must give a mapping"), "{}", failure(&ended));
    assert_eq!(agent.count("send"), 0);
}

#[tokio::test]
async fn named_references_stand_in_place_of_the_nearest_ones() {
    let agent = counting().await;
    let scene = Scene::new().await;
    let steps = "steps:\n  a: {agent: x, message: hi, for_each: [x, y], concurrency: 1}\n  \
                 b: {agent: x, message: hi, needs: [a]}\n  \
                 c: {agent: x, message: hi, needs: [b], references: [a]}\n  \
                 d: {agent: x, message: hi, needs: [c], references: []}\n";
    let ended = scene.run(&workflow(&[("x", &agent.url)], steps)).await;
    assert!(ended.run.steps().all(|(_, step)| step.state() == StepState::Completed));
    let referred: Vec<Vec<String>> =
        agent.sent().into_iter().map(|message| message.reference_task_ids).collect();
    let none: [&str; 0] = [];
    assert_eq!(referred[2], ["t0", "t1"], "b: the nearest");
    assert_eq!(referred[3], ["t0", "t1"], "c: those that it names");
    assert_eq!(referred[4], none, "d: none");
}
