//! From a person's answer to the Message that continues the remote Task.

use std::sync::Arc;

use jiff::Timestamp;
use protocol::{model::metadata, v1::Message};
use tokio::sync::oneshot;

use super::{Driver, Shared, ask::Replied, relay::relayed};
use crate::{
    ExecutorError, RunId,
    answer::{Answer, ReplyError, Waiting},
    id::{Purpose, message_id},
    once,
    report::{Report, body_of},
    run::{Flight, Input, Intent, Phase, RemoteTask, RunEvent, StepId, StepIndex},
};

/// Whether an event is that somebody has answered.
fn is_answer(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::AttemptAnswered { .. }
            | RunEvent::OutcomeChosen { .. }
            | RunEvent::StepAskedAgain { .. }
            | RunEvent::StepAnswered { .. }
    )
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
        let mut once = once;
        if let Some(once) = &mut once {
            if once::taken(&**store, account, once).await?.is_some() {
                // Whoever asked may be gone.
                drop(taken.send(Err(ReplyError::Repeated)));
                return Ok(());
            }
            kept = Some(once.put_alone(account, self.root())?);
        }
        let address = self.addressed(step);
        if let Ok(address) = &address
            && let Some((at, inner)) = self.inside(address)
        {
            self.pass_down(at, address, Answer { step: Some(inner), message, once, taken });
            return Ok(());
        }
        let prepared = match address {
            Ok(address) => self.prepared(&address, message).await?,
            Err(refused) => Err(refused),
        };
        match prepared {
            Ok((at, (report, told))) => {
                let step = self.run.at(at).id.clone();
                let before = self.draft.events.len();
                self.take(report);
                if !self.draft.events[before..].iter().any(is_answer) {
                    // The run may not send it any more. Whoever asked may be gone.
                    drop(taken.send(Err(ReplyError::NotPaused)));
                    return Ok(());
                }
                self.draft.writes.extend(kept);
                self.waiting.push(Waiting { told: told.map(|()| step), taken });
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
            drop(waiting.taken.send(waiting.told));
        }
    }

    /// The step an answer is for, and what is to be drafted of it.
    async fn prepared(
        &self,
        address: &StepId,
        message: Message,
    ) -> Result<Result<(StepIndex, Replied), ReplyError>, ExecutorError> {
        let Some(at) = self.run.find(address) else { return Ok(Err(ReplyError::NotPaused)) };
        match self.replied(at, &message).await {
            Ok(None) => (),
            Ok(Some(replied)) => return Ok(Ok((at, replied))),
            Err(refused) => return Ok(Err(refused)),
        }
        let report = self.answer_at(at, message).await?;
        Ok(report.map(|report| (at, (report, Ok(())))))
    }

    /// The step an answer is for: the one it names, else the only one that waits.
    fn addressed(&self, step: Option<StepId>) -> Result<StepId, ReplyError> {
        let open: Vec<StepId> = self.run.pauses().map(|(step, _)| step.clone()).collect();
        match (step, open.as_slice()) {
            (_, []) => Err(ReplyError::NotPaused),
            (Some(step), open) if open.contains(&step) => Ok(step),
            (Some(step), _) => Err(ReplyError::StepNotPaused { step, open }),
            (None, [only]) => Ok(only.clone()),
            (None, _) => Err(ReplyError::Ambiguous { open }),
        }
    }

    /// The step that is a sub-run, and the address inside of it; nothing for a step of this run.
    fn inside(&self, address: &StepId) -> Option<(StepIndex, StepId)> {
        let (outer, inner) = address.as_str().split_once('/')?;
        Some((self.run.find(&StepId::new(outer))?, StepId::new(inner)))
    }

    /// Hands an answer down to a sub-run. What is kept of it here follows once the sub-run has it: should this process
    /// end in between, the answer is lost to nobody.
    fn pass_down(&mut self, at: StepIndex, address: &StepId, answer: Answer) {
        let refused = match self.passage(at, address, &answer) {
            Ok((sub_run, report)) => return self.start_passing(at, sub_run, report, answer),
            Err(refused) => refused,
        };
        // Whoever asked may be gone.
        drop(answer.taken.send(Err(refused)));
    }

    /// Where an answer goes, and what is kept of it here.
    fn passage(
        &self,
        at: StepIndex,
        address: &StepId,
        answer: &Answer,
    ) -> Result<(RunId, Report), ReplyError> {
        let step = self.run.at(at);
        let Phase::Paused { flight, task: Some(task), pause, .. } = &step.phase else {
            return Err(ReplyError::NotPaused);
        };
        let unkept = |why: String| ReplyError::Unkept { why };
        let sub_run = task.task_id.parse().map_err(|error| unkept(format!("{error}")))?;
        let said = answer.message.clone().with_task(self.root().as_str());
        let said = said.with_context(self.contexts.ours());
        let mut blobs = Vec::new();
        let said = body_of(&self.shared.account, &said, &mut blobs)
            .map_err(|error| unkept(error.to_string()))?;
        let mut within = pause.within.iter().flat_map(|within| &within.pauses);
        let answered = within.find(|(asked, _)| asked == address).cloned().map(Box::new);
        let input = Input::PassedDown {
            step: step.id.clone(),
            attempt: flight.attempt,
            at: Timestamp::now(),
            answered,
            said: Some(said),
        };
        Ok((sub_run, Report { blobs, ..Report::of(input) }))
    }

    fn start_passing(&mut self, at: StepIndex, sub_run: RunId, report: Report, answer: Answer) {
        // Unreachable: a run without sub-runs has no pause inside of one. Whoever asked hears that it is not known.
        let Some(sub_runs) = &self.sub_runs else { return };
        let Answer { step, message, once, taken } = answer;
        let (told, heard) = oneshot::channel();
        let passing = sub_runs.pass(sub_run, Answer { step, message, once, taken: told });
        let report_to = self.report_to.clone();
        let slot = self.passages.begin(at);
        self.flights.start(slot, async move {
            passing.await;
            let told = heard.await.unwrap_or(Err(ReplyError::Unknown));
            let report = passed(report, Waiting { told, taken });
            // The driver may be gone, and whoever asked hears so.
            drop(report_to.send(report).await);
        });
    }

    /// The run that has the Task which this one is inside of.
    fn root(&self) -> &RunId {
        let above = self.run.header().and_then(|header| header.parent.as_ref());
        above.map_or(&self.id, |above| &above.root)
    }

    /// What an answer in a relay refers to, as its agent knows it.
    async fn referred(&self, said: &Message) -> Vec<String> {
        match self.plan.bindings.iter().flatten().next().filter(|_| self.run.is_relay()) {
            Some(binding) => self.known_there(binding, &said.reference_task_ids).await,
            None => Vec::new(),
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

/// What is kept of an answer that a sub-run has decided about: nothing of one that was refused. One that does not fit is
/// kept, and asked for once more.
fn passed(mut report: Report, waiting: Waiting) -> Report {
    if let (Err(refused), Input::PassedDown { answered, said, .. }) =
        (&waiting.told, &mut report.input)
    {
        *answered = None;
        if !matches!(refused, ReplyError::Unfit { .. }) {
            *said = None;
        }
    }
    Report { waiting: Some(waiting), ..report }
}
