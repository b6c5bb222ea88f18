//! Artifacts that go on while they come: what the journal has of them, and when.

use executor::{
    Body, Recorded, RunId,
    run::{Outcome, RunEvent},
};
use protocol::v1::{Artifact, StreamResponse, Task, TaskState};
use store::Seq;

use crate::{
    agent::{Asked, Reply, Scripted, chunk, done, enters, task},
    scene::{PATIENCE, Scene, account, is_completed, soon, workflow},
};

const ONE: &str = "steps:\n  a: {agent: x, message: hi}\n";

/// What the journal says of chunks, in order, with what else binds and ends attempts.
async fn told(scene: &Scene, id: &RunId) -> Vec<String> {
    let runs = scene.executor.runs();
    let mut told = Vec::new();
    for event in runs.news(id, Seq(0), PATIENCE).await.expect("the store works") {
        told.push(match event {
            RunEvent::AttemptBound { .. } => "bound".to_owned(),
            RunEvent::AttemptFailed { .. } => "failed".to_owned(),
            RunEvent::StepCompleted { step, .. } => format!("{step} completed"),
            RunEvent::ArtifactChunked { step, attempt, chunk } => {
                let update = runs.chunk(id, &chunk).await.expect("the store works");
                let how = if update.append { "+" } else { "=" };
                let end = if update.last_chunk { "." } else { "" };
                let artifact = update.artifact.expect("a chunk has its artifact");
                format!("{step}{attempt} {}{how}{}{end}", artifact.artifact_id, artifact.text())
            }
            _ => continue,
        });
    }
    told
}

/// The text that has gone on.
fn text(recorded: &Recorded) -> String {
    recorded.streamed.artifacts().map(Artifact::text).collect::<Vec<_>>().join("|")
}

/// Waits until so much has gone on.
async fn until(scene: &Scene, id: &RunId, wanted: &str) -> Recorded {
    let runs = scene.executor.runs();
    let mut recorded = runs.read(id).await.expect("the run exists");
    soon("the chunk", async {
        while text(&recorded) != wanted {
            runs.follow(&mut recorded, PATIENCE).await.expect("the store works");
        }
    })
    .await;
    recorded
}

fn working(chunks: &[&str]) -> Vec<StreamResponse> {
    let begin = [task("t", TaskState::Working).into()].into_iter();
    begin.chain(chunks.iter().map(|text| chunk("t", text))).collect()
}

fn ending(events: Vec<StreamResponse>, state: TaskState) -> Vec<StreamResponse> {
    [events, vec![enters("t", state, "so it ends")]].concat()
}

fn last(mut event: StreamResponse) -> StreamResponse {
    use protocol::v1::stream_response::Payload;
    let Some(Payload::ArtifactUpdate(update)) = &mut event.payload else { panic!("a chunk") };
    update.last_chunk = true;
    event
}

/// The Task so far.
fn so_far(text: &[&str]) -> Task {
    let mut artifact = done("t", "").artifacts.remove(0);
    artifact.parts = text.iter().map(|text| protocol::v1::Part::text(*text)).collect();
    Task { artifacts: vec![artifact], ..task("t", TaskState::Working) }
}

#[tokio::test]
async fn chunks_are_journaled_as_they_come_once_their_task_is_known() {
    let agent = Scripted::start(true, |_, _| {
        let chunks = [working(&["1 ", "2 "]), vec![last(chunk("t", "3"))]].concat();
        Reply::Events(ending(chunks, TaskState::Completed))
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], ONE)).await;
    let journal = told(&scene, &run.id).await;
    assert_eq!(journal, ["bound", "a1 a/1=1 ", "a1 a/1+2 ", "a1 a/1+3.", "a completed"]);
    let outputs = scene.executor.runs().outputs(&run).await.expect("the store works");
    let streamed: Vec<Artifact> = run.streamed.artifacts().cloned().collect();
    assert_eq!(streamed, outputs, "what followers put together is the output");
    let is_chunk = |event: &RunEvent| matches!(event, RunEvent::ArtifactChunked { .. });
    assert!(!run.events.iter().any(is_chunk), "nobody keeps the pieces beside the whole");
}

#[tokio::test]
async fn only_what_is_an_output_is_journaled_before_the_step_ends() {
    let agent = Scripted::start(true, |_, _| {
        Reply::Events(ending(working(&["1", "2"]), TaskState::Completed))
    })
    .await;
    let chain = "steps:\n  a: {agent: x, message: hi}\n  b: {agent: x, message: ho, needs: [a]}\n";
    let scene = Scene::new().await;
    let chunks = async |rest: &str| {
        let run = scene.run(&workflow(&[("x", &agent.url)], rest)).await;
        let told = told(&scene, &run.id).await;
        told.into_iter().filter(|told| told.contains(['=', '+'])).collect::<Vec<_>>()
    };
    assert_eq!(chunks(chain).await, ["b1 b/1=1", "b1 b/1+2"]);
    let one = "outputs: {o: {value: '${{ steps.a.artifacts.answer }}'}}\n";
    assert_eq!(chunks(&format!("{chain}{one}")).await, ["a1 o=1", "a1 o+2"]);
    let text = "outputs: {o: {value: '${{ steps.a.text }}'}}\n";
    assert_eq!(chunks(&format!("{chain}{text}")).await, [""; 0]);
}

#[tokio::test]
async fn a_task_that_is_polled_goes_on_by_what_is_new() {
    let agent = Scripted::start(false, |asked, before| match asked {
        Asked::Get(_) if before == 0 => Reply::Task(so_far(&["1"])),
        Asked::Get(_) if before < 3 => Reply::Task(so_far(&["1", "2", "3"])),
        Asked::Get(_) => {
            let status = task("t", TaskState::Completed).status;
            Reply::Task(Task { status, ..so_far(&["1", "2", "3", "4"]) })
        }
        _ => Reply::Task(task("t", TaskState::Working)),
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], ONE)).await;
    let journal = told(&scene, &run.id).await;
    assert_eq!(journal, ["bound", "a1 a/1=1", "a1 a/1+23", "a1 a/1+4.", "a completed"]);
}

#[tokio::test]
async fn another_attempt_begins_anew_and_the_last_one_keeps_what_it_brought() {
    let agent = Scripted::start(true, |_, before| {
        Reply::Events(match before {
            0 => ending(working(&["draft ", "one"]), TaskState::Failed),
            _ => ending(working(&["draft ", "two"]), TaskState::Failed),
        })
    })
    .await;
    let retry = "retry: {attempts: 2, backoff: {initial: 10ms}, on: [failed]}";
    let rest = format!("steps:\n  a: {{agent: x, message: hi, {retry}}}\n");
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], &rest)).await;
    let attempt = |n: u32, text: &str| {
        let told = ["bound".to_owned(), format!("a{n} a/1=draft "), format!("a{n} a/1+{text}")];
        [&told[..], &["failed".to_owned()]].concat()
    };
    assert_eq!(told(&scene, &run.id).await, [attempt(1, "one"), attempt(2, "two")].concat());
    assert!(matches!(run.run.outcome(), Some(Outcome::Failed(_))));
    assert_eq!(text(&run), "draft two");
}

#[tokio::test]
async fn a_large_chunk_is_a_blob() {
    let large = "x".repeat(9_000);
    let script = large.clone();
    let agent = Scripted::start(true, move |_, _| {
        Reply::Events(ending(working(&["1", &script]), TaskState::Completed))
    })
    .await;
    let scene = Scene::new().await;
    let run = scene.run(&workflow(&[("x", &agent.url)], ONE)).await;
    let news = scene.executor.runs().news(&run.id, Seq(0), PATIENCE).await.expect("events");
    let is_blob = |event: &RunEvent| match event {
        RunEvent::ArtifactChunked { chunk, .. } => Some(matches!(chunk.artifact, Body::Blob(_))),
        _ => None,
    };
    assert_eq!(news.iter().filter_map(is_blob).collect::<Vec<_>>(), [false, true]);
    assert_eq!(text(&run), format!("1{large}"));
}

#[tokio::test]
async fn after_a_restart_what_was_told_goes_on_and_nothing_is_doubled() {
    // As it was told; further; with another beginning.
    let cases: [(&[&str], &str); 3] =
        [(&["1", "2"], ""), (&["1", "2", "3"], "a1 a/1+3"), (&["x", "2", "3"], "a1 a/1=x23")];
    for (snapshot, caught_up) in cases {
        let agent = Scripted::start(true, move |asked, _| match asked {
            Asked::Subscribe(_) => {
                let events = vec![so_far(snapshot).into(), chunk("t", "4")];
                Reply::Events(ending(events, TaskState::Completed))
            }
            _ => Reply::Open(working(&["1", "2"])),
        })
        .await;
        let scene = Scene::new().await;
        let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
        until(&scene, &id, "12").await;
        let scene = scene.restarted().await;
        scene.executor.resume(&id).await.expect("it goes on");
        let run = scene.ended(&id).await;
        let before = ["bound", "a1 a/1=1", "a1 a/1+2"];
        let after = [caught_up, "a1 a/1+4", "a completed"];
        let all = before.into_iter().chain(after).filter(|told| !told.is_empty());
        assert_eq!(told(&scene, &id).await, all.collect::<Vec<_>>());
        assert_eq!(text(&run), scene.output(&run).await);
    }
}

#[tokio::test]
async fn an_artifact_goes_on_after_a_pause() {
    for streaming in [true, false] {
        let agent = Scripted::start(streaming, move |asked, before| match asked {
            Asked::Send(_) if before == 0 && streaming => {
                Reply::Events(ending(working(&["1"]), TaskState::InputRequired))
            }
            Asked::Send(_) if before == 0 => Reply::Task(so_far(&["1"])),
            Asked::Get(_) if before == 0 => {
                let asks = task("t", TaskState::InputRequired).status;
                Reply::Task(Task { status: asks, ..so_far(&["1"]) })
            }
            Asked::Send(_) if streaming => {
                let events = vec![so_far(&["1"]).into(), chunk("t", "2")];
                Reply::Events(ending(events, TaskState::Completed))
            }
            Asked::Send(_) => Reply::Task(so_far(&["1", "2"])),
            _ => {
                let status = task("t", TaskState::Completed).status;
                Reply::Task(Task { status, ..so_far(&["1", "2"]) })
            }
        })
        .await;
        let scene = Scene::new().await;
        let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
        let is_pause = |event: &RunEvent| matches!(event, RunEvent::AttemptPaused { .. });
        scene.until(&id, is_pause).await;
        let answer = protocol::v1::Message::user(vec![protocol::v1::Part::text("yes")]);
        scene.executor.reply(&id, None, answer).await.expect("it is taken");
        let run = scene.ended(&id).await;
        let journal = ["bound", "a1 a/1=1", "a1 a/1+2", "a completed"];
        assert_eq!(told(&scene, &id).await, journal, "streaming: {streaming}");
        assert!(is_completed(&run));
    }
}

#[tokio::test]
async fn a_canceled_run_keeps_what_has_come() {
    let agent = Scripted::start(true, |asked, _| match asked {
        Asked::Cancel(_) => Reply::Task(task("t", TaskState::Canceled)),
        _ => Reply::Open(working(&["1", "2"])),
    })
    .await;
    let scene = Scene::new().await;
    let id = scene.start(&workflow(&[("x", &agent.url)], ONE)).await;
    until(&scene, &id, "12").await;
    scene.executor.cancel(&id).await.expect("it is driven");
    let run = scene.ended(&id).await;
    assert_eq!((run.run.outcome(), text(&run)), (Some(&Outcome::Canceled), "12".to_owned()));
}

#[tokio::test]
async fn ten_thousand_chunks_cost_the_journal_a_hundred_times_what_a_hundred_do() {
    let bytes = async |chunks: usize| {
        let agent = Scripted::start(true, move |_, _| {
            let pieces = (0..chunks).map(|n| chunk("t", &format!("{n:05} ")));
            let events = working(&[]).into_iter().chain(pieces).collect();
            Reply::Events(ending(events, TaskState::Completed))
        })
        .await;
        let scene = Scene::new().await;
        let run = scene.run(&workflow(&[("x", &agent.url)], ONE)).await;
        assert_eq!(text(&run).len(), 6 * chunks);
        let (mut count, mut bytes, mut after) = (0, 0, Seq(0));
        loop {
            let journal = store::JournalId::new(run.id.as_str());
            let page = scene.store.entries(&account(), &journal, after, 1_000).await;
            let page = page.expect("the store works");
            let Some(newest) = page.last() else { break };
            after = newest.seq;
            for entry in page {
                if entry.bytes.windows(16).any(|bytes| bytes == b"artifact_chunked") {
                    (count, bytes) = (count + 1, bytes + entry.bytes.len());
                }
            }
        }
        assert_eq!(count, chunks);
        bytes
    };
    let (small, large) = (bytes(100).await, bytes(10_000).await);
    // The first of them does not say that it appends.
    assert!(large < small * 101, "{large} bytes for 10,000 chunks, {small} for 100");
}
