//! The directories of accounts, and what each account sees.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use protocol::outbound::Outbound;
use registry::{CardVersion, Difference, Index, Query, Record, Registry, RegistryError};
use store::{AccountId, Store};
use tokio::sync::OnceCell;

use super::{
    pages::Snapshots,
    problem::Problem,
    query::Wrong,
    wire::{EvidenceOut, LintedOut, Listed},
};

/// How many directories of accounts are kept open when nobody uses them; those that are probed are in use.
const MOST_OPEN: usize = 256;

/// After how long a directory that could not be opened is tried again; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(60);

/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The directories of all accounts in a store.
pub(crate) struct Accounts {
    store: Arc<dyn Store>,
    /// What is fetched with for other accounts than the server's own.
    outbound: Outbound,
    /// That of the server itself, which workflows are bound from.
    home: Arc<Shelf>,
    /// What all see of it, and of which index that is.
    public: Mutex<Option<(Arc<Index>, Arc<Index>)>>,
    others: Mutex<Shelves>,
    /// Accounts whose directories could not be opened.
    troubled: Mutex<HashMap<AccountId, Trouble>>,
}

/// A directory that could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trouble {
    /// How often in a row.
    times: u32,
    /// Not before then it is tried again.
    until: Instant,
}

impl Trouble {
    /// One more time, at this moment.
    fn again(before: Option<Self>, now: Instant) -> Self {
        let times = before.map_or(0, |it| it.times).saturating_add(1);
        let pause = FIRST_PAUSE.saturating_mul(1 << (times - 1).min(16)).min(LONGEST_PAUSE);
        Self { times, until: now + pause }
    }
}

/// Directories by their accounts, each of which is opened by who asks for it first.
type Shelves = HashMap<AccountId, Arc<OnceCell<Arc<Shelf>>>>;

/// One directory, and what is kept beside it.
struct Shelf {
    registry: Arc<Registry>,
    /// What its account sees together with what is public, and of which two that is made.
    merged: Mutex<Option<[Arc<Index>; 3]>>,
    snapshots: Arc<Snapshots>,
}

/// What an account sees: its own directory, and what is public of the server's.
#[derive(Clone)]
pub(crate) struct View {
    pub(super) own: Arc<Registry>,
    /// The server's, for another account.
    pub(super) home: Option<Arc<Registry>>,
    pub(super) index: Arc<Index>,
    pub(super) snapshots: Arc<Snapshots>,
}

impl Accounts {
    pub(crate) fn new(store: Arc<dyn Store>, outbound: Outbound, home: Arc<Registry>) -> Self {
        Self {
            store,
            outbound,
            home: Arc::new(Shelf::new(home)),
            public: Mutex::default(),
            others: Mutex::default(),
            troubled: Mutex::default(),
        }
    }

    /// The account of the server itself.
    pub(super) fn home(&self) -> &AccountId {
        self.home.registry.account()
    }

    /// What an account sees now.
    pub(super) async fn view(&self, account: &AccountId) -> Result<View, RegistryError> {
        if account == self.home() {
            return Ok(View::of(&self.home, None, self.home.registry.index()));
        }
        let shelf = self.shelf(account).await?;
        let index = shelf.over(&self.public());
        Ok(View::of(&shelf, Some(Arc::clone(&self.home.registry)), index))
    }

    /// Opens the directories of all accounts that have one, so that what goes on by itself does in them as well; whether
    /// that was done. One that cannot be opened keeps nobody from the others, and is tried again less and less often.
    pub(crate) async fn open_all(&self, now: Instant) -> bool {
        let accounts = match Registry::accounts(&*self.store).await {
            Ok(accounts) => accounts,
            Err(error) => {
                tracing::warn!(%error, "whose directories there are could not be read; it is tried again");
                return false;
            }
        };
        let mut are_all_open = true;
        for account in accounts.iter().filter(|account| *account != self.home()) {
            are_all_open &= self.opened(account, now).await;
        }
        are_all_open
    }

    /// Opens one of these directories, unless that failed a short while ago. That it fails is said once.
    async fn opened(&self, account: &AccountId, now: Instant) -> bool {
        let before = self.troubled().get(account).copied();
        if before.is_some_and(|it| it.until > now) {
            return false;
        }
        let opened = self.shelf(account).await;
        let mut troubled = self.troubled();
        match (opened, before) {
            (Ok(_), None) => return true,
            (Ok(_), Some(_)) => {
                troubled.remove(account);
                tracing::info!(%account, "the directory could be opened");
                return true;
            }
            (Err(error), None) => {
                tracing::warn!(%account, %error, "a directory could not be opened; it is tried again from time to time");
            }
            (Err(error), Some(_)) => {
                tracing::debug!(%account, %error, "a directory still could not be opened");
            }
        }
        troubled.insert(account.clone(), Trouble::again(before, now));
        false
    }

    fn troubled(&self) -> MutexGuard<'_, HashMap<AccountId, Trouble>> {
        self.troubled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directories of other accounts than the server's that are open and have agents.
    pub(crate) fn others(&self) -> Vec<Arc<Registry>> {
        let shelves = self.shelves();
        let open = shelves.values().filter_map(|cell| cell.get());
        let with_agents = open.filter(|shelf| !shelf.registry.index().is_empty());
        with_agents.map(|shelf| Arc::clone(&shelf.registry)).collect()
    }

    /// Does what is due in all directories that are open.
    pub(crate) async fn review(&self, now: Timestamp) {
        let mut open: Vec<Arc<Shelf>> =
            self.shelves().values().filter_map(|cell| cell.get().cloned()).collect();
        open.push(Arc::clone(&self.home));
        for shelf in open {
            shelf.snapshots.forget_old();
            if let Err(error) = shelf.registry.review(now).await {
                tracing::warn!(%error, "approvals that are due could not be reviewed; they are looked at again");
            }
        }
    }

    /// The directory of an account, opened once; whoever opens one keeps nobody from the others.
    async fn shelf(&self, account: &AccountId) -> Result<Arc<Shelf>, RegistryError> {
        let cell = self.cell(account);
        let open = async || {
            let (store, outbound) = (Arc::clone(&self.store), self.outbound.clone());
            let registry = Registry::open(store, outbound, account.clone()).await?;
            let freshness = self.home.registry.cards().freshness();
            let registry = registry.with_card_freshness(freshness);
            Ok(Arc::new(Shelf::new(Arc::new(registry))))
        };
        cell.get_or_try_init(open).await.cloned()
    }

    fn cell(&self, account: &AccountId) -> Arc<OnceCell<Arc<Shelf>>> {
        let mut others = self.shelves();
        if let Some(cell) = others.get(account) {
            return Arc::clone(cell);
        }
        if others.len() >= MOST_OPEN {
            // Those in use, or about to be, are not worth opening again.
            others.retain(|_, cell| {
                let is_open = cell.get().is_some_and(|it| Arc::strong_count(&it.registry) > 1);
                is_open || Arc::strong_count(cell) > 1
            });
        }
        Arc::clone(others.entry(account.clone()).or_default())
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all see of the server's own directory.
    fn public(&self) -> Arc<Index> {
        let home = self.home.registry.index();
        let mut public = self.public.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match &*public {
            Some((of, made)) if Arc::ptr_eq(of, &home) => return Arc::clone(made),
            Some((of, made)) => home.public_since(of, made),
            None => home.public(),
        };
        let made = Arc::new(made);
        *public = Some((home, Arc::clone(&made)));
        made
    }
}

impl Shelf {
    fn new(registry: Arc<Registry>) -> Self {
        Self { registry, merged: Mutex::default(), snapshots: Arc::default() }
    }

    fn over(&self, public: &Arc<Index>) -> Arc<Index> {
        let own = self.registry.index();
        if public.is_empty() {
            return own;
        }
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match &*merged {
            Some([of, over, made]) if Arc::ptr_eq(of, &own) && Arc::ptr_eq(over, public) => {
                return Arc::clone(made);
            }
            Some([of, over, made]) => own.over_since(public, [of, over, made]),
            None => own.over(public),
        };
        let made = Arc::new(made);
        *merged = Some([own, Arc::clone(public), Arc::clone(&made)]);
        made
    }
}

impl View {
    fn of(shelf: &Shelf, home: Option<Arc<Registry>>, index: Arc<Index>) -> Self {
        let own = Arc::clone(&shelf.registry);
        Self { own, home, index, snapshots: Arc::clone(&shelf.snapshots) }
    }

    /// The directory that holds an agent, the agent's name there, and whether that is the account's own.
    fn holder(&self, name: &str) -> (&Registry, String, bool) {
        let Ok(agent) = self.index.get(name) else {
            // One that cannot be read is in no index.
            return (&self.own, name.to_owned(), true);
        };
        let is_own = self.own.index().fitting(&agent.name, &[]).is_some();
        let is_public = |home: &Registry| {
            home.index().fitting(&agent.name, &[]).is_some_and(|agent| agent.is_public)
        };
        match &self.home {
            // As it is now: the index of the view may be of a moment ago.
            Some(home) if !is_own && is_public(home) => (home, agent.name.clone(), false),
            _ => (&self.own, agent.name.clone(), true),
        }
    }

    /// The page of a query that comes after a token.
    ///
    /// # Errors
    /// When the token is not one of this query.
    pub(crate) fn page(&self, query: Query, token: Option<&str>) -> Result<Listed, Wrong> {
        let paged = self.snapshots.page(&self.index, query, token);
        let (found, next_page_token) = paged.map_err(|why| Wrong::new("page_token", why))?;
        Ok(Listed { next_page_token, ..Listed::from(&found) })
    }

    /// What is kept of an agent, as far as the account sees it.
    pub(super) async fn record(&self, name: &str) -> Result<Record, RegistryError> {
        let (registry, known, is_own) = self.holder(name);
        let record = registry.record(&known).await.map_err(|error| self.hidden(error, name))?;
        match is_own {
            true => Ok(record),
            false if record.details.public => Ok(record.for_others()),
            // It was, a moment ago.
            false => Err(self.index.missing(name)),
        }
    }

    /// What was seen of an agent.
    pub(super) fn evidence(&self, name: &str) -> EvidenceOut {
        let (registry, known, is_own) = self.holder(name);
        let evidence = EvidenceOut::of(registry, &known);
        if is_own { evidence } else { evidence.for_others() }
    }

    /// What an agent's card should be better at. What probes found is for its own account.
    pub(super) async fn lint(&self, name: &str) -> Result<LintedOut, RegistryError> {
        let record = self.record(name).await?;
        match self.holder(name) {
            (registry, _, true) => LintedOut::of(registry, &record),
            _ => Ok(LintedOut { name: record.name.clone(), findings: record.lint()? }),
        }
    }

    /// The versions of an agent's card, as far as the account sees it.
    pub(super) async fn versions(&self, name: &str) -> Result<Vec<CardVersion>, RegistryError> {
        let (registry, known, is_own) = self.holder(name);
        let versions = match is_own {
            true => registry.versions(&known).await,
            false => registry.public_versions(&known).await,
        };
        let versions = versions.map_err(|error| self.hidden(error, name))?;
        // None is public of one that was, a moment ago.
        if versions.is_empty() { Err(self.index.missing(name)) } else { Ok(versions) }
    }

    /// Compares two versions of an agent's card.
    pub(super) async fn diff(
        &self,
        name: &str,
        from: Option<u32>,
        to: Option<u32>,
    ) -> Result<Difference, RegistryError> {
        let (_, known, _) = self.holder(name);
        Difference::between(&known, &self.versions(name).await?, from, to)
    }

    /// The name, when it is of an agent that the account may change.
    pub(super) fn own(&self, name: &str) -> Result<String, Problem> {
        let (_, known, is_own) = self.holder(name);
        if is_own { Ok(known) } else { Err(Problem::not_yours(&known)) }
    }

    /// The nearest name that is told is one that the account sees.
    pub(super) fn hidden(&self, error: RegistryError, name: &str) -> RegistryError {
        match error {
            RegistryError::UnknownAgent { .. } | RegistryError::Gone { .. } => {
                self.index.missing(name)
            }
            error => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::outbound::Policy;
    use store::{Batch, Expect, OpenOptions, SqliteStore, Table, Tags, Write};

    use super::*;

    #[tokio::test]
    async fn a_directory_that_cannot_be_opened_is_tried_again_less_and_less_often() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(folder.path(), OpenOptions::default()).unwrap());
        let damaged = AccountId::new("damaged");
        let row = |table, key: &str, value: &'static str| Write::Put {
            account: damaged.clone(),
            table: Table::new(table),
            key: key.to_owned(),
            sort: key.to_owned(),
            tags: Tags::default(),
            value: value.into(),
            expect: Expect::Any,
        };
        let writes = vec![row("directory", "policy", "no JSON"), row("agents", "a", "{}")];
        store.commit(Batch { fences: Vec::new(), writes }).await.unwrap();
        let outbound = Outbound::new(Policy::loopback()).unwrap();
        let home = Registry::open(Arc::clone(&store), outbound.clone(), AccountId::new("local"));
        let accounts = Accounts::new(store, outbound, Arc::new(home.await.unwrap()));
        let start = Instant::now();
        let times = || accounts.troubled().get(&damaged).map(|it| it.times);
        for (seconds, tried) in [(0, 1), (59, 1), (60, 2), (179, 2), (180, 3)] {
            assert!(!accounts.open_all(start + Duration::from_secs(seconds)).await);
            assert_eq!(times(), Some(tried), "after {seconds} s");
        }
        let often = Trouble { times: 40, until: start };
        assert_eq!(Trouble::again(Some(often), start).until, start + LONGEST_PAUSE);
    }
}
