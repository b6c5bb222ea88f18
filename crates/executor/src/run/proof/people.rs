//! People of the world: they answer, or never do.

use jiff::Timestamp;
use planner::ErrorClass;

use super::{
    StepId, StepIndex,
    character::{Fate, Scenario},
    facts::{asked, body, error, intent, paused_inside, succeeded, task},
    world::{Dice, World},
};
use crate::run::{Input, Phase, Reply, Resolution, Run};

impl World {
    /// Whoever ends the run as a whole.
    pub(super) fn interference(&self, run: &Run, fed: usize) -> Option<Input> {
        let is_due = |after: usize| run.halt().is_none() && fed >= after;
        let at = Timestamp::UNIX_EPOCH;
        match self.scenario {
            Scenario::CanceledAfter(n) if is_due(n) => Some(Input::CancelRequested { at }),
            // The time of a run counts from its start.
            Scenario::TimesOutAfter(n) if is_due(n) && !run.is_queued() => {
                Some(Input::TimedOut { at })
            }
            _ => None,
        }
    }

    /// Somebody answers the first step that asks.
    pub(super) fn answer(&self, run: &Run, step: &StepId, dice: &mut Dice, at: Timestamp) -> Input {
        if let Some((outer, _)) = step.as_str().split_once('/') {
            let step = StepId::new(outer);
            return passed_down(run, step, at, dice.roll(2) == 0);
        }
        let index = run.find(step).expect("a step of this run");
        let fate = self.fate_at(run, index);
        let is_in_vain = matches!(fate, Fate::AsksInVain | Fate::AsksPersonInVain);
        if is_in_vain && run.pause_expires(index).is_some() {
            return self.expire(run, index, at);
        }
        if let Phase::Asked { turn, .. } = run.at(index).phase {
            let reply = match fate {
                Fate::AsksPerson(misfits) if turn < misfits => {
                    Reply::Misfits { pause: asked("again") }
                }
                _ => Reply::Fits { result: body("answer") },
            };
            return Input::Replied { step: step.clone(), at, said: None, reply };
        }
        let flight = run.at(index).flight().expect("a paused step has its attempt");
        if let Phase::Unknown { .. } = run.at(index).phase {
            // To say that it failed would make another end of it.
            let resolution = Box::new(match dice.roll(2) {
                0 => Resolution::Resend,
                _ => Resolution::Bound(task(step, flight.attempt)),
            });
            let (step, attempt) = (step.clone(), flight.attempt);
            return Input::Resolved { step, attempt, at, resolution, said: None };
        }
        let (attempt, turn) = (flight.attempt, flight.turn + 1);
        let intent = intent(index, attempt, &format!("answer-{turn}"));
        Input::Answered { step: step.clone(), attempt, at, turn, intent, said: None }
    }

    /// A timer of a pause, which is too early unless nobody is going to answer.
    pub(super) fn expire(&self, run: &Run, index: StepIndex, at: Timestamp) -> Input {
        let is_in_vain =
            matches!(self.fate_at(run, index), Fate::AsksInVain | Fate::AsksPersonInVain);
        let at = run.pause_expires(index).filter(|_| is_in_vain).unwrap_or(at);
        let (step, error) = (run.at(index).id.clone(), error(ErrorClass::Timeout, 0));
        Input::Expired { step, at, error, result: body("nobody answered") }
    }
}

/// A sub-run has taken the answer to all that it asks, or asks anew.
fn passed_down(run: &Run, step: StepId, at: Timestamp, is_taken: bool) -> Input {
    let found = run.find(&step).map(|index| run.at(index)).expect("a step of this run");
    let within = found.phase.pause().and_then(|pause| pause.within.as_ref());
    let asked = within.and_then(|within| within.pauses.first());
    let answered = asked.filter(|_| is_taken).cloned().map(Box::new);
    Input::PassedDown { attempt: found.attempts, step, at, answered, said: Some(body("answer")) }
}

/// What comes of a sub-run.
pub(super) fn inside(step: StepId, attempt: u32, at: Timestamp, is_paused: bool) -> Input {
    match (at.as_millisecond() % 4, is_paused) {
        (0, false) => paused_inside(step, attempt, at),
        (0, true) => {
            let said = Some(body("answer"));
            Input::PassedDown { step, attempt, at, answered: None, said }
        }
        (1, _) => Input::Counted { step, attempt, calls: 2 },
        (_, true) => Input::Unpaused { step, attempt, at },
        (_, false) => succeeded(step, attempt, at),
    }
}
