//! Which event an input causes, and what follows from it at once.

use jiff::Timestamp;
use planner::StepError;

use super::{
    Effect, Input, Outcome, Phase, Rendered, Run, RunError, RunEvent, SkipReason, StepId, StepIndex,
};
use crate::body::Body;

impl Run {
    /// The one event that an input causes; `None` for what is stale, repeated or changes nothing.
    pub(super) fn decide(&mut self, input: Input) -> Option<RunEvent> {
        match input {
            Input::Bound { step, attempt, task } => self
                .is_unbound(&step, attempt)
                .then_some(RunEvent::AttemptBound { step, attempt, task }),
            Input::Chunked { step, attempt, chunk } => self
                .is_followed(&step, attempt)
                .then_some(RunEvent::ArtifactChunked { step, attempt, chunk }),
            Input::Reported { step, attempt, at, state, status } => self
                .is_followed(&step, attempt)
                .then_some(RunEvent::AttemptReported { step, attempt, at, state, status }),
            Input::Paused { step, attempt, at, task, pause } => {
                self.decide_paused(step, attempt, at, task, pause)
            }
            Input::Unpaused { step, attempt, at } => self.decide_unpaused(step, attempt, at),
            Input::Answered { step, attempt, at, turn, intent, said } => {
                self.decide_answered(step, attempt, at, turn, intent, said)
            }
            Input::Resolved { step, attempt, at, resolution, said } => {
                self.decide_resolved(step, attempt, at, *resolution, said)
            }
            Input::Delivered { step, attempt, turn } => self.decide_delivered(step, attempt, turn),
            Input::AnswerRefused { step, attempt, at, turn, refusal } => {
                self.decide_answer_refused(step, attempt, at, turn, refusal)
            }
            Input::ContextRefused { step, attempt, intent } => {
                let other = |step| RunEvent::ContextRefused { step, attempt, intent };
                self.decide_refused(step, attempt, other)
            }
            Input::CallbackRefused { step, attempt, intent } => {
                let other = |step| RunEvent::CallbackRefused { step, attempt, intent };
                self.decide_refused(step, attempt, other)
            }
            Input::Succeeded { .. } | Input::RoundEnded { .. } => self.decide_answer(input),
            Input::Failed { step, attempt, at, failure } => {
                self.decide_failed(step, attempt, at, *failure)
            }
            Input::Woken { step, attempt } => self.wake(&step, attempt),
            Input::CancelSettled { step, attempt, at, confirmed } => self
                .is_being_canceled(&step, attempt)
                .then_some(RunEvent::AttemptCanceled { step, attempt, at, confirmed }),
            Input::Counted { .. }
            | Input::PassedDown { .. }
            | Input::Rendered { .. }
            | Input::Replied { .. }
            | Input::Expired { .. }
            | Input::Overdue { .. } => self.decide_of_step(input),
            Input::Start { .. }
            | Input::Queue { .. }
            | Input::Admitted { .. }
            | Input::Resumed { .. }
            | Input::Concluded { .. }
            | Input::CancelRequested { .. }
            | Input::TimedOut { .. } => self.decide_of_run(input),
        }
    }

    /// The same for what concerns a step without an agent, a sub-run, or none of a step's attempts.
    fn decide_of_step(&mut self, input: Input) -> Option<RunEvent> {
        match input {
            Input::Rendered { step, at, rendered } => self.decide_rendered(step, at, rendered),
            Input::Replied { step, at, said, reply } => self.decide_replied(step, at, said, reply),
            Input::Expired { step, at, error, result } => {
                self.decide_expired(step, at, error, result)
            }
            Input::Overdue { step, at, error, result } => {
                self.decide_overdue(step, at, error, result)
            }
            Input::Counted { step, attempt, calls } => self.decide_counted(step, attempt, calls),
            Input::PassedDown { step, attempt, at, answered, said } => {
                self.decide_passed_down(step, attempt, at, answered.as_deref(), said)
            }
            _ => None,
        }
    }

    /// The same for what concerns the run as a whole.
    fn decide_of_run(&self, input: Input) -> Option<RunEvent> {
        match input {
            Input::Start { at, header } => {
                self.header.is_none().then_some(RunEvent::RunStarted { at, header })
            }
            Input::Queue { at, header } => {
                self.header.is_none().then_some(RunEvent::RunQueued { at, header })
            }
            Input::Admitted { at } => {
                (self.is_queued() && self.halt.is_none()).then_some(RunEvent::RunAdmitted { at })
            }
            Input::Resumed { at } => self.header.as_ref().map(|_| RunEvent::RunResumed { at }),
            Input::Concluded { at, outputs } => self.decide_concluded(at, outputs),
            Input::CancelRequested { at } => {
                self.may_halt().then_some(RunEvent::CancelRequested { at })
            }
            Input::TimedOut { at } => (self.may_halt() && self.started_at.is_some())
                .then_some(RunEvent::RunTimedOut { at }),
            // It concerns a step.
            _ => None,
        }
    }

    /// Emits what the new state calls for without further input: skips, the verdict, and free slots.
    pub(super) fn follow_up(&mut self, events: &mut Vec<RunEvent>) {
        while let Some(event) = self.doubt_next() {
            self.record(event, events);
        }
        while self.halt.is_none()
            && let Some(event) = self.next_end()
        {
            self.record(event, events);
        }
        if let Some(outcome) = self.halted_verdict() {
            let at = self.now;
            self.record(RunEvent::RunFinished { at, outcome }, events);
        } else if self.is_ready_to_conclude() {
            self.effects.add(Effect::Conclude);
        } else {
            self.fill_slots();
        }
    }

    /// The next step that ends without any more input.
    fn next_end(&mut self) -> Option<RunEvent> {
        self.cancel_next().or_else(|| self.gather_next()).or_else(|| self.skip_next())
    }

    pub(super) fn record(&mut self, event: RunEvent, events: &mut Vec<RunEvent>) {
        self.apply(&event);
        events.push(event);
    }

    fn decide_rendered(&self, step: StepId, at: Timestamp, rendered: Rendered) -> Option<RunEvent> {
        let found = self.at(self.find(&step)?);
        if found.phase != Phase::Rendering {
            return None;
        }
        Some(match rendered {
            Rendered::Send(intent) if !intent.is_sub_run && self.is_spent() => {
                RunEvent::BudgetSpent { at, step }
            }
            Rendered::Send(intent) => {
                RunEvent::AttemptStarted { step, attempt: found.attempts + 1, at, intent }
            }
            Rendered::Skip { condition } => {
                RunEvent::StepSkipped { step, at, reason: SkipReason::When { condition } }
            }
            Rendered::Expand { items, count } => RunEvent::StepExpanded { step, at, items, count },
            Rendered::Ask { pause } => RunEvent::StepAsked { step, at, pause },
            Rendered::Computed { result } => RunEvent::StepComputed { step, at, result },
            Rendered::Reused { result, from } => RunEvent::StepReused { step, at, result, from },
            Rendered::Fail { error, result } => RunEvent::StepFailed { step, at, result, error },
        })
    }

    /// The agent has refused the Message for something that comes with it.
    fn decide_refused(
        &self,
        step: StepId,
        attempt: u32,
        other: impl FnOnce(StepId) -> RunEvent,
    ) -> Option<RunEvent> {
        if !self.is_unbound(&step, attempt) {
            return None;
        }
        let found = self.at(self.find(&step)?);
        Some(match found.phase {
            // Nothing was begun there, and nothing shall be.
            Phase::Canceling { .. } => {
                RunEvent::AttemptCanceled { step, attempt, at: self.now, confirmed: true }
            }
            _ => other(step),
        })
    }

    /// What an agent's answer comes to. Work that is no longer wanted is over with it: that is as good as a confirmed
    /// cancel.
    fn decide_answer(&self, input: Input) -> Option<RunEvent> {
        let (Input::Succeeded { step, attempt, at, .. }
        | Input::RoundEnded { step, attempt, at, .. }) = &input
        else {
            return None;
        };
        let found = self.at(self.find(step)?);
        if !found.is_current(*attempt) {
            return None;
        }
        if matches!(found.phase, Phase::Canceling { .. }) {
            let (step, attempt, at) = (step.clone(), *attempt, *at);
            return Some(RunEvent::AttemptCanceled { step, attempt, at, confirmed: true });
        }
        match input {
            Input::Succeeded { step, attempt, at, task, result } => {
                Some(RunEvent::StepCompleted { step, attempt, at, task, result })
            }
            Input::RoundEnded { step, attempt, at, task, result, next } => {
                let round = found.rounds() + 1;
                Some(RunEvent::RoundEnded { step, attempt, round, at, task, result, next })
            }
            _ => None,
        }
    }

    /// Waking is not journaled: a replay finds the pause over and wakes at once.
    fn wake(&mut self, step: &StepId, slept_after: u32) -> Option<RunEvent> {
        let index = self.find(step)?;
        if let Phase::BackingOff { attempt, .. } = self.at(index).phase
            && attempt == slept_after
        {
            self.set_phase(index, Phase::Ready);
        }
        None
    }

    fn is_unbound(&self, step: &StepId, attempt: u32) -> bool {
        self.find(step).is_some_and(|index| {
            let found = self.at(index);
            found.is_current(attempt)
                && matches!(found.phase, Phase::Sending(_) | Phase::Canceling { task: None, .. })
        })
    }

    /// Whether what comes of an attempt's Task is wanted: it is bound, and the run goes on.
    fn is_followed(&self, step: &StepId, attempt: u32) -> bool {
        self.find(step).is_some_and(|index| {
            let found = self.at(index);
            let is_bound = matches!(
                found.phase,
                Phase::Watching(..)
                    | Phase::Paused { task: Some(_), .. }
                    | Phase::Answered(..)
                    | Phase::Answering(..)
            );
            is_bound && found.is_current(attempt)
        })
    }

    fn is_being_canceled(&self, step: &StepId, attempt: u32) -> bool {
        self.find(step).is_some_and(|index| {
            let found = self.at(index);
            let halted = matches!(found.phase, Phase::Canceling { .. });
            (halted && found.is_current(attempt)) || self.orphans.contains_key(&(index, attempt))
        })
    }

    fn may_halt(&self) -> bool {
        self.header.is_some() && self.halt.is_none()
    }

    fn decide_concluded(
        &self,
        at: Timestamp,
        outputs: Result<Body, StepError>,
    ) -> Option<RunEvent> {
        let outcome = match outputs {
            Ok(outputs) => Outcome::Completed(outputs),
            Err(error) => Outcome::Failed(RunError { step: None, error }),
        };
        self.is_ready_to_conclude().then_some(RunEvent::RunFinished { at, outcome })
    }

    fn halted_verdict(&self) -> Option<Outcome> {
        let is_quiet = self.active.is_empty() && self.orphans.is_empty();
        self.halt.as_ref().filter(|_| is_quiet && self.outcome.is_none()).cloned()
    }

    pub(super) fn is_ready_to_conclude(&self) -> bool {
        self.header.is_some()
            && self.outcome.is_none()
            && self.halt.is_none()
            && self.unsettled == 0
            && self.orphans.is_empty()
    }

    fn fill_slots(&mut self) {
        while self.halt.is_none() && self.slots_taken < self.shape.parallel {
            let Some(next) = self.ready.first().copied() else {
                return;
            };
            let phase = match &self.at(next).phase {
                Phase::Answered(flight, task) => Phase::Answering(flight.clone(), task.clone()),
                _ => Phase::Rendering,
            };
            self.set_phase(next, phase);
        }
    }

    /// Steps in plan order whose messages have to be built before the next commit.
    pub fn to_render(&self) -> impl Iterator<Item = StepIndex> + '_ {
        self.effects.iter().map_while(|effect| match effect {
            Effect::Render(at) => Some(at),
            _ => None,
        })
    }
}
