//! Keeps a run driven: when the store fails for a while, the driver is dropped and the run replayed.
//!
//! A task per run, owned by the executor. Cancel leaves the run as its journal has it; an error of the store
//! that lasts, or the loss of the run to another process, ends the task and is told to whoever waits.

use std::{sync::Arc, time::Duration};

use dashmap::DashMap;
use planner::Plan;
use protocol::auth::Caller;
use store::Owned;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    ExecutorError, RunId, Runs,
    answer::Mailbox,
    driver::{Driver, Shared, Standing},
    executor::SubRuns,
    id::RunKey,
    run::Outcome,
    seats::Seat,
    tally::{Tallies, Tally},
};

/// How often in a row a run is taken up again after a failure of the store.
const REVIVALS: u32 = 6;
/// The pause before the first time; each next one is twice as long. They add up to about six seconds.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// After so long without a failure, earlier ones are forgotten.
const CALM: Duration = Duration::from_secs(30);

/// Runs that are driven here.
pub(crate) type Drivers = DashMap<RunKey, Handle>;

/// Runs of this process that nobody drives: they cannot be claimed, for their owner is alive.
pub(crate) type Idle = DashMap<RunKey, Owned>;

/// The ends of a supervised run that others hold.
pub(crate) struct Handle {
    /// The run that has its Task: itself, or the one that it is inside of.
    pub(crate) root: RunKey,
    /// Asks for the end of the run.
    pub(crate) cancel: CancellationToken,
    /// Turns to how it ended; closes without that when its task breaks down.
    pub(crate) ended: watch::Receiver<Option<Ended>>,
    /// Takes answers to pauses.
    pub(crate) mailbox: Mailbox,
    /// Takes tokens of whoever the run is for.
    pub(crate) caller: Caller,
}

/// How driving a run ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// Its run has ended.
    Finished(Outcome),
    /// The store failed, or another process owns the run now.
    Stopped(String),
}

/// A run that belongs to this process.
pub(crate) struct Supervised {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: RunId,
    pub(crate) root: RunKey,
    pub(crate) owned: Owned,
    pub(crate) cancel: CancellationToken,
    pub(crate) mailbox: Mailbox,
    pub(crate) caller: Caller,
    pub(crate) seat: Arc<Seat>,
    pub(crate) sub_runs: Arc<dyn SubRuns>,
    pub(crate) tally: Arc<Tally>,
}

/// What is left behind when the task of a run ends, however it ends.
pub(crate) struct Farewell {
    pub(crate) key: RunKey,
    pub(crate) drivers: Arc<Drivers>,
    pub(crate) idle: Arc<Idle>,
    pub(crate) owned: Owned,
    pub(crate) tallies: Arc<Tallies>,
    /// Whether it is still ours to drive.
    pub(crate) is_ours: bool,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if self.is_ours {
            self.idle.insert(self.key.clone(), self.owned.clone());
        } else {
            self.tallies.remove(&self.key);
        }
        self.drivers.remove(&self.key);
    }
}

impl Supervised {
    /// Drives until the run ends, its driver fails for good, or the executor stops.
    pub(crate) async fn supervise(
        self,
        driver: Driver,
        tell: watch::Sender<Option<Ended>>,
        stop: CancellationToken,
        mut farewell: Farewell,
    ) {
        let ended = tokio::select! {
            ended = self.drive_on(driver) => ended,
            () = stop.cancelled() => {
                let _ = tell.send(Some(Ended::Stopped(ExecutorError::LeaseLost.to_string())));
                return;
            }
        };
        let ended = match ended {
            Ok(outcome) => {
                farewell.is_ours = false;
                Ended::Finished(outcome)
            }
            Err(error) => {
                tracing::error!(run = %self.id, %error, "a run is no longer driven");
                farewell.is_ours = !error.is_fenced();
                Ended::Stopped(error.to_string())
            }
        };
        // Whoever is told may resume at once: by then this run has to be free.
        drop(farewell);
        // Nobody may be waiting; whoever comes later reads the journal.
        let _ = tell.send(Some(ended));
    }

    async fn drive_on(&self, mut driver: Driver) -> Result<Outcome, ExecutorError> {
        let mut failures = 0;
        loop {
            let since = Instant::now();
            let mut error = match driver.drive().await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            if since.elapsed() > CALM {
                failures = 0;
            }
            driver = loop {
                failures += 1;
                if !error.is_retryable() || failures > REVIVALS {
                    return Err(error);
                }
                tracing::warn!(run = %self.id, %error, "the store failed; the run is taken up again");
                sleep(FIRST_PAUSE * 2_u32.pow(failures - 1)).await;
                match self.revive().await {
                    Ok(driver) => break driver,
                    Err(again) => error = again,
                }
            };
        }
    }

    /// Replays the run and takes it up from where its journal stands.
    pub(crate) async fn revive(&self) -> Result<Driver, ExecutorError> {
        let Shared { store, account, .. } = &*self.shared;
        let recorded = Runs::new(Arc::clone(store), account.clone()).read(&self.id).await?;
        let context = recorded.run.header().map_or("", |header| &header.context_id);
        let contexts = self.shared.contexts(context).await?;
        let plan: Arc<Plan> = recorded.plan;
        let mut driver = Driver::new(
            Arc::clone(&self.shared),
            Standing {
                id: self.id.clone(),
                plan,
                owned: self.owned.clone(),
                run: recorded.run,
                seq: recorded.seq,
                contexts,
                streamed: recorded.streamed,
                mailbox: self.mailbox.clone(),
                caller: self.caller.clone(),
                seat: Arc::clone(&self.seat),
                cancel: self.cancel.clone(),
                sub_runs: Some(Arc::clone(&self.sub_runs)),
                tally: Arc::clone(&self.tally),
            },
        );
        driver.resume().await?;
        Ok(driver)
    }
}
