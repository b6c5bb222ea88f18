//! Starts, resumes and cancels runs; owns their drivers and the lease under which they write.

use std::{sync::Arc, time::Duration};

use dashmap::DashMap;
use jiff::Timestamp;
use planner::Plan;
use protocol::{outbound::Outbound, v1::Part};
use serde_json::{Map, Value};
use store::{AccountId, Claim, Claimed, Lease, Owned, Seq, Store};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    ExecutorError, RunId, Runs,
    context::Contexts,
    driver::{Driver, Ended, Handle, Shared, Standing},
    ownership::keep_lease,
    report::{Report, body_of},
    run::{Header, Input, Outcome, Run, Shape},
};

/// How long a lease lives without renewal: what a crash costs before another process may take over.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// Runs to be driven by this process.
pub struct Executor {
    shared: Arc<Shared>,
    lease: Lease,
    drivers: Arc<DashMap<RunId, Handle>>,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
    stop: CancellationToken,
}

/// What a run is made of.
pub struct NewRun {
    /// The plan, pinned from here on.
    pub plan: Arc<Plan>,
    /// Checked inputs.
    pub inputs: Map<String, Value>,
    /// Parts of the Message that starts it: what a step without `message` sends on.
    pub start: Vec<Part>,
    /// The context to work in; a new one when absent.
    pub context_id: Option<String>,
}

impl Executor {
    /// Takes a lease and keeps it alive until [`Executor::shutdown`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open(
        store: Arc<dyn Store>,
        outbound: Outbound,
        account: AccountId,
    ) -> Result<Self, ExecutorError> {
        let lease = store.acquire(LEASE).await?;
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(keep_lease(Arc::clone(&store), lease.clone(), stop.clone()));
        Ok(Self {
            shared: Arc::new(Shared { store, outbound, account }),
            lease,
            drivers: Arc::default(),
            tasks: tokio::sync::Mutex::new(tasks),
            stop,
        })
    }

    /// Reads runs.
    #[must_use]
    pub fn runs(&self) -> Runs {
        Runs::new(Arc::clone(&self.shared.store), self.shared.account.clone())
    }

    /// Starts a run. When this returns, the run exists durably and its first Messages are on their way.
    ///
    /// # Errors
    /// When the store does not take it: then there is no run.
    pub async fn start(&self, new: NewRun) -> Result<RunId, ExecutorError> {
        let id = RunId::generate();
        let account = &self.shared.account;
        let contexts = match &new.context_id {
            Some(context) => Contexts::load(&*self.shared.store, account, context).await?,
            None => Contexts::fresh(account, &uuid::Uuid::new_v4().to_string()),
        };
        let mut blobs = Vec::new();
        let header = Box::new(Header {
            workflow: new.plan.workflow.name.clone(),
            context_id: contexts.ours().to_owned(),
            plan: body_of(account, &*new.plan, &mut blobs)?,
            inputs: body_of(account, &new.inputs, &mut blobs)?,
            start: body_of(account, &new.start, &mut blobs)?,
        });
        let shape = Arc::new(Shape::of(&new.plan));
        let owned = Owned::opened(account.clone(), id.journal(), self.lease.incarnation);
        let standing = Standing {
            id: id.clone(),
            plan: new.plan,
            owned,
            run: Run::new(shape),
            seq: Seq(0),
            contexts,
        };
        let mut driver = Driver::new(Arc::clone(&self.shared), standing);
        driver.open(header, blobs, Arc::new(new.inputs), new.start.into()).await?;
        self.launch(id.clone(), driver).await;
        Ok(id)
    }

    /// Takes up a run where its journal stands. A run that has ended, or is driven here already, stays as it is.
    ///
    /// # Errors
    /// When there is no such run, another process drives it, or the store fails.
    pub async fn resume(&self, id: &RunId) -> Result<(), ExecutorError> {
        if self.drivers.contains_key(id) {
            return Ok(());
        }
        let recorded = self.runs().read(id).await?;
        if recorded.run.outcome().is_some() {
            return Ok(());
        }
        let which =
            Claim::One { account: self.shared.account.clone(), journal: id.journal() };
        let claimed = self.shared.store.claim(&self.lease, which).await?;
        let Some(claimed) = claimed.into_iter().next() else {
            return Err(ExecutorError::OwnedElsewhere { run: id.clone() });
        };
        self.take_up(id, claimed).await
    }

    /// Replays a claimed run and drives it on. The journal is read after the claim: before it, the former
    /// owner may have written.
    async fn take_up(&self, id: &RunId, claimed: Claimed) -> Result<(), ExecutorError> {
        let recorded = self.runs().read(id).await?;
        let context = recorded.run.header().map_or("", |header| &header.context_id);
        let contexts =
            Contexts::load(&*self.shared.store, &self.shared.account, context).await?;
        let standing = Standing {
            id: id.clone(),
            plan: recorded.plan,
            owned: claimed.owned,
            run: recorded.run,
            seq: recorded.seq,
            contexts,
        };
        let mut driver = Driver::new(Arc::clone(&self.shared), standing);
        driver.resume().await?;
        self.launch(id.clone(), driver).await;
        Ok(())
    }

    /// Asks a run that is driven here to stop. Remote Tasks are told; the run ends once they confirm or their
    /// grace is over.
    ///
    /// # Errors
    /// When the run is not driven here.
    pub async fn cancel(&self, id: &RunId) -> Result<(), ExecutorError> {
        let not_driven = || ExecutorError::NotDriven { run: id.clone() };
        let to = self.drivers.get(id).map(|handle| handle.reports.clone());
        let report = Report::of(Input::CancelRequested { at: Timestamp::now() });
        to.ok_or_else(not_driven)?.send(report).await.map_err(|_| not_driven())
    }

    /// Waits for the end of a run that is driven here, or was. Cancel safe.
    ///
    /// # Errors
    /// When its driver stops before the run has ended, and why.
    pub async fn finished(&self, id: &RunId) -> Result<Outcome, ExecutorError> {
        let driven = self.drivers.get(id).map(|handle| handle.ended.clone());
        if let Some(mut ended) = driven
            && let Ok(ended) = ended.wait_for(Option::is_some).await
        {
            match ended.clone() {
                Some(Ended::Finished(outcome)) => return Ok(outcome),
                Some(Ended::Stopped(why)) => {
                    return Err(ExecutorError::DriverStopped { run: id.clone(), why });
                }
                None => (),
            }
        }
        let recorded = self.runs().read(id).await?;
        let outcome = recorded.run.outcome().cloned();
        outcome.ok_or_else(|| ExecutorError::NotDriven { run: id.clone() })
    }

    /// Stops driving: runs stay as their journals have them, and their ownership ends at once.
    ///
    /// # Errors
    /// When the store fails; the lease then ends by itself.
    pub async fn shutdown(self) -> Result<(), ExecutorError> {
        self.stop.cancel();
        self.tasks.lock().await.shutdown().await;
        Ok(self.shared.store.release(self.lease).await?)
    }

    async fn launch(&self, id: RunId, driver: Driver) {
        let (handle, tell) = driver.handle();
        self.drivers.insert(id.clone(), handle);
        let work = supervise(id, driver, tell, Arc::clone(&self.drivers), self.stop.clone());
        self.tasks.lock().await.spawn(work);
    }
}

/// Drives a run until it ends, its driver fails, or the executor stops.
async fn supervise(
    id: RunId,
    driver: Driver,
    tell: watch::Sender<Option<Ended>>,
    drivers: Arc<DashMap<RunId, Handle>>,
    stop: CancellationToken,
) {
    let ended = tokio::select! {
        ended = driver.drive() => ended,
        () = stop.cancelled() => return,
    };
    let ended = match ended {
        Ok(outcome) => Ended::Finished(outcome),
        Err(error) => {
            tracing::error!(run = %id, %error, "the driver of a run stopped");
            Ended::Stopped(error.to_string())
        }
    };
    // Nobody may be waiting; whoever comes later reads the journal.
    let _ = tell.send(Some(ended));
    drivers.remove(&id);
}
