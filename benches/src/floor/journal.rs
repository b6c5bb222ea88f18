//! Append-only entries in SQLite: one writer thread, group commit without a timer.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
};

use anyhow::{Context as _, Result};
use rusqlite::Connection;
use tokio::sync::oneshot;

/// One request to the writer.
struct Append {
    entries: Vec<Vec<u8>>,
    reply: oneshot::Sender<Result<(), String>>,
}

/// The way to the database, through the writer thread or past it.
pub(super) struct Journal {
    file: Arc<File>,
    queue: mpsc::Sender<Append>,
}

struct File {
    connection: Mutex<Connection>,
    flushes: AtomicU64,
}

impl Journal {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT",
        )?;
        let file = File { connection: Mutex::new(connection), flushes: AtomicU64::new(0) };
        let file = Arc::new(file);
        let (queue, requests) = mpsc::channel::<Append>();
        let writing = Arc::clone(&file);
        std::thread::spawn(move || {
            while let Ok(first) = requests.recv() {
                let group: Vec<Append> =
                    std::iter::once(first).chain(requests.try_iter()).collect();
                let written = writing.write(group.iter().flat_map(|append| &append.entries));
                let written = written.map_err(|error| error.to_string());
                for append in group {
                    // Whoever asked may have given up.
                    let _ = append.reply.send(written.clone());
                }
            }
        });
        Ok(Self { file, queue })
    }

    /// Commits in the writer thread, with whatever else has gathered there.
    pub(super) async fn commit(&self, entries: Vec<Vec<u8>>) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Append { entries, reply }).ok().context("the writer thread has ended")?;
        answer.await?.map_err(anyhow::Error::msg)
    }

    /// Commits in the calling thread.
    pub(super) fn commit_here(&self, entries: &[Vec<u8>]) -> Result<()> {
        Ok(self.file.write(entries.iter())?)
    }

    /// Counts the transactions that were flushed.
    pub(super) fn flushes(&self) -> u64 {
        self.file.flushes.load(Ordering::Relaxed)
    }
}

impl File {
    fn write<'a>(&self, entries: impl Iterator<Item = &'a Vec<u8>>) -> rusqlite::Result<()> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut insert = connection.prepare_cached("INSERT INTO entries (bytes) VALUES (?1)")?;
        for entry in entries {
            insert.execute([entry])?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        self.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
