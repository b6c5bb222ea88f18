//! How many Messages a run and its sub-runs have sent, and whether there may be one more.

use planner::{ErrorClass, StepError};

use super::{Run, RunError, RunEvent, StepId};

impl Run {
    /// Whether no Message may be sent any more.
    pub(super) fn is_spent(&self) -> bool {
        self.calls >= self.shape.budget || self.spare == 0
    }

    /// A sub-run has ended: what it has sent is counted once.
    pub(super) fn decide_counted(
        &self,
        step: StepId,
        attempt: u32,
        calls: u64,
    ) -> Option<RunEvent> {
        let index = self.find(&step)?;
        let is_known = attempt <= self.at(index).attempts;
        let is_news = is_known && !self.counted.contains(&(index, attempt));
        is_news.then_some(RunEvent::CallsCounted { step, attempt, calls })
    }

    pub(super) fn count_calls(&mut self, step: &StepId, attempt: u32, calls: u64) {
        if let Some(index) = self.find(step)
            && self.counted.insert((index, attempt))
        {
            self.calls = self.calls.saturating_add(calls);
        }
    }

    pub(super) fn overspent(&self, step: &StepId) -> RunError {
        let calls = self.shape.budget;
        let made = match self.calls >= calls {
            true => format!("the run has made the {calls} calls of its budget"),
            // Nobody knows later how many the others had made.
            false => {
                "this run and those that it is inside of have made the calls of a budget".to_owned()
            }
        };
        RunError {
            step: None,
            error: StepError {
                step: String::new(),
                class: ErrorClass::Invalid,
                message: format!(
                    "{made}, and step `{step}` needs one more: raise `budget.calls`, or have fewer attempts"
                ),
                attempt: 0,
            },
        }
    }
}
