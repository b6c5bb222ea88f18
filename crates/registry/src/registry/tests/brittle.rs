//! A store that fails after some commits, as one does whose process is killed between two of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use store::{
    AccountId, Batch, BlobId, Claim, Claimed, Entry, JournalId, Lease, Page, PageQuery, Row, Seq,
    Store, StoreError, Table,
};

/// Does what the inner store does, for as many commits as it is allowed.
pub(super) struct Brittle {
    pub(super) inner: Arc<dyn Store>,
    pub(super) allowed: AtomicUsize,
}

#[async_trait]
impl Store for Brittle {
    async fn commit(&self, batch: Batch) -> Result<(), StoreError> {
        let allowed = self.allowed.load(Ordering::SeqCst);
        if allowed == 0 {
            let cause = Arc::new(std::io::Error::other("killed"));
            return Err(StoreError::Unavailable { doing: "writing".to_owned(), cause });
        }
        self.allowed.store(allowed - 1, Ordering::SeqCst);
        self.inner.commit(batch).await
    }

    async fn entries(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.inner.entries(account, journal, after, limit).await
    }

    async fn appended(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        at_most: Duration,
    ) -> Result<Seq, StoreError> {
        self.inner.appended(account, journal, after, at_most).await
    }

    async fn row(
        &self,
        account: &AccountId,
        table: Table,
        key: &str,
    ) -> Result<Option<Row>, StoreError> {
        self.inner.row(account, table, key).await
    }

    async fn page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        self.inner.page(query).await
    }

    async fn blob(&self, account: &AccountId, id: &BlobId) -> Result<Option<Bytes>, StoreError> {
        self.inner.blob(account, id).await
    }

    async fn acquire(&self, ttl: Duration) -> Result<Lease, StoreError> {
        self.inner.acquire(ttl).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Lease, StoreError> {
        self.inner.renew(lease, ttl).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }

    async fn claim(&self, lease: &Lease, which: Claim) -> Result<Vec<Claimed>, StoreError> {
        self.inner.claim(lease, which).await
    }
}
