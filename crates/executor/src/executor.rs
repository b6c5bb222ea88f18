//! Starts, resumes and cancels runs; owns their drivers and the lease under which they write.

mod admission;
mod launching;
mod opening;
mod recovery;
mod schedules;
mod steering;
mod sub_runs;

use std::{sync::Arc, time::Duration};

use planner::Plan;
use protocol::{auth::Caller, outbound::Outbound};
use registry::{Keyrings, Outcomes};
use store::{AccountId, Lease, Owned, Seq, Store};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    Callbacks, ExecutorError, Limits, RunId, Runs,
    answer::Mailbox,
    driver::{Driver, Shared},
    id::RunKey,
    once::forget,
    ownership::{Health, keep_lease},
    record::Opening,
    report::body_of,
    run::{Header, Parent},
    seats::{RunLimits, Seat, Seats},
    supervise::{Drivers, Farewell, Handle, Idle, Supervised},
    tally::{Tallies, Tally},
};

/// How long a lease lives without renewal: what a crash costs before another process may take over.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

pub(crate) use self::sub_runs::{NewSubRun, SubRuns};
use self::{admission::caller_of, launching::Launching, opening::Held};
pub use self::{
    admission::{NewRun, Scheduled},
    opening::Exchange,
    schedules::Decided,
};

/// Runs of one account to be driven by this process.
///
/// A clone is another hold of the same; [`Executor::of`] is the same for another account. Lease, limits, and what is
/// being driven are shared by all of them, and so is their end.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
    lease: Lease,
    drivers: Arc<Drivers>,
    /// Runs that are ours and that nobody drives, after a failure of the store.
    idle: Arc<Idle>,
    seats: Arc<Seats>,
    tallies: Arc<Tallies>,
    health: watch::Receiver<Health>,
    tasks: Arc<tokio::sync::Mutex<JoinSet<()>>>,
    stop: CancellationToken,
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
        Self::with_limits(store, outbound, account, Limits::default()).await
    }

    /// As [`Executor::open`], with limits of its own.
    ///
    /// # Errors
    /// As there.
    pub async fn with_limits(
        store: Arc<dyn Store>,
        outbound: Outbound,
        account: AccountId,
        limits: Limits,
    ) -> Result<Self, ExecutorError> {
        let interfaces = Arc::default();
        let lease = store.acquire(LEASE).await?;
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let (tell, health) = watch::channel(Health::default());
        tasks.spawn(keep_lease(Arc::clone(&store), lease.clone(), LEASE, stop.clone(), tell));
        tasks.spawn(forget(Arc::clone(&store)));
        Ok(Self {
            shared: Arc::new(Shared {
                store,
                outbound,
                home: account.clone(),
                account,
                limits,
                interfaces,
                keyrings: None,
                callbacks: None,
                outcomes: None,
            }),
            lease,
            drivers: Arc::default(),
            idle: Arc::default(),
            seats: Seats::new(RunLimits::NONE),
            tallies: Arc::default(),
            health,
            tasks: Arc::new(tokio::sync::Mutex::new(tasks)),
            stop,
        })
    }

    /// Calls the agents of runs driven from now on with what the directory has for them.
    #[must_use]
    pub fn with_keyrings(self, keyrings: Keyrings) -> Self {
        let shared = Shared { keyrings: Some(keyrings), ..Shared::clone(&self.shared) };
        Self { shared: Arc::new(shared), ..self }
    }

    /// Takes down how the agents of the directory do, in runs driven from now on.
    #[must_use]
    pub fn with_outcomes(self, outcomes: Outcomes) -> Self {
        let shared = Shared { outcomes: Some(outcomes), ..Shared::clone(&self.shared) };
        Self { shared: Arc::new(shared), ..self }
    }

    /// Has agents tell of their Tasks, in runs driven from now on: those that send push notifications and do not stream.
    /// Whoever serves the callbacks passes on what comes as a hint ([`crate::Awaited::hint`]).
    #[must_use]
    pub fn with_callbacks(self, callbacks: Callbacks) -> Self {
        let shared = Shared { callbacks: Some(callbacks), ..Shared::clone(&self.shared) };
        Self { shared: Arc::new(shared), ..self }
    }

    /// Where agents may tell of their Tasks.
    #[must_use]
    pub fn callbacks(&self) -> Option<&Callbacks> {
        self.shared.callbacks.as_ref()
    }

    /// The same executor for the runs of another account, which know nothing of those of this one. Accounts need not be
    /// known before.
    #[must_use]
    pub fn of(&self, account: &AccountId) -> Self {
        if *account == self.shared.account {
            return self.clone();
        }
        let shared = Shared { account: account.clone(), ..Shared::clone(&self.shared) };
        Self { shared: Arc::new(shared), ..self.clone() }
    }

    /// Sets how many runs it takes; without that, every run is driven at once. To be called before it has any.
    #[must_use]
    pub fn with_run_limits(self, limits: RunLimits) -> Self {
        Self { seats: Seats::new(limits), ..self }
    }

    /// Why runs cannot be driven just now: the store fails, or the lease is lost.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        if self.stop.is_cancelled() {
            return Some(ExecutorError::LeaseLost.to_string());
        }
        self.health.borrow().trouble.clone()
    }

    /// Whose runs it drives.
    #[must_use]
    pub fn account(&self) -> &AccountId {
        &self.shared.account
    }

    /// Reads runs.
    #[must_use]
    pub fn runs(&self) -> Runs {
        Runs::new(Arc::clone(&self.shared.store), self.shared.account.clone())
    }

    /// Starts a run, or queues it until fewer are driven, or fewer of its key. When this returns, the run exists durably, and unless it
    /// is queued its first Messages are on their way.
    ///
    /// # Errors
    /// When it may not even be queued ([`ExecutorError::Busy`]), its workflow turns it away
    /// ([`ExecutorError::Crowded`]) or its key cannot be evaluated ([`ExecutorError::Key`]), an equal Message was taken
    /// meanwhile (a conflict), or the store does not take it: then there is no run, unless the store cannot say
    /// ([`store::StoreError::Unavailable`]); a run that does exist can be resumed.
    pub async fn start(&self, new: NewRun) -> Result<RunId, ExecutorError> {
        self.check_lease()?;
        let account = &self.shared.account;
        let (key, scheduled_at) = (self.group_key(&new)?, new.scheduled_at());
        let opening = new.opening.unwrap_or_else(|| Opening::new(&RunId::generate()));
        let (seat, displaced) = self.admit(&opening.id, &new.plan.workflow, key.clone())?;
        let context = Some(&opening.context_id).filter(|known| !known.is_empty());
        let contexts = match context.or(new.context_id.as_ref()) {
            Some(context) => self.shared.contexts(context).await?,
            None => self.shared.fresh_context(&uuid::Uuid::new_v4().to_string()),
        };
        let id = opening.id;
        let message = new.message.map(|it| it.with_task(id.as_str()).with_context(contexts.ours()));
        let mut writes = Vec::new();
        let accepts = if new.accepts.is_empty() { opening.accepts } else { new.accepts };
        let header = Box::new(Header {
            workflow: new.plan.workflow.name.clone(),
            context_id: contexts.ours().to_owned(),
            plan: body_of(account, &*new.plan, &mut writes)?,
            inputs: body_of(account, &new.inputs, &mut writes)?,
            start: body_of(account, &new.start, &mut writes)?,
            origin: message.as_ref().map(|message| message.message_id.clone()),
            message: message.map(|message| body_of(account, &message, &mut writes)).transpose()?,
            accepts,
            extensions: new.extensions,
            relay: new.relay,
            by_token: new.caller.is_some(),
            key,
            scheduled_at,
            parent: None,
            cleans_up: None,
        });
        writes.extend(new.once.map(|once| once.put(account, &id)).transpose()?);
        writes.extend(new.scheduled.map(|it| it.decided.put(account, it.at)).transpose()?);
        let held = match opening.seq {
            Seq(0) => Held::new(self, &id),
            _ => self.hold(&id).await?,
        };
        self.launch_new(Launching {
            held,
            seat,
            caller: caller_of(new.caller),
            id: id.clone(),
            plan: new.plan,
            seq: opening.seq,
            contexts,
            header,
            writes,
            inputs: new.inputs,
            start: new.start,
        })
        .await?;
        if let Some(displaced) = displaced {
            displaced.confirm();
        }
        Ok(id)
    }

    /// Whether a run is driven here now.
    #[must_use]
    pub fn is_driving(&self, id: &RunId) -> bool {
        self.drivers.contains_key(&self.key(id))
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

    /// Under which a run of this account is known among those of all.
    fn key(&self, id: &RunId) -> RunKey {
        RunKey { account: self.shared.account.clone(), id: id.clone() }
    }

    fn supervised(
        &self,
        id: &RunId,
        owned: Owned,
        seat: Arc<Seat>,
        plan: &Plan,
        above: Option<&Parent>,
        caller: Caller,
    ) -> Supervised {
        let shared = Arc::clone(&self.shared);
        let limit = plan.workflow.budget.as_ref().map_or(u64::MAX, |budget| budget.calls);
        let parent = above.map(|above| self.key(&above.run));
        let tally = Tally::of(&self.tallies, &self.key(id), limit, parent.as_ref());
        let root = self.key(above.map_or(id, |above| &above.root));
        let (cancel, mailbox, sub_runs) =
            (seat.cancel().clone(), Mailbox::default(), self.sub_runs());
        let id = id.clone();
        Supervised { shared, id, root, owned, cancel, mailbox, caller, seat, sub_runs, tally }
    }

    async fn launch(&self, run: Supervised, driver: Driver) {
        let (tell, ended) = watch::channel(None);
        let (cancel, mailbox) = (run.cancel.clone(), run.mailbox.clone());
        let key = self.key(&run.id);
        let (root, caller) = (run.root.clone(), run.caller.clone());
        self.drivers.insert(key.clone(), Handle { root, cancel, ended, mailbox, caller });
        let farewell = Farewell {
            key,
            drivers: Arc::clone(&self.drivers),
            idle: Arc::clone(&self.idle),
            owned: run.owned.clone(),
            tallies: Arc::clone(&self.tallies),
            is_ours: true,
        };
        let mut tasks = self.tasks.lock().await;
        // Those of runs that have ended would pile up.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(run.supervise(driver, tell, self.stop.clone(), farewell));
    }
}
