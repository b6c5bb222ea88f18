//! What happened in a run: past tense, persisted, the only thing that changes a run's durable state.

mod about;
mod bodies;

use std::sync::Arc;

use jiff::Timestamp;
use planner::{StepError, StepState};
use protocol::v1::TaskState;
use serde::{Deserialize, Serialize};

use super::{
    Chosen, Chunk, Header, Intent, Next, NextRound, OpeningTurn, Outcome, Pause, Refusal,
    RemoteTask, Reuse, SkipReason, StepId,
};
use crate::body::Body;

pub(crate) use self::bodies::name_blob;

/// One entry of a run's journal. Changing a variant means a new journal version.
///
/// In all of them `at` is when it happened, `step` to which step, and `attempt` in which of its attempts, counted from 1.
#[expect(missing_docs, reason = "the fields that nearly all have are described once")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// Before the run: a Message from which no run can start yet, and what its sender is asked.
    RunDeferred {
        at: Timestamp,
        /// What was said.
        turn: Box<OpeningTurn>,
    },
    /// Instead of a run: a Message from which no run can ever start. Nothing follows.
    RunRejected {
        at: Timestamp,
        /// What was said.
        turn: Box<OpeningTurn>,
    },
    /// The run exists. Everything it is pinned to is in the header.
    RunStarted {
        at: Timestamp,
        /// Plan, inputs and context.
        header: Box<Header>,
    },
    /// The run exists and waits for its turn: as many are driven as may be. It starts with `RunAdmitted`.
    RunQueued {
        /// When: its place in the queue.
        at: Timestamp,
        /// Plan, inputs and context.
        header: Box<Header>,
    },
    /// The turn of a queued run has come: it starts.
    RunAdmitted { at: Timestamp },
    /// A driver picked the run up again.
    RunResumed { at: Timestamp },
    /// The step will not run.
    StepSkipped {
        step: StepId,
        at: Timestamp,
        /// Why.
        reason: SkipReason,
    },
    /// The step is not needed any more: another one has as many completed dependencies as it waits for.
    StepCanceled {
        step: StepId,
        at: Timestamp,
        /// The step that does not need it.
        by: StepId,
    },
    /// The step runs once for each of these.
    StepExpanded {
        step: StepId,
        at: Timestamp,
        /// The items: a JSON array.
        items: Body,
        /// How many there are.
        count: u32,
    },
    /// All items of a step are settled, and so is the step.
    StepGathered {
        step: StepId,
        at: Timestamp,
        /// How many of them have failed; then the step has.
        failed: u32,
    },
    /// The step has ended in the run that this one cleans up after.
    StepTaken {
        step: StepId,
        at: Timestamp,
        /// How.
        state: StepState,
        /// A [`planner::StepResult`], where somebody reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Body>,
    },
    /// The step asks a person.
    StepAsked {
        step: StepId,
        at: Timestamp,
        /// What it asks.
        pause: Pause,
    },
    /// An answer that does not fit; the question stands.
    StepAskedAgain {
        step: StepId,
        at: Timestamp,
        /// The Message of whoever answered: ProtoJSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Body>,
        /// What it asks, with what is wrong with the answer.
        pause: Pause,
    },
    /// An answer that fits: it is the result of the step.
    StepAnswered {
        step: StepId,
        at: Timestamp,
        /// The Message of whoever answered: ProtoJSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Body>,
        /// A [`planner::StepResult`].
        result: Body,
    },
    /// INTENT: this Message is about to be sent, perhaps more than once, always the same bytes.
    AttemptStarted {
        step: StepId,
        attempt: u32,
        /// When; the attempt's timeout counts from here.
        at: Timestamp,
        /// What is sent to whom.
        intent: Arc<Intent>,
    },
    /// The agent refused our contextId; the Message goes out once more without it.
    ContextRefused {
        step: StepId,
        attempt: u32,
        /// The same content under a new messageId and without a context.
        intent: Arc<Intent>,
    },
    /// The agent refused to send notifications; the Message goes out once more without asking for them.
    CallbackRefused {
        step: StepId,
        attempt: u32,
        /// The same content under a new messageId and without a callback.
        intent: Arc<Intent>,
    },
    /// BIND: the agent answered with a Task; from here the Message is never sent again.
    AttemptBound {
        step: StepId,
        attempt: u32,
        /// Where to find it again.
        task: RemoteTask,
    },
    /// A sub-run has ended, and its Messages count as those of this run.
    CallsCounted {
        step: StepId,
        attempt: u32,
        /// How many it and those inside of it have sent.
        calls: u64,
    },
    /// A sub-run has taken an answer for one of its steps: kept for the history of the Task.
    AnswerPassed {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// The address of what waits no more; absent when it still does, or asks anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answered: Option<StepId>,
        /// The Message of whoever answered: ProtoJSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Body>,
    },
    /// A piece of an artifact that is an output of the run as it is. Only what is told of the run depends on it.
    ArtifactChunked {
        step: StepId,
        /// Counted from 1. The first piece of another attempt begins all artifacts of the step anew.
        attempt: u32,
        /// The piece.
        chunk: Chunk,
    },
    /// What the agent says of its Task: kept in a relay, whose Task is shown as the agent's is.
    AttemptReported {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// The state, which is that of the relay as far as it goes.
        state: TaskState,
        /// The whole status: an A2A TaskStatus as ProtoJSON.
        status: Body,
    },
    /// The agent asks for something, or we do before it can be called. Names the Task, so that it is a BIND as well where
    /// none came before.
    AttemptPaused {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// Where the answer goes; absent for a direct Message, in whose context it goes on, and where the agent was not
        /// called yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<RemoteTask>,
        /// What it asks for.
        pause: Pause,
    },
    /// The agent went on by itself, as it may after AUTH_REQUIRED, or can be called now.
    AttemptUnpaused { step: StepId, attempt: u32, at: Timestamp },
    /// INTENT of an answer: this Message is about to be sent to the Task that asked.
    AttemptAnswered {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// How many answers the attempt has had with this one.
        turn: u32,
        /// What is sent.
        intent: Arc<Intent>,
        /// The Message of whoever answered, as it came: ProtoJSON. Absent for an answer that was typed here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Body>,
    },
    /// Nobody knows whether the agent has received the Message, which it must not get twice: somebody has to decide.
    OutcomeUnknown {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// What is known, and what there is to choose from.
        why: String,
    },
    /// Somebody has decided that.
    OutcomeChosen {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// What.
        chosen: Chosen,
        /// The Message of whoever decided, as it came: ProtoJSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Body>,
    },
    /// The agent has the answer; it is never sent again.
    AnswerDelivered { step: StepId, attempt: u32 },
    /// The agent of a relay did not take the answer, and still waits for one.
    AnswerRefused {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// What it said.
        refusal: Box<Refusal>,
    },
    /// The attempt did not succeed.
    AttemptFailed {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// Why.
        error: StepError,
        /// What follows.
        next: Next,
        /// Whether the remote Task is known to be over, so that nothing has to be canceled.
        remote_ended: bool,
        /// In a relay, the error that the agent answered to the Message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<Box<Refusal>>,
    },
    /// SETTLE: the step has its result.
    StepCompleted {
        step: StepId,
        /// The attempt that succeeded.
        attempt: u32,
        at: Timestamp,
        /// The Task that it came from, for later references; absent for a direct Message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<RemoteTask>,
        /// A [`planner::StepResult`].
        result: Body,
    },
    /// A round of `repeat` has its result, which is not good enough. The result of one that is, is that of the step.
    RoundEnded {
        step: StepId,
        /// The attempt that succeeded.
        attempt: u32,
        /// Counted from 1.
        round: u32,
        at: Timestamp,
        /// The Task that it came from; absent for a direct Message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<RemoteTask>,
        /// A [`planner::StepResult`].
        result: Body,
        /// Whether it was the last round.
        next: NextRound,
    },
    /// The step has its result without an attempt: it asks no agent.
    StepComputed {
        step: StepId,
        at: Timestamp,
        /// A [`planner::StepResult`].
        result: Body,
    },
    /// The step has the result of an equal one that completed in another run, and asks nobody.
    StepReused {
        step: StepId,
        at: Timestamp,
        /// A [`planner::StepResult`].
        result: Body,
        /// Where it comes from.
        from: Box<Reuse>,
    },
    /// The step has failed for good without an attempt: its templates cannot be evaluated, or its deadline has passed
    /// between two attempts.
    StepFailed {
        step: StepId,
        at: Timestamp,
        /// A [`planner::StepResult`] that holds the error.
        result: Body,
        /// The error, for the verdict.
        error: StepError,
    },
    /// Somebody asked for the end of the run.
    CancelRequested { at: Timestamp },
    /// The run's own timeout has passed.
    RunTimedOut { at: Timestamp },
    /// A step wanted to send a Message, and the run has sent as many as it may.
    BudgetSpent { at: Timestamp, step: StepId },
    /// The remote end of an attempt that is no longer wanted was told so, or could not be told.
    AttemptCanceled {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// Whether the agent confirmed.
        confirmed: bool,
    },
    /// The verdict.
    RunFinished {
        at: Timestamp,
        /// How it ended.
        outcome: Outcome,
    },
}
