//! How an event changes the state. Infallible; live decisions and replay share it.

use jiff::Timestamp;
use planner::{ErrorClass, StepError, StepState};

use super::{
    Effect, Effects, Header, Outcome, Phase, Reuse, Round, Run, RunError, RunEvent, Settled,
    StepId, StepIndex,
};
use crate::body::Body;

impl Run {
    /// Applies one event of the journal.
    ///
    /// A journal is pinned to its plan; an event that names a step the plan does not have changes nothing.
    pub fn apply(&mut self, event: &RunEvent) {
        self.apply_change(event);
        if event.touches_status() {
            self.status_since = self.now;
        }
    }

    fn apply_change(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunDeferred { at, .. } | RunEvent::RunRejected { at, .. } => self.pass(*at),
            RunEvent::RunResumed { at } => {
                self.pass(*at);
                self.doubt_all();
            }
            RunEvent::RunStarted { at, header } => self.start(*at, header),
            RunEvent::RunQueued { at, header } => self.queue(*at, header),
            RunEvent::RunAdmitted { at } => self.begin(*at),
            RunEvent::StepSkipped { .. }
            | RunEvent::StepCanceled { .. }
            | RunEvent::StepExpanded { .. }
            | RunEvent::StepGathered { .. }
            | RunEvent::StepCompleted { .. }
            | RunEvent::StepTaken { .. }
            | RunEvent::StepAsked { .. }
            | RunEvent::StepAskedAgain { .. }
            | RunEvent::StepAnswered { .. }
            | RunEvent::CallsCounted { .. }
            | RunEvent::AnswerPassed { .. }
            | RunEvent::StepComputed { .. }
            | RunEvent::StepReused { .. }
            | RunEvent::StepFailed { .. } => self.apply_to_step(event),
            RunEvent::AttemptStarted { .. }
            | RunEvent::ContextRefused { .. }
            | RunEvent::CallbackRefused { .. }
            | RunEvent::AttemptBound { .. }
            | RunEvent::ArtifactChunked { .. }
            | RunEvent::AttemptReported { .. }
            | RunEvent::AttemptPaused { .. }
            | RunEvent::AttemptUnpaused { .. }
            | RunEvent::AttemptAnswered { .. }
            | RunEvent::OutcomeUnknown { .. }
            | RunEvent::OutcomeChosen { .. }
            | RunEvent::AnswerDelivered { .. }
            | RunEvent::AnswerRefused { .. }
            | RunEvent::AttemptFailed { .. }
            | RunEvent::AttemptCanceled { .. } => self.apply_to_attempt(event),
            RunEvent::RoundEnded { step, round, at, task, result, next, .. } => {
                let ended = Round { number: *round, result: result.clone(), task: task.clone() };
                self.end_round(step, *at, ended, next);
            }
            RunEvent::CancelRequested { at } => self.halt_for(*at, Outcome::Canceled),
            RunEvent::RunTimedOut { at } => self.fail(*at, self.timed_out()),
            RunEvent::BudgetSpent { at, step } => self.fail(*at, self.overspent(step)),
            RunEvent::RunFinished { at, outcome } => self.finish(*at, outcome),
        }
    }

    /// What an event does to a step as a whole.
    fn apply_to_step(&mut self, event: &RunEvent) {
        match event {
            RunEvent::StepSkipped { step, at, reason } => {
                self.settle(step, *at, Settled::Skipped(reason.clone()));
            }
            RunEvent::StepCanceled { step, at, .. } => self.cancel_step(step, *at),
            RunEvent::StepExpanded { step, at, items, count } => {
                self.expand(step, *at, items, *count);
            }
            RunEvent::StepGathered { step, at, failed } => {
                self.settle(step, *at, Settled::Gathered { failed: *failed });
            }
            RunEvent::StepTaken { step, at, state, result } => {
                self.take(step, *at, *state, result.as_ref());
            }
            RunEvent::StepAsked { step, at, pause } => self.ask(step, *at, pause),
            RunEvent::StepAskedAgain { step, at, pause, .. } => self.ask_again(step, *at, pause),
            RunEvent::StepAnswered { step, at, result, .. } => self.answered(step, *at, result),
            RunEvent::CallsCounted { step, attempt, calls } => {
                self.count_calls(step, *attempt, *calls);
            }
            RunEvent::AnswerPassed { step, at, answered, .. } => {
                self.answered_inside(step, *at, answered.as_ref());
            }
            RunEvent::StepCompleted { step, at, task, result, .. } => {
                self.note_task(step, task.as_ref());
                self.settle(step, *at, Settled::Completed(result.clone()));
            }
            RunEvent::StepComputed { step, at, result } => {
                self.settle(step, *at, Settled::Completed(result.clone()));
            }
            RunEvent::StepReused { step, at, result, from } => {
                self.reuse(step, *at, result, from);
            }
            RunEvent::StepFailed { step, at, result, error } => {
                self.leave_remote(step, error.attempt, *at, false);
                self.settle(step, *at, Settled::Failed(result.clone(), error.clone()));
            }
            // All others are not about one.
            _ => (),
        }
    }

    fn reuse(&mut self, step: &StepId, at: Timestamp, result: &Body, from: &Reuse) {
        if let Some(index) = self.find(step) {
            let found = &mut self.steps[index.position()];
            found.started_at.get_or_insert(at);
            found.agent.clone_from(&from.agent);
            found.candidate = from.candidate;
            found.reused = Some(Box::new(from.clone()));
        }
        self.settle(step, at, Settled::Completed(result.clone()));
    }

    fn start(&mut self, at: Timestamp, header: &Header) {
        self.header = Some(Box::new(header.clone()));
        self.begin(at);
    }

    fn queue(&mut self, at: Timestamp, header: &Header) {
        self.pass(at);
        self.header = Some(Box::new(header.clone()));
        self.queued_at = Some(at);
    }

    fn finish(&mut self, at: Timestamp, outcome: &Outcome) {
        self.pass(at);
        self.outcome = Some((at, outcome.clone()));
        self.effects.remove(Effect::Conclude);
        self.effects.remove(Effect::Deadline);
    }

    fn begin(&mut self, at: Timestamp) {
        self.pass(at);
        self.started_at = Some(at);
        self.effects.add(Effect::Deadline);
        self.begin_stages();
    }

    /// The only place where a step's phase changes: keeps slots, sets and effects in step with it.
    pub(super) fn set_phase(&mut self, at: StepIndex, phase: Phase) {
        self.work += 1;
        let step = &mut self.steps[at.position()];
        let had_slot = step.holds_slot();
        let before = step.phase.effects(at);
        let after = phase.effects(at);
        let is_ready = matches!(phase, Phase::Ready | Phase::Answered(..));
        let is_expanded = phase == Phase::Items;
        let was_paused = step.state() == StepState::Paused;
        let has_begun = step.attempts > 0 && !matches!(phase, Phase::Settled(_));
        step.phase = phase;
        let is_paused = step.state() == StepState::Paused;
        let is_between_attempts = step.is_between_attempts();
        let has_slot = step.holds_slot();
        self.slots_taken = self.slots_taken + usize::from(has_slot) - usize::from(had_slot);
        self.to_doubt.remove(&at);
        set_member(&mut self.active, at, has_slot || has_begun || is_paused);
        set_member(&mut self.ready, at, is_ready);
        set_member(&mut self.expanded, at, is_expanded);
        if was_paused != is_paused {
            self.note_pause(at, is_paused);
        }
        exchange(&mut self.effects, before, after);
        match is_between_attempts && self.shape_of(at).deadline.is_some() {
            true => self.effects.add(Effect::StepDeadline(at)),
            false => self.effects.remove(Effect::StepDeadline(at)),
        }
    }

    pub(super) fn pass(&mut self, at: Timestamp) {
        self.now = self.now.max(at);
    }

    pub(super) fn release_roots(&mut self) {
        for at in self.shape.indices() {
            let is_free = self.at(at).open == 0 && self.at(at).phase == Phase::Waiting;
            if is_free && self.has_begun(at) {
                self.set_phase(at, Phase::Ready);
            }
        }
    }

    /// No further step starts; what is in flight is told to stop. The first reason stays.
    pub(super) fn halt_for(&mut self, at: Timestamp, outcome: Outcome) {
        self.pass(at);
        if self.halt.is_some() {
            return;
        }
        self.halt = Some(outcome);
        self.effects.remove(Effect::Conclude);
        for active in self.active.clone() {
            self.halt_step(active, at);
        }
        self.halt_items(at);
    }

    /// The run as a whole has failed.
    fn fail(&mut self, at: Timestamp, error: RunError) {
        self.halt_for(at, Outcome::Failed(error));
    }

    pub(super) fn halt_step(&mut self, index: StepIndex, since: Timestamp) {
        let canceling = |flight, task| Phase::Canceling { flight, task, since };
        match self.at(index).phase.clone() {
            Phase::Sending(flight) => self.set_phase(index, canceling(flight, None)),
            Phase::Watching(flight, task)
            | Phase::Paused { flight, task: Some(task), .. }
            | Phase::Unknown { flight, task: Some(task), .. }
            | Phase::Answered(flight, task)
            | Phase::Answering(flight, task) => {
                self.set_phase(index, canceling(flight, Some(task)));
            }
            // Nothing is under way at an agent that has asked without a Task or cannot be called, and nobody knows what to cancel at one that
            // may have received a Message.
            Phase::Paused { task: None, .. } | Phase::Unknown { task: None, .. } => {
                self.end_step(index, since, Settled::Canceled);
            }
            Phase::BackingOff { .. } | Phase::Ready | Phase::Rendering
                if self.at(index).attempts > 0 =>
            {
                self.end_step(index, since, Settled::Canceled);
            }
            Phase::Asked { .. } => self.end_step(index, since, Settled::Canceled),
            Phase::Rendering => self.set_phase(index, Phase::Ready),
            Phase::Waiting
            | Phase::Ready
            | Phase::BackingOff { .. }
            | Phase::Items
            | Phase::Canceling { .. }
            | Phase::Settled(_) => (),
        }
    }

    fn timed_out(&self) -> RunError {
        let seconds = self.shape.timeout.as_secs_f64();
        RunError {
            step: None,
            error: StepError {
                step: String::new(),
                class: ErrorClass::Timeout,
                message: format!("the run did not finish within its timeout of {seconds} s"),
                attempt: 0,
            },
        }
    }
}

fn set_member(set: &mut std::collections::BTreeSet<StepIndex>, at: StepIndex, is_member: bool) {
    if is_member {
        set.insert(at);
    } else {
        set.remove(&at);
    }
}

fn exchange(effects: &mut Effects, before: [Option<Effect>; 2], after: [Option<Effect>; 2]) {
    for gone in before.iter().flatten() {
        if !after.contains(&Some(*gone)) {
            effects.remove(*gone);
        }
    }
    for new in after.iter().flatten() {
        effects.add(*new);
    }
}
