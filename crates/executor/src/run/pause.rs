//! Pauses: an agent that asks, the answer on its way, and the clocks that stand still meanwhile.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    Effect, Intent, Pause, PauseKind, Phase, Refusal, RemoteTask, Run, RunEvent, StepId, StepIndex,
};
use crate::body::Body;

/// The run's own clock, which stands still while a step is paused.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    stopped_at: Option<Timestamp>,
    stood_still: SignedDuration,
}

impl Clock {
    /// How long it has stood still in all pauses that are over.
    pub(super) fn stood_still(&self) -> SignedDuration {
        self.stood_still
    }
}

impl Run {
    /// Steps that wait for somebody, in plan order, with what each asks for.
    pub fn pauses(&self) -> impl Iterator<Item = (&StepId, &Pause)> {
        self.paused.iter().flat_map(|at| {
            let step = self.at(*at);
            let pause = step.phase.pause();
            pause.into_iter().flat_map(|pause| pause.open(&step.id))
        })
    }

    /// Whether a sub-run that waits for somebody goes on elsewhere.
    pub(super) fn goes_on_inside(&self) -> bool {
        let mut pauses = self.paused.iter().filter_map(|at| self.at(*at).phase.pause());
        pauses.any(|pause| pause.within.as_ref().is_some_and(|within| within.goes_on))
    }

    /// An answer that a sub-run has taken is kept for the history of the Task. What it answers waits no more, unless
    /// the sub-run has asked anew meanwhile.
    pub(super) fn decide_passed_down(
        &self,
        step: StepId,
        attempt: u32,
        at: Timestamp,
        answered: Option<&(StepId, Pause)>,
        said: Option<Body>,
    ) -> Option<RunEvent> {
        let found = self.at(self.find(&step)?);
        let is_inside = found.flight().is_some_and(|flight| flight.intent.is_sub_run);
        let within = found.phase.pause().and_then(|pause| pause.within.as_ref());
        let answered = answered
            .filter(|answered| within.is_some_and(|within| within.pauses.contains(answered)))
            .map(|(address, _)| address.clone());
        let is_taken = answered.is_some() || said.is_some();
        (is_inside && is_taken && found.is_current(attempt)).then_some(RunEvent::AnswerPassed {
            step,
            attempt,
            at,
            answered,
            said,
        })
    }

    /// Takes away what waits no more inside of a sub-run.
    pub(super) fn answered_inside(
        &mut self,
        step: &StepId,
        at: Timestamp,
        answered: Option<&StepId>,
    ) {
        self.pass(at);
        let (Some(index), Some(answered)) = (self.find(step), answered) else { return };
        let Phase::Paused { flight, task, mut pause, since } = self.at(index).phase.clone() else {
            return;
        };
        let Some(within) = &mut pause.within else { return };
        let is_answered = |address: &StepId| address == answered;
        // One Message brings back the caller of all that wait for them.
        let is_back = within.pauses.iter().any(|(at, it)| is_answered(at) && it.awaits_caller);
        let goes_on = |at: &StepId, it: &Pause| is_answered(at) || (is_back && it.awaits_caller);
        within.pauses.retain(|(at, it)| !goes_on(at, it));
        within.goes_on = true;
        if within.pauses.is_empty() {
            return self.unpause(step, at);
        }
        self.set_phase(index, Phase::Paused { flight, task, pause, since });
    }

    /// Has a sub-run followed anew, from what is known of it now.
    pub(crate) fn look_again(&mut self, at: StepIndex) {
        self.effects.renew(Effect::Watch(at, self.at(at).attempts));
    }

    /// Whether somebody has to do something, and whether all of it is authorization elsewhere.
    #[must_use]
    pub fn pause_kind(&self) -> Option<PauseKind> {
        let mut kinds = self.pauses().map(|(_, pause)| pause.kind);
        let first = kinds.next()?;
        let is_all_auth = first == PauseKind::Auth && kinds.all(|kind| kind == PauseKind::Auth);
        Some(if is_all_auth { PauseKind::Auth } else { PauseKind::Input })
    }

    pub(super) fn decide_paused(
        &self,
        step: StepId,
        attempt: u32,
        at: Timestamp,
        task: Option<RemoteTask>,
        pause: Pause,
    ) -> Option<RunEvent> {
        let found = self.at(self.find(&step)?);
        let known = match &found.phase {
            Phase::Watching(_, task) | Phase::Paused { task: Some(task), .. } => Some(task),
            _ => None,
        };
        // Whoever sent the Message, and then lost the caller, may not say which Task it has become: it waits for that.
        let task = task.or_else(|| known.filter(|_| pause.awaits_caller).cloned());
        let is_news = match &found.phase {
            Phase::Sending(_) => true,
            // It is the Task that asks, once there is one.
            Phase::Watching(..) => task.is_some(),
            // Nobody will answer, but now the Task is known that has to be canceled, or that there is none.
            Phase::Canceling { task: None, .. } if found.is_current(attempt) => {
                return Some(match task {
                    Some(task) => RunEvent::AttemptBound { step, attempt, task },
                    None => RunEvent::AttemptCanceled { step, attempt, at, confirmed: true },
                });
            }
            Phase::Paused { pause: before, .. } => {
                *before != pause && (task.is_some() || known.is_none())
            }
            _ => false,
        };
        (found.is_current(attempt) && is_news).then_some(RunEvent::AttemptPaused {
            step,
            attempt,
            at,
            task,
            pause,
        })
    }

    pub(super) fn decide_unpaused(
        &self,
        step: StepId,
        attempt: u32,
        at: Timestamp,
    ) -> Option<RunEvent> {
        let found = self.at(self.find(&step)?);
        let is_paused = match &found.phase {
            Phase::Paused { task, pause, .. } => task.is_some() || pause.awaits_caller,
            _ => false,
        };
        (found.is_current(attempt) && is_paused).then_some(RunEvent::AttemptUnpaused {
            step,
            attempt,
            at,
        })
    }

    pub(super) fn decide_answered(
        &self,
        step: StepId,
        attempt: u32,
        at: Timestamp,
        turn: u32,
        intent: Arc<Intent>,
        said: Option<Body>,
    ) -> Option<RunEvent> {
        let found = self.at(self.find(&step)?);
        let is_asked = match &found.phase {
            Phase::Paused { flight, pause, .. } => {
                !pause.awaits_caller && flight.attempt == attempt && flight.turn + 1 == turn
            }
            _ => false,
        };
        if is_asked && self.is_spent() {
            return Some(RunEvent::BudgetSpent { at, step });
        }
        is_asked.then_some(RunEvent::AttemptAnswered { step, attempt, at, turn, intent, said })
    }

    pub(super) fn decide_delivered(
        &self,
        step: StepId,
        attempt: u32,
        turn: u32,
    ) -> Option<RunEvent> {
        self.is_being_answered(&step, attempt, turn)
            .then_some(RunEvent::AnswerDelivered { step, attempt })
    }

    pub(super) fn decide_answer_refused(
        &self,
        step: StepId,
        attempt: u32,
        at: Timestamp,
        turn: u32,
        refusal: Box<Refusal>,
    ) -> Option<RunEvent> {
        self.is_being_answered(&step, attempt, turn).then_some(RunEvent::AnswerRefused {
            step,
            attempt,
            at,
            refusal,
        })
    }

    fn is_being_answered(&self, step: &StepId, attempt: u32, turn: u32) -> bool {
        let phase = self.find(step).map(|at| &self.at(at).phase);
        match phase {
            Some(Phase::Answered(flight, _) | Phase::Answering(flight, _)) => {
                flight.attempt == attempt && flight.turn == turn
            }
            _ => false,
        }
    }

    pub(super) fn pause(
        &mut self,
        step: &StepId,
        since: Timestamp,
        task: Option<&RemoteTask>,
        pause: &Pause,
    ) {
        self.pass(since);
        let Some(index) = self.find(step) else {
            return;
        };
        let Some(mut flight) = self.at(index).flight().cloned() else {
            return;
        };
        // One question in place of another.
        flight.paused += self.end_pause(index, since);
        self.note_task(step, task);
        let attempt = flight.attempt;
        let (task, pause) = (task.cloned(), pause.clone());
        self.set_phase(index, Phase::Paused { flight, task, pause, since });
        // Whoever watched before the pause had a deadline; whoever watches a pause has none.
        self.effects.renew(Effect::Watch(index, attempt));
    }

    /// How long a step has been paused that is paused no more, or asks something else.
    pub(super) fn end_pause(&mut self, index: StepIndex, at: Timestamp) -> SignedDuration {
        match self.at(index).phase {
            Phase::Paused { since, .. } | Phase::Unknown { since, .. } => {
                self.stand_still(index, since, at)
            }
            _ => SignedDuration::ZERO,
        }
    }

    pub(super) fn unpause(&mut self, step: &StepId, at: Timestamp) {
        self.pass(at);
        if let Some(index) = self.find(step)
            && let Phase::Paused { mut flight, task, since, .. } = self.at(index).phase.clone()
        {
            flight.paused += self.stand_still(index, since, at);
            let attempt = flight.attempt;
            match task {
                Some(task) => self.set_phase(index, Phase::Watching(flight, task)),
                None => self.set_phase(index, Phase::Sending(flight)),
            }
            self.effects.renew(Effect::Watch(index, attempt));
        }
    }

    pub(super) fn answer(&mut self, step: &StepId, at: Timestamp, turn: u32, intent: &Arc<Intent>) {
        self.pass(at);
        if let Some(index) = self.find(step)
            && let Phase::Paused { mut flight, task, since, pause } = self.at(index).phase.clone()
        {
            self.calls += 1;
            flight.paused += self.stand_still(index, since, at);
            flight.asked = Some(pause);
            flight.turn = turn;
            flight.intent = Arc::clone(intent);
            // Where no Task waits, the answer is what the attempt sends now, and as an agent that goes on by itself it
            // asks nobody for a slot.
            let phase = match task {
                Some(task) => Phase::Answered(flight, task),
                None => Phase::Sending(flight),
            };
            self.set_phase(index, phase);
        }
    }

    pub(super) fn delivered(&mut self, step: &StepId) {
        if let Some(index) = self.find(step)
            && let Phase::Answered(flight, task) | Phase::Answering(flight, task) =
                self.at(index).phase.clone()
        {
            self.set_phase(index, Phase::Watching(flight, task));
        }
    }

    /// The question stands as it stood before the answer.
    pub(super) fn reopen(&mut self, step: &StepId, since: Timestamp) {
        self.pass(since);
        if let Some(index) = self.find(step)
            && let Phase::Answered(mut flight, task) | Phase::Answering(mut flight, task) =
                self.at(index).phase.clone()
            && let Some(pause) = flight.asked.take()
        {
            let task = Some(task);
            self.set_phase(index, Phase::Paused { flight, task, pause, since });
        }
    }

    /// Keeps the set of paused steps, and stops the run's clock while it is not empty.
    pub(super) fn note_pause(&mut self, at: StepIndex, is_paused: bool) {
        let was_paused = !self.paused.is_empty();
        if is_paused {
            self.paused.insert(at);
        } else {
            self.paused.remove(&at);
        }
        match (was_paused, self.paused.is_empty()) {
            (false, false) => {
                self.clock.stopped_at = Some(self.now);
                self.effects.remove(Effect::Deadline);
            }
            (true, true) => {
                let since = self.clock.stopped_at.take().unwrap_or(self.now);
                self.clock.stood_still += self.now.duration_since(since).max(SignedDuration::ZERO);
                if self.outcome.is_none() {
                    self.effects.add(Effect::Deadline);
                }
            }
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::run::{
        Input, Phase,
        proof::{paused_run, seconds},
    };

    #[test]
    fn clocks_stand_still_while_a_step_is_paused() {
        let mut run: Run = paused_run(seconds(10));
        let (step, _) = run.pauses().next().expect("a paused step");
        let (step, at) = (step.clone(), StepIndex(0));
        let before = run.deadline().expect("a started run");
        assert!(!run.wanted().contains(Effect::Deadline), "nothing times out while it waits");
        let flight = run.at(at).flight().expect("an attempt").clone();
        let timeout = run.limit(at, &flight).at;
        let intent = Arc::clone(&flight.intent);
        let now = seconds(100);
        let at_once = Input::Answered { step, attempt: 1, at: now, turn: 1, intent, said: None };
        assert_eq!(run.step(at_once).len(), 1);
        let Phase::Answering(flight, _) = run.at(at).phase.clone() else {
            panic!("a free slot takes the answer: {:?}", run.at(at).phase);
        };
        let pause = SignedDuration::from_secs(90);
        assert_eq!(run.limit(at, &flight).at.duration_since(timeout), pause);
        assert_eq!(run.deadline().expect("still").duration_since(before), pause);
        assert!(run.wanted().contains(Effect::Deadline));
    }

    #[test]
    fn a_step_that_lost_its_caller_keeps_its_task_whoever_says_so() {
        let mut run: Run = paused_run(seconds(10));
        let (step, asked) = run.pauses().next().expect("a paused step");
        let (step, at) = (step.clone(), seconds(20));
        let pause = Pause { kind: PauseKind::Auth, awaits_caller: true, ..asked.clone() };
        let withheld = Input::Paused { step: step.clone(), attempt: 1, at, task: None, pause };
        assert_eq!(run.step(withheld).len(), 1);
        assert_eq!(run.step(Input::Unpaused { step, attempt: 1, at }).len(), 1);
        let phase = &run.at(StepIndex(0)).phase;
        assert!(matches!(phase, Phase::Watching(..)), "it is not sent again: {phase:?}");
    }

    #[test]
    fn an_agent_with_a_task_does_not_ask_without_it() {
        let mut run: Run = paused_run(seconds(10));
        let (step, asked) = run.pauses().next().expect("a paused step");
        let pause = Pause { mismatch: Some("no data".to_owned()), ..asked.clone() };
        let (step, at) = (step.clone(), seconds(20));
        let late = Input::Paused { step, attempt: 1, at, task: None, pause };
        assert_eq!(run.step(late), []);
    }
}
