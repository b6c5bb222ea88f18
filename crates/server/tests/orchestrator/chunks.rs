//! Artifacts reach clients while they come: chunk by chunk, in order, the same for everybody.

use protocol::{
    artifacts::Aggregator,
    client::ClientStream,
    v1::{Artifact, StreamResponse, Task, TaskState, stream_response::Payload},
};

use crate::{
    dripping::Dripping,
    scene::{Scene, next, rest, said, soon},
};

const ONE: &str = "steps:\n  a: {agent: x, message: hi}\n";

/// An agent, and an orchestrator with one workflow that asks it.
async fn dripping(rest: &str) -> (Dripping, Scene) {
    let agent = Dripping::start().await;
    let file = format!("name: w\nagents: {{x: {{url: \"{}\"}}}}\n{rest}", agent.url);
    let scene = Scene::new(&[file]).await;
    (agent, scene)
}

/// A chunk in short: its artifact, whether it appends, its text, and whether it is the last.
fn short(event: &StreamResponse) -> String {
    match &event.payload {
        Some(Payload::ArtifactUpdate(update)) => {
            let artifact = update.artifact.as_ref().expect("an artifact");
            let how = if update.append { "+" } else { "=" };
            let end = if update.last_chunk { "." } else { "" };
            format!("{}{how}{}{end}", artifact.artifact_id, artifact.text())
        }
        _ => panic!("no chunk: {event:?}"),
    }
}

fn joined(artifacts: &[Artifact]) -> String {
    let texts =
        artifacts.iter().map(|artifact| format!("{}={}", artifact.artifact_id, artifact.text()));
    texts.collect::<Vec<_>>().join(" ")
}

fn chunks(events: &[StreamResponse]) -> Vec<String> {
    let is_chunk =
        |event: &&StreamResponse| matches!(event.payload, Some(Payload::ArtifactUpdate(_)));
    events.iter().filter(is_chunk).map(short).collect()
}

/// Reads up to the next chunk.
async fn next_chunk(stream: &mut ClientStream) -> StreamResponse {
    soon("a chunk", async {
        loop {
            let event = next(stream).await.expect("an event");
            if matches!(event.payload, Some(Payload::ArtifactUpdate(_))) {
                return event;
            }
        }
    })
    .await
}

/// What a follower has in the end.
fn put_together(first: &Task, events: &[StreamResponse]) -> Vec<Artifact> {
    let mut aggregator = Aggregator::default();
    aggregator.replace_all(first.artifacts.clone());
    for event in events {
        if let Some(Payload::ArtifactUpdate(update)) = &event.payload {
            aggregator.apply(update).expect("an artifact with an id");
        }
    }
    aggregator.into_artifacts()
}

fn task(event: Option<StreamResponse>) -> Task {
    match event.and_then(|event| event.payload) {
        Some(Payload::Task(task)) => task,
        other => panic!("no Task: {other:?}"),
    }
}

#[tokio::test]
async fn chunks_arrive_before_the_run_ends_and_a_late_follower_gets_the_rest() {
    let (agent, scene) = dripping(ONE).await;
    let mut sender = scene.stream(said("go")).await;
    let first = task(next(&mut sender).await);
    let mut other = scene.subscribe(&first.id).await.expect("a stream");
    let also_first = task(next(&mut other).await);
    agent.chunk("7f", "answer", "1 ");
    agent.chunk("7f", "", "2 ");
    let early = [next_chunk(&mut sender).await, next_chunk(&mut sender).await];
    assert_eq!(chunks(&early), ["a/1=1 ", "a/1+2 "]);
    assert!(early.iter().all(|event| event.task_id() == first.id));
    assert!(early.iter().all(|event| event.context_id() == first.context_id));
    let so_far = scene.get(&first.id).await;
    assert_eq!(
        (so_far.state(), joined(&so_far.artifacts).as_str()),
        (TaskState::Working, "a/1=1 2 ")
    );

    let mut late = scene.subscribe(&first.id).await.expect("a stream");
    let snapshot = task(next(&mut late).await);
    assert_eq!(snapshot, so_far);
    agent.chunk("7f", "", "3");
    agent.end(TaskState::Completed);
    let sender = [&early[..], &rest(&mut sender).await].concat();
    let late = rest(&mut late).await;
    assert_eq!(chunks(&late), ["a/1+3"], "and nothing once more in the end");
    assert!(sender.ends_with(&late));
    let other = rest(&mut other).await;
    assert!(other.ends_with(&sender), "{other:?}");
    let done = scene.get(&first.id).await;
    assert_eq!(done.artifacts, put_together(&first, &sender));
    assert_eq!(done.artifacts, put_together(&also_first, &other));
    assert_eq!(done.artifacts, put_together(&snapshot, &late));
}

#[tokio::test]
async fn hanging_up_in_the_middle_stops_nothing() {
    let (agent, scene) = dripping(ONE).await;
    let mut stream = scene.stream(said("go")).await;
    let id = task(next(&mut stream).await).id;
    agent.chunk("1", "answer", "1 ");
    next_chunk(&mut stream).await;
    drop(stream);
    agent.chunk("1", "answer", "2");
    agent.end(TaskState::Completed);
    let done = scene.until(&id, |task| task.state().is_terminal()).await;
    assert_eq!((done.state(), joined(&done.artifacts).as_str()), (TaskState::Completed, "a/1=1 2"));
}

#[tokio::test]
async fn an_output_that_is_one_artifact_streams_and_the_others_come_in_the_end() {
    let outputs = "outputs:\n  text: {value: '${{ steps.a.text }}'}\n  \
                   answer: {value: '${{ steps.a.artifacts.answer }}'}\n";
    let (agent, scene) = dripping(&format!("{ONE}{outputs}")).await;
    let mut stream = scene.stream(said("go")).await;
    let first = task(next(&mut stream).await);
    agent.chunk("1", "log", "never seen");
    agent.chunk("2", "answer", "1 ");
    agent.chunk("2", "answer", "2");
    agent.end(TaskState::Completed);
    let events = rest(&mut stream).await;
    assert_eq!(chunks(&events), ["answer=1 ", "answer+2", "text=never seen\n1 2."]);
    let done = scene.get(&first.id).await;
    assert_eq!(joined(&done.artifacts), "text=never seen\n1 2 answer=1 2");
}

#[tokio::test]
async fn an_output_that_ends_as_another_than_was_streamed_is_told_whole() {
    let output = "outputs: {draft: {value: '${{ steps.a.artifacts.draft }}'}}\n";
    let (agent, scene) = dripping(&format!("{ONE}{output}")).await;
    let mut stream = scene.stream(said("go")).await;
    let first = task(next(&mut stream).await);
    agent.chunk("1", "draft", "a");
    agent.chunk("2", "draft", "b");
    agent.chunk("2", "log", "renamed");
    agent.end(TaskState::Completed);
    let events = rest(&mut stream).await;
    assert_eq!(chunks(&events), ["draft=a", "draft=b", "draft=a."]);
    assert_eq!(scene.get(&first.id).await.artifacts, put_together(&first, &events));
}

#[tokio::test]
async fn a_retry_begins_the_artifact_anew() {
    let retry = "retry: {attempts: 2, backoff: {initial: 10ms}, on: [failed]}";
    let (agent, scene) =
        dripping(&format!("steps:\n  a: {{agent: x, message: hi, {retry}}}\n")).await;
    let mut stream = scene.stream(said("go")).await;
    let first = task(next(&mut stream).await);
    agent.chunk("7f", "answer", "1 ");
    agent.chunk("7f", "answer", "lost");
    agent.end(TaskState::Failed);
    agent.chunk("a0", "answer", "1 ");
    agent.chunk("a0", "answer", "kept");
    agent.end(TaskState::Completed);
    let events = rest(&mut stream).await;
    assert_eq!(chunks(&events), ["a/1=1 ", "a/1+lost", "a/1=1 ", "a/1+kept"]);
    let done = scene.get(&first.id).await;
    assert_eq!(
        (done.state(), &done.artifacts),
        (TaskState::Completed, &put_together(&first, &events))
    );
}

#[tokio::test]
async fn a_run_that_fails_or_is_canceled_keeps_what_has_come() {
    let (agent, scene) = dripping(ONE).await;
    for state in [TaskState::Failed, TaskState::Canceled] {
        let mut stream = scene.stream(said("go")).await;
        let first = task(next(&mut stream).await);
        agent.chunk("1", "answer", "half of it");
        next_chunk(&mut stream).await;
        match state {
            TaskState::Canceled => drop(scene.cancel(&first.id).await.expect("a Task")),
            _ => agent.end(state),
        }
        let events = rest(&mut stream).await;
        assert_eq!(chunks(&events), [""; 0], "it is not told again");
        let done = scene.get(&first.id).await;
        assert_eq!((done.state(), joined(&done.artifacts).as_str()), (state, "a/1=half of it"));
    }
}

#[tokio::test]
async fn ten_thousand_chunks_are_ten_thousand_events_of_one_part() {
    const CHUNKS: usize = 10_000;
    let (agent, scene) = dripping(ONE).await;
    let mut stream = scene.stream(said("go")).await;
    let first = task(next(&mut stream).await);
    for n in 0..CHUNKS {
        agent.chunk("1", "answer", &format!("{n} "));
    }
    agent.end(TaskState::Completed);
    let events = rest(&mut stream).await;
    let parts = |event: &StreamResponse| match &event.payload {
        Some(Payload::ArtifactUpdate(update)) => update.artifact.as_ref().map(|it| it.parts.len()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(parts).collect::<Vec<_>>(), [1; CHUNKS]);
    assert_eq!(scene.get(&first.id).await.artifacts, put_together(&first, &events));
}
