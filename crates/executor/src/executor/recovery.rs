//! What is done after a crash: runs that nobody drives are taken up where their journals stand.

use protocol::auth::Caller;
use store::{Claim, Owned};

use super::Executor;
use crate::{ExecutorError, RunId, run::Header};

/// Runs claimed at once after a restart.
const CLAIMED_AT_ONCE: usize = 64;

impl Executor {
    /// Takes up every run of every account that has not ended and that no living process drives. Returns those
    /// that go on; one that cannot be taken up is logged, and can be resumed later.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume_all(&self) -> Result<Vec<RunId>, ExecutorError> {
        self.check_lease()?;
        let _gate = self.seats.gate();
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
        let Ok(id) = journal.as_str().parse::<RunId>() else {
            tracing::warn!(account = %owned.account, %journal, "what this is cannot be driven here");
            return None;
        };
        let its = self.of(&owned.account);
        self.idle.insert(its.key(&id), owned);
        match its.resume(&id).await {
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
        let key = self.key(id);
        if self.drivers.contains_key(&key) {
            return Ok(());
        }
        let recorded = self.runs().read(id).await?;
        if recorded.run.outcome().is_some() {
            return self.resume_clean_up(id).await;
        }
        let owned = match self.idle.remove(&key) {
            Some((_, owned)) => owned,
            None => self.claim(id).await?,
        };
        let header = recorded.run.header();
        let seat = match header.is_none_or(Header::is_listed) {
            false => Self::seat_of_sub_run(id),
            true => self.take_up(id, &recorded.plan.workflow, &recorded.run),
        };
        let above = header.and_then(|header| header.parent.as_deref());
        let caller = header.map_or_else(Caller::nobody, |header| self.caller_again(header));
        let run = self.supervised(id, owned, seat, &recorded.plan, above, caller);
        match run.revive().await {
            Ok(driver) => {
                self.launch(run, driver).await;
                Ok(())
            }
            Err(error) => {
                if !error.is_fenced() {
                    self.idle.insert(key, run.owned);
                }
                Err(error)
            }
        }
    }

    /// On whose behalf a run goes on: of the same as the run that it is a part of, or cleans up after, where that is driven
    /// here; else of somebody whose token was not kept.
    fn caller_again(&self, header: &Header) -> Caller {
        let parent = header.parent.as_ref().map(|above| &above.run);
        let of = parent.or_else(|| header.cleans_up.as_ref().map(|after| &after.run));
        match of.and_then(|run| self.caller_of_run(run)) {
            Some(caller) => caller,
            // Nobody can come to a clean-up that has outlived the process of its run.
            None if header.by_token && header.cleans_up.is_none() => Caller::with_token(None),
            None => Caller::nobody(),
        }
    }

    /// On whose behalf a run is driven here.
    pub(super) fn caller_of_run(&self, id: &RunId) -> Option<Caller> {
        self.drivers.get(&self.key(id)).map(|handle| handle.caller.clone())
    }

    /// Takes up what is left to be done after a run that has ended.
    async fn resume_clean_up(&self, id: &RunId) -> Result<(), ExecutorError> {
        let clean_up = id.of_clean_up();
        match self.runs().read(&clean_up).await {
            Ok(recorded) if recorded.run.outcome().is_none() => {
                Box::pin(self.resume(&clean_up)).await
            }
            Ok(_) | Err(ExecutorError::UnknownRun { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits until what is done after a run that was driven here is done; at once when there is nothing. Cancel safe.
    ///
    /// # Errors
    /// When its driver stops before.
    pub async fn cleaned_up(&self, id: &RunId) -> Result<(), ExecutorError> {
        // Its driver hands over before it ends.
        self.finished(id).await?;
        match self.finished(&id.of_clean_up()).await {
            Ok(_) | Err(ExecutorError::UnknownRun { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes a run ours. Its journal is read after that: before it, the former owner may have written.
    pub(super) async fn claim(&self, id: &RunId) -> Result<Owned, ExecutorError> {
        let which = Claim::One { account: self.shared.account.clone(), journal: id.journal() };
        let claimed = self.shared.store.claim(&self.lease, which).await?;
        let claimed = claimed.into_iter().next();
        claimed
            .map(|claimed| claimed.owned)
            .ok_or_else(|| ExecutorError::OwnedElsewhere { run: id.clone() })
    }
}
