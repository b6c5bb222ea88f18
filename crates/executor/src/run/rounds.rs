//! Rounds of `repeat`: an agent is asked again, about what it has answered.
//!
//! A round is as many attempts as it takes, and the next one begins as another attempt would: it waits for a slot, and
//! its Message is built then. What the driver makes of a round's answer is in the event that ends it.

use jiff::Timestamp;

use super::{NextRound, Phase, RemoteTask, Run, Settled, Step, StepId};
use crate::body::Body;

/// The round that a step has behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Counted from 1.
    pub number: u32,
    /// A [`planner::StepResult`].
    pub result: Body,
    /// The Task that it came from; `None` for a direct Message.
    pub task: Option<RemoteTask>,
}

impl Step {
    /// How many rounds it has behind it that were not good enough.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.round.as_ref().map_or(0, |round| round.number)
    }
}

impl Run {
    pub(super) fn end_round(
        &mut self,
        step: &StepId,
        at: Timestamp,
        round: Round,
        next: &NextRound,
    ) {
        self.pass(at);
        let Some(index) = self.find(step) else {
            return;
        };
        self.note_task(step, round.task.as_ref());
        let found = &mut self.steps[index.position()];
        found.attempts_before = found.attempts;
        found.round = Some(Box::new(round));
        match next {
            NextRound::Again => self.set_phase(index, Phase::Ready),
            NextRound::GiveUp { result, error } => {
                self.settle(step, at, Settled::Failed(result.clone(), error.clone()));
            }
        }
    }
}
