//! Steps that wait for whoever their run is for, and what a Message of theirs is to them.

use jiff::Timestamp;

use super::Driver;
use crate::{
    answer::ReplyError,
    report::Report,
    run::{Input, Phase, StepIndex},
};

impl Driver {
    /// Steps of this run itself that wait for its caller.
    pub(super) fn awaiting_caller(&self) -> Vec<StepIndex> {
        let paused = self.run.pauses().filter_map(|(step, _)| self.run.find(step));
        paused.filter(|at| self.unpaused(*at).is_some()).collect()
    }

    /// What a Message is to a step that waits for its caller: no answer to the agent, but the caller is back. `None` for any
    /// other step.
    pub(super) fn back(&self, at: StepIndex) -> Option<Result<Report, ReplyError>> {
        let report = self.unpaused(at)?;
        Some(if self.caller.is_away() { Err(ReplyError::CallerAway) } else { Ok(report) })
    }

    /// Lets these steps go on together, once their caller is back: whoever looks at the run then sees none that waits.
    pub(super) fn let_go_on(&mut self, awaiting: &[StepIndex]) {
        for at in awaiting {
            if let Some(Ok(report)) = self.back(*at) {
                self.take(report);
            }
        }
    }

    fn unpaused(&self, at: StepIndex) -> Option<Report> {
        match &self.run.at(at).phase {
            Phase::Paused { flight, pause, .. } if pause.awaits_caller => {
                let (step, attempt) = (self.run.at(at).id.clone(), flight.attempt);
                Some(Report::of(Input::Unpaused { step, attempt, at: Timestamp::now() }))
            }
            _ => None,
        }
    }
}
