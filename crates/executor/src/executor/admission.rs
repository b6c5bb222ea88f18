//! Whether a new run is driven now, waits, or is turned away: by the limits of the process and those of its workflow.

use std::sync::Arc;

use jiff::Timestamp;
use planner::{Plan, RunView, Scope, Workflow};
use protocol::{
    auth::{Caller, CallerToken},
    v1::{Message, Part},
};
use serde_json::{Map, Value};

use super::{Decided, Executor};
use crate::{
    ExecutorError, RunId,
    once::Once,
    record::Opening,
    run::Run,
    seats::{Admission, Displaced, GroupName, Membership, Seat},
};

/// What a run is made of.
pub struct NewRun {
    /// The plan, pinned from here on.
    pub plan: Arc<Plan>,
    /// Checked inputs.
    pub inputs: Map<String, Value>,
    /// Parts of the Message that starts it: what a step without `message` sends on.
    pub start: Vec<Part>,
    /// That Message, for the history of the Task; `None` when no client sent one.
    pub message: Option<Message>,
    /// The context to work in; a new one when absent.
    pub context_id: Option<String>,
    /// The Task that it becomes the inside of, with its context; a new one when absent.
    pub opening: Option<Opening>,
    /// Media types that outputs may have; empty takes any.
    pub accepts: Vec<String>,
    /// Whether it is a relay: a plan of one step without `message`, whose agent's Task is shown as it is.
    pub relay: bool,
    /// Protocol extensions that the client asks for, as URIs: the agent of a relay is called with them.
    pub extensions: Vec<String>,
    /// The token of whoever starts it, where that may be exchanged for those of agents. It is kept in memory alone.
    pub caller: Option<CallerToken>,
    /// What makes an equal Message the same one, which starts no second run.
    pub once: Option<Once>,
    /// The schedule that starts it.
    pub scheduled: Option<Scheduled>,
}

/// The occurrence of a schedule that starts a run.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// Its time.
    pub at: Timestamp,
    /// How far the schedule was decided before: it is decided up to its time in the commit that opens the run.
    pub decided: Decided,
}

impl NewRun {
    /// A run that nobody sent a Message for.
    #[must_use]
    pub fn of(plan: Arc<Plan>, inputs: Map<String, Value>, start: Vec<Part>) -> Self {
        Self {
            plan,
            inputs,
            start,
            message: None,
            context_id: None,
            opening: None,
            accepts: Vec::new(),
            relay: false,
            extensions: Vec::new(),
            caller: None,
            once: None,
            scheduled: None,
        }
    }

    /// The time of the schedule that starts it.
    pub(super) fn scheduled_at(&self) -> Option<Timestamp> {
        self.scheduled.as_ref().map(|scheduled| scheduled.at)
    }
}

/// Whoever has brought this token; nobody without.
pub(super) fn caller_of(token: Option<CallerToken>) -> Caller {
    token.map_or_else(Caller::nobody, |token| Caller::with_token(Some(token)))
}

impl Executor {
    /// What a run is counted by among those of its workflow.
    pub(super) fn group_key(&self, new: &NewRun) -> Result<Option<String>, ExecutorError> {
        let workflow = &new.plan.workflow;
        if workflow.concurrency.is_none() {
            return Ok(None);
        }
        let run = RunView {
            workflow: workflow.name.clone(),
            scheduled_at: new.scheduled_at().map(|at| at.to_string()),
            ..RunView::default()
        };
        let inputs = Arc::new(new.inputs.clone());
        let scope = Scope { inputs, run, ..Scope::default() };
        planner::evaluate_key(workflow, &scope)
            .map_err(|error| ExecutorError::Key(error.to_string()))
    }

    /// Gives a new run its place, and names the run that has to end for it.
    pub(super) fn admit(
        &self,
        id: &RunId,
        workflow: &Workflow,
        key: Option<String>,
    ) -> Result<(Arc<Seat>, Option<Displaced>), ExecutorError> {
        let member = self.membership(workflow, key.clone());
        match self.seats.admit(id, Timestamp::now(), member) {
            Admission::Seated(seat, displaced) => Ok((seat, displaced)),
            Admission::Full => Err(ExecutorError::Busy),
            Admission::Rejected => Err(ExecutorError::Crowded {
                workflow: workflow.name.clone(),
                key: key.unwrap_or_default(),
                limit: workflow.concurrency.as_ref().map_or(1, |concurrency| concurrency.limit),
            }),
        }
    }

    /// Gives a run that exists its place again.
    pub(super) fn take_up(&self, id: &RunId, workflow: &Workflow, run: &Run) -> Arc<Seat> {
        let key = run.header().and_then(|header| header.key.clone());
        let since = run.queued_at().or(run.started_at()).unwrap_or(Timestamp::UNIX_EPOCH);
        self.seats.take_up(id, since, run.is_queued(), self.membership(workflow, key))
    }

    fn membership(&self, workflow: &Workflow, key: Option<String>) -> Option<Membership> {
        let name = GroupName {
            account: self.shared.account.clone(),
            workflow: workflow.name.clone(),
            key: key?,
        };
        Some(Membership::new(name, workflow.concurrency.as_ref()?))
    }
}
