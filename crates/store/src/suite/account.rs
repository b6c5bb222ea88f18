//! Accounts: the same names in two of them are two different things, in every call.

use std::time::Duration;

use super::Case;
use super::fixture::{
    Shared, TABLE, append, appending, assert_matches, bytes, deleting, entries, journal, lease, me,
    opening, putting, row, texts, write, you,
};
use crate::{BlobId, Conflict, Expect, PageQuery, Seq, StoreError, Write};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "journals of one account are unknown to another",
        run: |store| Box::pin(journals(store)),
    },
    Case {
        name: "rows of one account are invisible to another, and cannot be changed by it",
        run: |store| Box::pin(rows(store)),
    },
    Case {
        name: "a blob of one account cannot be read by another that knows its digest",
        run: |store| Box::pin(blobs(store)),
    },
];

async fn journals(store: Shared) {
    journal(&store, "run").await;
    append(&store, "run", 0, &["secret"]).await.expect("the journal is empty");
    assert_eq!(entries(&store, &you(), "run").await, []);
    let last = store.appended(&you(), &"run".into(), Seq::ZERO, Duration::ZERO).await;
    assert_eq!(last.expect("it can be asked"), Seq::ZERO);
    let unknown = [
        appending(&you(), "run", 1, &["x"]),
        Write::Close { account: you(), journal: "run".into() },
    ];
    for attempt in unknown {
        let result = write(&store, attempt).await;
        assert_matches!(result, Err(StoreError::Conflict(Conflict::JournalUnknown { .. })));
    }
    let yours = lease(&store).await;
    write(&store, opening(&you(), "run", yours.incarnation)).await.expect("the name is free");
    write(&store, appending(&you(), "run", 0, &["yours"])).await.expect("it is empty");
    assert_eq!(texts(&store, "run").await, ["secret"]);
}

async fn rows(store: Shared) {
    write(&store, putting(&me(), "key", "secret", Expect::Absent)).await.expect("it is absent");
    let mine = row(&store, &me(), "key").await.expect("it was put");
    assert_eq!(row(&store, &you(), "key").await, None);
    let page = store.page(&PageQuery::new(Some(you()), TABLE)).await.expect("it can be read");
    assert_eq!((page.rows.len(), page.total), (0, 0));
    let stolen = Expect::Version(mine.version);
    for attempt in [putting(&you(), "key", "x", stolen), deleting(&you(), "key", stolen)] {
        let result = write(&store, attempt).await;
        assert_matches!(result, Err(StoreError::Conflict(Conflict::RowMoved { found: None, .. })));
    }
    write(&store, putting(&you(), "key", "yours", Expect::Absent)).await.expect("it is absent");
    write(&store, deleting(&you(), "key", Expect::Any)).await.expect("it is theirs");
    assert_eq!(row(&store, &me(), "key").await, Some(mine));
}

async fn blobs(store: Shared) {
    let id = BlobId::of(b"secret");
    write(&store, Write::blob(me(), bytes("secret"))).await.expect("a blob can be stored");
    assert_eq!(store.blob(&you(), &id).await.expect("it can be asked"), None);
    write(&store, Write::blob(you(), bytes("secret"))).await.expect("a blob can be stored");
    assert!(store.blob(&you(), &id).await.expect("it can be read").is_some());
}
