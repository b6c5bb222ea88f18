//! Steps that ask a person: the question, and what an answer to it is worth.

use std::sync::Arc;

use jiff::Timestamp;
use planner::{ErrorClass, Plan, Scope, StepError, StepResult, StepState, show_duration};
use protocol::v1::{Message, Part};

use super::Driver;
use crate::{
    ExecutorError,
    answer::ReplyError,
    flights::Slot,
    id::{Purpose, message_id},
    report::{Report, body_of},
    run::{Input, Pause, PauseKind, Phase, Rendered, Reply, StepIndex},
};

/// An answer to be drafted, and what whoever gave it is told once that is durable.
pub(super) type Replied = (Report, Result<(), ReplyError>);

impl Driver {
    /// The question of a step that asks a person; nothing for any other step.
    pub(super) fn question(
        &self,
        at: StepIndex,
        plan: &Plan,
        scope: &Scope,
    ) -> Result<Option<Report>, ExecutorError> {
        let planned = self.run.planned(at).position();
        let question = match planner::evaluate_question(&plan.workflow, planned, scope) {
            Ok(None) => return Ok(None),
            Ok(Some(question)) => question,
            Err(error) => return self.cannot_render(at, &error.to_string()).map(Some),
        };
        let mut report = Report::of(Input::Resumed { at: Timestamp::now() });
        match self.pause(at, 0, question, &mut report) {
            Ok(pause) => {
                let Report { input, .. } = self.rendered(at, Rendered::Ask { pause });
                Ok(Some(Report { input, ..report }))
            }
            Err(error @ ExecutorError::TooLarge { .. }) => {
                self.cannot_render(at, &format!("the question is too large: {error}")).map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// What becomes of an answer to a step that asks; nothing for a step that does not.
    pub(super) async fn replied(
        &self,
        at: StepIndex,
        said: &Message,
    ) -> Result<Option<Replied>, ReplyError> {
        let Phase::Asked { first, turn, .. } = &self.run.at(at).phase else { return Ok(None) };
        let plan = Arc::clone(&self.plan);
        let Some(ask) = &plan.workflow.steps[self.run.planned(at).position()].ask else {
            return Ok(None);
        };
        let step = self.run.at(at).id.clone();
        let said = said.clone().with_task(self.id.as_str()).with_context(self.contexts.ours());
        let unkept = |error: ExecutorError| ReplyError::Unkept { why: error.to_string() };
        let mut report = Report::of(Input::Resumed { at: Timestamp::now() });
        let answered = ask.answered(said.clone());
        let (reply, told) = match answered {
            Ok(result) => {
                let body = body_of(&self.shared.account, &result, &mut report.blobs);
                report.result = Some(Arc::new(result));
                (Reply::Fits { result: body.map_err(unkept)? }, Ok(()))
            }
            Err(why) => {
                let asked = self.text_of(first).await.map_err(unkept)?;
                let text = format!("{asked}\n(The last answer does not fit: {why})");
                let pause = self.pause(at, turn + 1, text, &mut report).map_err(unkept)?;
                let told = ReplyError::Unfit { step: step.clone(), why };
                (Reply::Misfits { pause }, Err(told))
            }
        };
        let said = body_of(&self.shared.account, &said, &mut report.blobs).map_err(unkept)?;
        let input = Input::Replied { step, at: Timestamp::now(), said: Some(said), reply };
        Ok(Some((Report { input, ..report }, told)))
    }

    async fn text_of(&self, pause: &Pause) -> Result<String, ExecutorError> {
        match &pause.question {
            Some(question) => Ok(self.load::<Message>(question).await?.text()),
            None => Ok(String::new()),
        }
    }

    /// What people are asked; its body comes along with the report.
    fn pause(
        &self,
        at: StepIndex,
        turn: u32,
        text: String,
        report: &mut Report,
    ) -> Result<Pause, ExecutorError> {
        let id = message_id(&self.id, self.run.at(at).id.as_str(), 0, Purpose::Ask { turn });
        let planned = self.run.planned(at).position();
        let schema =
            self.plan.workflow.steps[planned].ask.as_ref().and_then(|it| it.schema.as_ref());
        let part = match schema {
            Some(schema) => Part::text(text)
                .with_metadata("mimeType", "application/json")
                .with_metadata("schema", schema.json.clone()),
            None => Part::text(text),
        };
        let question = Message::agent(vec![part])
            .with_id(id.as_str())
            .with_task(self.id.as_str())
            .with_context(self.contexts.ours());
        let question = Some(body_of(&self.shared.account, &question, &mut report.blobs)?);
        Ok(Pause {
            kind: PauseKind::Input,
            message_id: Some(id),
            question,
            mismatch: None,
            why: None,
            within: None,
            awaits_caller: false,
        })
    }

    /// Wakes when a pause has lasted as long as it may.
    pub(super) fn remind_of_pause(&mut self, at: StepIndex) -> Result<(), ExecutorError> {
        let Some(expires) = self.run.pause_expires(at) else { return Ok(()) };
        let found = self.run.at(at);
        let longest = show_duration(self.run.shape_of(at).pause_timeout);
        let within = format!("within its `pause_timeout` of {longest}");
        let (class, message) = match &found.phase {
            Phase::Unknown { .. } => (
                ErrorClass::OutcomeUnknown,
                format!("nobody knew what became of the Message, and nobody said so {within}"),
            ),
            Phase::Paused { pause, .. } if pause.kind == PauseKind::Auth => {
                (ErrorClass::Timeout, format!("it was not authorized {within}"))
            }
            _ => (ErrorClass::Timeout, format!("it got no answer {within}")),
        };
        let step = found.id.to_string();
        let error = StepError { step, class, message, attempt: found.attempts };
        let result = StepResult {
            agent: found.agent.clone(),
            error: Some(error.clone()),
            ..StepResult::new(StepState::Failed)
        };
        let step = found.id.clone();
        let result = body_of(&self.shared.account, &result, &mut Vec::new())?;
        self.remind(Slot::Expire(at), expires, move || Input::Expired {
            step,
            at: Timestamp::now(),
            error,
            result,
        });
        Ok(())
    }
}
