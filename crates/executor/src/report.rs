//! What the tasks of a driver tell it.

mod failing;
mod paused;
mod sub_run;

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use planner::{StepResult, StepState};
use protocol::{
    model::metadata,
    v1::{Message, TaskArtifactUpdateEvent, TaskStatus},
};
use serde::Serialize;
use store::{AccountId, BlobId, MAX_VALUE_BYTES, Write};
use tokio::sync::mpsc;

use crate::{
    ExecutorError, RunId,
    answer::Waiting,
    body::{Body, INLINE_BYTES, Json},
    id::{Purpose, message_id},
    remote::{Attempt, Defeat, Ending},
    run::{Chunk, Input, Intent, RemoteTask, StepId},
};

/// Reports that may wait for a driver. It drains them all before each commit, so this many share one flush;
/// a sender that finds the queue full waits, and with it the agent's stream.
pub(crate) const QUEUE: usize = 1_024;

/// How many characters of a stranger's error are kept: they stand in the journal, and in front of people.
const LONGEST_ERROR: usize = 2_000;

/// One fact for the driver, with what has to be committed along with it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) input: Input,
    /// Blobs that the input's bodies name.
    pub(crate) blobs: Vec<Write>,
    /// The contextId that an agent uses.
    pub(crate) context: Option<ContextSeen>,
    /// The result in memory, so that later steps need not read it back.
    pub(crate) result: Option<Arc<StepResult>>,
    /// The Message in memory, so that sending need not read it back.
    pub(crate) message: Option<Arc<Message>>,
    /// The chunk in memory, so that a later flight need not read it back.
    pub(crate) chunk: Option<Box<TaskArtifactUpdateEvent>>,
    /// Somebody who is told of it once it is durable.
    pub(crate) waiting: Option<Waiting>,
}

/// An agent's word for our context.
#[derive(Debug)]
pub(crate) struct ContextSeen {
    pub(crate) agent: String,
    pub(crate) context_id: String,
}

impl Report {
    /// A fact that brings nothing along.
    pub(crate) fn of(input: Input) -> Self {
        Self {
            input,
            blobs: Vec::new(),
            context: None,
            result: None,
            message: None,
            chunk: None,
            waiting: None,
        }
    }
}

/// Makes a body of a value, and the write of its blob when it is large.
///
/// # Errors
/// When the value is larger than the store takes, or cannot be written as JSON.
pub(crate) fn body_of<T: Serialize>(
    account: &AccountId,
    value: &T,
    blobs: &mut Vec<Write>,
) -> Result<Body, ExecutorError> {
    let json = Json::of(value)?;
    if json.text().len() <= INLINE_BYTES {
        return Ok(Body::Inline(json));
    }
    if json.text().len() > MAX_VALUE_BYTES {
        return Err(ExecutorError::TooLarge { bytes: json.text().len(), limit: MAX_VALUE_BYTES });
    }
    let bytes = Bytes::copy_from_slice(json.text().as_bytes());
    let id = BlobId::of(&bytes);
    blobs.push(Write::Blob { account: account.clone(), id, bytes });
    Ok(Body::Blob(id))
}

/// An error's text, cut when somebody told a novel.
pub(crate) fn clip(text: &str) -> String {
    match text.char_indices().nth(LONGEST_ERROR) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Reports about one attempt.
#[derive(Clone)]
pub(crate) struct Reporter {
    pub(crate) account: AccountId,
    pub(crate) run: RunId,
    pub(crate) step: StepId,
    pub(crate) attempt: u32,
    pub(crate) to: mpsc::Sender<Report>,
}

impl Reporter {
    /// The agent made a Task, in a context that it may have chosen itself.
    pub(crate) async fn bound(&self, agent: &str, task: RemoteTask) {
        let context = ContextSeen { agent: agent.to_owned(), context_id: task.context_id.clone() };
        let input = Input::Bound { step: self.step.clone(), attempt: self.attempt, task };
        self.send(Report { context: Some(context), ..Report::of(input) }).await;
    }

    /// The agent has the answer.
    pub(crate) async fn delivered(&self, turn: u32) {
        let input = Input::Delivered { step: self.step.clone(), attempt: self.attempt, turn };
        self.send(Report::of(input)).await;
    }

    /// A piece of an artifact goes on. Returns its size; one that the store would never take counts as all that
    /// may go on.
    pub(crate) async fn chunk(&self, update: TaskArtifactUpdateEvent) -> usize {
        let mut blobs = Vec::new();
        let artifact = match body_of(&self.account, &update.artifact, &mut blobs) {
            Ok(artifact) => artifact,
            Err(error) => {
                tracing::warn!(%error, step = %self.step, "an artifact is told only as a whole");
                return usize::MAX;
            }
        };
        let bytes = match (&artifact, blobs.first()) {
            (Body::Inline(json), _) => json.text().len(),
            (Body::Blob(_), Some(Write::Blob { bytes, .. })) => bytes.len(),
            (Body::Blob(_), _) => 0,
        };
        let chunk = Chunk { append: update.append, last_chunk: update.last_chunk, artifact };
        let input = Input::Chunked { step: self.step.clone(), attempt: self.attempt, chunk };
        self.send(Report { blobs, chunk: Some(Box::new(update)), ..Report::of(input) }).await;
        bytes
    }

    /// What the agent says of a relay's Task.
    pub(crate) async fn reported(&self, status: &TaskStatus) {
        let mut blobs = Vec::new();
        let body = match body_of(&self.account, status, &mut blobs) {
            Ok(body) => body,
            Err(error) => {
                tracing::warn!(%error, step = %self.step, "a status cannot be told as it is");
                return;
            }
        };
        let input = Input::Reported {
            step: self.step.clone(),
            attempt: self.attempt,
            at: Timestamp::now(),
            state: status.state(),
            status: body,
        };
        self.send(Report { blobs, ..Report::of(input) }).await;
    }

    /// The attempt is over, or waits for somebody.
    pub(crate) async fn ended(&self, attempt: &Attempt, ending: Ending) {
        let report = match ending {
            Ending::Failed(defeat) if Self::is_about_callback(attempt, &defeat) => {
                self.without_callback(attempt)
            }
            Ending::Failed(defeat) if Self::is_about_context(attempt, &defeat) => {
                self.without_context(attempt)
            }
            Ending::Failed(defeat) => self.failed(&attempt.intent, &defeat),
            Ending::Paused(question) => self.paused(&attempt.intent, *question),
            Ending::Withheld => self.withheld(attempt),
            Ending::WentOn => Ok(Report::of(Input::Unpaused {
                step: self.step.clone(),
                attempt: self.attempt,
                at: Timestamp::now(),
            })),
            Ending::AnswerRefused(turn, refusal) => Ok(Report::of(Input::AnswerRefused {
                step: self.step.clone(),
                attempt: self.attempt,
                at: Timestamp::now(),
                turn,
                refusal,
            })),
            Ending::Answered(message) => {
                let context_id = message.context_id.clone();
                let result = StepResult { message: Some(*message), ..self.completed(attempt) };
                self.succeeded(attempt, result, None, context_id)
            }
            Ending::Completed(finished) => {
                let task = Some(finished.task.clone());
                let context_id = finished.task.context_id.clone();
                let result = StepResult {
                    task_id: Some(finished.task.task_id),
                    context_id: Some(finished.task.context_id),
                    artifacts: finished.artifacts,
                    status_message: finished.status_message,
                    ..self.completed(attempt)
                };
                self.succeeded(attempt, result, task, context_id)
            }
        };
        let report = report.or_else(|error| self.unkept(attempt, &error));
        match report {
            Ok(report) => self.send(report).await,
            // What is left is a text of ours that is no JSON.
            Err(error) => tracing::error!(%error, step = %self.step, "a report cannot be written"),
        }
    }

    fn completed(&self, attempt: &Attempt) -> StepResult {
        StepResult {
            agent: Some(attempt.intent.agent.clone()),
            ..StepResult::new(StepState::Completed)
        }
    }

    fn succeeded(
        &self,
        attempt: &Attempt,
        result: StepResult,
        task: Option<RemoteTask>,
        context_id: String,
    ) -> Result<Report, ExecutorError> {
        let mut blobs = Vec::new();
        let input = Input::Succeeded {
            step: self.step.clone(),
            attempt: self.attempt,
            at: Timestamp::now(),
            task,
            result: body_of(&self.account, &result, &mut blobs)?,
        };
        let agent = attempt.intent.agent.clone();
        Ok(Report {
            blobs,
            context: Some(ContextSeen { agent, context_id }),
            result: Some(Arc::new(result)),
            ..Report::of(input)
        })
    }

    /// A first Message that carried our context and is invalid to the agent gets one more chance. What fails
    /// later, when a Task is known, is no answer to the Message; and an answer belongs into its context.
    fn is_about_context(attempt: &Attempt, defeat: &Defeat) -> bool {
        let is_offered = attempt.turn == 0 && !attempt.message.context_id.is_empty();
        is_offered && defeat.may_be_about_context
    }

    fn without_context(&self, attempt: &Attempt) -> Result<Report, ExecutorError> {
        let mut message = Message::clone(&attempt.message);
        message.context_id.clear();
        let intent = Intent::clone(&attempt.intent);
        self.instead(Purpose::SendWithoutContext, message, intent, |step, attempt, intent| {
            Input::ContextRefused { step, attempt, intent }
        })
    }

    /// A first Message that asked for notifications, which the agent does not send, gets one more chance.
    fn is_about_callback(attempt: &Attempt, defeat: &Defeat) -> bool {
        attempt.intent.callback.is_some() && defeat.is_about_callback
    }

    fn without_callback(&self, attempt: &Attempt) -> Result<Report, ExecutorError> {
        let message = Message::clone(&attempt.message);
        let intent = Intent { callback: None, ..Intent::clone(&attempt.intent) };
        self.instead(Purpose::SendWithoutCallback, message, intent, |step, attempt, intent| {
            Input::CallbackRefused { step, attempt, intent }
        })
    }

    /// Has another Message sent in place of the one that was refused, under an id of its own.
    fn instead(
        &self,
        purpose: Purpose,
        mut message: Message,
        intent: Intent,
        input: impl FnOnce(StepId, u32, Arc<Intent>) -> Input,
    ) -> Result<Report, ExecutorError> {
        let id = message_id(&self.run, self.step.as_str(), self.attempt, purpose);
        message.message_id.clone_from(&id);
        let message = message.with_metadata(metadata::ATTEMPT, id.as_str());
        let mut blobs = Vec::new();
        let body = body_of(&self.account, &message, &mut blobs)?;
        let intent = Intent { message_id: id, message: body, ..intent };
        let input = input(self.step.clone(), self.attempt, Arc::new(intent));
        Ok(Report { blobs, message: Some(Arc::new(message)), ..Report::of(input) })
    }

    async fn send(&self, report: Report) {
        // A driver that is gone has no use for it: whoever takes the run over asks the agent again.
        let _ = self.to.send(report).await;
    }
}

/// A number from 0..1 for the jitter of a back-off.
#[cfg(test)]
mod tests;
