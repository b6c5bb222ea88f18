//! Steps that ask a person: nobody is sent anything, the step waits for what fits. And the longest that any pause may
//! last.

use jiff::Timestamp;
use planner::StepError;

use super::{Effect, Next, Pause, Phase, Reply, Run, RunEvent, Settled, StepId, StepIndex, after};
use crate::body::Body;

impl Run {
    /// When a pause has lasted as long as it may; `None` for a step that does not wait for anybody.
    #[must_use]
    pub fn pause_expires(&self, at: StepIndex) -> Option<Timestamp> {
        match self.at(at).phase {
            Phase::Paused { since, .. }
            | Phase::Asked { since, .. }
            | Phase::Unknown { since, .. } => Some(after(since, self.shape_of(at).pause_timeout)),
            _ => None,
        }
    }

    pub(super) fn decide_replied(
        &self,
        step: StepId,
        at: Timestamp,
        said: Option<Body>,
        reply: Reply,
    ) -> Option<RunEvent> {
        let found = self.at(self.find(&step)?);
        matches!(found.phase, Phase::Asked { .. }).then_some(match reply {
            Reply::Fits { result } => RunEvent::StepAnswered { step, at, said, result },
            Reply::Misfits { pause } => RunEvent::StepAskedAgain { step, at, said, pause },
        })
    }

    /// A timer says that a pause is over. It may be that of an earlier one: then the right one is asked for.
    pub(super) fn decide_expired(
        &mut self,
        step: StepId,
        at: Timestamp,
        error: StepError,
        result: Body,
    ) -> Option<RunEvent> {
        let index = self.find(&step)?;
        if self.pause_expires(index)? > at {
            self.effects.renew(Effect::Expire(index));
            return None;
        }
        Some(match &self.at(index).phase {
            Phase::Paused { flight, .. } | Phase::Unknown { flight, .. } => {
                RunEvent::AttemptFailed {
                    step,
                    attempt: flight.attempt,
                    at,
                    error,
                    next: Next::GiveUp { result },
                    remote_ended: false,
                    refusal: None,
                }
            }
            _ => RunEvent::StepFailed { step, at, result, error },
        })
    }

    pub(super) fn ask(&mut self, step: &StepId, since: Timestamp, pause: &Pause) {
        self.pass(since);
        let Some(index) = self.find(step) else {
            return;
        };
        self.steps[index.position()].started_at.get_or_insert(since);
        let (first, pause) = (pause.clone(), pause.clone());
        self.set_phase(index, Phase::Asked { first, pause, turn: 0, since });
    }

    /// The question stands as before, and what is said of the answer with it.
    pub(super) fn ask_again(&mut self, step: &StepId, at: Timestamp, pause: &Pause) {
        self.pass(at);
        if let Some(index) = self.find(step)
            && let Phase::Asked { first, turn, since, .. } = self.at(index).phase.clone()
        {
            let (pause, turn) = (pause.clone(), turn + 1);
            self.set_phase(index, Phase::Asked { first, pause, turn, since });
        }
    }

    pub(super) fn answered(&mut self, step: &StepId, at: Timestamp, result: &Body) {
        self.settle(step, at, Settled::Completed(result.clone()));
    }
}
