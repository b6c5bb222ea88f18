//! The side that is measured: the executor on a SQLite store, with plans bound by the planner.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anyhow::{Context as _, Result, anyhow, bail};
use document::{Source, Style};
use executor::{Executor, NewRun, RunId, run::Outcome};
use planner::Plan;
use protocol::outbound::{Outbound, Policy};
use registry::{Index, fetch_agent};
use serde_json::Map;
use store::{AccountId, OpenOptions, Seq, SqliteStore, Store};

use crate::{
    measure::{Clock, Sample},
    workload::Workload,
};

const ACCOUNT: &str = "bench";

/// An executor on a data folder.
pub struct Convoke {
    store: Arc<SqliteStore>,
    outbound: Outbound,
    executor: Executor,
}

impl Convoke {
    /// Opens the folder and takes the lease.
    ///
    /// # Errors
    /// Those of the store and the executor.
    pub async fn open(folder: &Path) -> Result<Self> {
        let store = Arc::new(SqliteStore::open(folder, OpenOptions::default())?);
        let outbound = Outbound::new(Policy::loopback())?;
        let account = AccountId::from(ACCOUNT);
        let driven: Arc<dyn Store> = Arc::<SqliteStore>::clone(&store);
        let executor = Executor::open(driven, outbound.clone(), account).await?;
        Ok(Self { store, outbound, executor })
    }

    /// Checks the workload as a workflow file and binds it to the agent at `url`.
    ///
    /// # Errors
    /// When the agent has no card, or the file has problems.
    pub async fn plan(&self, workload: &Workload, url: &str) -> Result<Arc<Plan>> {
        let source = Source::new("bench.yaml", &workload.yaml(url));
        let explain = |problems: Vec<document::Diagnostic>| {
            anyhow!(document::render(&source, &problems, Style::default()))
        };
        let workflow = planner::check(&source).map_err(explain)?;
        let agent = fetch_agent(&self.outbound, url, "bench").await.context("fetching the card")?;
        let fetched = BTreeMap::from([(url.to_owned(), agent)]);
        let plan = planner::bind(Arc::new(workflow), &Index::new(Vec::new()), &fetched)
            .map_err(explain)?;
        Ok(Arc::new(plan))
    }

    /// Runs a plan to its end, which has to be a good one, and says what that cost.
    ///
    /// # Errors
    /// When the run does not complete.
    pub async fn run(&self, plan: &Arc<Plan>) -> Result<(RunId, Sample)> {
        let flushes = self.store.stats().flushes;
        let clock = Clock::start();
        let new = NewRun::of(Arc::clone(plan), Map::new(), Vec::new());
        let id = self.executor.start(new).await?;
        let outcome = self.executor.finished(&id).await?;
        let sample = clock.stop(self.store.stats().flushes - flushes);
        match outcome {
            Outcome::Completed(_) => Ok((id, sample)),
            other => bail!("the run ended otherwise than expected: {other:?}"),
        }
    }

    /// Counts the bytes of a run's journal.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn journal_bytes(&self, run: &RunId) -> Result<usize> {
        let (account, journal) = (AccountId::from(ACCOUNT), run.to_string().into());
        let entries = self.store.entries(&account, &journal, Seq::ZERO, usize::MAX).await?;
        Ok(entries.iter().map(|entry| entry.bytes.len()).sum())
    }

    /// Gives the lease back.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn close(self) -> Result<()> {
        Ok(self.executor.shutdown().await?)
    }
}
