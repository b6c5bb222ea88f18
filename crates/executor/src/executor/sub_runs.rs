//! Runs inside of runs: opened, taken up and canceled for the step that they are an attempt of.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    time::Duration,
};

use jiff::Timestamp;
use planner::Plan;
use protocol::v1::Part;
use serde_json::{Map, Value};
use store::{Owned, Seq};
use tokio::{sync::Mutex, task::JoinSet, time::sleep};

use super::{Executor, Held, launching::Launching};
use crate::{
    ExecutorError, Recorded, RunId, Runs,
    answer::{Answer, ReplyError},
    report::body_of,
    run::{Header, Parent},
    seats::{RunLimits, Seat, Seats},
};

/// How long to wait before a sub-run is looked at again that somebody else is taking up.
const PAUSE: Duration = Duration::from_millis(50);

/// What a sub-run is made of.
pub(crate) struct NewSubRun {
    pub(crate) id: RunId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) inputs: Map<String, Value>,
    pub(crate) start: Vec<Part>,
    pub(crate) context_id: String,
    pub(crate) origin: Option<String>,
    pub(crate) parent: Parent,
}

type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the driver of a run does with its sub-runs. A trait, because whoever does it drives the run itself as well.
pub(crate) trait SubRuns: Send + Sync {
    /// Reads runs.
    fn runs(&self) -> Runs;
    /// Begins a sub-run, or goes on with it where its journal stands.
    fn drive(&self, new: NewSubRun) -> Doing<'_, Result<(), ExecutorError>>;
    /// Goes on with a sub-run that has begun.
    fn resume<'a>(&'a self, id: &'a RunId) -> Doing<'a, Result<(), ExecutorError>>;
    /// Cancels a sub-run and waits for its end.
    fn cancel<'a>(&'a self, id: &'a RunId) -> Doing<'a, Result<Recorded, ExecutorError>>;
    /// Drives a run that was opened for it, beside another one.
    fn adopt<'a>(&'a self, id: &'a RunId) -> Doing<'a, Result<(), ExecutorError>>;
    /// Hands an answer down to a sub-run, whose driver says itself what becomes of it.
    fn pass(&self, id: RunId, answer: Answer) -> Doing<'static, ()>;
}

/// An executor that others keep alive: its drivers do not.
#[derive(Clone)]
pub(crate) struct WeakExecutor {
    of: Executor,
    tasks: Weak<Mutex<JoinSet<()>>>,
}

impl Executor {
    /// For the drivers of its runs.
    pub(super) fn sub_runs(&self) -> Arc<dyn SubRuns> {
        let of = Executor { tasks: Arc::default(), ..self.clone() };
        Arc::new(WeakExecutor { of, tasks: Arc::downgrade(&self.tasks) })
    }

    /// The place of a sub-run: it is driven at once and takes nobody's, because a run waits for it that has one.
    pub(super) fn seat_of_sub_run(id: &RunId) -> Arc<Seat> {
        Seats::new(RunLimits::NONE).take_up(id, Timestamp::now(), false, None)
    }

    async fn open_sub_run(&self, new: NewSubRun) -> Result<(), ExecutorError> {
        self.check_lease()?;
        let account = &self.shared.account;
        let caller = self.caller_of_run(&new.parent.run).unwrap_or_default();
        let contexts = self.shared.contexts(&new.context_id).await?;
        let mut writes = Vec::new();
        let header = Box::new(Header {
            workflow: new.plan.workflow.name.clone(),
            context_id: new.context_id,
            plan: body_of(account, &*new.plan, &mut writes)?,
            inputs: body_of(account, &new.inputs, &mut writes)?,
            start: body_of(account, &new.start, &mut writes)?,
            message: None,
            origin: new.origin,
            accepts: Vec::new(),
            extensions: Vec::new(),
            relay: false,
            by_token: !caller.is_nobody(),
            key: None,
            scheduled_at: None,
            parent: Some(Box::new(new.parent)),
            cleans_up: None,
        });
        self.launch_new(Launching {
            held: Held::new(self, &new.id),
            seat: Self::seat_of_sub_run(&new.id),
            caller,
            id: new.id,
            plan: new.plan,
            seq: Seq(0),
            contexts,
            header,
            writes,
            inputs: new.inputs,
            start: new.start,
        })
        .await
    }

    async fn go_on(&self, id: &RunId) -> Result<(), ExecutorError> {
        if self.is_driving(id) {
            return Ok(());
        }
        self.resume(id).await
    }

    async fn cancel_sub_run(&self, id: &RunId) -> Result<Recorded, ExecutorError> {
        self.go_on(id).await?;
        match self.cancel(id).await {
            Ok(()) => _ = self.finished(id).await?,
            // It has ended.
            Err(ExecutorError::NotDriven { .. }) => (),
            Err(error) => return Err(error),
        }
        self.runs().read(id).await
    }
}

impl WeakExecutor {
    fn executor(&self) -> Result<Executor, ExecutorError> {
        let tasks = self.tasks.upgrade().ok_or(ExecutorError::LeaseLost)?;
        Ok(Executor { tasks, ..self.of.clone() })
    }
}

impl SubRuns for WeakExecutor {
    fn runs(&self) -> Runs {
        self.of.runs()
    }

    fn drive(&self, new: NewSubRun) -> Doing<'_, Result<(), ExecutorError>> {
        Box::pin(async move {
            let executor = self.executor()?;
            match executor.runs().task(&new.id).await {
                Ok(_) => executor.go_on(&new.id).await,
                Err(ExecutorError::UnknownRun { .. }) => executor.open_sub_run(new).await,
                Err(error) => Err(error),
            }
        })
    }

    fn resume<'a>(&'a self, id: &'a RunId) -> Doing<'a, Result<(), ExecutorError>> {
        Box::pin(async move { self.executor()?.go_on(id).await })
    }

    fn adopt<'a>(&'a self, id: &'a RunId) -> Doing<'a, Result<(), ExecutorError>> {
        Box::pin(async move {
            let executor = self.executor()?;
            let account = executor.shared.account.clone();
            let owned = Owned::opened(account, id.journal(), executor.lease.incarnation);
            executor.idle.insert(executor.key(id), owned);
            executor.resume(id).await
        })
    }

    fn cancel<'a>(&'a self, id: &'a RunId) -> Doing<'a, Result<Recorded, ExecutorError>> {
        Box::pin(async move { self.executor()?.cancel_sub_run(id).await })
    }

    fn pass(&self, id: RunId, answer: Answer) -> Doing<'static, ()> {
        let executor = self.executor();
        Box::pin(async move {
            let Ok(executor) = executor else { return };
            // Who follows it may just be taking it up, too.
            while let Err(error) = executor.go_on(&id).await {
                if !matches!(error, ExecutorError::OwnedElsewhere { .. }) {
                    tracing::warn!(run = %id, %error, "a sub-run cannot be taken up to be answered");
                    break;
                }
                sleep(PAUSE).await;
            }
            let mailbox = executor.drivers.get(&executor.key(&id)).map(|it| it.mailbox.clone());
            match mailbox {
                Some(mailbox) => mailbox.pass(answer).await,
                // Whoever asked may be gone.
                None => drop(answer.taken.send(Err(ReplyError::Unknown))),
            }
        })
    }
}
