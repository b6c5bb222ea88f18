//! Waiting for appends: prompt, bounded, and without a lost wake-up.

use std::time::Duration;

use super::Case;
use super::fixture::{LONG, Shared, append, appending, journal, lease, me, open, opening};
use crate::{Batch, Seq};

pub(super) const CASES: &[Case] = &[
    Case { name: "what is there already is told at once", run: |store| Box::pin(at_once(store)) },
    Case {
        name: "a wait ends when its time is up, with the last sequence",
        run: |store| Box::pin(in_time(store)),
    },
    Case {
        name: "a wait ends with the append, also of a journal opened meanwhile",
        run: |store| Box::pin(woken(store)),
    },
    Case {
        name: "a follower misses no entry of a writer that never waits",
        run: |store| Box::pin(followed(store)),
    },
];

async fn wait(store: &Shared, name: &str, after: u64, at_most: Duration) -> Seq {
    store
        .appended(&me(), &name.into(), Seq(after), at_most)
        .await
        .expect("a journal can be waited for")
}

async fn at_once(store: Shared) {
    journal(&store, "run").await;
    append(&store, "run", 0, &["a", "b"]).await.expect("the journal is empty");
    for after in 0..2 {
        assert_eq!(wait(&store, "run", after, LONG).await, Seq(2));
    }
}

async fn in_time(store: Shared) {
    let short = Duration::from_millis(5);
    assert_eq!(wait(&store, "run", 0, short).await, Seq(0));
    journal(&store, "run").await;
    append(&store, "run", 0, &["a"]).await.expect("the journal is empty");
    assert_eq!(wait(&store, "run", 1, short).await, Seq(1));
    assert_eq!(wait(&store, "run", 7, Duration::ZERO).await, Seq(1));
}

async fn woken(store: Shared) {
    let mine = lease(&store).await;
    open(&store, &mine, "bystander").await;
    let waiters: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { wait(&store, "run", 1, LONG).await })
        })
        .collect();
    tokio::task::yield_now().await;
    append(&store, "bystander", 0, &["x", "y"]).await.expect("the journal is empty");
    let batch = Batch::new().write(opening(&me(), "run", mine.incarnation)).write(appending(
        &me(),
        "run",
        0,
        &["a"],
    ));
    store.commit(batch).await.expect("the journal is new");
    append(&store, "run", 1, &["b"]).await.expect("the journal ends at 1");
    for waiter in waiters {
        let woken = tokio::time::timeout(LONG, waiter).await.expect("it was woken");
        assert_eq!(woken.expect("it did not panic"), Seq(2));
    }
}

async fn followed(store: Shared) {
    const COUNT: u64 = 200;
    journal(&store, "run").await;
    let writer = {
        let store = store.clone();
        tokio::spawn(async move {
            for after in 0..COUNT {
                append(&store, "run", after, &["x"]).await.expect("nobody else writes");
            }
        })
    };
    let mut last = Seq::ZERO;
    while last < Seq(COUNT) {
        let told = wait(&store, "run", last.0, LONG).await;
        assert!(told > last, "the time was not up");
        let new = store.entries(&me(), &"run".into(), last, usize::MAX).await;
        let new = new.expect("a journal can be read");
        assert!(new.len() as u64 >= told.0 - last.0, "an entry was told before it could be read");
        last = new.last().expect("there is one").seq;
    }
    writer.await.expect("the writer did not panic");
}
