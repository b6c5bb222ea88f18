//! Reports of an attempt that waits for somebody.

use jiff::Timestamp;
use protocol::v1::Message;

use super::{ContextSeen, Report, Reporter, body_of, clip};
use crate::{
    ExecutorError,
    remote::{Attempt, Question},
    run::{Input, Intent, Pause, PauseKind, RemoteTask},
};

impl Reporter {
    pub(super) fn paused(
        &self,
        intent: &Intent,
        question: Question,
    ) -> Result<Report, ExecutorError> {
        let Question { task, kind, message } = question;
        let mut blobs = Vec::new();
        let message_id = message.as_ref().map(|message| message.message_id.clone());
        let question = match &message {
            Some(message) => Some(body_of(&self.account, message, &mut blobs)?),
            None => None,
        };
        let context =
            ContextSeen { agent: intent.agent.clone(), context_id: task.context_id.clone() };
        let (mismatch, why, within) = (None, None, None);
        let pause =
            Pause { kind, message_id, question, mismatch, why, within, awaits_caller: false };
        let report = Report::of(self.input_paused(Some(task), pause));
        Ok(Report { blobs, context: Some(context), ..report })
    }

    /// The agent has answered by a Message that is not what the step expects, and so asks something back.
    pub(crate) fn asked_back(
        &self,
        message: &Message,
        task: Option<RemoteTask>,
        mismatch: &str,
    ) -> Result<Report, ExecutorError> {
        let mut blobs = Vec::new();
        let pause = Pause {
            kind: PauseKind::Input,
            message_id: Some(message.message_id.clone()),
            question: Some(body_of(&self.account, message, &mut blobs)?),
            mismatch: Some(clip(mismatch)),
            within: None,
            why: None,
            awaits_caller: false,
        };
        Ok(Report { blobs, ..Report::of(self.input_paused(task, pause)) })
    }

    /// The agent cannot be called until the caller has come again.
    pub(super) fn withheld(&self, attempt: &Attempt) -> Result<Report, ExecutorError> {
        let mut blobs = Vec::new();
        let question = Some(body_of(&self.account, &attempt.wish(), &mut blobs)?);
        let (kind, message_id, mismatch) = (PauseKind::Auth, None, None);
        let (why, within) = (None, None);
        let pause =
            Pause { kind, message_id, question, mismatch, why, within, awaits_caller: true };
        let task = attempt.errand.task().cloned();
        Ok(Report { blobs, ..Report::of(self.input_paused(task, pause)) })
    }

    fn input_paused(&self, task: Option<RemoteTask>, pause: Pause) -> Input {
        let (step, attempt) = (self.step.clone(), self.attempt);
        Input::Paused { step, attempt, at: Timestamp::now(), task, pause }
    }
}
