//! What the outside world tells a run. A closed set; times, ids and random draws come in as data.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use planner::StepError;
use protocol::v1::TaskState;

use super::{Chunk, Header, Intent, NextRound, Pause, Refusal, RemoteTask, Reuse, StepId};
use crate::body::Body;

/// One fact from outside. Stale and repeated inputs are ordinary and change nothing.
///
/// In all of them `at` is now, `step` the step it is about, and `attempt` which of its attempts, counted from 1.
#[expect(missing_docs, reason = "the fields that nearly all have are described once")]
#[derive(Clone, Debug)]
pub enum Input {
    /// Begins the run.
    Start {
        at: Timestamp,
        /// What the run is pinned to.
        header: Box<Header>,
    },
    /// Begins the run, which waits for its turn.
    Queue {
        at: Timestamp,
        /// What the run is pinned to.
        header: Box<Header>,
    },
    /// Its turn has come.
    Admitted { at: Timestamp },
    /// A driver picked the run up again: also heals a journal that ends in mid-decision.
    Resumed { at: Timestamp },
    /// The answer to [`super::Effect::Render`].
    Rendered {
        step: StepId,
        at: Timestamp,
        /// What came of it.
        rendered: Rendered,
    },
    /// Somebody answers a step that asks.
    Replied {
        step: StepId,
        at: Timestamp,
        /// The Message of whoever answered, as it came.
        said: Option<Body>,
        /// What it is worth.
        reply: Reply,
    },
    /// A pause has lasted as long as it may.
    Expired {
        step: StepId,
        at: Timestamp,
        /// What then fails the step.
        error: StepError,
        /// The [`planner::StepResult`] to keep then.
        result: Body,
    },
    /// A sub-run has ended, and has sent so many Messages.
    Counted {
        step: StepId,
        attempt: u32,
        /// How many.
        calls: u64,
    },
    /// A sub-run has decided about somebody's answer. One that it has not taken leaves nothing.
    PassedDown {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// What waited, and waits no more: its address and how it stood.
        answered: Option<Box<(StepId, Pause)>>,
        /// The Message of whoever answered, as it came.
        said: Option<Body>,
    },
    /// The agent answered with a Task that is still going on.
    Bound {
        step: StepId,
        attempt: u32,
        /// Where to find it again.
        task: RemoteTask,
    },
    /// A piece of an artifact has come that goes on as it is.
    Chunked {
        step: StepId,
        attempt: u32,
        /// The piece.
        chunk: Chunk,
    },
    /// The agent says something of its Task, and the run is a relay.
    Reported {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// The state.
        state: TaskState,
        /// The whole status.
        status: Body,
    },
    /// The agent asks for something.
    Paused {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// Where the answer goes; `None` for a direct Message.
        task: Option<RemoteTask>,
        /// What it asks for.
        pause: Pause,
    },
    /// The agent went on by itself.
    Unpaused { step: StepId, attempt: u32, at: Timestamp },
    /// Somebody answers.
    Answered {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// The answer's number; one that is not the next is stale.
        turn: u32,
        /// What to send.
        intent: Arc<Intent>,
        /// The Message of whoever answered, as it came.
        said: Option<Body>,
    },
    /// Somebody says what is to be done about a Message that may have been received.
    Resolved {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// What.
        resolution: Box<Resolution>,
        /// The Message of whoever says so, as it came.
        said: Option<Body>,
    },
    /// The deadline of a step has passed while no attempt of it was under way.
    Overdue {
        step: StepId,
        at: Timestamp,
        /// The error.
        error: StepError,
        /// The [`planner::StepResult`] to keep.
        result: Body,
    },
    /// The agent has the answer.
    Delivered {
        step: StepId,
        attempt: u32,
        /// The answer's number.
        turn: u32,
    },
    /// The agent of a relay does not take the answer, and still waits for one.
    AnswerRefused {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// The answer's number.
        turn: u32,
        /// What it said.
        refusal: Box<Refusal>,
    },
    /// The agent does not accept our contextId.
    ContextRefused {
        step: StepId,
        attempt: u32,
        /// What to send instead.
        intent: Arc<Intent>,
    },
    /// The agent takes no Message that comes with a callback.
    CallbackRefused {
        step: StepId,
        attempt: u32,
        /// What to send instead.
        intent: Arc<Intent>,
    },
    /// The attempt has its result.
    Succeeded {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// The Task that it came from; `None` for a direct Message.
        task: Option<RemoteTask>,
        /// A [`planner::StepResult`].
        result: Body,
    },
    /// The attempt has the result of a round that is not good enough.
    RoundEnded {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// The Task that it came from; `None` for a direct Message.
        task: Option<RemoteTask>,
        /// A [`planner::StepResult`].
        result: Body,
        /// Whether there is another round.
        next: NextRound,
    },
    /// The attempt did not succeed.
    Failed {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// Why, and what is known of the remote end.
        failure: Box<Failure>,
    },
    /// A back-off is over.
    Woken {
        step: StepId,
        /// The attempt that failed before the pause.
        attempt: u32,
    },
    /// A remote Task was told to stop, or could not be told within its grace.
    CancelSettled {
        step: StepId,
        attempt: u32,
        at: Timestamp,
        /// Whether the agent confirmed.
        confirmed: bool,
    },
    /// The answer to [`super::Effect::Conclude`].
    Concluded {
        at: Timestamp,
        /// A JSON array of A2A Artifacts, or why the outputs cannot be evaluated.
        outputs: Result<Body, StepError>,
    },
    /// Somebody asks for the end of the run.
    CancelRequested { at: Timestamp },
    /// The run's timeout has passed.
    TimedOut { at: Timestamp },
}

impl Input {
    /// The step that it is about; `None` for what concerns the run as a whole.
    pub(crate) fn step(&self) -> Option<&StepId> {
        match self {
            Self::Rendered { step, .. }
            | Self::Replied { step, .. }
            | Self::Expired { step, .. }
            | Self::Counted { step, .. }
            | Self::PassedDown { step, .. }
            | Self::Bound { step, .. }
            | Self::Chunked { step, .. }
            | Self::Reported { step, .. }
            | Self::Paused { step, .. }
            | Self::Unpaused { step, .. }
            | Self::Answered { step, .. }
            | Self::Resolved { step, .. }
            | Self::Overdue { step, .. }
            | Self::Delivered { step, .. }
            | Self::ContextRefused { step, .. }
            | Self::AnswerRefused { step, .. }
            | Self::CallbackRefused { step, .. }
            | Self::Succeeded { step, .. }
            | Self::RoundEnded { step, .. }
            | Self::Failed { step, .. }
            | Self::Woken { step, .. }
            | Self::CancelSettled { step, .. } => Some(step),
            Self::Start { .. }
            | Self::Queue { .. }
            | Self::Admitted { .. }
            | Self::Resumed { .. }
            | Self::Concluded { .. }
            | Self::CancelRequested { .. }
            | Self::TimedOut { .. } => None,
        }
    }
}

/// What became of a step's templates.
#[derive(Clone, Debug)]
pub enum Rendered {
    /// Send this.
    Send(Arc<Intent>),
    /// `when` is false.
    Skip {
        /// The condition as written.
        condition: String,
    },
    /// The step runs once for each item.
    Expand {
        /// The items: a JSON array.
        items: Body,
        /// How many there are.
        count: u32,
    },
    /// The step asks a person.
    Ask {
        /// What.
        pause: Pause,
    },
    /// The step computes this and asks no agent.
    Computed {
        /// A [`planner::StepResult`].
        result: Body,
    },
    /// An equal step has completed in another run.
    Reused {
        /// A [`planner::StepResult`].
        result: Body,
        /// Where it comes from.
        from: Box<Reuse>,
    },
    /// An expression failed.
    Fail {
        /// Why.
        error: StepError,
        /// The [`planner::StepResult`] to keep should this be final.
        result: Body,
    },
}

/// What an answer to a step that asks is worth.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It fits.
    Fits {
        /// A [`planner::StepResult`].
        result: Body,
    },
    /// It does not.
    Misfits {
        /// What is asked, with what is wrong with the answer.
        pause: Pause,
    },
}

/// What is to be done about a Message that may have been received.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// It is sent once more.
    Resend,
    /// The attempt has failed.
    Failed(Failure),
    /// The agent has made this Task of it.
    Bound(RemoteTask),
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Why.
    pub error: StepError,
    /// The [`planner::StepResult`] to keep should this be the last attempt.
    pub result: Body,
    /// Whether the remote Task is known to be over.
    pub remote_ended: bool,
    /// Whether the agent has certainly not acted on the Message.
    pub is_untaken: bool,
    /// What the next attempt has to wait for.
    pub wait: Wait,
    /// The error that the agent of a relay answered to the Message.
    pub refusal: Option<Box<Refusal>>,
    /// Whether the reason is on this side, so that it says nothing of the agent. Decides nothing.
    pub is_ours: bool,
}

/// Data for a back-off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    /// A draw from 0..1.
    pub jitter: f64,
    /// What the agent asked for (Retry-After).
    pub at_least: Option<Duration>,
}
