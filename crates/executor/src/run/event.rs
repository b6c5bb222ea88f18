//! What happened in a run: past tense, persisted, the only thing that changes a run's durable state.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use planner::StepError;
use protocol::client::Interface;
use serde::{Deserialize, Serialize};
use store::BlobId;

use crate::body::Body;

/// A step's name as the workflow file has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub(crate) Arc<str>);

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One entry of a run's journal. Changing a variant means a new journal version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// The run exists. Everything it is pinned to is in the header.
    RunStarted {
        /// When.
        at: Timestamp,
        /// Plan, inputs and context.
        header: Box<Header>,
    },
    /// A driver picked the run up again.
    RunResumed {
        /// When.
        at: Timestamp,
    },
    /// The step will not run.
    StepSkipped {
        /// Which.
        step: StepId,
        /// When.
        at: Timestamp,
        /// Why.
        reason: SkipReason,
    },
    /// INTENT: this Message is about to be sent, perhaps more than once, always the same bytes.
    AttemptStarted {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// When; the attempt's timeout counts from here.
        at: Timestamp,
        /// What is sent to whom.
        intent: Arc<Intent>,
    },
    /// The agent refused our contextId; the Message goes out once more without it.
    ContextRefused {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// The same content under a new messageId and without a context.
        intent: Arc<Intent>,
    },
    /// BIND: the agent answered with a Task; from here the Message is never sent again.
    AttemptBound {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// Where to find it again.
        task: RemoteTask,
    },
    /// The agent asks for something. Names the Task, so that it is a BIND as well where none came before.
    AttemptPaused {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// When.
        at: Timestamp,
        /// Where the answer goes.
        task: RemoteTask,
        /// What it asks for.
        pause: Pause,
    },
    /// The agent went on by itself, as it may after AUTH_REQUIRED.
    AttemptUnpaused {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// When.
        at: Timestamp,
    },
    /// INTENT of an answer: this Message is about to be sent to the Task that asked.
    AttemptAnswered {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// When.
        at: Timestamp,
        /// How many answers the attempt has had with this one.
        turn: u32,
        /// What is sent.
        intent: Arc<Intent>,
    },
    /// The agent has the answer; it is never sent again.
    AnswerDelivered {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
    },
    /// The attempt did not succeed.
    AttemptFailed {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// When.
        at: Timestamp,
        /// Why.
        error: StepError,
        /// What follows.
        next: Next,
        /// Whether the remote Task is known to be over, so that nothing has to be canceled.
        remote_ended: bool,
    },
    /// SETTLE: the step has its result.
    StepCompleted {
        /// Which.
        step: StepId,
        /// The attempt that succeeded.
        attempt: u32,
        /// When.
        at: Timestamp,
        /// The Task that it came from; absent for a direct Message. An attempt that is answered at once is
        /// never bound, so this is where later references find it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<RemoteTask>,
        /// A [`planner::StepResult`].
        result: Body,
    },
    /// The step has failed for good without an attempt: its templates cannot be evaluated.
    StepFailed {
        /// Which.
        step: StepId,
        /// When.
        at: Timestamp,
        /// A [`planner::StepResult`] that holds the error.
        result: Body,
        /// The error, for the verdict.
        error: StepError,
    },
    /// Somebody asked for the end of the run.
    CancelRequested {
        /// When.
        at: Timestamp,
    },
    /// The run's own timeout has passed.
    RunTimedOut {
        /// When.
        at: Timestamp,
    },
    /// The remote end of an attempt that is no longer wanted was told so, or could not be told.
    AttemptCanceled {
        /// Which step.
        step: StepId,
        /// Counted from 1.
        attempt: u32,
        /// When.
        at: Timestamp,
        /// Whether the agent confirmed.
        confirmed: bool,
    },
    /// The verdict.
    RunFinished {
        /// When.
        at: Timestamp,
        /// How it ended.
        outcome: Outcome,
    },
}

impl RunEvent {
    /// The step that it is about; `None` for what concerns the run as a whole.
    #[must_use]
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::StepSkipped { step, .. }
            | Self::AttemptStarted { step, .. }
            | Self::ContextRefused { step, .. }
            | Self::AttemptBound { step, .. }
            | Self::AttemptPaused { step, .. }
            | Self::AttemptUnpaused { step, .. }
            | Self::AttemptAnswered { step, .. }
            | Self::AnswerDelivered { step, .. }
            | Self::AttemptFailed { step, .. }
            | Self::StepCompleted { step, .. }
            | Self::StepFailed { step, .. }
            | Self::AttemptCanceled { step, .. } => Some(step),
            Self::RunStarted { .. }
            | Self::RunResumed { .. }
            | Self::CancelRequested { .. }
            | Self::RunTimedOut { .. }
            | Self::RunFinished { .. } => None,
        }
    }

    /// The step that has its last word here: completed, failed for good, or skipped. Once in a run for each.
    pub(crate) fn settles(&self) -> Option<&StepId> {
        match self {
            Self::StepCompleted { step, .. }
            | Self::StepFailed { step, .. }
            | Self::StepSkipped { step, .. }
            | Self::AttemptFailed { step, next: Next::GiveUp { .. }, .. } => Some(step),
            _ => None,
        }
    }

    /// What it holds or names.
    fn bodies(&self) -> Vec<&Body> {
        match self {
            Self::RunStarted { header, .. } => vec![&header.plan, &header.inputs, &header.start],
            Self::AttemptStarted { intent, .. }
            | Self::ContextRefused { intent, .. }
            | Self::AttemptAnswered { intent, .. } => vec![&intent.message],
            Self::AttemptPaused { pause, .. } => pause.question.iter().collect(),
            Self::StepCompleted { result, .. }
            | Self::StepFailed { result, .. }
            | Self::AttemptFailed { next: Next::GiveUp { result }, .. } => vec![result],
            Self::RunFinished { outcome: Outcome::Completed(outputs), .. } => vec![outputs],
            Self::AttemptFailed { next: Next::Retry { .. }, .. }
            | Self::RunFinished { .. }
            | Self::RunResumed { .. }
            | Self::StepSkipped { .. }
            | Self::AttemptBound { .. }
            | Self::AttemptUnpaused { .. }
            | Self::AnswerDelivered { .. }
            | Self::CancelRequested { .. }
            | Self::RunTimedOut { .. }
            | Self::AttemptCanceled { .. } => Vec::new(),
        }
    }
}

/// Whether one of the events names a blob: only then may it be written.
pub(crate) fn name_blob(events: &[RunEvent], blob: &BlobId) -> bool {
    events
        .iter()
        .flat_map(RunEvent::bodies)
        .any(|body| matches!(body, Body::Blob(id) if id == blob))
}

/// What follows a failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Another attempt.
    Retry {
        /// When it may start.
        at: Timestamp,
    },
    /// The step has failed for good.
    GiveUp {
        /// A [`planner::StepResult`] that holds the error.
        result: Body,
    },
}

/// What a run is pinned to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the workflow.
    pub workflow: String,
    /// The one contextId that every agent is offered.
    pub context_id: String,
    /// A [`planner::Plan`].
    pub plan: Body,
    /// The checked inputs: a JSON object.
    pub inputs: Body,
    /// Parts of the Message that started the run: a JSON array.
    pub start: Body,
}

/// An outgoing Message, fixed before it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Derived from run, step, attempt and purpose; the same on a re-send.
    pub message_id: String,
    /// Name of the agent.
    pub agent: String,
    /// Where it is sent.
    pub interface: Interface,
    /// Whether the Message is sent as a stream.
    pub streaming: bool,
    /// The Message as ProtoJSON.
    pub message: Body,
}

/// A Task on the agent's side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteTask {
    /// Its id there.
    pub task_id: String,
    /// The context that the agent put it in; may differ from the one offered.
    pub context_id: String,
}

/// What an agent waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// An answer, or authorization.
    pub kind: PauseKind,
    /// The messageId of its question: how the same question is told from a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The agent's Message as ProtoJSON; absent when it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Body>,
}

impl Pause {
    /// What the agent says, as text; `None` when it says nothing or too much to stand in the journal itself.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let Body::Inline(json) = self.question.as_ref()? else {
            return None;
        };
        let message: protocol::v1::Message = json.read().ok()?;
        Some(message.text()).filter(|text| !text.is_empty())
    }
}

/// The two interrupted states of A2A (§4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    /// INPUT_REQUIRED: nothing happens until somebody answers.
    Input,
    /// AUTH_REQUIRED: somebody has to authorize the agent elsewhere; it may go on without a word to us.
    Auth,
}

/// Why a step does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its `when` is false.
    When {
        /// The condition as written.
        condition: String,
    },
    /// A dependency failed with `on_error: skip_dependents`, or was skipped for such a one.
    DependencyFailed {
        /// The direct dependency.
        step: StepId,
    },
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::When { condition } => write!(f, "`when: {condition}` is false"),
            Self::DependencyFailed { step } => {
                write!(f, "`{step}` did not complete and skips its dependents")
            }
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step settled, none failed in a way that fails the run. Holds the outputs: a JSON array of
    /// A2A Artifacts.
    Completed(Body),
    /// A step failed, or the run's timeout passed.
    Failed(RunError),
    /// Canceled on request.
    Canceled,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunError {
    /// The step that failed; absent when it is the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// What went wrong there.
    pub error: StepError,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, error } = self;
        match step {
            Some(step) if error.attempt > 0 => {
                write!(f, "step `{step}` failed (attempt {}): {}", error.attempt, error.message)
            }
            Some(step) => write!(f, "step `{step}` failed: {}", error.message),
            None => f.write_str(&error.message),
        }
    }
}
