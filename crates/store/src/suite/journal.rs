//! Journals: gapless, in order, never overwritten.

use super::Case;
use super::fixture::{
    LONG, Shared, append, appending, assert_matches, entries, journal, lease, me, open, opening,
    texts, write,
};
use crate::{Batch, Conflict, Seq, StoreError, Write};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "entries are read back in order, numbered from 1 without gaps",
        run: |store| Box::pin(numbered(store)),
    },
    Case {
        name: "an append that expects another end is a conflict and writes nothing",
        run: |store| Box::pin(conflicting(store)),
    },
    Case {
        name: "a journal is opened once, and must be open to be appended to",
        run: |store| Box::pin(opened_once(store)),
    },
    Case {
        name: "a closed journal keeps its entries and may get more",
        run: |store| Box::pin(closed(store)),
    },
    Case {
        name: "an append without entries checks the end and writes nothing",
        run: |store| Box::pin(empty_append(store)),
    },
    Case {
        name: "entries are stamped with the time of the store, never going back",
        run: |store| Box::pin(stamped(store)),
    },
];

async fn numbered(store: Shared) {
    let name = journal(&store, "run").await;
    append(&store, "run", 0, &["a", "b"]).await.expect("the journal is empty");
    append(&store, "run", 2, &["c"]).await.expect("the journal ends at 2");
    let all = entries(&store, &me(), "run").await;
    let numbers: Vec<u64> = all.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(texts(&store, "run").await, ["a", "b", "c"]);
    let middle = store.entries(&me(), &name, Seq(1), 1).await.expect("a journal can be read");
    assert_eq!(middle, all[1..2]);
    let none = store.entries(&me(), &name, Seq(1), 0).await.expect("a journal can be read");
    assert_eq!(none, []);
    let beyond = store.entries(&me(), &name, Seq(u64::MAX), 9).await.expect("it can be read");
    assert_eq!(beyond, []);
}

async fn conflicting(store: Shared) {
    journal(&store, "run").await;
    append(&store, "run", 0, &["a", "b"]).await.expect("the journal is empty");
    for expected in [0, 1, 3, u64::from(u32::MAX)] {
        let result = append(&store, "run", expected, &["x"]).await;
        let conflict = Conflict::JournalMoved {
            account: me(),
            journal: "run".into(),
            expected: Seq(expected),
            found: Seq(2),
        };
        let is_expected = |found: &Conflict| *found == conflict;
        assert_matches!(result, Err(StoreError::Conflict(found)) if is_expected(found));
    }
    assert_eq!(texts(&store, "run").await, ["a", "b"]);
}

async fn opened_once(store: Shared) {
    let mine = lease(&store).await;
    open(&store, &mine, "run").await;
    let again = write(&store, opening(&me(), "run", mine.incarnation)).await;
    assert_matches!(again, Err(StoreError::Conflict(Conflict::JournalExists { .. })));
    let unknown = append(&store, "other", 0, &["a"]).await;
    assert_matches!(unknown, Err(StoreError::Conflict(Conflict::JournalUnknown { .. })));
    assert_eq!(texts(&store, "other").await, [""; 0]);
    let together = Batch::new().write(opening(&me(), "both", mine.incarnation)).write(appending(
        &me(),
        "both",
        0,
        &["first"],
    ));
    store.commit(together).await.expect("a journal can be opened and written in one batch");
    assert_eq!(texts(&store, "both").await, ["first"]);
}

async fn closed(store: Shared) {
    journal(&store, "run").await;
    append(&store, "run", 0, &["a"]).await.expect("the journal is empty");
    let close = |name: &str| Write::Close { account: me(), journal: name.into() };
    write(&store, close("run")).await.expect("an open journal can be closed");
    write(&store, close("run")).await.expect("closing again changes nothing");
    append(&store, "run", 1, &["b"]).await.expect("closing only ends the search for a driver");
    assert_eq!(texts(&store, "run").await, ["a", "b"]);
    let unknown = write(&store, close("other")).await;
    assert_matches!(unknown, Err(StoreError::Conflict(Conflict::JournalUnknown { .. })));
}

async fn empty_append(store: Shared) {
    journal(&store, "run").await;
    append(&store, "run", 0, &[]).await.expect("the journal is empty");
    assert_matches!(append(&store, "run", 1, &[]).await, Err(StoreError::Conflict(_)));
    assert_eq!(texts(&store, "run").await, [""; 0]);
}

async fn stamped(store: Shared) {
    journal(&store, "run").await;
    for after in 0..5 {
        append(&store, "run", after, &["x"]).await.expect("the end is known");
    }
    let stamps: Vec<_> = entries(&store, &me(), "run").await.iter().map(|e| e.at).collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
    let age = jiff::Timestamp::now().duration_since(stamps[0]);
    assert!(age.abs() < LONG.try_into().expect("ten minutes fit"), "{age:?}");
}
