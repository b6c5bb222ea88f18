//! Reports of what has failed.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use planner::{ErrorClass, StepError, StepResult, StepState};
use store::Write;

use super::{Report, Reporter, body_of, clip};
use crate::{
    ExecutorError,
    driver::Uncallable,
    remote::{Attempt, Defeat},
    run::{Failure, Input, Intent, Wait},
};

/// A failed attempt, with what has to be committed along with it.
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// The result in memory.
    pub(crate) result: Arc<StepResult>,
    /// Blobs that it names.
    pub(crate) blobs: Vec<Write>,
}

impl Reporter {
    /// Ends an attempt whose answer the store would never take. The agent has done its part.
    pub(super) fn unkept(
        &self,
        attempt: &Attempt,
        why: &ExecutorError,
    ) -> Result<Report, ExecutorError> {
        let agent = &attempt.intent.agent;
        let message = format!("the answer of agent `{agent}` cannot be kept: {why}");
        let defeat = Defeat::new(ErrorClass::Invalid, message);
        self.failed(&attempt.intent, &Defeat { remote_ended: true, is_ours: true, ..defeat })
    }

    /// Ends an attempt whose answer is not what the step can use. The agent has done its part.
    pub(crate) fn unfit(
        &self,
        intent: &Intent,
        class: ErrorClass,
        why: String,
    ) -> Result<Report, ExecutorError> {
        self.failed(intent, &Defeat { remote_ended: true, ..Defeat::new(class, why) })
    }

    /// Ends an attempt whose agent cannot be called at all.
    pub(crate) fn unusable(
        &self,
        intent: &Intent,
        why: &Uncallable,
    ) -> Result<Report, ExecutorError> {
        let (class, is_ours) = match why {
            Uncallable::Interfaces { is_ours, .. } => (ErrorClass::Invalid, *is_ours),
            Uncallable::Credentials(_) => (ErrorClass::Unauthorized, true),
        };
        let message = format!("agent `{}` cannot be called: {why}", intent.agent);
        self.failed(intent, &Defeat { is_ours, is_untaken: true, ..Defeat::new(class, message) })
    }

    /// Ends an attempt whose task broke down.
    pub(crate) fn broken(&self, intent: &Intent, why: &str) -> Result<Report, ExecutorError> {
        let defeat = Defeat::new(ErrorClass::Failed, format!("internal error: {why}"));
        self.failed(intent, &Defeat { is_ours: true, ..defeat })
    }

    /// Ends a step whose deadline has passed between two attempts.
    pub(crate) fn overdue(&self, deadline: Duration) -> Result<Report, ExecutorError> {
        let error = StepError {
            step: self.step.to_string(),
            class: ErrorClass::Timeout,
            message: format!(
                "the step was not done within its deadline of {} s, and no attempt was under way",
                deadline.as_secs_f64()
            ),
            attempt: self.attempt,
        };
        let result =
            StepResult { error: Some(error.clone()), ..StepResult::new(StepState::Failed) };
        let mut blobs = Vec::new();
        let body = body_of(&self.account, &result, &mut blobs)?;
        let (step, at) = (self.step.clone(), Timestamp::now());
        let input = Input::Overdue { step, at, error, result: body };
        Ok(Report { blobs, result: Some(Arc::new(result)), ..Report::of(input) })
    }

    /// The failure of an attempt that somebody says has failed.
    pub(crate) fn given_up(&self, intent: &Intent) -> Result<Failed, ExecutorError> {
        let why = "nobody knew what became of the Message, and somebody said that it has failed";
        self.failure(intent, &Defeat::new(ErrorClass::OutcomeUnknown, why.to_owned()))
    }

    pub(super) fn failed(&self, intent: &Intent, defeat: &Defeat) -> Result<Report, ExecutorError> {
        let Failed { failure, result, blobs } = self.failure(intent, defeat)?;
        let input = Input::Failed {
            step: self.step.clone(),
            attempt: self.attempt,
            at: Timestamp::now(),
            failure: Box::new(failure),
        };
        Ok(Report { blobs, result: Some(result), ..Report::of(input) })
    }

    fn failure(&self, intent: &Intent, defeat: &Defeat) -> Result<Failed, ExecutorError> {
        let error = StepError {
            step: self.step.to_string(),
            class: defeat.class,
            message: clip(&defeat.message),
            attempt: self.attempt,
        };
        let result = StepResult {
            agent: Some(intent.agent.clone()),
            error: Some(error.clone()),
            ..StepResult::new(StepState::Failed)
        };
        let mut blobs = Vec::new();
        let failure = Failure {
            error,
            result: body_of(&self.account, &result, &mut blobs)?,
            remote_ended: defeat.remote_ended,
            is_untaken: defeat.is_untaken,
            wait: Wait { jitter: draw(), at_least: defeat.retry_after },
            refusal: defeat.refusal.clone(),
            is_ours: defeat.is_ours,
        };
        Ok(Failed { failure, result: Arc::new(result), blobs })
    }
}

pub(super) fn draw() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The version and variant bits of a v4 are not in the upper half of the first word.
    f64::from(u32::try_from(high >> 32).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}
