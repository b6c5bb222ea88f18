//! Starts, resumes and cancels runs; owns their drivers and the lease under which they write.

mod opening;

use std::{sync::Arc, time::Duration};

use dashmap::DashMap;
use planner::Plan;
use protocol::{
    outbound::Outbound,
    v1::{Message, Part},
};
use serde_json::{Map, Value};
use store::{AccountId, Claim, Lease, Owned, Seq, Store};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    ExecutorError, ReplyError, RunId, Runs,
    answer::Mailbox,
    context::Contexts,
    driver::{Driver, Shared, Standing},
    ownership::keep_lease,
    record::Opening,
    report::body_of,
    run::{Header, Outcome, Run, Shape, StepId},
    supervise::{Drivers, Ended, Farewell, Handle, Supervised},
};

/// How long a lease lives without renewal: what a crash costs before another process may take over.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

pub use self::opening::Exchange;
use self::opening::Held;

/// Runs claimed at once after a restart.
const CLAIMED_AT_ONCE: usize = 64;

/// Runs to be driven by this process.
pub struct Executor {
    shared: Arc<Shared>,
    lease: Lease,
    drivers: Arc<Drivers>,
    /// Runs that are ours and that nobody drives, after a failure of the store.
    idle: Arc<DashMap<RunId, Owned>>,
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
    /// That Message, for the history of the Task; `None` when no client sent one.
    pub message: Option<Message>,
    /// The context to work in; a new one when absent.
    pub context_id: Option<String>,
    /// The Task that it becomes the inside of, with its context; a new one when absent.
    pub opening: Option<Opening>,
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
        tasks.spawn(keep_lease(Arc::clone(&store), lease.clone(), LEASE, stop.clone()));
        Ok(Self {
            shared: Arc::new(Shared { store, outbound, account }),
            lease,
            drivers: Arc::default(),
            idle: Arc::default(),
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
    /// When the store does not take it: then there is no run, unless the store cannot say
    /// ([`store::StoreError::Unavailable`]); a run that does exist is free once this executor is gone.
    pub async fn start(&self, new: NewRun) -> Result<RunId, ExecutorError> {
        self.check_lease()?;
        let account = &self.shared.account;
        let opening = new.opening.unwrap_or_else(|| Opening::new(&RunId::generate()));
        let context = Some(&opening.context_id).filter(|known| !known.is_empty());
        let contexts = match context.or(new.context_id.as_ref()) {
            Some(context) => Contexts::load(&*self.shared.store, account, context).await?,
            None => Contexts::fresh(account, &uuid::Uuid::new_v4().to_string()),
        };
        let id = opening.id;
        let message = new.message.map(|it| it.with_task(id.as_str()).with_context(contexts.ours()));
        let mut blobs = Vec::new();
        let header = Box::new(Header {
            workflow: new.plan.workflow.name.clone(),
            context_id: contexts.ours().to_owned(),
            plan: body_of(account, &*new.plan, &mut blobs)?,
            inputs: body_of(account, &new.inputs, &mut blobs)?,
            start: body_of(account, &new.start, &mut blobs)?,
            origin: message.as_ref().map(|message| message.message_id.clone()),
            message: message.map(|message| body_of(account, &message, &mut blobs)).transpose()?,
        });
        let held = match opening.seq {
            Seq(0) => Held::new(self, &id),
            _ => self.hold(&id).await?,
        };
        let owned = held.owned.clone();
        let run = self.supervised(&id, owned.clone());
        let standing = Standing {
            id: id.clone(),
            owned,
            run: Run::new(Arc::new(Shape::of(&new.plan))),
            plan: new.plan,
            seq: opening.seq,
            contexts,
            cancel: run.cancel.clone(),
            mailbox: run.mailbox.clone(),
        };
        let mut driver = Driver::new(Arc::clone(&self.shared), standing);
        let opened = driver.open(header, blobs, Arc::new(new.inputs), new.start.into()).await;
        held.settle(opened, false)?;
        self.launch(run, driver).await;
        Ok(id)
    }

    /// Takes up every run of the account that has not ended and that no living process drives. Returns those
    /// that go on; one that cannot be taken up is logged, and can be resumed later.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume_all(&self) -> Result<Vec<RunId>, ExecutorError> {
        self.check_lease()?;
        let mut resumed = Vec::new();
        loop {
            let which = Claim::Any { limit: CLAIMED_AT_ONCE };
            let claimed = self.shared.store.claim(&self.lease, which).await?;
            if claimed.is_empty() {
                return Ok(resumed);
            }
            for claimed in claimed {
                resumed.extend(self.take_over(claimed.owned).await);
            }
        }
    }

    async fn take_over(&self, owned: Owned) -> Option<RunId> {
        let journal = owned.journal.clone();
        let id =
            journal.as_str().parse::<RunId>().ok().filter(|_| owned.account == self.shared.account);
        let Some(id) = id else {
            tracing::warn!(account = %owned.account, %journal, "what this is cannot be driven here");
            return None;
        };
        self.idle.insert(id.clone(), owned);
        match self.resume(&id).await {
            Ok(()) => Some(id),
            // It waits for a Message and for nothing else.
            Err(ExecutorError::NotStarted { .. }) => None,
            Err(error) => {
                tracing::error!(run = %id, %error, "a run cannot be taken up");
                None
            }
        }
    }

    /// Takes up a run where its journal stands. A run that has ended, or is driven here already, stays as it is.
    ///
    /// # Errors
    /// When there is no such run, another process drives it, or the store fails.
    pub async fn resume(&self, id: &RunId) -> Result<(), ExecutorError> {
        self.check_lease()?;
        if self.drivers.contains_key(id) {
            return Ok(());
        }
        let recorded = self.runs().read(id).await?;
        if recorded.run.outcome().is_some() {
            return Ok(());
        }
        let owned = match self.idle.remove(id) {
            Some((_, owned)) => owned,
            None => self.claim(id).await?,
        };
        let run = self.supervised(id, owned);
        match run.revive().await {
            Ok(driver) => {
                self.launch(run, driver).await;
                Ok(())
            }
            Err(error) => {
                if !error.is_fenced() {
                    self.idle.insert(id.clone(), run.owned);
                }
                Err(error)
            }
        }
    }

    /// Makes a run ours. Its journal is read after that: before it, the former owner may have written.
    async fn claim(&self, id: &RunId) -> Result<Owned, ExecutorError> {
        let which = Claim::One { account: self.shared.account.clone(), journal: id.journal() };
        let claimed = self.shared.store.claim(&self.lease, which).await?;
        let claimed = claimed.into_iter().next();
        claimed
            .map(|claimed| claimed.owned)
            .ok_or_else(|| ExecutorError::OwnedElsewhere { run: id.clone() })
    }

    /// Whether a run is driven here now.
    #[must_use]
    pub fn is_driving(&self, id: &RunId) -> bool {
        self.drivers.contains_key(id)
    }

    /// Asks a run that is driven here to stop. Remote Tasks are told; the run ends once they confirm or their
    /// grace is over.
    ///
    /// # Errors
    /// When the run is not driven here.
    pub async fn cancel(&self, id: &RunId) -> Result<(), ExecutorError> {
        let handle = self.drivers.get(id);
        let handle = handle.ok_or_else(|| ExecutorError::NotDriven { run: id.clone() })?;
        handle.cancel.cancel();
        Ok(())
    }

    /// Answers a pause: of the step named, else of the only one. When this returns, the answer is durable and on
    /// its way to exactly the remote Task that asked.
    ///
    /// # Errors
    /// When nothing waits for it: then nothing is kept. When the run is not driven here.
    pub async fn reply(
        &self,
        id: &RunId,
        step: Option<StepId>,
        message: Message,
    ) -> Result<StepId, ExecutorError> {
        let driven = self.drivers.get(id).map(|it| (it.mailbox.clone(), it.ended.clone()));
        let (mailbox, mut ended) =
            driven.ok_or_else(|| ExecutorError::NotDriven { run: id.clone() })?;
        let taken = tokio::select! {
            biased;
            taken = mailbox.leave(step, message) => taken,
            // Nobody looks into the mailbox any more. Whoever did has confirmed what it took before this.
            ended = ended.wait_for(Option::is_some) => match ended.as_deref() {
                Ok(Some(Ended::Finished(_))) => Err(ReplyError::NotPaused),
                _ => Err(ReplyError::Unknown),
            },
        };
        Ok(taken?)
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
        self.stop().await
    }

    /// As [`Executor::shutdown`], for an executor that others hold as well: they can still read runs.
    ///
    /// # Errors
    /// As there.
    pub async fn stop(&self) -> Result<(), ExecutorError> {
        self.stop.cancel();
        self.tasks.lock().await.shutdown().await;
        Ok(self.shared.store.release(self.lease.clone()).await?)
    }

    /// Waits until this process may drive no runs any more: its lease is lost, or it was shut down. Cancel safe.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// A process whose lease ends does not begin to send.
    fn check_lease(&self) -> Result<(), ExecutorError> {
        if self.stop.is_cancelled() { Err(ExecutorError::LeaseLost) } else { Ok(()) }
    }

    fn supervised(&self, id: &RunId, owned: Owned) -> Supervised {
        let shared = Arc::clone(&self.shared);
        let (cancel, mailbox) = (CancellationToken::new(), Mailbox::default());
        Supervised { shared, id: id.clone(), owned, cancel, mailbox }
    }

    async fn launch(&self, run: Supervised, driver: Driver) {
        let (tell, ended) = watch::channel(None);
        let (cancel, mailbox) = (run.cancel.clone(), run.mailbox.clone());
        self.drivers.insert(run.id.clone(), Handle { cancel, ended, mailbox });
        let farewell = Farewell {
            id: run.id.clone(),
            drivers: Arc::clone(&self.drivers),
            idle: Arc::clone(&self.idle),
            owned: run.owned.clone(),
            is_ours: true,
        };
        let mut tasks = self.tasks.lock().await;
        // Those of runs that have ended would pile up.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(run.supervise(driver, tell, self.stop.clone(), farewell));
    }
}
