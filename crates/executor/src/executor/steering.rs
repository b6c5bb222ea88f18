//! What others do to a run that is driven here: cancel it, answer it, wait for its end.

use protocol::auth::CallerToken;

use super::Executor;
use crate::{
    ExecutorError, ReplyError, RunId, Said,
    run::{Outcome, StepId},
    supervise::Ended,
};

impl Executor {
    /// Asks a run that is driven here to stop. Remote Tasks are told; the run ends once they confirm or their
    /// grace is over.
    ///
    /// # Errors
    /// When the run is not driven here.
    pub async fn cancel(&self, id: &RunId) -> Result<(), ExecutorError> {
        let handle = self.drivers.get(&self.key(id));
        let handle = handle.ok_or_else(|| ExecutorError::NotDriven { run: id.clone() })?;
        handle.cancel.cancel();
        Ok(())
    }

    /// Takes a newer token of whoever a run is for, which steps of it and of its sub-runs may wait for. Nothing comes of it
    /// for a run that is not driven here, or was started without one.
    pub fn bring(&self, id: &RunId, token: &CallerToken) {
        let key = self.key(id);
        // After a restart, a sub-run may have been taken up before the run that has the token.
        for handle in self.drivers.iter().filter(|handle| handle.root == key) {
            handle.caller.bring(token.clone());
        }
    }

    /// Answers a pause: of the step named, else of the only one. When this returns, the answer is durable and on
    /// its way to exactly the remote Task that asked. What waits for the caller goes on with the token that came along.
    ///
    /// # Errors
    /// When nothing waits for it: then nothing is kept but the token. When the run is not driven here.
    /// [`ReplyError::Repeated`] when an equal one was taken before.
    pub async fn reply(
        &self,
        id: &RunId,
        step: Option<StepId>,
        said: impl Into<Said>,
    ) -> Result<StepId, ExecutorError> {
        let said = said.into();
        let token = said.token.clone();
        let driven =
            self.drivers.get(&self.key(id)).map(|it| (it.mailbox.clone(), it.ended.clone()));
        let (mailbox, mut ended) =
            driven.ok_or_else(|| ExecutorError::NotDriven { run: id.clone() })?;
        let taken = tokio::select! {
            biased;
            taken = mailbox.leave(step, said) => taken,
            // Nobody looks into the mailbox any more. Whoever did has confirmed what it took before this.
            ended = ended.wait_for(Option::is_some) => match ended.as_deref() {
                Ok(Some(Ended::Finished(_))) => Err(ReplyError::NotPaused),
                _ => Err(ReplyError::Unknown),
            },
        };
        // After that: who goes on by the token alone leaves nothing to answer.
        if let Some(token) = &token {
            self.bring(id, token);
        }
        Ok(taken?)
    }

    /// Waits for the end of a run that is driven here, or was. Cancel safe.
    ///
    /// # Errors
    /// When its driver stops before the run has ended, and why.
    pub async fn finished(&self, id: &RunId) -> Result<Outcome, ExecutorError> {
        let driven = self.drivers.get(&self.key(id)).map(|handle| handle.ended.clone());
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
}
