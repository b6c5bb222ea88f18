//! A batch happens whole or not at all.

use super::Case;
use super::fixture::{
    Shared, appending, assert_matches, bytes, deleting, entries, lease, me, opening, putting, row,
    text, texts, write, you,
};
use crate::{Batch, BlobId, Expect, Seq, StoreError, Write};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a batch whose last write fails leaves nothing of the others",
        run: |store| Box::pin(all_or_nothing(store)),
    },
    Case {
        name: "a failed batch leaves a store that takes the same batch without its fault",
        run: |store| Box::pin(failing_then_right(store)),
    },
    Case {
        name: "writes of one batch see each other, in order",
        run: |store| Box::pin(in_order(store)),
    },
    Case {
        name: "a batch may write to many journals and tables of many accounts",
        run: |store| Box::pin(across(store)),
    },
    Case { name: "an empty batch is committed", run: |store| Box::pin(empty(store)) },
];

/// Everything a batch can do, to a journal and rows that have never been heard of.
fn everything(lease: &crate::Lease) -> Batch {
    Batch::new()
        .write(opening(&me(), "run", lease.incarnation))
        .write(appending(&me(), "run", 0, &["a", "b"]))
        .write(putting(&me(), "new", "value", Expect::Absent))
        .write(deleting(&me(), "old", Expect::Any))
        .write(Write::blob(me(), bytes("blob")))
        .write(Write::Close { account: me(), journal: "run".into() })
}

async fn all_or_nothing(store: Shared) {
    let mine = lease(&store).await;
    write(&store, putting(&me(), "old", "kept", Expect::Any)).await.expect("a row can be put");
    let faults = [
        putting(&me(), "old", "x", Expect::Absent),
        deleting(&me(), "old", Expect::Absent),
        appending(&me(), "run", 1, &["x"]),
        opening(&me(), "run", mine.incarnation),
        Write::Close { account: me(), journal: "unknown".into() },
    ];
    for fault in faults {
        let mut batch = everything(&mine);
        // The deletion would hide what the first two faults run into.
        batch.writes.retain(|write| !matches!(write, Write::Delete { .. }));
        let result = store.commit(batch.write(fault)).await;
        assert_matches!(result, Err(StoreError::Conflict(_)));
        assert_eq!(texts(&store, "run").await, [""; 0]);
        assert_eq!(row(&store, &me(), "new").await, None);
        let kept = row(&store, &me(), "old").await.expect("the row was there before");
        assert_eq!(text(&kept.value), "kept");
        let blob = store.blob(&me(), &BlobId::of(b"blob")).await.expect("blobs can be read");
        assert_eq!(blob, None);
    }
}

async fn failing_then_right(store: Shared) {
    let mine = lease(&store).await;
    let fault = putting(&me(), "new", "x", Expect::Absent);
    let result = store.commit(everything(&mine).write(fault)).await;
    assert_matches!(result, Err(StoreError::Conflict(_)));
    store.commit(everything(&mine)).await.expect("nothing of the first attempt is left");
    assert_eq!(texts(&store, "run").await, ["a", "b"]);
    assert!(row(&store, &me(), "new").await.is_some());
}

async fn in_order(store: Shared) {
    let mine = lease(&store).await;
    let batch = Batch::new()
        .write(opening(&me(), "run", mine.incarnation))
        .write(appending(&me(), "run", 0, &["a"]))
        .write(appending(&me(), "run", 1, &["b"]))
        .write(putting(&me(), "row", "first", Expect::Absent))
        .write(putting(&me(), "row", "second", Expect::Any))
        .write(putting(&me(), "gone", "x", Expect::Absent))
        .write(deleting(&me(), "gone", Expect::Any));
    store.commit(batch).await.expect("each write meets what the one before left");
    assert_eq!(texts(&store, "run").await, ["a", "b"]);
    let row_value = row(&store, &me(), "row").await.map(|row| text(&row.value));
    assert_eq!(row_value.as_deref(), Some("second"));
    assert_eq!(row(&store, &me(), "gone").await, None);
}

async fn across(store: Shared) {
    let mine = lease(&store).await;
    let mut batch = Batch::new();
    for account in [me(), you()] {
        for name in ["one", "two"] {
            batch = batch
                .write(opening(&account, name, mine.incarnation))
                .write(appending(&account, name, 0, &[name]))
                .write(putting(&account, name, name, Expect::Absent));
        }
    }
    store.commit(batch).await.expect("accounts do not meet");
    for account in [me(), you()] {
        for name in ["one", "two"] {
            let all = entries(&store, &account, name).await;
            assert_eq!((all.len(), all[0].seq), (1, Seq(1)));
            let row = row(&store, &account, name).await.expect("it was put");
            assert_eq!((row.account, text(&row.value).as_str()), (account.clone(), name));
        }
    }
}

async fn empty(store: Shared) {
    store.commit(Batch::new()).await.expect("there is nothing to refuse");
}
