//! The writer groups what has gathered, and a group's fate is shared by all in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::{SqliteStore, folder, open};
use crate::{AccountId, Batch, Expect, Store, StoreError, Table, Tags, Write};

const DEADLINE: Duration = Duration::from_secs(30);

fn put(key: &str, expect: Expect) -> Batch {
    Batch::new().write(Write::Put {
        account: AccountId::from("me"),
        table: Table::new("things"),
        key: key.to_owned(),
        sort: String::new(),
        tags: Tags::default(),
        value: Bytes::new(),
        expect,
    })
}

async fn has(store: &SqliteStore, key: &str) -> bool {
    store.row(&"me".into(), Table::new("things"), key).await.unwrap().is_some()
}

/// Keeps the writer busy until told, as a slow flush would.
async fn hold(store: &Arc<SqliteStore>) -> Sender<()> {
    let (release, gate) = channel::<()>();
    let (started, starts) = tokio::sync::oneshot::channel();
    let store = Arc::clone(store);
    tokio::spawn(async move {
        let holding = store.writer.submit(move |_| {
            started.send(()).unwrap();
            gate.recv().unwrap();
            Ok(())
        });
        holding.await.unwrap();
    });
    starts.await.unwrap();
    release
}

/// Commits all batches at once while the writer is busy, then lets it go on.
async fn together(
    store: &Arc<SqliteStore>,
    batches: Vec<Batch>,
) -> Vec<JoinHandle<Result<(), StoreError>>> {
    let release = hold(store).await;
    let mut commits = Vec::new();
    for (waiting, batch) in (1..).zip(batches) {
        let committing = Arc::clone(store);
        commits.push(tokio::spawn(async move { committing.commit(batch).await }));
        // One after the other, so that their order is known.
        let queued = async {
            while store.writer.waiting() < waiting {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, queued).await.expect("the batch is queued");
    }
    release.send(()).unwrap();
    commits
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_commits_that_gather_share_one_flush() {
    let folder = folder();
    let store = Arc::new(open(&folder));
    let before = store.stats();
    let batches = (0..64).map(|n| put(&n.to_string(), Expect::Absent)).collect();
    for commit in together(&store, batches).await {
        commit.await.unwrap().unwrap();
    }
    let after = store.stats();
    assert_eq!(after.commits - before.commits, 64);
    // One for whatever kept the writer busy, one for all of them.
    assert_eq!(after.flushes - before.flushes, 2);
}

#[tokio::test]
async fn commits_one_after_the_other_cost_one_flush_each_and_refusals_none() {
    let folder = folder();
    let store = open(&folder);
    for n in 0..5 {
        store.commit(put(&n.to_string(), Expect::Absent)).await.unwrap();
        store.commit(put(&n.to_string(), Expect::Absent)).await.unwrap_err();
    }
    assert_eq!((store.stats().commits, store.stats().flushes), (5, 5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_fails_in_a_group_fails_alone() {
    let folder = folder();
    let store = Arc::new(open(&folder));
    let mut half = put("half", Expect::Any);
    half.writes.extend(put("a", Expect::Absent).writes);
    let batches = vec![put("a", Expect::Absent), half, put("b", Expect::Absent)];
    let mut results = Vec::new();
    for commit in together(&store, batches).await {
        results.push(commit.await.unwrap());
    }
    assert!(matches!(results[..], [Ok(()), Err(StoreError::Conflict(_)), Ok(())]), "{results:?}");
    assert!(has(&store, "a").await && has(&store, "b").await && !has(&store, "half").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_cannot_be_flushed_is_told_so_whole_and_leaves_nothing() {
    let folder = folder();
    let store = Arc::new(open(&folder));
    // How many transactions may still commit: this one, and the one that keeps the writer busy.
    let allowed = Arc::new(AtomicI32::new(2));
    let count = Arc::clone(&allowed);
    let forbid = store.writer.submit(move |session| {
        let hook = move || count.fetch_sub(1, Ordering::Relaxed) <= 0;
        session.connection_mut().commit_hook(Some(hook)).unwrap();
        Ok(())
    });
    forbid.await.unwrap();
    // The third would meet the first's row, which is undone with the group: no conflict to tell of.
    let batches =
        || vec![put("a", Expect::Absent), put("b", Expect::Any), put("a", Expect::Absent)];
    for commit in together(&store, batches()).await {
        let error = commit.await.unwrap().unwrap_err();
        assert!(!matches!(error, StoreError::Conflict(_)), "{error}");
    }
    assert!(!has(&store, "a").await && !has(&store, "b").await);
    assert_eq!(store.stats().commits, 0);
    allowed.store(i32::MAX, Ordering::Relaxed);
    let mut results = Vec::new();
    for commit in together(&store, batches()).await {
        results.push(commit.await.unwrap().is_ok());
    }
    assert_eq!(results, [true, true, false]);
}
