//! Journals, tables, leases and blobs with atomic, fenced commits.
//!
//! The store is the only place where Convoke keeps state, and it is narrow: one atomic write
//! ([`Store::commit`]), a few reads, one wait, and leases. It knows nothing of A2A; values are bytes.
//!
//! | what | addressed by | changed by |
//! |---|---|---|
//! | journal: entries without gaps, in commit order | account, journal | [`Write::Open`], [`Write::Append`], [`Write::Close`] |
//! | row of a table: value, sort key, four tags, version | account, table, key | [`Write::Put`], [`Write::Delete`] |
//! | blob: immutable bytes | account, SHA-256 | [`Write::Blob`] |
//! | lease: the right of one process to drive journals | incarnation | [`Store::acquire`] and its sisters |
//!
//! Laws every backend keeps; the suite (feature `suite`) proves them:
//!
//! - A batch is written whole or not at all, and is durable when `commit` returns `Ok`.
//! - The sequence of a journal starts at 1, has no gap, and grows in commit order.
//! - A [fence](Batch::fences) that does not hold writes nothing: whoever lost a journal cannot touch it.
//! - Everything belongs to one account; only [`PageQuery`] without an account looks across them.
//! - Time is the store's: entries and leases are stamped and judged by one clock.

mod batch;
mod error;
mod ids;
mod lease;
mod limits;
mod rows;
mod sqlite;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

pub use batch::{Batch, Entry, Expect, Write};
pub use error::{Conflict, Fencing, Holder, Invalid, StoreError};
pub use ids::{AccountId, BlobId, Epoch, Incarnation, JournalId, Seq, Version};
pub use lease::{Claim, Claimed, Lease, Owned};
pub use limits::{MAX_ID_BYTES, MAX_KEY_BYTES, MAX_SORT_BYTES, MAX_TAG_BYTES, MAX_VALUE_BYTES};
pub use rows::{Cursor, Order, Page, PageQuery, Row, Table, Tags};
pub use sqlite::{OpenOptions, SqliteStore, Stats};

/// Keeps the state of one Convoke installation.
///
/// Every method may answer [`StoreError::Unavailable`], which is retryable. Reads see every commit
/// that was acknowledged before they began.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Writes a batch: all of it, durably, or nothing.
    ///
    /// Fences are checked first, then the writes are done in their order; a later write sees what
    /// an earlier one of the same batch did.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] or [`StoreError::Conflict`]: nothing was written.
    /// [`StoreError::Invalid`]: the batch breaks a limit and would never be accepted.
    /// [`StoreError::Unavailable`]: the outcome is unknown, as when a connection breaks while the
    /// answer is on its way. Read again before deciding anew; a repeated `Append` after a success
    /// that went unheard is a `Conflict`, never a duplicate.
    ///
    /// # Cancellation
    /// When the future is dropped the batch may or may not be written, whole in either case.
    async fn commit(&self, batch: Batch) -> Result<(), StoreError>;

    /// Reads up to `limit` entries after `after`, in order. An unknown journal has none.
    async fn entries(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// Waits until the journal holds an entry after `after`, at most `at_most`, and returns its
    /// last sequence: larger than `after`, or what it was when time was up.
    ///
    /// An unknown journal is an empty one that may still be opened. No wake-up is lost between two
    /// calls: what is already there returns at once. Cancel safe.
    async fn appended(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        at_most: Duration,
    ) -> Result<Seq, StoreError>;

    /// Reads one row.
    async fn row(
        &self,
        account: &AccountId,
        table: Table,
        key: &str,
    ) -> Result<Option<Row>, StoreError>;

    /// Reads one page of a table, and how many rows match in all; both from one snapshot.
    ///
    /// # Errors
    /// [`Invalid::Cursor`] when the cursor came from another query.
    async fn page(&self, query: &PageQuery) -> Result<Page, StoreError>;

    /// Reads a blob.
    async fn blob(&self, account: &AccountId, id: &BlobId) -> Result<Option<Bytes>, StoreError>;

    /// Starts a lease for a new incarnation, alive for `ttl` by the store's clock.
    async fn acquire(&self, ttl: Duration) -> Result<Lease, StoreError>;

    /// Lets a lease end `ttl` from now. A `ttl` of zero ends it at once.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when it has ended already: its journals may have another owner.
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Lease, StoreError>;

    /// Ends a lease; its open journals can be claimed at once. Ending it twice is no error.
    async fn release(&self, lease: Lease) -> Result<(), StoreError>;

    /// Makes open journals without a living owner the lease's own, each under its next epoch.
    ///
    /// Two claimants never receive the same journal. A journal that has a living owner, is closed
    /// or unknown is left out without an error. When the future is dropped, journals may have been
    /// claimed; they become free again when the lease ends.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when the lease has ended.
    async fn claim(&self, lease: &Lease, which: Claim) -> Result<Vec<Claimed>, StoreError>;
}
