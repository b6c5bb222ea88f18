//! People of the world: they answer, or never do.

use jiff::Timestamp;
use planner::ErrorClass;

use super::{
    StepId, StepIndex,
    facts::{asked, body, error, intent},
    world::{Fate, World},
};
use crate::run::{Input, Phase, Reply, Run};

impl World {
    /// Somebody answers the first step that asks.
    pub(super) fn answer(&self, run: &Run, step: &StepId, at: Timestamp) -> Input {
        let index = run.find(step).expect("a step of this run");
        let fate = self.fate_at(run, index);
        if matches!(fate, Fate::AsksInVain | Fate::AsksPersonInVain) {
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
