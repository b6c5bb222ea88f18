//! Artifacts of steps that go on to whoever follows the run, as far as they have come.

use std::collections::BTreeMap;

use protocol::{
    artifacts::Aggregator,
    v1::{Artifact, TaskArtifactUpdateEvent},
};

use crate::run::StepIndex;

/// What the chunks in a journal add up to: the artifacts of each step's newest attempt that has any. Those of
/// an attempt that fails stay until another one brings its own.
#[derive(Clone, Debug, Default)]
pub struct Streamed {
    steps: BTreeMap<StepIndex, Attempted>,
}

#[derive(Clone, Debug, Default)]
struct Attempted {
    attempt: u32,
    artifacts: Aggregator,
}

impl Streamed {
    /// All of them, by step in plan order.
    pub fn artifacts(&self) -> impl Iterator<Item = &Artifact> {
        self.steps.values().flat_map(|step| step.artifacts.artifacts())
    }

    /// What has come in one attempt of a step.
    pub(crate) fn of_attempt(&self, at: StepIndex, attempt: u32) -> Option<&Aggregator> {
        self.steps.get(&at).filter(|step| step.attempt == attempt).map(|step| &step.artifacts)
    }

    /// Puts a chunk to the others. Costs what the chunk holds.
    pub(crate) fn apply(&mut self, at: StepIndex, attempt: u32, update: &TaskArtifactUpdateEvent) {
        let step = self.steps.entry(at).or_default();
        if step.attempt != attempt {
            *step = Attempted { attempt, artifacts: Aggregator::default() };
        }
        if let Err(unusable) = step.artifacts.apply(update) {
            // We have written it ourselves, under an id of ours.
            tracing::error!(%unusable, "a chunk in a journal cannot be placed");
        }
    }

    /// Forgets what nobody will ask for any more.
    pub(crate) fn forget(&mut self, at: StepIndex) {
        self.steps.remove(&at);
    }
}
