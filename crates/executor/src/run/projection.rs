//! How a run looks from outside: the state of its Task, and of each step.

use planner::StepState;
use protocol::v1::TaskState;
use serde::{Deserialize, Serialize};

use super::{Outcome, PauseKind, Run, StepIndex};

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It goes on, or will when a driver picks it up.
    Working,
    /// A step waits for an answer.
    InputRequired,
    /// Every step that waits for somebody waits for authorization.
    AuthRequired,
    /// It has its outputs.
    Completed,
    /// It failed.
    Failed,
    /// It was canceled.
    Canceled,
}

impl RunState {
    /// Where a run stands.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        match run.outcome() {
            None => match run.pause_kind() {
                None => Self::Working,
                Some(PauseKind::Input) => Self::InputRequired,
                Some(PauseKind::Auth) => Self::AuthRequired,
            },
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
            Self::InputRequired => "input_required",
            Self::AuthRequired => "auth_required",
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
        if self.header().is_none() {
            return TaskState::Submitted;
        }
        match RunState::of(self) {
            RunState::Working => TaskState::Working,
            RunState::InputRequired => TaskState::InputRequired,
            RunState::AuthRequired => TaskState::AuthRequired,
            RunState::Completed => TaskState::Completed,
            RunState::Failed => TaskState::Failed,
            RunState::Canceled => TaskState::Canceled,
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
