//! What is done after a crash: runs that nobody drives are taken up where their journals stand.

use protocol::auth::Caller;
use store::{Claim, Owned};

use super::Executor;
use crate::{ExecutorError, RunId};

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
            return Ok(());
        }
        let owned = match self.idle.remove(&key) {
            Some((_, owned)) => owned,
            None => self.claim(id).await?,
        };
        let seat = self.take_up(id, &recorded.plan.workflow, &recorded.run);
        let is_by_token = recorded.run.header().is_some_and(|header| header.by_token);
        let caller = if is_by_token { Caller::with_token(None) } else { Caller::nobody() };
        let run = self.supervised(id, owned, seat, caller);
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
