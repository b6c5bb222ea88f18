//! How a run looks from outside: the state of its Task, and of each step.

use planner::StepState;
use protocol::v1::TaskState;
use serde::{Deserialize, Serialize};

use super::{Outcome, Run, StepIndex};

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It goes on, or will when a driver picks it up.
    Working,
    /// It has its outputs.
    Completed,
    /// It failed.
    Failed,
    /// It was canceled.
    Canceled,
}

impl RunState {
    /// The state that an outcome leaves a run in.
    #[must_use]
    pub fn of(outcome: Option<&Outcome>) -> Self {
        match outcome {
            None => Self::Working,
            Some(Outcome::Completed(_)) => Self::Completed,
            Some(Outcome::Failed(_)) => Self::Failed,
            Some(Outcome::Canceled) => Self::Canceled,
        }
    }

    /// The word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

impl Run {
    /// The state of the Task that this run is the inside of.
    #[must_use]
    pub fn task_state(&self) -> TaskState {
        match (self.header(), self.outcome()) {
            (None, _) => TaskState::Submitted,
            (Some(_), None) => TaskState::Working,
            (Some(_), Some(Outcome::Completed(_))) => TaskState::Completed,
            (Some(_), Some(Outcome::Failed(_))) => TaskState::Failed,
            (Some(_), Some(Outcome::Canceled)) => TaskState::Canceled,
        }
    }

    /// The state of a step; one that a halted run never came to is canceled.
    #[must_use]
    pub fn step_state(&self, at: StepIndex) -> StepState {
        match self.at(at).state() {
            StepState::Waiting if self.halt().is_some() => StepState::Canceled,
            state => state,
        }
    }
}
