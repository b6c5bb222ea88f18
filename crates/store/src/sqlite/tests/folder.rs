//! The data folder: kept over a restart, opened by one, refused when it is from the future.

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::Connection;

use super::{OpenOptions, SqliteStore, folder, open};
use crate::{
    AccountId, Batch, Claim, Expect, Holder, JournalId, Seq, Store, StoreError, Table, Tags, Write,
};

const HOUR: Duration = Duration::from_secs(3600);

fn put(value: &'static str) -> Write {
    Write::Put {
        account: AccountId::from("me"),
        table: Table::new("things"),
        key: "key".to_owned(),
        sort: String::new(),
        tags: Tags::default(),
        value: Bytes::from_static(value.as_bytes()),
        expect: Expect::Any,
    }
}

fn failure(folder: &Path) -> StoreError {
    SqliteStore::open(folder, OpenOptions::default()).unwrap_err()
}

#[tokio::test]
async fn everything_but_leases_is_there_after_a_restart() {
    let folder = folder();
    let (account, journal) = (AccountId::from("me"), JournalId::from("run"));
    let store = open(&folder);
    let lease = store.acquire(HOUR).await.unwrap();
    let append = Write::Append {
        account: account.clone(),
        journal: journal.clone(),
        after: Seq::ZERO,
        entries: vec![Bytes::from_static(b"entry")],
    };
    let open_journal = Write::Open {
        account: account.clone(),
        journal: journal.clone(),
        owner: lease.incarnation,
    };
    let blob = Write::blob(account.clone(), Bytes::from_static(b"blob"));
    let writes = vec![open_journal, append, put("1"), blob];
    store.commit(Batch { fences: Vec::new(), writes }).await.unwrap();
    let version = store.row(&account, Table::new("things"), "key").await.unwrap().unwrap().version;
    drop(store);

    let store = open(&folder);
    let entries = store.entries(&account, &journal, Seq::ZERO, 9).await.unwrap();
    assert_eq!(entries[0].bytes, "entry");
    let id = crate::BlobId::of(b"blob");
    assert_eq!(store.blob(&account, &id).await.unwrap().unwrap(), "blob");
    store.commit(Batch::new().write(put("2"))).await.unwrap();
    let row = store.row(&account, Table::new("things"), "key").await.unwrap().unwrap();
    assert!(row.value == "2" && row.version > version);
    // The lock proves that the former owner is gone, so its hour need not pass.
    assert!(matches!(store.renew(&lease, HOUR).await, Err(StoreError::Fenced(_))));
    let next = store.acquire(HOUR).await.unwrap();
    let claimed = store.claim(&next, Claim::Any { limit: 9 }).await.unwrap();
    assert_eq!((&claimed[0].owned.journal, claimed[0].last), (&journal, Seq(1)));
}

#[tokio::test]
async fn a_second_opening_is_refused_and_names_the_holder_until_the_first_is_dropped() {
    let folder = folder();
    let path = folder.path().join("a/b");
    let store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
    let StoreError::Locked { folder, holder: Some(holder) } = failure(&path) else {
        panic!("the folder is locked and its holder is known");
    };
    assert_eq!(folder, path);
    let Holder { pid, command, started_at } = holder;
    assert_eq!(pid, std::process::id());
    assert!(command.contains(&std::env::args().next().unwrap()), "{command}");
    assert!(started_at <= jiff::Timestamp::now());
    drop(store);
    assert_eq!(std::fs::read(path.join("lock")).unwrap(), b"");
    SqliteStore::open(&path, OpenOptions::default()).unwrap();
}

#[tokio::test]
async fn a_folder_of_a_later_version_is_refused_unchanged() {
    let folder = folder();
    drop(open(&folder));
    let database = folder.path().join("convoke.db");
    let foreign = Connection::open(&database).unwrap();
    foreign.pragma_update(None, "user_version", 2).unwrap();
    foreign.execute_batch("PRAGMA journal_mode = DELETE; DROP TABLE leases").unwrap();
    drop(foreign);
    let before = std::fs::read(&database).unwrap();
    assert!(matches!(failure(folder.path()), StoreError::NewerSchema { found: 2, known: 1, .. }));
    assert!(std::fs::read(&database).unwrap() == before);
}

#[test]
fn a_file_that_is_no_database_is_damage() {
    let folder = folder();
    std::fs::write(folder.path().join("convoke.db"), [b'x'; 5000]).unwrap();
    let error = failure(folder.path());
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("convoke.db"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_made_says_which() {
    let folder = folder();
    let path = folder.path().join("file");
    std::fs::write(&path, "").unwrap();
    let error = failure(&path);
    assert!(error.is_retryable());
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

#[tokio::test]
async fn a_commit_is_flushed_to_a_write_ahead_log() {
    let folder = folder();
    let store = open(&folder);
    let pragmas = store.writer.submit(|session| {
        let ask = |name| {
            session
                .connection()
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
        };
        Ok((ask("journal_mode").unwrap(), ask("synchronous").unwrap()))
    });
    let (journal_mode, synchronous) = pragmas.await.unwrap();
    assert_eq!(journal_mode, "wal".to_owned().into());
    // 2 is FULL.
    assert_eq!(synchronous, 2.into());
}

/// Binds a range and a limit twice, and counts how often SQLite prepared the statement again for it.
fn prepared_again(connection: &Connection) -> i32 {
    let sql = "SELECT bytes FROM entries WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3";
    let mut statement = connection.prepare(sql).unwrap();
    for range in [[0, 9, 1], [3, 70, 9]] {
        statement.query(range).unwrap().next().unwrap();
    }
    statement.get_status(rusqlite::StatementStatus::RePrepare)
}

#[tokio::test]
async fn a_statement_stays_prepared_whatever_is_bound_to_it() {
    let folder = folder();
    let store = open(&folder);
    let reading = store.readers.read(|connection| Ok(prepared_again(connection))).await;
    let writing = store.writer.submit(|session| Ok(prepared_again(session.connection()))).await;
    assert_eq!((reading.unwrap(), writing.unwrap()), (0, 0));
}

#[cfg(unix)]
#[test]
fn a_new_folder_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = folder.path().join("new");
    let _store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("lock")), 0o600);
}

#[tokio::test]
async fn as_many_reads_run_at_once_as_there_are_readers() {
    for (readers, expected) in [(0, 1), (1, 1), (3, 3)] {
        let folder = folder();
        let store = SqliteStore::open(folder.path(), OpenOptions { readers }).unwrap();
        let store = Arc::new(store);
        // Passed only by so many at the same time.
        let barrier = Arc::new(Barrier::new(expected + 1));
        let mut reads = tokio::task::JoinSet::new();
        for _ in 0..expected {
            let (store, barrier) = (Arc::clone(&store), Arc::clone(&barrier));
            reads.spawn(async move {
                store
                    .readers
                    .read(move |_| {
                        barrier.wait();
                        Ok(())
                    })
                    .await
                    .unwrap();
            });
        }
        while store.readers.free() > 0 {
            tokio::task::yield_now().await;
        }
        let mut one_more = Box::pin(store.readers.read(|_| Ok(())));
        let waits = tokio::time::timeout(Duration::ZERO, &mut one_more).await;
        assert!(waits.is_err(), "{expected} readers are busy");
        barrier.wait();
        one_more.await.unwrap();
        reads.join_all().await;
    }
}
