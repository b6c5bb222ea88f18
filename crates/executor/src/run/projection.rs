//! How a run looks from outside: the state of its Task, and of each step.

use planner::StepState;
use protocol::v1::TaskState;
use serde::{Deserialize, Serialize};

use super::{Outcome, PauseKind, Run, StepIndex};

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It waits for its turn.
    Submitted,
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
    /// It never was: nothing could be started.
    Rejected,
}

impl RunState {
    /// Where a run stands.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        match run.outcome() {
            None if run.is_queued() => Self::Submitted,
            None => match run.pause_kind() {
                None if run.is_relay() && is_before_work(run.reported()) => Self::Submitted,
                None => Self::Working,
                Some(PauseKind::Input | PauseKind::Outcome) => Self::InputRequired,
                Some(PauseKind::Auth) => Self::AuthRequired,
            },
            Some(Outcome::Completed(_)) => Self::Completed,
            Some(Outcome::Failed(_)) => match run.reported() {
                Some(TaskState::Rejected) => Self::Rejected,
                Some(TaskState::Canceled) => Self::Canceled,
                _ => Self::Failed,
            },
            Some(Outcome::Canceled) => Self::Canceled,
        }
    }

    /// The word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::AuthRequired => "auth_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
        }
    }

    /// The state of the Task that the run is the inside of.
    #[must_use]
    pub fn task_state(self) -> TaskState {
        match self {
            Self::Submitted => TaskState::Submitted,
            Self::Working => TaskState::Working,
            Self::InputRequired => TaskState::InputRequired,
            Self::AuthRequired => TaskState::AuthRequired,
            Self::Completed => TaskState::Completed,
            Self::Failed => TaskState::Failed,
            Self::Canceled => TaskState::Canceled,
            Self::Rejected => TaskState::Rejected,
        }
    }

    /// The run state that a Task in this state has; `None` for a state that no Task of ours is ever in.
    #[must_use]
    pub fn of_task(state: TaskState) -> Option<Self> {
        match state {
            TaskState::Submitted => Some(Self::Submitted),
            TaskState::Working => Some(Self::Working),
            TaskState::InputRequired => Some(Self::InputRequired),
            TaskState::AuthRequired => Some(Self::AuthRequired),
            TaskState::Completed => Some(Self::Completed),
            TaskState::Failed => Some(Self::Failed),
            TaskState::Canceled => Some(Self::Canceled),
            TaskState::Rejected => Some(Self::Rejected),
            TaskState::Unspecified => None,
        }
    }
}

/// Whether the agent of a relay has not said that it works.
fn is_before_work(reported: Option<TaskState>) -> bool {
    matches!(reported, None | Some(TaskState::Submitted))
}

impl Run {
    /// The state of the Task that this run is the inside of.
    #[must_use]
    pub fn task_state(&self) -> TaskState {
        if self.header().is_none() {
            return TaskState::Submitted;
        }
        RunState::of(self).task_state()
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
