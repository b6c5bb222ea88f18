//! A store whose commits fail when a test says so.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use store::{
    AccountId, Batch, BlobId, Claim, Claimed, Entry, Fencing, JournalId, Lease, Page, PageQuery,
    Row, Seq, Store, StoreError, Table,
};

/// How a commit fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fails {
    /// Nothing is written.
    Unwritten,
    /// It is written, and nobody hears of it.
    Unheard,
    /// The right to write is gone.
    Fenced,
}

/// Does what the inner store does, but for chosen commits.
pub(crate) struct FailingStore {
    inner: Arc<dyn Store>,
    commits: AtomicUsize,
    is_lease_lost: AtomicBool,
    is_renewal_late: AtomicBool,
    plan: Mutex<(std::ops::Range<usize>, Fails)>,
}

impl FailingStore {
    /// Fails the commits with these numbers, counted from 0.
    pub(crate) fn new(inner: Arc<dyn Store>, which: std::ops::Range<usize>, how: Fails) -> Self {
        let (commits, is_lease_lost) = (AtomicUsize::new(0), AtomicBool::new(false));
        let is_renewal_late = AtomicBool::new(false);
        Self { inner, commits, is_lease_lost, is_renewal_late, plan: Mutex::new((which, how)) }
    }

    /// Lets no lease be renewed any more.
    pub(crate) fn lose_lease(&self) {
        self.is_lease_lost.store(true, Ordering::SeqCst);
    }

    /// Lets leases be renewed, or fail to be for now.
    pub(crate) fn delay_renewal(&self, is_late: bool) {
        self.is_renewal_late.store(is_late, Ordering::SeqCst);
    }

    /// Lets every further commit succeed.
    pub(crate) fn heal(&self) {
        self.plan.lock().expect("nothing panics under this lock").0 = 0..0;
    }

    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }

    fn failure(&self) -> Option<Fails> {
        let number = self.commits.fetch_add(1, Ordering::SeqCst);
        let plan = self.plan.lock().expect("nothing panics under this lock");
        plan.0.contains(&number).then_some(plan.1)
    }
}

fn unavailable() -> StoreError {
    let cause = std::io::Error::other("as the test wants it");
    StoreError::Unavailable { doing: "writing".to_owned(), cause: Arc::new(cause) }
}

#[async_trait]
impl Store for FailingStore {
    async fn commit(&self, batch: Batch) -> Result<(), StoreError> {
        match self.failure() {
            None => self.inner.commit(batch).await,
            Some(Fails::Unwritten) => Err(unavailable()),
            Some(Fails::Unheard) => {
                self.inner.commit(batch).await?;
                Err(unavailable())
            }
            Some(Fails::Fenced) => {
                let fence = batch.fences.first().expect("a commit after the first has a fence");
                Err(Fencing::LeaseEnded { incarnation: fence.incarnation }.into())
            }
        }
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
        if self.is_lease_lost.load(Ordering::SeqCst) {
            return Err(Fencing::LeaseEnded { incarnation: lease.incarnation }.into());
        }
        if self.is_renewal_late.load(Ordering::SeqCst) {
            return Err(unavailable());
        }
        self.inner.renew(lease, ttl).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }

    async fn claim(&self, lease: &Lease, which: Claim) -> Result<Vec<Claimed>, StoreError> {
        self.inner.claim(lease, which).await
    }
}
