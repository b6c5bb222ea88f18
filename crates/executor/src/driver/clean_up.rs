//! What is done after a run: opened as a run of its own in the commit that holds the verdict, so that neither is there
//! without the other.

use std::collections::BTreeSet;

use jiff::Timestamp;
use planner::{Binding, Ended, MAX_REFERENCES, Plan, StepState, Undoes};
use serde_json::Value;
use store::{Seq, Write};

use super::{
    Driver,
    serving::{index, serving},
};
use crate::{
    ExecutorError, journal,
    report::body_of,
    run::{CleansUp, Header, Outcome, RunEvent, StepId, StepIndex},
};

impl Driver {
    /// Drafts the run that cleans up after this one, once this one has its verdict.
    pub(super) async fn draft_clean_up(&mut self) -> Result<(), ExecutorError> {
        match self.try_draft_clean_up().await {
            Err(error @ ExecutorError::TooLarge { .. }) => {
                tracing::error!(run = %self.id, %error, "a run cannot be cleaned up after");
                Ok(())
            }
            drafted => drafted,
        }
    }

    async fn try_draft_clean_up(&mut self) -> Result<(), ExecutorError> {
        let Some(outcome) = self.run.outcome().cloned() else { return Ok(()) };
        let Some(header) = self.run.header().cloned() else { return Ok(()) };
        if self.clean_up.is_some() || header.cleans_up.is_some() || self.run.started_at().is_none()
        {
            return Ok(());
        }
        let is_completed = matches!(outcome, Outcome::Completed(_));
        let undone = if is_completed { Vec::new() } else { self.undone().await? };
        let steps = || self.run.shape().indices();
        let at_most = |step| self.left(index(step)).into_iter().take(MAX_REFERENCES).collect();
        let ended = Ended {
            is_completed,
            undone,
            served: steps().map(|at| serving(&self.plan, &self.run, at).cloned()).collect(),
            left: &at_most,
        };
        let Some(plan) = planner::clean_up(&self.plan, ended) else {
            return Ok(());
        };
        let (id, account, at) =
            (self.id.of_clean_up(), self.shared.account.clone(), Timestamp::now());
        let mut writes = Vec::new();
        let header = Header {
            plan: body_of(&account, &plan, &mut writes)?,
            message: None,
            key: None,
            parent: None,
            cleans_up: Some(Box::new(CleansUp {
                run: self.id.clone(),
                started_at: self.run.started_at().unwrap_or(at),
                error: match outcome {
                    Outcome::Failed(error) => Some(error),
                    Outcome::Completed(_) | Outcome::Canceled => None,
                },
            })),
            ..header
        };
        let mut events = vec![RunEvent::RunStarted { at, header: Box::new(header) }];
        events.extend(self.taken(&plan, at, &mut writes).await?);
        let entries = events.iter().map(journal::encode).collect::<Result<Vec<_>, _>>()?;
        let journal = id.journal();
        let owner = self.owned.incarnation;
        writes.push(Write::Open { account: account.clone(), journal: journal.clone(), owner });
        writes.push(Write::Append { account, journal, after: Seq(0), entries });
        self.draft.writes.extend(writes);
        self.clean_up = Some(id);
        Ok(())
    }

    /// How each step has ended that has had its turn, with the results that are read.
    async fn taken(
        &mut self,
        plan: &Plan,
        at: Timestamp,
        writes: &mut Vec<Write>,
    ) -> Result<Vec<RunEvent>, ExecutorError> {
        let mut events = Vec::new();
        let own = self.plan.workflow.steps.len();
        let read: BTreeSet<usize> =
            plan.workflow.steps.iter().flat_map(|step| step.reads.iter().copied()).collect();
        for (position, step) in plan.workflow.steps.iter().enumerate() {
            if plan.stages[position] > 0 {
                continue;
            }
            let id = StepId::new(&step.id);
            if position >= own {
                let state = StepState::Skipped;
                events.push(RunEvent::StepTaken { step: id, at, state, result: None });
                continue;
            }
            let index = index(position);
            let result = if read.contains(&position) {
                let result = self.result(index).await?;
                match body_of(&self.shared.account, &*result, writes) {
                    // Each item of it could be kept, and all of them together cannot: nobody reads it then.
                    Err(ExecutorError::TooLarge { .. }) => None,
                    body => Some(body?),
                }
            } else {
                None
            };
            let state = self.run.step_state(index);
            events.push(RunEvent::StepTaken { step: id, at, state, result });
        }
        Ok(events)
    }

    /// What has completed and can be undone, newest first, each by the agent that did it.
    async fn undone(&self) -> Result<Vec<(Undoes, Binding)>, ExecutorError> {
        let mut undone = Vec::new();
        for at in self.run.shape().indices() {
            let step = at.position();
            if self.plan.workflow.steps[step].undo.is_none() {
                continue;
            }
            let Some(items) = &self.run.at(at).items else {
                let undoes = Undoes { step, item: None, value: Value::Null };
                undone.extend(self.completed_at(at).map(|(when, by)| (when, (undoes, by))));
                continue;
            };
            let list: Vec<Value> = self.load(&items.list).await?;
            for (nth, (at, value)) in items.indices().zip(list).enumerate() {
                let undoes = Undoes { step, item: Some(nth), value };
                undone.extend(self.completed_at(at).map(|(when, by)| (when, (undoes, by))));
            }
        }
        undone.sort_by_key(|(settled_at, _)| std::cmp::Reverse(*settled_at));
        Ok(undone.into_iter().map(|(_, undoes)| undoes).collect())
    }

    /// When an agent completed a step or an item, and which; nothing for any other.
    fn completed_at(&self, at: StepIndex) -> Option<(Timestamp, Binding)> {
        let found = self.run.at(at);
        let is_done = found.state() == StepState::Completed && found.reused.is_none();
        let by = serving(&self.plan, &self.run, at).filter(|_| is_done)?;
        Some((found.settled_at?, by.clone()))
    }

    /// Begins what is done after the run, which is durable by now.
    pub(super) async fn hand_over(&mut self) {
        let (Some(id), Some(sub_runs)) = (self.clean_up.take(), self.sub_runs.clone()) else {
            return;
        };
        if let Err(error) = sub_runs.adopt(&id).await {
            tracing::error!(run = %id, %error, "a clean-up is left for the next start");
        }
    }
}
