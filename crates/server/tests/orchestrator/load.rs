//! Many runs that stream at once, from an agent that never waits, with followers that come late or read late.
//! `cargo xtask long streams-serve` has more of it.

use std::time::Duration;

use examples::{Holds, Kind, Options};
use futures_util::{StreamExt as _, future::join_all};
use protocol::{
    artifacts::Aggregator,
    client::ClientStream,
    v1::{
        Artifact, StreamResponse, SubscribeToTaskRequest, Task, TaskState, stream_response::Payload,
    },
};
use tokio::sync::Barrier;

use crate::scene::{Scene, example, said, workflow};

/// Longer than any of this takes, all at once and on a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

/// How many runs there are at once: all of them where there is time.
fn runs() -> usize {
    if std::env::var_os("CONVOKE_CHUNKS").is_some() { 64 } else { 8 }
}

/// How many chunks each streams.
fn chunks() -> u32 {
    let set = std::env::var("CONVOKE_CHUNKS").ok();
    set.map_or(60, |set| set.parse().expect("CONVOKE_CHUNKS is a number"))
}

/// What a follower has been told: a snapshot, and every event after it.
struct Told {
    first: Task,
    events: Vec<StreamResponse>,
}

async fn next(stream: &mut ClientStream) -> Option<StreamResponse> {
    let event = tokio::time::timeout(PATIENCE, stream.next()).await.expect("an event in time");
    event.map(|event| event.expect("an event"))
}

/// All events up to the end of a stream.
async fn rest(stream: &mut ClientStream) -> Vec<StreamResponse> {
    let mut events = Vec::new();
    while let Some(event) = next(stream).await {
        events.push(event);
    }
    events
}

async fn subscribe(scene: &Scene, id: &str) -> ClientStream {
    let request = SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() };
    scene.client.subscribe_to_task(request, PATIENCE).await.expect("a stream")
}

async fn first(stream: &mut ClientStream) -> Task {
    match next(stream).await.and_then(|event| event.payload) {
        Some(Payload::Task(task)) => task,
        other => panic!("no Task: {other:?}"),
    }
}

/// What keeps all runs from ending before each of them has its late follower.
struct Ends {
    held: Holds,
    followed: Barrier,
}

impl Ends {
    async fn may_come(&self) {
        if self.followed.wait().await.is_leader() {
            self.held.release();
        }
    }
}

impl Told {
    async fn by(mut stream: ClientStream) -> Self {
        let first = first(&mut stream).await;
        Self { first, events: rest(&mut stream).await }
    }

    /// The artifacts that it makes of that.
    fn artifacts(&self) -> Vec<Artifact> {
        let mut aggregator = Aggregator::default();
        aggregator.replace_all(self.first.artifacts.clone());
        for event in &self.events {
            if let Some(Payload::ArtifactUpdate(update)) = &event.payload {
                aggregator.apply(update).expect("an artifact with an id");
            }
        }
        aggregator.into_artifacts()
    }
}

/// Follows one run from its beginning, from somewhere in the middle, and from the beginning without reading
/// until the others have all of it.
async fn check_run(scene: &Scene, ends: &Ends) {
    let opened = scene.client.send_streaming_message(said("go").into(), PATIENCE).await;
    let mut stream = opened.expect("a stream");
    let begun = first(&mut stream).await;
    let id = begun.id.as_str();
    let slow = subscribe(scene, id).await;
    let mut early = Vec::new();
    while early.len() < 8 {
        early.extend(next(&mut stream).await);
    }
    let mut late = subscribe(scene, id).await;
    let so_far = first(&mut late).await;
    ends.may_come().await;
    let late = Told { first: so_far, events: rest(&mut late).await };
    let events = [early, rest(&mut stream).await].concat();
    let whole = Told { first: begun.clone(), events };
    let slow = Told::by(slow).await;
    let done = scene.get(id).await;
    let counted: String = (1..=chunks()).map(|piece| format!("{piece} ")).collect();
    assert_eq!((done.state(), done.artifacts[0].text()), (TaskState::Completed, counted));
    assert_eq!(done.artifacts[0].parts.len(), chunks() as usize);
    for told in [&whole, &slow, &late] {
        assert_eq!(told.artifacts(), done.artifacts);
        let (of_all, these) = (&whole.events, &told.events);
        let is_end = of_all.ends_with(these) || these.ends_with(of_all);
        assert!(is_end, "all are told the same in the same order");
    }
}

#[tokio::test]
async fn followers_of_many_runs_are_told_the_same_whenever_they_come_and_however_they_read() {
    let options =
        Options { pace: Some(Default::default()), chunks: chunks(), ..Options::default() };
    let agent = example(Kind::Chunks, options).await;
    let ends = Ends { held: Holds::after(0), followed: Barrier::new(runs()) };
    let options = Options { holds: ends.held.clone(), ..Options::default() };
    let last = example(Kind::Echo, options).await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n  b: {agent: y, message: bye}\n";
    let one = workflow("w", &[("x", &agent), ("y", &last)], steps);
    let scene = Scene::new(&[one]).await;
    join_all((0..runs()).map(|_| check_run(&scene, &ends))).await;
    println!("{} runs of {} chunks, three followers each", runs(), chunks());
}
