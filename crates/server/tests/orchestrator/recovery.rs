//! An orderly stop, and the start after it.

use examples::{Kind, Options};
use protocol::v1::TaskState;

use crate::scene::{Scene, example, next, output, rest, said, workflow};

#[tokio::test]
async fn a_run_goes_on_after_a_restart_and_its_task_keeps_its_id() {
    let agent = example(Kind::Slow, Options::default()).await;
    let steps = "steps:\n  a: {agent: x, message: 2s}\n  b: {agent: x, message: 1ms, needs: [a]}\n";
    let scene = Scene::new(&[workflow("w", &[("x", &agent)], steps)]).await;
    let mut stream = scene.stream(said("go")).await;
    let id = next(&mut stream).await.expect("the Task").task_id().to_owned();
    let scene = scene.restarted().await;
    let mut stream = scene.subscribe(&id).await.expect("it is under way");
    let last = rest(&mut stream).await.pop().expect("an event");
    assert_eq!(last.state(), Some(TaskState::Completed));
    assert_eq!(scene.get(&id).await.id, id);
    let mut sent: Vec<String> = agent.calls.all().into_iter().map(|it| it.message_id).collect();
    sent.dedup();
    assert_eq!(sent.len(), 2, "one messageId for each step, however often it was sent");
}

#[tokio::test]
async fn a_pause_is_answered_after_a_restart() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n";
    let scene = Scene::new(&[workflow("w", &[("x", &agent)], steps)]).await;
    let asked = scene.send(said("go")).await;
    let scene = scene.restarted().await;
    assert_eq!(scene.get(&asked.id).await, asked);
    let done = scene.send(said("water").with_task(&asked.id)).await;
    assert_eq!(output(&done), "hi [water]");
}
