//! A data folder that another process holds: read through that process, and opened here once it is gone.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use executor::RunId;
use protocol::outbound::Outbound;
use serde::de::DeserializeOwned;
use server::local::{Ask, EntryOut, LONGEST_WAIT, Octets, PageIn, PageOut, RowOut};
use store::{
    AccountId, Batch, BlobId, Claim, Claimed, Entry, JournalId, Lease, Page, PageQuery, Row, Seq,
    SqliteStore, Store, StoreError, Table,
};

use super::{
    Way, find,
    occupant::{Occupant, Unheard},
};
use crate::failure::Failure;

/// How long a call may take beyond what it waits for.
const ANSWER: Duration = Duration::from_secs(30);
/// How often in a row the holder may be gone and another one be there.
const TRIES: usize = 4;

/// A store that reads through the holder of a folder and writes nothing. Holders come and go: the next one is found,
/// and when there is none the folder is opened here.
pub(crate) struct Borrowed {
    folder: PathBuf,
    outbound: Outbound,
    way: Mutex<Way>,
    /// One search at a time: two would find the folder in use by one another.
    searching: tokio::sync::Mutex<()>,
}

/// Who has dealt with a request.
enum Heard<T> {
    /// The holder, and what it says.
    Told(T),
    /// Nobody: the folder is open here.
    Ours(Arc<SqliteStore>),
}

/// What became of something that the holder was to do.
pub(crate) enum HandedOver {
    /// The holder does it, or has done it.
    Taken,
    /// There is no holder any more: it is to be done here.
    Alone,
}

impl Borrowed {
    pub(super) fn new(folder: &Path, outbound: &Outbound, occupant: Arc<Occupant>) -> Self {
        Self {
            folder: folder.to_owned(),
            outbound: outbound.clone(),
            way: Mutex::new(Way::Theirs(occupant)),
            searching: tokio::sync::Mutex::default(),
        }
    }

    /// The store, once the folder is open here.
    pub(super) fn ours(&self) -> Result<Arc<SqliteStore>, StoreError> {
        match self.way() {
            Way::Ours(store) => Ok(store),
            Way::Theirs(occupant) => Err(occupant.locked()),
        }
    }

    /// The error of whoever wants the folder for itself.
    pub(super) fn locked(&self) -> StoreError {
        match self.way() {
            Way::Theirs(occupant) => occupant.locked(),
            Way::Ours(_) => StoreError::Locked { folder: self.folder.clone(), holder: None },
        }
    }

    /// The process that holds the folder, when it was looked at last.
    pub(super) fn occupant(&self) -> Option<String> {
        match self.way() {
            Way::Theirs(occupant) => Some(occupant.to_string()),
            Way::Ours(_) => None,
        }
    }

    /// Whether the holder drives a run.
    pub(super) async fn is_driven(
        &self,
        account: &AccountId,
        run: &RunId,
    ) -> Result<bool, StoreError> {
        let ask = Ask::IsDriven { account: account.clone(), run: run.clone() };
        match self.ask(&ask, ANSWER).await? {
            Heard::Told(is_driven) => Ok(is_driven),
            Heard::Ours(_) => Ok(false),
        }
    }

    /// Has the holder do something, at most once.
    pub(crate) async fn hand_over(&self, ask: &Ask) -> Result<HandedOver, Failure> {
        let mut last = String::new();
        for _ in 0..TRIES {
            let Way::Theirs(occupant) = self.way() else { return Ok(HandedOver::Alone) };
            match occupant.ask::<serde_json::Value>(ask, ANSWER).await {
                Ok(_) => return Ok(HandedOver::Taken),
                Err(Unheard::Refused(no)) if no.is_of_the_question => {
                    return Err(Failure::usage(no.message));
                }
                Err(Unheard::Refused(no)) => return Err(Failure::unavailable(no.message)),
                Err(Unheard::Lost(why)) => {
                    return Err(Failure::unavailable(format!(
                        "it is not known whether {occupant} has taken this: {why}; look at the run with `convoke \
                         runs show`, and try again if not"
                    )));
                }
                Err(Unheard::Unsent(why)) => last = why,
            }
            self.search(&occupant).await?;
        }
        Err(Failure::unavailable(format!("the data folder changes hands too often: {last}")))
    }

    /// Asks the holder for something that can be asked again.
    async fn ask<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        patience: Duration,
    ) -> Result<Heard<T>, StoreError> {
        let mut last = String::new();
        for _ in 0..TRIES {
            let occupant = match self.way() {
                Way::Ours(store) => return Ok(Heard::Ours(store)),
                Way::Theirs(occupant) => occupant,
            };
            match occupant.ask(ask, patience).await {
                Ok(told) => return Ok(Heard::Told(told)),
                Err(Unheard::Refused(no)) => return Err(failed(&occupant, no.message)),
                Err(Unheard::Unsent(why) | Unheard::Lost(why)) => last = why,
            }
            self.search(&occupant).await?;
        }
        Err(StoreError::Unavailable {
            doing: "reading through the process that holds the data folder".to_owned(),
            cause: Arc::from(Box::from(last)),
        })
    }

    /// Finds who holds the folder after somebody who does not any more.
    async fn search(&self, gone: &Arc<Occupant>) -> Result<(), StoreError> {
        let _alone = self.searching.lock().await;
        if !matches!(self.way(), Way::Theirs(occupant) if Arc::ptr_eq(&occupant, gone)) {
            return Ok(());
        }
        let found = find(&self.folder, &self.outbound).await?;
        *self.way.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(())
    }

    fn way(&self) -> Way {
        self.way.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn failed(occupant: &Occupant, why: String) -> StoreError {
    let doing = format!("reading through {occupant}");
    StoreError::Unavailable { doing, cause: Arc::from(Box::from(why)) }
}

#[async_trait]
impl Store for Borrowed {
    async fn entries(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let ask = Ask::Entries { account: account.clone(), journal: journal.clone(), after, limit };
        match self.ask::<Vec<EntryOut>>(&ask, ANSWER).await? {
            Heard::Told(entries) => Ok(entries.into_iter().map(Entry::from).collect()),
            Heard::Ours(store) => store.entries(account, journal, after, limit).await,
        }
    }

    /// Returns without news, too, once the holder stops, or when it is gone: then there is something to look at.
    async fn appended(
        &self,
        account: &AccountId,
        journal: &JournalId,
        after: Seq,
        at_most: Duration,
    ) -> Result<Seq, StoreError> {
        if let Way::Ours(store) = self.way() {
            return store.appended(account, journal, after, at_most).await;
        }
        let at_most = at_most.min(LONGEST_WAIT);
        let at_most_ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        let (account, journal) = (account.clone(), journal.clone());
        let ask = Ask::Appended { account, journal, after, at_most_ms };
        match self.ask(&ask, at_most + ANSWER).await? {
            Heard::Told(last) => Ok(last),
            Heard::Ours(_) => Ok(after),
        }
    }

    async fn row(
        &self,
        account: &AccountId,
        table: Table,
        key: &str,
    ) -> Result<Option<Row>, StoreError> {
        let (name, key_) = (table.name().to_owned(), key.to_owned());
        let ask = Ask::Row { account: account.clone(), table: name, key: key_ };
        match self.ask::<Option<RowOut>>(&ask, ANSWER).await? {
            Heard::Told(row) => Ok(row.map(Row::from)),
            Heard::Ours(store) => store.row(account, table, key).await,
        }
    }

    async fn page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        match self.ask::<PageOut>(&Ask::Page(PageIn::from(query)), ANSWER).await? {
            Heard::Told(page) => Ok(page.into()),
            Heard::Ours(store) => store.page(query).await,
        }
    }

    async fn blob(&self, account: &AccountId, id: &BlobId) -> Result<Option<Bytes>, StoreError> {
        let ask = Ask::Blob { account: account.clone(), id: *id };
        match self.ask::<Option<Octets>>(&ask, ANSWER).await? {
            Heard::Told(blob) => Ok(blob.map(|octets| octets.0)),
            Heard::Ours(store) => store.blob(account, id).await,
        }
    }

    async fn commit(&self, batch: Batch) -> Result<(), StoreError> {
        self.ours()?.commit(batch).await
    }

    async fn acquire(&self, ttl: Duration) -> Result<Lease, StoreError> {
        self.ours()?.acquire(ttl).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Lease, StoreError> {
        self.ours()?.renew(lease, ttl).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.ours()?.release(lease).await
    }

    async fn claim(&self, lease: &Lease, which: Claim) -> Result<Vec<Claimed>, StoreError> {
        self.ours()?.claim(lease, which).await
    }
}
