//! Fences: whoever lost a lease or a journal writes nothing.

use std::time::Duration;

use super::Case;
use super::fixture::{
    LONG, Shared, appending, assert_matches, expire, lease, me, open, opening, putting, row, texts,
    write, you,
};
use crate::{Batch, Claim, Epoch, Expect, Fencing, Incarnation, Owned, StoreError, Write};

pub(super) const CASES: &[Case] = &[
    Case { name: "an owner whose lease is alive commits", run: |store| Box::pin(held(store)) },
    Case {
        name: "an owner whose lease has ended is fenced, though nobody took the journal",
        run: |store| Box::pin(expired(store)),
    },
    Case {
        name: "an owner whose journal was claimed is fenced, and the claimant is not",
        run: |store| Box::pin(stolen(store)),
    },
    Case {
        name: "no fence holds on another epoch, incarnation, journal, or a closed one",
        run: |store| Box::pin(wrong(store)),
    },
    Case {
        name: "one fence of many that fails fences the whole batch",
        run: |store| Box::pin(one_of_many(store)),
    },
    Case {
        name: "a journal is opened only under a lease that is alive",
        run: |store| Box::pin(opened(store)),
    },
    Case {
        name: "a lease lasts as long as it was asked for, and renewals move its end",
        run: |store| Box::pin(lasting(store)),
    },
    Case {
        name: "a lease that ended or was released cannot be renewed",
        run: |store| Box::pin(ended(store)),
    },
];

/// Tries to write under a fence, and makes sure that a refusal wrote nothing.
async fn attempt(store: &Shared, fence: &Owned) -> Result<(), StoreError> {
    let before = row(store, &me(), "key").await.map(|row| row.version);
    let put = putting(&me(), "key", "x", Expect::Any);
    let result = store.commit(Batch::new().fence(fence.clone()).write(put)).await;
    let after = row(store, &me(), "key").await.map(|row| row.version);
    assert_eq!(result.is_ok(), before != after);
    result
}

async fn held(store: Shared) {
    let mine = lease(&store).await;
    let owned = open(&store, &mine, "run").await;
    attempt(&store, &owned).await.expect("the lease is alive");
    store.renew(&mine, LONG).await.expect("the lease is alive");
    attempt(&store, &owned).await.expect("a renewed lease is the same lease");
}

async fn expired(store: Shared) {
    let mine = lease(&store).await;
    let owned = open(&store, &mine, "run").await;
    expire(&store, &mine).await;
    let result = attempt(&store, &owned).await;
    let ended = Fencing::LeaseEnded { incarnation: mine.incarnation };
    assert_matches!(result, Err(StoreError::Fenced(fencing)) if *fencing == ended);
}

async fn stolen(store: Shared) {
    let (mine, other) = (lease(&store).await, lease(&store).await);
    let owned = open(&store, &mine, "run").await;
    expire(&store, &mine).await;
    let claimed = store.claim(&other, Claim::Any { limit: 9 }).await.expect("the lease is alive");
    assert_matches!(attempt(&store, &owned).await, Err(StoreError::Fenced(_)));
    let taken = &claimed[0].owned;
    assert_eq!((taken.incarnation, taken.epoch), (other.incarnation, Epoch(2)));
    attempt(&store, taken).await.expect("the claimant owns it");
    // Back to the first epoch's owner under its new life: the old right stays lost.
    store.release(other).await.expect("a lease can be released");
    let again = lease(&store).await;
    let one = Claim::One { account: me(), journal: "run".into() };
    let claimed = store.claim(&again, one).await.expect("the lease is alive");
    assert_eq!(claimed[0].owned.epoch, Epoch(3));
    assert_matches!(attempt(&store, taken).await, Err(StoreError::Fenced(_)));
}

async fn wrong(store: Shared) {
    let (mine, other) = (lease(&store).await, lease(&store).await);
    let owned = open(&store, &mine, "run").await;
    let not_owned = [
        Owned { epoch: Epoch(2), ..owned.clone() },
        Owned { epoch: Epoch(0), ..owned.clone() },
        Owned { incarnation: other.incarnation, ..owned.clone() },
        Owned { journal: "unknown".into(), ..owned.clone() },
        Owned { account: you(), ..owned.clone() },
    ];
    for fence in not_owned {
        let result = attempt(&store, &fence).await;
        assert_matches!(result, Err(StoreError::Fenced(Fencing::NotOwned { .. })));
    }
    let stranger = Owned { incarnation: Incarnation(uuid::Uuid::nil()), ..owned.clone() };
    let result = attempt(&store, &stranger).await;
    assert_matches!(result, Err(StoreError::Fenced(Fencing::LeaseEnded { .. })));
    let close = Write::Close { account: me(), journal: "run".into() };
    let closing = Batch::new().fence(owned.clone()).write(close);
    store.commit(closing).await.expect("the owner may close");
    let result = attempt(&store, &owned).await;
    assert_matches!(result, Err(StoreError::Fenced(Fencing::NotOwned { .. })));
}

async fn one_of_many(store: Shared) {
    let (mine, other) = (lease(&store).await, lease(&store).await);
    let good = open(&store, &mine, "good").await;
    let bad = open(&store, &other, "bad").await;
    expire(&store, &other).await;
    for fences in [[good.clone(), bad.clone()], [bad, good]] {
        let writes = vec![appending(&me(), "good", 0, &["x"])];
        let result = store.commit(Batch { fences: fences.to_vec(), writes }).await;
        assert_matches!(result, Err(StoreError::Fenced(_)));
    }
    assert_eq!(texts(&store, "good").await, [""; 0]);
}

async fn opened(store: Shared) {
    let mine = lease(&store).await;
    expire(&store, &mine).await;
    for owner in [mine.incarnation, Incarnation(uuid::Uuid::nil())] {
        let result = write(&store, opening(&me(), "run", owner)).await;
        assert_matches!(
            result,
            Err(StoreError::Fenced(Fencing::LeaseEnded { incarnation })) if *incarnation == owner
        );
    }
}

async fn lasting(store: Shared) {
    let hour = Duration::from_secs(3600);
    let lasts = |lease: &crate::Lease| {
        let left = lease.expires_at.duration_since(jiff::Timestamp::now());
        Duration::try_from(left).expect("it has not ended")
    };
    let short = lease(&store).await;
    assert!(lasts(&short) <= LONG + LONG, "{short:?}");
    let long = store.renew(&short, hour).await.expect("it is alive");
    assert_eq!(long.incarnation, short.incarnation);
    assert!(lasts(&long) > hour - LONG, "{long:?}");
    let forever = store.acquire(Duration::MAX).await.expect("any duration is taken");
    assert!(lasts(&forever) > hour);
    assert_ne!(forever.incarnation, short.incarnation);
}

async fn ended(store: Shared) {
    let mine = lease(&store).await;
    expire(&store, &mine).await;
    assert_matches!(store.renew(&mine, LONG).await, Err(StoreError::Fenced(_)));
    let mine = lease(&store).await;
    store.release(mine.clone()).await.expect("a lease can be released");
    assert_matches!(store.renew(&mine, LONG).await, Err(StoreError::Fenced(_)));
    store.release(mine).await.expect("releasing again changes nothing");
    let stillborn = store.acquire(Duration::ZERO).await.expect("any duration is taken");
    assert_matches!(store.renew(&stillborn, LONG).await, Err(StoreError::Fenced(_)));
}
