//! A Task of ours as its journal has it up to some event: before its run, or as its run.

use std::sync::Arc;

use jiff::Timestamp;
use planner::Plan;
use protocol::v1::TaskArtifactUpdateEvent;
use store::Seq;

use crate::{
    RunId,
    body::Body,
    run::{OpeningTurn, Outcome, Run, RunEvent, Shape, projection::RunState},
    streamed::Streamed,
};

/// A Task. Its journal begins either with its run or with what was said before one could start.
pub enum TaskRecord {
    /// No run has started.
    Opening(Box<Opening>),
    /// Its run has.
    Run(Box<Recorded>),
}

/// A Task that has no run yet, or never gets one.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The Task, and the run once there is one.
    pub id: RunId,
    /// The context it belongs to.
    pub context_id: String,
    /// The workflow meant, once that is clear.
    pub workflow: Option<String>,
    /// Media types that the client takes, as it said last; empty takes any.
    pub accepts: Vec<String>,
    /// INPUT_REQUIRED while an answer is awaited, else rejected or canceled.
    pub state: RunState,
    /// Since when.
    pub since: Timestamp,
    /// When the first Message came.
    pub started_at: Timestamp,
    /// Our last word, a Message as ProtoJSON; none when the Task was canceled.
    pub answer: Option<Body>,
    /// The events so far.
    pub events: Vec<RunEvent>,
    /// The sequence of the last of them.
    pub seq: Seq,
}

/// A run as its journal has it up to some event, and its plan.
pub struct Recorded {
    /// The run.
    pub id: RunId,
    /// The plan it is pinned to.
    pub plan: Arc<Plan>,
    /// Its state.
    pub run: Run,
    /// The events so far, but for the chunks of artifacts: those are put together.
    pub events: Vec<RunEvent>,
    /// Artifacts that have come in chunks.
    pub streamed: Streamed,
    /// The sequence of the last event.
    pub seq: Seq,
}

impl TaskRecord {
    /// The Task.
    #[must_use]
    pub fn id(&self) -> &RunId {
        match self {
            Self::Opening(opening) => &opening.id,
            Self::Run(recorded) => &recorded.id,
        }
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context_id(&self) -> &str {
        match self {
            Self::Opening(opening) => &opening.context_id,
            Self::Run(recorded) => {
                recorded.run.header().map_or("", |header| header.context_id.as_str())
            }
        }
    }

    /// The name of its workflow, once that is clear.
    #[must_use]
    pub fn workflow(&self) -> Option<&str> {
        match self {
            Self::Opening(opening) => opening.workflow.as_deref(),
            Self::Run(recorded) => recorded.run.header().map(|header| header.workflow.as_str()),
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> RunState {
        match self {
            Self::Opening(opening) => opening.state,
            Self::Run(recorded) => RunState::of(&recorded.run),
        }
    }

    /// When its status may have changed last.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        match self {
            Self::Opening(opening) => opening.since,
            Self::Run(recorded) => recorded.run.status_since(),
        }
    }

    /// The newest time that any of its events brought.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Opening(opening) => opening.since,
            Self::Run(recorded) => recorded.run.now(),
        }
    }

    /// The events so far, but for the chunks of artifacts.
    #[must_use]
    pub fn events(&self) -> &[RunEvent] {
        match self {
            Self::Opening(opening) => &opening.events,
            Self::Run(recorded) => &recorded.events,
        }
    }

    /// The sequence of the last event.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Opening(opening) => opening.seq,
            Self::Run(recorded) => recorded.seq,
        }
    }
}

impl Opening {
    pub(crate) fn new(id: &RunId) -> Self {
        Self {
            id: id.clone(),
            context_id: String::new(),
            workflow: None,
            accepts: Vec::new(),
            state: RunState::InputRequired,
            since: Timestamp::UNIX_EPOCH,
            started_at: Timestamp::UNIX_EPOCH,
            answer: None,
            events: Vec::new(),
            seq: Seq(0),
        }
    }

    /// Applies an event that starts no run.
    pub(crate) fn apply(&mut self, event: RunEvent) {
        match &event {
            RunEvent::RunDeferred { at, turn } => self.take(RunState::InputRequired, *at, turn),
            RunEvent::RunRejected { at, turn } => self.take(RunState::Rejected, *at, turn),
            RunEvent::RunFinished { at, outcome: Outcome::Canceled } => {
                self.state = RunState::Canceled;
                self.since = *at;
                self.answer = None;
            }
            // No other event stands before the start of a run.
            _ => (),
        }
        self.events.push(event);
        self.seq = Seq(self.seq.0 + 1);
    }

    fn take(&mut self, state: RunState, at: Timestamp, turn: &OpeningTurn) {
        if self.seq == Seq(0) {
            self.started_at = at;
        }
        self.context_id.clone_from(&turn.context_id);
        self.workflow.clone_from(&turn.workflow);
        if !turn.accepts.is_empty() {
            self.accepts.clone_from(&turn.accepts);
        }
        self.answer = Some(turn.answer.clone());
        self.state = state;
        self.since = at;
    }
}

impl Recorded {
    /// The run that starts, or is queued, after what was said before.
    pub(crate) fn started(before: Opening, plan: Arc<Plan>, event: RunEvent) -> Self {
        let Opening { id, events, seq, .. } = before;
        let run = Run::new(Arc::new(Shape::of(&plan)));
        let mut recorded = Self { id, plan, run, events, streamed: Streamed::default(), seq };
        recorded.apply(event, None);
        recorded
    }

    /// Applies an event; `update` is what a chunk brings. Its event is not kept: it would double what the
    /// artifact takes.
    pub(crate) fn apply(&mut self, event: RunEvent, update: Option<&TaskArtifactUpdateEvent>) {
        self.run.apply(&event);
        match (&event, update) {
            (RunEvent::ArtifactChunked { step, attempt, .. }, Some(update)) => {
                if let Some(at) = self.run.find(step) {
                    self.streamed.apply(at, *attempt, update);
                }
            }
            _ => self.events.push(event),
        }
        self.seq = Seq(self.seq.0 + 1);
    }
}
