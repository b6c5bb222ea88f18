use std::collections::{BTreeMap, BTreeSet};
use std::sync::{self, Arc, RwLock};
use std::time::Duration;

use protocol::outbound::Outbound;
use store::{AccountId, Expect, PageQuery, Row, Store, StoreError, Write};
use tokio::sync::{Mutex, watch};

mod curating;
mod news;
mod observing;
mod taking;
mod versions;

use curating::InForce;
pub(crate) use observing::{Looked, after};
use taking::Asked;

pub use versions::Difference;

use crate::apply::{self, Change};
use crate::ard::Clients;
use crate::evidence::Ledger;
use crate::record::{AGENTS, Record, Stored};
use crate::signers::Signers;
use crate::{Agent, Cards, Index, Policy, RegistryError};

/// What was taken out of the directory.
#[derive(Clone, PartialEq, Debug)]
pub struct Removed {
    /// The agent's name.
    pub name: String,
    /// What was kept of it, when that could still be read.
    pub record: Option<Record>,
}

/// How often a change is decided anew when others changed the same agents meanwhile.
const TRIES: usize = 5;

/// The agent directory of one account.
///
/// What is told to callers is durable. Planners take [`Registry::index`], an immutable picture of
/// the directory; every change swaps in another one. Changes made by other processes on the same
/// store are seen after [`Registry::reload`].
pub struct Registry {
    store: Arc<dyn Store>,
    account: AccountId,
    cards: Cards,
    /// What catalogs of others are read with.
    clients: Clients,
    signers: Signers,
    policy: RwLock<InForce>,
    /// The rules and the picture of the last review: what is the same since need not be looked at again.
    reviewed: sync::Mutex<Option<(Arc<Policy>, Arc<Index>)>>,
    shown: RwLock<Arc<Index>>,
    /// Held while an index is put in place of another; readers do not wait for it.
    indexing: sync::Mutex<()>,
    /// What was observed of agents. Its lock is the innermost.
    ledger: sync::Mutex<Ledger>,
    /// Says that something changed.
    told: watch::Sender<()>,
    /// One change at a time in this process; the versions of rows guard against other processes.
    changing: Mutex<()>,
}

impl Registry {
    /// Opens the directory of an account and reads all of it.
    ///
    /// # Errors
    /// [`RegistryError::Store`]. An agent whose record cannot be read is left out with a warning in
    /// the log; asking for it gives [`RegistryError::Damaged`], and it can be removed.
    pub async fn open(
        store: Arc<dyn Store>,
        outbound: Outbound,
        account: AccountId,
    ) -> Result<Self, RegistryError> {
        let registry = Self {
            store,
            account,
            signers: Signers::new(outbound.clone()),
            clients: Clients::new(&outbound),
            cards: Cards::new(outbound),
            policy: RwLock::default(),
            reviewed: sync::Mutex::default(),
            shown: RwLock::default(),
            indexing: sync::Mutex::default(),
            ledger: sync::Mutex::default(),
            told: watch::Sender::default(),
            changing: Mutex::default(),
        };
        registry.reload().await?;
        Ok(registry)
    }

    /// Takes cards for fresh for this long when their servers do not say.
    #[must_use]
    pub fn with_card_freshness(self, freshness: Duration) -> Self {
        Self { cards: Cards::with_freshness(self.cards.outbound().clone(), freshness), ..self }
    }

    /// Reads the whole directory again, for what other processes changed.
    ///
    /// # Errors
    /// Those of [`Registry::open`]; the former index stays.
    pub async fn reload(&self) -> Result<(), RegistryError> {
        let _only = self.changing.lock().await;
        self.policy_now().await?;
        self.reload_evidence().await?;
        let mut agents = Vec::new();
        for row in self.rows(None).await? {
            match Record::of_row(&row).and_then(|stored| stored.record.to_agent()) {
                Ok(agent) => agents.push(agent),
                Err(error) => tracing::warn!(agent = row.key, %error, "an agent is left out"),
            }
        }
        self.reindex(|_, seeing| self.index_of(agents.into_iter().map(seeing)));
        self.told.send_replace(());
        Ok(())
    }

    /// The accounts that have a directory in a store.
    ///
    /// # Errors
    /// [`RegistryError::Store`].
    pub async fn accounts(store: &dyn Store) -> Result<BTreeSet<AccountId>, RegistryError> {
        let mut query = PageQuery { limit: 500, ..PageQuery::new(None, AGENTS) };
        let mut accounts = BTreeSet::new();
        loop {
            let page = store.page(&query).await?;
            accounts.extend(page.rows.into_iter().map(|row| row.account));
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(accounts),
            }
        }
    }

    /// Whose directory it is.
    #[must_use]
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// The cards that were fetched; for a workflow's own agents as well.
    #[must_use]
    pub fn cards(&self) -> &Cards {
        &self.cards
    }

    /// All agents, in the order of their names.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Agent>> {
        self.index().iter().cloned().collect()
    }

    /// The agent of a name or an alias.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], with the nearest name.
    pub fn get(&self, name: &str) -> Result<Arc<Agent>, RegistryError> {
        self.index().get(name).cloned()
    }

    /// Everything kept of an agent, its history included.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Damaged`].
    pub async fn record(&self, name: &str) -> Result<Record, RegistryError> {
        Ok(self.stored(name).await?.record)
    }

    /// Everything kept of all agents, in the order of their names.
    ///
    /// # Errors
    /// [`RegistryError::Store`], [`RegistryError::Damaged`].
    pub async fn records(&self) -> Result<Vec<Record>, RegistryError> {
        let rows = self.rows(None).await?;
        rows.iter().map(|row| Ok(self.read(row)?.record)).collect()
    }

    /// Takes an agent out of the directory with its history. A catalog that still lists it brings
    /// it back; to keep it out, reject it.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Contended`].
    pub async fn remove(&self, name: &str) -> Result<Removed, RegistryError> {
        let _only = self.changing.lock().await;
        for _ in 0..TRIES {
            let row = self.row(name).await?;
            let change = Change::Delete(row.key.clone(), Expect::Version(row.version));
            if self.commit(&[change]).await? {
                let record = Record::of_row(&row).ok().map(|stored| stored.record);
                return Ok(Removed { name: row.key, record });
            }
        }
        Err(RegistryError::Contended)
    }

    async fn rows(&self, catalog: Option<&str>) -> Result<Vec<Row>, RegistryError> {
        let mut query = PageQuery::new(Some(self.account.clone()), AGENTS);
        query.tags[1] = catalog.map(str::to_owned);
        query.limit = 500;
        self.pages(query).await
    }

    /// The rows of all pages.
    async fn pages(&self, mut query: PageQuery) -> Result<Vec<Row>, RegistryError> {
        let mut rows = Vec::new();
        loop {
            let page = self.store.page(&query).await?;
            rows.extend(page.rows);
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(rows),
            }
        }
    }

    async fn stored(&self, name: &str) -> Result<Stored, RegistryError> {
        self.read(&self.row(name).await?)
    }

    /// A record, with what is seen of its agent now.
    fn read(&self, row: &Row) -> Result<Stored, RegistryError> {
        let mut stored = Record::of_row(row)?;
        stored.record.tier = self.tier(&stored.record);
        Ok(stored)
    }

    async fn row(&self, name: &str) -> Result<Row, RegistryError> {
        let index = self.index();
        let key = index.by_name(name).map_or(name, |agent| &agent.name);
        let row = self.store.row(&self.account, AGENTS, key).await?;
        row.ok_or_else(|| index.missing(name))
    }

    /// Writes changes and swaps the index; false when others were first and nothing was written.
    async fn commit(&self, changes: &[Change]) -> Result<bool, RegistryError> {
        Ok(changes.is_empty() || self.commit_with(changes, Vec::new()).await?)
    }

    /// Writes changes together with what else goes with them, all or nothing.
    async fn commit_with(
        &self,
        changes: &[Change],
        others: Vec<Write>,
    ) -> Result<bool, RegistryError> {
        let mut agents = Vec::new();
        for change in changes {
            agents.push(match change {
                Change::Put(record, _) | Change::PutCard(record, _) => {
                    (record.name.clone(), Some(record.to_agent()?))
                }
                Change::Delete(name, _) => (name.clone(), None),
            });
        }
        let mut batch = self.with_news(apply::batch(changes, &self.account), changes).await?;
        batch.writes.extend(others);
        for name in changes.iter().filter_map(deleted) {
            batch.writes.extend(self.version_deletes(name).await?);
            batch.writes.extend(self.evidence_deletes(name));
        }
        match self.store.commit(batch).await {
            Ok(()) => {}
            Err(StoreError::Conflict(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        changes.iter().filter_map(deleted).for_each(|name| self.ledger().forget(name));
        self.reindex(|index, seeing| self.changed(index, agents, seeing));
        self.told.send_replace(());
        Ok(true)
    }

    /// The index after these agents changed or went.
    fn changed(
        &self,
        index: &Index,
        changed: Vec<(String, Option<Agent>)>,
        seeing: &dyn Fn(Agent) -> Arc<Agent>,
    ) -> Index {
        let changed: Vec<_> =
            changed.into_iter().map(|(name, agent)| (name, agent.map(seeing))).collect();
        if let [(_, Some(agent))] = &*changed
            && let Some(index) = index.replacing([Arc::clone(agent)])
        {
            return index;
        }
        let mut agents: BTreeMap<String, Arc<Agent>> =
            index.iter().map(|agent| (agent.name.clone(), agent.clone())).collect();
        for (name, agent) in changed {
            match agent {
                Some(agent) => _ = agents.insert(name, agent),
                None => _ = agents.remove(&name),
            }
        }
        self.index_of(agents.into_values())
    }

    fn index_of(&self, agents: impl IntoIterator<Item = Arc<Agent>>) -> Index {
        Index::with_synonyms(agents, self.policy().to_synonyms())
    }
}

/// The name of an agent that goes.
fn deleted(change: &Change) -> Option<&str> {
    match change {
        Change::Delete(name, _) => Some(name),
        Change::Put(..) | Change::PutCard(..) => None,
    }
}

#[cfg(test)]
mod tests;
