//! The Tasks that a client refers to, by the ids that the agent of a relay knows.

use std::{collections::BTreeSet, sync::Arc};

use planner::{Binding, Plan};

use super::{Driver, serving::serving};
use crate::{
    ExecutorError, RunId, journal,
    run::{Run, RunEvent, Shape},
    runs,
};
use store::Seq;

/// How many Tasks of one Message are looked for: each costs a journal.
const MOST: usize = 32;

impl Driver {
    /// The Tasks that an agent has made in the runs that a client names by our ids, in the client's order. Ids that
    /// are none of ours, and Tasks of other agents, are left out: the agent could do nothing with them.
    pub(super) async fn known_there(&self, binding: &Binding, ours: &[String]) -> Vec<String> {
        let (mut seen, mut theirs) = (BTreeSet::new(), Vec::new());
        let named = ours.iter().filter(|id| seen.insert(id.as_str())).take(MOST);
        for id in named.filter_map(|id| id.parse::<RunId>().ok()) {
            match self.made_there(binding, &id).await {
                Ok(found) => theirs.extend(found),
                // A reference is an offer, which is not worth a failure.
                Err(error) => {
                    tracing::warn!(task = %id, %error, "a Task that is referred to is left out");
                }
            }
        }
        theirs
    }

    /// The Tasks of one run that were made by this agent.
    async fn made_there(
        &self,
        binding: &Binding,
        id: &RunId,
    ) -> Result<Vec<String>, ExecutorError> {
        let (store, account) = (&*self.shared.store, &self.shared.account);
        let (events, _) = journal::read(store, account, id, Seq::ZERO).await?;
        let header = events.iter().find_map(|event| match event {
            RunEvent::RunStarted { header, .. } | RunEvent::RunQueued { header, .. } => {
                Some(header)
            }
            _ => None,
        });
        let Some(header) = header else { return Ok(Vec::new()) };
        let plan: Plan = runs::load(store, account, id, &header.plan).await?;
        let mut run = Run::new(Arc::new(Shape::of(&plan)));
        events.iter().for_each(|event| run.apply(event));
        let steps = run.indices().filter(|at| {
            serving(&plan, &run, *at).is_some_and(|other| binding.is_same_agent(other))
        });
        let tasks = steps.filter_map(|at| run.at(at).task.as_ref());
        Ok(tasks.map(|task| task.task_id.clone()).collect())
    }
}
