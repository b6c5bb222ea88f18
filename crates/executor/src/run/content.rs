//! What the events of a run hold. Persisted with them: a change here means a new journal version.

use std::fmt;

use jiff::Timestamp;
use planner::StepError;
use protocol::client::Interface;
use serde::{Deserialize, Serialize};

use super::StepId;
use crate::{RunId, body::Body, callback::Callback};

/// What follows a failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Another attempt.
    Retry {
        /// When it may start.
        at: Timestamp,
    },
    /// Another agent is tried.
    FallBack {
        /// Which of the step's fallbacks, counted from 1.
        to: u32,
    },
    /// The step has failed for good.
    GiveUp {
        /// A [`planner::StepResult`] that holds the error.
        result: Body,
    },
}

/// What somebody has said is to be done about a Message of which nobody knows whether its agent has received it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    /// It is sent once more.
    Resend,
    /// The attempt has failed.
    Failed {
        /// As what.
        error: StepError,
        /// What follows.
        next: Next,
    },
    /// The agent has made this Task of it.
    Bound {
        /// Where to find it.
        task: RemoteTask,
    },
}

/// What follows a round that was not good enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextRound {
    /// Another round.
    Again,
    /// The step has failed for good: there are no more.
    GiveUp {
        /// A [`planner::StepResult`] that holds the error, and what the last round yielded.
        result: Body,
        /// Why.
        error: StepError,
    },
}

/// One exchange about a run that has not started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningTurn {
    /// The context that the Task belongs to.
    pub context_id: String,
    /// The workflow meant, once that is clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Media types that the client takes; empty when it said nothing about that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// The client's Message as ProtoJSON.
    pub message: Body,
    /// Our own: a question, or why nothing will come of it.
    pub answer: Body,
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
    /// The Message that started the run, as ProtoJSON; absent when a person here did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Body>,
    /// Its messageId, which every agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Media types that outputs may have, as the client wrote them; empty takes any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// Protocol extensions that the client of a relay asks for, as URIs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Whether it is a relay: one step, whose agent's Task is shown as it is.
    #[serde(default, skip_serializing_if = "is_false")]
    pub relay: bool,
    /// What it is counted by among the runs of its workflow; absent where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether whoever started it brought a token that may be exchanged for those of agents. The token is not kept.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_token: bool,
    /// The time of the schedule that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    /// The run that it is a part of; absent for one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<Parent>>,
    /// The run that it cleans up after; absent for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleans_up: Option<Box<CleansUp>>,
}

/// What a run is that cleans up after another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CleansUp {
    /// That one.
    pub run: RunId,
    /// When it started.
    pub started_at: Timestamp,
    /// Why it failed; absent when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
}

impl Header {
    /// Whether it is a run that somebody asked for, and no part of one.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.parent.is_none() && self.cleans_up.is_none()
    }
}

/// What a sub-run is an attempt of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parent {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: StepId,
    /// Counted from 1.
    pub attempt: u32,
    /// The run that all of it is inside of: it has a Task.
    pub root: RunId,
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
    /// Where it is sent instead when nobody can have received it there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Interface>,
    /// Whether the Message is sent as a stream.
    pub streaming: bool,
    /// The Message as ProtoJSON.
    pub message: Body,
    /// Where the agent may tell of its Task; goes along with the attempt's first Message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// Whether no agent is sent anything: the attempt is a run of the workflow that `agent` names, and `message` is what
    /// that starts with, a JSON object.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_sub_run: bool,
}

/// A Task on the agent's side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteTask {
    /// Its id there.
    pub task_id: String,
    /// The context that the agent put it in; may differ from the one offered.
    pub context_id: String,
    /// The interface that took the Message; absent when it is the one that the intent names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Box<Interface>>,
}

/// What followers of the run get of an artifact while it comes (A2A §4.2.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// Whether it extends what they have of the artifact; else it replaces that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub append: bool,
    /// Whether the agent says that nothing follows.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last_chunk: bool,
    /// The piece as ProtoJSON: an A2A Artifact under the id that the whole will have.
    pub artifact: Body,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a step waits for.
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
    /// Whether it is we who ask, before the agent can be called: for a caller who brings a token again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub awaits_caller: bool,
    /// Our own words, where it is not the agent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Why its direct Message is taken for a question: it is not what the step expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
    /// What waits inside of a sub-run; absent for what waits itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Box<Within>>,
}

/// The pauses of a sub-run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Within {
    /// Each with its address: `STEP/STEP`.
    pub pauses: Vec<(StepId, Pause)>,
    /// Whether something else of it goes on meanwhile.
    #[serde(default, skip_serializing_if = "is_false")]
    pub goes_on: bool,
}

impl Pause {
    /// All that waits, each under its address: itself under that of its step, or what waits inside.
    pub(super) fn open<'a>(
        &'a self,
        step: &'a StepId,
    ) -> impl Iterator<Item = (&'a StepId, &'a Pause)> {
        let within = self.within.iter().flat_map(|within| &within.pauses);
        let own = self.within.is_none().then_some((step, self));
        own.into_iter().chain(within.map(|(address, pause)| (address, pause)))
    }

    /// What is asked, as text; `None` when the agent says nothing or too much to stand in the journal itself.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        if self.why.is_some() {
            return self.why.clone();
        }
        let Body::Inline(json) = self.question.as_ref()? else {
            return None;
        };
        let message: protocol::v1::Message = json.read().ok()?;
        Some(message.text()).filter(|text| !text.is_empty())
    }
}

/// The two interrupted states of A2A (§4.1.3), and a question of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    /// INPUT_REQUIRED: nothing happens until somebody answers.
    Input,
    /// AUTH_REQUIRED: somebody has to authorize the agent elsewhere; it may go on without a word to us.
    Auth,
    /// Nobody knows whether the agent has received a Message that it must not get twice.
    Outcome,
}

impl PauseKind {
    /// The word for what is waited for.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Auth => "auth",
            Self::Outcome => "outcome",
        }
    }
}

/// Where a result was made that a step takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reuse {
    /// The run.
    pub run: RunId,
    /// When the step completed there.
    pub at: Timestamp,
    /// The agent that served it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which of the agents of the step that is: 0 for the first, else the number of a fallback.
    #[serde(default, skip_serializing_if = "is_first")]
    pub candidate: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_first(candidate: &u32) -> bool {
    *candidate == 0
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
    /// A dependency was canceled, or skipped for such a one.
    DependencyCanceled {
        /// The direct dependency.
        step: StepId,
    },
    /// Fewer dependencies can complete than it waits for.
    Unreachable {
        /// How many have.
        completed: u32,
        /// How many it waits for.
        needed: u32,
    },
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::When { condition } => write!(f, "`when: {condition}` is false"),
            Self::DependencyFailed { step } => {
                write!(f, "`{step}` did not complete and skips its dependents")
            }
            Self::DependencyCanceled { step } => write!(f, "`{step}` was canceled"),
            Self::Unreachable { completed, needed } => {
                write!(f, "{completed} of its dependencies completed, {needed} were needed")
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
