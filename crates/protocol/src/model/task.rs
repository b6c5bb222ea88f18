//! Tasks, their states and what is reported of them.

use crate::v1::{Message, Task, TaskState, TaskStatus, TaskStatusUpdateEvent};
use crate::wkt::Timestamp;

impl TaskState {
    /// Whether a Task in this state never changes again.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Unspecified
            | Self::Submitted
            | Self::Working
            | Self::InputRequired
            | Self::AuthRequired => false,
        }
    }

    /// Whether a Task in this state waits for its client.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Returns the state as people read it: `input required`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::InputRequired => "input required",
            Self::Rejected => "rejected",
            Self::AuthRequired => "authorization required",
        }
    }
}

impl TaskStatus {
    /// Creates a status entered at a time.
    pub fn new(state: TaskState, since: impl Into<Timestamp>) -> Self {
        Self { state: state.into(), message: None, timestamp: Some(since.into()) }
    }

    /// Sets what the agent says about the status.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.message = Some(message);
        self
    }

    /// Returns the text of what the agent says, if it says anything.
    pub fn text(&self) -> Option<String> {
        let text = self.message.as_ref()?.text();
        (!text.is_empty()).then_some(text)
    }
}

impl Task {
    /// Creates a Task without history or artifacts.
    pub fn new(id: impl Into<String>, context_id: impl Into<String>, status: TaskStatus) -> Self {
        Self {
            id: id.into(),
            context_id: context_id.into(),
            status: Some(status),
            ..Self::default()
        }
    }

    /// Returns where it stands; `Unspecified` without a status, or in a state
    /// that A2A 1.0 does not have.
    pub fn state(&self) -> TaskState {
        self.status.as_ref().map_or(TaskState::Unspecified, TaskStatus::state)
    }

    /// Returns the text of its status message, if there is any.
    pub fn status_text(&self) -> Option<String> {
        self.status.as_ref()?.text()
    }
}

impl TaskStatusUpdateEvent {
    /// Returns the new state; `Unspecified` as in [`Task::state`].
    pub fn state(&self) -> TaskState {
        self.status.as_ref().map_or(TaskState::Unspecified, TaskStatus::state)
    }
}
