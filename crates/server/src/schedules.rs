//! Starts the workflows that start by themselves.
//!
//! A loop looks at the clock, owned by whoever serves; dropping it loses nothing. What has started is told by the
//! store, so that an occurrence starts one run also across restarts; of those that were missed the latest starts.

use std::{collections::BTreeSet, convert::Infallible, sync::Arc, time::Duration};

use executor::{Decided, Executor, ExecutorError, NewRun, RunId, Scheduled};
use jiff::Timestamp;
use planner::{Occurrence, Schedule, Workflow};
use store::AccountId;

use crate::{BindError, bind, receive::Receiver};

/// The longest pause between two looks: workflows come and go, and clocks are set.
const LONGEST: Duration = Duration::from_secs(10);

/// The schedules of all workflows on offer.
pub(crate) struct Schedules {
    receiver: Arc<Receiver>,
    executor: Executor,
}

/// Why an occurrence has not started a run.
#[derive(Debug, thiserror::Error)]
enum NotStarted {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("its inputs do not fit: {0}")]
    Inputs(String),
    #[error(transparent)]
    Executor(#[from] ExecutorError),
}

impl NotStarted {
    /// Whether it may start a little later.
    fn is_passing(&self) -> bool {
        match self {
            Self::Bind(BindError::Unreachable(_)) => true,
            Self::Bind(BindError::NoAgent(_)) | Self::Inputs(_) => false,
            Self::Executor(error) => {
                use ExecutorError as E;
                !matches!(error, E::Crowded { .. } | E::Key(_) | E::TooLarge { .. })
            }
        }
    }
}

impl Schedules {
    /// Runs belong to an account; to that of the process when none is named.
    pub(crate) fn new(receiver: Arc<Receiver>, account: Option<&AccountId>) -> Self {
        let executor = match account {
            Some(account) => receiver.executor.of(account),
            None => Executor::clone(&receiver.executor),
        };
        Self { receiver, executor }
    }

    /// Looks at the clock for as long as it is polled.
    pub(crate) async fn keep(self) -> Infallible {
        loop {
            let next = self.look(Timestamp::now()).await;
            let pause = next.map_or(LONGEST, |at| {
                let until = Duration::try_from(at.duration_since(Timestamp::now()));
                until.unwrap_or_default().min(LONGEST)
            });
            // Clocks of the machine may differ by a little: never a busy loop.
            tokio::time::sleep(pause.max(Duration::from_millis(50))).await;
        }
    }

    /// Starts what is due, and says when something will be next.
    pub(crate) async fn look(&self, now: Timestamp) -> Option<Timestamp> {
        let offered = self.receiver.offer.now();
        let (mut next, mut known) = (None, BTreeSet::new());
        for workflow in offered.workflows.iter() {
            for schedule in &workflow.schedule {
                let times = match schedule.times() {
                    Ok(times) => times,
                    Err(why) => {
                        tracing::error!(workflow = workflow.name, why, "a schedule is left out");
                        continue;
                    }
                };
                match self.decide(workflow, schedule, &times, now).await {
                    Ok(key) => _ = known.insert(key),
                    Err(error) => {
                        tracing::warn!(workflow = workflow.name, %error, "schedules are looked at later");
                        return None;
                    }
                }
                let of_this = times.after(now).map(|next| next.at);
                next = [next, of_this].into_iter().flatten().min();
            }
        }
        if let Err(error) = self.executor.keep_schedules(&known).await {
            tracing::warn!(%error, "schedules that are no more are forgotten later");
        }
        next
    }

    /// Decides a schedule up to now, and says under which key that is kept.
    async fn decide(
        &self,
        workflow: &Arc<Workflow>,
        schedule: &Schedule,
        times: &planner::Times,
        now: Timestamp,
    ) -> Result<String, ExecutorError> {
        let decided = self.executor.decided(&workflow.name, schedule).await?;
        let key = decided.key().to_owned();
        match decided.until {
            None => {
                self.executor.pass_over(&decided, now).await?;
                let cron = schedule.cron.as_str();
                tracing::info!(workflow = workflow.name, cron, "a new schedule, from now on");
            }
            Some(until) => {
                if let Some(due) = times.latest(until, now) {
                    self.due(workflow, schedule, due, decided).await?;
                }
            }
        }
        Ok(key)
    }

    /// Starts a run for an occurrence, or says why none starts.
    async fn due(
        &self,
        workflow: &Arc<Workflow>,
        schedule: &Schedule,
        due: Occurrence,
        decided: Decided,
    ) -> Result<(), ExecutorError> {
        match self.start(workflow, schedule, due, decided.clone()).await {
            Ok(run) => {
                tracing::info!(workflow = workflow.name, %run, at = %due.at, "started by its schedule");
                Ok(())
            }
            // Somebody else has started it.
            Err(NotStarted::Executor(error)) if error.is_conflict() => Ok(()),
            Err(why) if why.is_passing() => {
                tracing::warn!(workflow = workflow.name, at = %due.at, %why, "not started yet");
                Ok(())
            }
            Err(why) => {
                tracing::error!(workflow = workflow.name, at = %due.at, %why, "not started");
                self.executor.pass_over(&decided, due.at).await
            }
        }
    }

    async fn start(
        &self,
        workflow: &Arc<Workflow>,
        schedule: &Schedule,
        due: Occurrence,
        decided: Decided,
    ) -> Result<RunId, NotStarted> {
        let plan = Arc::new(bind(&self.receiver.registry, workflow).await?);
        let inputs = workflow.check_inputs(schedule.inputs.clone()).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            NotStarted::Inputs(problems.join("; "))
        })?;
        let start = workflow.parts_from_inputs(&inputs);
        let scheduled = Some(Scheduled { at: due.at, decided });
        Ok(self.executor.start(NewRun { scheduled, ..NewRun::of(plan, inputs, start) }).await?)
    }
}
