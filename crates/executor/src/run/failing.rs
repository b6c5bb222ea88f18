//! What follows a failed attempt: another one, another agent, a question to somebody, or the end of the step.

use jiff::Timestamp;
use planner::{ErrorClass, StepEffect};

use super::{Failure, Next, Phase, Run, RunEvent, StepId, StepIndex, after};

impl Run {
    pub(super) fn decide_failed(
        &self,
        step: StepId,
        attempt: u32,
        at: Timestamp,
        failure: Failure,
    ) -> Option<RunEvent> {
        let index = self.find(&step)?;
        let found = self.at(index);
        if !found.is_current(attempt) {
            return None;
        }
        if let Phase::Canceling { task, .. } = &found.phase {
            let confirmed = failure.remote_ended || task.is_none();
            return confirmed.then_some(RunEvent::AttemptCanceled { step, attempt, at, confirmed });
        }
        if self.is_doubtful(index, &failure) {
            let why = found.doubt(&failure.error.message);
            return Some(RunEvent::OutcomeUnknown { step, attempt, at, why });
        }
        let next = self.next_after(index, attempt, at, &failure);
        Some(RunEvent::AttemptFailed {
            step,
            attempt,
            at,
            error: failure.error,
            next,
            remote_ended: failure.remote_ended,
            refusal: failure.refusal,
        })
    }

    /// What follows an attempt that has failed so.
    pub(super) fn next_after(
        &self,
        index: StepIndex,
        attempt: u32,
        at: Timestamp,
        failure: &Failure,
    ) -> Next {
        let (found, shape) = (self.at(index), self.shape_of(index));
        let class = failure.error.class;
        let is_late = self.step_deadline(index).is_some_and(|deadline| at >= deadline);
        if is_late || !self.may_be_sent_again(index, class) {
            return Next::GiveUp { result: failure.result.clone() };
        }
        let pause = shape.backoff(found.nth(attempt), class, failure.wait);
        match pause {
            Some(pause) => Next::Retry { at: after(at, pause) },
            None if is_for_another(class) && found.candidate < shape.fallbacks => {
                Next::FallBack { to: found.candidate + 1 }
            }
            None => Next::GiveUp { result: failure.result.clone() },
        }
    }

    /// Whether the step's Message may go out under another messageId: not when an agent has it that must not get it
    /// twice, unless it has rejected it.
    fn may_be_sent_again(&self, index: StepIndex, class: ErrorClass) -> bool {
        let is_bound = matches!(
            self.at(index).phase,
            Phase::Watching(..) | Phase::Paused { .. } | Phase::Answered(..) | Phase::Answering(..)
        );
        let may_be_twice = self.shape_of(index).effect != StepEffect::AtMostOnce;
        may_be_twice || !is_bound || class == ErrorClass::Rejected
    }

    /// Goes on with another agent, of which nothing of the one before is known.
    pub(super) fn fall_back(&mut self, step: &StepId, at: Timestamp, to: u32) {
        self.pass(at);
        let Some(index) = self.find(step) else {
            return;
        };
        let found = &mut self.steps[index.position()];
        found.candidate = to;
        found.attempts_before = found.attempts;
        found.task = None;
        found.round = None;
        self.set_phase(index, Phase::Ready);
    }
}

/// Whether another agent may do better.
fn is_for_another(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Unavailable | ErrorClass::Rejected | ErrorClass::Unauthorized)
}
