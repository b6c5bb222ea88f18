//! The pure core of a run: no I/O, no clock, no randomness.
//!
//! [`Run::step`] takes one input, decides and applies in one pass, and returns the events to commit.
//! [`Run::apply`] is the same code path and replays a journal. What has to be done is a function of the
//! state, kept up to date by every event: [`Run::effects`]. A restart is replay, then `Resumed`.

mod apply;
mod ask;
mod attempts;
mod calls;
mod content;
mod deadline;
mod decide;
mod doubt;
mod effect;
mod event;
mod failing;
mod input;
mod items;
mod pause;
pub mod projection;
#[cfg(test)]
mod proof;
mod refusal;
mod rounds;
mod settle;
mod shape;
mod stages;
mod step;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use protocol::v1::TaskState;

use self::pause::Clock;
pub use self::{
    content::{
        Chosen, Chunk, CleansUp, Header, Intent, Next, NextRound, OpeningTurn, Outcome, Parent,
        Pause, PauseKind, RemoteTask, Reuse, RunError, SkipReason, Within,
    },
    deadline::Limit,
    effect::{Effect, Effects},
    event::RunEvent,
    input::{Failure, Input, Rendered, Reply, Resolution, Wait},
    items::Items,
    refusal::Refusal,
    rounds::Round,
    shape::{Shape, StepId, StepIndex, StepShape},
    step::{Flight, Phase, Settled, Step},
};
pub(crate) use self::{event::name_blob, shape::split_item};

/// How long a remote Task that is no longer wanted may take to confirm its end.
pub const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// A run's state in memory.
#[derive(Clone, Debug)]
pub struct Run {
    shape: Arc<Shape>,
    steps: Vec<Step>,
    header: Option<Box<Header>>,
    queued_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    /// The newest time seen in any input or event.
    now: Timestamp,
    /// When the status of the Task may have changed last.
    status_since: Timestamp,
    /// Steps that are not settled.
    unsettled: usize,
    /// Unsettled steps that hold a slot or have had an attempt: what a halt has to visit.
    active: BTreeSet<StepIndex>,
    /// How many of the active ones hold a slot.
    slots_taken: usize,
    /// Free to run, in plan order.
    ready: BTreeSet<StepIndex>,
    /// Waiting for somebody.
    paused: BTreeSet<StepIndex>,
    clock: Clock,
    /// To be skipped by the next decision.
    to_skip: BTreeSet<StepIndex>,
    /// To be canceled by the next decision, each for the step that needs it no more.
    to_cancel: BTreeMap<StepIndex, StepIndex>,
    /// Waiting for their items.
    expanded: BTreeSet<StepIndex>,
    /// To be settled by the next decision, because all their items are.
    to_gather: BTreeSet<StepIndex>,
    /// Of whose Messages the next decision has to say that nobody knows what became of them.
    to_doubt: BTreeSet<StepIndex>,
    /// Remote Tasks of failed attempts that still have to be told to stop.
    orphans: BTreeMap<(StepIndex, u32), Orphan>,
    /// How many Messages it has sent to agents.
    calls: u64,
    /// Sub-runs whose Messages are among them.
    counted: BTreeSet<(StepIndex, u32)>,
    /// Which stage goes on.
    stage: u32,
    /// How many steps of each stage are not settled; nothing where there are no stages.
    open_in: Vec<usize>,
    /// How many more there may be as others have it: sub-runs, and the runs that it is inside of. Not durable.
    spare: u64,
    /// What the agent of a relay says of its Task.
    reported: Option<TaskState>,
    halt: Option<Outcome>,
    outcome: Option<(Timestamp, Outcome)>,
    effects: Effects,
    /// Counts visits to steps: what the proof of linear cost looks at.
    work: u64,
}

/// A remote Task whose attempt is over on our side only.
#[derive(Clone, Debug, PartialEq)]
pub struct Orphan {
    /// What was sent, and where.
    pub intent: Arc<Intent>,
    /// Where to find it.
    pub task: RemoteTask,
    /// The grace counts from here.
    pub since: Timestamp,
}

impl Run {
    /// Prepares a run that has not started.
    #[must_use]
    pub fn new(shape: Arc<Shape>) -> Self {
        let step = |at| {
            let open = shape.step(at).dependencies.len();
            let open = u32::try_from(open).expect("a plan has fewer than 2^32 steps");
            Step::new(shape.step(at).id.clone(), open)
        };
        let steps: Vec<Step> = shape.indices().map(step).collect();
        let open_in = shape.steps_by_stage();
        Self {
            unsettled: steps.len(),
            steps,
            shape,
            header: None,
            queued_at: None,
            started_at: None,
            now: Timestamp::UNIX_EPOCH,
            status_since: Timestamp::UNIX_EPOCH,
            active: BTreeSet::new(),
            slots_taken: 0,
            ready: BTreeSet::new(),
            paused: BTreeSet::new(),
            clock: Clock::default(),
            to_skip: BTreeSet::new(),
            to_cancel: BTreeMap::new(),
            expanded: BTreeSet::new(),
            to_gather: BTreeSet::new(),
            to_doubt: BTreeSet::new(),
            orphans: BTreeMap::new(),
            calls: 0,
            counted: BTreeSet::new(),
            stage: 0,
            open_in,
            spare: u64::MAX,
            reported: None,
            halt: None,
            outcome: None,
            effects: Effects::default(),
            work: 0,
        }
    }

    /// Takes one input: decides, applies, and returns what has to be committed before anything is done.
    ///
    /// Stale and repeated inputs return nothing. Costs O(degree of the step), a halt O(steps in flight).
    pub fn step(&mut self, input: Input) -> Vec<RunEvent> {
        let mut events = Vec::new();
        if self.outcome.is_some() {
            return events;
        }
        if let Some(event) = self.decide(input) {
            self.record(event, &mut events);
        }
        self.follow_up(&mut events);
        events
    }

    /// What the state wants done, and what of it changed.
    pub fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    /// What the state wants done, read only.
    #[must_use]
    pub fn wanted(&self) -> &Effects {
        &self.effects
    }

    /// The graph and policies.
    #[must_use]
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// What the run is pinned to; `None` before `RunStarted` or `RunQueued`.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header.as_deref()
    }

    /// When it started; `None` while it waits for its turn.
    #[must_use]
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started_at
    }

    /// When it was queued; `None` when it did not have to wait for its turn.
    #[must_use]
    pub fn queued_at(&self) -> Option<Timestamp> {
        self.queued_at
    }

    /// Whether it waits for its turn.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.queued_at.is_some() && self.started_at.is_none() && self.outcome.is_none()
    }

    /// The newest time that any input or event brought.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// When the state of the Task, or what it waits for, may have changed last.
    #[must_use]
    pub fn status_since(&self) -> Timestamp {
        self.status_since
    }

    /// Whether it waits for people only: nothing is in flight, sleeps or could start.
    #[must_use]
    pub fn is_waiting_for_people(&self) -> bool {
        let is_all_paused = self.active.len() == self.paused.len() && self.ready.is_empty();
        self.outcome.is_none()
            && !self.paused.is_empty()
            && is_all_paused
            && self.orphans.is_empty()
            && !self.goes_on_inside()
    }

    /// Says how many more Messages there may be as others have it: sub-runs, and the runs that it is inside of.
    pub(crate) fn set_spare(&mut self, spare: u64) {
        self.spare = spare;
    }

    /// How many Messages it and its sub-runs that have ended have sent to agents, those that were repeated counted once for each attempt and answer.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether its Task is shown as that of its one agent.
    #[must_use]
    pub fn is_relay(&self) -> bool {
        self.header().is_some_and(|header| header.relay)
    }

    /// What the agent of a relay said last of its Task.
    #[must_use]
    pub fn reported(&self) -> Option<TaskState> {
        self.reported
    }

    /// The Task of a relay's agent, once there is one.
    #[must_use]
    pub fn relayed(&self) -> Option<&RemoteTask> {
        self.steps.first().filter(|_| self.is_relay())?.task.as_ref()
    }

    /// When the run's own timeout passes, should it not pause again before.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let started_at = self.started_at?;
        Some(later(after(started_at, self.shape.timeout), self.clock.stood_still()))
    }

    /// How and when it ended; `None` while it goes on.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref().map(|(_, outcome)| outcome)
    }

    /// When it ended.
    #[must_use]
    pub fn finished_at(&self) -> Option<Timestamp> {
        self.outcome.as_ref().map(|(at, _)| *at)
    }

    /// Why no further step starts; `None` while steps may start.
    #[must_use]
    pub fn halt(&self) -> Option<&Outcome> {
        self.halt.as_ref()
    }

    /// One step.
    #[must_use]
    pub fn at(&self, at: StepIndex) -> &Step {
        &self.steps[at.position()]
    }

    /// How many steps are settled.
    #[must_use]
    pub fn settled(&self) -> usize {
        self.steps.len() - self.unsettled
    }

    /// How many steps there are, items among them.
    #[must_use]
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// All steps in plan order, each followed by its items.
    pub fn steps(&self) -> impl Iterator<Item = (&StepId, &Step)> {
        let planned = self.shape.indices().map(|at| self.at(at));
        let with_items = planned.flat_map(|step| {
            let items = step.items.iter().flat_map(Items::indices);
            std::iter::once(step).chain(items.map(|at| self.at(at)))
        });
        with_items.map(|step| (&step.id, step))
    }

    /// The Task that [`Effect::Cancel`] is about, what was sent to get it, and when to stop trying.
    #[must_use]
    pub fn to_cancel(
        &self,
        at: StepIndex,
        attempt: u32,
    ) -> Option<(&Intent, &RemoteTask, Timestamp)> {
        if let Phase::Canceling { flight, task: Some(task), since } = &self.at(at).phase
            && flight.attempt == attempt
        {
            return Some((&flight.intent, task, after(*since, CANCEL_GRACE)));
        }
        let orphan = self.orphans.get(&(at, attempt))?;
        Some((&orphan.intent, &orphan.task, after(orphan.since, CANCEL_GRACE)))
    }
}

/// `at + length`, at most the end of time.
#[must_use]
pub(crate) fn after(at: Timestamp, length: Duration) -> Timestamp {
    at.saturating_add(SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX))
        .unwrap_or(Timestamp::MAX)
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
