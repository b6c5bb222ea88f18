//! What an event does to the attempt that it is about.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use planner::StepError;
use protocol::v1::TaskState;

use super::{
    Effect, Flight, Intent, Next, Orphan, Phase, RemoteTask, Run, RunEvent, Settled, StepId,
};

impl Run {
    pub(super) fn apply_to_attempt(&mut self, event: &RunEvent) {
        match event {
            RunEvent::AttemptStarted { step, attempt, at, intent } => {
                self.start_attempt(step, *attempt, *at, intent);
            }
            RunEvent::ContextRefused { step, intent, .. }
            | RunEvent::CallbackRefused { step, intent, .. } => self.replace_intent(step, intent),
            RunEvent::AttemptBound { step, task, .. } => self.bind(step, task),
            // Nothing is done otherwise for it.
            RunEvent::ArtifactChunked { .. } => (),
            RunEvent::AttemptReported { at, state, .. } => self.report(*at, *state),
            RunEvent::AttemptPaused { step, at, task, pause, .. } => {
                self.pause(step, *at, task.as_ref(), pause);
            }
            RunEvent::AttemptUnpaused { step, at, .. } => self.unpause(step, *at),
            RunEvent::AttemptAnswered { step, at, turn, intent, .. } => {
                self.answer(step, *at, *turn, intent);
            }
            RunEvent::OutcomeUnknown { step, at, why, .. } => self.doubt(step, *at, why),
            RunEvent::OutcomeChosen { step, attempt, at, chosen, .. } => {
                self.resolve(step, *attempt, *at, chosen);
            }
            RunEvent::AnswerDelivered { step, .. } => self.delivered(step),
            RunEvent::AnswerRefused { step, at, .. } => self.reopen(step, *at),
            RunEvent::AttemptFailed { step, attempt, at, error, next, remote_ended, .. } => {
                if let Some(index) = self.find(step) {
                    self.end_pause(index, *at);
                }
                self.leave_remote(step, *attempt, *at, *remote_ended);
                self.fail_attempt(step, *attempt, *at, error, next);
            }
            RunEvent::AttemptCanceled { step, attempt, at, .. } => {
                self.forget_remote(step, *attempt, *at);
            }
            // They are about no attempt.
            RunEvent::RunDeferred { .. }
            | RunEvent::RunRejected { .. }
            | RunEvent::RunStarted { .. }
            | RunEvent::RunQueued { .. }
            | RunEvent::RunAdmitted { .. }
            | RunEvent::RunResumed { .. }
            | RunEvent::StepSkipped { .. }
            | RunEvent::StepTaken { .. }
            | RunEvent::StepAsked { .. }
            | RunEvent::StepAskedAgain { .. }
            | RunEvent::StepAnswered { .. }
            | RunEvent::CallsCounted { .. }
            | RunEvent::AnswerPassed { .. }
            | RunEvent::StepCanceled { .. }
            | RunEvent::StepExpanded { .. }
            | RunEvent::StepGathered { .. }
            | RunEvent::StepCompleted { .. }
            | RunEvent::RoundEnded { .. }
            | RunEvent::StepComputed { .. }
            | RunEvent::StepReused { .. }
            | RunEvent::StepFailed { .. }
            | RunEvent::CancelRequested { .. }
            | RunEvent::RunTimedOut { .. }
            | RunEvent::BudgetSpent { .. }
            | RunEvent::RunFinished { .. } => (),
        }
    }

    fn report(&mut self, at: Timestamp, state: TaskState) {
        self.pass(at);
        self.reported = Some(state);
    }

    fn start_attempt(&mut self, step: &StepId, attempt: u32, at: Timestamp, intent: &Arc<Intent>) {
        self.pass(at);
        let Some(index) = self.find(step) else {
            return;
        };
        self.calls += u64::from(!intent.is_sub_run);
        let found = &mut self.steps[index.position()];
        found.attempts = attempt;
        found.started_at.get_or_insert(at);
        found.agent = Some(intent.agent.clone());
        let flight = Flight {
            attempt,
            started_at: at,
            intent: Arc::clone(intent),
            turn: 0,
            asked: None,
            paused: SignedDuration::ZERO,
        };
        self.set_phase(index, Phase::Sending(flight));
    }

    fn replace_intent(&mut self, step: &StepId, intent: &Arc<Intent>) {
        let Some(index) = self.find(step) else {
            return;
        };
        if let Phase::Sending(flight) | Phase::Canceling { flight, .. } =
            &mut self.steps[index.position()].phase
        {
            flight.intent = Arc::clone(intent);
            self.calls += 1;
            self.effects.renew(Effect::Send(index, flight.attempt));
        }
    }

    fn bind(&mut self, step: &StepId, task: &RemoteTask) {
        let Some(index) = self.find(step) else {
            return;
        };
        self.steps[index.position()].task = Some(task.clone());
        let phase = match self.at(index).phase.clone() {
            Phase::Sending(flight) => Phase::Watching(flight, task.clone()),
            Phase::Canceling { flight, since, .. } => {
                Phase::Canceling { flight, since, task: Some(task.clone()) }
            }
            other => other,
        };
        self.set_phase(index, phase);
    }

    pub(super) fn note_task(&mut self, step: &StepId, task: Option<&RemoteTask>) {
        if let (Some(index), Some(task)) = (self.find(step), task) {
            self.steps[index.position()].task = Some(task.clone());
        }
    }

    /// Keeps a remote Task that goes on without us, so that it is told to stop.
    pub(super) fn leave_remote(
        &mut self,
        step: &StepId,
        attempt: u32,
        at: Timestamp,
        remote_ended: bool,
    ) {
        let Some(index) = self.find(step) else {
            return;
        };
        let bound = match &self.at(index).phase {
            Phase::Watching(flight, task)
            | Phase::Answering(flight, task)
            | Phase::Answered(flight, task)
            | Phase::Unknown { flight, task: Some(task), .. }
            | Phase::Paused { flight, task: Some(task), .. } => Some((flight, task)),
            _ => None,
        };
        if let Some((flight, task)) = bound
            && !remote_ended
        {
            let orphan =
                Orphan { intent: Arc::clone(&flight.intent), task: task.clone(), since: at };
            self.orphans.insert((index, attempt), orphan);
            self.effects.add(Effect::Cancel(index, attempt));
        }
    }

    pub(super) fn fail_attempt(
        &mut self,
        step: &StepId,
        attempt: u32,
        at: Timestamp,
        error: &StepError,
        next: &Next,
    ) {
        match next {
            Next::GiveUp { result } => {
                self.settle(step, at, Settled::Failed(result.clone(), error.clone()));
            }
            Next::FallBack { to } => self.fall_back(step, at, *to),
            Next::Retry { at: until } => {
                self.pass(at);
                if let Some(index) = self.find(step) {
                    let until = *until;
                    self.set_phase(index, Phase::BackingOff { attempt, until });
                }
            }
        }
    }

    fn forget_remote(&mut self, step: &StepId, attempt: u32, at: Timestamp) {
        let Some(index) = self.find(step) else {
            return;
        };
        if self.orphans.remove(&(index, attempt)).is_some() {
            self.pass(at);
            self.effects.remove(Effect::Cancel(index, attempt));
        } else {
            self.settle(step, at, Settled::Canceled);
        }
    }
}
