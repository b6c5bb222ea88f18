use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use document::{Source, nearest};
use protocol::outbound::Outbound;
use store::{AccountId, Expect, PageQuery, Row, Store, StoreError};
use tokio::sync::Mutex;

mod curating;
mod versions;

pub use versions::Difference;

use crate::apply::{self, Change, Request, Step, Wanted};
use crate::intake::Intake;
use crate::record::{AGENTS, Record, Stored};
use crate::signers::Signers;
use crate::{
    Agent, ApplyOptions, Cards, Details, Index, Policy, RegistryError, Report, catalog, intake,
    name,
};

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
    signers: Signers,
    policy: RwLock<Arc<Policy>>,
    index: RwLock<Arc<Index>>,
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
            cards: Cards::new(outbound),
            policy: RwLock::default(),
            index: RwLock::default(),
            changing: Mutex::default(),
        };
        registry.reload().await?;
        Ok(registry)
    }

    /// Reads the whole directory again, for what other processes changed.
    ///
    /// # Errors
    /// Those of [`Registry::open`]; the former index stays.
    pub async fn reload(&self) -> Result<(), RegistryError> {
        let _only = self.changing.lock().await;
        self.reload_policy().await?;
        let mut agents = Vec::new();
        for row in self.rows(None).await? {
            match Record::of_row(&row).and_then(|stored| stored.record.to_agent()) {
                Ok(agent) => agents.push(Arc::new(agent)),
                Err(error) => tracing::warn!(agent = row.key, %error, "an agent is left out"),
            }
        }
        self.swap(self.index_of(agents));
        Ok(())
    }

    /// The directory as it is now. Keep it for as long as decisions must agree with each other.
    #[must_use]
    pub fn index(&self) -> Arc<Index> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&index)
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
        let index = self.index();
        index.by_name(name).cloned().ok_or_else(|| unknown(&index, name))
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
        rows.iter().map(|row| Ok(Record::of_row(row)?.record)).collect()
    }

    /// Takes in the agent at a URL, or looks at its card again. Without a name it gets that of its
    /// card; without details, what is known beside the card stays.
    ///
    /// # Errors
    /// [`RegistryError::Card`] when there is none to be read, [`RegistryError::Name`],
    /// [`RegistryError::Store`]. A name that another agent has is a failure in the report.
    pub async fn add_url(
        &self,
        url: &str,
        asked_name: Option<&str>,
        details: Option<Details>,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        if let Some(problem) = asked_name.and_then(name::problem) {
            return Err(RegistryError::Name { problem });
        }
        let (index, policy) = (self.index(), self.policy());
        let intake = self.intake(&index, &policy);
        let wanted = [intake::take_url(url, asked_name, details, intake).await?];
        let (missed, catalog) = (&[], None);
        let policy = &policy;
        self.take_in(&Request { wanted: &wanted, missed, catalog, options, policy }).await
    }

    /// Takes in what a file lists (a catalog, a list of cards or one card) beside what is there.
    ///
    /// # Errors
    /// [`RegistryError::File`] with everything wrong in the file, [`RegistryError::Store`]. A card
    /// that cannot be had is a failure of its agent in the report, and the others are taken in.
    pub async fn add_file(
        &self,
        source: Source,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        self.take_file(source, false, options).await
    }

    /// Makes the directory what a catalog says: as [`Registry::add_file`], and what an earlier
    /// version of the same file listed and this one does not is removed. Doing it again changes
    /// nothing.
    ///
    /// # Errors
    /// Those of [`Registry::add_file`].
    pub async fn apply(
        &self,
        source: Source,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        self.take_file(source, true, options).await
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
                self.forget_versions(&row.key).await?;
                let record = Record::of_row(&row).ok().map(|stored| stored.record);
                return Ok(Removed { name: row.key, record });
            }
        }
        Err(RegistryError::Contended)
    }

    async fn take_file(
        &self,
        source: Source,
        is_whole: bool,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        let listing = catalog::read(source)?;
        let catalog = catalog_of(&listing.source).filter(|_| is_whole && listing.is_catalog);
        let (index, policy) = (self.index(), self.policy());
        let taken = intake::take(&listing, self.intake(&index, &policy)).await;
        let request = Request {
            wanted: &taken.wanted,
            missed: &taken.missed,
            catalog: catalog.as_deref(),
            options,
            policy: &policy,
        };
        self.take_in(&request).await
    }

    fn intake<'a>(&'a self, index: &'a Index, policy: &'a Policy) -> Intake<'a> {
        Intake { cards: &self.cards, signers: &self.signers, policy, index }
    }

    async fn take_in(&self, request: &Request<'_>) -> Result<Report, RegistryError> {
        let _only = self.changing.lock().await;
        for _ in 0..TRIES {
            let existing = self.concerned(request).await?;
            let steps = apply::decide(&existing, request);
            let is_dry_run = request.options.dry_run;
            let (agents, changes) = split(steps);
            if is_dry_run || self.commit(&changes).await? {
                return Ok(Report { is_dry_run, agents });
            }
        }
        Err(RegistryError::Contended)
    }

    /// The records a request may touch: those of its names, and all of its catalog.
    async fn concerned(
        &self,
        request: &Request<'_>,
    ) -> Result<BTreeMap<String, Stored>, RegistryError> {
        let mut existing = BTreeMap::new();
        if let Some(catalog) = request.catalog {
            for row in self.rows(Some(catalog)).await? {
                existing.insert(row.key.clone(), Record::of_row(&row)?);
            }
        }
        for Wanted { name, .. } in request.wanted {
            if existing.contains_key(name) {
                continue;
            }
            if let Some(row) = self.store.row(&self.account, AGENTS, name).await? {
                existing.insert(name.clone(), Record::of_row(&row)?);
            }
        }
        Ok(existing)
    }

    async fn rows(&self, catalog: Option<&str>) -> Result<Vec<Row>, RegistryError> {
        let mut query = PageQuery::new(Some(self.account.clone()), AGENTS);
        query.tags[1] = catalog.map(str::to_owned);
        query.limit = 500;
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
        Record::of_row(&self.row(name).await?)
    }

    async fn row(&self, name: &str) -> Result<Row, RegistryError> {
        let index = self.index();
        let key = index.by_name(name).map_or(name, |agent| &agent.name);
        let row = self.store.row(&self.account, AGENTS, key).await?;
        row.ok_or_else(|| unknown(&index, name))
    }

    /// Writes changes and swaps the index; false when others were first and nothing was written.
    async fn commit(&self, changes: &[Change]) -> Result<bool, RegistryError> {
        if changes.is_empty() {
            return Ok(true);
        }
        let index = self.changed(changes)?;
        match self.store.commit(apply::batch(changes, &self.account)).await {
            Ok(()) => {}
            Err(StoreError::Conflict(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.swap(index);
        Ok(true)
    }

    /// The index after these changes.
    fn changed(&self, changes: &[Change]) -> Result<Index, RegistryError> {
        let index = self.index();
        if let [Change::Put(record, _)] = changes
            && let Some(index) = index.replacing(Arc::new(record.to_agent()?))
        {
            return Ok(index);
        }
        let mut agents: BTreeMap<String, Arc<Agent>> =
            index.iter().map(|agent| (agent.name.clone(), agent.clone())).collect();
        for change in changes {
            match change {
                Change::Put(record, _) | Change::PutCard(record, _) => {
                    agents.insert(record.name.clone(), Arc::new(record.to_agent()?));
                }
                Change::Delete(name, _) => {
                    agents.remove(name);
                }
            }
        }
        Ok(self.index_of(agents.into_values()))
    }

    fn index_of(&self, agents: impl IntoIterator<Item = Arc<Agent>>) -> Index {
        Index::with_synonyms(agents, self.policy().to_synonyms())
    }

    fn swap(&self, index: Index) {
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(index);
    }
}

fn split(steps: Vec<Step>) -> (Vec<crate::Applied>, Vec<Change>) {
    let mut changes = Vec::new();
    let mut agents = Vec::new();
    for step in steps {
        agents.push(step.applied);
        changes.extend(step.change);
    }
    (agents, changes)
}

/// What a catalog is known by: its file, wherever the process runs. One that came through a pipe is
/// known by nothing, and so never removes what another pipe brought.
fn catalog_of(source: &Source) -> Option<String> {
    let path = std::fs::canonicalize(source.name()).ok()?;
    Some(path.display().to_string())
}

fn unknown(index: &Index, name: &str) -> RegistryError {
    let mut names: Vec<&str> = index.names().collect();
    names.sort_unstable();
    RegistryError::UnknownAgent {
        name: name.to_owned(),
        nearest: nearest(name, names).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests;
