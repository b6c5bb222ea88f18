//! Disks that are full, read-only or damaged.

use bytes::Bytes;

use super::{SqliteStore, folder, open};
use crate::{
    AccountId, Batch, Expect, Invalid, JournalId, Seq, Store, StoreError, Table, Tags, Write,
};

fn put(key: &str, bytes: usize) -> Batch {
    Batch::new().write(Write::Put {
        account: AccountId::from("me"),
        table: Table::new("things"),
        key: key.to_owned(),
        sort: String::new(),
        tags: Tags::default(),
        value: Bytes::from(vec![7; bytes]),
        expect: Expect::Any,
    })
}

async fn has(store: &SqliteStore, key: &str) -> bool {
    store.row(&"me".into(), Table::new("things"), key).await.unwrap().is_some()
}

/// Shows an error as it reads wherever the folder is.
fn without_folder(error: &StoreError, folder: &tempfile::TempDir) -> String {
    error.to_string().replace(&folder.path().display().to_string(), "[folder]")
}

/// Lets the writer run a statement of the test's.
async fn run(store: &SqliteStore, sql: &'static str) {
    let work = store.writer.submit(move |session| {
        session.connection().execute_batch(sql).unwrap();
        Ok(())
    });
    work.await.unwrap();
}

/// Lets the database grow to so many pages of 4 KiB.
async fn allow_pages(store: &SqliteStore, pages: u32) {
    let work = store.writer.submit(move |session| {
        session.connection().pragma_update(None, "max_page_count", pages).unwrap();
        Ok(())
    });
    work.await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_retryable_loses_nothing_and_passes() {
    let folder = folder();
    let store = open(&folder);
    store.commit(put("before", 10)).await.unwrap();
    allow_pages(&store, 64).await;
    let error = store.commit(put("large", 1 << 20)).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    insta::assert_snapshot!(without_folder(&error, &folder), @"writing to the store in [folder]/convoke.db failed: database or disk is full; nothing was acknowledged. Check that the data folder is writable and its disk has room, then try again");
    assert!(has(&store, "before").await && !has(&store, "large").await);
    store.commit(put("small", 10)).await.unwrap();
    allow_pages(&store, 1 << 20).await;
    store.commit(put("large", 1 << 20)).await.unwrap();
    assert!(has(&store, "small").await && has(&store, "large").await);
}

#[tokio::test]
async fn a_read_only_disk_is_retryable_and_can_still_be_read() {
    let folder = folder();
    let store = open(&folder);
    store.commit(put("before", 10)).await.unwrap();
    run(&store, "PRAGMA query_only = ON").await;
    let error = store.commit(put("after", 10)).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    insta::assert_snapshot!(without_folder(&error, &folder), @"writing to the store in [folder]/convoke.db failed: attempt to write a readonly database; nothing was acknowledged. Check that the data folder is writable and its disk has room, then try again");
    assert!(has(&store, "before").await && !has(&store, "after").await);
}

/// Writes three entries to a journal named `run`.
async fn three_entries(store: &SqliteStore) -> (AccountId, JournalId) {
    let lease = store.acquire(std::time::Duration::from_secs(60)).await.unwrap();
    let (account, journal) = (AccountId::from("me"), JournalId::from("run"));
    let open = Write::Open {
        account: account.clone(),
        journal: journal.clone(),
        owner: lease.incarnation,
    };
    let batch = Batch::new().write(open).write(append(0, 3));
    store.commit(batch).await.unwrap();
    (account, journal)
}

fn append(after: u64, count: usize) -> Write {
    let entries = vec![Bytes::from_static(b"x"); count];
    Write::Append { account: "me".into(), journal: "run".into(), after: Seq(after), entries }
}

#[tokio::test]
async fn an_entry_that_is_missing_is_reported_and_not_skipped() {
    let folder = folder();
    let store = open(&folder);
    let (account, journal) = three_entries(&store).await;
    run(&store, "DELETE FROM entries WHERE id & 0xffffffff = 2").await;
    let error = store.entries(&account, &journal, Seq::ZERO, 9).await.unwrap_err();
    insta::assert_snapshot!(without_folder(&error, &folder), @"reading a journal found damaged data: entry 2 of journal `run` is missing. Stop Convoke, keep a copy of the data folder, and restore it from a backup");
    assert!(matches!(error, StoreError::Corrupt { .. }));
}

#[tokio::test]
async fn a_full_journal_says_so_and_does_not_run_into_the_next() {
    let folder = folder();
    let store = open(&folder);
    let (account, journal) = three_entries(&store).await;
    run(&store, "UPDATE journals SET last = 0xffffffff - 1").await;
    let last = u64::from(u32::MAX);
    store.commit(Batch::new().write(append(last - 1, 1))).await.unwrap();
    let error = store.commit(Batch::new().write(append(last, 1))).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid(Invalid::JournalFull { .. })), "{error}");
    let end = store.entries(&account, &journal, Seq(last - 1), 9).await.unwrap();
    assert_eq!((end.len(), end[0].seq), (1, Seq(last)));
}

#[tokio::test]
async fn a_panic_in_a_read_costs_one_answer_and_no_connection() {
    let folder = folder();
    let store = open(&folder);
    for _ in 0..10 {
        let result =
            store.readers.read(|_| -> Result<(), StoreError> { panic!("on purpose") }).await;
        assert!(result.unwrap_err().is_retryable());
    }
    assert!(!has(&store, "key").await);
}
