//! Rows: compare-and-set, versions that never repeat.

use super::Case;
use super::fixture::{
    Shared, TABLE, assert_matches, bytes, deleting, me, putting, row, tagging, text, write,
};
use crate::{Conflict, Expect, StoreError, Version, Write};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a row is read back with its sort key, tags and value",
        run: |store| Box::pin(read_back(store)),
    },
    Case { name: "a row that must be absent is put once", run: |store| Box::pin(absent(store)) },
    Case {
        name: "a row that must be unchanged is put only over the version that was read",
        run: |store| Box::pin(unchanged(store)),
    },
    Case {
        name: "of many who change one version exactly one succeeds",
        run: |store| Box::pin(racing(store)),
    },
    Case { name: "a deletion obeys its condition", run: |store| Box::pin(deleted(store)) },
    Case {
        name: "a version does not come back with a row that was deleted and put again",
        run: |store| Box::pin(reborn(store)),
    },
];

async fn version(store: &Shared, key: &str) -> Version {
    row(store, &me(), key).await.expect("the row was put").version
}

async fn read_back(store: Shared) {
    let first = tagging(&me(), "key", "sort", ["a", "", "c", "ü"]);
    write(&store, first).await.expect("a row can be put");
    let read = row(&store, &me(), "key").await.expect("it was put");
    assert_eq!((read.account, read.key.as_str(), read.sort.as_str()), (me(), "key", "sort"));
    let tags = [Some("a".to_owned()), None, Some("c".to_owned()), Some("ü".to_owned())];
    assert_eq!(read.tags, tags);
    assert!(read.value.is_empty());
    let moved = Write::Put {
        account: me(),
        table: TABLE,
        key: "key".to_owned(),
        sort: "elsewhere".to_owned(),
        tags: [None, None, None, Some("d".to_owned())],
        value: bytes("value"),
        expect: Expect::Any,
    };
    write(&store, moved).await.expect("a row can be put again");
    let read = row(&store, &me(), "key").await.expect("it was put");
    assert_eq!(read.sort, "elsewhere");
    assert_eq!(read.tags, [None, None, None, Some("d".to_owned())]);
    assert_eq!(text(&read.value), "value");
    assert_eq!(row(&store, &me(), "other").await, None);
}

async fn absent(store: Shared) {
    let put = || putting(&me(), "key", "x", Expect::Absent);
    write(&store, put()).await.expect("the row is absent");
    let found = version(&store, "key").await;
    let conflict = Conflict::RowExists { table: TABLE, key: "key".to_owned(), found };
    let result = write(&store, put()).await;
    assert_matches!(result, Err(StoreError::Conflict(other)) if *other == conflict);
}

async fn unchanged(store: Shared) {
    write(&store, putting(&me(), "key", "1", Expect::Any)).await.expect("a row can be put");
    let first = version(&store, "key").await;
    let put = |value, version| putting(&me(), "key", value, Expect::Version(version));
    write(&store, put("2", first)).await.expect("nobody has changed it");
    let second = version(&store, "key").await;
    assert!(second > first);
    let conflict = Conflict::RowMoved {
        table: TABLE,
        key: "key".to_owned(),
        expected: first,
        found: Some(second),
    };
    let result = write(&store, put("3", first)).await;
    assert_matches!(result, Err(StoreError::Conflict(other)) if *other == conflict);
    assert_eq!(row(&store, &me(), "key").await.map(|row| text(&row.value)).as_deref(), Some("2"));
    let missing = write(&store, putting(&me(), "none", "x", Expect::Version(first))).await;
    assert_matches!(missing, Err(StoreError::Conflict(Conflict::RowMoved { found: None, .. })));
}

async fn racing(store: Shared) {
    write(&store, putting(&me(), "key", "0", Expect::Any)).await.expect("a row can be put");
    let start = version(&store, "key").await;
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = store.clone();
        racers.spawn(async move {
            let put = putting(&me(), "key", &number.to_string(), Expect::Version(start));
            write(&store, put).await.is_ok()
        });
    }
    let winners = racers.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(winners, 1);
}

async fn deleted(store: Shared) {
    write(&store, deleting(&me(), "key", Expect::Any)).await.expect("nothing to delete is fine");
    write(&store, deleting(&me(), "key", Expect::Absent)).await.expect("it is absent");
    write(&store, putting(&me(), "key", "1", Expect::Any)).await.expect("a row can be put");
    let first = version(&store, "key").await;
    let exists = write(&store, deleting(&me(), "key", Expect::Absent)).await;
    assert_matches!(exists, Err(StoreError::Conflict(Conflict::RowExists { .. })));
    write(&store, putting(&me(), "key", "2", Expect::Any)).await.expect("a row can be put");
    let moved = write(&store, deleting(&me(), "key", Expect::Version(first))).await;
    assert_matches!(moved, Err(StoreError::Conflict(Conflict::RowMoved { .. })));
    let second = version(&store, "key").await;
    write(&store, deleting(&me(), "key", Expect::Version(second))).await.expect("unchanged");
    assert_eq!(row(&store, &me(), "key").await, None);
    let gone = write(&store, deleting(&me(), "key", Expect::Version(second))).await;
    assert_matches!(gone, Err(StoreError::Conflict(Conflict::RowMoved { found: None, .. })));
}

async fn reborn(store: Shared) {
    let mut seen = Vec::new();
    for _ in 0..3 {
        write(&store, putting(&me(), "key", "x", Expect::Absent)).await.expect("it is absent");
        seen.push(version(&store, "key").await);
        write(&store, deleting(&me(), "key", Expect::Any)).await.expect("it can be deleted");
    }
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
}
