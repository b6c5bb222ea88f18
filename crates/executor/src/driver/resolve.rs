//! What somebody says is to be done about a Message of which nobody knows whether its agent has received it.

use jiff::Timestamp;
use protocol::v1::Message;

use super::Driver;
use crate::{
    ExecutorError,
    answer::ReplyError,
    outcome::Decision,
    report::{Report, body_of},
    run::{Flight, Input, RemoteTask, Resolution, StepIndex},
};

impl Driver {
    /// Makes a report of a decision.
    pub(super) fn resolution(
        &self,
        at: StepIndex,
        flight: &Flight,
        said: &Message,
    ) -> Result<Report, ReplyError> {
        let step = self.run.at(at).id.clone();
        let Some(decision) = Decision::of(said) else {
            return Err(ReplyError::Undecided { step });
        };
        let unkept = |error: ExecutorError| ReplyError::Unkept { why: error.to_string() };
        let (mut blobs, mut result) = (Vec::new(), None);
        let resolution = match decision {
            Decision::Resend => Resolution::Resend,
            Decision::Task(task_id) => {
                let context_id = self.contexts.offer(&flight.intent.agent).to_owned();
                Resolution::Bound(RemoteTask { task_id, context_id, interface: None })
            }
            Decision::Failed => {
                let reporter = self.reporter(at, flight.attempt);
                let failed = reporter.given_up(&flight.intent).map_err(unkept)?;
                (blobs, result) = (failed.blobs, Some(failed.result));
                Resolution::Failed(failed.failure)
            }
        };
        let said = said.clone().with_task(self.id.as_str()).with_context(self.contexts.ours());
        let said = body_of(&self.shared.account, &said, &mut blobs).map_err(unkept)?;
        let (attempt, at, said) = (flight.attempt, Timestamp::now(), Some(said));
        let resolution = Box::new(resolution);
        let input = Input::Resolved { step, attempt, at, resolution, said };
        Ok(Report { blobs, result, ..Report::of(input) })
    }
}
