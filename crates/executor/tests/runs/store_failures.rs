//! Commit before tell, also when the commit fails.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use examples::{Kind, Options, Running};
use executor::{ExecutorError, Recorded, RunQuery, run::RunEvent};
use store::Store;
use tempfile::TempDir;

use crate::{
    failing_store::{FailingStore, Fails},
    scene::{Scene, attempts, example, is_completed, new_run, open, plan, soon, workflow},
};

const CHAIN: &str = "steps:\n  a: {agent: x, message: a}\n  b: {agent: x, message: b, needs: [a]}\n  c: {agent: x, message: c, needs: [b]}\n";

pub(crate) async fn scene(which: std::ops::Range<usize>, how: Fails) -> (Scene, Arc<FailingStore>) {
    let folder = TempDir::new().expect("a temporary folder");
    let store = Arc::new(FailingStore::new(open(folder.path()), which, how));
    let shared: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
    (Scene::over(folder, shared).await, store)
}

/// Nothing may have been sent that the journal does not know of.
fn check_sent(run: &Recorded, agent: &Running) {
    let intended: BTreeSet<&str> = run
        .events
        .iter()
        .filter_map(|event| match event {
            RunEvent::AttemptStarted { intent, .. } => Some(intent.message_id.as_str()),
            _ => None,
        })
        .collect();
    for call in agent.calls.all() {
        assert!(intended.contains(call.message_id.as_str()), "{call:?} is not in the journal");
    }
}

#[tokio::test]
async fn a_run_goes_on_by_itself_after_a_commit_that_failed() {
    for how in [Fails::Unwritten, Fails::Unheard] {
        // The first commit is the start itself: its failure is the caller's to hear.
        for failing in 1..8 {
            let echo = example(Kind::Echo, Options::default()).await;
            let (scene, _) = scene(failing..failing + 1, how).await;
            let run = scene.run(&workflow(&[("x", &echo.url)], CHAIN)).await;
            assert!(is_completed(&run), "{how:?} {failing}");
            check_sent(&run, &echo);
            for step in ["a", "b", "c"] {
                assert_eq!(attempts(&run, step), 1, "a failure of ours is no failed attempt");
            }
            let ids: BTreeSet<String> =
                echo.calls.all().into_iter().map(|call| call.message_id).collect();
            assert_eq!(ids.len(), 3, "what is sent again is sent under the same id");
        }
    }
}

#[tokio::test]
async fn a_run_that_cannot_be_committed_does_not_start() {
    let echo = example(Kind::Echo, Options::default()).await;
    let (scene, _) = scene(0..1, Fails::Unwritten).await;
    let plan = plan(&workflow(&[("x", &echo.url)], CHAIN)).await;
    let error = scene.executor.start(new_run(plan)).await.expect_err("the store fails");
    assert!(matches!(error, ExecutorError::Store(_)), "{error}");
    assert_eq!(scene.executor.runs().list(RunQuery::default()).await.expect("a list").total, 0);
    assert_eq!(echo.calls.count(), 0);
}

#[tokio::test]
async fn a_run_whose_store_stays_broken_stops_and_can_be_resumed_here() {
    let echo = example(Kind::Echo, Options::default()).await;
    let (scene, store) = scene(2..usize::MAX, Fails::Unwritten).await;
    let id = scene.start(&workflow(&[("x", &echo.url)], CHAIN)).await;
    let error = soon("the end", scene.executor.finished(&id)).await.expect_err("it stops");
    assert!(matches!(&error, ExecutorError::DriverStopped { .. }), "{error}");
    assert!(error.to_string().contains("as the test wants it"), "{error}");
    assert!(store.commits() > 5, "it was tried several times");
    let error = scene.executor.resume(&id).await.expect_err("it is broken still");
    assert!(matches!(&error, ExecutorError::Store(_)), "{error}");
    store.heal();
    scene.executor.resume(&id).await.expect("it works again");
    let run = scene.ended(&id).await;
    assert!(is_completed(&run));
    check_sent(&run, &echo);
}

#[tokio::test]
async fn a_cancel_is_not_lost_when_the_store_fails() {
    let slow = example(Kind::Slow, Options::default()).await;
    // Start, bind, then the cancel itself fails.
    let (scene, _) = scene(2..3, Fails::Unwritten).await;
    let id = scene
        .start(&workflow(&[("x", &slow.url)], "steps:\n  a: {agent: x, message: 30s}\n"))
        .await;
    scene.until(&id, |event| matches!(event, RunEvent::AttemptBound { .. })).await;
    scene.executor.cancel(&id).await.expect("it is driven here");
    let run = scene.ended(&id).await;
    assert_eq!(run.run.outcome(), Some(&executor::run::Outcome::Canceled));
}

#[tokio::test]
async fn a_run_that_was_taken_away_stops_at_once_and_another_executor_ends_it() {
    for failing in 1..5 {
        let echo = example(Kind::Echo, Options::default()).await;
        let (scene, store) = scene(failing..failing + 1, Fails::Fenced).await;
        let id = scene.start(&workflow(&[("x", &echo.url)], CHAIN)).await;
        let stopped = soon("the end", scene.executor.finished(&id)).await;
        assert!(stopped.is_err(), "{stopped:?}");
        let commits = store.commits();
        let scene = scene.restarted().await;
        assert_eq!(store.commits(), commits, "a fenced driver writes no more");
        scene.executor.resume(&id).await.expect("it can be resumed");
        let run = scene.ended(&id).await;
        assert!(is_completed(&run));
        check_sent(&run, &echo);
    }
}

#[tokio::test]
async fn a_process_that_lost_its_lease_drives_nothing_any_more() {
    let slow = example(Kind::Slow, Options::default()).await;
    let (scene, store) = scene(0..0, Fails::Unwritten).await;
    let yaml = workflow(&[("x", &slow.url)], "steps:\n  a: {agent: x, message: 30s}\n");
    let id = scene.start(&yaml).await;
    store.lose_lease();
    let error = soon("the end", scene.executor.finished(&id)).await.expect_err("it stops");
    assert!(error.to_string().contains("lost its lease"), "{error}");
    assert_eq!(scene.executor.trouble().as_deref(), Some(&*ExecutorError::LeaseLost.to_string()));
    let error = scene.executor.resume(&id).await.expect_err("it is another's to drive");
    assert!(matches!(error, ExecutorError::LeaseLost), "{error}");
    let error = scene.executor.start(new_run(plan(&yaml).await)).await.expect_err("nothing starts");
    assert!(matches!(error, ExecutorError::LeaseLost), "{error}");
    assert_eq!(slow.calls.count(), 1);
}

#[tokio::test]
async fn a_lease_that_cannot_be_renewed_is_trouble_until_it_can() {
    let (scene, store) = scene(0..0, Fails::Unwritten).await;
    assert_eq!(scene.executor.trouble(), None);
    let until = async |is_trouble: bool| {
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        soon("the change", async {
            while scene.executor.trouble().is_some() != is_trouble {
                looks.tick().await;
            }
        })
        .await;
    };
    store.delay_renewal(true);
    until(true).await;
    store.delay_renewal(false);
    until(false).await;
}
