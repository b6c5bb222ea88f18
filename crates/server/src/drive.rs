//! What somebody from outside does to a run, whether it is being driven at that instant or not.

use executor::{Executor, ExecutorError, RunId, Said, TaskRecord, run::StepId};

/// Answers a pause, and takes the run up for that when nobody drives it.
pub(crate) async fn reply(
    executor: &Executor,
    id: &RunId,
    step: Option<StepId>,
    said: &Said,
) -> Result<StepId, ExecutorError> {
    let reply = |step| executor.reply(id, step, said.clone());
    match reply(step.clone()).await {
        Err(ExecutorError::NotDriven { .. }) => {
            executor.resume(id).await?;
            reply(step).await
        }
        replied => replied,
    }
}

/// Cancels a Task: before its run, or through its run. Returns when that is under way.
pub(crate) async fn cancel(executor: &Executor, id: &RunId) -> Result<(), ExecutorError> {
    if let TaskRecord::Opening(opening) = executor.runs().task(id).await? {
        match executor.abandon(&opening).await {
            Err(error) if has_moved(&error) => (),
            done => return done,
        }
    }
    match executor.cancel(id).await {
        Err(ExecutorError::NotDriven { .. }) => {
            executor.resume(id).await?;
            match executor.cancel(id).await {
                // It has ended meanwhile.
                Err(ExecutorError::NotDriven { .. }) => Ok(()),
                canceled => canceled,
            }
        }
        canceled => canceled,
    }
}

/// Whether the Task became another one between a look at it and the attempt to change it.
pub(crate) fn has_moved(error: &ExecutorError) -> bool {
    error.is_conflict()
        || matches!(error, ExecutorError::OwnedElsewhere { .. } | ExecutorError::NotDriven { .. })
}
