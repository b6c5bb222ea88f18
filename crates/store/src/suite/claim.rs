//! Claims: every open journal without a living owner finds exactly one.

use std::collections::HashSet;

use super::Case;
use super::fixture::{Shared, append, assert_matches, expire, lease, me, open, write, you};
use crate::{Claim, Claimed, Epoch, JournalId, Lease, Seq, StoreError, Write};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "what a living lease owns cannot be claimed, by nobody",
        run: |store| Box::pin(living(store)),
    },
    Case {
        name: "journals of an ended lease are claimed, longest opened first, up to the limit",
        run: |store| Box::pin(limited(store)),
    },
    Case {
        name: "a released lease gives its journals free at once",
        run: |store| Box::pin(released(store)),
    },
    Case {
        name: "one journal can be claimed by name, if it is free",
        run: |store| Box::pin(one(store)),
    },
    Case { name: "a closed journal is never claimed", run: |store| Box::pin(closed(store)) },
    Case {
        name: "a claim tells where the journal ends and raises its epoch",
        run: |store| Box::pin(told(store)),
    },
    Case { name: "an ended lease claims nothing", run: |store| Box::pin(dead_claimant(store)) },
    Case {
        name: "claimants that run at once never share a journal and leave none",
        run: |store| Box::pin(never_shared(store)),
    },
];

const ANY: Claim = Claim::Any { limit: usize::MAX };

async fn claim(store: &Shared, lease: &Lease, which: Claim) -> Vec<Claimed> {
    store.claim(lease, which).await.expect("the claimant's lease is alive")
}

fn names(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|one| one.owned.journal.as_str()).collect()
}

/// Opens journals under a lease that ends at once.
async fn orphans(store: &Shared, names: &[&str]) {
    let dead = lease(store).await;
    for name in names {
        open(store, &dead, name).await;
    }
    expire(store, &dead).await;
}

async fn living(store: Shared) {
    let (mine, other) = (lease(&store).await, lease(&store).await);
    open(&store, &mine, "run").await;
    assert_eq!(claim(&store, &other, ANY).await, []);
    assert_eq!(claim(&store, &mine, ANY).await, []);
    let by_name = Claim::One { account: me(), journal: "run".into() };
    assert_eq!(claim(&store, &other, by_name).await, []);
}

async fn limited(store: Shared) {
    orphans(&store, &["c", "a", "b", "d"]).await;
    let mine = lease(&store).await;
    assert_eq!(claim(&store, &mine, Claim::Any { limit: 0 }).await, []);
    assert_eq!(names(&claim(&store, &mine, Claim::Any { limit: 2 }).await), ["c", "a"]);
    assert_eq!(names(&claim(&store, &mine, Claim::Any { limit: 9 }).await), ["b", "d"]);
    assert_eq!(claim(&store, &mine, ANY).await, []);
}

async fn released(store: Shared) {
    let (mine, other) = (lease(&store).await, lease(&store).await);
    open(&store, &mine, "run").await;
    store.release(mine).await.expect("a lease can be released");
    assert_eq!(names(&claim(&store, &other, ANY).await), ["run"]);
}

async fn one(store: Shared) {
    orphans(&store, &["a", "b"]).await;
    let mine = lease(&store).await;
    let named = |account, name: &str| Claim::One { account, journal: name.into() };
    assert_eq!(claim(&store, &mine, named(you(), "b")).await, []);
    assert_eq!(claim(&store, &mine, named(me(), "unknown")).await, []);
    assert_eq!(names(&claim(&store, &mine, named(me(), "b")).await), ["b"]);
    assert_eq!(claim(&store, &mine, named(me(), "b")).await, []);
    assert_eq!(names(&claim(&store, &mine, ANY).await), ["a"]);
}

async fn closed(store: Shared) {
    orphans(&store, &["run"]).await;
    write(&store, Write::Close { account: me(), journal: "run".into() }).await.expect("it is open");
    let mine = lease(&store).await;
    assert_eq!(claim(&store, &mine, ANY).await, []);
    let named = Claim::One { account: me(), journal: "run".into() };
    assert_eq!(claim(&store, &mine, named).await, []);
}

async fn told(store: Shared) {
    orphans(&store, &["run"]).await;
    append(&store, "run", 0, &["a", "b"]).await.expect("the journal is empty");
    for epoch in 2..5 {
        let mine = lease(&store).await;
        let claimed = claim(&store, &mine, ANY).await;
        let [Claimed { owned, last }] = &claimed[..] else {
            panic!("one journal is free: {claimed:?}");
        };
        assert_eq!((&owned.account, owned.journal.as_str()), (&me(), "run"));
        assert_eq!((owned.incarnation, owned.epoch), (mine.incarnation, Epoch(epoch)));
        assert_eq!(*last, Seq(2));
        store.release(mine).await.expect("a lease can be released");
    }
}

async fn dead_claimant(store: Shared) {
    orphans(&store, &["run"]).await;
    let dead = lease(&store).await;
    expire(&store, &dead).await;
    assert_matches!(store.claim(&dead, ANY).await, Err(StoreError::Fenced(_)));
    assert_eq!(names(&claim(&store, &lease(&store).await, ANY).await), ["run"]);
}

async fn never_shared(store: Shared) {
    let all: Vec<String> = (0..60).map(|n| format!("run {n}")).collect();
    orphans(&store, &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut claimants = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let store = store.clone();
        claimants.spawn(async move {
            let mine = lease(&store).await;
            let mut got: Vec<JournalId> = Vec::new();
            loop {
                let claimed = claim(&store, &mine, Claim::Any { limit: 3 }).await;
                if claimed.is_empty() {
                    return got;
                }
                got.extend(claimed.into_iter().map(|one| one.owned.journal));
            }
        });
    }
    let got: Vec<JournalId> = claimants.join_all().await.into_iter().flatten().collect();
    assert_eq!(got.len(), all.len(), "a journal was claimed twice, or never");
    assert_eq!(got.iter().collect::<HashSet<_>>().len(), all.len());
}
