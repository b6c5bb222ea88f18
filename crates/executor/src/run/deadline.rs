//! Time limits of attempts and of steps. Both stand still while a step waits for somebody.
//!
//! Whoever follows an attempt keeps both; between two attempts the step's own is an effect.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use planner::StepError;

use super::{Flight, Run, RunEvent, StepId, StepIndex, after, later};
use crate::body::Body;

/// Until when an attempt may go on, and what says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Until when.
    pub at: Timestamp,
    /// The field: `timeout` or `deadline`.
    pub field: &'static str,
    /// What it says.
    pub length: Duration,
}

impl Run {
    /// Until when an attempt may go on; its pauses do not count.
    #[must_use]
    pub fn limit(&self, at: StepIndex, flight: &Flight) -> Limit {
        let length = self.shape_of(at).timeout;
        let timeout = later(after(flight.started_at, length), flight.paused);
        let own = Limit { at: timeout, field: "timeout", length };
        let whole = self.step_deadline(at).zip(self.shape_of(at).deadline);
        match whole.filter(|(deadline, _)| *deadline < timeout) {
            Some((at, length)) => Limit { at, field: "deadline", length },
            None => own,
        }
    }

    /// Until when all attempts of a step may go on, should it not pause again before; `None` before its first attempt.
    #[must_use]
    pub fn step_deadline(&self, at: StepIndex) -> Option<Timestamp> {
        let (length, found) = (self.shape_of(at).deadline?, self.at(at));
        Some(later(after(found.started_at?, length), found.stood_still))
    }

    pub(super) fn decide_overdue(
        &self,
        step: StepId,
        at: Timestamp,
        error: StepError,
        result: Body,
    ) -> Option<RunEvent> {
        let index = self.find(&step)?;
        let is_due = self.step_deadline(index).is_some_and(|deadline| at >= deadline);
        let is_meant = is_due && self.at(index).is_between_attempts();
        is_meant.then_some(RunEvent::StepFailed { step, at, result, error })
    }

    /// Lets a step's deadline count from here when it has passed: somebody has decided that the step goes on.
    pub(super) fn renew_deadline(&mut self, index: StepIndex, at: Timestamp) {
        let is_over = self.step_deadline(index).is_some_and(|deadline| deadline <= at);
        let found = &mut self.steps[index.position()];
        if let Some(started_at) = found.started_at.filter(|_| is_over) {
            found.stood_still = at.duration_since(started_at);
        }
    }

    /// Notes how long a step stood still, and returns it.
    pub(super) fn stand_still(
        &mut self,
        index: StepIndex,
        since: Timestamp,
        until: Timestamp,
    ) -> SignedDuration {
        let stood = until.duration_since(since).max(SignedDuration::ZERO);
        self.steps[index.position()].stood_still += stood;
        stood
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::run::{
        Effect, Input, Phase,
        proof::{paused_run_with_deadline, seconds},
    };

    #[test]
    fn a_deadline_stands_still_while_its_step_is_paused() {
        let minute = Duration::from_secs(60);
        let mut run = paused_run_with_deadline(seconds(10), minute);
        let at = StepIndex(0);
        assert_eq!(run.step_deadline(at), Some(seconds(60)));
        assert!(!run.wanted().contains(Effect::StepDeadline(at)), "nothing is late while it waits");
        let flight = run.at(at).flight().expect("an attempt").clone();
        let (step, intent) = (run.at(at).id.clone(), Arc::clone(&flight.intent));
        let answered =
            Input::Answered { step, attempt: 1, at: seconds(100), turn: 1, intent, said: None };
        run.step(answered);
        assert!(matches!(run.at(at).phase, Phase::Answering(..)));
        let flight = run.at(at).flight().expect("an attempt");
        let limit = Limit { at: seconds(150), field: "deadline", length: minute };
        assert_eq!(run.limit(at, flight), limit);
    }
}
