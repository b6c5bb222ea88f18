//! How a relay looks on the wire: as its agent's Task does, under our ids.

use executor::{
    ExecutorError, Recorded, Runs,
    run::{Outcome, RunEvent},
};
use jiff::Timestamp;
use planner::ErrorClass;
use protocol::{
    error::{Error, ErrorKind},
    v1::{Message, TaskStatus},
};

use crate::error::wire;

/// Whether a relay's agent has not said yet what it makes of the Message: then nobody is told of a Task.
pub(crate) fn is_silent(recorded: &Recorded) -> bool {
    let run = &recorded.run;
    let is_told = run.relayed().is_some() && run.reported().is_some();
    run.is_relay() && !is_told && run.outcome().is_none()
}

/// What a relay's agent answered instead of making a Task; `None` when it made one.
///
/// # Errors
/// When it answered with an error, or not at all.
pub(crate) async fn direct(runs: &Runs, recorded: &Recorded) -> Result<Option<Message>, Error> {
    let run = &recorded.run;
    if !run.is_relay() || run.relayed().is_some() {
        return Ok(None);
    }
    match run.outcome() {
        Some(Outcome::Failed(failed)) => Err(told(failed.error.class, &failed.error.message)),
        Some(Outcome::Completed(_)) => {
            let Some((step, _)) = run.steps().next() else { return Ok(None) };
            let result = runs.result(recorded, step).await.map_err(wire)?;
            let context = run.header().map_or("", |header| header.context_id.as_str());
            let message = result.and_then(|result| result.message);
            Ok(message.map(|message| message.with_context(context)))
        }
        Some(Outcome::Canceled) | None => Ok(None),
    }
}

/// An agent's error as ours.
fn told(class: ErrorClass, message: &str) -> Error {
    match class {
        ErrorClass::Unavailable | ErrorClass::Timeout => Error::unavailable(message, None),
        ErrorClass::RateLimited => Error::resource_exhausted(message, None),
        ErrorClass::Invalid => Error::new(ErrorKind::InvalidParams, message),
        _ => Error::internal(message),
    }
}

/// The status of a relay: what its agent said last in the state that the relay is in. `None` for any other run, and
/// where the agent has said nothing.
pub(crate) async fn status(
    runs: &Runs,
    recorded: &Recorded,
    at: Timestamp,
) -> Result<Option<TaskStatus>, ExecutorError> {
    if !recorded.run.is_relay() {
        return Ok(None);
    }
    let now = recorded.run.task_state();
    let said = recorded
        .events
        .iter()
        .rev()
        .take_while(|event| !matches!(event, RunEvent::AttemptAnswered { .. }))
        .find_map(|event| match event {
            RunEvent::AttemptReported { state, status, .. } if *state == now => Some(status),
            _ => None,
        });
    let Some(said) = said else { return Ok(None) };
    let status: TaskStatus = runs.load(&recorded.id, said).await?;
    let context = recorded.run.header().map_or("", |header| header.context_id.as_str());
    let ours = |message: Message| message.with_task(recorded.id.as_str()).with_context(context);
    Ok(Some(TaskStatus { message: status.message.map(ours), ..TaskStatus::new(now, at) }))
}

/// Whether those who follow a relay are told of an event. A state that ends it, or asks, is told when the relay is in
/// it itself.
pub(crate) fn is_news(recorded: &Recorded, event: &RunEvent) -> bool {
    match event {
        RunEvent::AttemptReported { state, .. } => *state == recorded.run.task_state(),
        RunEvent::AttemptPaused { .. } => true,
        // Of one that ends without a Task nobody was told anything.
        RunEvent::RunFinished { .. } => recorded.run.relayed().is_some(),
        _ => false,
    }
}
