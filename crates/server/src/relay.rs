//! How a relay looks on the wire: as its agent's Task does, under our ids.

use executor::{
    Body, ExecutorError, Recorded, Runs, TaskRecord,
    run::{Outcome, Refusal, RunEvent},
};
use jiff::Timestamp;
use protocol::{
    error::{Error, ErrorKind},
    v1::{Message, TaskStatus},
};

use crate::{
    error::{self, relayed, wire},
    tail::Tail,
};

/// Whether a relay's agent has not said yet what it makes of the Message: then nobody is told of a Task.
pub(crate) fn is_silent(recorded: &Recorded) -> bool {
    let run = &recorded.run;
    let is_told = run.relayed().is_some() && run.reported().is_some();
    // Before its agent can be called at all.
    let is_told = is_told || run.pause_kind().is_some();
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
        Some(Outcome::Failed(failed)) => Err(relayed(refusal(recorded), &failed.error)),
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

/// Whether a relay has ended without a Task, with an error that is gone after a while.
pub(crate) fn has_passing_error(recorded: &Recorded) -> bool {
    let run = &recorded.run;
    let error = match run.outcome() {
        Some(Outcome::Failed(failed)) if run.is_relay() && run.relayed().is_none() => {
            relayed(refusal(recorded), &failed.error)
        }
        _ => return false,
    };
    let passes =
        [ErrorKind::Unavailable, ErrorKind::ResourceExhausted, ErrorKind::DeadlineExceeded];
    passes.contains(&error.kind)
}

/// The error that a relay's agent answered to the Message; `None` where it did not answer.
fn refusal(recorded: &Recorded) -> Option<&Refusal> {
    recorded.events.iter().rev().find_map(|event| match event {
        RunEvent::AttemptFailed { refusal, .. } => Some(refusal.as_deref()),
        _ => None,
    })?
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
    let mut is_refused = false;
    // Since the last answer that the agent took.
    let is_since = |event: &&RunEvent| match event {
        RunEvent::AnswerRefused { .. } => {
            is_refused = true;
            true
        }
        RunEvent::AttemptAnswered { .. } => std::mem::take(&mut is_refused),
        _ => true,
    };
    let said = recorded.events.iter().rev().take_while(is_since).find_map(|event| match event {
        RunEvent::AttemptReported { state, status, .. } if *state == now => Some(status),
        _ => None,
    });
    let Some(said) = said else { return Ok(None) };
    let status: TaskStatus = runs.load(&recorded.id, said).await?;
    let context = recorded.run.header().map_or("", |header| header.context_id.as_str());
    let ours = |message: Message| message.with_task(recorded.id.as_str()).with_context(context);
    Ok(Some(TaskStatus { message: status.message.map(ours), ..TaskStatus::new(now, at) }))
}

/// The Messages of clients that a Task has, the oldest first: those that an agent did not take are not among them.
pub(crate) fn said(events: &[RunEvent]) -> Vec<&Body> {
    let mut said = Vec::new();
    for event in events {
        match event {
            RunEvent::AnswerRefused { .. } => drop(said.pop()),
            _ => said.extend(event.said()),
        }
    }
    said
}

/// Waits until the agent of a relay has taken an answer, or has not; at once in any other run. Cancel safe.
///
/// # Errors
/// The agent's own error when it does not take the answer.
pub(crate) async fn taken(tail: &mut Tail, message_id: &str) -> Result<(), Error> {
    loop {
        let TaskRecord::Run(recorded) = &tail.record else { return Ok(()) };
        if !recorded.run.is_relay() || recorded.run.outcome().is_some() {
            return Ok(());
        }
        match fate(tail.runs(), recorded, message_id).await.map_err(wire)? {
            Some(RunEvent::AnswerRefused { refusal, .. }) => return Err(error::answered(refusal)),
            Some(_) => return Ok(()),
            None => drop(tail.next().await.map_err(wire)?),
        }
    }
}

/// What became of an answer; `None` while it is on its way.
async fn fate<'a>(
    runs: &Runs,
    recorded: &'a Recorded,
    message_id: &str,
) -> Result<Option<&'a RunEvent>, ExecutorError> {
    let mut fate = None;
    for event in recorded.events.iter().rev() {
        match event {
            RunEvent::AttemptAnswered { said: Some(said), .. } => {
                let said: Message = runs.load(&recorded.id, said).await?;
                if said.message_id == message_id {
                    return Ok(fate);
                }
            }
            RunEvent::AnswerDelivered { .. }
            | RunEvent::AnswerRefused { .. }
            | RunEvent::AttemptFailed { .. } => fate = Some(event),
            _ => (),
        }
    }
    // Nobody has said it in this run.
    Ok(recorded.events.last())
}

/// Whether a relay was shown before its agent made a Task.
fn was_told(recorded: &Recorded) -> bool {
    recorded.events.iter().any(|event| matches!(event, RunEvent::AttemptPaused { .. }))
}

/// Whether those who follow a relay are told of an event. A state that ends it, or asks, is told when the relay is in
/// it itself.
pub(crate) fn is_news(recorded: &Recorded, event: &RunEvent) -> bool {
    match event {
        RunEvent::AttemptReported { state, .. } => *state == recorded.run.task_state(),
        RunEvent::AttemptPaused { .. } => true,
        // Of one that ends without a Task nobody was told anything.
        RunEvent::RunFinished { .. } => recorded.run.relayed().is_some() || was_told(recorded),
        _ => false,
    }
}
