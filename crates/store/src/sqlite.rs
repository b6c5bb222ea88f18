//! The store of one machine: SQLite in a data folder, held by one process at a time.
//!
//! | file | what |
//! |---|---|
//! | `convoke.db` (and `-wal`, `-shm`) | everything that is stored |
//! | `lock` | locked while a process has the folder open; names that process |
//!
//! One thread owns the only writing connection ([`writer`]): it takes whatever requests have
//! gathered, gives each its own savepoint, and makes all of them durable with one flush. There is no
//! timer: the time of a flush is the window in which the next group gathers. Reads use a few
//! read-only connections ([`readers`]) and never wait for the writer.

mod commit;
mod failure;
mod leases;
mod lock;
mod notices;
mod pages;
mod readers;
mod reads;
mod schema;
mod session;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::batch::{Batch, Entry};
use crate::error::StoreError;
use crate::ids::{AccountId, BlobId, JournalId, Seq};
use crate::lease::{Claim, Claimed, Lease};
use crate::rows::{Page, PageQuery, Row, Table};
use crate::{Store, limits};

use lock::FolderLock;
use notices::Notices;
use readers::Readers;
use session::Session;
use writer::Writer;

const DATABASE: &str = "convoke.db";

/// How to open a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// How many reads run at the same time, each on a connection of its own. At least 1; default 4.
    pub readers: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { readers: 4 }
    }
}

/// What the writer has done since the folder was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Batches that were committed and acknowledged.
    pub commits: u64,
    /// Transactions that were flushed to disk; each holds one or more batches or lease changes.
    pub flushes: u64,
}

/// A [`Store`] in a folder, on SQLite.
///
/// Dropping it finishes what is queued, closes the database and unlocks the folder; that blocks the
/// dropping thread for about one flush.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped in this order: the readers close before the writer ends and unlocks the folder.
    readers: Arc<Readers>,
    notices: Arc<Notices>,
    commits: AtomicU64,
    writer: Writer,
}

impl SqliteStore {
    /// Opens a data folder, which is made if it is not there, for this process alone.
    ///
    /// All leases end: the lock proves that their holders are gone. Blocks on the file system.
    ///
    /// # Errors
    /// [`StoreError::Locked`] names the process that has the folder open, [`StoreError::NewerSchema`]
    /// refuses a folder of a later version, [`StoreError::Corrupt`] one that is no database;
    /// [`StoreError::Unavailable`] is a folder that cannot be read and written now.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are made for one call and may come to hold what is kept"
    )]
    pub fn open(folder: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        let lock = FolderLock::take(folder)?;
        let path = folder.join(DATABASE);
        let (connection, opening) = schema::open(folder, &path)?;
        let readers = Readers::open(&path, options.readers)?;
        let notices = Arc::new(Notices::default());
        let session = Session::new(connection, opening);
        let writer = Writer::start(session, Arc::clone(&notices), lock)?;
        tracing::debug!(folder = %folder.display(), opening, "opened the data folder");
        Ok(Self { readers, notices, commits: AtomicU64::new(0), writer })
    }

    /// Counts commits and flushes.
    pub fn stats(&self) -> Stats {
        Stats { commits: self.commits.load(Ordering::Relaxed), flushes: self.writer.flushes() }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, batch: Batch) -> Result<(), StoreError> {
        limits::check(&batch)?;
        self.writer.submit(move |session| commit::apply(session, batch)).await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn entries(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let (account, journal) = (account.clone(), journal.clone());
        self.readers.read(move |c| reads::entries(c, &account, &journal, after, limit)).await
    }

    async fn appended(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        at_most: Duration,
    ) -> Result<Seq, StoreError> {
        // Watched before it is read, so that no append falls between the two.
        let mut watch = self.notices.watch(account, journal);
        let announced = watch.latest();
        if announced > after {
            return Ok(announced);
        }
        let last = match watch.is_known() {
            true => announced,
            false => {
                let (account, journal) = (account.clone(), journal.clone());
                self.readers.read(move |c| reads::last(c, &account, &journal)).await?
            }
        };
        if last <= after {
            // Time running out is an answer, not an error: the last sequence as it is known then.
            let _ = tokio::time::timeout(at_most, watch.beyond(after)).await;
        }
        Ok(last.max(watch.latest()))
    }

    async fn row(
        &self,
        account: &AccountId,
        table: Table,
        key: &str,
    ) -> Result<Option<Row>, StoreError> {
        let (account, key) = (account.clone(), key.to_owned());
        self.readers.read(move |c| pages::row(c, &account, table, &key)).await
    }

    async fn page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        let query = query.clone();
        self.readers.read(move |c| pages::page(c, &query)).await
    }

    async fn blob(&self, account: &AccountId, id: &BlobId) -> Result<Option<Bytes>, StoreError> {
        let (account, id) = (account.clone(), *id);
        self.readers.read(move |c| reads::blob(c, &account, &id)).await
    }

    async fn acquire(&self, ttl: Duration) -> Result<Lease, StoreError> {
        self.writer.submit(move |session| leases::acquire(session, ttl)).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Lease, StoreError> {
        let incarnation = lease.incarnation;
        self.writer.submit(move |session| leases::renew(session, incarnation, ttl)).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.writer.submit(move |session| leases::release(session, lease.incarnation)).await
    }

    async fn claim(&self, lease: &Lease, which: Claim) -> Result<Vec<Claimed>, StoreError> {
        let incarnation = lease.incarnation;
        self.writer.submit(move |session| leases::claim(session, incarnation, &which)).await
    }
}

#[cfg(test)]
mod tests;
