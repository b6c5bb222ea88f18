//! From a person's answer to the Message that continues the remote Task.

use std::sync::Arc;

use jiff::Timestamp;
use protocol::{model::metadata, v1::Message};
use tokio::sync::oneshot;

use super::{Driver, Shared, relay::relayed};
use crate::{
    ExecutorError,
    answer::{Answer, ReplyError},
    id::{Purpose, message_id},
    once,
    report::{Report, body_of},
    run::{Flight, Input, Intent, Phase, RemoteTask, RunEvent, StepId, StepIndex},
};

/// Somebody who waits until an answer is durable.
pub(super) struct Waiting {
    pub(super) step: StepId,
    pub(super) taken: oneshot::Sender<Result<StepId, ReplyError>>,
}

/// Whether an event is that somebody has answered.
fn is_answer(event: &RunEvent) -> bool {
    matches!(event, RunEvent::AttemptAnswered { .. } | RunEvent::OutcomeChosen { .. })
}

/// Who asks, and where an answer goes.
struct Asking {
    flight: Flight,
    /// The Task that waits; none where the agent asked by a direct Message.
    task_id: Option<String>,
    context_id: String,
    /// Tasks that the answer refers to.
    references: Vec<String>,
}

impl Driver {
    /// Takes an answer to a pause: drafts its intent, or refuses it at once. One that was taken before is not
    /// taken again; nobody but this driver takes answers to this run, so that to look is enough.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn take_answer(&mut self, answer: Answer) -> Result<(), ExecutorError> {
        let Answer { step, message, once, taken } = answer;
        let Shared { store, account, .. } = &*self.shared;
        let mut kept = None;
        if let Some(mut once) = once {
            if once::taken(&**store, account, &mut once).await?.is_some() {
                // Whoever asked may be gone.
                drop(taken.send(Err(ReplyError::Repeated)));
                return Ok(());
            }
            kept = Some(once.put_alone(account, &self.id)?);
        }
        let prepared = match self.addressed(step) {
            Ok(at) => self.answer_at(at, message).await?.map(|report| (at, report)),
            Err(refused) => Err(refused),
        };
        match prepared {
            Ok((at, report)) => {
                let step = self.run.at(at).id.clone();
                let before = self.draft.events.len();
                self.take(report);
                if !self.draft.events[before..].iter().any(is_answer) {
                    // The run may not send it any more. Whoever asked may be gone.
                    drop(taken.send(Err(ReplyError::NotPaused)));
                    return Ok(());
                }
                self.draft.writes.extend(kept);
                self.waiting.push(Waiting { step, taken });
            }
            // Whoever asked may be gone.
            Err(refused) => drop(taken.send(Err(refused))),
        }
        Ok(())
    }

    /// Tells those whose answers the last commit has made durable.
    pub(super) fn confirm_answers(&mut self) {
        for waiting in self.waiting.drain(..) {
            // Whoever asked may be gone.
            drop(waiting.taken.send(Ok(waiting.step)));
        }
    }

    /// The step an answer is for: the one it names, else the only one that waits.
    fn addressed(&self, step: Option<StepId>) -> Result<StepIndex, ReplyError> {
        let open: Vec<StepId> = self.run.pauses().map(|(step, _)| step.clone()).collect();
        let step = match (step, open.as_slice()) {
            (_, []) => return Err(ReplyError::NotPaused),
            (Some(step), open) if open.contains(&step) => step,
            (Some(step), _) => return Err(ReplyError::StepNotPaused { step, open }),
            (None, [only]) => only.clone(),
            (None, _) => return Err(ReplyError::Ambiguous { open }),
        };
        self.run.find(&step).ok_or(ReplyError::NotPaused)
    }

    /// What an answer in a relay refers to, as its agent knows it.
    async fn referred(&self, said: &Message) -> Vec<String> {
        match self.plan.bindings.iter().flatten().next().filter(|_| self.run.is_relay()) {
            Some(binding) => self.known_there(binding, &said.reference_task_ids).await,
            None => Vec::new(),
        }
    }

    /// What a Message is to a step that waits for its caller: no answer to the agent, but the caller is back. `None` for any
    /// other step.
    fn back(&self, at: StepIndex) -> Option<Result<Report, ReplyError>> {
        match &self.run.at(at).phase {
            Phase::Paused { flight, pause, .. } if pause.awaits_caller => {
                let (step, attempt) = (self.run.at(at).id.clone(), flight.attempt);
                let input = Input::Unpaused { step, attempt, at: Timestamp::now() };
                let is_back = !self.caller.is_away();
                Some(if is_back { Ok(Report::of(input)) } else { Err(ReplyError::CallerAway) })
            }
            _ => None,
        }
    }

    /// What an answer comes to: a Message, or a decision about one that may have been received.
    async fn answer_at(
        &self,
        at: StepIndex,
        said: Message,
    ) -> Result<Result<Report, ReplyError>, ExecutorError> {
        if let Phase::Unknown { flight, .. } = &self.run.at(at).phase {
            return Ok(self.resolution(at, flight, &said));
        }
        if let Some(back) = self.back(at) {
            return Ok(back);
        }
        Ok(match self.asking(at, &said).await? {
            Some(asking) => self.answer_report(at, asking, said),
            None => Err(ReplyError::NotPaused),
        })
    }

    /// Who asks, and what an answer goes on from: the Task, or the context of a direct Message.
    async fn asking(&self, at: StepIndex, said: &Message) -> Result<Option<Asking>, ExecutorError> {
        let Phase::Paused { flight, task, pause, .. } = &self.run.at(at).phase else {
            return Ok(None);
        };
        let (flight, task, question) = (flight.clone(), task.clone(), pause.question.clone());
        if let Some(RemoteTask { task_id, context_id, .. }) = task {
            let references = self.referred(said).await;
            return Ok(Some(Asking { flight, task_id: Some(task_id), context_id, references }));
        }
        let asked: Message = match &question {
            Some(question) => self.load(question).await?,
            None => Message::default(),
        };
        let context_id = match asked.context_id.is_empty() {
            true => self.contexts.offer(&flight.intent.agent).to_owned(),
            false => asked.context_id,
        };
        let references = self.references(at);
        Ok(Some(Asking { flight, task_id: None, context_id, references }))
    }

    fn answer_report(
        &self,
        at: StepIndex,
        asking: Asking,
        said: Message,
    ) -> Result<Report, ReplyError> {
        let Asking { flight, task_id, context_id, references } = asking;
        let turn = flight.turn + 1;
        let step = self.run.at(at).id.clone();
        let purpose = Purpose::Answer { turn };
        let id = message_id(&self.id, step.as_str(), flight.attempt, purpose);
        let message = match self.run.is_relay() {
            true => relayed(said.parts.clone(), &said)
                .with_metadata(metadata::ORIGIN, said.message_id.as_str()),
            false => self.with_origin(Message::user(said.parts.clone())),
        };
        let mut message = Message { reference_task_ids: references, ..message }
            .with_id(id.as_str())
            .with_context(context_id)
            .with_metadata(metadata::ATTEMPT, id.as_str());
        match task_id {
            Some(task_id) => message = message.with_task(task_id),
            // An agent without a Task may know nothing of what it was asked before.
            None => {
                let planned = self.run.planned(at).position();
                planner::ask_for_data(&self.plan.workflow.steps[planned], &mut message.parts);
            }
        }
        let said = said.with_task(self.id.as_str()).with_context(self.contexts.ours());
        let mut blobs = Vec::new();
        let mut body = |message: &Message| {
            body_of(&self.shared.account, message, &mut blobs)
                .map_err(|error| ReplyError::Unkept { why: error.to_string() })
        };
        let (body, said) = (body(&message)?, body(&said)?);
        let intent = Intent { message_id: id, message: body, ..Intent::clone(&flight.intent) };
        let input = Input::Answered {
            step,
            attempt: flight.attempt,
            at: Timestamp::now(),
            turn,
            intent: Arc::new(intent),
            said: Some(said),
        };
        Ok(Report { blobs, message: Some(Arc::new(message)), ..Report::of(input) })
    }
}
