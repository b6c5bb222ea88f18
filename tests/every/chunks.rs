//! `convoke serve`: artifacts reach clients while they come, also when the server is killed meanwhile.

use std::time::Duration;

use examples::{Kind, Options, Running};
use futures_util::StreamExt as _;
use protocol::{
    artifacts::Aggregator,
    client::ClientStream,
    v1::{Artifact, StreamResponse, Task, TaskState, stream_response::Payload},
};
use tests::{PATIENCE, agent::example, convoke::Convoke};

use crate::served::{Served, said};

const PIECES: u32 = 40;

/// Agents of one workflow: a step that counts in chunks, and one that asks, so that the run goes on until it
/// is answered.
async fn counting(convoke: &Convoke) -> [Running; 2] {
    let pace = Some(Duration::from_secs(4));
    let chunks =
        example(Kind::Chunks, Options { pace, chunks: PIECES, ..Options::default() }).await;
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let workflow = format!(
        "convoke: 1\nname: w\nagents: {{c: {{url: \"{}\"}}, q: {{url: \"{}\"}}}}\nsteps:\n  \
         count: {{agent: c, message: Count.}}\n  hold: {{agent: q, message: Hold.}}\n",
        chunks.url, asks.url
    );
    convoke.write("workflows/w.yaml", workflow);
    [chunks, asks]
}

fn is_chunk(event: &StreamResponse) -> bool {
    matches!(event.payload, Some(Payload::ArtifactUpdate(_)))
}

async fn next(stream: &mut ClientStream) -> StreamResponse {
    let event = tokio::time::timeout(PATIENCE, stream.next()).await.expect("an event in time");
    event.expect("the stream goes on").expect("an event")
}

/// The Task that a stream begins with.
async fn first(stream: &mut ClientStream) -> Task {
    match next(stream).await.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("no Task: {other:?}"),
    }
}

/// Reads up to so many chunks, which are returned.
async fn chunks(stream: &mut ClientStream, count: usize) -> Vec<StreamResponse> {
    let mut chunks = Vec::new();
    while chunks.len() < count {
        chunks.extend(Some(next(stream).await).filter(is_chunk));
    }
    chunks
}

/// All chunks up to the end.
async fn rest(stream: ClientStream) -> Vec<StreamResponse> {
    let events = stream.map(|event| event.expect("an event")).collect::<Vec<_>>();
    let events = tokio::time::timeout(PATIENCE, events).await.expect("it ends");
    assert_eq!(events.last().and_then(StreamResponse::state), Some(TaskState::Completed));
    events.into_iter().filter(is_chunk).collect()
}

/// What a follower has in the end.
fn put_together(first: &Task, chunks: &[StreamResponse]) -> Vec<Artifact> {
    let mut aggregator = Aggregator::default();
    aggregator.replace_all(first.artifacts.clone());
    for event in chunks {
        if let Some(Payload::ArtifactUpdate(update)) = &event.payload {
            aggregator.apply(update).expect("an artifact with an id");
        }
    }
    aggregator.into_artifacts()
}

fn counted() -> String {
    (1..=PIECES).map(|piece| format!("{piece} ")).collect()
}

#[tokio::test]
async fn followers_get_each_chunk_in_order_a_late_one_the_rest_and_hanging_up_stops_nothing() {
    let convoke = Convoke::default();
    let _agents = counting(&convoke).await;
    let served = Served::start(&convoke).await;
    let id = served.send(said("go"), true).await.id;
    let [mut one, mut other] = [served.subscribe(&id).await, served.subscribe(&id).await];
    let (of_one, of_other) = (first(&mut one).await, first(&mut other).await);
    let early = chunks(&mut one, 3).await;
    let mut late = served.subscribe(&id).await;
    let of_late = first(&mut late).await;
    let seen = put_together(&of_one, &early);
    assert!(of_late.artifacts[0].parts.starts_with(&seen[0].parts), "{of_late:?}");
    // This one has enough.
    drop(chunks(&mut other, 1).await);
    drop(other);
    let mut other = served.subscribe(&id).await;
    let of_other_again = first(&mut other).await;
    assert!(of_other.artifacts.len() <= of_other_again.artifacts.len());

    served.until(&id, TaskState::InputRequired).await;
    served.send(said("Yes").with_task(&id), true).await;
    let of_all = [
        (of_one, [early, rest(one).await].concat()),
        (of_other_again, rest(other).await),
        (of_late, rest(late).await),
    ];
    let done = served.task(&id).await;
    assert_eq!((done.state(), done.artifacts[0].text()), (TaskState::Completed, counted()));
    assert_eq!(done.artifacts[0].parts.len(), PIECES as usize, "nobody runs chunks together");
    for (first, chunks) in &of_all {
        assert_eq!(put_together(first, chunks), done.artifacts);
        assert!(of_all[0].1.ends_with(chunks), "the same in the same order");
    }
}

#[tokio::test]
async fn a_follower_of_a_server_that_was_killed_in_the_middle_has_all_of_it_in_the_end() {
    let convoke = Convoke::default();
    let [chunking, _asking] = counting(&convoke).await;
    let served = Served::start(&convoke).await;
    let id = served.send(said("go"), true).await.id;
    let mut stream = served.subscribe(&id).await;
    let before = first(&mut stream).await;
    let told = put_together(&before, &chunks(&mut stream, 3).await);
    served.process.kill().await;

    let served = Served::start(&convoke).await;
    let mut stream = served.subscribe(&id).await;
    let again = first(&mut stream).await;
    let of_count = again.artifacts.iter().find(|it| it.artifact_id == told[0].artifact_id);
    let kept = of_count.expect("what was told is on disk");
    assert!(kept.parts.starts_with(&told[0].parts), "{kept:?}");
    served.until(&id, TaskState::InputRequired).await;
    served.send(said("Yes").with_task(&id), true).await;
    let rest = rest(stream).await;
    let done = served.task(&id).await;
    assert_eq!(done.artifacts[0].text(), counted());
    assert_eq!(put_together(&again, &rest), done.artifacts);
    let parts: usize = rest.iter().map(parts).sum();
    let missing = done.artifacts.iter().map(|it| it.parts.len()).sum::<usize>() - kept.parts.len();
    assert_eq!(parts, missing, "nothing was told twice");
    assert_eq!(chunking.calls.count(), 1, "and nothing was sent twice");
}

fn parts(event: &StreamResponse) -> usize {
    match &event.payload {
        Some(Payload::ArtifactUpdate(update)) => {
            update.artifact.as_ref().map_or(0, |artifact| artifact.parts.len())
        }
        _ => 0,
    }
}
