//! Real processes: this test binary starts itself, and kills what it started.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{OpenOptions, SqliteStore, folder, open};
use crate::{
    AccountId, Batch, Entry, Expect, JournalId, Owned, Seq, Store, StoreError, Table, Tags, Write,
};

/// Names the folder that a child works in; without it the child's test does nothing.
const FOLDER: &str = "STORE_TEST_FOLDER";
const JOURNALS: u64 = 8;
const HOUR: Duration = Duration::from_secs(3600);

/// A child, killed and waited for in the end.
struct Writer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::tests::process::writes_until_it_is_killed"])
            .args(["--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next (journal, sequence) that the child saw acknowledged, until its end.
    fn acknowledged(&mut self) -> Option<(u64, u64)> {
        for line in self.lines.by_ref() {
            let line = line.ok()?;
            let Some(rest) = line.strip_prefix("committed ") else {
                continue;
            };
            let (journal, seq) = rest.split_once(' ')?;
            return Some((journal.parse().ok()?, seq.parse().ok()?));
        }
        None
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The child may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn journal(number: u64) -> (AccountId, JournalId) {
    (AccountId::from("me"), JournalId::from(format!("run {number}")))
}

/// Entry `seq` together with a row that says `seq`: one is never there without the other.
fn batch(owned: &Owned, seq: u64) -> Batch {
    let text = Bytes::from(seq.to_string());
    let append = Write::Append {
        account: owned.account.clone(),
        journal: owned.journal.clone(),
        after: Seq(seq - 1),
        entries: vec![text.clone()],
    };
    let put = Write::Put {
        account: owned.account.clone(),
        table: Table::new("last"),
        key: owned.journal.as_str().to_owned(),
        sort: String::new(),
        tags: Tags::default(),
        value: text,
        expect: Expect::Any,
    };
    Batch::new().fence(owned.clone()).write(append).write(put)
}

async fn write_for_ever(store: Arc<SqliteStore>, number: u64, owner: crate::Incarnation) {
    let (account, journal) = journal(number);
    let open = Write::Open { account: account.clone(), journal: journal.clone(), owner };
    store.commit(Batch::new().write(open)).await.unwrap();
    let owned = Owned::opened(account, journal, owner);
    for seq in 1.. {
        store.commit(batch(&owned, seq)).await.unwrap();
        println!("committed {number} {seq}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of the tests below, which start and kill it"]
async fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let store = SqliteStore::open(Path::new(&folder), OpenOptions::default()).unwrap();
    let store = Arc::new(store);
    let lease = store.acquire(HOUR).await.unwrap();
    // Ends a line of the test harness's.
    println!();
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..JOURNALS {
        writers.spawn(write_for_ever(Arc::clone(&store), number, lease.incarnation));
    }
    writers.join_all().await;
}

#[tokio::test]
async fn a_writer_killed_amid_commits_loses_nothing_it_was_told_is_durable() {
    for commits in [1, 40, 300] {
        let folder = folder();
        let mut writer = Writer::start(folder.path());
        let mut told = BTreeMap::new();
        for _ in 0..commits {
            told.extend(writer.acknowledged());
        }
        assert!(!told.is_empty(), "the child has written");
        writer.child.kill().unwrap();
        told.extend(std::iter::from_fn(|| writer.acknowledged()));
        writer.child.wait().unwrap();
        let store = open(&folder);
        for number in 0..JOURNALS {
            check(&store, number, told.get(&number).copied().unwrap_or(0)).await;
        }
    }
}

async fn check(store: &SqliteStore, number: u64, told: u64) {
    let (account, journal) = journal(number);
    let entries = store.entries(&account, &journal, Seq::ZERO, usize::MAX).await.unwrap();
    let last = entries.len() as u64;
    assert!(last >= told, "{last} entries of {told} that were acknowledged");
    let is_right =
        |(seq, entry): (u64, &Entry)| entry.seq == Seq(seq) && entry.bytes == seq.to_string();
    assert!((1..).zip(&entries).all(is_right));
    let row = store.row(&account, Table::new("last"), journal.as_str()).await.unwrap();
    let row = row.map_or_else(|| "0".into(), |row| row.value);
    assert_eq!(row, last.to_string(), "entry and row are of one batch");
}

#[test]
fn a_folder_open_in_another_process_is_refused_until_that_process_dies() {
    let folder = folder();
    let mut writer = Writer::start(folder.path());
    writer.acknowledged().expect("the child has opened the folder");
    let error = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap_err();
    let StoreError::Locked { holder: Some(holder), .. } = &error else {
        panic!("the folder is locked by a known process: {error}");
    };
    assert_eq!(holder.pid, writer.child.id());
    assert!(holder.command.ends_with("--ignored --nocapture"), "{holder}");
    assert!(error.to_string().contains(&format!("process {}", holder.pid)), "{error}");
    drop(writer);
    open(&folder);
}
