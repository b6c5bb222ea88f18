//! Messages that an agent must not get twice, and of which nobody knows whether it has got them.
//!
//! A crash, a connection that broke, an answer that is none: then the step waits for somebody to say what to do. What
//! was sent before a restart is in doubt whenever its Task is not known.

use jiff::{SignedDuration, Timestamp};
use planner::{ErrorClass, StepEffect};

use super::{
    Chosen, Failure, Pause, PauseKind, Phase, Resolution, Run, RunEvent, Step, StepId, StepIndex,
};
use crate::body::Body;

/// What there is to choose from.
const CHOICE: &str = "answer `resend` to send it once more, `failed` to have the attempt fail, or `task ID` to follow a \
                      Task that the agent has made of it";

impl Step {
    /// Says what is not known of its attempt, why, and what to do.
    pub(super) fn doubt(&self, why: &str) -> String {
        let agent = self.agent.as_deref().unwrap_or("nobody");
        let what = match &self.phase {
            Phase::Watching(_, task) => {
                format!("what became of Task `{}` of agent `{agent}`", task.task_id)
            }
            _ => format!("whether agent `{agent}` has received the Message"),
        };
        format!("it is not known {what}: {why}; {CHOICE}")
    }
}

impl Run {
    /// Whether nobody knows what came of an attempt that has failed, and it matters.
    pub(super) fn is_doubtful(&self, index: StepIndex, failure: &Failure) -> bool {
        let is_lost =
            matches!(failure.error.class, ErrorClass::Unavailable | ErrorClass::RateLimited);
        self.shape_of(index).effect == StepEffect::AtMostOnce
            && match self.at(index).phase {
                Phase::Sending(_) => !failure.is_untaken && !failure.remote_ended,
                Phase::Watching(..) => is_lost,
                _ => false,
            }
    }

    /// The process that sent what is on its way is gone.
    pub(super) fn doubt_all(&mut self) {
        let is_in_doubt = |at: &StepIndex| {
            let is_careful = self.shape_of(*at).effect == StepEffect::AtMostOnce;
            let phase = &self.at(*at).phase;
            let is_sent = matches!(phase, Phase::Sending(_) | Phase::Canceling { task: None, .. });
            is_careful && is_sent
        };
        self.to_doubt = self.active.iter().copied().filter(is_in_doubt).collect();
        self.work += self.active.len() as u64;
    }

    /// The next step of which that has to be said. One that is not wanted any more is over: nothing is sent to find out
    /// what to cancel.
    pub(super) fn doubt_next(&mut self) -> Option<RunEvent> {
        let index = self.to_doubt.pop_first()?;
        let found = self.at(index);
        let (step, attempt, at) = (found.id.clone(), found.attempts, self.now);
        Some(match found.phase {
            Phase::Canceling { .. } => {
                RunEvent::AttemptCanceled { step, attempt, at, confirmed: false }
            }
            _ => {
                let why = found.doubt("Convoke ended before the agent answered");
                RunEvent::OutcomeUnknown { step, attempt, at, why }
            }
        })
    }

    pub(super) fn decide_resolved(
        &self,
        step: StepId,
        attempt: u32,
        at: Timestamp,
        resolution: Resolution,
        said: Option<Body>,
    ) -> Option<RunEvent> {
        let index = self.find(&step)?;
        let is_asked = matches!(self.at(index).phase, Phase::Unknown { .. });
        if !is_asked || !self.at(index).is_current(attempt) {
            return None;
        }
        let chosen = match resolution {
            Resolution::Resend if self.is_spent() => {
                return Some(RunEvent::BudgetSpent { at, step });
            }
            Resolution::Resend => Chosen::Resend,
            Resolution::Bound(task) => Chosen::Bound { task },
            Resolution::Failed(failure) => {
                let next = self.next_after(index, attempt, at, &failure);
                Chosen::Failed { error: failure.error, next }
            }
        };
        Some(RunEvent::OutcomeChosen { step, attempt, at, chosen, said })
    }

    pub(super) fn doubt(&mut self, step: &StepId, since: Timestamp, why: &str) {
        self.pass(since);
        let Some(index) = self.find(step) else {
            return;
        };
        let (flight, task) = match self.at(index).phase.clone() {
            Phase::Sending(flight) => (flight, None),
            Phase::Watching(flight, task) => (flight, Some(task)),
            _ => return,
        };
        let why = Some(why.to_owned());
        let (message_id, question, mismatch) = (None, None, None);
        let (kind, awaits_caller, within) = (PauseKind::Outcome, false, None);
        let pause = Pause { kind, message_id, question, awaits_caller, why, mismatch, within };
        self.set_phase(index, Phase::Unknown { flight, task, pause, since });
    }

    pub(super) fn resolve(&mut self, step: &StepId, attempt: u32, at: Timestamp, chosen: &Chosen) {
        self.pass(at);
        let Some(index) = self.find(step) else {
            return;
        };
        let Phase::Unknown { mut flight, since, .. } = self.at(index).phase.clone() else {
            return;
        };
        self.stand_still(index, since, at);
        // Whoever decided that it goes on gives it time.
        (flight.started_at, flight.paused) = (at, SignedDuration::ZERO);
        match chosen {
            // It takes a slot that nobody else may have left: whoever decides does not wait.
            Chosen::Resend => {
                self.calls += 1;
                self.renew_deadline(index, at);
                self.set_phase(index, Phase::Sending(flight));
            }
            Chosen::Bound { task } => {
                self.renew_deadline(index, at);
                self.steps[index.position()].task = Some(task.clone());
                self.set_phase(index, Phase::Watching(flight, task.clone()));
            }
            Chosen::Failed { error, next } => {
                self.leave_remote(step, attempt, at, false);
                self.fail_attempt(step, attempt, at, error, next);
            }
        }
    }
}
