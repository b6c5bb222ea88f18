//! What finished steps yielded, in memory as far as it is needed.

use std::sync::Arc;

use planner::{StepResult, StepState};
use protocol::v1::Part;
use serde_json::{Map, Value};

use super::Driver;
use crate::{
    ExecutorError,
    body::{Body, Json},
    run::{Phase, Settled, StepIndex},
};

/// Results by step, and what the run started with.
pub(super) struct Results {
    by_step: Vec<Option<Arc<StepResult>>>,
    start: Option<Start>,
}

/// Inputs and Parts of the Message that started the run.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) inputs: Arc<Map<String, Value>>,
    pub(super) parts: Arc<[Part]>,
}

impl Results {
    pub(super) fn new(steps: usize) -> Self {
        Self { by_step: vec![None; steps], start: None }
    }

    pub(super) fn keep(&mut self, at: StepIndex, result: Arc<StepResult>) {
        self.by_step[at.position()] = Some(result);
    }

    pub(super) fn set_start(&mut self, inputs: Arc<Map<String, Value>>, parts: Arc<[Part]>) {
        self.start = Some(Start { inputs, parts });
    }
}

impl Driver {
    /// The result of a step: from memory, else as the journal has it.
    pub(super) async fn result(&mut self, at: StepIndex) -> Result<Arc<StepResult>, ExecutorError> {
        if let Some(result) = &self.results.by_step[at.position()] {
            return Ok(Arc::clone(result));
        }
        let result = match &self.run.at(at).phase {
            Phase::Settled(Settled::Completed(body) | Settled::Failed(body, _)) => {
                let body = body.clone();
                Arc::new(self.load(&body).await?.read()?)
            }
            Phase::Settled(Settled::Skipped(reason)) => {
                Arc::new(StepResult::skipped(reason.to_string()))
            }
            Phase::Settled(Settled::Canceled) => Arc::new(StepResult::new(StepState::Canceled)),
            _ => return Ok(Arc::new(StepResult::new(self.run.at(at).state()))),
        };
        self.results.keep(at, Arc::clone(&result));
        Ok(result)
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
        let inputs: Map<String, Value> = self.load(&inputs).await?.read()?;
        let parts: Vec<Part> = self.load(&parts).await?.read()?;
        self.results.set_start(Arc::new(inputs), parts.into());
        Ok(self.results.start.clone().expect("set on the line above"))
    }

    /// The text of a body.
    pub(super) async fn load(&self, body: &Body) -> Result<Json, ExecutorError> {
        crate::runs::load(&*self.shared.store, &self.shared.account, &self.id, body).await
    }
}
