//! What finished steps yielded, in memory as far as it is needed.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use planner::{Item, Plan, StepResult, StepState};
use protocol::v1::Part;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use store::{BlobId, Write};

use super::Driver;
use crate::{
    ExecutorError,
    body::Body,
    run::{Items, Phase, Run, RunEvent, Settled, StepIndex},
};

/// Results by step, each for as long as somebody is going to read it, and what the run started with.
pub(super) struct Results {
    by_step: Vec<Option<Arc<StepResult>>>,
    /// How many unsettled steps read it; the outputs of the run count as one more.
    readers: Vec<u32>,
    /// The items of the steps that wait for them.
    lists: HashMap<StepIndex, Arc<[Arc<Value>]>>,
    start: Option<Start>,
}

/// Inputs and Parts of the Message that started the run.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) inputs: Arc<Map<String, Value>>,
    pub(super) parts: Arc<[Part]>,
}

impl Results {
    pub(super) fn new(plan: &Plan, run: &Run) -> Self {
        let workflow = &plan.workflow;
        let mut readers = vec![0; workflow.steps.len()];
        let open = run.shape().indices().filter(|at| !run.at(*at).state().is_settled());
        let by_steps = open.flat_map(|at| &workflow.steps[at.position()].reads);
        for read in by_steps.chain(&workflow.outputs_read) {
            readers[*read] += 1;
        }
        let by_step = vec![None; workflow.steps.len()];
        Self { by_step, readers, lists: HashMap::new(), start: None }
    }

    /// Keeps a result that somebody is going to read: that of an item nobody does before its step is settled.
    pub(super) fn keep(&mut self, at: StepIndex, result: Arc<StepResult>) {
        if self.readers.get(at.position()).is_some_and(|readers| *readers > 0) {
            self.by_step[at.position()] = Some(result);
        }
    }

    #[cfg(test)]
    pub(super) fn holds(&self, at: StepIndex) -> bool {
        self.by_step[at.position()].is_some()
    }

    /// A reader is settled: it reads nothing any more.
    fn release(&mut self, reads: &[usize]) {
        for read in reads {
            self.readers[*read] = self.readers[*read].saturating_sub(1);
            if self.readers[*read] == 0 {
                self.by_step[*read] = None;
            }
        }
    }

    pub(super) fn set_start(&mut self, inputs: Arc<Map<String, Value>>, parts: Arc<[Part]>) {
        self.start = Some(Start { inputs, parts });
    }
}

impl Driver {
    /// Forgets the results that nobody is going to read any more, and what has gone on before them. Costs O(what the settled steps read).
    pub(super) fn release_results(&mut self, events: &[RunEvent]) {
        for at in events.iter().filter_map(RunEvent::settles).filter_map(|step| self.run.find(step))
        {
            // What an item reads, its step does.
            if let Some(step) = self.plan.workflow.steps.get(at.position()) {
                self.results.release(&step.reads);
                self.results.lists.remove(&at);
                let items = self.run.at(at).items.iter().flat_map(Items::indices);
                items.for_each(|item| self.streamed.forget(item));
            }
            self.streamed.forget(at);
        }
    }

    /// One item of a step with `for_each`; nothing for a step without.
    pub(super) async fn item(&mut self, at: StepIndex) -> Result<Option<Item>, ExecutorError> {
        let Some((step, index)) = self.run.at(at).item_of else { return Ok(None) };
        let index = index as usize;
        if !self.results.lists.contains_key(&step) {
            let list = self.run.at(step).items.as_ref().map(|items| items.list.clone());
            let list = list.expect("an item is of a step that has items");
            let list: Vec<Arc<Value>> = self.load(&list).await?;
            self.results.lists.insert(step, list.into());
        }
        let value = self.results.lists[&step].get(index).cloned().unwrap_or_default();
        Ok(Some(Item { value, index }))
    }

    /// The result of a step: from memory, else as the journal has it.
    pub(super) async fn result(&mut self, at: StepIndex) -> Result<Arc<StepResult>, ExecutorError> {
        if let Some(result) = &self.results.by_step[at.position()] {
            return Ok(Arc::clone(result));
        }
        let state = self.run.at(at).state();
        let result = match self.run.at(at).items.as_ref().filter(|_| state.is_settled()) {
            Some(items) => {
                let mut results = Vec::new();
                for item in items.indices() {
                    results.push(self.own_result(item).await?);
                }
                Arc::new(StepResult::of_items(state, results))
            }
            None => self.own_result(at).await?,
        };
        if state.is_settled() {
            self.results.keep(at, Arc::clone(&result));
        }
        Ok(result)
    }

    /// The result of an item, or of a step that has none.
    async fn own_result(&self, at: StepIndex) -> Result<Arc<StepResult>, ExecutorError> {
        Ok(match &self.run.at(at).phase {
            Phase::Settled(
                Settled::Completed(body)
                | Settled::Failed(body, _)
                | Settled::Taken { result: Some(body), .. },
            ) => {
                let body = body.clone();
                Arc::new(self.load(&body).await?)
            }
            Phase::Settled(Settled::Skipped(reason)) => {
                Arc::new(StepResult::skipped(reason.to_string()))
            }
            Phase::Settled(Settled::Canceled) => Arc::new(StepResult::new(StepState::Canceled)),
            _ => Arc::new(StepResult::new(self.run.at(at).state())),
        })
    }

    /// Inputs and Parts that the run started with.
    pub(super) async fn start(&mut self) -> Result<Start, ExecutorError> {
        if let Some(start) = &self.results.start {
            return Ok(start.clone());
        }
        let Some(header) = self.run.header() else {
            return Err(ExecutorError::UnknownRun { run: self.id.clone() });
        };
        let (inputs, parts) = (header.inputs.clone(), header.start.clone());
        let inputs: Map<String, Value> = self.load(&inputs).await?;
        let parts: Vec<Part> = self.load(&parts).await?;
        self.results.set_start(Arc::new(inputs), parts.into());
        Ok(self.results.start.clone().expect("set on the line above"))
    }

    /// Reads a value that the journal holds or names. What the next commit is going to write is not in the store yet.
    pub(super) async fn load<T: DeserializeOwned>(&self, body: &Body) -> Result<T, ExecutorError> {
        if let Body::Blob(blob) = body
            && let Some(bytes) = self.drafted(blob)
        {
            let unreadable = |source| ExecutorError::Unreadable { run: self.id.clone(), source };
            return serde_json::from_slice(bytes).map_err(unreadable);
        }
        crate::runs::load(&*self.shared.store, &self.shared.account, &self.id, body).await
    }

    fn drafted(&self, blob: &BlobId) -> Option<&Bytes> {
        self.draft.writes.iter().find_map(|write| match write {
            Write::Blob { id, bytes, .. } if id == blob => Some(bytes),
            _ => None,
        })
    }
}
