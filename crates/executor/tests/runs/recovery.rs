//! A restart is replay: wherever the journal was cut, the run ends as if nothing had happened.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use examples::{Kind, Options};
use executor::{
    ExecutorError, Recorded, RunId,
    run::{Outcome, RunEvent},
};
use protocol::v1::TaskState;
use store::{BlobId, Seq, Store, Write};
use tempfile::TempDir;

use crate::{
    agent::{Asked, Reply, Scripted, done, task},
    scene::{
        Scene, account, attempts, example, executor, is_completed, open, soon, state, workflow,
    },
};

const DIAMOND: &str = "steps:\n  a: {agent: x, message: a}\n  b:\n    agent: x\n    message: b ${{ steps.a.text }}\n  c: {agent: y, message: c, needs: [a]}\n  d:\n    agent: x\n    message:\n      - text: d\n      - artifacts: b\n      - artifacts: c\n";

/// Every blob that a text of the journal names.
fn blobs_in(entries: &[Bytes]) -> BTreeSet<BlobId> {
    let mut found = BTreeSet::new();
    for entry in entries {
        let text = std::str::from_utf8(entry).expect("an entry is JSON");
        for (at, _) in text.match_indices("\"blob\":\"") {
            let id = text[at + 8..].split('"').next().unwrap_or_default();
            found.insert(id.parse().expect("a blob is named by its digest"));
        }
    }
    found
}

async fn entries(store: &dyn Store, run: &Recorded) -> Vec<Bytes> {
    let journal = run.id.as_str().into();
    let found = store.entries(&account(), &journal, Seq(0), 10_000).await.expect("entries");
    found.into_iter().map(|entry| entry.bytes).collect()
}

/// A copy of a run's journal up to `cut` entries in a store of its own, as a crash would leave it.
async fn cut(
    from: &dyn Store,
    run: &RunId,
    all: &[Bytes],
    cut: usize,
) -> (TempDir, Arc<dyn Store>) {
    let folder = TempDir::new().expect("a temporary folder");
    let store = open(folder.path());
    let lease = store.acquire(Duration::from_secs(60)).await.expect("a lease");
    let journal: store::JournalId = run.as_str().into();
    let mut batch = store::Batch::new().write(Write::Open {
        account: account(),
        journal: journal.clone(),
        owner: lease.incarnation,
    });
    for id in blobs_in(&all[..cut]) {
        let bytes = from.blob(&account(), &id).await.expect("the store works").expect("the blob");
        batch = batch.write(Write::blob(account(), bytes));
    }
    batch = batch.write(Write::Append {
        account: account(),
        journal,
        after: Seq(0),
        entries: all[..cut].to_vec(),
    });
    store.commit(batch).await.expect("the copy is written");
    store.release(lease).await.expect("the lease ends");
    (folder, store)
}

#[tokio::test]
async fn a_run_resumed_after_every_prefix_of_its_journal_ends_the_same() {
    let x = example(Kind::Echo, Options::default()).await;
    let y = example(Kind::Echo, Options { streaming: false, ..Options::default() }).await;
    let scene = Scene::new().await;
    let original = scene.run(&workflow(&[("x", &x.url), ("y", &y.url)], DIAMOND)).await;
    assert!(is_completed(&original));
    let outputs = scene.executor.runs().outputs(&original).await.expect("outputs");
    let all = entries(&*scene.store, &original).await;
    assert!(all.len() > 8, "{} entries", all.len());
    let sent: BTreeSet<String> = ids(&x).union(&ids(&y)).cloned().collect();
    for prefix in 1..all.len() {
        let (folder, store) = cut(&*scene.store, &original.id, &all, prefix).await;
        let copy = Scene::over(folder, store).await;
        copy.executor.resume(&original.id).await.expect("it can be resumed");
        let run = copy.ended(&original.id).await;
        assert!(is_completed(&run), "cut after {prefix}");
        let resumed = copy.executor.runs().outputs(&run).await.expect("outputs");
        // The agents live on, and the Messages carry the same ids: even the Tasks are the same.
        assert_eq!(resumed, outputs, "cut after {prefix}");
        for step in ["a", "b", "c", "d"] {
            assert_eq!(attempts(&run, step), 1);
            assert_eq!(state(&run, step), state(&original, step));
        }
    }
    let after: BTreeSet<String> = ids(&x).union(&ids(&y)).cloned().collect();
    assert_eq!(after, sent, "no Message but those of the first run was ever sent");
}

fn ids(agent: &examples::Running) -> BTreeSet<String> {
    agent.calls.all().into_iter().map(|call| call.message_id).collect()
}

#[tokio::test]
async fn a_bound_attempt_is_never_sent_again() {
    let agent = Scripted::start(true, |asked, before| match (asked, before) {
        (Asked::Send(_), _) => Reply::Open(vec![task("t", TaskState::Working).into()]),
        (Asked::Subscribe(_), _) => Reply::Task(done("t", "ok")),
        _ => Reply::Silence,
    })
    .await;
    let scene = Scene::new().await;
    let id = scene
        .start(&workflow(&[("x", &agent.url)], "steps:\n  a: {agent: x, message: hi}\n"))
        .await;
    scene.until(&id, |event| matches!(event, RunEvent::AttemptBound { .. })).await;
    let scene = scene.restarted().await;
    scene.executor.resume(&id).await.expect("it can be resumed");
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    assert_eq!(agent.verbs(), ["send", "subscribe"]);
}

#[tokio::test]
async fn a_task_that_ended_while_nobody_looked_counts_although_its_time_is_up() {
    let agent = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => Reply::Open(vec![task("t", TaskState::Working).into()]),
        Asked::Get(_) => Reply::Task(done("t", "in time")),
        _ => Reply::Silence,
    })
    .await;
    let scene = Scene::new().await;
    let rest = "steps:\n  a: {agent: x, message: hi, timeout: 2s}\n";
    let id = scene.start(&workflow(&[("x", &agent.url)], rest)).await;
    let run = scene.until(&id, |event| matches!(event, RunEvent::AttemptBound { .. })).await;
    let scene = scene.restarted().await;
    let started = run.run.started_at().expect("it has started");
    let is_up = || jiff::Timestamp::now().duration_since(started).as_secs_f64() > 2.1;
    soon("the timeout", async {
        while !is_up() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    scene.executor.resume(&id).await.expect("it can be resumed");
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    assert_eq!(agent.verbs(), ["send", "get"]);
}

#[tokio::test]
async fn a_live_run_cannot_be_taken_by_a_second_executor() {
    let slow = example(Kind::Slow, Options::default()).await;
    let scene = Scene::new().await;
    let id = scene
        .start(&workflow(&[("x", &slow.url)], "steps:\n  a: {agent: x, message: 500ms}\n"))
        .await;
    let second = executor(&scene.store).await;
    let error = second.resume(&id).await.expect_err("it is driven by the first");
    assert!(matches!(error, ExecutorError::OwnedElsewhere { .. }), "{error}");
    let error = second.finished(&id).await.expect_err("it has not ended");
    assert!(matches!(error, ExecutorError::NotDriven { .. }), "{error}");
    let error = second.cancel(&id).await.expect_err("it is not driven there");
    assert!(matches!(error, ExecutorError::NotDriven { .. }), "{error}");
    scene.executor.resume(&id).await.expect("resuming what is driven here changes nothing");
    assert!(is_completed(&scene.ended(&id).await));
    assert!(matches!(second.finished(&id).await, Ok(Outcome::Completed(_))), "anybody may ask");
    second.resume(&id).await.expect("resuming what has ended changes nothing");
    assert_eq!(slow.calls.count(), 1);
}

#[tokio::test]
async fn a_run_can_be_waited_for_before_and_after_its_end() {
    let echo = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new().await;
    let id = scene
        .start(&workflow(&[("x", &echo.url)], DIAMOND.replace("agent: y", "agent: x").as_str()))
        .await;
    let first = soon("the end", scene.executor.finished(&id)).await.expect("it ends");
    let again = scene.executor.finished(&id).await.expect("it has ended");
    assert_eq!(first, again);
    let unknown = scene.executor.finished(&RunId::generate()).await.expect_err("no such run");
    assert!(matches!(unknown, ExecutorError::UnknownRun { .. }), "{unknown}");
}

#[tokio::test]
async fn runs_that_were_under_way_at_a_shutdown_go_on_after_it() {
    let slow = example(Kind::Slow, Options::default()).await;
    let scene = Scene::new().await;
    let yaml = workflow(
        &[("x", &slow.url)],
        "steps:\n  a: {agent: x, message: 1s}\n  b: {agent: x, message: 1ms, needs: [a]}\n",
    );
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(scene.start(&yaml).await);
    }
    scene.until(&ids[4], |event| matches!(event, RunEvent::AttemptBound { .. })).await;
    let Scene { folder, store, executor } = scene;
    executor.shutdown().await.expect("it stops");
    drop(store);
    let store = open(folder.path());
    let scene = Scene::over(folder, store).await;
    let resumed = scene.executor.resume_all().await.expect("they can be resumed");
    assert_eq!(resumed, ids);
    assert_eq!(scene.executor.resume_all().await.expect("none is left"), []);
    for id in &ids {
        assert!(is_completed(&scene.ended(id).await));
    }
    let texts: Vec<String> = slow.calls.all().into_iter().map(|call| call.message_id).collect();
    let unique: BTreeSet<&String> = texts.iter().collect();
    assert_eq!(unique.len(), 10);
}
