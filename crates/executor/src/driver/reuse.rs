//! Results that equal steps of other runs may have: kept in the commit that completes the step, found before it begins.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use planner::{Binding, Cache, Plan, Scope, StepResult, StepState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{BlobId, Expect, Table, Tags, Write};

use super::Driver;
use crate::{
    ExecutorError, RunId,
    body::Body,
    journal::sort_key,
    report::{Report, body_of},
    run::{Rendered, Reuse, RunEvent, StepIndex, after},
    runs,
};

/// One row for each result that may be reused, ordered by when it may not any more.
pub(crate) const RESULTS: Table = Table::new("results");

/// What a row holds.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    run: RunId,
    at: Timestamp,
    until: Timestamp,
    /// A [`StepResult`].
    result: Body,
}

impl Driver {
    /// What an equal step has yielded that completed lately; nothing for a step that takes over no results.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn reused(
        &mut self,
        at: StepIndex,
        plan: &Plan,
        scope: &Scope,
    ) -> Result<Option<Report>, ExecutorError> {
        let candidates = self.candidates(at);
        if candidates.is_empty() {
            return Ok(None);
        }
        let asked = match planner::evaluate_cache_key(&plan.workflow, at.position(), scope) {
            Ok(Some(asked)) => asked,
            Ok(None) => return Ok(None),
            Err(error) => return self.cannot_render(at, &error.to_string()).map(Some),
        };
        for (candidate, by) in (0..).zip(&candidates) {
            let key = row_key(plan, at, by, &asked)?;
            if let Some(reused) = self.kept(at, &key, candidate).await? {
                return Ok(Some(reused));
            }
        }
        Ok(None)
    }

    /// The result in a row, which the agent of this number made, if it may still be reused.
    async fn kept(
        &self,
        at: StepIndex,
        key: &str,
        candidate: u32,
    ) -> Result<Option<Report>, ExecutorError> {
        let (store, account) = (&*self.shared.store, &self.shared.account);
        let Some(row) = store.row(account, RESULTS, key).await? else { return Ok(None) };
        let kept: Kept = serde_json::from_slice(&row.value)?;
        if kept.until <= Timestamp::now() {
            return Ok(None);
        }
        let result: StepResult = runs::load(store, account, &kept.run, &kept.result).await?;
        let agent = result.agent.clone();
        let from = Reuse { run: kept.run, at: kept.at, agent, candidate };
        let reused = Rendered::Reused { result: kept.result, from: Box::new(from) };
        let report = self.rendered(at, reused);
        Ok(Some(Report { result: Some(Arc::new(result)), ..report }))
    }

    /// Drafts what is kept of the steps that the next commit completes.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn keep_results(&mut self) -> Result<(), ExecutorError> {
        let plan = Arc::clone(&self.plan);
        let completed: Vec<(StepIndex, Timestamp)> =
            self.draft.events.iter().filter_map(|it| self.completes(it)).collect();
        for (at, when) in completed {
            let Some(cache) = &plan.workflow.steps[at.position()].cache else { continue };
            self.keep_result(&plan, at, when, cache).await?;
        }
        Ok(())
    }

    /// The step of the plan that an event completes, and when.
    fn completes(&self, event: &RunEvent) -> Option<(StepIndex, Timestamp)> {
        let (step, when) = match event {
            RunEvent::StepCompleted { step, at, .. }
            | RunEvent::StepGathered { step, at, failed: 0 } => (step, *at),
            _ => return None,
        };
        let at = self.run.find(step)?;
        self.run.at(at).item_of.is_none().then_some((at, when))
    }

    async fn keep_result(
        &mut self,
        plan: &Plan,
        at: StepIndex,
        when: Timestamp,
        cache: &Cache,
    ) -> Result<(), ExecutorError> {
        let result = self.result(at).await?;
        // What several agents made, each some of its items, is what no single one would.
        let Some(by) = self.only_server(at).cloned() else { return Ok(()) };
        if result.state != StepState::Completed {
            return Ok(());
        }
        let scope = self.scope(&plan.workflow.steps[at.position()].reads).await?;
        // It was evaluated before, when the step began.
        let asked = planner::evaluate_cache_key(&plan.workflow, at.position(), &scope);
        let Ok(Some(asked)) = asked else { return Ok(()) };
        let key = row_key(plan, at, &by, &asked)?;
        let mut blobs = Vec::new();
        let result = match body_of(&self.shared.account, &without_tasks(&result), &mut blobs) {
            Ok(result) => result,
            // The results of many items may be too large together, which is no reason to fail.
            Err(ExecutorError::TooLarge { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let until = after(when, cache.ttl);
        let kept = Kept { run: self.id.clone(), at: when, until, result };
        self.draft.writes.extend(blobs);
        self.draft.writes.push(Write::Put {
            account: self.shared.account.clone(),
            table: RESULTS,
            key,
            sort: sort_key(until),
            tags: Tags::default(),
            value: Bytes::from(serde_json::to_vec(&kept)?),
            expect: Expect::Any,
        });
        Ok(())
    }
}

/// The row of a step: the same for an equal step of the same version of the workflow, at the same card. `asked` is what
/// both must have in common.
fn row_key(plan: &Plan, at: StepIndex, by: &Binding, asked: &Value) -> serde_json::Result<String> {
    let workflow = &plan.workflow;
    let step = &workflow.steps[at.position()].id;
    let (agent, card) = (&by.agent, by.digest.to_string());
    let equal = (workflow.source.text(), step, agent, card, asked);
    Ok(BlobId::of(&serde_json::to_vec(&equal)?).to_string())
}

/// A result as another run may have it: the Tasks and the context are not its own.
fn without_tasks(result: &StepResult) -> StepResult {
    let items = result.items.as_ref();
    let items = items.map(|items| items.iter().map(|it| Arc::new(without_tasks(it))).collect());
    StepResult { task_id: None, context_id: None, items, ..result.clone() }
}
